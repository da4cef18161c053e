// The public handle: a short function for each operation. opening.cpp opens heaps.

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "api/registry.hpp"
#include "types/root_directory.hpp"

#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <utility>

namespace remanence {

using detail::check;
using detail::checked;
using detail::exclusively;

static void belong_to(heap* handle, detail::heap_impl* impl) {
    if (impl != nullptr)
        impl->belong_to(handle);
}

heap::heap(heap&& other) noexcept : impl_(std::move(other.impl_)) { belong_to(this, impl_.get()); }

heap& heap::operator=(heap&& other) noexcept {
    impl_ = std::move(other.impl_);
    belong_to(this, impl_.get());
    return *this;
}

detail::heap_impl& detail::impl_of(const heap& of) { return *opened(of.impl_); }

heap::~heap() { impl_.reset(); } // impl_ is already empty during destruction, for threads that still use the handle

void heap::close() {
    (void)detail::opened(impl_);
    std::exception_ptr late;
    try {
        (void)checked(impl_);
    } catch (...) { // of an unlock(); it does not keep the heap open
        late = std::current_exception();
    }
    {
        const os::no_cancellation whole;
        detail::heap_impl::close(impl_);
    }
    if (late)
        std::rethrow_exception(std::move(late));
}

namespace {

/// Checks before explicit commits; the caller holds the write lock. Inside a write section it checks nothing, because
/// the commit at the end of a section checks nothing either.
void check_if_outside_sections(detail::heap_impl& impl) {
    if (impl.sections.write_depth() == 1)
        check(impl.foreign.refuse_their_memory(impl.memory()));
}

/// Runs `f` with the read lock held, or in the section that the thread is in.
template <class F>
decltype(auto) shared(detail::heap_impl* impl, F&& f) {
    detail::read_section section(impl);
    const detail::whole_call reading(impl->calls);
    return f();
}

} // namespace

void heap::commit() { commit(checked(impl_)->options.commits); }

void heap::commit(durability until) {
    detail::heap_impl* impl = checked(impl_);
    {
        const os::no_cancellation whole;
        std::optional<detail::heap_commits::in_flight> commit;
        exclusively(impl, [&] {
            check_if_outside_sections(*impl);
            commit = impl->commits.make(txn::commit_scope::everything, until);
        });
        impl->commits.await(*commit);
    }
    os::end_if_cancelled();
}

commit_ticket heap::commit_async() {
    detail::heap_impl* impl = checked(impl_);
    const os::no_cancellation whole;
    std::optional<detail::heap_commits::in_flight> commit;
    exclusively(impl, [&] {
        check_if_outside_sections(*impl);
        commit = impl->commits.make_async(txn::commit_scope::everything);
    });
    return impl->commits.ticket_of(*commit);
}

void heap::sync() {
    detail::heap_impl* impl = checked(impl_);
    {
        const detail::whole_call syncing(impl->calls);
        impl->check_not_ending();
        check(impl->engine().sync());
    }
    os::end_if_cancelled();
}

void heap::rollback() {
    detail::heap_impl* impl = checked(impl_);
    exclusively(impl, [&] { impl->roll_back(); });
}

void heap::checkpoint() {
    detail::heap_impl* impl = checked(impl_);
    {
        const os::no_cancellation whole;
        exclusively(impl, [&] {
            const detail::whole_call applying(impl->calls);
            check(impl->engine().checkpoint());
        });
    }
    os::end_if_cancelled();
}

std::vector<root_info> heap::roots() const {
    detail::heap_impl* impl = checked(impl_);
    std::vector<root_info> found;
    shared(impl, [&] {
        check(types::root_directory(impl->memory()).for_each([&](const types::root_view& root) {
            found.push_back({std::string(root.name), std::string(root.type), root.bytes});
        }));
    });
    return found;
}

void heap::touch(const void* pointer, std::size_t bytes) const {
    detail::heap_impl* impl = checked(impl_);
    const auto* first = static_cast<const std::byte*>(pointer);
    if (bytes == 0)
        return;
    txn::heap_memory& memory = impl->memory();
    if (!memory.contains(first) || bytes > memory.reserved_bytes() - memory.offset_of(first)) {
        detail::raise(failure{errc::invalid_argument, "touch: the range does not lie in " + path().string() + ".",
                              path().string()});
    }
    const detail::whole_call declaring(impl->calls);
    check(memory.touch(first, bytes));
}

std::uint64_t heap::version() const {
    detail::heap_impl* impl = checked(impl_);
    return shared(impl, [&] { return impl->engine().version(); });
}

namespace {

share::coordination& others_of(detail::heap_impl* impl) {
    if (!impl->engine().is_shared()) {
        detail::raise(failure{errc::invalid_argument,
                              impl->origin.path.string() +
                                  " is open exclusively: no other process has it. Open it with sharing::processes.",
                              impl->origin.path.string()});
    }
    return impl->engine().shared()->protocol();
}

heap_user user_of(share::participant who) { return {who.process, who.thread, std::move(who.program), who.since}; }

} // namespace

bool heap::wait_for_version(std::uint64_t version, std::chrono::milliseconds longest) const {
    const bool waits_for_ever = longest > std::chrono::hours(24 * 365 * 100); // too long for a deadline
    return others_of(checked(impl_))
        .wait_for_version(version, waits_for_ever ? share::deadline() : std::chrono::steady_clock::now() + longest);
}

std::vector<heap_reader> heap::readers() const {
    std::vector<heap_reader> found;
    for (share::reader& each : others_of(checked(impl_)).readers())
        found.push_back({user_of(std::move(each.who)), each.version});
    return found;
}

std::optional<heap_user> heap::writer() const {
    auto who = others_of(checked(impl_)).writer();
    return who ? std::optional(user_of(std::move(*who))) : std::nullopt;
}

std::vector<std::span<const std::byte>> heap::changed_ranges() const {
    detail::heap_impl* const impl = checked(impl_);
    return shared(impl, [&] {
        auto pages = impl->engine().written_pages();
        check(pages ? result<void>() : result<void>(pages.error()));
        std::vector<std::span<const std::byte>> ranges;
        for (const heap_range& each : *pages)
            ranges.emplace_back(impl->memory().base() + each.offset, each.bytes);
        return ranges;
    });
}

heap_stats heap::stats() const {
    detail::heap_impl* impl = checked(impl_);
    std::vector<share::reader> reading; // filled before this thread becomes a reader itself
    if (impl->engine().is_shared())
        reading = impl->engine().shared()->protocol().readers();
    return shared(impl, [&] {
        const txn::engine_stats counted = impl->engine().stats();
        heap_stats stats;
        stats.readers = reading.size();
        stats.oldest_read_version = reading.empty() ? 0 : reading.front().version;
        const auto now = std::chrono::system_clock::now();
        for (const share::reader& each : reading)
            stats.oldest_read_age = std::max<std::chrono::nanoseconds>(stats.oldest_read_age, now - each.who.since);
        stats.commits = counted.commits;
        stats.checkpoints = counted.checkpoints;
        stats.checkpoint_waits = counted.checkpoint_waits;
        stats.changed_bytes = counted.changed_bytes;
        stats.logged_bytes = counted.logged_bytes;
        stats.image_bytes = counted.image_bytes + counted.spilled_bytes;
        stats.spilled_bytes = counted.spilled_bytes;
        stats.written_bytes = counted.written_bytes;
        stats.discarded_bytes = impl->losses.discarded_bytes();
        stats.syncs = counted.syncs;
        stats.commit_times = impl->commits.times();
        stats.point_wait = counted.point_wait;
        stats.log_limit_bytes = counted.log_limit_bytes;
        stats.log_used_bytes = counted.log_used_bytes;
        stats.before_image_bytes = counted.before_image_bytes;
        stats.checkpoint_done_bytes = counted.checkpoint.done_bytes;
        stats.checkpoint_total_bytes = counted.checkpoint.total_bytes;
        stats.heap_bytes = counted.committed_bytes;
        stats.allocated_bytes = counted.allocated_bytes;
        stats.resident_bytes = counted.resident_bytes;
        stats.dirty_bytes = counted.dirty_bytes;
        stats.evicted_bytes = counted.evicted_bytes;
        stats.tracker = counted.tracker;
        stats.recovered_commits = counted.recovered_commits;
        stats.recovered_bytes = counted.recovered_bytes;
        stats.open_time = counted.open_time;
        return stats;
    });
}

verify_report heap::verify() const {
    detail::heap_impl* impl = checked(impl_);
    const auto look = [&] {
        auto checked_heap = impl->engine().verify();
        if (!checked_heap)
            detail::raise(checked_heap.why());
        verify_report report;
        report.pages_checked = checked_heap->pages_checked;
        report.log_records_checked = checked_heap->log_records_checked;
        report.blocks_checked = checked_heap->blocks_checked;
        for (store::damage& d : checked_heap->problems)
            report.problems.push_back({std::move(d.what), d.offset});
        const bool are_blocks_sound = report.problems.empty(); // otherwise the list of blocks cannot be trusted
        auto roots = types::root_directory(impl->memory()).for_each([&](const types::root_view& root) {
            if (!are_blocks_sound)
                return;
            if (auto fault = impl->checks.fault_in(root, impl->memory()))
                report.problems.push_back({std::move(*fault), error::k_no_offset});
        });
        if (roots)
            roots = types::root_directory(impl->memory()).check_descriptions();
        if (!roots)
            report.problems.push_back({roots.why().message, roots.why().offset});
        return report;
    };
    if (!impl->engine().is_shared())
        return shared(impl, look);
    // A shared heap is checked with the write lock held, so that no other process changes its file meanwhile.
    std::optional<verify_report> report;
    exclusively(impl, [&] { report = look(); });
    return std::move(*report);
}

const std::filesystem::path& heap::path() const { return checked(impl_)->origin.path; }

std::string heap::application() const { return std::string(checked(impl_)->engine().application()); }

void* heap::base() const { return checked(impl_)->memory().base(); }

heap* heap_of(const void* pointer) noexcept {
    detail::heap_impl* impl = detail::registry::find(pointer);
    return impl != nullptr && impl->memory().contains(pointer) ? impl->handle() : nullptr;
}

} // namespace remanence
