// What an open engine answers at any time: whether it may be used still, memory, announcements, verification.

#include "txn/engine.hpp"

#include "recover/scan.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace remanence::txn {

result<void> engine::usable() const {
    if (options_.read_only) {
        return fail(errc::read_only, path() + " is open read-only. Open it for writing to change it.", path());
    }
    if (lacked_memory_) {
        return fail(errc::poisoned,
                    path() + " takes no more commits, since the process had no memory left in the midst of an earlier "
                             "one. Close it and open it again: it will be as of its last durable commit.",
                    path());
    }
    const std::lock_guard guard(health_);
    if (!poisoned_)
        return {};
    return fail(errc::poisoned,
                path() + " takes no more commits, since an earlier write failed: " + poisoned_->message +
                    " Close it and open it again: it will be as of its last durable commit.",
                path(), poisoned_->os_error, poisoned_->offset);
}

unexpected engine::poison(unexpected why) {
    // errc::no_space promises that nothing was written and that the call may be repeated: not so any more.
    if (why.why().code == errc::no_space) {
        why.why().code = errc::io;
        why.why().message = "writing " + path() +
                            " failed: its device is full, although it had granted the space "
                            "(is it thinly provisioned, or copy-on-write?). Make room on the device.";
    }
    const std::lock_guard guard(health_);
    if (!poisoned_)
        poisoned_ = why.why(); // I5
    return why;
}

bool engine::is_poisoned() const {
    const std::lock_guard guard(health_);
    return poisoned_ || lacked_memory_;
}

std::uint64_t engine::version() const {
    return log_ && is_poisoned() ? std::min(version_, log_->durable_through()) : version_;
}

unexpected engine::name_file(const std::string& before, const std::string& path, failure why) {
    why.message = before + path + ": " + why.message;
    why.path = path;
    return unexpected(std::move(why));
}

void* engine::allocate(std::uint64_t bytes, std::uint64_t alignment, std::optional<unexpected>& why) {
    std::lock_guard allocation(allocation_);
    has_other_changes_ = has_other_changes_ || !is_declared_;
    void* block = allocator_->allocate(bytes, alignment);
    if (block != nullptr)
        spill_if_due(block, bytes);
    else
        why = why_no_memory(bytes);
    return block;
}

unexpected engine::why_no_memory(std::uint64_t bytes) const {
    unexpected found = allocator_->failure();
    failure& why = found.why();
    if (why.path.empty()) { // the allocator knows no files
        why.path = path();
        why.message = "no " + std::to_string(bytes) + " bytes of memory in the heap " + path() + ": " + why.message;
        if (why.code == errc::exhausted)
            why.message += ". Free memory in it, or split the data over several heaps.";
    }
    return found;
}

void engine::deallocate(void* block, std::uint64_t bytes, std::uint64_t alignment) {
    std::lock_guard allocation(allocation_);
    has_other_changes_ = has_other_changes_ || !is_declared_;
    if (options_.inspect) [[unlikely]]
        wipe(block);
    allocator_->deallocate(block, bytes, alignment);
    if (!may_write_) [[unlikely]]
        allocator_->flush(); // where it is caught, and not by a later commit
    else if (options_.inspect) [[unlikely]]
        allocator_->free_returned(); // what is no block is told of at once
    spill_if_due(base(), 0);
}

void engine::wipe(void* block) {
    const auto freed = allocator_->block_of(block);
    if (!freed || freed->start != block)
        return;
    if (is_declared_)
        (void)view_->announce(offset_of(freed->start), freed->bytes);
    std::memset(freed->start, 0, freed->bytes);
}

std::optional<alloc::block> engine::block_of(const void* address) const {
    std::lock_guard allocation(allocation_);
    return allocator_->block_of(address);
}

const alloc::block_allocator* engine::quiet_allocator() const {
    if (!allocation_.try_lock())
        return nullptr;
    allocation_.unlock();
    return allocator_.get();
}

void engine::allow_writes(bool allowed) {
    if (options_.report_stray_write != nullptr) {
        const std::lock_guard allocation(allocation_);
        if (!allowed)
            allocator_->flush(); // while it may
        may_write_ = allowed;
    }
    view_->allow_writes(allowed);
}

void engine::begin_declared() {
    std::lock_guard allocation(allocation_);
    is_declared_ = true;
    view_->note_announcements(true);
    allocator_->set_listener([this](std::uint64_t offset, std::uint64_t bytes) {
        (void)view_->announce(offset,
                              bytes); // a tracker that cannot open the pages has another try when they are written
    });
}

void engine::end_declared() {
    std::lock_guard allocation(allocation_);
    if (!is_declared_)
        return;
    is_declared_ = false;
    has_other_changes_ = has_other_changes_ || !view_->has_no_announcements();
    view_->note_announcements(false);
    allocator_->set_listener({});
}

result<void> engine::announce(const void* first, std::uint64_t bytes) {
    std::lock_guard allocation(allocation_);
    auto announced = view_->announce(offset_of(first), bytes);
    if (!announced)
        return name_file("touch in ", path(), announced.why());
    spill_if_due(first, bytes); // but what is about to be written
    return {};
}

// In this order: what is spilled after it was announced would have to be announced again.
result<void> engine::touch(const void* first, std::uint64_t bytes) {
    {
        const std::lock_guard allocation(allocation_);
        view_->spiller().keep_in_memory(offset_of(first), bytes);
    }
    return announce(first, bytes);
}

bool engine::contains(const void* address) const {
    auto offset = reinterpret_cast<std::uint64_t>(address) - reinterpret_cast<std::uint64_t>(base());
    return offset < view_->memory().reserved_bytes();
}

result<verification> engine::verify() {
    const std::lock_guard alone(at_store_);
    verification report;
    REM_TRY(carry_out_run()); // else some pages are not as the tables say
    if (store_->is_ahead_of_file() && !run_)
        REM_TRY(usable()); // a checkpoint has failed, so that it cannot be carried out
    auto pages = store::verify(
        *store_, [&](store::damage d) { report.problems.push_back(std::move(d)); },
        [&](std::uint64_t done, std::uint64_t total) {
            if (options_.on_progress)
                options_.on_progress(engine_options::work::verify, done, total);
        });
    if (!pages)
        return pages.error();
    report.pages_checked = *pages;
    if (log_) {
        const std::uint64_t written = log_->written_through(); // later ones may be under way
        auto records = recover::scan(log_->file(), store_->supers());
        if (!records) {
            report.problems.push_back({records.why().message, records.why().offset});
        } else {
            report.log_records_checked = records->size();
            if (store_->super().checkpoint_version + records->size() < written) {
                report.problems.push_back({"the redo log lacks commits", error::k_no_offset});
            }
        }
    }
    // The allocator's state says how far its structures reach. Where it is damaged, that may be the whole address range.
    const auto is_of_state = [&](const store::damage& d) { return d.offset == store_->home_of(0); };
    if (store_->image_bytes() != 0 && std::ranges::any_of(report.problems, is_of_state))
        return report;
    std::lock_guard allocation(allocation_);
    allocator_->check_invariants([&](std::uint64_t offset, std::string_view what) {
        report.problems.push_back(
            {"allocator, at heap offset " + std::to_string(offset) + ": " + std::string(what), error::k_no_offset});
    });
    allocator_->for_each_block([&](alloc::block) { ++report.blocks_checked; });
    return report;
}

} // namespace remanence::txn
