// The history of an open heap: takes what undoes commits into the steps, and brings it back to memory.
//
// An undo writes the former bytes to memory, and commits that like any other change. So the log only goes forward,
// and recovery knows nothing of a history. The allocator's state lies in the heap, so it goes back with the rest.
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
    /// Begins the history with the present state, of this version. `view` must outlive this object.
    heap_history(const history::limits& most, std::uint64_t version, view::memory_view& view, const std::string& path);
    heap_history(const heap_history&) = delete;
    heap_history& operator=(const heap_history&) = delete;

    /// Takes what undoes a commit of these changes, and the memory to keep it. errc::history_full if it may not be
    /// kept, so the commit must not be made. errc::corrupt and errc::io if the former content of a chunk cannot be
    /// read. Throws std::bad_alloc. Precondition: the collector has just found the changes.
    result<void> stage(const change::change_set& changes, history::step_kind kind);
    /// Says that this call made all changes of the next commit. So the history keeps the call instead of the bytes,
    /// if it is smaller. Not while versions are kept: a state reached by an inverse need not have the same bytes.
    void note_call(std::optional<history::procedure_call> call) noexcept { call_ = std::move(call); }
    /// Records that the staged commit is made, with this version.
    void accept(std::uint64_t version) noexcept;

    /// Returns where the steps lead. The result must not outlive this object.
    [[nodiscard]] history::destinations leads() const {
        return {steps_, file_ ? history::steps_lie::in_file : history::steps_lie::in_memory, path_};
    }

    /// Begins the way of memory to this state. The caller calls apply_next() while has_next(), then check_out(),
    /// take_back() or give_up(). Throws std::bad_alloc: then nothing has begun. Precondition: memory has no
    /// uncommitted changes.
    void begin_path(std::uint64_t state);
    [[nodiscard]] bool has_next() const { return path_back_.size() != route_.size(); }
    /// Returns the call that the caller must make, or undo, before apply_next(); null if there are bytes.
    [[nodiscard]] const history::procedure_call* next_call() const { return route_[path_back_.size()].call(); }
    [[nodiscard]] bool next_leads_back() const { return route_[path_back_.size()].leads_back(); }
    [[nodiscard]] const history::procedure_call* call_on_path() const;
    /// errc::no_procedure or errc::no_step if there is a call on the path that must not or cannot be made.
    [[nodiscard]] result<void> check_calls(bool can_be_made) const;
    /// A failure or std::bad_alloc leaves memory unchanged.
    result<void> apply_next();
    /// If versions are kept and the path is one call: takes the bytes that the commit of these changes overwrites, to
    /// lead back by them. errc::corrupt, errc::io: as stage(). Throws std::bad_alloc.
    result<void> hold_bytes_of_path(const change::change_set& changes);
    [[nodiscard]] bool is_path_one_call() const { return route_.size() == 1 && route_.front().call() != nullptr; }
    /// Stages what memory has changed since `kept`, when it had reached the destination, as a hidden step behind
    /// that. errc::corrupt, errc::io: as stage(). Throws std::bad_alloc.
    result<void> stage_since(const view::kept_pages& kept);
    [[nodiscard]] bool has_staged() const { return steps_.has_staged(); }
    /// Records that the way is committed, by this version.
    void check_out(std::uint64_t version) noexcept;
    /// After a failed commit: brings memory back. Precondition: no call was on the path.
    void take_back() noexcept;
    /// After a failed commit: forgets the path. The caller brings memory back.
    void give_up() noexcept;

    // A history that is kept over sessions. Its events are in the record of each commit. A checkpoint moves them to
    // the file beside the heap before it empties the log.

    /// Continues the history of the last session; `last` is the heap's last commit. If it cannot, why_new() says why.
    /// Fails if the file cannot be read. Throws std::bad_alloc.
    result<void> keep(os::file_system& files, os::file& heap, const store::image& image, const heap_names& names,
                      const history::heap_uuid& uuid, const history::commit_name& last, std::uint64_t rewritten_from,
                      bool is_to_be_shared);
    /// Reads the steps of earlier sessions, unless they are in memory. They are read only when asked for. If they are
    /// damaged, the history begins anew with the present state, and why_new() says so. If the file cannot be read,
    /// fails and changes nothing, as with std::bad_alloc. O(1), or O(history).
    result<void> have_all() { return has_all_ ? result<void>() : read_rest(); }
    [[nodiscard]] bool has_all() const { return has_all_; }
    [[nodiscard]] bool is_kept() const { return file_.has_value(); }
    /// Returns why there are no steps of earlier sessions, or why the file was rewritten with all of them. Empty if
    /// neither is so, or if nothing has read them yet.
    [[nodiscard]] const std::string& why_new() const {
        return why_new_.empty() && file_ ? file_->what_happened() : why_new_;
    }

    // Precondition of the rest: is_kept().

    /// These describe what is going to be committed, as events. All throw std::bad_alloc.
    void describe_commit();
    void describe_checkout();
    void describe_forgetting();
    /// `change` appends the event.
    void describe(const std::function<void(history::event_bytes&)>& change);
    /// Returns the events described last.
    [[nodiscard]] std::span<const std::byte> events() const { return events_; }
    /// Reserves space for the events in the file. `last` is the last commit, and `make_durable` makes it durable.
    /// errc::no_space changes nothing. Throws std::bad_alloc.
    result<void> reserve_events(const history::commit_name& last, const std::function<result<void>()>& make_durable);
    /// Adds the events: they are committed.
    void add_events(const history::commit_name& commit) noexcept;
    /// For a checkpoint. These throw std::bad_alloc.
    result<void> prepare_to_move() override;
    result<bool> move(bool is_clean) override;
    result<void> sync() override;

    // A history in a shared heap. Each process has all steps, and does to them what the others' records say. The
    // limits of the process that opens the heap first hold for all: the file has them before another one joins. Every
    // process writes the same entries to the same places (history_file.hpp). A process that makes a checkpoint and
    // has the writer lock rewrites the file when it has grown. The others change to the new file before they write,
    // or when the old one does not lead to a checkpoint.

    /// Prepares the file, with the limits for all: others may open the heap from now on. `last` is the last commit,
    /// which is durable. errc::no_space. Throws std::bad_alloc.
    result<void> share(const history::commit_name& last);
    /// Joins processes that have the heap open. The steps are those of this commit, or of a later one of theirs.
    /// errc::corrupt: the file does not lead there. Throws std::bad_alloc.
    result<void> join(os::file_system& files, os::file& heap, const heap_names& names, const history::heap_uuid& uuid,
                      const history::commit_name& at, std::uint64_t heap_bytes, std::uint64_t rewritten_from);
    result<void> follow(const recover::scanned_record& record) override;
    result<void> follow_passed(const history::commit_name& checkpoint, std::uint64_t heap_bytes) override;
    void note_checkpoint(std::uint64_t version) noexcept override;
    /// True if a lack of memory has left this process with other steps than the others have.
    [[nodiscard]] bool differs_from_others() const { return is_shared_ && steps_.has_lacked_memory(); }

    /// True if the destination differs from the present state.
    [[nodiscard]] bool is_elsewhere() const { return destination_ != steps_.present(); }

    /// Returns the steps; only their end, unless has_all().
    [[nodiscard]] history::step_tree& steps() { return steps_; }
    [[nodiscard]] const history::step_tree& steps() const { return steps_; }

private:
    result<void> read_rest();
    result<void> follow(const history::commit_name& commit, std::span<const std::byte> events,
                        std::uint64_t heap_bytes);
    void begin_description();
    /// Returns the greatest size of a step. Of a larger one the history keeps no bytes.
    [[nodiscard]] std::uint64_t step_bytes_max() const;
    [[nodiscard]] bool is_call_enough(const change::change_set& changes) const;
    [[nodiscard]] unexpected full(const history::delta& before) const;

    history::step_tree steps_;
    view::memory_view& view_;
    const std::string path_;
    std::optional<history::procedure_call> call_; // all changes of the next commit; none: keep bytes
    std::uint64_t destination_ = 0;
    std::vector<history::step_tree::path_part> route_; // the path to destination_
    std::vector<history::delta> path_back_;            // in the order of route_, as far as memory has come
    os::file* heap_ = nullptr;                         // the heap's file, if the history is kept
    const store::image* image_ = nullptr;              // if the history is kept
    const heap_names* names_ = nullptr;                // if the history is kept
    std::optional<history::history_file> file_;        // none: the history ends with the session
    history::event_bytes events_;                      // of the next commit
    bool owes_session_ = true;                         // no commit has recorded this session yet
    bool has_all_ = true;                              // false: the steps before steps_ are in the file only
    std::string why_new_;
    bool is_shared_ = false;
};

} // namespace remanence::txn
