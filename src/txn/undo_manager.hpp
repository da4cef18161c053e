// Implements the history of an engine: collects what undoes a commit, and carries out undo and redo, which bring memory
// to another state and commit that.
//
// A procedure is the program's own code, which may allocate, lock and throw. It runs as in any write section, while no
// lock of the engine is held. If anything fails on the path to another state, memory goes back to the last commit.
#pragma once

#include "recover/recovery.hpp"
#include "txn/commit_history.hpp"
#include "txn/heap_history.hpp"
#include "txn/heap_locks.hpp"
#include "txn/root_keeper.hpp"
#include "txn/session.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace remanence::txn {

class undo_manager final : public commit_history {
public:
    undo_manager(const history_needs& needs, std::uint64_t version);
    /// Begins the history at the heap's last commit. A history that is kept over sessions continues that of the last
    /// session, or of the processes that have the heap open. Fails as heap_history::keep(), share() and join(). Throws
    /// std::bad_alloc.
    static result<std::unique_ptr<commit_history>> begin(const history_needs& needs, history_begins how);

    [[nodiscard]] result<void> may_commit() const override;
    result<void> prepare(pending_commit& commit) override;
    void accept() noexcept override;
    void note_rollback() noexcept override { ++rollbacks_; }
    [[nodiscard]] bool is_kept() const override { return history_.is_kept(); }
    [[nodiscard]] bool differs_from_others() const override { return history_.differs_from_others(); }
    [[nodiscard]] history_follower& follower() override { return history_; }
    void let_roots_be_kept(root_keeper& by) override { keeper_ = &by; }
    result<void> let_next_commit_migrate() override;

    /// Returns the undo_manager of an engine.
    static undo_manager& of(commit_history& history) { return static_cast<undo_manager&>(history); }

    // The functions below, except those marked for any thread, may be called only while no other thread is in a
    // section.

    /// Reads the steps of earlier sessions, unless they are in memory. If the file is damaged, the history begins anew.
    /// From any thread.
    result<void> read_history();
    [[nodiscard]] bool has_read_history() const { return history_.has_all(); }
    /// Calls f with the steps. Before read_history(), these are only the steps of this session. From any thread.
    template <class F>
    auto with_steps(const F& f) {
        const std::lock_guard alone(needs_.locks.at_store);
        return f(history_.steps());
    }
    /// These bring memory to the state before the last `steps` steps, after the next `steps` steps, or of that version,
    /// and commit it. They return the version of the commit, as engine::make_commit() does. errc::no_step,
    /// errc::section_open, errc::uncommitted: nothing was done. After any other failure, as of make_commit(), memory is
    /// as it was before the call. O(bytes of these steps), plus the cost of make_commit().
    result<std::uint64_t> undo(std::uint64_t steps, log::durability awaited);
    result<std::uint64_t> redo(std::uint64_t steps, log::durability awaited);
    result<std::uint64_t> go_to(std::uint64_t version, log::durability awaited);
    /// Removes all steps. If the history is kept over sessions, this makes a commit, which is durable once this
    /// returns, and fails as a commit does.
    result<void> forget_history();
    /// Returns why there are no steps of earlier sessions; empty if there are some. Call read_history() first.
    [[nodiscard]] const std::string& why_history_is_new() const { return history_.why_new(); }

    // Kept versions. A failure changes nothing.

    using find_state = std::function<result<std::uint64_t>(const heap_history&)>;
    /// See step_tree::keep(), drop() and squash(). In a history that is kept over sessions, each of these makes a
    /// durable commit, and fails as one does.
    result<std::uint64_t> keep(std::string_view name);
    result<void> drop_kept(const find_state& find);
    result<void> squash(std::uint64_t steps);
    /// As go_to(), but also goes to kept states and to states across a migration.
    result<std::uint64_t> restore(const find_state& find, log::durability awaited);
    /// Returns the delta that leads from the last commit to the state of this version. errc::no_step. Throws
    /// std::bad_alloc.
    result<history::delta> path_to(std::uint64_t version);

    // Steps that are stored as calls of procedures, in heaps that are not shared. The caller must be in a write
    // section.

    /// Runs the procedure of a call or, if `leads_back`, its inverse. Must not throw.
    using procedure_runner = std::function<result<void>(const history::procedure_call& call, bool leads_back)>;
    /// From now on undo(), redo(), go_to() and restore() call `by` for such steps, while no lock of the engine is held.
    void let_procedures_be_run(procedure_runner by);
    /// Call it in a write section, before a procedure is called. errc::corrupt and errc::io as a commit; throws
    /// std::bad_alloc.
    result<void> begin_call();
    /// Call it when the procedure has returned; the commit must follow at once. The commit is stored as this call, if
    /// the procedure made all changes of the commit, neither allocated nor freed, and the call needs fewer bytes than
    /// the changes. `call` is none if the procedure has no inverse: then the bytes are stored.
    void end_call(std::optional<history::procedure_call> call);
    /// Call it when the procedure has thrown, and when the commit is made or given up.
    void forget_call() noexcept;

private:
    using store_lock = std::unique_lock<decltype(heap_locks::at_store)>;
    [[nodiscard]] bool is_shared() const;
    [[nodiscard]] history::commit_name last_commit() const {
        return {needs_.session.version(), needs_.session.chain()};
    }
    /// For a history that is kept over sessions: adds the history's events to the commit's record.
    result<void> add_described(pending_commit& commit);
    result<void> commit_described();
    result<void> commit_nothing();
    /// Calls `change`, which must not fail. `describe` must append the event for what `change` does.
    result<void> change_steps(const std::function<void(history::event_bytes&)>& describe,
                              const std::function<void()>& change);
    /// Goes to the state that `find` returns.
    result<std::uint64_t> go(const std::function<result<std::uint64_t>()>& find, log::durability awaited);
    result<void> begin_path(const std::function<result<std::uint64_t>()>& find);
    result<std::uint64_t> go_by_bytes(store_lock& alone, log::durability awaited);
    result<std::uint64_t> go_by_calls(store_lock& alone, log::durability awaited);
    result<void> keep_roots(store_lock& alone);
    result<std::uint64_t> check_out(log::durability awaited);
    result<std::uint64_t> try_to_check_out(log::durability awaited);
    result<void> check_out_without_changes();
    result<void> stay();
    /// The state before a call, to find out whether the call has done something that it must not do.
    struct call_watch {
        std::uint64_t version;
        std::uint64_t rollbacks;
        bool is_alone; // there were no uncommitted changes before the call
    };
    [[nodiscard]] call_watch watch_call();
    /// Ends the watch. Returns why the call cannot be a step of the history; empty if it can.
    [[nodiscard]] std::string_view why_not(const call_watch& watched);
    result<void> pass_calls(store_lock& alone);
    result<void> pass_call(store_lock& alone);

    const history_needs needs_;
    heap_history history_;
    bool is_described_ = false;     // the prepared commit has events of the history
    root_keeper* keeper_ = nullptr; // null: there are no references to roots
    bool has_made_roots_ = false;   // during the present undo or redo
    procedure_runner run_procedure_;
    std::optional<call_watch> call_; // between begin_call() and end_call()
    bool is_passing_call_ = false;   // an undo or redo is running a procedure
    std::uint64_t rollbacks_ = 0;    // rollbacks, except those of an undo or redo itself
};

/// The functions that a program links if it uses heap_options::history.
struct history_part {
    result<std::unique_ptr<commit_history>> (*begin)(const history_needs& needs, history_begins how);
    recover::history_keeper keep_records;
};
extern const history_part k_history_part;

} // namespace remanence::txn
