// The heap: a file of ordinary C++ objects that stay. Thin templates over compiled code; depends on the standard
// library only.
#pragma once

#include <remanence/detail/compiler.hpp>

#include <remanence/allocator.hpp>
#include <remanence/commit_ticket.hpp>
#include <remanence/detail/abi.hpp>
#include <remanence/detail/own_result.hpp>
#include <remanence/error.hpp>
#include <remanence/heap_options.hpp>
#include <remanence/heap_reports.hpp>
#include <remanence/procedures.hpp>
#include <remanence/types/detail/fingerprint.hpp>
#include <remanence/types/detail/position_independent.hpp>
#include <remanence/types/detail/structure.hpp>
#include <remanence/types/persistable.hpp>
#include <remanence/versions.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace remanence {

/// write(declared, f) promises that all changes are made by Remanence's allocator and containers, or declared by touch().
struct declared_tag {
    explicit declared_tag() = default;
};
inline constexpr declared_tag declared{};

template <class Container>
class file_backed; // file_backed.hpp
class in;
class savepoint;
class group;

namespace os {
class file_system; // src/os/file.hpp
}
namespace txn {
struct parts; // src/txn/parts.hpp
}

namespace detail {

/// open_anywhere: as open_or_create; where the base address is taken, a heap that is there is mapped elsewhere. Only for heaps
/// that hold position-independent objects and nothing else.
enum class opening { open_or_create, create, open_existing, open_anywhere };

heap open(os::file_system& files, const std::filesystem::path& path, const heap_options& options,
          opening mode); // for tests: src/api/heap_impl.hpp

class heap_impl; // src/api/heap_impl.hpp
/// For the C interface. Throws errc::closed.
heap_impl& impl_of(const heap& of);

struct heap_impl_deleter {
    void operator()(heap_impl* impl) const noexcept;
};

/// Whether a write section looks for changes, or relies on their being declared. The outermost one is declared if it
/// began so, and none nested in it is ordinary; `joining` is what the outermost one is, or ordinary.
enum class section_kind { ordinary, declared, joining };
/// Whether it may be nested in another one.
enum class section_place { anywhere, outermost };

/// A write section in the making: left without commit(), it rolls back.
class write_section {
public:
    /// `until` is that of the heap, when there is none. Throws what heap::lock() throws; errc::section_conflict likewise when
    /// it is not where it is to be.
    write_section(heap_impl* impl, section_kind kind, std::optional<durability> until,
                  section_place place = section_place::anywhere);
    write_section(const write_section&) = delete;
    write_section& operator=(const write_section&) = delete;
    ~write_section();
    /// Ends the section; the outermost one commits. On failure everything is rolled back, unless the heap is poisoned, and
    /// the reason thrown.
    void commit();
    /// The same, of the outermost one, without waiting: see heap::write_async().
    [[nodiscard]] commit_ticket commit_async();

private:
    heap_impl* impl_;
    durability how_;
};

class read_section {
public:
    explicit read_section(heap_impl* impl);
    read_section(const read_section&) = delete;
    read_section& operator=(const read_section&) = delete;
    ~read_section();

private:
    heap_impl* impl_;
};

/// Makes an empty object there, whose parts are of this heap.
using root_maker = void (*)(heap_header* of, void* place);
/// What the heap knows of a root's type besides its fingerprint; null: it has nothing to check, or cannot be made of nothing.
struct root_functions {
    root_check check;
    root_maker make;
    bool is_asked_for = true; ///< false: nobody gets a reference to it
};
template <class T>
constexpr root_functions functions_of_root() {
    root_maker make = nullptr;
    if constexpr (std::is_default_constructible_v<T>) {
        make = [](heap_header* of, void* place) {
            allocator<T> where(of);
            const default_heap_scope parts_belong_here(where.heap());
            where.construct(static_cast<T*>(place));
        };
    }
    return {check_of_root<T>(), make};
}

/// The root directory, to be used inside a section. `find_root` returns null when there is no such root, and throws
/// errc::type_mismatch when it is of another type. From then on verify() knows what to check, and no step back of the history takes the root away.
void* find_root(heap_impl* impl, std::string_view name, const type_fingerprint& type, const root_functions& functions);
/// `is_alone`: is_about_to_make_one() said so before the object was made.
void add_root(heap_impl* impl, std::string_view name, const type_fingerprint& type, void* object,
              const root_functions& functions, bool is_alone);
/// Whether the write section has just begun for a root alone, so that its commit is none of the user's steps.
[[nodiscard]] bool is_about_to_make_one(heap_impl* impl);
void erase_root(heap_impl* impl, std::string_view name);
heap_header* header_of(heap_impl* impl);
/// The same, to change the heap: errc::read_only.
heap_header* writable_header_of(heap_impl* impl);
/// In a library that checks commits: ends the process with a message unless a block begins there that has at least so many bytes.
void refuse_if_destroyed(const heap_impl& impl, const void* object, std::size_t bytes) noexcept;
/// The same, for an object that may hold addresses: errc::base_taken when the heap is mapped elsewhere.
heap_header* header_at_own_base(heap_impl* impl, const std::type_info& type);
template <class T>
heap_header* header_for(heap_impl* impl) {
    if constexpr (is_position_independent_v<T>)
        return header_of(impl);
    else
        return header_at_own_base(impl, typeid(T));
}
/// The handle's implementation; throws errc::closed when there is none.
heap_impl* checked(const std::unique_ptr<heap_impl, heap_impl_deleter>& impl);

/// A new object in memory of this allocator, which what it is made of gets, too.
template <class T, class... Args>
T* make_by(allocator<T> where, Args&&... args) {
    const default_heap_scope parts_belong_here(where.heap());
    T* object = where.allocate(1);
    try {
        where.construct(object, std::forward<Args>(args)...);
    } catch (...) {
        where.deallocate(object, 1);
        throw;
    }
    return object;
}

} // namespace detail

/// An open heap. Move-only. Every member but the destructor throws `error` with errc::closed once it is closed or
/// moved from. Members may be called from several threads, except close(), moving and the destructor.
///
/// An exclusive heap's memory may be changed at any time between commits, with the program's own locking; sections
/// bring a reader-writer lock among the threads of the process, and commit or roll back by themselves. Memory of a heap that
/// processes share is changed in write sections and looked at in sections: elsewhere it is of no version in particular. All that
/// enter a write section throw errc::outside_section when it was changed otherwise (which is undone), errc::poisoned also when a
/// write or sync of another process has failed; and commits errc::readers_behind.
class heap {
public:
    /// Opens the heap at `path`, creating it when absent. After a crash this recovers the last commit. It is mapped where it was
    /// created. If these addresses are taken, a heap of which every root was `position_independent` to the program that made it is
    /// mapped elsewhere, and takes nothing else until it is closed. Any other one is errc::base_taken.
    /// Complexity: independent of the heap's size; recovery is bounded by the log limit.
    static heap open(const std::filesystem::path& path, const heap_options& options = {}) {
        return heap(path, options, detail::opening::open_or_create, detail::k_abi);
    }
    /// Creates the heap; errc::exists when there is a file. Once this returns, the empty heap is durable.
    static heap create(const std::filesystem::path& path, const heap_options& options = {}) {
        return heap(path, options, detail::opening::create, detail::k_abi);
    }
    /// Opens the heap; errc::not_found when there is none.
    static heap open_existing(const std::filesystem::path& path, const heap_options& options = {}) {
        return heap(path, options, detail::opening::open_existing, detail::k_abi);
    }

    heap(heap&& other) noexcept;
    /// Closes the heap held so far as the destructor does.
    heap& operator=(heap&& other) noexcept;
    /// Discards what is not committed (commits it with commit_at_close), applies the log and closes; says nothing of
    /// failures: use close() to hear of them. Nothing durable is lost either way.
    ///
    /// It discards with commit_at_close, too, when what is there may be half of something: while a section of this thread
    /// is open, or when an exception takes the heap away, one that was thrown since the heap was made or moved there
    /// (std::uncaught_exceptions()). While another thread is in a section, or waits for one or for the device, or when
    /// exit() was called in a section of this thread, it does nothing at all: memory stays where it is, and the files as a
    /// crash leaves them, locked until the process ends. The next open recovers the last commit.
    ///
    /// Once it begins, every use of this handle throws errc::closed. A section of this thread that is open is rolled back, and its
    /// end throws errc::closed, if it is one of write() or write_async(). In the main thread, while the process ends, memory
    /// stays where it is, for threads that still run.
    ~heap();

    /// As the destructor, but reports. Both wait until asynchronous commits are durable, carry out the checkpoint that is
    /// under way, and give space back, as checkpoint() does, if anything was committed. Throws errc::section_open, and leaves
    /// the heap open, while a section is open or a commit of another thread waits for the device; so it does when
    /// commit_at_close meets errc::no_space, another limit or a right that lacks, or errc::foreign_pointer (commit()), and when the last point
    /// of commit_async() met errc::no_space and no commit has its changes yet; every change is still in memory then. After any other error the heap is closed too.
    /// errc::unlinked: its file was removed or replaced, and what was committed is lost with it. errc::log_foreign: all of it
    /// is in the file, but a log of another heap beside it keeps it from being opened.
    void close();
    /// False once closed or moved from.
    [[nodiscard]] bool is_open() const noexcept { return impl_ != nullptr; }

    /// Makes every change since the last commit durable, atomically. Waits for the other threads' sections to end.
    /// Durable once this returns, with all earlier commits, unless heap_options::commits says less. The device is waited for
    /// when no section is held any more, so commits of several threads share a write; others may see, and build on, what is
    /// not durable yet. When that write fails, all of these commits fail. errc::no_space: nothing is written, memory keeps
    /// its changes, call it again when there is space. errc::io: the heap is poisoned, every later commit says
    /// errc::poisoned, and it must be reopened.
    /// errc::corrupt: a page of the file is damaged, nothing was written. errc::rolled_back: a nested section failed.
    /// errc::unlinked: the heap's file or its log was removed or replaced, nothing was written. A heap that was renamed goes on.
    /// errc::foreign_pointer: outside a write section, an object of the heap has memory that belongs to none, since a
    /// default-made allocator took it; builds of the library that check refuse more. errc::read_only, errc::section_conflict.
    /// With these three nothing was done. It takes every change, in a declared section, too.
    /// Complexity: O(changed pages), plus a look at resident memory unless tracking::trap is used.
    void commit();
    /// The same, as durable as this says.
    void commit(durability until);
    /// An asynchronous commit: as commit(), but does not wait for the device. The ticket does, or tells whether it is done.
    /// What becomes durable, by itself, is memory as it is now; it may be changed again as soon as this returns. Errors that
    /// leave memory uncommitted are thrown here, as commit() throws them, and there is no ticket then. What fails later
    /// poisons the heap: the tickets of all commits that were not durable yet hear of it, and the next commit or close().
    /// Where 1 MiB of pages or more were written, they are only copied here, and a thread finds what has changed in them; then the
    /// ticket alone hears of errc::no_space, if the changes need more of the log than usual, of errc::corrupt and of
    /// std::bad_alloc. Such a point is not committed: the heap works on, its changes are in the next commit, and rollback() restores
    /// memory with them. The next commit, rollback(), sync() and close() wait for the thread, or do its work.
    /// Bulk data that is written whole, and new memory if it is much, are written here, and a checkpoint that is due begins here
    /// (see durability::none); the rest is done by a thread that the heap starts with the first one, or here, too, where none
    /// can be started.
    [[nodiscard]] commit_ticket commit_async();
    /// Makes everything that was committed before the call durable, whatever was waited for then. Does not wait for
    /// sections. errc::io: the heap is poisoned; errc::poisoned. What failed of the last point of commit_async() is thrown here, too, after all
    /// else is durable, until a commit has its changes.
    void sync();
    /// Restores memory to the last commit, allocator and roots included. Pointers to what was created since dangle.
    /// Waits for the other threads' sections to end. Writes nothing. errc::corrupt or errc::io when the committed content
    /// cannot be read (the heap is poisoned then), errc::poisoned, errc::section_conflict.
    /// Complexity: as commit().
    void rollback();
    /// Drops all memory and reads the last commit anew from file and log, as a program does that opens the heap after a crash: for when
    /// rollback() failed, or memory cannot be trusted. What is committed is made durable before. A poisoned heap takes
    /// commits again afterwards, and has what opening it anew finds: what was durable, perhaps more. Objects are where they were;
    /// pointers to what was not committed dangle, and strings and containers outside of the heap that have memory in it must not be
    /// used again. Commit tickets that wait get their answer.
    /// Nobody may use the heap meanwhile, as with close(). errc::section_open while a section is open or a commit of another
    /// thread waits for the device; errc::invalid_argument with sharing::processes, or when the heap is not where it was created;
    /// errc::unlinked when its file is no longer at path(), errc::no_step when it is an old version that was dropped; what sync() throws
    /// but errc::poisoned: nothing was done then. After any other error, which are those of open_existing(), the heap is closed.
    /// Complexity: as opening.
    void rebuild() { rebuild(detail::k_abi); }
    /// Applies the log into the image, so that the log can be reused. Uncommitted changes stay uncommitted; when there are
    /// none, chunks of which no byte is allocated go back to the file system: they become holes, and the file ends behind
    /// the last chunk in use. Waits for the other threads' sections to end, and for the checkpoint that is under way. What
    /// was committed is as durable before as after. Does nothing before the first commit since the heap was opened.
    /// errc::io poisons the heap; errc::poisoned, errc::read_only, errc::section_conflict. Complexity: O(pages committed
    /// since the last one); when there is space to be given back, as commit() and O(its pages), too.
    void checkpoint();

    /// Runs `f` in a write section and returns its result; commits at the end, rolls back when `f` throws. What `f` makes by
    /// default belongs to the heap; strings and containers in the result are made anew where the caller's belong: moved where their
    /// type shows them, else by a copy of the result. What cannot be copied, and what pointers in it lead to, stays as it is. A nested
    /// section joins the outermost one; an exception that leaves a nested one dooms the outermost: it then rolls
    /// back, and throws errc::rolled_back when the exception was caught on the way. Waits for the other threads' sections.
    /// Durable once the outermost one returns, as after commit(). Throws what `f` throws and what commit() throws (memory is
    /// rolled back then, unless the heap is poisoned); errc::section_conflict inside a read section of the same thread.
    template <class F>
    decltype(auto) write(F&& f) {
        return write_in(detail::section_kind::ordinary, {}, std::forward<F>(f));
    }
    /// The same, as durable as this says. What a nested section says does not count.
    template <class F>
    decltype(auto) write(durability until, F&& f) {
        return write_in(detail::section_kind::ordinary, until, std::forward<F>(f));
    }
    /// The same, and names the step (heap_options::history), if this is not nested in a section or a group.
    template <class F>
    decltype(auto) write(std::string_view name, F&& f);
    /// As write(f), but the commit takes only what is declared, so it looks for changes nowhere: O(pages declared), in a
    /// heap of any size and with every tracker. Declared are: what touch() names; all of each block that is allocated in
    /// the section (by any container, make() or root()); what the allocator and the root directory change for themselves.
    /// Everything else that `f` changes must be named by touch() before: members and elements of objects that were there
    /// before, and what std:: containers change in them, their links in other nodes included.
    ///
    /// Of what touch() names, and of what is allocated, pages of 4 KiB are committed whole; of what Remanence's containers
    /// declare, words of 8 bytes. A change that is not declared, or was made outside sections before and never committed,
    /// stays in memory and is not committed: the next commit that is not declared finds it, and a crash before loses it,
    /// alone. The checking library (remanence::checked) looks for such changes, and throws errc::undeclared_change;
    /// everything is rolled back then. When `f` throws, everything is rolled back, whether declared or not.
    ///
    /// Inside an ordinary write section this is an ordinary one; an ordinary one inside makes the outermost ordinary. So
    /// is a declared one for which memory was allocated or freed outside of it and not committed.
    template <class F>
    decltype(auto) write(declared_tag, F&& f) {
        return write_in(detail::section_kind::declared, {}, std::forward<F>(f));
    }
    /// The same, as durable as this says.
    template <class F>
    decltype(auto) write(declared_tag, durability until, F&& f) {
        return write_in(detail::section_kind::declared, until, std::forward<F>(f));
    }
    /// As write(f), of an `f` without a result, but its end is an asynchronous commit, as commit_async() is: the ticket is to be
    /// waited for, or asked, or dropped. errc::section_conflict, and `f` is not called, inside a write section of the same
    /// thread, whose end it is that commits.
    template <class F>
    [[nodiscard]] commit_ticket write_async(F&& f) {
        return write_in_async(detail::section_kind::ordinary, std::forward<F>(f));
    }
    /// As write(declared, f), likewise: the call costs no look at memory either.
    template <class F>
    [[nodiscard]] commit_ticket write_async(declared_tag, F&& f) {
        return write_in_async(detail::section_kind::declared, std::forward<F>(f));
    }
    /// Runs `f` in a read section and returns its result: other readers run beside it, writers wait, and readers that
    /// come while a writer waits queue behind it. So a section must not wait for another thread that enters one. Inside
    /// a write section of the same thread it joins that. Throws what `f` throws.
    template <class F>
    decltype(auto) read(F&& f) const {
        detail::read_section section(detail::checked(impl_));
        return std::forward<F>(f)();
    }

    // Lockable and SharedLockable: the same sections by std::unique_lock and std::shared_lock. unlock() rolls back what
    // was not committed, and never throws: call commit() before. check_options::on_discard hears of what was lost.
    /// Enters a write section. errc::section_conflict inside a read section of the same thread.
    void lock();
    /// As lock(), without waiting: false when others are in a section (of a shared heap: other processes in a write section), or this
    /// thread is in a read section.
    [[nodiscard]] bool try_lock();
    /// As lock(), and false when that time has come before.
    [[nodiscard]] bool try_lock_until(std::chrono::steady_clock::time_point deadline);
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& longest) {
        using clock = std::chrono::steady_clock;
        if (std::chrono::duration<double>(longest) >
            std::chrono::hours(24 * 365 * 100)) // it may not fit into clock::duration
            return try_lock_until(clock::time_point::max());
        return try_lock_until(longest > longest.zero() ? clock::now() + std::chrono::ceil<clock::duration>(longest)
                                                       : clock::time_point::min());
    }
    /// Ends the write section; the outermost one rolls back what was not committed.
    void unlock() noexcept;
    /// Enters a read section.
    void lock_shared();
    /// As lock_shared(), without waiting: false when another thread is in a write section or waits for one, and now and
    /// then when another thread is just entering a section.
    [[nodiscard]] bool try_lock_shared();
    /// Ends the read section.
    void unlock_shared() noexcept;

    /// The object named `name`, constructed from `args` (uses-allocator) when there is none. A type that is not `persistable`
    /// does not compile. Outside a section this
    /// commits its creation, which without `args` is no step of the history; inside one it is undone with the section, and the reference then dangles.
    /// Throws errc::type_mismatch naming both types or the member that differs, errc::unnameable_type for local types and those of anonymous
    /// namespaces, errc::corrupt when the directory is damaged, errc::base_taken when the heap is
    /// mapped elsewhere (open()) and T is not `position_independent`, and what write() and T's constructor throw.
    template <class T, class... Args>
    T& root(std::string_view name, Args&&... args) {
        detail::require_persistable<T>();
        if (T* found = find_root<T>(name))
            return *found;
        return write_in(detail::section_kind::joining, {}, [&]() -> T& {
            if (T* found = find_root<T>(name))
                return *found; // another thread was first
            const bool is_alone = sizeof...(Args) == 0 && detail::is_about_to_make_one(detail::checked(impl_));
            T* object = make<T>(std::forward<Args>(args)...);
            detail::add_root(detail::checked(impl_), name, detail::fingerprint_of<T>(), object,
                             detail::functions_of_root<T>(), is_alone);
            return *object;
        });
    }
    /// The object named `name`, or null. errc::type_mismatch, errc::corrupt, errc::base_taken as from root(). O(log roots).
    template <class T>
    [[nodiscard]] T* find_root(std::string_view name) const {
        detail::read_section section(detail::checked(impl_));
        return static_cast<T*>(detail::find_root(detail::checked(impl_), name, detail::fingerprint_of<T>(),
                                                 detail::functions_of_root<T>()));
    }
    /// Destroys the object named `name`; false when there is none. Outside a section it commits. Throws what find_root()
    /// and write() throw.
    template <class T>
    bool remove_root(std::string_view name) {
        return write_in(detail::section_kind::joining, {}, [&] {
            T* object = static_cast<T*>(detail::find_root(detail::checked(impl_), name, detail::fingerprint_of<T>(),
                                                          {detail::check_of_root<T>(), nullptr, false}));
            if (object == nullptr)
                return false;
            detail::erase_root(detail::checked(impl_), name);
            destroy(object);
            return true;
        });
    }
    /// All roots by name, in a read section. errc::corrupt when the directory is damaged.
    [[nodiscard]] std::vector<root_info> roots() const;

    /// A new object in this heap, for plain pointers to reach. Uses-allocator construction. A type that is not
    /// `persistable` does not compile. errc::base_taken as from root().
    template <class T, class... Args>
    [[nodiscard]] T* make(Args&&... args) {
        detail::require_persistable<T>();
        return detail::make_by(allocator<T>(detail::header_for<T>(detail::checked(impl_))),
                               std::forward<Args>(args)...);
    }
    /// Destroys what make() made and frees its memory. Null is allowed. Throws errc::read_only, before it does anything. In a library that
    /// checks commits it ends the process with a message when no object lies there.
    template <class T>
    void destroy(T* object) {
        if (object == nullptr)
            return;
        detail::heap_header* const where = detail::writable_header_of(detail::checked(impl_));
        detail::refuse_if_destroyed(*impl_, object, sizeof(T));
        std::destroy_at(object);
        allocator<T>(where).deallocate(object, 1);
    }
    /// An allocator of this heap.
    template <class T = std::byte>
    [[nodiscard]] allocator<T> get_allocator() const {
        return allocator<T>(detail::header_of(detail::checked(impl_)));
    }

    /// A moment of this thread's write section to which it can go back, of all memory of the heap. Within it an inner section that
    /// throws no longer dooms the outer one: it goes back to the last savepoint made around it, and who catches the exception may
    /// go on. A declared section looks for changes from here on, as an ordinary one. Until the last savepoint has ended nothing is
    /// spilled: what the section writes must fit into memory. Writes nothing to the file. errc::outside_section when the thread is
    /// in no write section; errc::poisoned. Throws heap_exhausted when part of the changes was spilled already, std::bad_alloc.
    /// O(pages that the section has written), and as much memory.
    [[nodiscard]] remanence::savepoint savepoint();

    // The history: with heap_options::history, what is committed while the heap is open can be undone, and redone. Each of undo(), redo() and
    // go_to() is an atomic commit of its own, as durable as heap_options::commits says, so that version() grows. Roots and allocator go
    // with all else: pointers to what was made since dangle, and objects that were destroyed are back. But a root that the program has got
    // from root() or find_root() stays the same object until the heap is closed, empty where there was none; where that cannot be, they
    // throw errc::in_use, as for roots that only other processes may have.
    // All three wait for the sections of other threads to end. They throw errc::section_open when the thread is in a section, or a
    // group is open; errc::uncommitted when memory has changes that are not committed; errc::no_step when it does not lead there;
    // errc::invalid_argument without a history; and what commit() throws. Then memory is as before. O(bytes of the steps), and what
    // commit() says.

    /// Memory becomes what it was before the last `steps` steps. Each commit since the heap was opened is one, but groups.
    void undo(std::uint64_t steps = 1);
    /// Memory becomes what it was before the last `steps` steps were undone. A commit after an undo begins a branch of its own: what was
    /// undone cannot be redone from there, which errc::no_step says, with the version that go_to() reaches.
    void redo(std::uint64_t steps = 1);
    /// Memory becomes what it was at this version: of a step in history(), or of the last commit, undo or redo that led to one. From
    /// there undo() leads back, and redo() to where memory came from, if that is on its way.
    void go_to(std::uint64_t version);
    /// How many steps undo() can go; 0 without a history. In a read section, as are the next two. O(1).
    [[nodiscard]] std::uint64_t undo_depth() const;
    /// How many steps redo() can go. O(their number).
    [[nodiscard]] std::uint64_t redo_depth() const;
    /// All states that can be reached, by version: the oldest, and for each step that there is the one after it. Empty without a
    /// history, or after its end. O(steps).
    [[nodiscard]] std::vector<history_step> history() const;
    /// All commits until it is destroyed, of whatever thread, are one step, with this name. Each is atomic and durable by itself, and is
    /// undone with the others. Within it, undo(), redo() and go_to() are errc::section_open. A group within a group is part of it.
    /// Without a history nothing happens. errc::section_open when the thread is in a section.
    [[nodiscard]] remanence::group group(std::string_view name);
    /// Lets all steps go: what is committed stays, and nothing before it can be reached but what is kept. errc::section_open as
    /// above. Of a history that is kept over sessions this is a durable commit, and throws what commit() does.
    void forget_history();
    /// Returns why a history that is to be kept over sessions (history_options::kept_over_sessions) has no steps of earlier ones, in a
    /// sentence: there was no file, it is damaged, or not that of this heap; or that the file was removed while the heap was open, or
    /// could not follow its new name, and all steps are in a new one. Empty when it goes on. In a read section.
    [[nodiscard]] std::string why_history_is_new() const;
    /// Runs a procedure of heap_options::procedures in a write section of its own, which is a step of the history with its name. Where the
    /// bytes that it changes would be more, the step holds the call: its name and parameters. undo() then calls the inverse, and redo() the
    /// procedure, and commit what that makes of memory. So they write blocks that are there, in the same way each time, and depend on nothing
    /// but memory and parameters. The step holds bytes, as others do, if the procedure has no inverse, allocates or frees memory of the heap, if
    /// memory had changes that nobody had committed, and while versions are kept.
    ///
    /// Undone, the call leaves what the inverse makes of memory. Steps before it write the bytes that they hold, so undone they have these
    /// bytes right, and all others as the inverse left them.
    ///
    /// errc::no_procedure: there is none of this name. errc::section_open when the thread is in a section. What the procedure throws is
    /// thrown here, and what write() throws; memory is as before then. undo() and its like throw errc::no_procedure, also when the inverse is not
    /// there, or commits, rolls back, allocates or frees; what the inverse throws; and errc::no_step when versions are kept, and the way has
    /// more steps than this one. diff() and branch() throw errc::no_step when such a step is on the way to the version.
    void call(std::string_view name, std::span<const std::byte> parameters);
    void call(std::string_view name) { call(name, std::span<const std::byte>()); }
    template <detail::procedure_parameters T>
    void call(std::string_view name, const T& parameters) {
        call(name, std::as_bytes(std::span<const T, 1>(&parameters, 1)));
    }
    /// The last `steps` steps become one, named after the last of them that has a name: undo() then takes them back at once. Memory and
    /// files stay as they are. errc::no_step: there are not so many. errc::invalid_argument: a version among them is kept, or another
    /// branch begins there. errc::section_open, errc::invalid_argument as above. O(bytes of these steps).
    void squash(std::uint64_t steps);

    // Kept versions. No limit of the history lets one go, and what they hold does not count for the limits: only what has changed
    // since, each byte once. All of these wait for the sections of other threads to end, but versions(), and throw errc::section_open and
    // errc::invalid_argument as undo() does; errc::no_step: no version is kept by this number or name. Of a history that is kept over sessions
    // keep(), drop() and squash() are durable commits, which change no object, and throw what commit() does.

    /// Keeps the version of the last commit, by this name, and returns its number in history(). Changes that are not committed are not in
    /// it. errc::exists: a version has this name, or that version has another one. errc::invalid_argument: the name is empty.
    std::uint64_t keep(std::string_view name);
    /// All of them, by version. In a read section. O(steps).
    [[nodiscard]] std::vector<kept_version> versions() const;
    /// Memory becomes what it was, by a commit: as go_to() does.
    void restore(std::uint64_t version);
    void restore(std::string_view name);
    /// The version is a step like others again, and goes if it would have gone without keep(). O(bytes of the steps around it).
    void drop(std::uint64_t version);
    void drop(std::string_view name);
    /// Makes a heap of its own of a version that is kept, or in history(): the file `path`, closed, with its roots, schema and
    /// application, without a history. It appears complete or not at all, and is durable once this returns; until then, and after a
    /// crash until the next call, NAME-branch-unfinished is beside it, perhaps with -new or -log. What is not committed is not in it.
    /// errc::exists: there is a file, or a log of one. errc::no_space, errc::corrupt, errc::io: there is none then. O(file).
    void branch(std::uint64_t version, const std::filesystem::path& path);
    /// What differs between two versions that are kept, or in history(). Reads the file, and changes nothing. errc::corrupt: a page
    /// of the file is damaged. O(bytes that differ, blocks, and what the roots lead to).
    [[nodiscard]] version_difference diff(std::uint64_t before, std::uint64_t after) const;

    /// Declares that [pointer, pointer+bytes) is about to be written: holds until the next commit or rollback. In a
    /// declared section this is what makes a change part of its commit; what was declared before it began does not count.
    /// Elsewhere only system calls need it (read(2) into a buffer in the heap, for instance), and only with tracking::trap:
    /// such a call fails with EFAULT otherwise; or, with all of them, if the heap has more changes than memory may hold, which are
    /// being written to the file at that moment (memory_options::dirty_limit_bytes), by the heap's own thread or another one. What was
    /// touched is not: it stays in memory until the next commit or rollback, and until then nobody who writes is held up. So
    /// what is touched for one commit must fit into memory.
    /// errc::invalid_argument when the range does not lie in this heap; errc::section_conflict with catch_stray_writes
    /// outside a write section. O(pages).
    void touch(const void* pointer, std::size_t bytes) const;

    /// Where memory may differ from the last commit: pages of 4 KiB that were written, by address, and perhaps a few of their
    /// neighbours. Nothing is compared, so this is cheap enough to be asked often; but with tracking::fallback it costs as much as
    /// the look for changes of a commit. Waits for write sections of other threads. O(pages that were written).
    [[nodiscard]] std::vector<std::span<const std::byte>> changed_ranges() const;

    /// Returns the number of the last commit, which may not be durable yet; 0 for a new heap. Once poisoned, of the last durable
    /// one. checkpoint() and close() add one when they give space back: that is a commit that changes no object.
    [[nodiscard]] std::uint64_t version() const;
    // With sharing::processes: what other processes do.

    /// Returns when a commit of this version, of any process, can be seen; false when that has not come within `longest`.
    [[nodiscard]] bool wait_for_version(std::uint64_t version, std::chrono::milliseconds longest) const;
    /// Processes in read sections, the one with the oldest version first. errc::invalid_argument for an exclusive heap. O(processes).
    [[nodiscard]] std::vector<heap_reader> readers() const;
    /// The process that is in a write section, if there is one: for who waits long for his turn. errc::invalid_argument likewise.
    [[nodiscard]] std::optional<heap_user> writer() const;

    /// Counters and gauges, taken in a read section. O(1); of a shared heap O(processes).
    [[nodiscard]] heap_stats stats() const;
    /// Reads everything: page checksums, log, allocator and roots; and in the roots that root() and find_root() have given the
    /// program since the heap was opened, what our containers (ordered, hash, string_pi, vector_pi) are made of, in aggregates and
    /// in each other, too: links that lead to no block, counts and keys that disagree. Of other objects it cannot tell what a
    /// program itself damaged. O(heap). Changes nothing, but carries out the checkpoint
    /// that is under way; errc::poisoned when that has failed, or the heap is poisoned for lack of memory. Nobody may change those
    /// containers outside of sections meanwhile. Of a heap that processes share it is a write section: errc::section_conflict in a read section of the same thread.
    [[nodiscard]] verify_report verify() const;
    /// Looks for pointers that leave the heap: to a stack, to malloc's memory, to code, constants
    /// and statics of the program, into another open heap. They would lead nowhere in the next process. For tests of types
    /// that have plain pointers, or are vouched for. Looks at aligned words that can hold a pointer by their type. Of objects without a
    /// description (classes that hide their members, what no root leads to, roots of C programs) it looks at every word, and takes it for a
    /// pointer by its value. There a number may be one, and bytes that were copied from a stack without ever being set; and, without
    /// the checking library (remanence::checked), bytes that an earlier block left in one that does not set all of its own. In a read section;
    /// nobody may change memory outside of sections meanwhile. O(heap).
    [[nodiscard]] pointer_report check_pointers() const;
    /// As it was given to open().
    [[nodiscard]] const std::filesystem::path& path() const;
    /// Whose heap the file says it is (check_options::application); empty when it does not say.
    [[nodiscard]] std::string application() const;
    /// Address of the heap's first byte, the same at every open, unless it is mapped elsewhere (open()).
    [[nodiscard]] void* base() const;

private:
    template <class Container>
    friend class file_backed;
    friend class in;
    friend detail::heap_impl& detail::impl_of(const heap& of);
    friend heap detail::open(os::file_system& files, const std::filesystem::path& path, const heap_options& options,
                             detail::opening mode);
    heap(const std::filesystem::path& path, const heap_options& options, detail::opening mode, std::string_view abi);
    heap(os::file_system& files, const std::filesystem::path& path, const heap_options& options, detail::opening mode,
         std::string_view abi, const txn::parts& has);
    void rebuild(std::string_view abi);

    template <class F>
    decltype(auto) write_in(detail::section_kind kind, std::optional<durability> until, F&& f) {
        using returned = std::invoke_result_t<F>;
        detail::heap_header* const outside = detail::default_heap();
        detail::write_section section(detail::checked(impl_), kind, until);
        if constexpr (std::is_void_v<returned>) {
            std::forward<F>(f)();
            section.commit();
        } else if constexpr (std::is_reference_v<returned>) {
            returned value = std::forward<F>(f)();
            section.commit();
            return static_cast<returned>(value);
        } else {
            returned value = detail::result_for<returned>(outside, std::forward<F>(f));
            section.commit();
            return value;
        }
    }
    template <class F>
    commit_ticket write_in_async(detail::section_kind kind, F&& f) {
        static_assert(std::is_void_v<std::invoke_result_t<F>>,
                      "write_async() returns a ticket, so what it runs must return nothing.");
        detail::write_section section(detail::checked(impl_), kind, {}, detail::section_place::outermost);
        std::forward<F>(f)();
        return section.commit_async();
    }

    [[nodiscard]] remanence::group group_unless_in_section(std::string_view name);

    std::unique_ptr<detail::heap_impl, detail::heap_impl_deleter> impl_;
};

/// While it lives, objects that this thread makes by default belong to this heap, as in a write section, but nothing is locked
/// and nothing committed: `const rem::in here(book);`. The innermost of such scopes and of the thread's write sections counts,
/// that is the one entered last. For programs that fill objects of the heap outside sections, where a default-made string
/// would belong to the program. To be destroyed by the thread that made it, before the heap is closed.
class [[nodiscard]] in {
public:
    /// Throws errc::closed, errc::read_only.
    explicit in(const heap& where);
    in(const in&) = delete;
    in& operator=(const in&) = delete;
    ~in() = default;

private:
    detail::default_heap_scope scope_;
};

/// See heap::savepoint(). It ends with the section, by whatever end, by a commit() or rollback() in it, and when the section goes back
/// to an earlier savepoint; its destructor ends it, too, and what was changed since stays. To be used by the thread whose section it
/// is.
class [[nodiscard]] savepoint {
public:
    savepoint(savepoint&& other) noexcept;
    savepoint& operator=(savepoint&& other) noexcept;
    ~savepoint();

    /// Memory becomes what it was, roots and allocator included; objects made since are gone without their destructors. This one
    /// goes on, later ones end. errc::invalid_argument when it has ended; errc::closed. O(pages that the section has written).
    void rollback();
    /// It ends, and later ones with it; changes stay.
    void release() noexcept;
    [[nodiscard]] bool is_open() const noexcept;

private:
    friend class heap;
    explicit savepoint(detail::heap_impl* of);
    [[nodiscard]] detail::heap_impl* impl() const noexcept;

    std::weak_ptr<detail::heap_impl*> impl_;
    std::uint64_t number_;
};

/// See heap::group(). May be moved, and ends with its destructor, from any thread; when the heap is closed before, nothing happens.
class [[nodiscard]] group {
public:
    group(group&& other) noexcept;
    group& operator=(group&& other) noexcept;
    ~group();
    /// Ends it.
    void end() noexcept;

private:
    friend class heap;
    group() = default;
    explicit group(std::weak_ptr<detail::heap_impl*> of) noexcept;

    std::weak_ptr<detail::heap_impl*> impl_;
};

template <class F>
decltype(auto) heap::write(std::string_view name, F&& f) {
    const remanence::group named = group_unless_in_section(name);
    return write_in(detail::section_kind::ordinary, {}, std::forward<F>(f));
}

/// The open heap that `pointer` lies in, or null. Valid until that heap is moved or closed. O(1).
[[nodiscard]] heap* heap_of(const void* pointer) noexcept;

} // namespace remanence
