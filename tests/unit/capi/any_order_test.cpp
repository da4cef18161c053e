// All calls of the C interface in any order, with right and wrong arguments, from callbacks too, in several threads and in forked children:
// a status or success, never a signal, and the heap is sound in the end. REMANENCE_SEED repeats a run.
#include "fixture.hpp"

#include "support/seed.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace remanence::test {
namespace {

/// One thread's random calls of one heap.
class caller {
public:
    caller(rem_heap* heap, std::uint64_t seed, bool may_change_all)
        : heap_(heap), random_(seed), may_change_all_(may_change_all) {}

    void run(int calls) {
        for (int i = 0; i != calls; ++i)
            one();
        end_sections();
    }
    void end_sections() {
        while (rem_write_end(heap_) == REM_OK) {
        }
        while (rem_read_end(heap_) == REM_OK) {
        }
    }
    /// Of a procedure, a reader, a visitor.
    rem_status called_back() {
        if (depth_ == 3)
            return REM_OK;
        ++depth_;
        for (std::uint64_t i = below(4); i != 0; --i)
            one();
        --depth_;
        return below(3) == 0 ? REM_INVALID_ARGUMENT : REM_OK;
    }

    static thread_local caller* present;

private:
    std::uint64_t below(std::uint64_t end) { return random_() % end; }
    void* block() {
        switch (below(8)) {
        case 0:
            return nullptr;
        case 1:
            return &random_;
        case 2:
            return reinterpret_cast<void*>(random_()); // NOLINT(performance-no-int-to-ptr)
        case 3:
            return blocks_.empty() ? nullptr : static_cast<char*>(blocks_[below(blocks_.size())]) + 8;
        default:
            return blocks_.empty() ? nullptr : blocks_[below(blocks_.size())];
        }
    }
    void* kept(void* made) {
        if (made != nullptr)
            blocks_.push_back(made);
        return made;
    }
    /// Of blocks that this thread has, and no other.
    void release() {
        if (blocks_.empty() || below(2) == 0) {
            (void)rem_free(below(2) == 0 ? static_cast<void*>(&random_) : nullptr);
            return;
        }
        const std::size_t which = below(blocks_.size());
        void* const freed = blocks_[which];
        blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(which));
        if (rem_free(freed) != REM_OK) // in a read-only or rolled back heap
            blocks_.clear();
    }
    const char* name() {
        static constexpr std::array<const char*, 5> k_names = {"a", "b", "", nullptr, "a longer name of a root"};
        return k_names[below(k_names.size())];
    }
    rem_heap* handle() {
        return below(20) == 0 ? reinterpret_cast<rem_heap*>(random_()) : heap_;
    } // NOLINT(performance-no-int-to-ptr)

    static bool visit_root(void*, const rem_root*) { return present->called_back() == REM_OK; }
    static bool visit_step(void*, const rem_step*) { return present->called_back() == REM_OK; }
    static bool visit_version(void*, const rem_kept_version*) { return present->called_back() == REM_OK; }
    static bool visit_difference(void*, const rem_difference*) { return present->called_back() == REM_OK; }
    static bool visit_user(void*, const rem_participant*) { return present->called_back() == REM_OK; }
    static bool put(void*, const char*, std::size_t) { return present->called_back() == REM_OK; }
    static std::size_t read(void*, char* into, std::size_t bytes) {
        (void)present->called_back();
        switch (present->below(4)) {
        case 0:
            return SIZE_MAX;
        case 1:
            return bytes + 1;
        case 2:
            *into = 'x';
            return 1;
        default:
            return 0;
        }
    }

    void one() {
        rem_heap* const h = handle();
        std::uint64_t number = 0;
        std::size_t size = below(3) == 0 ? random_() : below(100'000);
        switch (below(49)) {
        case 48: // with libremanence-malloc.so (tests/malloc); else it is refused
            if (rem_malloc_into(h) == REM_OK) {
                void* const made = std::malloc(below(5000));
                if (below(4) == 0)
                    (void)rem_write_try_begin(h); // refused, and ends it
                (void)rem_malloc_into(nullptr);
                if (below(2) == 0)
                    std::free(made);
                else
                    (void)kept(made);
            }
            break;
        case 0:
            (void)kept(rem_alloc(h, below(10) == 0 ? size : below(5000)));
            break;
        case 1:
            (void)kept(rem_calloc(h, below(10), below(1000)));
            break;
        case 2:
            (void)rem_calloc(h, SIZE_MAX / 2, 3);
            break;
        case 3:
            (void)kept(rem_alloc_aligned(h, std::size_t{1} << below(14), below(5000)));
            break;
        case 4:
            (void)rem_alloc_aligned(h, size, below(5000));
            break;
        case 5:
            release();
            break;
        case 6: {
            if (blocks_.empty())
                break;
            void*& moved = blocks_[below(blocks_.size())];
            if (void* const now = rem_realloc(h, moved, below(20'000)))
                moved = now;
            break;
        }
        case 7:
            (void)rem_usable_size(block());
            break;
        case 8:
            (void)rem_heap_of(block());
            break;
        case 9:
            (void)rem_touch(h, block(), size);
            break;
        case 10:
            (void)rem_root_set(h, name(), block());
            break;
        case 11:
            (void)rem_root_set_as(h, name(), block(), name(), below(100));
            break;
        case 12:
            (void)rem_root_get(h, name());
            break;
        case 13:
            (void)rem_root_get_as(h, name(), name(), below(100));
            break;
        case 14:
            (void)rem_root_remove(h, name());
            break;
        case 15:
            (void)rem_roots(h, &visit_root, nullptr);
            break;
        case 16:
        case 17:
            if (may_change_all_ || depth_ == 0) // one that a callback leaves open is rolled back
                (void)rem_write_try_begin(h);
            break;
        case 18:
            if (may_change_all_ || depth_ == 0)
                (void)rem_write_begin_within(h, 1);
            break;
        case 19:
        case 20:
            if (const rem_status ended = rem_write_end(h); ended != REM_OK && ended != REM_NO_SECTION)
                blocks_.clear(); // it was rolled back
            break;
        case 21:
            (void)rem_write_end_as(h, static_cast<rem_durability>(below(6)));
            break;
        case 22:
            (void)rem_write_end_async(h, below(2) == 0 ? nullptr : &number);
            break;
        case 23:
            if (may_change_all_ &&
                rem_write_abort(h) == REM_OK) // it takes what others have allocated outside of sections, too
                blocks_.clear();
            break;
        case 24:
            (void)rem_read_try_begin(h);
            break;
        case 25:
        case 26:
            (void)rem_read_end(h);
            break;
        case 27:
            if (may_change_all_)
                (void)rem_commit(h, static_cast<rem_durability>(below(5)));
            break;
        case 28:
            if (may_change_all_)
                (void)rem_commit_async(h, &number);
            break;
        case 29:
            (void)rem_point_ready(h, below(100));
            break;
        case 30:
            (void)rem_sync(h);
            break;
        case 31:
            if (may_change_all_ && rem_rollback(h) == REM_OK)
                blocks_.clear();
            break;
        case 32:
            (void)rem_savepoint(h, &point_);
            break;
        case 33:
            if (rem_rollback_to(h, below(3) == 0 ? random_() : point_) == REM_OK)
                blocks_.clear();
            break;
        case 34:
            (void)rem_savepoint_end(h, point_);
            break;
        case 35:
            (void)rem_checkpoint(h);
            (void)rem_shrink(h, nullptr);
            (void)rem_limit_memory(h, 1024 * 1024);
            (void)rem_save_as(h, "nowhere"); // it has a file
            break;
        case 36:
            (void)rem_changed_pages(h, &size);
            break;
        case 37:
            if (may_change_all_) {
                (void)(below(2) == 0 ? rem_undo(h, below(3)) : rem_redo(h, below(3)));
                blocks_.clear();
            }
            break;
        case 38:
            (void)rem_history(h, &visit_step, nullptr);
            break;
        case 39:
            (void)rem_keep(h, name(), &number);
            break;
        case 40:
            (void)rem_versions(h, &visit_version, nullptr);
            break;
        case 41:
            (void)rem_diff(h, below(20), below(20), &visit_difference, nullptr);
            break;
        case 42:
            (void)rem_dump(h, name(), &put, nullptr);
            break;
        case 43:
            if (may_change_all_)
                (void)rem_load(h, &read, nullptr);
            break;
        case 44:
            if (may_change_all_) {
                (void)rem_call(h, below(2) == 0 ? "call" : name(), nullptr, 0);
                blocks_.clear(); // it may have rolled back
            }
            break;
        case 45:
            (void)(below(2) == 0 ? rem_readers(h, &visit_user, nullptr) : rem_writer(h, &visit_user, nullptr));
            break;
        case 46: {
            rem_stats stats{};
            stats.size = below(4) == 0 ? size : sizeof stats;
            stats.surveys = below(2) == 0;
            (void)rem_get_stats(h, stats.size > sizeof stats ? nullptr : &stats);
            break;
        }
        default:
            if (depth_ != 0) // else nothing would be left
                (void)rem_close(h);
            else
                (void)rem_group_end(h);
        }
    }

    rem_heap* heap_;
    std::mt19937_64 random_;
    bool may_change_all_; // else other threads' blocks would go
    std::vector<void*> blocks_;
    std::uint64_t point_ = 0;
    int depth_ = 0;
};
thread_local caller* caller::present = nullptr;

rem_status called(rem_heap*, const void*, std::size_t, void*) { return caller::present->called_back(); }

rem_heap* opened(const std::string& path, rem_kind kind) {
    const rem_options options = options_of(kind);
    rem_history_options history{};
    history.size = sizeof history;
    history.steps_max = 20;
    const rem_procedure all[] = {{"call", &called, &called, nullptr}};
    rem_heap* heap = nullptr;
    EXPECT_OK(rem_open_with_procedures(path.c_str(), &options, &history, all, 1, &heap));
    return heap;
}

void run_in_thread(rem_heap* heap, std::uint64_t seed, bool may_change_all, int calls) {
    caller here(heap, seed, may_change_all);
    caller::present = &here;
    here.run(calls);
    caller::present = nullptr;
}

TEST(c_calls, in_any_order_leave_a_heap_that_is_sound) {
    const std::uint64_t seed = random_seed();
    for (const rem_kind kind : {REM_TRANSACTIONAL, REM_SNAPSHOT, REM_ARCHIVE}) {
        for (std::uint64_t i = 0; i != 10; ++i) {
            SCOPED_TRACE("run " + std::to_string(i));
            const temp_dir dir = temp_dir::in_memory();
            const std::string path = dir / "c.rem";
            rem_heap* const heap = opened(path, kind);
            run_in_thread(heap, seed + i, true, 400);
            if (const pid_t child = ::fork(); child == 0) { // where each call is REM_CLOSED
                run_in_thread(heap, seed + 100 + i, true, 200);
                ::_exit(rem_heap_of(rem_base(heap)) == nullptr ? 0 : 1);
            } else {
                int status = 0;
                ::waitpid(child, &status, 0);
                EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
            }
            EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
            EXPECT_OK(rem_close(heap));
            rem_heap* const again = opened(path, kind);
            EXPECT_OK(rem_verify(again, nullptr, nullptr, nullptr));
            EXPECT_OK(rem_close(again));
        }
    }
}

TEST(c_calls, in_several_threads_leave_a_heap_that_is_sound) {
    const std::uint64_t seed = random_seed();
    for (const rem_kind kind : {REM_TRANSACTIONAL, REM_SNAPSHOT}) {
        const temp_dir dir = temp_dir::in_memory();
        rem_heap* const heap = opened(dir / "c.rem", kind);
        std::vector<std::thread> threads;
        for (std::uint64_t i = 0; i != 4; ++i)
            threads.emplace_back([=] { run_in_thread(heap, seed + i, false, 1000); });
        for (std::thread& each : threads)
            each.join();
        EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
        EXPECT_OK(rem_close(heap));
    }
}

} // namespace
} // namespace remanence::test
