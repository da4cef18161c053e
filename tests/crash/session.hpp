// A program at work on a store: it changes memory, commits, and notes what the store has promised. Used to record a
// workload, and again after each crash to see that the store still works.
#pragma once

#include "content.hpp"
#include "store.hpp"
#include "testing/simulated_disk.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace remanence::crash {

/// The store did what it must not do.
class violation : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// It reported an error, where none was to be expected.
class operation_failed : public violation {
public:
    using violation::violation;
};

/// What may be found after a power loss: the version acknowledged last as durable, or a later one, up to the last that was
/// begun; nothing at all, unless `created`. These are the same version, when everything is durable.
struct promise {
    bool created = false;
    std::uint64_t acknowledged = 0;
    std::uint64_t in_flight = 0;
    std::shared_ptr<const content> acknowledged_content{}; // null, both: the version that creation makes; not known yet
    std::shared_ptr<const content> in_flight_content{};
    std::vector<std::shared_ptr<const content>> between{}; // of the versions between these two
    struct branch {
        std::shared_ptr<const content> holds;
        bool is_there; // acknowledged
    };
    std::map<std::string, branch> branches{}; // by path
    /// What may be found in files of text, by path; nothing: no such file. The last is the newest.
    std::map<std::string, std::vector<std::optional<std::string>>> texts{};

    /// Of a version that may be found.
    [[nodiscard]] const std::shared_ptr<const content>& content_of(std::uint64_t version) const;
    /// This version, which may be found, holds what the one before it does.
    [[nodiscard]] promise without_changes_of(std::uint64_t version) const;
    /// One more version was begun.
    [[nodiscard]] promise with(const std::shared_ptr<const content>& next) const;
    /// Nothing later than this version, which may be found, is there.
    [[nodiscard]] promise up_to(std::uint64_t version) const;
    /// Nothing earlier than this version, which may be found, is there.
    [[nodiscard]] promise from(std::uint64_t version) const;
    /// Equal for equal promises.
    [[nodiscard]] std::uint64_t fingerprint() const;

    static promise of(std::uint64_t version, const std::shared_ptr<const content>& holds) {
        return {true, version, version, holds, holds};
    }
};

/// The promises in the order in which they were made; the trace's markers give their index. Never empty.
using history = std::vector<promise>;

/// Whom a session on real files answers to.
class witness {
public:
    witness() = default;
    witness(const witness&) = delete;
    witness& operator=(const witness&) = delete;
    virtual ~witness() = default;
    virtual void promised(const promise& made, os::call_site what) = 0;
    /// The disk is full. Whether there is room now, so that it may be tried again.
    virtual bool makes_room() = 0;
};

class session {
public:
    static constexpr const char* k_path = "heaps/heap";

    /// `past` goes on growing; its last promise says what the first opening may find.
    session(simulation::simulated_disk& disk, open_function open, history& past, std::uint64_t seed);
    /// On real files, where no attempt can be cut short.
    session(os::file_system& files, witness& told, open_function open, history& past, std::uint64_t seed);

    /// Opens or creates; throws a violation when that fails or a promise was not kept.
    void open();
    void commit(log::durability how = log::durability::durable);
    /// A commit that becomes durable by and by; returns its version.
    std::uint64_t commit_async();
    /// Until that one is durable.
    void wait(std::uint64_t version);
    /// An asynchronous commit, and, after a change, another, while the disk is full for a moment, at the nth operation from now
    /// (0: the next). One that is refused, or comes to nothing later, is left for the next commit. True when all was done before that
    /// operation was reached; else the process is dead afterwards if it had been promised room.
    bool commit_async_on_full_disk(std::uint64_t n, const std::function<void()>& change);
    /// Everything committed becomes durable.
    void sync();
    /// Where an asynchronous commit may have come to nothing, which the sync then tells.
    void sync_beside_failed();
    void rollback();
    // Of a store with a history; what is not committed comes in between.
    void undo(std::uint64_t steps = 1);
    void redo(std::uint64_t steps = 1);
    /// The last commit is kept by this name: until the process dies, if the history is not kept over sessions.
    void keep(const std::string& name);
    void restore(const std::string& name);
    void drop(const std::string& name);
    void squash(std::uint64_t steps);
    /// A commit across which no step leads.
    void commit_migration();
    /// A heap of its own, of what is kept by this name. It is looked at whenever this one is opened.
    void branch(const std::string& name);
    /// Writes a file of text as a whole (api/whole_file.hpp), in place of the former, or as a new one.
    void write_text(const std::string& name, const std::string& text, bool may_replace);
    [[nodiscard]] bool has_branch(const std::string& name);
    /// The bits of so many bytes of a block are turned, by a commit that the history holds as a call.
    void flip(std::uint64_t bytes);
    /// What is committed until the end is one step.
    void begin_group();
    void end_group();
    void checkpoint();
    /// Returns how many commits that made.
    std::uint64_t shrink();
    void close();
    /// The process dies: memory is lost, the files stay as the operating system has them.
    void die();

    /// How an attempt is cut short at an operation of the disk: one fails, or the process dies before it.
    enum class cut { failure, death };
    // As above, but cut short at the nth operation from now (0: the next). True when it was done before that was
    // reached; else the process is dead afterwards.
    bool try_open(std::uint64_t n, cut how);
    bool try_commit(std::uint64_t n, cut how, log::durability until = log::durability::durable);
    bool try_commit_async(std::uint64_t n, cut how);
    bool try_wait(std::uint64_t n, cut how, std::uint64_t version);
    bool try_sync(std::uint64_t n, cut how);
    bool try_undo(std::uint64_t n, cut how, std::uint64_t steps = 1);
    bool try_redo(std::uint64_t n, cut how, std::uint64_t steps = 1);
    /// The disk is full from the nth operation of the undo on, for a moment. The process is dead afterwards only if it had been
    /// promised room.
    bool undo_on_full_disk(std::uint64_t n);
    bool try_restore(std::uint64_t n, cut how, const std::string& name);
    bool try_keep(std::uint64_t n, cut how, const std::string& name);
    bool try_drop(std::uint64_t n, cut how, const std::string& name);
    bool try_squash(std::uint64_t n, cut how, std::uint64_t steps);
    bool try_branch(std::uint64_t n, cut how, const std::string& name);
    bool try_text(std::uint64_t n, cut how, const std::string& name, const std::string& text);
    bool try_checkpoint(std::uint64_t n, cut how);
    bool try_shrink(std::uint64_t n, cut how);
    bool try_close(std::uint64_t n, cut how);
    /// Changes, during which something may be spilled.
    bool try_changes(std::uint64_t n, cut how, const std::function<void()>& change);
    /// The same, but at the nth operation the disk is full, for a moment. The process is dead afterwards only if it had been
    /// promised room.
    bool change_on_full_disk(std::uint64_t n, const std::function<void()>& change);
    /// Undoes all steps that are known, of earlier sessions, too, and redoes them.
    void go_through_history();
    /// Opens versions of a history that is kept over sessions, read-only, before open(): they are what they were.
    void look_at_versions();
    [[nodiscard]] bool is_dead() const { return !store_; }

    [[nodiscard]] store& opened() { return *store_; }
    [[nodiscard]] const content& current() const { return current_; }
    [[nodiscard]] generator& random() { return random_; }
    void verify();
    /// What failed after the last operation is heard of here.
    void expect_health();

    // Changes, to be committed.

    /// Adds a block in front of the list and fills it.
    void add_block(std::uint64_t bytes);
    /// Adds a block that holds zeros behind its header: in the file, holes, wherever debris of a lost commit may lie.
    void add_zero_block(std::uint64_t bytes);
    /// Adds a block of which only the header and pieces of `written` bytes, `every` apart, are ever touched.
    void add_sparse_block(std::uint64_t bytes, std::uint64_t every, std::uint64_t written);
    /// Moves a block that was filled to another place, and to the front of the list.
    void move_block(std::size_t index);
    void remove_block(std::size_t index);
    void remove_largest();
    /// Overwrites bytes at a random place of a random block (that was filled), or, without one, of the root.
    void poke(std::uint64_t bytes);
    void poke(std::size_t index, std::uint64_t offset, std::uint64_t bytes);
    void change_serial();
    void add_root();
    /// Frees every block and the root itself.
    void remove_root();

    /// Some change that any heap takes, empty ones included.
    void change_anything();

private:
    void write(std::uint64_t offset, std::span<const std::byte> bytes);
    template <class T>
    void write_object(std::uint64_t offset, const T& object) {
        write(offset, std::as_bytes(std::span(&object, 1)));
    }
    std::uint64_t allocate(std::uint64_t bytes);
    /// Adds a block of these bytes, but for the header, which takes the place of the first.
    void add_block_of(std::vector<std::byte> all);
    void link_block(content::block added);
    void set_root_fields();
    /// Of the first block; 0 when there is none.
    [[nodiscard]] std::uint64_t first_offset() const;
    /// The disk is full no longer. Whether it never was; else the process is dead now if the store is broken.
    bool make_room_again();
    void promised(promise made, os::call_site what);
    void came_to_nothing(std::uint64_t version);
    template <class F>
    result<void> begin_commit(const F& commit);
    result<void> do_commit(log::durability how);
    result<void> do_commit_async();
    /// By `step`, to the state that comes so many behind the present one.
    result<void> do_go(std::ptrdiff_t distance, const std::function<result<void>()>& step);
    result<void> do_undo(std::uint64_t steps);
    result<void> do_redo(std::uint64_t steps);
    /// Of a history that is kept over sessions it is a commit that changes nothing.
    result<void> change_history(const std::function<result<void>()>& change);
    result<void> do_keep(const std::string& name);
    result<void> do_drop(const std::string& name);
    result<void> do_squash(std::uint64_t steps);
    result<void> do_restore(const std::string& name);
    result<void> do_branch(const std::string& name);
    result<void> do_write_text(const std::string& name, const std::string& text, bool may_replace);
    [[nodiscard]] static std::string branch_path(const std::string& name);
    void check_branches();
    void check_texts();
    /// The state that was just committed is the last one to be undone.
    void add_state();
    /// Limits may have let go, or joined, steps on the way.
    void follow_limits();
    /// The last commit has the history that the store has now.
    void note_past();
    void adopt_past();
    result<void> do_wait(std::uint64_t version);
    result<void> do_sync();
    result<void> giving_back(const std::function<result<void>()>& step, int commits_max);
    result<void> do_checkpoint();
    result<void> do_shrink();
    result<void> do_close();
    result<void> all_is_durable(result<void> done, os::call_site what);
    void adopt(std::unique_ptr<store> opened, bool was_absent);
    void prepare_cut(std::uint64_t n, cut how);
    bool finish_cut(cut how);
    bool attempt(std::uint64_t n, cut how, const char* what, const std::function<result<void>()>& step);

    /// The result of f(), repeated while the disk is full and somebody makes room.
    template <class F>
    auto with_room(const F& f) {
        auto done = f();
        while (!done && done.why().code == errc::no_space && witness_ != nullptr && witness_->makes_room())
            done = f();
        return done;
    }

    os::file_system& files_;
    simulation::simulated_disk* disk_ = nullptr; // either it or a witness
    witness* witness_ = nullptr;
    open_function open_;
    history& past_;
    generator random_;
    std::unique_ptr<store> store_;
    content current_;
    std::shared_ptr<const content> committed_;
    std::vector<std::shared_ptr<const content>> states_; // that undo and redo lead to
    std::size_t state_ = 0;                              // that memory is in
    std::map<std::uint64_t, std::shared_ptr<const content>>
        by_version_; // all that there were since the heap was opened
    std::map<std::string, std::shared_ptr<const content>> kept_;
    std::map<std::string, promise::branch> branches_;
    std::map<std::string, std::vector<std::optional<std::string>>> texts_; // as promise::texts
    bool is_in_group_ = false;
    bool has_group_step_ = false;
    std::uint64_t outlives_process_ = 0; // the last version that is to be found when only the process died
};

} // namespace remanence::crash
