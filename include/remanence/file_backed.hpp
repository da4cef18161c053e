// A single container in a file of its own. Thin templates over compiled code; depends on the standard library only.
#pragma once

#include <remanence/container_lock.hpp>
#include <remanence/detail/abi.hpp>
#include <remanence/heap.hpp>
#include <remanence/types/detail/key_functions.hpp>
#include <remanence/types/detail/position_independent.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace remanence {

/// How the container is stored in its file.
enum class file_form {
    memory,   ///< as a heap: it opens at once, and a commit writes what has changed
    portable, ///< as text (docs/reference/dump.md), for people and other programs: a commit writes all of it
    binary,   ///< as CBOR with the contents of `portable`, in fewer bytes
};

/// How a file_backed container is opened.
struct file_backed_options {
    /// Whether close() and the destructor commit uncommitted changes. Default true; false: they discard them, as a heap
    /// does by default. Nothing is committed in a file opened read-only. No effect with sharing::processes, where changes
    /// are made within locks and sections, which commit. heap::~heap() lists the cases in which the destructor discards
    /// changes all the same.
    bool commit_at_close = true;
    /// The options of the heap. heap.commit_at_close is ignored. If heap.memory.reserve_bytes is 0, it is 1 GiB, so
    /// that thousands of files fit into the address space. heap.migrate finds the container as the root "container".
    heap_options heap = {};
    /// The form that a commit writes. Default: `memory`, which cannot open a file in another form (errc::not_a_heap).
    /// With the other two, files of every form can be opened.
    ///
    /// A portable or binary file is read whole when it is opened. The container lives in a temporary heap beside it,
    /// NAME-open, which is removed at the end; after a crash the next open removes it. Each commit writes a new file,
    /// durably, which replaces the old one: O(container). Such files cannot be opened read-only. With heap.migrate the
    /// container is made as it was stored, and then converted; errc::not_supported then means that the container has an
    /// order or a hash of the program's own.
    file_form form = file_form::memory;
    /// How long lock(), shared() and exclusive() wait for other threads and processes. Default 1 minute.
    std::chrono::milliseconds lock_timeout{60'000};
};

namespace detail {

inline constexpr std::string_view k_container_root = "container";
inline constexpr std::uint64_t k_file_backed_reserve_bytes = std::uint64_t{1} << 30;

/// Throws errc::type_mismatch, naming the first other root, when the file holds roots besides the container.
void require_one_container(const heap& file);
[[noreturn]] void raise_no_container(const heap& file);
[[noreturn]] void raise_closed_container();

/// The file of a container in portable or binary form. Its functions are virtual so that programs without such files
/// are not linked with them.
class container_file {
public:
    container_file() = default;
    container_file(const container_file&) = delete;
    container_file& operator=(const container_file&) = delete;
    /// Removes the temporary heap, which is closed.
    virtual ~container_file() = default;

    /// Makes the temporary heap in which the container lives while it is open. Errors: errc::in_use when the container
    /// is open already.
    [[nodiscard]] virtual heap make_heap(heap_options how) const = 0;
    /// Makes the container from the file, which may be in any form. Returns false when there is no file. Throws what
    /// remanence::load() throws.
    virtual bool load(heap& into, const type_to_load& type) const = 0;
    /// Replaces the file, durably. Does nothing within a write section of the calling thread, since the end of the
    /// section saves the file.
    virtual void save(const heap& from) const = 0;
    /// Commits and saves the file, if file_backed_options::commit_at_close is set.
    virtual void save_before_close(heap& from) const = 0;
    /// As save_before_close(), for a destructor: does nothing in a section, or when an exception runs the destructor.
    /// Reports no failures.
    virtual void save_at_end(heap& from) const noexcept = 0;
    [[nodiscard]] virtual const std::filesystem::path& path() const = 0;
};
std::unique_ptr<container_file> open_container_file(const std::filesystem::path& file,
                                                    const file_backed_options& options);

} // namespace detail

/// A container in a file of its own: a heap with the container as its only root. It is used like a pointer to the
/// container. Move-only; a move keeps pointers into the container valid. Threads may use it as they may use a `heap`.
/// Once it is closed or moved from, every use but is_open(), the destructor and assignment throws errc::closed.
///
/// A change is in memory only until it is committed: a crash loses it. close() and the destructor commit, except within
/// a section, or when an exception destroys the file_backed.
///
/// An idle file takes one descriptor, two mappings and some 20 KiB of the process's memory; a small one takes at most
/// 64 KiB on disk. After its first commit, and until it is closed, it takes four descriptors, and a redo log of at
/// least 68 KiB lies beside it.
///
/// The file is mapped where it was created. If these addresses are taken, for instance by another such file, a
/// container that is `position_independent` is mapped elsewhere. For any other container, opening throws
/// errc::base_taken; the more files of different processes are open at once, the likelier that is.
template <class Container>
class file_backed {
public:
    using container_type = Container; ///< the container's type

    /// Opens the container at `path`, or creates it, empty. A new container is durable once this returns. After a
    /// crash, the constructor recovers the last commit. A crash during creation leaves no file, or a file without a
    /// container, in which the next call makes the container. A type that is not `persistable` does not compile.
    /// Errors: those of heap::open(), such as errc::in_use for an open file; errc::type_mismatch, naming what is
    /// stored, when the file holds another type or a heap of roots; errc::not_found when it is opened read-only and has
    /// no container or does not exist; what the container's default constructor throws. Complexity: as heap::open().
    explicit file_backed(const std::filesystem::path& path, const file_backed_options& options = {})
        : lock_timeout_(options.lock_timeout),
          form_(options.form == file_form::memory ? nullptr : detail::open_container_file(path, options)),
          file_(form_ ? form_->make_heap(with_room(options)) : open(path, options)),
          container_(form_ ? read() : find()) {
        if (container_ != nullptr)
            return;
        if (options.heap.read_only)
            detail::raise_no_container(file_);
        file_.template root<Container>(detail::k_container_root);
        file_.close(); // closes the log, too, so that a program can create thousands of files that stay idle
        file_ = open(path, options);
        container_ = find();
    }
    /// Takes over the open file. Pointers into the container stay valid.
    file_backed(file_backed&&) noexcept = default;
    /// Closes the file held so far, as the destructor does, and takes over the other one.
    file_backed& operator=(file_backed&& other) noexcept {
        if (this != &other) {
            end();
            lock_timeout_ = other.lock_timeout_;
            file_ = std::move(other.file_);
            form_ = std::move(other.form_);
            container_ = other.container_;
        }
        return *this;
    }
    /// Commits uncommitted changes, unless the options say otherwise, and closes the file. Reports no failures: call
    /// close() to see them. Durable changes stay either way. While a section is open, and when an exception runs the
    /// destructor, it commits nothing; see heap::~heap().
    ~file_backed() { end(); }

    /// Returns the container, which is valid as long as the file is open. Changing a container that was opened
    /// read-only ends the process. Errors: errc::closed. O(1).
    [[nodiscard]] Container* operator->() { return checked(); }
    [[nodiscard]] const Container* operator->() const { return checked(); } ///< Returns the container.
    [[nodiscard]] Container& operator*() { return *checked(); }             ///< Returns the container.
    [[nodiscard]] const Container& operator*() const { return *checked(); } ///< Returns the container.

    /// Makes every change since the last commit durable, atomically. As heap::commit().
    void commit() {
        file_.commit();
        save();
    }
    /// Commits with the durability `until`.
    void commit(durability until) {
        file_.commit(until);
        save();
    }
    /// Commits without waiting for the device; the ticket waits, or tells whether the commit is durable. As
    /// heap::commit_async().
    [[nodiscard]] commit_ticket commit_async() {
        commit_ticket made = file_.commit_async();
        save();
        return made;
    }
    /// Makes all earlier commits durable. As heap::sync().
    void sync() { file_.sync(); }
    /// Undoes every change since the last commit. Pointers and iterators to what was created since then dangle. As
    /// heap::rollback().
    void rollback() { file_.rollback(); }
    /// Runs `f` in a write section and returns its result; commits at the end, rolls back when `f` throws. Accepts the
    /// arguments of heap::write(): write(f), with `declared`, a durability, or both before `f`.
    template <class... Args>
    decltype(auto) write(Args&&... args) {
        if constexpr (std::is_void_v<decltype(file_.write(std::forward<Args>(args)...))>) {
            file_.write(std::forward<Args>(args)...);
            save();
        } else {
            decltype(auto) result = file_.write(std::forward<Args>(args)...);
            save();
            return result;
        }
    }
    /// Runs `f` in a write section that ends in an asynchronous commit: write_async(f) or write_async(declared, f). As
    /// heap::write_async().
    template <class... Args>
    [[nodiscard]] commit_ticket write_async(Args&&... args) {
        commit_ticket made = file_.write_async(std::forward<Args>(args)...);
        save();
        return made;
    }
    /// Runs `f` in a read section and returns its result. As heap::read().
    template <class F>
    decltype(auto) read(F&& f) const {
        return file_.read(std::forward<F>(f));
    }

    // Locks. A shared lock is a read section, an exclusive one a write section. They nest like a stack, and with the
    // sections of write() and read(). A shared lock inside an exclusive one is part of it. An exclusive lock inside a
    // shared one is granted if no other thread is in a section, no other process in a write section, and no other process
    // has committed since the shared lock began; otherwise it throws errc::section_conflict at once.
    //
    // Errors of lock(), shared() and exclusive(): errc::in_use after file_backed_options::lock_timeout, naming the
    // process that holds the lock and the other heaps that this thread has locked; errc::read_only for an exclusive lock
    // on a file opened read-only; errc::closed; those of heap::write().

    /// Returns a guard that is a range of const elements and holds a shared lock.
    [[nodiscard]] container_guard<const Container> shared() const {
        const Container& locked = *checked();
        return {locked, detail::held_lock::acquire(file_, lock_mode::shared, lock_timeout_, form_.get())};
    }
    /// Returns a guard that is a range of elements and holds an exclusive lock.
    [[nodiscard]] container_guard<Container> exclusive() {
        Container& locked = *checked();
        return {locked, detail::held_lock::acquire(file_, lock_mode::exclusive, lock_timeout_, form_.get())};
    }
    /// Locks until the matching unlock(), which the same thread must call.
    void lock(lock_mode how = lock_mode::exclusive) {
        (void)checked();
        detail::lock_container(file_, how, lock_timeout_, form_.get());
    }
    /// Ends the calling thread's last lock() that has not ended. The end of the outermost exclusive lock commits, or
    /// rolls back if an exception runs this call; a failure of that commit is reported as heap::unlock() reports it.
    /// Errors: errc::section_conflict when the thread has no such lock; errc::closed.
    void unlock() {
        (void)checked();
        detail::unlock_container(file_);
    }

    /// Commits and closes as the destructor does, but reports failures. Durable once this returns. After
    /// errc::section_open, errc::no_space and errc::foreign_pointer the file stays open, with every change in memory.
    /// After any other error the file is closed, as of its last durable commit. As heap::close().
    void close() {
        if (form_ && file_.is_open())
            form_->save_before_close(file_);
        file_.close();
    }
    /// Returns false once the file is closed or moved from.
    [[nodiscard]] bool is_open() const noexcept { return file_.is_open(); }
    /// Returns the path as it was given.
    [[nodiscard]] const std::filesystem::path& path() const { return form_ ? form_->path() : file_.path(); }
    /// Returns the file as a heap, for touch(), stats(), verify() and check_pointers(). Nothing else may be put into
    /// it. Errors: errc::closed.
    [[nodiscard]] const heap& get_heap() const {
        (void)checked();
        return file_;
    }

private:
    static heap open(const std::filesystem::path& path, const file_backed_options& options) {
        heap_options how = with_room(options);
        how.commit_at_close = options.commit_at_close && how.access == sharing::exclusive;
        constexpr auto mode =
            is_position_independent_v<Container> ? detail::opening::open_anywhere : detail::opening::open_or_create;
        return heap(path, how, mode, detail::k_abi);
    }
    static heap_options with_room(const file_backed_options& options) {
        heap_options how = options.heap;
        if (how.memory.reserve_bytes == 0)
            how.memory.reserve_bytes = detail::k_file_backed_reserve_bytes;
        return how;
    }
    // Returns the container that a portable or binary file holds, or an empty one.
    Container* read() {
        const bool is_there = form_->load(file_, detail::type_to_load_of<Container>());
        detail::require_one_container(file_);
        Container& made = file_.template root<Container>(detail::k_container_root);
        file_.commit();
        if (!is_there)
            form_->save(file_);
        return &made;
    }
    void save() {
        if (form_)
            form_->save(file_);
    }
    void end() noexcept {
        if (form_ && file_.is_open())
            form_->save_at_end(file_);
    }
    // A heap that is mapped elsewhere may contain only the container.
    Container* find() const {
        detail::require_one_container(file_);
        return file_.template find_root<Container>(detail::k_container_root);
    }
    [[nodiscard]] Container* checked() const {
        if (!file_.is_open()) [[unlikely]]
            detail::raise_closed_container();
        return container_;
    }

    std::chrono::milliseconds lock_timeout_;
    std::unique_ptr<detail::container_file> form_; // null for file_form::memory
    heap file_;
    Container* container_;
};

} // namespace remanence
