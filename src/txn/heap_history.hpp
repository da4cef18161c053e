// The history of an open heap: records the bytes that undo each commit as steps, and writes them to memory to go to
// another state.
//
// An undo writes the former bytes to memory and commits them like any other change. So the log only goes forward, and
// recovery knows nothing of a history. The allocator's state lies in the heap, so an undo restores it, too.
#pragma once

#include "base/result.hpp"
#include "change/change_set.hpp"
#include "history/destinations.hpp"
#include "history/history_file.hpp"
#include "history/step_tree.hpp"
#include "os/file.hpp"
#include "store/image.hpp"
#include "txn/checkpoint_run.hpp"
#include "txn/heap_names.hpp"
#include "txn/sharing.hpp"
#include "view/memory_view.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::txn {

/// Callers hold both locks of the heap.
class heap_history final : public history_mover, public history_follower {
public:
    /// Begins the history with one state, the present one, of this version. `view` must outlive this object.
    heap_history(const history::limits& most, std::uint64_t version, view::memory_view& view, const std::string& path);
    heap_history(const heap_history&) = delete;
    heap_history& operator=(const heap_history&) = delete;

    /// Collects what is needed to undo a commit of these changes, and allocates all memory for it. errc::history_full
    /// if the limits do not allow one more step: the caller must not commit. errc::corrupt and errc::io if the former
    /// content of a chunk cannot be read. Throws std::bad_alloc. Precondition: the collector has just found the
    /// changes.
    result<void> stage(const change::change_set& changes, history::step_kind kind);
    /// Notes that this call made all changes of the next commit; if there is no value, that no call did. The history
    /// stores the call instead of the bytes, if it is smaller and no version is kept: a state that an inverse restores
    /// need not have the same bytes.
    void note_call(std::optional<history::procedure_call> call) noexcept { call_ = std::move(call); }
    /// Records that the staged commit was made, with this version.
    void accept(std::uint64_t version) noexcept;

    /// Returns an object that finds the states to which steps lead. It must not outlive this object.
    [[nodiscard]] history::destinations leads() const {
        return {steps_, file_ ? history::steps_lie::in_file : history::steps_lie::in_memory, path_};
    }

    /// Begins to bring memory to this state. The caller must then call apply_next() while has_next() is true, and at
    /// the end check_out(), take_back() or give_up(). Throws std::bad_alloc: then nothing has begun. Precondition:
    /// memory has no uncommitted changes.
    void begin_path(std::uint64_t state);
    [[nodiscard]] bool has_next() const { return path_back_.size() != route_.size(); }
    /// Returns the call whose procedure (or inverse, if next_leads_back()) the caller must run before apply_next();
    /// null if the next part of the path has bytes.
    [[nodiscard]] const history::procedure_call* next_call() const { return route_[path_back_.size()].call(); }
    [[nodiscard]] bool next_leads_back() const { return route_[path_back_.size()].leads_back(); }
    [[nodiscard]] const history::procedure_call* call_on_path() const;
    /// errc::no_procedure if there is a call on the path but `can_be_made` is false. errc::no_step if versions are kept
    /// and the path is more than that call.
    [[nodiscard]] result<void> check_calls(bool can_be_made) const;
    /// Applies the next part of the path to memory. A failure or std::bad_alloc leaves memory unchanged.
    result<void> apply_next();
    /// If versions are kept and the path is one call: copies the bytes that the commit of these changes overwrites, so
    /// that the way back is bytes. errc::corrupt, errc::io: as stage(). Throws std::bad_alloc.
    result<void> hold_bytes_of_path(const change::change_set& changes);
    [[nodiscard]] bool is_path_one_call() const { return route_.size() == 1 && route_.front().call() != nullptr; }
    /// Stages the changes that were made to memory after it had reached the destination and `kept` was made. They
    /// become a hidden step after the destination. errc::corrupt, errc::io: as stage(). Throws std::bad_alloc.
    result<void> stage_since(const view::kept_pages& kept);
    [[nodiscard]] bool has_staged() const { return steps_.has_staged(); }
    /// Records that a commit with this version has brought memory to the destination.
    void check_out(std::uint64_t version) noexcept;
    /// After a failed commit: brings memory back. Precondition: no call was on the path.
    void take_back() noexcept;
    /// After a failed commit: forgets the path. The caller must bring memory back.
    void give_up() noexcept;

    // A history that is kept over sessions. The record of each commit contains the history's events. A checkpoint moves
    // the events to the file beside the heap before it empties the log.

    /// Continues the history of the last session; `last` is the heap's last commit. If the file does not lead to that
    /// commit, the history begins anew, and why_new() says why. Fails if the file cannot be read. Throws
    /// std::bad_alloc.
    result<void> keep(os::file_system& files, os::file& heap, const store::image& image, const heap_names& names,
                      const history::heap_uuid& uuid, const history::commit_name& last, std::uint64_t rewritten_from,
                      bool is_to_be_shared);
    /// Reads the steps of earlier sessions, unless they are in memory. If the file is damaged, the history begins anew
    /// with the present state, and why_new() says so. Fails if the file cannot be read; throws std::bad_alloc; both
    /// change nothing. O(1), or O(history) for the first call.
    result<void> have_all() { return has_all_ ? result<void>() : read_rest(); }
    [[nodiscard]] bool has_all() const { return has_all_; }
    [[nodiscard]] bool is_kept() const { return file_.has_value(); }
    /// Returns why there are no steps of earlier sessions, or why the file was begun anew with all of them. Empty if
    /// neither is so, or before have_all().
    [[nodiscard]] const std::string& why_new() const {
        return why_new_.empty() && file_ ? file_->what_happened() : why_new_;
    }

    // Precondition of the rest: is_kept().

    /// These make the events for what the next commit will do. All throw std::bad_alloc.
    void describe_commit();
    void describe_checkout();
    void describe_forgetting();
    /// For other changes of the steps: `change` must append the event.
    void describe(const std::function<void(history::event_bytes&)>& change);
    /// Returns the events that the last of these functions made.
    [[nodiscard]] std::span<const std::byte> events() const { return events_; }
    /// Reserves space for the events in the file. `last` is the last commit; `make_durable` must make that commit
    /// durable. errc::no_space changes nothing. Throws std::bad_alloc.
    result<void> reserve_events(const history::commit_name& last, const std::function<result<void>()>& make_durable);
    /// Adds the events to the file's pending entries. Call it once the commit's record is in the log.
    void add_events(const history::commit_name& commit) noexcept;
    /// For a checkpoint. These throw std::bad_alloc.
    result<void> prepare_to_move() override;
    result<bool> move(bool is_clean) override;
    result<void> sync() override;

    // A history in a shared heap. Each process has all steps in memory, and replays the events in other processes'
    // records. All processes use the limits of the first one, which are in the file before another one joins. Every
    // process writes the same entries to the same places (history_file.hpp). When the file has grown, it is rewritten
    // by a process that makes a checkpoint and holds the writer lock. The other processes change to the new file before
    // they write, or when the old file lacks the commits up to a checkpoint.

    /// Writes the limits to the file, so that other processes may join. `last` is the last commit, which must be
    /// durable. errc::no_space. Throws std::bad_alloc.
    result<void> share(const history::commit_name& last);
    /// Joins processes that have the heap open, by loading the steps up to this commit, or up to a later one if the
    /// file was begun later. errc::corrupt if the file does not lead there. Throws std::bad_alloc.
    result<void> join(os::file_system& files, os::file& heap, const heap_names& names, const history::heap_uuid& uuid,
                      const history::commit_name& at, std::uint64_t heap_bytes, std::uint64_t rewritten_from);
    result<void> follow(const recover::scanned_record& record) override;
    result<void> follow_passed(const history::commit_name& checkpoint, std::uint64_t heap_bytes) override;
    void note_checkpoint(std::uint64_t version) noexcept override;
    /// True if this process's steps may differ from those of other processes, after a lack of memory.
    [[nodiscard]] bool differs_from_others() const { return is_shared_ && steps_.has_lacked_memory(); }

    /// True if the destination differs from the present state.
    [[nodiscard]] bool is_elsewhere() const { return destination_ != steps_.present(); }

    /// Returns the steps. Unless has_all(), these are only the steps of this session.
    [[nodiscard]] history::step_tree& steps() { return steps_; }
    [[nodiscard]] const history::step_tree& steps() const { return steps_; }

private:
    result<void> read_rest();
    result<void> follow(const history::commit_name& commit, std::span<const std::byte> events,
                        std::uint64_t heap_bytes);
    void begin_description();
    /// Returns the greatest size of a step. For a larger step the history stores no bytes, and begins anew.
    [[nodiscard]] std::uint64_t step_bytes_max() const;
    [[nodiscard]] bool is_call_enough(const change::change_set& changes) const;
    [[nodiscard]] unexpected full(const history::delta& before) const;

    history::step_tree steps_;
    view::memory_view& view_;
    const std::string path_;
    std::optional<history::procedure_call> call_; // made all changes of the next commit; none: store bytes
    std::uint64_t destination_ = 0;
    std::vector<history::step_tree::path_part> route_; // the path to destination_
    std::vector<history::delta> path_back_;            // the way back, one for each part of route_ applied so far
    os::file* heap_ = nullptr;                         // the heap's file, if is_kept()
    const store::image* image_ = nullptr;              // set if is_kept(), except after join()
    const heap_names* names_ = nullptr;                // set if is_kept()
    std::optional<history::history_file> file_;        // none: the history ends with the session
    history::event_bytes events_;                      // of the next commit
    bool owes_session_ = true;                         // the event that begins this session is not committed yet
    bool has_all_ = true;                              // false: earlier sessions' steps are only in the file
    std::string why_new_;
    bool is_shared_ = false;
};

} // namespace remanence::txn
