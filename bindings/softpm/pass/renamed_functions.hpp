// The functions of the C and C++ libraries in whose place instrumented code calls the runtime (runtime/libc_calls.cpp,
// runtime/allocation.cpp): those that allocate, store or move pointers, or write bytes where pointers may have been.
#pragma once

namespace remanence::softpm {

struct renamed_function {
    const char* from;
    const char* to;
};

inline constexpr renamed_function k_renamed_functions[] = {
    // Allocate.
    {"malloc", "softpm_malloc"},
    {"calloc", "softpm_calloc"},
    {"realloc", "softpm_realloc"},
    {"reallocarray", "softpm_reallocarray"},
    {"aligned_alloc", "softpm_aligned_alloc"},
    {"memalign", "softpm_aligned_alloc"},
    {"posix_memalign", "softpm_posix_memalign"},
    {"valloc", "softpm_valloc"},
    {"strdup", "softpm_strdup"},
    {"__strdup", "softpm_strdup"},
    {"strndup", "softpm_strndup"},
    {"__strndup", "softpm_strndup"},
    {"asprintf", "softpm_asprintf"},
    {"vasprintf", "softpm_vasprintf"},
    {"__asprintf_chk", "softpm_asprintf_chk"},
    {"__vasprintf_chk", "softpm_vasprintf_chk"},
    {"getline", "softpm_getline"},
    {"getdelim", "softpm_getdelim"},
    {"__getdelim", "softpm_getdelim"},
    {"realpath", "softpm_realpath"},
    {"__realpath_chk", "softpm_realpath_chk"},
    {"getcwd", "softpm_getcwd"},
    {"__getcwd_chk", "softpm_getcwd_chk"},
    {"_Znwm", "softpm_new"},
    {"_Znam", "softpm_new"},
    {"_ZnwmRKSt9nothrow_t", "softpm_new_nothrow"},
    {"_ZnamRKSt9nothrow_t", "softpm_new_nothrow"},
    {"_ZnwmSt11align_val_t", "softpm_new_aligned"},
    {"_ZnamSt11align_val_t", "softpm_new_aligned"},
    // Links of the C++ library's containers (runtime/cxx_calls.cpp).
    {"_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_", "softpm_tree_insert"},
    {"_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_", "softpm_tree_erase"},
    {"_ZNSt8__detail15_List_node_base7_M_hookEPS0_", "softpm_list_hook"},
    // Move or clear.
    {"memcpy", "softpm_memcpy"},
    {"__memcpy_chk", "softpm_memcpy_chk"},
    {"memmove", "softpm_memmove"},
    {"__memmove_chk", "softpm_memmove_chk"},
    {"mempcpy", "softpm_mempcpy"},
    {"__mempcpy_chk", "softpm_mempcpy_chk"},
    {"memset", "softpm_memset"},
    {"__memset_chk", "softpm_memset_chk"},
    {"explicit_bzero", "softpm_bzero"},
    {"qsort", "softpm_qsort"},
    // Store a pointer where an argument says.
    {"strtol", "softpm_strtol"},
    {"strtoll", "softpm_strtoll"},
    {"strtoul", "softpm_strtoul"},
    {"strtoull", "softpm_strtoull"},
    {"strtoimax", "softpm_strtol"},
    {"strtoumax", "softpm_strtoul"},
    {"__isoc23_strtol", "softpm_strtol"},
    {"__isoc23_strtoll", "softpm_strtoll"},
    {"__isoc23_strtoul", "softpm_strtoul"},
    {"__isoc23_strtoull", "softpm_strtoull"},
    {"__isoc23_strtoimax", "softpm_strtol"},
    {"__isoc23_strtoumax", "softpm_strtoul"},
    {"strtod", "softpm_strtod"},
    {"strtof", "softpm_strtof"},
    {"strtold", "softpm_strtold"},
    {"strtok_r", "softpm_strtok_r"},
    {"__strtok_r", "softpm_strtok_r"},
    {"strsep", "softpm_strsep"},
    {"__strsep", "softpm_strsep"},
    // Write bytes from elsewhere.
    {"read", "softpm_read"},
    {"__read_chk", "softpm_read_chk"},
    {"pread", "softpm_pread"},
    {"pread64", "softpm_pread"},
    {"recv", "softpm_recv"},
    {"fread", "softpm_fread"},
    // Locks, which begin anew in another process.
    {"pthread_mutex_init", "softpm_mutex_init"},
    {"pthread_mutex_lock", "softpm_mutex_lock"},
    {"pthread_mutex_trylock", "softpm_mutex_trylock"},
    {"pthread_cond_init", "softpm_condition_init"},
    {"pthread_cond_wait", "softpm_condition_wait"},
    {"pthread_cond_timedwait", "softpm_condition_timedwait"},
    {"pthread_rwlock_init", "softpm_read_write_lock_init"},
    {"pthread_rwlock_rdlock", "softpm_read_write_lock_read"},
    {"pthread_rwlock_wrlock", "softpm_read_write_lock_write"},
};

} // namespace remanence::softpm
