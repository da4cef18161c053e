// A heap as a lock: sections that lock() begins and unlock() ends. unlock() commits, although it cannot throw.

#include "api/heap_impl.hpp"
#include "api/late_errors.hpp"
#include "api/raise.hpp"
#include "os/cancellation.hpp"
#include "os/write_traps.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace remanence::detail {

namespace {

/// Numbers threads. The system gives the number of a thread that has ended to another one; this function does not.
std::uint64_t own_number() noexcept {
    static constinit std::atomic<std::uint64_t> last = 0;
    thread_local const std::uint64_t mine = ++last;
    return mine;
}

class errors_by_thread final : public late_errors {
public:
    void keep_current() noexcept override {
        try {
            const std::scoped_lock alone(guard_);
            for (const kept& each : all_) {
                if (each.thread == own_number())
                    return;
            }
            all_.push_back({own_number(), std::current_exception()});
        } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch)
        }
    }

    void raise_own() override {
        std::exception_ptr mine;
        {
            const std::scoped_lock alone(guard_);
            std::erase_if(all_, [&](kept& each) {
                if (each.thread != own_number())
                    return false;
                mine = std::move(each.what);
                return true;
            });
        }
        if (mine)
            std::rethrow_exception(std::move(mine));
    }

private:
    struct kept {
        std::uint64_t thread;
        std::exception_ptr what;
    };
    std::mutex guard_;
    std::vector<kept> all_;
};

/// Returns the heap's late errors; makes them if there are none. Returns null without memory.
late_errors* late_errors_of(heap_impl& heap) noexcept {
    if (late_errors* const made = heap.late.load())
        return made;
    std::unique_ptr<late_errors> mine(new (std::nothrow) errors_by_thread);
    late_errors* seen = nullptr;
    if (mine == nullptr || !heap.late.compare_exchange_strong(seen, mine.get()))
        return seen;
    return mine.release();
}

} // namespace

void tell_late(heap_impl& heap, const char* what_happened) noexcept {
    const os::no_cancellation whole; // writing is a point of cancellation
    try {
        const std::string path = heap.origin.path.string();
        std::string text = "unlock(), or the end of a lock, of " + path + " " + what_happened;
        try {
            throw;
        } catch (const std::exception& e) {
            text += e.what();
        }
        os::say(("remanence: " + text + "\n").c_str());
        try {
            throw;
        } catch (const error& e) {
            raise({e.reason(), text, e.path(), e.os_error(), e.offset()});
        }
    } catch (...) { // the exception with the longer text, or the first one if it is no remanence::error
        if (late_errors* const kept = late_errors_of(heap))
            kept->keep_current();
    }
}

static void tell_of_no_lock(heap_impl& heap) noexcept {
    try {
        raise(errc::section_conflict,
              "did nothing: the calling thread holds no such lock. The thread that has locked must unlock.",
              heap.origin.path.string());
    } catch (...) {
        tell_late(heap, "");
    }
}

void heap_impl::forget_late_errors() noexcept {
    try {
        if (late_errors* const kept = late.load())
            kept->raise_own();
    } catch (...) { // NOLINT(bugprone-empty-catch): as asked
    }
}

/// Ends the outermost section.
static void commit_and_leave(heap_impl& heap) noexcept {
    std::optional<heap_commits::in_flight> commit;
    try {
        commit = heap.finish_write(heap.options.commits);
    } catch (...) {
        heap.abandon_write(
            [&heap](txn::heap_memory& all, const change::change_set& lost, const alloc::block_allocator& blocks) {
                heap.losses.tell_of_unlock(all, lost, blocks);
            });
        tell_late(heap, "could not commit, and rolled the section back: ");
        return;
    }
    try {
        // Without changes since the program's own commit(), its durability holds.
        if (commit && !commit->has_record)
            commit->how = durability::none;
        if (commit)
            heap.commits.await(*commit);
    } catch (...) {
        tell_late(heap, "could not make its commit durable: ");
    }
}

// While cancellation is deferred (heap_sections::begin_lock()), only exceptions that C++ counts unwind the stack.
void heap_impl::unlock() noexcept {
    if (!sections.is_locked()) {
        tell_of_no_lock(*this);
        return;
    }
    sections.end_lock([this](bool by_exception) {
        if (by_exception)
            abandon_write();
        else if (sections.write_depth() > 1)
            sections.leave_write(); // the outermost section commits
        else
            commit_and_leave(*this);
    });
}

} // namespace remanence::detail

namespace remanence {

static detail::heap_sections&
sections_to_write(const std::unique_ptr<detail::heap_impl, detail::heap_impl_deleter>& of) {
    detail::heap_impl* const impl = detail::checked(of);
    if (impl->options.read_only)
        impl->origin.raise_read_only();
    return impl->sections;
}

void heap::lock() {
    detail::heap_sections& sections = sections_to_write(impl_);
    sections.enter_write(detail::section_kind::ordinary);
    sections.begin_lock();
}

static bool begin_lock_if(bool is_entered, detail::heap_sections& sections) noexcept {
    if (is_entered)
        sections.begin_lock();
    return is_entered;
}

bool heap::try_lock() {
    detail::heap_sections& sections = sections_to_write(impl_);
    return begin_lock_if(sections.try_enter_write(), sections);
}

bool heap::try_lock_until(std::chrono::steady_clock::time_point deadline) {
    detail::heap_sections& sections = sections_to_write(impl_);
    return begin_lock_if(sections.try_enter_write_until(deadline), sections);
}

void heap::unlock() noexcept {
    if (impl_ && impl_->origin.same_process())
        impl_->unlock();
}

void heap::lock_shared() { detail::checked(impl_)->sections.enter_read(); }

bool heap::try_lock_shared() { return detail::checked(impl_)->sections.try_enter_read(); }

void heap::unlock_shared() noexcept {
    if (!impl_ || !impl_->origin.same_process())
        return;
    if (impl_->sections.read_depth() != 0)
        impl_->sections.leave_read();
    else
        detail::tell_of_no_lock(*impl_);
}

} // namespace remanence
