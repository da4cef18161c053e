// The work of the history: takes what undoes a commit, and brings memory to another state and commits it.
//
// A procedure is the program's own code, which allocates, locks and throws as it likes. It runs as in any write
// section, and no lock of the engine is held meanwhile. If anything fails on the path, memory becomes what the last
// commit left.
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
    /// Begins the history at the heap's last commit. A history that is kept over sessions continues where the last
    /// session ended, or where the processes are that have the heap open. Fails as heap_history::keep(), share() and
    /// join(). Throws std::bad_alloc.
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

    // For the functions below: only the caller is in a section.

    /// Reads the steps of earlier sessions, unless they are in memory. If they are damaged, the history begins anew.
    /// From any thread.
    result<void> read_history();
    [[nodiscard]] bool has_read_history() const { return history_.has_all(); }
    /// Calls f with the steps; before read_history(), only with their end. From any thread.
    template <class F>
    auto with_steps(const F& f) {
        const std::lock_guard alone(needs_.locks.at_store);
        return f(history_.steps());
    }
    /// Brings memory to the state before the last steps, after the next steps, or of that version, and commits it.
    /// Returns the version of the commit, as engine::make_commit() does. errc::no_step, errc::section_open,
    /// errc::uncommitted: nothing was done. Otherwise fails as make_commit(), and memory stays as it was. O(bytes of
    /// these steps), plus the cost of make_commit().
    result<std::uint64_t> undo(std::uint64_t steps, log::durability awaited);
    result<std::uint64_t> redo(std::uint64_t steps, log::durability awaited);
    result<std::uint64_t> go_to(std::uint64_t version, log::durability awaited);
    /// Removes all steps. If the history is kept over sessions, that is durable once this returns, and fails as a
    /// commit does.
    result<void> forget_history();
    /// Returns why there are no steps of earlier sessions; empty if there are, or nothing has read them. After
    /// read_history().
    [[nodiscard]] const std::string& why_history_is_new() const { return history_.why_new(); }

    // Kept versions, under the same condition. A failure changes nothing.

    using find_state = std::function<result<std::uint64_t>(const heap_history&)>;
    /// See step_tree::keep(), drop() and squash(). In a history that is kept over sessions each is a durable commit,
    /// and fails as one does.
    result<std::uint64_t> keep(std::string_view name);
    result<void> drop_kept(const find_state& find);
    result<void> squash(std::uint64_t steps);
    /// As go_to(), and also reaches states that go_to() may not: across a migration, or kept ones.
    result<std::uint64_t> restore(const find_state& find, log::durability awaited);
    /// Returns what leads from the last commit to the state of this version. errc::no_step. Throws std::bad_alloc.
    result<history::delta> path_to(std::uint64_t version);

    // Steps that are stored as calls of procedures, in heaps that are not shared. The thread has the section lock, to
    // write.

    /// Makes a call, or, if it leads back, undoes it by its inverse. Must not throw.
    using procedure_runner = std::function<result<void>(const history::procedure_call& call, bool leads_back)>;
    /// From now on undo() and the like can pass such steps. They release all locks of the engine meanwhile.
    void let_procedures_be_run(procedure_runner by);
    /// Call it before the thread, in a write section, calls a procedure. errc::corrupt and errc::io as a commit;
    /// throws std::bad_alloc.
    result<void> begin_call();
    /// Call it when the procedure has returned. The commit that must follow at once is stored as this call, if the
    /// call made all changes of the commit, neither allocated nor freed, and is smaller than the bytes. None: the
    /// procedure has no inverse, so the bytes are stored.
    void end_call(std::optional<history::procedure_call> call);
    /// Call it when the procedure has thrown, or the commit is made or will not be.
    void forget_call() noexcept;

private:
    using store_lock = std::unique_lock<decltype(heap_locks::at_store)>;
    [[nodiscard]] bool is_shared() const;
    [[nodiscard]] history::commit_name last_commit() const {
        return {needs_.session.version(), needs_.session.chain()};
    }
    // For a history that is kept over sessions: these add the history's events to the record of a commit.
    result<void> add_described(pending_commit& commit);
    result<void> commit_described();
    result<void> commit_nothing();
    /// `describe` appends the event for what `change` does, which cannot fail.
    result<void> change_steps(const std::function<void(history::event_bytes&)>& describe,
                              const std::function<void()>& change);
    /// `find` returns the state to go to.
    result<std::uint64_t> go(const std::function<result<std::uint64_t>()>& find, log::durability awaited);
    result<void> begin_path(const std::function<result<std::uint64_t>()>& find);
    result<std::uint64_t> go_by_bytes(store_lock& alone, log::durability awaited);
    result<std::uint64_t> go_by_calls(store_lock& alone, log::durability awaited);
    result<void> keep_roots(store_lock& alone);
    result<std::uint64_t> check_out(log::durability awaited);
    result<std::uint64_t> try_to_check_out(log::durability awaited);
    result<void> check_out_without_changes();
    result<void> stay();
    /// Notes the state before a call, to find what the call must not do.
    struct call_watch {
        std::uint64_t version;
        std::uint64_t rollbacks;
        bool is_alone; // nothing was uncommitted before the call
    };
    [[nodiscard]] call_watch watch_call();
    /// Returns why a call that was watched cannot be stored, or its result not accepted; empty if it can.
    [[nodiscard]] std::string_view why_not(const call_watch& watched);
    result<void> pass_calls(store_lock& alone);
    result<void> pass_call(store_lock& alone);

    const history_needs needs_;
    heap_history history_;
    bool is_described_ = false;     // the prepared commit has events of the history
    root_keeper* keeper_ = nullptr; // null: nobody has roots
    bool has_made_roots_ = false;   // on the path
    procedure_runner run_procedure_;
    std::optional<call_watch> call_; // the call that is being made
    bool is_passing_call_ = false;   // on the path to another state of the history
    std::uint64_t rollbacks_ = 0;    // rollbacks that others made
};

/// What heap_options::history links into a program.
struct history_part {
    result<std::unique_ptr<commit_history>> (*begin)(const history_needs& needs, history_begins how);
    recover::history_keeper keep_records;
};
extern const history_part k_history_part;

} // namespace remanence::txn
