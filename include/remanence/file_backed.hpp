// One container in a file of its own. Thin templates over compiled code; depends on the standard library only.
#pragma once

#include <remanence/detail/abi.hpp>
#include <remanence/heap.hpp>
#include <remanence/types/detail/key_functions.hpp>
#include <remanence/types/detail/position_independent.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace remanence {

/// How the container lies in its file.
enum class file_form {
    memory,   ///< as a heap: it is open at once, and a commit writes what has changed
    portable, ///< as text (docs/reference/dump.md), for people and other programs: a commit writes all of it anew
    binary,   ///< the same as CBOR, in fewer bytes
};

/// How a file_backed container is opened.
struct file_backed_options {
    /// close() and the destructor commit what is not committed; else they discard it, as a heap does unless it is told
    /// otherwise. A file opened read-only has nothing. When the destructor discards all the same, heap::~heap() tells.
    bool commit_at_close = true;
    /// All else. `migrate` finds the container as the root "container". Its own commit_at_close does not count, and `memory.reserve_bytes`
    /// is 1 GiB unless it is set, so that thousands of files find room.
    heap_options heap = {};
    /// A file of the portable or the binary form is read whole when it is opened, and lives in a heap beside it, which has its name
    /// with "-open" behind it and is removed at the end; a crash leaves that one to the next call. Each commit writes a new file, durably,
    /// which takes the place of the old one: O(container). With these two forms, whatever form a file has is found out, and the next
    /// commit writes it as it is asked for; the form `memory` takes no others (errc::not_a_heap). They cannot be read only. With
    /// heap.migrate the container is made as it was stored, and then converted, where errc::not_supported means that it has an order or a hash
    /// of the program's.
    file_form form = file_form::memory;
};

namespace detail {

inline constexpr std::string_view k_container_root = "container";
inline constexpr std::uint64_t k_file_backed_reserve_bytes = std::uint64_t{1} << 30;

/// errc::type_mismatch, naming the first root in the way, when there are others than the container.
void require_one_container(const heap& file);
[[noreturn]] void raise_no_container(const heap& file);
[[noreturn]] void raise_closed_container();

/// The file of a container in another form than memory's. Its functions are virtual so that programs that ask for no such form do not have
/// them.
class container_file {
public:
    container_file() = default;
    container_file(const container_file&) = delete;
    container_file& operator=(const container_file&) = delete;
    /// Removes the heap, which is closed.
    virtual ~container_file() = default;

    /// Where the container lives while it is open: a new heap. errc::in_use: the container is open already.
    [[nodiscard]] virtual heap make_heap(heap_options how) const = 0;
    /// Makes the container from the file, whatever form it has; false: there is no file. What load() throws.
    virtual bool load(heap& into, const type_to_load& type) const = 0;
    /// Replaces the file, durably. Does nothing within a write section of the calling thread, whose end does it.
    virtual void save(const heap& from) const = 0;
    /// Commits and saves, if that is to be done at the end.
    virtual void save_before_close(heap& from) const = 0;
    /// The same in a destructor: not in a section, and not when an exception ends it. Says nothing of failures.
    virtual void save_at_end(heap& from) const noexcept = 0;
    [[nodiscard]] virtual const std::filesystem::path& path() const = 0;
};
std::unique_ptr<container_file> open_container_file(const std::filesystem::path& file,
                                                    const file_backed_options& options);

} // namespace detail

/// A container that lives in a file of its own: a heap whose one root it is. Used as a pointer to the container; every use of
/// a closed or moved-from one throws `error` with errc::closed, but is_open(), the destructor and assignment. Move-only; moving
/// leaves pointers into the container valid. Of threads it asks what `heap` does.
///
/// A change is in memory only until it is committed: a crash loses it. close() and the destructor commit; an exception that
/// takes the file_backed away, and an end within a section, do not. An idle file takes one descriptor, two mappings and some
/// 20 KiB of memory of the process, and a small one at most 64 KiB on disk. One that was committed to since it was opened takes four
/// descriptors, and a redo log of 68 KiB, or more if commits are large, lies beside it, until it is closed.
///
/// The file is mapped where it was when it was created. If these addresses are taken, by another such file for instance, a
/// container that is `position_independent` is mapped elsewhere; any other one is errc::base_taken, which is the likelier the
/// more files of different processes are open at once.
template <class Container>
class file_backed {
public:
    using container_type = Container;

    /// Opens the container at `path`, or creates it, empty: a new one is durable once this returns. After a crash this recovers
    /// the last commit. A crash meanwhile leaves no file, or one without a container, where the next call makes it.
    /// Throws what heap::open() throws, errc::in_use for a file that is open among others; errc::type_mismatch, naming what is
    /// stored, when the file holds another type, or is a heap of roots; errc::not_found when it is to be read only and there
    /// is no file or no container in it; what Container's default constructor throws. A type that is not `persistable` does
    /// not compile. Complexity: that of heap::open().
    explicit file_backed(const std::filesystem::path& path, const file_backed_options& options = {})
        : form_(options.form == file_form::memory ? nullptr : detail::open_container_file(path, options)),
          file_(form_ ? form_->make_heap(with_room(options)) : open(path, options)),
          container_(form_ ? read() : find()) {
        if (container_ != nullptr)
            return;
        if (options.heap.read_only)
            detail::raise_no_container(file_);
        file_.template root<Container>(detail::k_container_root);
        file_.close(); // and its log, so that thousands may be created that are then idle
        file_ = open(path, options);
        container_ = find();
    }
    file_backed(file_backed&&) noexcept = default;
    /// Closes the file held so far as the destructor does.
    file_backed& operator=(file_backed&& other) noexcept {
        if (this != &other) {
            end();
            file_ = std::move(other.file_);
            form_ = std::move(other.form_);
            container_ = other.container_;
        }
        return *this;
    }
    /// Commits what is not committed, unless options said otherwise, and closes; says nothing of failures: use close() to
    /// hear of them. Durable changes stay either way. While a section is open, and when an exception takes it away, it
    /// commits nothing: as heap::~heap().
    ~file_backed() { end(); }

    /// The container, valid as long as the file is open. One that was opened read-only must not be changed: that ends the
    /// process. O(1).
    [[nodiscard]] Container* operator->() { return checked(); }
    [[nodiscard]] const Container* operator->() const { return checked(); }
    [[nodiscard]] Container& operator*() { return *checked(); }
    [[nodiscard]] const Container& operator*() const { return *checked(); }

    /// Makes every change since the last commit durable, atomically, or as durable as `until` says. As heap::commit().
    void commit() {
        file_.commit();
        save();
    }
    void commit(durability until) {
        file_.commit(until);
        save();
    }
    /// An asynchronous commit: the ticket waits for the device, or tells whether it is done. As heap::commit_async().
    [[nodiscard]] commit_ticket commit_async() {
        commit_ticket made = file_.commit_async();
        save();
        return made;
    }
    /// Makes durable what was committed before. As heap::sync().
    void sync() { file_.sync(); }
    /// Takes back every change since the last commit: pointers and iterators to what was created since dangle. As
    /// heap::rollback().
    void rollback() { file_.rollback(); }
    /// write(f) runs `f` in a write section and returns its result; commits at the end, rolls back when `f` throws. May begin
    /// with `declared`, with a durability, or with both. As heap::write() of the same arguments.
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
    /// write_async(f) or write_async(declared, f): a write section whose end is an asynchronous commit. As heap::write_async().
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

    /// As the destructor, but reports; durable once this returns. errc::section_open, errc::no_space and errc::foreign_pointer leave the
    /// file open and every change in memory; after any other error it is closed too, and as of its last durable commit. As heap::close().
    void close() {
        if (form_ && file_.is_open())
            form_->save_before_close(file_);
        file_.close();
    }
    /// False once closed or moved from.
    [[nodiscard]] bool is_open() const noexcept { return file_.is_open(); }
    /// As it was given.
    [[nodiscard]] const std::filesystem::path& path() const { return form_ ? form_->path() : file_.path(); }
    /// The file as a heap, for touch(), stats(), verify() and check_pointers(). Nothing else may be put into it.
    [[nodiscard]] const heap& get_heap() const {
        (void)checked();
        return file_;
    }

private:
    static heap open(const std::filesystem::path& path, const file_backed_options& options) {
        heap_options how = with_room(options);
        how.commit_at_close = options.commit_at_close;
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
    // What the file has, in another form than memory's, or an empty container.
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
    // Nothing but a container may be in a heap that is mapped elsewhere.
    Container* find() const {
        detail::require_one_container(file_);
        return file_.template find_root<Container>(detail::k_container_root);
    }
    Container* checked() const {
        if (!file_.is_open()) [[unlikely]]
            detail::raise_closed_container();
        return container_;
    }

    std::unique_ptr<detail::container_file> form_; // null: its form is memory's
    heap file_;
    Container* container_;
};

} // namespace remanence
