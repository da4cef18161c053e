/// \file
/// A heap is a file that is mapped into memory. It contains ordinary C++ objects with plain pointers, which a program
/// finds there again in its next run. A *commit* makes all changes since the previous commit durable, all or none.
/// After a crash the heap holds exactly what the last durable commit left. Named objects, the *roots*, are the entry
/// points; everything else is reached from them.
///
///     #include <remanence/remanence.hpp>
///     namespace rem = remanence;
///     struct address { rem::string street, city; };
///
///     int main() {
///         rem::heap book = rem::heap::open("book.rem");                        // created when absent
///         auto& people = book.root<rem::map<rem::string, address>>("people"); // made once, found ever after
///         book.write([&] {
///             people["KNUTH"] = {"1 Art of Programming Street", "Stanford"};
///         }); // durable now; an exception would have rolled it back
///         for (const auto& [name, where] : people)
///             std::cout << name << ", " << where.city << '\n';
///     }
///
/// Threads. One open heap serves all threads of the process. heap::write() runs a function alone, in a *write section*,
/// and commits at its end. heap::read() runs functions concurrently, in *read sections*. Commits that several threads
/// make at the same time share one write to the device. A program that does its own locking may change an exclusive
/// heap outside of sections, and call heap::commit().
///
/// Errors. Functions throw `remanence::error`, whose reason() is an errc; "Errors: errc::x" below names the codes that
/// matter. Allocation throws std::bad_alloc, or heap_exhausted, which derives from it. error.hpp says in which state
/// each error leaves the heap.
///
/// Caveats:
/// 1. A heap has a fixed address. It is mapped where it was created; if another mapping is there, opening it fails
///    (errc::base_taken), unless memory_options::when_taken lets it move. A heap that holds only position-independent
///    types is then mapped elsewhere.
/// 2. One handle in one process can have a heap open; other opens fail (errc::in_use). Several processes can share a
///    heap if all of them open it with sharing::processes. Read and change a shared heap in sections only.
/// 3. A forked child cannot use its parent's heap (errc::closed). The child may destroy the handle, and may open a
///    shared heap itself.
/// 4. The compiler refuses types whose objects refer to something outside of the heap: virtual functions, references,
///    locks, std::string, std::function. It accepts plain pointers, but cannot see where they lead: check_pointers()
///    finds those that leave the heap.
/// 5. A default-constructed string or container belongs to the heap only in a write section, in a scope `in`, or in an
///    object that is constructed in the heap. Elsewhere it belongs to the program, and a commit that would store a
///    pointer to its memory throws errc::foreign_pointer.
/// 6. After a rollback, pointers to objects made since the last commit dangle. So do references that root() returned in
///    that section.
/// 7. A destructor, and close(), discard what is not committed (heap_options::commit_at_close commits it). A destructor
///    reports no errors.
/// 8. After a failed write or sync the heap is poisoned: it can be read, but accepts no commit until it is reopened or
///    rebuilt. A full disk is not such a failure: errc::no_space leaves memory as it is, and the commit may be
///    repeated.
/// 9. durability::lazy, durability::none and asynchronous commits return before they are on the device. A crash may
///    lose the last of them, but none that a durable commit has followed.
/// 10. A write section waits for all other sections to end. So a section must not wait for a thread that enters another
///     section. A write section within a read section of the same thread throws errc::section_conflict.
/// 11. A commit searches all memory in use for changes, except in declared sections (write(declared, f)) and with
///     tracking::trap. With tracking::trap, system calls that write into the heap (read(2)) fail with EFAULT, unless
///     touch() has declared the memory.
/// 12. Uncommitted changes stay in memory up to memory_options::dirty_limit_bytes. Beyond that, the heap writes them to
///     the file early; threads that write to the heap then wait in our SIGSEGV handler, and a thread that blocks
///     SIGSEGV is killed.
/// 13. Changed pages are held twice in memory until the next checkpoint. A file may be twice as large as its data.
/// 14. NAME-log, and NAME-history if there is one, belong to the heap. Copy or remove them together, and only while the
///     heap is closed; `rem copy` copies an open heap.
/// 15. A root whose struct has changed is refused (errc::type_mismatch) until the program migrates it. Changes of
///     classes that hide their members cannot be detected.
/// 16. A heap is trusted as the program's own memory is: do not open files of people whom you do not trust.
/// 17. x86-64 Linux and libstdc++ only. A heap works with the layout of the standard library that wrote it
///     (errc::abi_mismatch). The format is provisional: a later release may refuse today's files.
///
/// The guide is docs/guide/README.md; docs/errors.md has each error with its remedy. Thin templates over compiled code;
/// depends on the standard library only.
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

#include <atomic>
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

/// Selects a declared section: the caller of write(declared, f) promises that each change is made by Remanence's
/// allocator or containers, or is declared by touch().
struct declared_tag {
    explicit declared_tag() = default;
};
inline constexpr declared_tag declared{}; ///< the value to pass: heap.write(rem::declared, f)

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

/// How to open a heap. open_anywhere acts as open_or_create, but maps an existing heap elsewhere when its base address
/// is taken. It is for heaps that hold position-independent objects and nothing else.
enum class opening { open_or_create, create, open_existing, open_anywhere };

heap open(os::file_system& files, const std::filesystem::path& path, const heap_options& options,
          opening mode); // for tests: src/api/heap_impl.hpp

class heap_impl; // src/api/heap_impl.hpp
/// Returns the heap's implementation, for the C interface. Errors: errc::closed.
heap_impl& impl_of(const heap& of);

struct heap_impl_deleter {
    void operator()(heap_impl* impl) const noexcept;
};

/// Whether the commit of a write section searches for changes, or relies on declarations. The outermost section is
/// declared if it began so and no section nested in it is ordinary. A `joining` section has the kind of the outermost
/// section; if it is the outermost one, it is ordinary.
enum class section_kind { ordinary, declared, joining };
/// Whether a section may be nested in another one.
enum class section_place { anywhere, outermost };

/// A write section. Its destructor rolls it back unless commit() was called.
class write_section {
public:
    /// Enters the section. Without `until`, the heap's default durability holds. Throws what heap::lock() throws, and
    /// errc::section_conflict when the section is nested and `place` forbids that.
    write_section(heap_impl* impl, section_kind kind, std::optional<durability> until,
                  section_place place = section_place::anywhere);
    write_section(const write_section&) = delete;
    write_section& operator=(const write_section&) = delete;
    ~write_section();
    /// Ends the section; the outermost one commits. If that fails, rolls everything back, unless the heap is poisoned,
    /// and throws the reason.
    void commit();
    /// Ends the outermost section by an asynchronous commit: see heap::write_async().
    [[nodiscard]] commit_ticket commit_async();

private:
    heap_impl* impl_;
    durability how_;
};

/// A read section, from constructor to destructor.
class read_section {
public:
    explicit read_section(heap_impl* impl);
    read_section(const read_section&) = delete;
    read_section& operator=(const read_section&) = delete;
    ~read_section();

private:
    heap_impl* impl_;
};

/// Constructs an empty object at `place`. Its strings and containers allocate in the heap `of`.
using root_maker = void (*)(heap_header* of, void* place);
/// The functions of a root's type. `check` checks the structure of a root and is null if there is nothing to check;
/// `make` is null if the type has no default constructor.
struct root_functions {
    root_check check;
    root_maker make;
    bool is_asked_for = true; ///< false: the caller does not hand out a reference to the root
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

/// Returns the root's object, or null when there is none. This function, add_root() and erase_root() must be called
/// inside a section. From this call on, verify() checks the root's structure, and undo(), redo() and go_to() do not
/// remove the root. Errors: errc::type_mismatch.
void* find_root(heap_impl* impl, std::string_view name, const type_fingerprint& type, const root_functions& functions);
/// Adds a root. `is_alone` is what is_about_to_make_one() returned before the object was made.
void add_root(heap_impl* impl, std::string_view name, const type_fingerprint& type, void* object,
              const root_functions& functions, bool is_alone);
/// Returns true if the heap has a history and the outermost write section has changed nothing yet. If the section then
/// only makes a root, its commit is not a step of the user's history.
[[nodiscard]] bool is_about_to_make_one(heap_impl* impl);
void erase_root(heap_impl* impl, std::string_view name);
/// Returns the heap's header, for reading.
heap_header* header_of(heap_impl* impl);
/// Returns the heap's header, for changing the heap. Errors: errc::read_only.
heap_header* writable_header_of(heap_impl* impl);
/// In the checking library: ends the process with a message unless a block of at least `bytes` begins at `object`.
void refuse_if_destroyed(const heap_impl& impl, const void* object, std::size_t bytes) noexcept;
/// Returns the header for making an object that may hold addresses. Errors: errc::base_taken when the heap is mapped
/// elsewhere.
heap_header* header_at_own_base(heap_impl* impl, const std::type_info& type);
template <class T>
heap_header* header_for(heap_impl* impl) {
    if constexpr (is_position_independent_v<T>)
        return header_of(impl);
    else
        return header_at_own_base(impl, typeid(T));
}
/// Returns the handle's implementation. Errors: errc::closed when there is none.
heap_impl* checked(const std::unique_ptr<heap_impl, heap_impl_deleter>& impl);

/// True once this process has opened a heap with check_options::leak_frames.
extern std::atomic<bool> notes_types;
/// Notes the type of an object that begins a block, if the block's heap notes where blocks are allocated.
void note_type(const void* object, const std::type_info& type) noexcept;

/// Makes an object in memory that `where` allocates. Its strings and containers allocate in the same heap.
template <class T, class... Args>
T* make_by(allocator<T> where, Args&&... args) {
    const default_heap_scope parts_belong_here(where.heap());
    if constexpr (std::is_polymorphic_v<T>)
        note_objects_of<T>(where.heap());
    T* object = where.allocate(1);
    if (notes_types.load(std::memory_order_relaxed)) [[unlikely]]
        note_type(object, typeid(T));
    try {
        where.construct(object, std::forward<Args>(args)...);
    } catch (...) {
        where.deallocate(object, 1);
        throw;
    }
    return object;
}

} // namespace detail

/// An open heap. Move-only. Once it is closed or moved from, every member but the destructor, is_open() and assignment
/// throws errc::closed. Several threads may call members at once, except close(), rebuild(), moves and the destructor.
///
/// The memory of an exclusive heap may be changed at any time between commits, with the program's own locking. Sections
/// are a reader-writer lock among the threads of the process; write sections commit, or roll back, at their end.
///
/// Change the memory of a shared heap in write sections, and read it in sections. Outside of sections the memory shows
/// no particular version. If it was changed outside of write sections, the next call that enters a write section undoes
/// these changes and throws errc::outside_section. Calls that enter a write section also throw errc::poisoned when a
/// write or sync of another process has failed. Commits also throw errc::readers_behind, when the redo log is too long
/// because stopped processes prevent its reuse.
class heap {
public:
    /// Opens the heap at `path`, and creates it when there is no file. After a crash, open() recovers the last durable
    /// commit. A new heap is durable once this returns.
    ///
    /// The heap is mapped at the address where it was created. If that address is taken, open() maps the heap
    /// elsewhere, provided that all its roots were `position_independent` in the program that made them; until the heap
    /// is closed, objects of other types can be neither found nor made in it. For any other heap, open() throws
    /// errc::base_taken.
    ///
    /// Errors: errc::in_use, errc::base_taken, errc::corrupt and others that docs/errors.md lists under opening; none
    /// of them loses committed data. Complexity: independent of the heap's size; recovery is bounded by the log limit.
    static heap open(const std::filesystem::path& path, const heap_options& options = {}) {
        return heap(path, options, detail::opening::open_or_create, detail::k_abi);
    }
    /// Creates the heap. The empty heap is durable once this returns. Errors: errc::exists when there is a file;
    /// otherwise as open().
    static heap create(const std::filesystem::path& path, const heap_options& options = {}) {
        return heap(path, options, detail::opening::create, detail::k_abi);
    }
    /// Opens an existing heap. Errors: errc::not_found when there is none; otherwise as open().
    static heap open_existing(const std::filesystem::path& path, const heap_options& options = {}) {
        return heap(path, options, detail::opening::open_existing, detail::k_abi);
    }

    heap(heap&& other) noexcept; ///< Takes over the open heap. Pointers into it stay valid.
    /// Closes the heap held so far, as the destructor does, and takes over the other one.
    heap& operator=(heap&& other) noexcept;
    /// Discards uncommitted changes (or commits them, with heap_options::commit_at_close), applies the log and closes
    /// the heap. The destructor reports no failures; close() does. Nothing durable is lost either way.
    ///
    /// Even with commit_at_close, the destructor discards uncommitted changes when memory may contain half of a change:
    /// while a section of this thread is open, or when stack unwinding destroys the heap after an exception that was
    /// thrown after the heap was made or moved there (std::uncaught_exceptions()).
    ///
    /// The destructor does nothing at all while another thread is in a section, or waits for a section or for the
    /// device, or when exit() was called in a section of this thread. Memory then stays mapped, and the files stay as a
    /// crash leaves them, locked until the process ends. The next open recovers the last commit.
    ///
    /// Once the destructor has begun, every use of this handle throws errc::closed. An open section of this thread is
    /// rolled back, and the write() or write_async() that runs it throws errc::closed at its end. In the main thread,
    /// while the process ends, memory stays mapped for threads that still run.
    ~heap();

    /// Closes the heap as the destructor does, but reports failures. close() and the destructor wait until asynchronous
    /// commits are durable, finish a running checkpoint, and give space back as checkpoint() does, if anything was
    /// committed.
    ///
    /// Errors that leave the heap open, with every change still in memory: errc::section_open while a section is open
    /// or another thread's commit waits for the device; with commit_at_close, what prevents the final commit
    /// (errc::no_space, another limit, a missing permission, errc::foreign_pointer as in commit()); errc::no_space if
    /// the last commit_async() failed with it, unless a later commit has included its changes.
    ///
    /// After any other error the heap is closed. errc::unlinked: the file was removed or replaced, and its commits are
    /// lost with it. errc::log_foreign: all commits are in the file, but another heap's log lies beside it and prevents
    /// the next open.
    void close();
    /// Returns false once the heap is closed or moved from.
    [[nodiscard]] bool is_open() const noexcept { return impl_ != nullptr; }

    /// Makes every change since the last commit durable, atomically. In a declared section this includes changes that
    /// are not declared. Waits for the sections of other threads to end.
    ///
    /// Durability: durable once this returns, with all earlier commits, unless heap_options::commits asks for less.
    /// While the call waits for the device, other threads may enter sections, so commits of several threads share one
    /// write. Other threads may see, and build on, changes that are not durable yet. If the write fails, all commits
    /// that were not durable fail.
    ///
    /// Errors, with memory and changes kept and nothing written: errc::no_space (call again when there is space);
    /// errc::corrupt (a page of the file is damaged); errc::rolled_back (a nested section failed: the outermost one
    /// rolls back at its end); errc::unlinked (the heap's file or its log was removed or replaced; renaming the heap
    /// does no harm); errc::foreign_pointer (in a commit outside of write sections: a string or container in the heap
    /// was default-constructed outside of them, so its memory is in no heap; the checking library checks all pointers);
    /// errc::read_only; errc::section_conflict in a read section. After errc::io the heap is poisoned, and every later
    /// commit throws errc::poisoned until the heap is reopened or rebuilt.
    ///
    /// Complexity: O(changed pages), plus a search of resident memory unless tracking::trap is used.
    void commit();
    /// Commits as commit() does, with the durability `until`.
    void commit(durability until);
    /// Commits memory as it is now, without waiting for the device. Memory may be changed again once this returns. The
    /// commit becomes durable without further calls; the ticket can wait for that, or tell whether it is durable.
    ///
    /// Errors that prevent the commit at once are thrown here, as by commit(), and no ticket is returned. A later
    /// failure poisons the heap: the tickets of all commits that are not durable yet report it, and so does the next
    /// commit or close().
    ///
    /// If 1 MiB of pages or more were written, this call only copies them, and a thread of the heap compares the copies
    /// later. Then errc::no_space (the changes need more of the log than usual), errc::corrupt and std::bad_alloc are
    /// reported by the ticket alone. A commit that fails in this way has not happened, nor have later ones that were
    /// copied by then: the heap stays usable, the next commit includes their changes, and rollback() undoes them too.
    /// The next commit of another kind, rollback(), sync() and close() wait for the comparison, or do it themselves.
    /// The next commit_async() does not, unless the copies together would take more than twice the heap's size (at
    /// least 64 MiB) or an eighth of memory, or there are 64; heap_stats::point_wait says how long commits waited. With
    /// a history, commit_async() compares the pages itself, as commit() does, and only does not wait for the device.
    ///
    /// commit_async() itself writes bulk data and large amounts of new memory, and begins a checkpoint that is due (see
    /// durability::none). All else is written by a thread that the heap starts with the first asynchronous commit; if
    /// no thread can be started, commit_async() writes it.
    [[nodiscard]] commit_ticket commit_async();
    /// Makes all commits before the call durable, whatever durability they had. Does not wait for sections. Errors:
    /// errc::io poisons the heap; errc::poisoned. If the last commit_async() alone has failed, this call makes all else
    /// durable and then throws the error of that commit, unless a later commit has included its changes.
    void sync();
    /// Restores memory to the last commit, allocator and roots included. Pointers to objects made since then dangle.
    /// Writes nothing. Waits for the sections of other threads to end. Errors: errc::corrupt or errc::io when the
    /// committed content cannot be read (the heap is poisoned then); errc::poisoned; errc::section_conflict.
    /// Complexity: as commit().
    void rollback();
    /// Drops all memory and reads the last commit again from file and log, as opening after a crash does. For use when
    /// rollback() failed, or memory cannot be trusted.
    ///
    /// First makes all commits durable. A poisoned heap accepts commits again afterwards; it then holds what opening it
    /// again would find: all durable commits, perhaps more. Committed objects keep their addresses. Pointers to
    /// uncommitted objects dangle, and strings and containers outside of the heap that have memory in it must not be
    /// used again. Threads that wait for a commit ticket get its result.
    ///
    /// No other thread may use the heap meanwhile, as with close(). Errors after which nothing was done:
    /// errc::section_open while a section is open or another thread's commit waits for the device;
    /// errc::invalid_argument with sharing::processes, or when the heap is mapped elsewhere; errc::unlinked when its
    /// file is no longer at path(); errc::no_step when the heap is an old version that was dropped; what sync() throws,
    /// except errc::poisoned. After any other error, one of those of open_existing(), the heap is closed. Complexity:
    /// as opening.
    void rebuild() { rebuild(detail::k_abi); }
    /// Applies the log to the heap's file, so that the log's space can be used again. Commits begin checkpoints by
    /// themselves (log_options::log_limit_bytes); a program calls this only to choose the moment, or to give space
    /// back. Uncommitted changes stay uncommitted. If there are no uncommitted changes, chunks without an allocated
    /// byte are given back to the file system: they become holes, and the file ends behind the last chunk in use.
    ///
    /// Waits for the sections of other threads, and for the running checkpoint. Changes the durability of no commit.
    /// Does nothing before the first commit since the heap was opened. Errors: errc::io poisons the heap;
    /// errc::poisoned, errc::read_only, errc::section_conflict. Complexity: O(pages committed since the last
    /// checkpoint); when space is given back, also the cost of commit() and O(pages given back).
    void checkpoint();
    /// Makes the heap's file as short as what it holds permits: a checkpoint(), after which the file also loses what it
    /// keeps for parts of the heap that hold nothing any more. Returns by how many bytes it became shorter. What lies
    /// behind the last chunk in use goes; chunks before it become holes. close() does the same, but keeps the part of the
    /// heap that served the last small blocks, even if they were freed; this call makes a commit to give it back.
    ///
    /// Errors: those of checkpoint(); errc::uncommitted when memory has changes that are not committed;
    /// errc::not_supported when processes share the heap, which becomes shorter when the last of them closes it, or with
    /// a history, since an undo may need what is free now. Then nothing has changed. Complexity: as checkpoint().
    std::uint64_t shrink();

    /// Runs `f` in a write section and returns its result. Commits at the end, rolls back when `f` throws. Waits for
    /// the sections of other threads.
    ///
    /// Strings and containers that `f` default-constructs belong to the heap. Strings and containers in the result of
    /// `f` are made again, so that they belong to the same heap (or to none) as those that the caller constructs. They
    /// are moved if the library can find them through the members of the result's type; otherwise the whole result is
    /// copied. A result that cannot be copied is returned as it is, and what its pointers lead to is not copied.
    ///
    /// A nested write section joins the outermost one. If an exception leaves a nested section, the outermost one rolls
    /// back; if the exception was caught on the way, the outermost section throws errc::rolled_back at its end.
    ///
    /// Durability: durable once the outermost write() returns, as after commit(). Errors: what `f` and commit() throw,
    /// with memory rolled back unless the heap is poisoned; errc::section_conflict inside a read section of the same
    /// thread.
    template <class F>
    decltype(auto) write(F&& f) {
        return write_in(detail::section_kind::ordinary, {}, std::forward<F>(f));
    }
    /// Runs `f` in a write section whose commit has the durability `until`. The durability of a nested section has no
    /// effect.
    template <class F>
    decltype(auto) write(durability until, F&& f) {
        return write_in(detail::section_kind::ordinary, until, std::forward<F>(f));
    }
    /// Runs `f` in a write section, and gives the name to the step that its commit adds to the history
    /// (heap_options::history), unless the section is nested in another one or in a group.
    template <class F>
    decltype(auto) write(std::string_view name, F&& f);
    /// Runs `f` in a declared section: the commit includes only what is declared and searches for no other changes. It
    /// costs O(pages declared), in a heap of any size, with every tracker. The following is declared:
    /// - what touch() names, in whole pages of 4 KiB;
    /// - each block that is allocated in the section, by a container, make() or root(), in whole pages;
    /// - what Remanence's containers change, in words of 8 bytes; and what the allocator and the root directory change.
    ///
    /// `f` must declare every other change by touch() before making it: members and elements of objects that existed
    /// before, and what std:: containers change in existing nodes, the links in neighbours included.
    ///
    /// A change that is not declared, or that was made outside of sections before and not committed, stays in memory
    /// uncommitted. The next commit of an ordinary section includes it; a crash before that loses this change and
    /// nothing else. In a shared heap the next call that enters a write section undoes it instead and throws
    /// errc::outside_section. The checking library (remanence::checked) looks for such changes, rolls everything back and throws
    /// errc::undeclared_change. When `f` throws, everything is rolled back, declared or not.
    ///
    /// A declared section that is nested in an ordinary one is ordinary. An ordinary section nested in a declared one
    /// makes the outermost section ordinary. Allocations and frees that were made before the section and are not
    /// committed also make it ordinary.
    template <class F>
    decltype(auto) write(declared_tag, F&& f) {
        return write_in(detail::section_kind::declared, {}, std::forward<F>(f));
    }
    /// Runs `f` in a declared section whose commit has the durability `until`.
    template <class F>
    decltype(auto) write(declared_tag, durability until, F&& f) {
        return write_in(detail::section_kind::declared, until, std::forward<F>(f));
    }
    /// Runs `f`, which returns nothing, in a write section that ends in an asynchronous commit, as by commit_async().
    /// The caller may wait for the ticket, query it, or drop it. Errors: as write(f); errc::section_conflict, before
    /// `f` is called, inside a write section of the same thread, since only the outermost section commits.
    template <class F>
    [[nodiscard]] commit_ticket write_async(F&& f) {
        return write_in_async(detail::section_kind::ordinary, std::forward<F>(f));
    }
    /// Runs `f` in a declared section that ends in an asynchronous commit.
    template <class F>
    [[nodiscard]] commit_ticket write_async(declared_tag, F&& f) {
        return write_in_async(detail::section_kind::declared, std::forward<F>(f));
    }
    /// Runs `f` in a read section and returns its result. Other read sections run at the same time; write sections
    /// wait. Readers that arrive while a writer waits queue behind the writer, so a section must not wait for a thread
    /// that enters another section. Inside a write section of the same thread, the read section joins that section.
    /// Throws what `f` throws.
    template <class F>
    decltype(auto) read(F&& f) const {
        detail::read_section section(detail::checked(impl_));
        return std::forward<F>(f)();
    }

    // The requirements Lockable and SharedLockable, so that std::unique_lock and std::shared_lock can enter and end
    // sections.

    /// Enters a write section; waits for other sections. From now on until unlock(), pthread_cancel() does not end this
    /// thread. Errors: errc::section_conflict inside a read section of the same thread.
    void lock();
    /// Enters a write section without waiting. Returns false when another thread is in a section, another process is in
    /// a write section of a shared heap, or this thread is in a read section.
    [[nodiscard]] bool try_lock();
    /// Enters a write section; returns false if that is not possible until `deadline`. Otherwise as lock().
    [[nodiscard]] bool try_lock_until(std::chrono::steady_clock::time_point deadline);
    /// Enters a write section; returns false if that is not possible within `longest`. Otherwise as lock().
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& longest) {
        using clock = std::chrono::steady_clock;
        if (std::chrono::duration<double>(longest) >
            std::chrono::hours(24 * 365 * 100)) // it may not fit into clock::duration
            return try_lock_until(clock::time_point::max());
        return try_lock_until(longest > longest.zero() ? clock::now() + std::chrono::ceil<clock::duration>(longest)
                                                       : clock::time_point::min());
    }
    /// Ends the write section. The outermost one commits, as the end of write() does; but if an exception runs this
    /// call, it rolls back.
    ///
    /// If the commit fails, the section is rolled back, unless the heap is poisoned. The failure is said on standard
    /// error, reported to check_options::on_discard, and thrown by the next call of the same thread on this heap. If the
    /// thread holds no lock, that next call throws errc::section_conflict. To see failures at once, call commit() before.
    /// pthread_exit() in the section counts as a return: its changes are committed.
    void unlock() noexcept;
    /// Enters a read section, as read() does.
    void lock_shared();
    /// Enters a read section without waiting. Returns false when another thread is in a write section or waits for one,
    /// and occasionally when another thread is just entering a section.
    [[nodiscard]] bool try_lock_shared();
    /// Ends the read section.
    void unlock_shared() noexcept;

    /// Returns the object named `name`; constructs it from `args` (uses-allocator construction) when there is none. A
    /// type that is not `persistable` does not compile. Outside of a section this commits the creation; without `args`
    /// that commit is not a step of the history. Inside a section, a rollback of the section undoes the creation, and
    /// the reference then dangles.
    ///
    /// Errors: errc::type_mismatch, naming both types or the member that differs; errc::unnameable_type for local types
    /// and those of anonymous namespaces; errc::corrupt when the directory of roots is damaged; errc::base_taken when
    /// the heap is mapped elsewhere (open()) and T is not `position_independent`; what write() and T's constructor
    /// throw. Complexity: O(log roots) when the root exists.
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
    /// Returns the object named `name`, or null. Errors: errc::type_mismatch, errc::corrupt, errc::base_taken as
    /// root(). O(log roots).
    template <class T>
    [[nodiscard]] T* find_root(std::string_view name) const {
        detail::read_section section(detail::checked(impl_));
        return static_cast<T*>(detail::find_root(detail::checked(impl_), name, detail::fingerprint_of<T>(),
                                                 detail::functions_of_root<T>()));
    }
    /// Destroys the object named `name`; returns false when there is none. Outside of a section it commits. Throws what
    /// find_root() and write() throw.
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
    /// Returns all roots, by name. Runs in a read section. Errors: errc::corrupt when the directory of roots is
    /// damaged.
    [[nodiscard]] std::vector<root_info> roots() const;

    /// Makes an object in this heap by uses-allocator construction. Plain pointers may lead to it. A type that is not
    /// `persistable` does not compile. Like all changes, the object lasts only if it is committed. Errors:
    /// errc::base_taken as root(); std::bad_alloc, heap_exhausted; what T's constructor throws.
    template <class T, class... Args>
    [[nodiscard]] T* make(Args&&... args) {
        detail::require_persistable<T>();
        return detail::make_by(allocator<T>(detail::header_for<T>(detail::checked(impl_))),
                               std::forward<Args>(args)...);
    }
    /// Destroys what make() made, and frees its memory. Null is allowed. A pointer to a base is allowed if the base has a
    /// virtual destructor. Errors: errc::read_only, before anything is done. The checking library ends the process with a
    /// message when no block for such an object begins there.
    template <class T>
    void destroy(T* object) {
        if (object == nullptr)
            return;
        detail::heap_header* const where = detail::writable_header_of(detail::checked(impl_));
        if constexpr (std::has_virtual_destructor_v<T>) {
            void* const whole = const_cast<void*>(dynamic_cast<const void*>(object)); // NOLINT: its own memory
            detail::refuse_if_destroyed(*impl_, whole, sizeof(T));
            std::destroy_at(object);
            detail::free_object(whole);
        } else {
            detail::refuse_if_destroyed(*impl_, object, sizeof(T));
            std::destroy_at(object);
            allocator<T>(where).deallocate(object, 1);
        }
    }
    /// Returns an allocator of this heap.
    template <class T = std::byte>
    [[nodiscard]] allocator<T> get_allocator() const {
        return allocator<T>(detail::header_of(detail::checked(impl_)));
    }

    /// Makes a savepoint in this thread's write section: all memory of the heap can go back to this moment. If an
    /// exception then leaves a nested section, memory is restored to the last savepoint that was made around that
    /// section, and the outer section may continue once the exception is caught. From here on a declared section
    /// searches for changes, as an ordinary one does. While a savepoint is open, nothing is spilled: what the section
    /// writes must fit into memory. The savepoint writes nothing to the file. Errors: errc::outside_section when the
    /// thread is in no write section; errc::poisoned; heap_exhausted when part of the changes was spilled already;
    /// std::bad_alloc. O(pages that the section has written), in time and memory.
    [[nodiscard]] remanence::savepoint savepoint();

    // The history. With heap_options::history, commits can be undone and redone. undo(), redo() and go_to() are atomic
    // commits of their own, as durable as heap_options::commits says, so version() grows. They wait for the sections of
    // other threads.
    //
    // Roots and allocations are restored with all else: pointers to objects made since then dangle, and destroyed
    // objects exist again. But a root that the program has obtained from root() or find_root() stays the same object
    // until the heap is closed; if the older state has no such root, the object becomes empty. Where that is
    // impossible, or another process may have a reference to the root, the call throws errc::in_use.
    //
    // Errors of all three, with memory as before: errc::section_open when the thread is in a section or a group is
    // open; errc::uncommitted when memory has changes that are not committed; errc::no_step when no step leads there;
    // errc::invalid_argument without a history; what commit() throws. Complexity: O(bytes of the steps), and that of
    // commit().

    /// Restores memory to what it was before the last `steps` steps. A step is a commit since the heap was opened, or a
    /// group of commits. The undo is itself an atomic commit. Errors: errc::section_open, errc::uncommitted,
    /// errc::no_step, errc::in_use, errc::invalid_argument without a history, and those of commit(). O(bytes of the
    /// steps), and as commit().
    void undo(std::uint64_t steps = 1);
    /// Restores memory to what it was before the last `steps` steps were undone. A commit after an undo begins a
    /// branch. From there the undone steps cannot be redone: redo() throws errc::no_step, with a message that names the
    /// version to which go_to() leads. Otherwise as undo().
    void redo(std::uint64_t steps = 1);
    /// Restores memory to what it was at `version`: after a step of history(), or after the last commit, undo or redo
    /// that led to that version. From there undo() leads to earlier states; redo() leads towards the state that memory
    /// was in before, if that state comes after this version. Otherwise as undo().
    void go_to(std::uint64_t version);
    /// Returns how many steps undo() can undo; 0 without a history. Runs in a read section, as do redo_depth() and
    /// history(). O(1).
    [[nodiscard]] std::uint64_t undo_depth() const;
    /// Returns how many steps redo() can redo. O(these steps).
    [[nodiscard]] std::uint64_t redo_depth() const;
    /// Returns all states that can be reached, by version: the oldest, and the state after each step. Empty without a
    /// history. O(steps).
    [[nodiscard]] std::vector<history_step> history() const;
    /// Begins a group: until the returned object is destroyed, the commits of all threads are one step of the history,
    /// with the name `name`. Each commit is atomic and durable by itself, and undo() undoes all of them together.
    /// Within a group, undo(), redo() and go_to() throw errc::section_open. A group within a group is part of the outer
    /// one. Without a history nothing happens. Errors: errc::section_open when the thread is in a section.
    [[nodiscard]] remanence::group group(std::string_view name);
    /// Drops all steps. What is committed stays; earlier states can no longer be reached, except kept versions. Errors:
    /// errc::section_open as undo(). If the history is kept over sessions, this is a durable commit, and throws what
    /// commit() does.
    void forget_history();
    /// Returns one sentence that says why a history kept over sessions (history_options::kept_over_sessions) has no
    /// steps of earlier sessions: its file was absent, damaged, or another heap's; or, while the heap was open, the
    /// file was removed or could not be renamed with the heap, so that all steps are in a new file. Empty when the
    /// history continues. Runs in a read section.
    [[nodiscard]] std::string why_history_is_new() const;
    /// Runs a procedure of heap_options::procedures in a write section of its own. The commit of that section is a step
    /// of the history, with the procedure's name. If the call (name and parameters) is smaller than the bytes that it
    /// changes, the step stores the call: undo() then calls the inverse, redo() calls the procedure, and both commit
    /// the result. So a procedure must only write blocks that exist, must write them the same way each time, and must
    /// depend on nothing but memory and parameters. The step stores the changed bytes, as other steps do, in each of
    /// these cases: the procedure has no inverse; it allocates or frees memory of the heap; memory had uncommitted
    /// changes; versions are kept.
    ///
    /// After undo() of a call, memory is as the inverse left it. If an earlier step that stores bytes is then undone,
    /// exactly these bytes are restored, and all others stay as the inverse left them.
    ///
    /// Errors, with memory as before: errc::no_procedure when no procedure has this name; errc::section_open when the
    /// thread is in a section; what the procedure and write() throw. undo() and its like throw errc::no_procedure also
    /// when the inverse is missing, or commits, rolls back, allocates or frees; what the inverse throws; and
    /// errc::no_step when versions are kept and there are other steps besides the call on the path to the wanted state.
    /// diff() and branch() throw errc::no_step when a step that stores a call is on the path to the version.
    void call(std::string_view name, std::span<const std::byte> parameters);
    /// Runs a procedure without parameters.
    void call(std::string_view name) { call(name, std::span<const std::byte>()); }
    /// Runs a procedure with one value as parameters, which is copied byte by byte.
    template <detail::procedure_parameters T>
    void call(std::string_view name, const T& parameters) {
        call(name, std::as_bytes(std::span<const T, 1>(&parameters, 1)));
    }
    /// Combines the last `steps` steps into one, named after the last of them that has a name. undo() then undoes all
    /// of them at once. The heap's contents stay as they are. Errors: errc::no_step when there are fewer steps;
    /// errc::invalid_argument when a version among them is kept, another branch begins there, or there is no history;
    /// errc::section_open as undo(). O(bytes of these steps).
    void squash(std::uint64_t steps);

    // Kept versions. No limit of the history drops a kept version, and kept versions do not count towards the limits.
    // They store only what has changed since, each byte once. All of the following functions but versions() wait for
    // the sections of other threads. Errors of all: errc::section_open and errc::invalid_argument as undo();
    // errc::no_step when no version with the given number or name is kept. If the history is kept over sessions,
    // keep(), drop() and squash() are durable commits that change no object, and throw what commit() does.

    /// Keeps the version of the last commit under the name `name`, and returns its number in history(). The kept
    /// version does not include uncommitted changes. Errors: errc::exists when another version has this name, or the
    /// version is kept under another name; errc::invalid_argument when the name is empty or there is no history;
    /// errc::section_open.
    std::uint64_t keep(std::string_view name);
    /// Returns all kept versions, by number. Runs in a read section. O(steps).
    [[nodiscard]] std::vector<kept_version> versions() const;
    /// Restores memory to a kept version, by a commit, as go_to() does. Errors: errc::no_step when it is not kept;
    /// those of undo().
    void restore(std::uint64_t version);
    void restore(std::string_view name); ///< Restores the version that is kept under this name.
    /// Ends the keeping of a version. The version is then an ordinary step again, which the limits may drop. Errors:
    /// errc::no_step when it is not kept; errc::section_open. O(bytes of the steps around it).
    void drop(std::uint64_t version);
    void drop(std::string_view name); ///< Drops the version that is kept under this name.
    /// Makes a separate heap at `path` from a version that is kept or in history(). The new heap is closed; it has the
    /// roots, schema and application of that version, and no history. It does not include uncommitted changes. The file
    /// appears complete or not at all, and is durable once this returns. Until then, and after a crash until the next
    /// call, a file NAME-branch-unfinished lies beside it, perhaps with -new or -log behind the name. Errors, after
    /// which there is no new heap: errc::exists when there is a file, or a log of one; errc::no_space, errc::corrupt,
    /// errc::io. O(file).
    void branch(std::uint64_t version, const std::filesystem::path& path);
    /// Returns what differs between two versions that are kept or in history(). Reads the file and changes nothing.
    /// Errors: errc::corrupt when a page of the file is damaged. O(bytes that differ, blocks, and what the roots lead
    /// to).
    [[nodiscard]] version_difference diff(std::uint64_t before, std::uint64_t after) const;

    /// Declares that [pointer, pointer + bytes) is about to be written. The declaration is valid until the next commit
    /// or rollback. In a declared section, only declared changes become part of the commit; a declaration made before
    /// the section began has no effect there.
    ///
    /// Outside of declared sections, only system calls that write into the heap need touch() (for example read(2) into
    /// a buffer). Without touch() they fail with EFAULT if tracking::trap is used; with any tracker they fail while the
    /// heap spills because it has more changes than memory_options::dirty_limit_bytes. Touched memory is not spilled,
    /// so all that is touched for one commit must fit into memory. From touch() until that commit, no thread waits for
    /// a spill.
    ///
    /// Errors: errc::invalid_argument when the range is not in this heap; errc::section_conflict with
    /// check_options::catch_stray_writes outside of a write section. O(pages).
    void touch(const void* pointer, std::size_t bytes) const;

    /// Returns where memory may differ from the last commit: pages of 4 KiB that were written, by address, and perhaps
    /// others, mainly near pages that are written between any two commits. Compares nothing, so it is cheap; but with
    /// tracking::fallback it costs as much as a commit's search for changes. Waits for write sections of other threads.
    /// O(pages that were written).
    [[nodiscard]] std::vector<std::span<const std::byte>> changed_ranges() const;

    /// Returns the number of the last commit, which may not be durable yet; 0 for a new heap. When the heap is
    /// poisoned, returns the number of the last durable commit. checkpoint() and close() increase the number by one
    /// when they give space back, because they log this as a commit, which changes no object.
    [[nodiscard]] std::uint64_t version() const;

    // With sharing::processes: what other processes do.

    /// Waits until this process can see a commit with at least this version number, made by any process. Returns false
    /// if that takes more than `longest`.
    [[nodiscard]] bool wait_for_version(std::uint64_t version, std::chrono::milliseconds longest) const;
    /// Returns a descriptor for poll(), select() or epoll. It is readable while another process has made a commit that
    /// this process has not seen; the next section of any thread here sees it. So an event loop waits for the descriptor,
    /// and then enters a section. The first call starts a thread; later calls return the same descriptor.
    ///
    /// Do not read from the descriptor or close it; it is closed with the heap. Errors:
    /// errc::invalid_argument for an exclusive heap; errc::no_space when no descriptor is left; errc::no_memory when no
    /// thread can be started; what read() throws.
    [[nodiscard]] int poll_descriptor() const;
    /// Returns the processes in read sections, the one with the oldest version first. Errors: errc::invalid_argument
    /// for an exclusive heap. O(processes).
    [[nodiscard]] std::vector<heap_reader> readers() const;
    /// Returns the process that is in a write section, if there is one. A caller that waits long for the writer lock
    /// can thus report who holds the lock. Errors: errc::invalid_argument for an exclusive heap.
    [[nodiscard]] std::optional<heap_user> writer() const;

    /// Returns counters and gauges. Runs in a read section. O(1); for a shared heap O(processes).
    [[nodiscard]] heap_stats stats() const;
    /// Reads everything and reports what is wrong: page checksums, log, allocator and roots. In roots that the program
    /// has obtained from root() or find_root() since the heap was opened, it also checks the structure of our
    /// containers (ordered, hash, string_pi, vector_pi), nested ones too: links that lead to no block, counts and keys
    /// that disagree. It cannot detect damage that the program itself did to other objects.
    ///
    /// Changes nothing, but finishes a running checkpoint. No thread may change those containers outside of sections
    /// meanwhile. On a shared heap it runs in a write section. Errors: errc::poisoned when that checkpoint has failed,
    /// or memory ran out in a commit; errc::section_conflict on a shared heap, in a read section of the same thread.
    /// O(heap).
    [[nodiscard]] verify_report verify() const;
    /// Looks for pointers that leave the heap: to a stack, to malloc's memory, to code, constants and statics of the
    /// program, into another open heap. Such pointers would dangle in the next process. Meant for tests of types that
    /// have plain pointers, or are vouched for.
    ///
    /// It checks those aligned words that can contain a pointer by their type. For some objects the heap knows no type:
    /// classes that hide their members, objects that no root leads to, roots of C programs. There it checks every word
    /// by its value, so it may report a word that is no pointer: a number; uninitialised bytes copied from a stack;
    /// and, without the checking library (remanence::checked), bytes that an earlier block left behind. Runs in a read
    /// section; no thread may change memory outside of sections meanwhile. O(heap).
    [[nodiscard]] pointer_report check_pointers() const;
    /// Returns the blocks that no root reaches, by size; with check_options::leak_frames also by the type of objects
    /// that make() made, and by the place that allocated them. Frees nothing. Looks at memory as it is, uncommitted
    /// changes included, and works in a read-only heap.
    ///
    /// It follows members, containers and pointers by their types. Where these do not tell everything (classes that hide
    /// their members, arrays that a plain pointer leads to, objects of derived classes, storage for objects that the
    /// program makes in place, undescribed roots of C), any eight bytes count as a pointer if their value leads into a
    /// block, so a few leaked blocks may be missing from the report. Blocks to which only tagged, compressed or combined
    /// addresses lead, or numbers, are reported.
    ///
    /// Runs in a read section; no thread may change memory outside of sections meanwhile. Errors: errc::corrupt when
    /// the directory of roots, a schema, or an object that a root contains is damaged. O(heap), in time; memory
    /// O(blocks).
    [[nodiscard]] leak_report leaks() const;
    /// Frees the blocks that leaks() finds, in one write section, and returns what it has freed. Runs no destructors.
    /// The section is a step of the history, like any other. collector.hpp does it in steps, while the program goes on.
    ///
    /// What only a variable of a program points at is freed, too; so no thread and no other process may rely on such
    /// objects. The same holds for objects to which only tagged, compressed or combined addresses lead, or numbers.
    ///
    /// Errors: those of leaks(), and errc::not_supported, with nothing freed, if roots can lead to a class that may have
    /// members which the heap does not know, or to a pointer without a type: the message names it. O(heap).
    leak_report collect();
    /// Returns the path as it was given to open().
    [[nodiscard]] const std::filesystem::path& path() const;
    /// Returns the application that the file records (check_options::application); empty when it records none.
    [[nodiscard]] std::string application() const;
    /// Returns the address of the heap's first byte. It is the same at every open, unless the heap is mapped elsewhere
    /// (open()).
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

/// While such a scope exists, strings and containers that this thread default-constructs allocate in the heap, as in a
/// write section, but without a lock or a commit: `const rem::in here(book);`. If scopes and write sections are nested,
/// the innermost counts. It is for programs that fill objects of the heap outside of sections, where a
/// default-constructed string would belong to the program. The scope must be destroyed by the thread that made it,
/// before the heap is closed.
class [[nodiscard]] in {
public:
    /// Errors: errc::closed, errc::read_only.
    explicit in(const heap& where);
    in(const in&) = delete;
    in& operator=(const in&) = delete;
    ~in() = default;

private:
    detail::default_heap_scope scope_;
};

/// A moment of a write section to which memory can go back: see heap::savepoint(). It ends with the section, with a
/// commit() or rollback() in that section, when the section goes back to an earlier savepoint, and with its destructor,
/// which keeps the changes. It must be used only by the thread of the section.
class [[nodiscard]] savepoint {
public:
    savepoint(savepoint&& other) noexcept;            ///< Takes over the savepoint.
    savepoint& operator=(savepoint&& other) noexcept; ///< Ends its own savepoint and takes over the other one.
    ~savepoint();

    /// Restores memory to that moment, roots and allocator included. Objects made since are gone, and their destructors
    /// do not run. This savepoint stays open, later ones end. Errors: errc::invalid_argument when it has ended;
    /// errc::closed. O(pages that the section has written).
    void rollback();
    /// Ends this savepoint and later ones. Changes stay.
    void release() noexcept;
    [[nodiscard]] bool is_open() const noexcept; ///< Returns false once the savepoint has ended.

private:
    friend class heap;
    explicit savepoint(detail::heap_impl* of);
    [[nodiscard]] detail::heap_impl* impl() const noexcept;

    std::weak_ptr<detail::heap_impl*> impl_;
    std::uint64_t number_;
};

/// A group of commits that are one step of the history: see heap::group(). Movable. Its destructor, in any thread, ends
/// the group; if the heap was closed before, the destructor does nothing.
class [[nodiscard]] group {
public:
    group(group&& other) noexcept;            ///< Takes over the group.
    group& operator=(group&& other) noexcept; ///< Ends its own group and takes over the other one.
    ~group();
    void end() noexcept; ///< Ends the group.

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

/// Returns the open heap that `pointer` lies in, or null. The result is valid until that heap is moved or closed. O(1).
[[nodiscard]] heap* heap_of(const void* pointer) noexcept;

} // namespace remanence
