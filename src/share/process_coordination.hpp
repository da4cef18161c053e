// Implements coordination: the steps of sections.hpp and attachment.hpp on shared memory and file locks, and the waits
// between these steps. coordination::attach() creates the object.
#pragma once

#include "share/attachment.hpp"
#include "share/coordination.hpp"
#include "share/coordination_file.hpp"
#include "share/sections.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace remanence::share {

/// The locks end when their descriptor is closed. A forked child has neither the descriptor nor the mapping.
struct process_coordination final : coordination {
    process_coordination(std::unique_ptr<os::byte_locks> bytes, coordination_file shared, std::string heap_path)
        : path(std::move(heap_path)), locks(std::move(bytes)), file(std::move(shared)), places(*locks, file, k_slots) {}

    /// Writes this process's number and program name to its slot.
    void come_in();
    /// AT5: true if the coordination file still has its name and any process is attached.
    result<bool> is_session_alive();

    [[nodiscard]] slot<shared_memory_policy>& mine() const { return file.memory().slots[places.slot()]; }
    [[nodiscard]] coordination_waiting& waiting() const { return file.memory().waiting; }

    void notify_writer_lock_change();
    /// Wakes the processes that a checkpoint waits for.
    void call_those_in_the_way();
    static void call(slot<shared_memory_policy>& one);
    /// If this process held the writer lock last and others want it, waits a moment.
    void let_others_write_first(deadline until);
    void note_writer_lock();
    bool pin_as_guest(std::uint64_t version) noexcept;

    result<void> check_session() override;
    result<void> become_ready(const heap_identity& heap, const visible_commit& commit,
                              const current_checkpoint& checkpoint) override;
    result<void> check_identity(const heap_identity& heap) const override;
    result<bool> detach(deadline until) override;
    [[nodiscard]] std::uint64_t visible() const noexcept override;
    [[nodiscard]] visible_commit commit() const noexcept override;
    [[nodiscard]] std::uint64_t checkpoint_sequence() const noexcept override;
    [[nodiscard]] current_checkpoint checkpoint() const noexcept override;
    [[nodiscard]] current_checkpoint released() const noexcept override;
    [[nodiscard]] bool is_poisoned() const noexcept override;
    void poison() noexcept override;
    bool wait_for_version(std::uint64_t version, deadline until) noexcept override;
    void wait_for_commit_after(std::uint64_t version, const std::atomic<bool>& ends) noexcept override;
    void wake_waiting_for_commits() noexcept override;
    bool pin(std::uint64_t version) noexcept override;
    void unpin() noexcept override;
    current_checkpoint hold() noexcept override;
    void let_go() noexcept override;
    [[nodiscard]] std::uint64_t apply_target() const noexcept override;
    [[nodiscard]] std::optional<std::uint64_t> pinned() const noexcept override;
    void raise_pin(std::uint64_t version) noexcept override;
    [[nodiscard]] std::uint32_t calls() const noexcept override;
    void wait_for_call(std::uint32_t seen) noexcept override;
    void call_own() noexcept override;
    result<turn> take_writer(deadline until) override;
    void begin_writing() noexcept override;
    void publish(const visible_commit& commit) noexcept override;
    void end_writing() noexcept override;
    void release_writer() noexcept override;
    [[nodiscard]] std::optional<participant> writer() const override;
    [[nodiscard]] bool others_wait_to_write() const noexcept override;
    result<bool> try_take_checkpoint() override;
    void declare_apply(std::uint64_t version) noexcept override;
    [[nodiscard]] bool may_apply() noexcept override;
    void publish_checkpoint(const current_checkpoint& checkpoint) noexcept override;
    [[nodiscard]] bool may_release() noexcept override;
    void release() noexcept override;
    void release_checkpoint() noexcept override;
    [[nodiscard]] std::optional<participant> checkpointer() const override;
    [[nodiscard]] std::vector<reader> readers() const override;
    [[nodiscard]] std::size_t attached_processes() const override;

    std::string path;
    std::unique_ptr<os::byte_locks> locks;
    coordination_file file;
    attachment<shared_memory_policy> places;
    std::optional<sections<shared_memory_policy>> steps; // set once attached; for the first process, in become_ready()
    std::atomic<bool> has_writer_lock = false;
    bool is_guest = false;
};

} // namespace remanence::share
