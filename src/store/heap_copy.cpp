#include "store/heap_copy.hpp"

#include "base/checksum.hpp"
#include "format/superblock.hpp"
#include "store/superblocks.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

namespace remanence::store {

namespace {

constexpr std::uint64_t k_piece_bytes = 1 * MiB;
constexpr std::uint64_t k_superblocks_bytes = format::k_superblock_count * format::k_superblock_bytes;

/// What a copier writes to.
class target {
public:
    target() = default;
    target(const target&) = delete;
    target& operator=(const target&) = delete;
    virtual ~target() = default;
    /// True if the page at file offset `at` need not be written, because the target already holds it or it may stay a
    /// hole.
    virtual bool has(std::uint64_t at, std::uint32_t checksum) = 0;
    virtual result<void> write(std::uint64_t at, std::span<const std::byte> pages) = 0;
};

class copier {
public:
    copier(os::file& file, image& from, std::uint64_t end, target& to, const copy_progress& progress)
        : file_(file),
          image_(from),
          end_(end),
          to_(to),
          progress_(progress),
          piece_(static_cast<std::size_t>(k_piece_bytes)) {}

    /// Copies everything up to `end` unchanged: superblocks, chunk maps, checksum tables, and what lies between them.
    result<void> copy_as_it_is(std::uint64_t end) {
        return copy(end, [&](std::span<std::byte> into) -> result<void> {
            auto size = file_.size();
            if (!size)
                return size.error();
            const auto present = static_cast<std::size_t>(
                std::min<std::uint64_t>(into.size(), std::max(*size, at_) - at_)); // the file may end within a page
            std::fill(into.begin() + static_cast<std::ptrdiff_t>(present), into.end(), std::byte{0});
            REM_TRY(file_.read(at_, into.first(present)));
            return to_.write(at_, into);
        });
    }
    /// Copies one of the copies of a region. Writes zeros in place of chunks that are in the other copy.
    result<void> copy_all(const layout::copies& copies) {
        return copy(copies.file.end(), [&](std::span<std::byte> into) -> result<void> {
            const std::uint64_t first = (copies.heap_offset + (at_ - copies.file.offset)) / k_page_bytes;
            const std::size_t count = into.size() / k_page_bytes;
            for (std::size_t i = 0; i < count;) {
                const bool is_here = is_in_copy(first + i, at_ + i * k_page_bytes);
                std::size_t end = i;
                for (; end < count && is_in_copy(first + end, at_ + end * k_page_bytes) == is_here; ++end) {
                    auto checksum = is_here ? image_.checksum_of(first + end) : result<std::uint32_t>(0U);
                    if (!checksum)
                        return checksum.error();
                    if (to_.has(at_ + end * k_page_bytes, *checksum))
                        break; // the target already holds this page
                }
                const auto wanted = into.subspan(i * k_page_bytes, (end - i) * k_page_bytes);
                if (wanted.empty()) {
                    ++i;
                    continue;
                }
                if (is_here)
                    REM_TRY(image_.read_pages(first + i, wanted));
                else
                    std::ranges::fill(wanted, std::byte{0});
                REM_TRY(to_.write(at_ + i * k_page_bytes, wanted));
                i = end;
            }
            return {};
        });
    }

private:
    [[nodiscard]] bool is_in_copy(std::uint64_t page, std::uint64_t at) const {
        return image_.copy_of(page * k_page_bytes) == at;
    }

    template <class F>
    result<void> copy(std::uint64_t end, F&& copy_piece) {
        for (end = std::min(end, end_); at_ < end;) {
            auto part = std::span(piece_).first(static_cast<std::size_t>(std::min(k_piece_bytes, end - at_)));
            REM_TRY(copy_piece(part));
            at_ += part.size();
            if (progress_)
                progress_(at_, end_);
        }
        return {};
    }

    os::file& file_;
    image& image_;
    std::uint64_t at_ = 0;
    std::uint64_t end_;
    target& to_;
    const copy_progress& progress_;
    std::vector<std::byte> piece_;
};

/// Returns where the copy ends. Fails if the heap has unknown features that forbid writing, because data to which those
/// features refer would not be copied.
result<std::uint64_t> copy_end(heap_file& heap) {
    REM_TRY(check_may_be_written(heap.super(), heap.path()));
    auto size = heap.file().size();
    if (!size)
        return size.error();
    return std::min(align_up(*size, k_page_bytes), heap.copies().file_end());
}

result<void> copy_all(heap_file& heap, std::uint64_t end, target& to, const copy_progress& progress) {
    if (progress)
        progress(0, end);
    copier all(heap.file(), heap.image(), end, to, progress);
    for (const layout::copies& each : heap.where().all_copies()) {
        REM_TRY(all.copy_as_it_is(each.file.offset));
        REM_TRY(all.copy_all(each));
    }
    return all.copy_as_it_is(heap.copies().file_end());
}

class stream final : public target {
public:
    explicit stream(const byte_sink& sink) : sink_(sink) {}
    bool has(std::uint64_t, std::uint32_t) override { return false; }
    result<void> write(std::uint64_t, std::span<const std::byte> pages) override { return sink_(pages); }

private:
    const byte_sink& sink_;
};

class new_file final : public target {
public:
    new_file(os::file& file, std::vector<std::uint32_t>& held, std::span<std::byte> superblocks)
        : file_(file), held_(held), superblocks_(superblocks) {}

    bool has(std::uint64_t at, std::uint32_t checksum) override { return held_[index(at)] == checksum; }

    result<void> write(std::uint64_t at, std::span<const std::byte> pages) override {
        if (at < superblocks_.size()) {
            const std::size_t count = std::min<std::size_t>(pages.size(), superblocks_.size() - at);
            std::copy_n(pages.begin(), count, superblocks_.begin() + static_cast<std::ptrdiff_t>(at));
            at += count;
            pages = pages.subspan(count);
        }
        for (std::size_t i = 0; i < pages.size();) {
            std::size_t end = i;
            while (end < pages.size() && !is_hole(at + end, pages.subspan(end, k_page_bytes)))
                end += k_page_bytes;
            if (end > i)
                REM_TRY(file_.write("store: copy", at + i, pages.subspan(i, end - i)));
            for (; i < end; i += k_page_bytes)
                held_[index(at + i)] = page_checksum_or_zero(pages.subspan(i, k_page_bytes));
            i = end + k_page_bytes;
        }
        return {};
    }

private:
    static std::size_t index(std::uint64_t at) { return static_cast<std::size_t>(at / k_page_bytes); }
    /// True if the page is a hole already and may stay one.
    [[nodiscard]] bool is_hole(std::uint64_t at, std::span<const std::byte> page) const {
        return held_[index(at)] == 0 && page_checksum_or_zero(page) == 0;
    }

    os::file& file_;
    std::vector<std::uint32_t>& held_;
    std::span<std::byte> superblocks_;
};

} // namespace

result<void> copy_bytes(heap_file& heap, const byte_sink& sink, const copy_progress& progress) {
    auto end = copy_end(heap);
    if (!end)
        return end.error();
    stream to(sink);
    return copy_all(heap, *end, to, progress);
}

result<void> file_copy::update(heap_file& heap, const copy_progress& progress) {
    auto end = copy_end(heap);
    if (!end)
        return end.error();
    const auto pages = static_cast<std::size_t>(*end / k_page_bytes);
    held_.resize(std::max(held_.size(), pages));
    superblocks_.resize(static_cast<std::size_t>(k_superblocks_bytes));
    new_file to(file_, held_, superblocks_);
    REM_TRY(copy_all(heap, *end, to, progress));
    REM_TRY(file_.resize("store: length of copy", *end)); // a hole at the end was not written
    held_.resize(pages);
    return {};
}

result<void> file_copy::finish() { return file_.write("store: superblocks of copy", 0, superblocks_); }

result<std::unique_ptr<copy_in_progress>> copy_in_progress::begin(os::file_system& files, const std::string& path,
                                                                  unsigned mode) {
    auto file = begin_new(files, path, mode);
    if (!file)
        return file.error();
    return std::unique_ptr<copy_in_progress>(new copy_in_progress(files, path, std::move(*file)));
}

copy_in_progress::~copy_in_progress() {
    try {
        if (file_)
            // Best effort: the earlier error counts.
            (void)files_.remove("store: remove failed copy", building_, *file_);
    } catch (const std::bad_alloc&) { // no memory for the message of another error
    }
}

// The mark is durable before anything else is written, so that a later copy may overwrite the remains of this one.
result<void> copy_in_progress::write_mark() {
    std::array<std::byte, k_page_bytes> mark{};
    std::memcpy(mark.data(), format::k_copy_magic.data(), sizeof format::k_copy_magic);
    REM_TRY(file_->write("store: mark of copy", 0, mark));
    return file_->sync("store: sync mark of copy");
}

result<void> copy_in_progress::update(heap_file& heap, const copy_progress& progress) {
    if (!content_.has_begun())
        REM_TRY(write_mark());
    return content_.update(heap, progress);
}

result<void> copy_in_progress::finish(existing there) {
    REM_TRY(content_.finish());
    REM_TRY(file_->sync("store: sync copy"));
    REM_TRY(check_is_at(*file_, building_));
    REM_TRY(there == existing::replaced ? files_.rename_over("store: rename copy over another file", building_, path_)
                                        : files_.rename_to_new("store: rename copy", building_, path_));
    file_.reset(); // another process may use that name for its copy from now on
    return files_.sync_directory("store: sync directory of copy", path_);
}

result<void> update_copy(std::unique_ptr<copy_in_progress>& copy, heap_file& heap, os::file_system& files,
                         const std::string& path) {
    if (!copy) {
        auto mode = heap.file().permissions();
        if (!mode)
            return mode.error();
        auto begun = copy_in_progress::begin(files, path, *mode);
        if (!begun)
            return begun.error();
        copy = std::move(*begun);
    }
    return copy->update(heap, {});
}

result<void> copy_to_new(heap_file& heap, os::file_system& files, const std::string& path,
                         const copy_progress& progress) {
    auto mode = heap.file().permissions();
    if (!mode)
        return mode.error();
    auto copy = copy_in_progress::begin(files, path, *mode);
    if (!copy)
        return copy.error();
    REM_TRY((*copy)->update(heap, progress));
    return (*copy)->finish(existing::refused);
}

} // namespace remanence::store
