/* Prints what programs that are compiled already rely on, but for the names of functions: numbers and layouts. */
#include <remanence/remanence.h>

#include <stdio.h>

#define NUMBER(name) printf("number %s %d\n", #name, (int)(name))
#define STRUCT(name) printf("struct %s %zu\n", #name, sizeof(name))
#define MEMBER(name, member)                                                                                           \
    printf("member %s.%s %zu %zu\n", #name, #member, offsetof(name, member), sizeof((name){0}.member))

int main(void) {
    NUMBER(REM_OK);
    NUMBER(REM_NOT_A_HEAP);
    NUMBER(REM_TRUNCATED);
    NUMBER(REM_UNSUPPORTED_FORMAT);
    NUMBER(REM_ABI_MISMATCH);
    NUMBER(REM_TYPE_MISMATCH);
    NUMBER(REM_CORRUPT);
    NUMBER(REM_LOG_MISSING);
    NUMBER(REM_LOG_FOREIGN);
    NUMBER(REM_BASE_TAKEN);
    NUMBER(REM_PERMISSION_DENIED);
    NUMBER(REM_READ_ONLY_FILE_SYSTEM);
    NUMBER(REM_NOT_FOUND);
    NUMBER(REM_NO_SPACE);
    NUMBER(REM_IN_USE);
    NUMBER(REM_CLOSED);
    NUMBER(REM_EXHAUSTED);
    NUMBER(REM_POISONED);
    NUMBER(REM_EXISTS);
    NUMBER(REM_SECTION_OPEN);
    NUMBER(REM_SECTION_CONFLICT);
    NUMBER(REM_READ_ONLY);
    NUMBER(REM_NOT_SUPPORTED);
    NUMBER(REM_INVALID_ARGUMENT);
    NUMBER(REM_IO);
    NUMBER(REM_UNNAMEABLE_TYPE);
    NUMBER(REM_FOREIGN_POINTER);
    NUMBER(REM_RECOVERY_NEEDED);
    NUMBER(REM_ROLLED_BACK);
    NUMBER(REM_UNDECLARED_CHANGE);
    NUMBER(REM_UNLINKED);
    NUMBER(REM_WRONG_APPLICATION);
    NUMBER(REM_NO_MEMORY);
    NUMBER(REM_WOULD_WAIT);
    NUMBER(REM_NO_SECTION);
    NUMBER(REM_UNEXPECTED);
    NUMBER(REM_TRANSACTIONAL);
    NUMBER(REM_SNAPSHOT);
    NUMBER(REM_ARCHIVE);
    NUMBER(REM_AS_OPENED);
    NUMBER(REM_DURABLE);
    NUMBER(REM_LAZY);
    NUMBER(REM_NONE);
    NUMBER(REM_TRACK_AUTOMATIC);
    NUMBER(REM_TRACK_SCAN);
    NUMBER(REM_TRACK_TRAP);
    NUMBER(REM_TRACK_FALLBACK);
    NUMBER(REM_RECOVERY);
    NUMBER(REM_CHECKPOINT);
    NUMBER(REM_VERIFY);
    STRUCT(rem_error);
    MEMBER(rem_error, status);
    MEMBER(rem_error, os_error);
    MEMBER(rem_error, message);
    MEMBER(rem_error, path);
    MEMBER(rem_error, offset);
    STRUCT(rem_options);
    MEMBER(rem_options, size);
    MEMBER(rem_options, kind);
    MEMBER(rem_options, durability);
    MEMBER(rem_options, tracking);
    MEMBER(rem_options, read_only);
    MEMBER(rem_options, catch_stray_writes);
    MEMBER(rem_options, core_dump);
    MEMBER(rem_options, no_read_ahead);
    MEMBER(rem_options, application);
    MEMBER(rem_options, mode);
    MEMBER(rem_options, lazy_interval_ms);
    MEMBER(rem_options, reserve_bytes);
    MEMBER(rem_options, chunk_bytes);
    MEMBER(rem_options, base);
    MEMBER(rem_options, log_limit_bytes);
    MEMBER(rem_options, dirty_limit_bytes);
    MEMBER(rem_options, on_progress);
    MEMBER(rem_options, context);
    STRUCT(rem_root);
    MEMBER(rem_root, name);
    MEMBER(rem_root, type);
    MEMBER(rem_root, object);
    MEMBER(rem_root, bytes);
    STRUCT(rem_range);
    MEMBER(rem_range, start);
    MEMBER(rem_range, bytes);
    STRUCT(rem_stats);
    MEMBER(rem_stats, size);
    MEMBER(rem_stats, commits);
    MEMBER(rem_stats, checkpoints);
    MEMBER(rem_stats, changed_bytes);
    MEMBER(rem_stats, logged_bytes);
    MEMBER(rem_stats, image_bytes);
    MEMBER(rem_stats, spilled_bytes);
    MEMBER(rem_stats, written_bytes);
    MEMBER(rem_stats, syncs);
    MEMBER(rem_stats, commit_ns_median);
    MEMBER(rem_stats, commit_ns_99);
    MEMBER(rem_stats, commit_ns_max);
    MEMBER(rem_stats, log_used_bytes);
    MEMBER(rem_stats, log_limit_bytes);
    MEMBER(rem_stats, twin_bytes);
    MEMBER(rem_stats, heap_bytes);
    MEMBER(rem_stats, allocated_bytes);
    MEMBER(rem_stats, recovered_commits);
    MEMBER(rem_stats, recovered_bytes);
    MEMBER(rem_stats, open_ns);
    MEMBER(rem_stats, tracker);
    STRUCT(rem_report);
    MEMBER(rem_report, size);
    MEMBER(rem_report, pages_checked);
    MEMBER(rem_report, log_records_checked);
    MEMBER(rem_report, blocks_checked);
    MEMBER(rem_report, problems);
    return 0;
}
