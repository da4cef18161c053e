// The history of an open heap: what undoes its commits, brought from the commits to the steps, and from there back into memory.
//
// An undo writes what memory was before to memory and commits that as any other change: the log only ever goes forward, and recovery
// knows nothing of a history. The allocator's state is memory of the heap, so it goes back with all else.
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
    /// The history begins with the present state, of this version. `view` must outlive it.
    heap_history(const history::limits& most, std::uint64_t version, view::memory_view& view, const std::string& path);
    heap_history(const heap_history&) = delete;
    heap_history& operator=(const heap_history&) = delete;

    /// Takes what a commit of these changes is undone by, and the memory to keep it. errc::history_full when it may not be kept, and
    /// so may not be made; errc::corrupt and errc::io when what a chunk held cannot be read. Throws std::bad_alloc. Precondition:
    /// the collector has just found the changes.
    result<void> stage(const change::change_set& changes, history::step_kind kind);
    /// The changes of the next commit are those of this call alone, so it is enough to keep that, where it is smaller. Not so while versions
    /// are kept: a state that is reached by an inverse need not have the same bytes.
    void note_call(std::optional<history::procedure_call> call) noexcept { call_ = std::move(call); }
    /// It is made, and has this version.
    void accept(std::uint64_t version) noexcept;

    /// Where the steps lead. It does not outlive this.
    [[nodiscard]] history::destinations leads() const {
        return {steps_, file_ ? history::steps_lie::in_file : history::steps_lie::in_memory, path_};
    }

    /// Memory is about to become what it was in this state: apply_next() must follow, while has_next(), then check_out(), take_back() or
    /// give_up(). Throws std::bad_alloc, and then nothing has begun. Precondition: memory is what is committed.
    void begin_path(std::uint64_t state);
    [[nodiscard]] bool has_next() const { return path_back_.size() != route_.size(); }
    /// The call that is to be made next, or undone, by somebody else, before apply_next(); null: there are bytes.
    [[nodiscard]] const history::procedure_call* next_call() const { return route_[path_back_.size()].call(); }
    [[nodiscard]] bool next_leads_back() const { return route_[path_back_.size()].leads_back(); }
    [[nodiscard]] const history::procedure_call* call_on_path() const;
    /// errc::no_procedure, errc::no_step: there is a call on the path, which must not be made, or cannot be.
    [[nodiscard]] result<void> check_calls(bool can_be_made) const;
    /// A failure, or std::bad_alloc, leaves memory as it is.
    result<void> apply_next();
    /// If versions are kept, and the way is one call: it leads back by the bytes that the commit, which is of these changes, overwrites.
    /// errc::corrupt and errc::io as of stage(). Throws std::bad_alloc.
    result<void> hold_bytes_of_path(const change::change_set& changes);
    [[nodiscard]] bool is_path_one_call() const { return route_.size() == 1 && route_.front().call() != nullptr; }
    /// Memory has come there, and has changed since it was as `kept` says: that is to be a hidden step behind it. errc::corrupt and errc::io
    /// as of stage(). Throws std::bad_alloc.
    result<void> stage_since(const view::kept_pages& kept);
    [[nodiscard]] bool has_staged() const { return steps_.has_staged(); }
    /// That is committed, by this version.
    void check_out(std::uint64_t version) noexcept;
    /// It could not be: memory becomes what it was before. Precondition: no call was on the path.
    void take_back() noexcept;
    /// It could not be, and somebody else brings memory to where it was.
    void give_up() noexcept;

    // A history that is kept over sessions: in the record of each commit, and, before a checkpoint empties the log, in the file beside
    // the heap.

    /// It goes on where the last session ended: `last` is the heap's last commit. Otherwise why_new() says why it does not. Fails when
    /// the file cannot be read. Throws std::bad_alloc.
    result<void> keep(os::file_system& files, os::file& heap, const store::image& image, const heap_names& names,
                      const history::heap_uuid& uuid, const history::commit_name& last, std::uint64_t rewritten_from,
                      bool is_to_be_shared);
    /// The steps of earlier sessions are in memory, too, once this returns: they are not read before something asks for them. If they turn
    /// out to be damaged, the history begins anew with the present state, and why_new() says so. Fails when the file cannot be read, and
    /// changes nothing then. Throws std::bad_alloc, likewise. O(1), or O(history).
    result<void> have_all() { return has_all_ ? result<void>() : read_rest(); }
    [[nodiscard]] bool has_all() const { return has_all_; }
    [[nodiscard]] bool is_kept() const { return file_.has_value(); }
    /// Why no steps of earlier sessions are there, or why the file was made anew with all of them; empty: neither, or nobody asked.
    [[nodiscard]] const std::string& why_new() const {
        return why_new_.empty() && file_ ? file_->what_happened() : why_new_;
    }

    // Precondition of all that follows: is_kept().

    /// What is going to be committed. All throw std::bad_alloc.
    void describe_commit();
    void describe_checkout();
    void describe_forgetting();
    /// `change` appends the event.
    void describe(const std::function<void(history::event_bytes&)>& change);
    /// Of what was described.
    [[nodiscard]] std::span<const std::byte> events() const { return events_; }
    /// Makes room for it in the file. `last`: the last commit, as durable as `make_durable` makes it. errc::no_space leaves all as it
    /// was. Throws std::bad_alloc.
    result<void> reserve_events(const history::commit_name& last, const std::function<result<void>()>& make_durable);
    /// It is committed.
    void add_events(const history::commit_name& commit) noexcept;
    /// For a checkpoint. Throw std::bad_alloc.
    result<void> prepare_to_move() override;
    result<bool> move(bool is_clean) override;
    result<void> sync() override;

    // In a heap that several processes share. Each has all steps, and does to them what the others' records say. The limits of whoever
    // opens the heap first hold for all: the file has them before anybody joins. Entries of the file are the same bytes at the same place
    // whoever writes them (history_file.hpp). Whoever makes a checkpoint, and has the writer lock, makes the file anew when it has grown;
    // the others go on in that one before they write to it, or when the old one does not lead to a checkpoint.

    /// Others may open the heap from now on, and find the file, with the limits that hold for all. `last`: the last commit, which is
    /// durable. errc::no_space. Throws std::bad_alloc.
    result<void> share(const history::commit_name& last);
    /// Joins those that have it open: the steps are those of this commit, or of a later one that they have made. errc::corrupt: nothing
    /// leads there. Throws std::bad_alloc.
    result<void> join(os::file_system& files, os::file& heap, const heap_names& names, const history::heap_uuid& uuid,
                      const history::commit_name& at, std::uint64_t heap_bytes, std::uint64_t rewritten_from);
    result<void> follow(const recover::scanned_record& record) override;
    result<void> follow_passed(const history::commit_name& checkpoint, std::uint64_t heap_bytes) override;
    void note_checkpoint(std::uint64_t version) noexcept override;
    /// Whether a lack of memory has left steps here that are not those of the other processes.
    [[nodiscard]] bool differs_from_others() const { return is_shared_ && steps_.has_lacked_memory(); }

    /// Whether memory was brought to another state than that of the last commit.
    [[nodiscard]] bool is_elsewhere() const { return destination_ != steps_.present(); }

    /// Only the end of them, unless has_all().
    [[nodiscard]] history::step_tree& steps() { return steps_; }
    [[nodiscard]] const history::step_tree& steps() const { return steps_; }

private:
    result<void> read_rest();
    result<void> follow(const history::commit_name& commit, std::span<const std::byte> events,
                        std::uint64_t heap_bytes);
    void begin_description();
    /// Of one that is longer not all bytes are kept, so none are.
    [[nodiscard]] std::uint64_t step_bytes_max() const;
    [[nodiscard]] bool is_call_enough(const change::change_set& changes) const;
    [[nodiscard]] unexpected full(const history::delta& before) const;

    history::step_tree steps_;
    view::memory_view& view_;
    const std::string path_;
    std::optional<history::procedure_call> call_; // of the next commit
    std::uint64_t destination_ = 0;
    std::vector<history::step_tree::path_part> route_; // there
    std::vector<history::delta> path_back_;            // in the order of route_, as far as memory has come
    os::file* heap_ = nullptr;                         // its file, if the history is kept
    const store::image* image_ = nullptr;              // likewise
    const heap_names* names_ = nullptr;                // likewise
    std::optional<history::history_file> file_;        // none: it ends with the session
    history::event_bytes events_;                      // of the next commit
    bool owes_session_ = true;                         // no commit has told of this session
    bool has_all_ = true;                              // else the file has what comes before steps_
    std::string why_new_;
    bool is_shared_ = false;
};

} // namespace remanence::txn
