// Containers whose file has the portable or the binary form: the file is read into a temporary heap, and each commit
// writes the whole file anew. Separate from file_backed.cpp, so that programs that keep containers as heaps do not link
// this code.

#include <remanence/file_backed.hpp>
#include <remanence/streams.hpp>

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "api/save_heap.hpp"
#include "api/whole_file.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace remanence::detail {

namespace {

namespace fs = std::filesystem;

bool is_heap(os::file& file, std::uint64_t bytes) {
    std::array<char, format::k_heap_magic.size()> first{};
    if (bytes < first.size())
        return false;
    check(file.read(0, std::as_writable_bytes(std::span(first))));
    return first == format::k_heap_magic;
}

std::function<std::size_t(char*, std::size_t)> reader_of_file(os::file& file, std::uint64_t bytes) {
    return [&file, bytes, at = std::uint64_t{0}](char* to, std::size_t most) mutable {
        const std::uint64_t count = std::min<std::uint64_t>(most, bytes - at);
        check(file.read(at, std::as_writable_bytes(std::span(to, count))));
        at += count;
        return static_cast<std::size_t>(count);
    };
}

/// Returns a function that reads successive pieces of a text in memory.
std::function<std::size_t(char*, std::size_t)> reader_of_text(std::string_view text) {
    return [text](char* to, std::size_t bytes) mutable {
        const std::size_t count = text.copy(to, bytes);
        text.remove_prefix(count);
        return count;
    };
}

class text_file_of_container final : public container_file {
public:
    text_file_of_container(const fs::path& file, const file_backed_options& options);
    ~text_file_of_container() override;
    [[nodiscard]] heap make_heap(heap_options how) const override;
    bool load(heap& into, const type_to_load& type) const override;
    void save(const heap& from) const override;
    void save_before_close(heap& from) const override;
    void save_at_end(heap& from) const noexcept override;
    [[nodiscard]] const fs::path& path() const override { return given_; }

private:
    void remove_heap() const;
    void read(heap& into, const std::function<std::size_t(char*, std::size_t)>& from, const type_to_load& type) const;

    fs::path given_;
    fs::path file_;
    fs::path heap_file_;
    file_form form_;
    std::function<void(heap&)> migrate_; // empty: changes of types are converted automatically during reading
    bool commits_at_end_;
    mutable std::mutex saving_;
    int exceptions_; // number of uncaught exceptions when the container was opened
};

text_file_of_container::text_file_of_container(const fs::path& file, const file_backed_options& options)
    : given_(file),
      file_(real_path(file)),
      heap_file_(file_.string() + "-open"),
      form_(options.form),
      migrate_(options.heap.migrate),
      commits_at_end_(options.commit_at_close),
      exceptions_(std::uncaught_exceptions()) {
    if (options.heap.read_only)
        raise(errc::not_supported,
              file_.string() +
                  " cannot be opened read-only in the portable or the binary form: a container that is read from them "
                  "lives in a heap of its own. Open it for writing, or keep it in the form of memory.",
              file_.string());
    if (options.heap.access != sharing::exclusive)
        raise(errc::not_supported,
              file_.string() +
                  " cannot be shared by processes in the portable or the binary form, whose file each commit replaces. "
                  "Keep the container in the form of memory.",
              file_.string());
    if (options.heap.history.kept_over_sessions)
        raise(errc::not_supported,
              file_.string() +
                  " cannot keep a history over sessions in the portable or the binary form, which has objects alone. "
                  "Leave kept_over_sessions out, or keep the container in the form of memory.",
              file_.string());
}

text_file_of_container::~text_file_of_container() { remove_heap(); }

void text_file_of_container::remove_heap() const {
    std::error_code unknown;
    fs::remove(heap_file_, unknown);
    fs::remove(heap_file_.string() + "-log", unknown);
}

heap text_file_of_container::make_heap(heap_options how) const {
    how.commit_at_close = false;
    how.log.log_directory.reset();
    how.migrate = {};               // the heap is still empty
    how.commits = durability::none; // a crash may lose the heap, because the file is the durable copy
    std::error_code unknown;
    if (fs::exists(heap_file_, unknown)) {
        try {
            heap::open_existing(heap_file_, how).close(); // errc::in_use
        } catch (const error& why) {
            // the heap is in use, or belongs to another user
            if (why.reason() == errc::in_use || why.reason() == errc::permission_denied)
                throw;
        }
        remove_heap();
    }
    constexpr unsigned k_owner_only = 0600;
    how.sharing.mode = k_owner_only; // other users may not be allowed to read the file's contents
    return heap::create(heap_file_, how);
}

bool text_file_of_container::load(heap& into, const type_to_load& type) const {
    auto file = os::posix_file_system().open(file_.string(), os::access::read_only);
    if (!file && file.why().code == errc::not_found)
        return false;
    if (!file)
        raise(file.why());
    auto bytes = (*file)->size();
    if (!bytes)
        raise(bytes.why());
    if (!is_heap(**file, *bytes)) {
        read(into, reader_of_file(**file, *bytes), type);
        return true;
    }
    std::string text;
    const heap stored = heap::open_existing(file_, {.read_only = true});
    require_one_container(stored);
    remanence::save(stored, [&](std::string_view piece) { text += piece; });
    read(into, reader_of_text(text), type);
    return true;
}

/// Errors name the container's file, which the program knows, not the temporary heap beside that file.
void text_file_of_container::read(heap& into, const std::function<std::size_t(char*, std::size_t)>& from,
                                  const type_to_load& type) const {
    try {
        if (migrate_) { // roots are made with their stored types, and then migrated to the program's types
            load_roots(into, from, {});
            migrate_(into);
        } else {
            load_roots(into, from, {type});
        }
        require_one_container(into);
        for (const root_info& stored : into.roots()) {
            if (stored.type != type.type->name)
                raise(errc::type_mismatch,
                      file_.string() + " holds a " + stored.type + ", not a " + type.type->name +
                          ". Open it as what it holds, or choose another file.",
                      file_.string());
        }
    } catch (const error& why) {
        const std::string heap_path = heap_file_.string();
        std::string message = why.what();
        for (std::size_t at = message.find(heap_path); at != std::string::npos;
             at = message.find(heap_path, at + file_.string().size()))
            message.replace(at, heap_path.size(), file_.string());
        raise(why.reason(), message, file_.string());
    }
}

void text_file_of_container::save(const heap& from) const {
    if (impl_of(from).sections.write_depth() != 0)
        return;
    const std::scoped_lock alone(saving_); // threads save after their sections have ended
    whole_file made(os::posix_file_system(), file_.string(), file_.string() + "-new");
    check(made.begin());
    const auto put = [&](std::string_view text) { check(made.put(text)); };
    // A failure in the middle leaves the file unchanged.
    save_heap(from, {}, {.looks_first = false},
              form_ == file_form::binary ? as_binary(put) : std::function<void(std::string_view)>(put));
    check(made.finish(true));
}

void text_file_of_container::save_before_close(heap& from) const {
    if (!commits_at_end_)
        return;
    from.commit();
    save(from);
}

void text_file_of_container::save_at_end(heap& from) const noexcept {
    if (std::uncaught_exceptions() > exceptions_ || impl_of(from).sections.is_in_any())
        return;
    try {
        impl_of(from).forget_late_errors(); // they were said on standard error, and must not prevent the last commit
        save_before_close(from);
    } catch (...) { // NOLINT(bugprone-empty-catch): close() reports the error
    }
}

} // namespace

std::unique_ptr<container_file> open_container_file(const fs::path& file, const file_backed_options& options) {
    return std::make_unique<text_file_of_container>(file, options);
}

} // namespace remanence::detail
