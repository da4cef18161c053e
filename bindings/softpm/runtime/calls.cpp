// The functions of softpm.h. They throw nothing: after a failure they return -1 or NULL, and pStatus() has a message.
#include "container.hpp"
#include "memory.hpp"
#include "shadow.hpp"

#include "base/undying.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#define REM_EXPORT extern "C" [[gnu::visibility("default")]]

namespace remanence::softpm {

namespace {

constexpr std::size_t k_callbacks_max = 32;
constexpr int k_defaults = 0; // this number means the defaults for new containers

struct process_state {
    std::mutex lock;
    std::map<int, std::unique_ptr<container>> containers;
    int last_number = 0;
    cattr defaults = {};
    std::string default_directory;
    std::vector<void (*)(int)> callbacks;
};
process_state& process() {
    static union undying<process_state> state;
    return state.value;
}

thread_local char last_status[2048]; // of fixed size, because memory for the message may be lacking
/// Why this thread's last restore failed; empty if it did not. pCAlloc() reports it, since programs call that next.
thread_local struct {
    int magic;
    char why[sizeof last_status];
} failed_restore;
thread_local bool is_calling = false; // a call during another one comes from a signal handler
thread_local bool is_refused = false; // such a call was refused

void note(const char* sentence) { std::snprintf(last_status, sizeof last_status, "%s", sentence); }

/// Makes the present call fail with this message.
[[noreturn]] void refuse(const std::string& why) { throw std::runtime_error(why); }

template <class Result, class Work>
Result guarded(Result failed, Work&& work) {
    if (is_calling) {
        is_refused = true;
        return failed;
    }
    struct call {
        call() { is_calling = true; }
        ~call() { is_calling = is_refused = false; }
    } const here;
    last_status[0] = '\0';
    try {
        return work(process());
    } catch (const heap_exhausted& failure) { // also thrown for lack of addresses; the heap's message says that
        note(failure.what());
    } catch (const std::bad_alloc&) {
        note("There is no memory left. The last point is whole.");
    } catch (const std::exception& failure) {
        note(failure.what());
    }
    return failed;
}

container& find(process_state& state, int number) {
    const auto found = state.containers.find(number);
    if (found == state.containers.end())
        refuse("There is no container " + std::to_string(number) + " in this process.");
    return *found->second;
}

int add(process_state& state, std::unique_ptr<container> made) {
    const int number = ++state.last_number;
    state.containers.emplace(number, std::move(made));
    return number;
}

void refuse_if_open(process_state& state, int magic) {
    for (const auto& [number, each] : state.containers)
        if (each->path() == container::path_of(magic, state.defaults))
            refuse("The container with magic " + std::to_string(magic) + " is in memory already, as number " +
                   std::to_string(number) + ".");
}

// Called when the program ends normally: makes all points durable.
void sync_all() {
    process_state& state = process();
    if (!state.lock.try_lock())
        return;
    for (const auto& [number, each] : state.containers) {
        if (!each->is_of_this_process()) // this is a forked child
            continue;
        try {
            each->sync();
        } catch (const std::exception& failure) {
            std::fprintf(stderr, "softpm: %s\n", failure.what());
        }
    }
    state.lock.unlock();
}

void sync_at_exit() {
    static const bool once = std::atexit(sync_all) == 0;
    (void)once;
}

std::string describe_lost(const container& of) {
    std::string text = std::to_string(of.lost_count()) +
                       " pointers that led to a stack, to a file, or to an object of a "
                       "library are NULL now:";
    constexpr std::size_t k_shown = 8;
    for (std::size_t i = 0; i < std::min(k_shown, of.lost().size()); ++i) {
        const lost_pointer& each = of.lost()[i];
        char one[120];
        std::snprintf(one, sizeof one,
                      " at byte %llu of a block of %llu bytes, at %#llx (was %#llx)%s", // %#llx: offset in the arena
                      static_cast<unsigned long long>(each.offset - each.block_offset),
                      static_cast<unsigned long long>(each.block_bytes),
                      static_cast<unsigned long long>(each.block_offset), static_cast<unsigned long long>(each.value),
                      i + 1 < of.lost().size() ? "," : ".");
        text += one;
    }
    return text + (of.lost_count() > k_shown ? " ..." : "");
}

template <class Make>
int restore_by(Make&& make, int magic, void** structure) {
    std::vector<void (*)(int)> callbacks;
    const int number = guarded(-1, [&](process_state& state) {
        if (structure == nullptr)
            refuse("pCRestore: there is no place for the address of the struct.");
        const std::scoped_lock lock(state.lock);
        refuse_if_open(state, magic);
        auto made = make(state.defaults);
        *structure = made->structure();
        set_mark(structure, mark::pointer);
        if (made->lost_count() != 0)
            note(describe_lost(*made).c_str());
        callbacks = state.callbacks;
        sync_at_exit();
        return add(state, std::move(made));
    });
    failed_restore.magic = magic;
    std::snprintf(failed_restore.why, sizeof failed_restore.why, "%s", number > 0 ? "" : last_status);
    if (number > 0)
        for (const auto callback : callbacks)
            callback(number);
    return number;
}

int restore(int magic, void** structure, std::optional<std::uint64_t> bytes) {
    return restore_by([&](const cattr& how) { return container::restore(magic, bytes, how); }, magic, structure);
}

} // namespace

} // namespace remanence::softpm

using namespace remanence::softpm;

REM_EXPORT int pCAlloc(int magic, int cSSize, void** cStruct) {
    return guarded(-1, [&](process_state& state) {
        if (cSSize <= 0 || cStruct == nullptr)
            refuse("pCAlloc: a container needs a struct, and a place for its address.");
        const std::scoped_lock lock(state.lock);
        refuse_if_open(state, magic);
        std::unique_ptr<container> made;
        try {
            made = container::create(magic, static_cast<std::uint64_t>(cSSize), state.defaults);
        } catch (const container_exists& failure) {
            if (failed_restore.magic != magic || failed_restore.why[0] == '\0')
                throw;
            refuse(std::string(failure.what()) + " Its restore failed: " + failed_restore.why);
        }
        *cStruct = made->structure();
        set_mark(cStruct, mark::pointer);
        sync_at_exit();
        return add(state, std::move(made));
    });
}

REM_EXPORT int pCRestore(int magic, void** cStruct) { return restore(magic, cStruct, std::nullopt); }

REM_EXPORT int softpm_restore(int magic, void** cStruct, std::size_t cSSize) { return restore(magic, cStruct, cSSize); }

REM_EXPORT int pCSetAttr(int cID, const cattr* attr) {
    return guarded(-1, [&](process_state& state) {
        if (attr == nullptr || attr->durability < P_DURABLE || attr->durability > P_NONE)
            refuse("pCSetAttr: there are no attributes, or their durability is none of P_DURABLE, P_LAZY and P_NONE.");
        const std::scoped_lock lock(state.lock);
        if (cID == k_defaults) {
            const bool has_directory = attr->directory != nullptr;
            state.default_directory = has_directory ? attr->directory : "";
            state.defaults = *attr;
            state.defaults.directory = has_directory ? state.default_directory.c_str() : nullptr;
            return 0;
        }
        container& of = find(state, cID);
        const cattr before = of.attributes;
        of.attributes = *attr;
        of.attributes.directory = before.directory;
        of.attributes.chunk_bytes = before.chunk_bytes;
        return 0;
    });
}

REM_EXPORT cattr* pCGetAttr(int cID) {
    return guarded<cattr*>(nullptr, [&](process_state& state) {
        const std::scoped_lock lock(state.lock);
        return cID == k_defaults ? &state.defaults : &find(state, cID).attributes;
    });
}

REM_EXPORT int pPoint(int cID) {
    return guarded(-1, [&](process_state& state) {
        const std::scoped_lock lock(state.lock);
        find(state, cID).point();
        return 0;
    });
}

REM_EXPORT int pSync(int cID) {
    return guarded(-1, [&](process_state& state) {
        const std::scoped_lock lock(state.lock);
        find(state, cID).sync();
        return 0;
    });
}

REM_EXPORT int pCFree(int cID) {
    return guarded(-1, [&](process_state& state) {
        const std::scoped_lock lock(state.lock);
        find(state, cID);
        state.containers.erase(cID);
        return 0;
    });
}

REM_EXPORT int pCDelete(int cID) {
    return guarded(-1, [&](process_state& state) {
        const std::scoped_lock lock(state.lock);
        find(state, cID).remove_files_at_end();
        state.containers.erase(cID);
        return 0;
    });
}

REM_EXPORT int pExclude(int cID, void* ptr) {
    return guarded(-1, [&](process_state& state) {
        const std::scoped_lock lock(state.lock);
        find(state, cID).exclude(ptr);
        return 0;
    });
}

REM_EXPORT int pGlobal(int cID, void* variable, std::size_t bytes) {
    return guarded(-1, [&](process_state& state) {
        const std::scoped_lock lock(state.lock);
        find(state, cID).add_global(variable, bytes);
        return 0;
    });
}

REM_EXPORT int pVersion(int cID) {
    return guarded(-1, [&](process_state& state) {
        const std::scoped_lock lock(state.lock);
        return find(state, cID).keep_version();
    });
}

REM_EXPORT int pCRestoreVersion(int magic, int version, void** cStruct) {
    return restore_by([&](const cattr& how) { return container::restore_version(magic, version, how); }, magic,
                      cStruct);
}

REM_EXPORT int pReport(int cID, const char* file) {
    return guarded(-1, [&](process_state& state) {
        const std::scoped_lock lock(state.lock);
        const std::string text = find(state, cID).report();
        if (file == nullptr)
            return std::fputs(text.c_str(), stderr) < 0 ? -1 : 0;
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> into(std::fopen(file, "w"), std::fclose);
        if (into == nullptr || std::fputs(text.c_str(), into.get()) < 0 || std::fflush(into.get()) != 0)
            refuse(std::string("pReport: cannot write ") + file + ": " + std::strerror(errno) + ".");
        return 0;
    });
}

REM_EXPORT int pRegisterAllocator(int (*find)(const void*, void**, std::size_t*)) {
    return guarded(-1, [&](process_state& state) {
        const std::scoped_lock lock(state.lock);
        if (find == nullptr)
            refuse("pRegisterAllocator: no function was given.");
        add_finder(find);
        return 0;
    });
}

REM_EXPORT int pOnRestore(void (*callback)(int)) {
    return guarded(-1, [&](process_state& state) {
        const std::scoped_lock lock(state.lock);
        if (callback == nullptr || state.callbacks.size() == k_callbacks_max)
            refuse("pOnRestore: no function was given, or 32 are there already.");
        state.callbacks.push_back(callback);
        return 0;
    });
}

REM_EXPORT const char* pStatus(void) {
    return is_refused ? "A signal handler called softpm within a call of softpm. Let it set a flag instead."
                      : last_status;
}

REM_EXPORT void rem_pointer(void* word) { set_mark(word, mark::pointer); }
REM_EXPORT void rem_not_pointer(void* word) { set_mark(word, mark::data); }
