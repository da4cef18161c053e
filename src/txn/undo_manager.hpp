// The history, at work: what a commit leaves behind to be undone by, and how memory becomes another state and is committed.
//
// A procedure is the program's own code, which allocates, locks and throws as it likes: it runs as in any write section, and no lock of the
// engine is held meanwhile. Whatever fails on the path, memory becomes what the last commit left.
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
    /// Of the heap's last commit. Of a history that is kept over sessions: it goes on where the last session ended, or where those are that have
    /// the heap open. Fails as heap_history::keep(), share() and join(). Throws std::bad_alloc.
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

    /// That of an engine.
    static undo_manager& of(commit_history& history) { return static_cast<undo_manager&>(history); }

    // What follows is called with nobody in a section but the caller.

    /// Reads the steps of earlier sessions, unless they are in memory. When they are damaged the history begins anew. From any thread.
    result<void> read_history();
    [[nodiscard]] bool has_read_history() const { return history_.has_all(); }
    /// Calls f with the steps, or with their end, before read_history(). From any thread.
    template <class F>
    auto with_steps(const F& f) {
        const std::lock_guard alone(needs_.locks.at_store);
        return f(history_.steps());
    }
    /// Makes a commit after which memory is what it was before the last steps, after the next ones, or at that version. Returns its
    /// version, as engine::make_commit() does. errc::no_step, errc::section_open, errc::uncommitted: nothing was done; otherwise as
    /// make_commit(), and memory stays as it was. O(bytes of these steps), and what make_commit() says.
    result<std::uint64_t> undo(std::uint64_t steps, log::durability awaited);
    result<std::uint64_t> redo(std::uint64_t steps, log::durability awaited);
    result<std::uint64_t> go_to(std::uint64_t version, log::durability awaited);
    /// Lets all steps go. If the history is kept, that is durable once this returns, and fails as a commit does.
    result<void> forget_history();
    /// Why no steps of earlier sessions are there; empty: they are, or nobody asked. After read_history().
    [[nodiscard]] const std::string& why_history_is_new() const { return history_.why_new(); }

    // Versions that are kept, likewise. What fails changes nothing.

    using find_state = std::function<result<std::uint64_t>(const heap_history&)>;
    /// step_tree::keep(), drop() and squash(). Of a history that is kept over sessions each is a durable commit, and fails as one does.
    result<std::uint64_t> keep(std::string_view name);
    result<void> drop_kept(const find_state& find);
    result<void> squash(std::uint64_t steps);
    /// As go_to(), to a state that go_to() may not reach: across a migration, or a kept one.
    result<std::uint64_t> restore(const find_state& find, log::durability awaited);
    /// What leads from the last commit to the state of this version. errc::no_step. Throws std::bad_alloc.
    result<history::delta> path_to(std::uint64_t version);

    // Steps that are held as calls of procedures, in heaps that nobody shares. The thread has the lock of the sections to write.

    /// Makes a call, or, if it leads back, undoes it by the inverse. It must not throw.
    using procedure_runner = std::function<result<void>(const history::procedure_call& call, bool leads_back)>;
    /// From now on undo() and its like can pass such steps. They let go of all locks of the engine meanwhile.
    void let_procedures_be_run(procedure_runner by);
    /// The thread, in a write section, calls a procedure. errc::corrupt and errc::io as a commit; throws std::bad_alloc.
    result<void> begin_call();
    /// It has returned: the commit that must follow at once is held as this call, if it changed all that the commit takes, neither allocated nor
    /// freed, and the bytes would be more. None: it has no inverse, so the bytes are held.
    void end_call(std::optional<history::procedure_call> call);
    /// It has thrown, or the commit is made, or not to be made.
    void forget_call() noexcept;

private:
    using store_lock = std::unique_lock<decltype(heap_locks::at_store)>;
    [[nodiscard]] bool is_shared() const;
    [[nodiscard]] history::commit_name last_commit() const {
        return {needs_.session.version(), needs_.session.chain()};
    }
    // Of a history that is kept: the record of a commit gets what the commit is to it.
    result<void> add_described(pending_commit& commit);
    result<void> commit_described();
    result<void> commit_nothing();
    /// `describe` appends the event for what `change` does, which cannot fail.
    result<void> change_steps(const std::function<void(history::event_bytes&)>& describe,
                              const std::function<void()>& change);
    /// `find` says to which state.
    result<std::uint64_t> go(const std::function<result<std::uint64_t>()>& find, log::durability awaited);
    result<void> begin_path(const std::function<result<std::uint64_t>()>& find);
    result<std::uint64_t> go_by_bytes(store_lock& alone, log::durability awaited);
    result<std::uint64_t> go_by_calls(store_lock& alone, log::durability awaited);
    result<void> keep_roots(store_lock& alone);
    result<std::uint64_t> check_out(log::durability awaited);
    result<std::uint64_t> try_to_check_out(log::durability awaited);
    result<void> check_out_without_changes();
    result<void> stay();
    /// What a call must not do.
    struct call_watch {
        std::uint64_t version;
        std::uint64_t rollbacks;
        bool is_alone; // nothing was uncommitted before
    };
    [[nodiscard]] call_watch watch_call();
    /// Why a call that was watched cannot be held, or its result cannot be taken; empty: it can.
    [[nodiscard]] std::string_view why_not(const call_watch& watched);
    result<void> pass_calls(store_lock& alone);
    result<void> pass_call(store_lock& alone);

    const history_needs needs_;
    heap_history history_;
    bool is_described_ = false;     // the commit that was prepared
    root_keeper* keeper_ = nullptr; // null: nobody has roots
    bool has_made_roots_ = false;   // on the path
    procedure_runner run_procedure_;
    std::optional<call_watch> call_; // that is being made
    bool is_passing_call_ = false;   // on the path to another state of the history
    std::uint64_t rollbacks_ = 0;    // by others than this
};

/// What heap_options::history brings into a program.
struct history_part {
    result<std::unique_ptr<commit_history>> (*begin)(const history_needs& needs, history_begins how);
    recover::history_keeper keep_records;
};
extern const history_part k_history_part;

} // namespace remanence::txn
