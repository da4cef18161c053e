#include "store/heap_copy.hpp"

#include "base/checksum.hpp"

#include <algorithm>
#include <vector>

namespace remanence::store {

namespace {

constexpr std::uint64_t k_piece_bytes = 1 * MiB;

class copier {
public:
    copier(heap_file& heap, std::uint64_t end, const byte_sink& sink, const copy_progress& progress)
        : heap_(heap), end_(end), sink_(sink), progress_(progress), piece_(static_cast<std::size_t>(k_piece_bytes)) {}

    /// Up to `to`: superblocks, chunk maps, checksum tables, and what lies between.
    result<void> copy_as_it_is(std::uint64_t to) {
        return copy(to, [&](std::span<std::byte> into) -> result<void> {
            auto size = heap_.file().size();
            if (!size)
                return size.error();
            const auto present = static_cast<std::size_t>(
                std::min<std::uint64_t>(into.size(), std::max(*size, at_) - at_)); // the last page may be a part of one
            std::fill(into.begin() + static_cast<std::ptrdiff_t>(present), into.end(), std::byte{0});
            return heap_.file().read(at_, into.first(present));
        });
    }
    result<void> copy_homes(const format::region& r) {
        return copy(r.home_offset + r.bytes, [&](std::span<std::byte> into) {
            return heap_.read_pages((r.heap_offset + (at_ - r.home_offset)) / k_page_bytes, into);
        });
    }

private:
    template <class F>
    result<void> copy(std::uint64_t to, F&& read) {
        for (to = std::min(to, end_); at_ < to;) {
            auto part = std::span(piece_).first(static_cast<std::size_t>(std::min(k_piece_bytes, to - at_)));
            REM_TRY(read(part));
            REM_TRY(sink_(part));
            at_ += part.size();
            if (progress_)
                progress_(at_, end_);
        }
        return {};
    }

    heap_file& heap_;
    std::uint64_t at_ = 0;
    std::uint64_t end_;
    const byte_sink& sink_;
    const copy_progress& progress_;
    std::vector<std::byte> piece_;
};

} // namespace

result<void> copy_bytes(heap_file& heap, const byte_sink& sink, const copy_progress& progress) {
    auto size = heap.file().size();
    if (!size)
        return size.error();
    const std::uint64_t end = std::min(align_up(*size, k_page_bytes), heap.layout_end());
    if (progress)
        progress(0, end);
    copier all(heap, end, sink, progress);
    for (std::size_t i = 0; i < heap.super().region_count; ++i) {
        REM_TRY(all.copy_as_it_is(heap.super().regions[i].home_offset));
        REM_TRY(all.copy_homes(heap.super().regions[i]));
    }
    return all.copy_as_it_is(heap.layout_end());
}

result<std::unique_ptr<os::file>> copy_to_new(heap_file& heap, os::file_system& files, const std::string& path,
                                              const copy_progress& progress) {
    auto mode = heap.file().permissions();
    if (!mode)
        return mode.error();
    auto file = begin_new(files, path, *mode);
    if (!file)
        return file.error();
    std::uint64_t at = 0;
    auto write = [&](std::span<const std::byte> piece) -> result<void> {
        for (std::size_t i = 0; i < piece.size();) {
            auto is_zero = [&](std::size_t page) { return is_all_zeros(piece.subspan(page, k_page_bytes)); };
            std::size_t end = i;
            while (end < piece.size() && !is_zero(end))
                end += k_page_bytes;
            if (end > i)
                REM_TRY((*file)->write("store: copy", at + i, piece.subspan(i, end - i)));
            i = end + (end < piece.size() ? k_page_bytes : 0);
        }
        at += piece.size();
        return {};
    };
    auto build = [&]() -> result<void> {
        REM_TRY(copy_bytes(heap, write, progress));
        REM_TRY((*file)->resize("store: length of copy", at)); // its end may be a hole
        return (*file)->sync("store: sync copy");
    };
    if (auto built = build(); !built) {
        (void)files.remove("store: remove failed copy",
                           new_path(path)); // best effort: the error at hand is the one that counts
        return built.error();
    }
    return file;
}

} // namespace remanence::store
