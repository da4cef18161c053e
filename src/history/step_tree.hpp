// The steps that lead from the oldest state that can be reached to all others, and where in them memory is. A commit after an undo
// makes a branch: what was undone stays reachable, so this is a tree, of which one way leads through the present state.
//
// H1 to H4: README.md. Not thread-safe.
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

/// What becomes of steps when there are as many as are allowed.
enum class when_full {
    oldest_go,
    refuse // the commit that would be one too many
};

/// What a commit is to the user.
enum class step_kind {
    ordinary,
    migration, // objects before it are of other types: all steps go with it, its own included, and none ever leads across it (H9)
    hidden // none of his steps (H10)
};

/// 0: as many as there are.
struct limits {
    std::uint64_t bytes_max = 0;
    std::uint64_t steps_max = 0;
    when_full then = when_full::oldest_go;
    friend bool operator==(const limits&, const limits&) = default;
};

/// As they are kept in files.
[[nodiscard]] format::history_limits written(const limits& most);
/// k_when_full_ended is read as when_full::oldest_go. Nothing: no release has written them.
[[nodiscard]] std::optional<limits> read_limits(const format::history_limits& written);

/// One state that can be reached, with the step that led to it.
struct step_info {
    std::uint64_t version;
    std::optional<std::uint64_t> parent; // none: the oldest
    std::string name;
    std::chrono::system_clock::time_point time;
    std::uint64_t bytes; // of the step
    bool is_present;
    std::string kept; // the name it is kept by; empty: it is not
};

/// A state that limits do not let go.
struct kept_info {
    std::uint64_t version;
    std::optional<std::uint64_t> parent; // the kept state that comes before it, if there is one
    std::string name;
    std::chrono::system_clock::time_point time;
    std::uint64_t bytes; // of the step that leads to it from the present state's side
};

/// What a tree is in all.
struct summary {
    std::uint64_t present = 0; // the state that memory is in
    std::uint64_t undo_depth = 0;
    std::uint64_t redo_depth = 0;
    std::uint64_t steps = 0; // that count for the limits
    std::uint64_t bytes = 0; // of these
    std::uint64_t kept = 0;  // states
};

class step_tree {
public:
    using clock = std::chrono::system_clock;

    /// The present state is of this version, and the only one.
    step_tree(const limits& most, std::uint64_t version);
    /// The end of a tree: the present state, and what commits add to it. It has what commits and groups need, undo_depth(), redo_depth(),
    /// has_kept() and sum(), and nothing else. Precondition: is_too_much() is false, and what is staged has_room().
    step_tree(const limits& most, const summary& all);
    /// Takes over the group that is open in another tree, of this history. `has_its_step`: this one has what the group made.
    void continue_group_of(const step_tree& other, bool has_its_step);
    [[nodiscard]] summary sum() const;
    /// Whether there are more steps than may be.
    [[nodiscard]] bool is_too_much() const;

    // What commits do.

    /// Whether a step of so many bytes, or as many more of the step that the group has, may be kept beside all others.
    [[nodiscard]] bool has_room(std::uint64_t bytes) const;
    [[nodiscard]] const limits& most() const { return most_; }
    /// H2: takes the memory to note a commit, before which memory was as `before` says. Replaces one that was staged and not
    /// accepted. Throws std::bad_alloc.
    void stage(delta before, step_kind kind = step_kind::ordinary);
    /// The same, of a commit that is too large to be kept. Precondition: no state is kept.
    void stage_nothing();
    void discard_staged() noexcept { staged_.reset(); }
    [[nodiscard]] bool has_staged() const { return staged_.has_value(); }
    /// The commit that was staged is made, with this version. Memory is at its state now. Steps that are too many go (H4).
    void accept(std::uint64_t version) noexcept;

    // Groups: the commits of one are one step, named after it. An inner one is part of the outer one.

    void begin_group(std::string_view name);
    void end_group() noexcept;
    [[nodiscard]] bool is_in_group() const { return group_depth_ != 0; }

    // Where memory is, and where it can go.

    [[nodiscard]] std::uint64_t undo_depth() const;
    [[nodiscard]] std::uint64_t redo_depth() const;
    [[nodiscard]] std::uint64_t present() const { return present_; }
    /// Where undo() of so many steps leads. Precondition: undo_depth() is no less.
    [[nodiscard]] std::uint64_t before_present(std::uint64_t steps) const;
    /// Where redo() of so many steps leads. Precondition: redo_depth() is no less.
    [[nodiscard]] std::uint64_t after_present(std::uint64_t steps) const;
    /// The state whose commit, or the last undo or redo that led to it, has this version.
    [[nodiscard]] std::optional<std::uint64_t> find(std::uint64_t version) const;
    /// Where memory was before the undo after which the last step to here was made that began a branch; none: there is none.
    [[nodiscard]] std::optional<std::uint64_t> left_branch() const;
    /// All states that can be reached, by version; without those that hidden steps lead to, unless they are kept. Throws std::bad_alloc.
    [[nodiscard]] std::vector<step_info> list() const;

    /// What leads over one step, or over a part of it.
    class path_part {
    public:
        path_part(std::uint64_t step, bool leads_back, const delta& only)
            : step_(step), leads_back_(leads_back), only_(&only) {}
        path_part(std::uint64_t step, bool leads_back, delta&& joined)
            : step_(step), leads_back_(leads_back), joined_(std::move(joined)) {}
        [[nodiscard]] std::uint64_t step() const { return step_; }
        /// From after its commit to before it.
        [[nodiscard]] bool leads_back() const { return leads_back_; }
        [[nodiscard]] const delta& bytes() const { return only_ != nullptr ? *only_ : joined_; }
        /// To be made, or undone by the inverse, in place of bytes; null: there are bytes.
        [[nodiscard]] const procedure_call* call() const { return bytes().call(); }

    private:
        std::uint64_t step_;
        bool leads_back_;
        const delta* only_ = nullptr; // null: there are several, of which this is one, or which are one here
        delta joined_{};
    };
    /// The deltas to apply and the calls to make, one after the other, so that memory is as in this state, which exists. Valid until the
    /// steps change. Throws std::bad_alloc.
    [[nodiscard]] std::vector<path_part> path_to(std::uint64_t state) const;
    /// The first call on the path to this state; null: there is none.
    [[nodiscard]] const procedure_call* call_on_path_to(std::uint64_t state) const;
    /// Whether a step has a migration: states from before it are kept.
    [[nodiscard]] bool has_migrations() const { return migrations_ != 0; }
    /// Whether a migration is on the path to this state: only restore() leads there.
    [[nodiscard]] bool is_across_migration(std::uint64_t state) const;
    /// All deltas as one, to be applied to memory as it is. errc::no_step: there is a call on the path. Throws std::bad_alloc. `path`: of
    /// the heap.
    [[nodiscard]] result<delta> whole_path_to(std::uint64_t state, const std::string& path) const;
    /// Memory has gone over these steps, and `path_back` is what leads over each of these parts from the other side. check_out() must follow.
    void go_over(std::span<const path_part> way, std::span<delta> path_back) noexcept;
    /// Memory is there now, by a commit of this version.
    void check_out(std::uint64_t state, std::uint64_t version) noexcept;
    /// The present state stays, and those that are kept.
    void forget() noexcept;

    // Kept states: limits let go what lies between them, and join its deltas. What they take does not count for the limits.

    /// The present state is kept, by this name, which no other has. Precondition: it is not kept yet, and no group is open.
    void keep(std::string name) noexcept;
    /// This state, which is kept, is one like others again; it goes if limits have passed it.
    void drop(std::uint64_t state) noexcept;
    [[nodiscard]] bool has_kept() const { return kept_ != 0; }
    /// Whether memory was lacking to join deltas, so that they take more than they must until others are joined there.
    [[nodiscard]] bool has_lacked_memory() const { return has_lacked_memory_; }
    /// Its name; empty: it is not kept, or there is no such state.
    [[nodiscard]] std::string_view name_of_kept(std::uint64_t state) const;
    [[nodiscard]] std::optional<std::uint64_t> find_kept(std::string_view name) const;
    /// All of them, by version. Throws std::bad_alloc.
    [[nodiscard]] std::vector<kept_info> list_kept() const;

    // Joining of steps.

    /// The first state that keeps the last `steps` steps from being one: it is kept, or another branch begins there. Precondition:
    /// undo_depth() is no less.
    [[nodiscard]] std::optional<std::uint64_t> in_the_way_of_squash(std::uint64_t steps) const;
    /// What the last `steps` steps are as one, for squash(). Throws std::bad_alloc. Precondition: nothing is in the way.
    [[nodiscard]] std::list<delta> squashed(std::uint64_t steps) const;
    /// They become one, named after the last that has a name.
    void squash(std::uint64_t steps, std::list<delta> as_one) noexcept;

    // What is kept over sessions (kept_steps.cpp): all that changes the steps, in the order of the commits. All throw std::bad_alloc.

    /// A session began with these limits.
    void append_session(event_bytes& into) const;
    /// What accept() is going to do. Precondition: a commit is staged.
    void append_staged(event_bytes& into) const;
    /// What go_over() and check_out() are going to do.
    static void append_checkout(event_bytes& into, std::uint64_t state, std::span<const delta> path_back);
    // What forget(), keep(), drop() and squash() are going to do.
    static void append_forgetting(event_bytes& into);
    static void append_keeping(event_bytes& into, std::string_view name);
    static void append_dropping(event_bytes& into, std::uint64_t state);
    static void append_squashing(event_bytes& into, std::uint64_t steps);
    /// All that there is, in parts that are events. `part`: bool(event_bytes&), which may take the bytes; false: no more.
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
    /// About what append_all() makes. O(steps).
    [[nodiscard]] std::uint64_t appended_bytes() const;

private:
    struct known_state {
        std::uint64_t parent = 0; // 0: the oldest
        std::uint64_t next = 0;   // where redo() leads; 0: nowhere
        std::uint64_t left = 0;   // next of the parent before this one was made
        std::uint64_t children = 0;
        std::uint64_t last_version = 0; // of the last commit that led here
        std::uint64_t bytes = 0;        // of all deltas and calls
        clock::time_point time{};
        std::string name;
        std::string kept;          // empty: it is not
        std::list<delta> deltas;   // and calls, in the order of their commits
        bool is_on_path = false;   // from the oldest state to the present one, these two included
        bool is_passed = false;    // H4: limits would have let it go
        bool is_migrated = false;  // H9: its step has a migration
        bool is_hidden = false;    // H10: its step is none of the user's
        bool is_counted = false;   // its step, for the limits
        bool is_in_branch = false; // scratch of erase_branches_of()
    };
    using states = std::map<std::uint64_t, known_state>;
    /// What becomes of the commit that is being made.
    struct staged {
        states::node_type made;  // a new state
        std::list<delta> joined; // to the present one
        bool is_kept;
        bool forgets;          // nothing but kept states can be reached from it
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
    /// Precondition: the state is on the path, and not the present one.
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
    /// Its deltas and calls as they are passed; deltas that follow each other are one. Throws std::bad_alloc.
    [[nodiscard]] static std::list<delta> in_order_of_passage(const known_state& step);
    /// But for the calls among them. Throws std::bad_alloc, and then nothing has changed.
    void make_one(known_state& step);
    void replace(known_state& step, std::list<delta> by) noexcept;
    /// Its deltas have become others.
    void count_bytes(known_state& step) noexcept;
    /// How many steps there are to the end of the last so many that are not hidden.
    [[nodiscard]] std::uint64_t with_hidden(std::uint64_t steps) const;
    /// Where redo() leads by one step, be it hidden; 0: nowhere.
    [[nodiscard]] std::uint64_t forth(std::uint64_t state) const;
    void lead_to(std::uint64_t state, bool is_end) noexcept;
    void drop_hidden_end(std::uint64_t state) noexcept;
    [[nodiscard]] bool is_shown(const states::value_type& state) const;
    [[nodiscard]] std::uint64_t shown_from(std::uint64_t state) const;
    /// By version, in the order in which they are passed.
    [[nodiscard]] std::vector<std::uint64_t> steps_on_path_to(std::uint64_t state) const;
    [[nodiscard]] std::uint64_t meeting_of(std::uint64_t one, std::uint64_t other) const;

    limits most_;
    states states_;
    std::uint64_t present_;
    std::uint64_t steps_on_way_ = 0; // from the oldest state to the present one
    std::uint64_t steps_ = 0;        // that count for the limits
    std::uint64_t bytes_ = 0;        // of these
    std::uint64_t kept_ = 0;
    std::uint64_t migrations_ = 0;  // steps that have one
    std::uint64_t redo_beyond_ = 0; // of the end of a tree: redo_depth() of the state that it begins with
    std::optional<staged> staged_;
    std::uint64_t group_depth_ = 0;
    std::string group_name_;
    std::uint64_t group_step_ = 0; // 0: it has made none
    bool is_group_lost_ = false;   // what it made was not kept
    bool has_lacked_memory_ = false;
};

} // namespace remanence::history
