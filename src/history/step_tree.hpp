// The tree of reachable states. Its root is the oldest state; each edge is a step. One state is the present one, that
// of memory. A commit after an undo makes a branch, because what was undone stays reachable.
//
// Rules H1 to H10: README.md. Not thread-safe.
#pragma once

#include "base/result.hpp"
#include "history/delta.hpp"
#include "history/event.hpp"

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::history {

/// What happens at a commit when there are as many steps as the limits allow.
enum class when_full {
    oldest_go,
    refuse // fail the commit that would be one too many
};

/// What a commit means to the user.
enum class step_kind {
    ordinary,
    // Before this commit, objects had other types. So it removes all steps, its own included (H9).
    migration,
    hidden // not a step of the user's (H10)
};

/// 0 means no limit.
struct limits {
    std::uint64_t bytes_max = 0;
    std::uint64_t steps_max = 0;
    when_full then = when_full::oldest_go;
    friend bool operator==(const limits&, const limits&) = default;
};

/// Returns the limits as files store them.
[[nodiscard]] format::history_limits written(const limits& most);
/// Reads k_when_full_ended as when_full::oldest_go. Returns nothing for limits that no release has written.
[[nodiscard]] std::optional<limits> read_limits(const format::history_limits& written);

/// A reachable state, with the step that led to it.
struct step_info {
    std::uint64_t version;
    std::optional<std::uint64_t> parent; // none for the oldest state
    std::string name;
    std::chrono::system_clock::time_point time;
    std::uint64_t bytes; // size of the step
    bool is_present;
    std::string kept; // the name it is kept by; empty: not kept
};

/// A state that limits do not remove.
struct kept_info {
    std::uint64_t version;
    std::optional<std::uint64_t> parent; // the kept state before it, if any
    std::string name;
    std::chrono::system_clock::time_point time;
    std::uint64_t bytes; // size of the step that leads to this state from the side of the present one
};

/// The totals of a tree.
struct summary {
    std::uint64_t present = 0; // the state that memory is in
    std::uint64_t undo_depth = 0;
    std::uint64_t redo_depth = 0;
    std::uint64_t steps = 0; // steps that count for the limits
    std::uint64_t bytes = 0; // total size of the steps that count
    std::uint64_t kept = 0;  // kept states
};

class step_tree {
public:
    using clock = std::chrono::system_clock;

    /// Makes a tree with one state, the present one, of this version.
    step_tree(const limits& most, std::uint64_t version);
    /// Makes only the end of a tree, whose other steps are not loaded: the present state, to which commits add. Only
    /// undo_depth(), redo_depth(), has_kept(), sum(), and the functions for commits and groups may be called.
    /// Precondition: is_too_much() is false, and has_room() is true for all that is staged.
    step_tree(const limits& most, const summary& all);
    /// Continues the group that is open in `other`, a tree of the same history. `has_its_step` tells whether this tree
    /// has the step that the group made.
    void continue_group_of(const step_tree& other, bool has_its_step);
    [[nodiscard]] summary sum() const;
    /// True if there are more steps than the limits allow.
    [[nodiscard]] bool is_too_much() const;

    // Commits.

    /// True if the limits allow one more step of this size. In a group that has made a step, the size is that by which
    /// this step grows.
    [[nodiscard]] bool has_room(std::uint64_t bytes) const;
    [[nodiscard]] const limits& most() const { return most_; }
    /// H2: allocates the memory to record a commit; `before` has the bytes before the commit. Replaces a commit that
    /// was staged and not accepted. Throws std::bad_alloc.
    void stage(delta before, step_kind kind = step_kind::ordinary);
    /// Stages a commit that is too large to be kept. Precondition: no state is kept.
    void stage_nothing();
    void discard_staged() noexcept { staged_.reset(); }
    [[nodiscard]] bool has_staged() const { return staged_.has_value(); }
    /// Records that the staged commit was made, with this version. Its state becomes the present one. Removes steps
    /// over the limits (H4).
    void accept(std::uint64_t version) noexcept;

    // Groups: the commits of a group are one step, which has the group's name. An inner group is part of the outer one.

    void begin_group(std::string_view name);
    void end_group() noexcept;
    [[nodiscard]] bool is_in_group() const { return group_depth_ != 0; }

    // The present state, and the states that can be reached from it.

    [[nodiscard]] std::uint64_t undo_depth() const;
    [[nodiscard]] std::uint64_t redo_depth() const;
    [[nodiscard]] std::uint64_t present() const { return present_; }
    /// Returns the state that undo() of this many steps leads to. Precondition: undo_depth() is not less than that.
    [[nodiscard]] std::uint64_t before_present(std::uint64_t steps) const;
    /// Returns the state that redo() of this many steps leads to. Precondition: redo_depth() is not less than that.
    [[nodiscard]] std::uint64_t after_present(std::uint64_t steps) const;
    /// Returns the state of this version: the version of the commit that made the state, or of the last undo or redo
    /// that led to it.
    [[nodiscard]] std::optional<std::uint64_t> find(std::uint64_t version) const;
    /// Looks back from the present state for the last step that began a new branch after an undo. Returns the end of
    /// the branch that was undone, if it still exists.
    [[nodiscard]] std::optional<std::uint64_t> left_branch() const;
    /// Returns all reachable states, sorted by version, except those that hidden steps lead to and that are not kept.
    /// Throws std::bad_alloc.
    [[nodiscard]] std::vector<step_info> list() const;

    /// The part of a path that leads over one step, or over a part of one.
    class path_part {
    public:
        path_part(std::uint64_t step, bool leads_back, const delta& only)
            : step_(step), leads_back_(leads_back), only_(&only) {}
        path_part(std::uint64_t step, bool leads_back, delta&& joined)
            : step_(step), leads_back_(leads_back), joined_(std::move(joined)) {}
        [[nodiscard]] std::uint64_t step() const { return step_; }
        /// True if this part leads back over the step, as an undo does.
        [[nodiscard]] bool leads_back() const { return leads_back_; }
        [[nodiscard]] const delta& bytes() const { return only_ != nullptr ? *only_ : joined_; }
        /// Returns the call to repeat or, if leads_back(), to undo by its inverse; null if this part has bytes instead.
        [[nodiscard]] const procedure_call* call() const { return bytes().call(); }

    private:
        std::uint64_t step_;
        bool leads_back_;
        const delta* only_ = nullptr; // points to the step's only delta; null: use joined_
        delta joined_{};
    };
    /// Returns the deltas to apply and the calls to run, in order, to bring memory to this state, which must exist.
    /// Valid until the steps change. Throws std::bad_alloc.
    [[nodiscard]] std::vector<path_part> path_to(std::uint64_t state) const;
    /// Returns the first call on the path to this state; null if there is none.
    [[nodiscard]] const procedure_call* call_on_path_to(std::uint64_t state) const;
    /// True if any step has a migration, which means that states from before it are kept (H9).
    [[nodiscard]] bool has_migrations() const { return migrations_ != 0; }
    /// True if a migration is on the path to this state: only restore() leads there.
    [[nodiscard]] bool is_across_migration(std::uint64_t state) const;
    /// Returns all deltas on the path, to be applied to the present memory in this order. errc::no_step if there is a
    /// call on the path. Valid until the steps change. Throws std::bad_alloc. `path` is the heap's.
    [[nodiscard]] result<std::vector<const delta*>> deltas_to(std::uint64_t state, const std::string& path) const;
    /// Does the same, and returns the deltas as one.
    [[nodiscard]] result<delta> whole_path_to(std::uint64_t state, const std::string& path) const;
    /// Records that memory has gone over these parts of a path. `path_back` has, for each part, the delta that leads
    /// back. The caller must then call check_out().
    void go_over(std::span<const path_part> way, std::span<delta> path_back) noexcept;
    /// Makes `state` the present one. `version` is that of the commit by which memory went there.
    void check_out(std::uint64_t state, std::uint64_t version) noexcept;
    /// Removes all states but the present one and the kept ones.
    void forget() noexcept;

    // Kept states, which limits never remove. Limits remove the states between them, and join the deltas of the steps
    // there. Joined deltas between kept states do not count for the limits.

    /// Keeps the present state by this name, which no other state has. Precondition: the state is not kept yet, and
    /// no group is open.
    void keep(std::string name) noexcept;
    /// Ends the keeping of this state. If limits have passed the state, it is removed at once.
    void drop(std::uint64_t state) noexcept;
    [[nodiscard]] bool has_kept() const { return kept_ != 0; }
    /// True if memory was lacking to join deltas. Until a later step is joined to them, they take more memory than
    /// needed.
    [[nodiscard]] bool has_lacked_memory() const { return has_lacked_memory_; }
    /// Returns the name by which this state is kept; empty if it is not kept or does not exist.
    [[nodiscard]] std::string_view name_of_kept(std::uint64_t state) const;
    [[nodiscard]] std::optional<std::uint64_t> find_kept(std::string_view name) const;
    /// Returns all kept states, sorted by version. Throws std::bad_alloc.
    [[nodiscard]] std::vector<kept_info> list_kept() const;

    // Squashing.

    /// Returns the first state that prevents the last `steps` steps from being squashed: one that is kept, or where
    /// another branch begins. Precondition: undo_depth() is not less than `steps`.
    [[nodiscard]] std::optional<std::uint64_t> in_the_way_of_squash(std::uint64_t steps) const;
    /// Returns the joined deltas of the last `steps` steps, for squash(). Throws std::bad_alloc. Precondition:
    /// in_the_way_of_squash() returns nothing.
    [[nodiscard]] std::list<delta> squashed(std::uint64_t steps) const;
    /// Makes one step of the last `steps` steps. It gets the name of the last of these that has a name.
    void squash(std::uint64_t steps, std::list<delta> as_one) noexcept;

    // Files store each change of the steps as an event, in the order of the commits (kept_steps.cpp). These functions
    // throw std::bad_alloc.

    /// Appends the event that begins a session, with the limits of this tree.
    void append_session(event_bytes& into) const;
    /// Appends the event for what accept() will do. Precondition: a commit is staged.
    void append_staged(event_bytes& into) const;
    /// Appends the event for what go_over() and check_out() will do.
    static void append_checkout(event_bytes& into, std::uint64_t state, std::span<const delta> path_back);
    // These append the events for what forget(), keep(), drop() and squash() will do.
    static void append_forgetting(event_bytes& into);
    static void append_keeping(event_bytes& into, std::string_view name);
    static void append_dropping(event_bytes& into, std::uint64_t state);
    static void append_squashing(event_bytes& into, std::uint64_t steps);
    /// Writes the whole tree as events, in parts. Calls bool part(event_bytes&) for each part; `part` must consume and
    /// clear the bytes. If it returns false, append_all() stops.
    template <class F>
    bool append_all(const F& part) const {
        event_bytes events;
        for (const auto& each : states_) {
            append_state(events, each.first, each.second);
            if (events.size() >= k_part_bytes && !part(events))
                return false;
        }
        append_present(events);
        return part(events);
    }
    /// Returns about how many bytes append_all() writes. O(steps).
    [[nodiscard]] std::uint64_t appended_bytes() const;

private:
    struct known_state {
        std::uint64_t parent = 0; // 0 for the oldest state
        std::uint64_t next = 0;   // where redo() leads; 0: nowhere
        std::uint64_t left = 0;   // `next` of the parent before this state was added
        std::uint64_t children = 0;
        std::uint64_t last_version = 0; // of the last commit that led here
        std::uint64_t bytes = 0;        // of all deltas and calls
        clock::time_point time{};
        std::string name;
        std::string kept;          // empty: not kept
        std::list<delta> deltas;   // with the calls, in the order of their commits
        bool is_on_path = false;   // on the path from the oldest state to the present one, both included
        bool is_passed = false;    // H4: removed once it is not kept and no branch begins there
        bool is_migrated = false;  // H9: its step has a migration
        bool is_hidden = false;    // H10: its step is not a step of the user's
        bool is_counted = false;   // its step counts for the limits
        bool is_in_branch = false; // used only inside erase_branches_of()
    };
    using states = std::map<std::uint64_t, known_state>;
    /// The effect of the commit that is being made.
    struct staged {
        states::node_type made;  // a new state
        std::list<delta> joined; // for the present state's step
        bool is_kept;
        bool forgets;          // removes all other states, except kept ones
        bool migrates = false; // H9
        bool is_hidden = false;
        clock::time_point time = clock::now();
    };
    friend class step_loader;
    static constexpr std::size_t k_part_bytes = std::size_t{1} << 20;
    static void append_state(event_bytes& into, std::uint64_t version, const known_state& state);
    void append_present(event_bytes& into) const;
    void begin_session(const limits& most) noexcept;
    void drop_what_is_too_much() noexcept;

    [[nodiscard]] known_state& at(std::uint64_t version) { return states_.find(version)->second; }
    [[nodiscard]] const known_state& at(std::uint64_t version) const { return states_.find(version)->second; }
    [[nodiscard]] bool joins_group() const { return group_step_ != 0 && group_step_ == present_; }
    void add(states::node_type made, std::uint64_t version, clock::time_point time) noexcept;
    void join(std::list<delta> more, std::uint64_t version, clock::time_point time) noexcept;
    void begin_at(std::uint64_t version, clock::time_point time) noexcept;
    void count(known_state& step, bool counts) noexcept;
    void set_on_path(known_state& state, bool is) noexcept;
    void set_migrated(known_state& state, bool is) noexcept;
    /// Precondition: the state is on the path, and is not the present one.
    [[nodiscard]] const known_state& child_on_path(std::uint64_t state) const;
    [[nodiscard]] bool may_go(const states::value_type& state) const;
    [[nodiscard]] states::iterator child_of(states::iterator which);
    bool let_one_go() noexcept;
    void pass(states::iterator which) noexcept;
    void return_to(states::iterator which) noexcept;
    void erase_branches_of(states::iterator which) noexcept;
    bool erase_end_of_branch() noexcept;
    void erase_end(states::iterator which) noexcept;
    void remove(states::iterator which) noexcept;
    void remove_if_passed(std::uint64_t version) noexcept;
    void join_to_child(known_state& step, states::iterator child) noexcept;
    void merge(known_state& step) noexcept;
    /// Returns the step's deltas and calls in the order in which a path over the step applies them. Adjacent deltas are
    /// joined. Throws std::bad_alloc.
    [[nodiscard]] static std::list<delta> in_order_of_passage(const known_state& step);
    /// Joins the step's deltas, except across calls. Throws std::bad_alloc, and has changed nothing then.
    void make_one(known_state& step);
    void replace(known_state& step, std::list<delta> by) noexcept;
    /// Counts the step's bytes again. Call it when the step's deltas have changed.
    void count_bytes(known_state& step) noexcept;
    /// Returns how many steps, hidden ones included, an undo of `steps` steps goes back over.
    [[nodiscard]] std::uint64_t with_hidden(std::uint64_t steps) const;
    /// Returns the state to which redo() leads by one step, hidden or not; 0 if there is none.
    [[nodiscard]] std::uint64_t forth(std::uint64_t state) const;
    void lead_to(std::uint64_t state, bool is_end) noexcept;
    void drop_hidden_end(std::uint64_t state) noexcept;
    [[nodiscard]] bool is_shown(const states::value_type& state) const;
    [[nodiscard]] std::uint64_t shown_from(std::uint64_t state) const;
    /// Returns the versions of these steps, in the order of the path.
    [[nodiscard]] std::vector<std::uint64_t> steps_on_path_to(std::uint64_t state) const;
    [[nodiscard]] std::uint64_t meeting_of(std::uint64_t one, std::uint64_t other) const;

    limits most_;
    states states_;
    std::uint64_t present_;
    std::uint64_t steps_on_way_ = 0; // steps from the oldest state to the present one
    std::uint64_t steps_ = 0;        // steps that count for the limits
    std::uint64_t bytes_ = 0;        // total size of the steps that count
    std::uint64_t kept_ = 0;
    std::uint64_t migrations_ = 0;  // steps that have a migration
    std::uint64_t redo_beyond_ = 0; // in a tree made from a summary: redo_depth() of its first state
    std::optional<staged> staged_;
    std::uint64_t group_depth_ = 0;
    std::string group_name_;
    std::uint64_t group_step_ = 0; // 0: the group has made no step
    bool is_group_lost_ = false;   // the group's step, or a part of it, was not kept
    bool has_lacked_memory_ = false;
};

} // namespace remanence::history
