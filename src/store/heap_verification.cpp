#include "store/heap_verification.hpp"

#include "base/checksum.hpp"
#include "base/range.hpp"
#include "store/superblocks.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::store {

namespace {

constexpr std::uint64_t k_run_bytes = 1 * MiB;

enum class depth { structure, pages };

class verifier {
public:
    verifier(heap_file& heap, depth how_deep, const std::function<void(damage)>& found,
             const std::function<void(std::uint64_t, std::uint64_t)>& progress)
        : heap_(heap),
          image_(heap.image()),
          checksums_(heap.checksums()),
          how_deep_(how_deep),
          found_(found),
          progress_(progress) {
        for (const extent& each : image_.extents()) {
            if (each.stored)
                stored_.push_back(each.heap);
        }
    }

    result<void> check() {
        auto size = heap_.file().size();
        if (!size)
            return size.error();
        file_bytes_ = *size;
        REM_TRY(check_superblocks());
        check_map();
        for (std::size_t i = 0; i < checksums_.tables().size(); ++i)
            check_region(heap_.super().regions[i], checksums_.tables()[i]);
        check_unpublished();
        tell_of_pages();
        return {};
    }

    [[nodiscard]] std::uint64_t checked() const { return checked_; }

private:
    result<void> check_superblocks() {
        superblock_places places{};
        REM_TRY(heap_.file().read(0, std::as_writable_bytes(std::span(places))));
        for (std::uint64_t i = 0; i < places.size(); ++i) {
            if (!is_valid(places[i], i))
                tell({"a superblock is damaged", i * format::k_superblock_bytes});
        }
        return {};
    }

    void check_map() {
        const format::superblock& super = heap_.super();
        auto map = chunk_map::read(heap_.file(), super);
        if (!map)
            tell({map.why().message, map.why().offset});
    }

    void check_region(const format::region& region, const checksum_table& table) {
        const std::uint64_t first = region.heap_offset / k_page_bytes;
        const std::uint64_t end = first + region.bytes / k_page_bytes;
        std::uint64_t next = first; // the page behind the last one that has a checksum
        bool is_gap_known = true;   // false after a damaged node: the pages of the gap may have checksums
        bool strays = false;
        auto check_gap = [&](std::uint64_t to) {
            if (is_gap_known && next < to)
                check_zeros(next, to);
            is_gap_known = true;
        };
        table.walk(
            [&](std::uint64_t at) {
                tell({"a node of the checksum table is damaged; the pages it covers cannot be checked", at});
                is_gap_known = false;
            },
            [&](std::uint64_t page, std::uint32_t checksum) {
                if (first + page >= end) {
                    strays = true;
                    return;
                }
                check_gap(first + page);
                next = first + page + 1;
                if (!checksums_.unpublished().contains((first + page) / image_.chunk_pages())) // else it has moved
                    check_page(first + page, checksum);
            });
        check_run();
        check_gap(end);
        if (strays)
            tell({"the checksum table names pages beyond its region", region.table_offset});
    }

    void check_unpublished() {
        for (const auto& [chunk, checksums] : checksums_.unpublished()) {
            for (std::size_t i = 0; i < checksums.size(); ++i) {
                if (checksums[i] != 0)
                    check_page(chunk * image_.chunk_pages() + i, checksums[i]);
            }
            check_run();
        }
    }

    /// Gathers consecutive pages, so that they can be read together.
    void check_page(std::uint64_t page, std::uint32_t checksum) {
        if (!image_.is_stored(page / image_.chunk_pages())) {
            check_run();
            ++checked_;
            found_in_pages(page, 1, "there is a checksum, but according to the chunk map no place");
            return;
        }
        const std::uint64_t run_bytes = run_.size() * k_page_bytes;
        if (run_first_ + run_.size() != page || run_bytes >= k_run_bytes ||
            (!run_.empty() &&
             image_.copy_of(page * k_page_bytes) != image_.copy_of(run_first_ * k_page_bytes) + run_bytes)) {
            check_run();
            run_first_ = page;
        }
        run_.push_back(checksum);
    }

    void check_run() {
        if (run_.empty())
            return;
        checked_ += run_.size();
        if (how_deep_ == depth::pages)
            check_pages();
        run_.clear();
        if (progress_)
            progress_(run_first_ * k_page_bytes, image_.bytes());
    }

    void check_pages() {
        const std::uint64_t copy = image_.copy_of(run_first_ * k_page_bytes);
        const std::uint64_t present = pages_present(copy, run_.size());
        const auto bytes = scratch(present * k_page_bytes);
        const auto read_at_once = present == 0 ? result<void>() : heap_.file().read(copy, bytes);
        bool told = static_cast<bool>(read_at_once); // if the read failed, each page is read alone to find the bad one
        const bool readable = told;
        for (std::size_t i = 0; i < present; ++i) {
            const auto page = bytes.subspan(i * k_page_bytes, k_page_bytes);
            if (!readable) {
                if (auto read = heap_.file().read(copy + i * k_page_bytes, page); !read) {
                    found_in_pages(run_first_ + i, 1, read.why().message);
                    told = true;
                    continue;
                }
            }
            if (page_checksum(page) != run_[i])
                found_in_pages(run_first_ + i, 1, "the checksum is wrong");
        }
        if (!told) // the second read succeeded and nothing is lost; the first failure is reported all the same
            tell({read_at_once.why().message, copy});
        if (present < run_.size())
            found_missing(run_first_ + present, run_.size() - present);
    }

    // Pages without a checksum are mapped if their chunk is stored, so they must be zeros. Chunks whose checksums are
    // not in the table yet are skipped.
    void check_zeros(std::uint64_t first_page, std::uint64_t end_page) {
        if (how_deep_ != depth::pages)
            return;
        check_run();
        auto stored = std::upper_bound(stored_.begin(), stored_.end(), first_page * k_page_bytes,
                                       [](std::uint64_t at, const heap_range& each) { return at < each.end(); });
        for (; stored != stored_.end() && stored->offset < end_page * k_page_bytes; ++stored) {
            const std::uint64_t begin = std::max(first_page, stored->offset / k_page_bytes);
            check_stored_zeros(begin, std::min(end_page, stored->end() / k_page_bytes));
        }
    }

    void check_stored_zeros(std::uint64_t first_page, std::uint64_t end_page) {
        while (first_page < end_page) {
            const std::uint64_t chunk = first_page / image_.chunk_pages();
            const std::uint64_t end = std::min(end_page, (chunk + 1) * image_.chunk_pages());
            const std::uint64_t copy = image_.copy_of(first_page * k_page_bytes);
            if (copy >= file_bytes_)
                found_missing(first_page, end - first_page);
            else if (!checksums_.unpublished().contains(chunk))
                check_zeros_at(copy, first_page, end - first_page);
            first_page = end;
        }
    }

    void check_zeros_at(std::uint64_t copy, std::uint64_t first_page, std::uint64_t count) {
        const std::uint64_t present = pages_present(copy, count);
        const auto bytes = scratch(present * k_page_bytes);
        if (auto read = present == 0 ? result<void>() : heap_.file().read(copy, bytes); !read) {
            tell({read.why().message, copy});
            return;
        }
        for (std::uint64_t i = 0; i < present; ++i) {
            if (!is_all_zeros(bytes.subspan(static_cast<std::size_t>(i * k_page_bytes), k_page_bytes)))
                found_in_pages(first_page + i, 1, "never written, but not all zeros");
        }
        if (present < count)
            found_missing(first_page + present, count - present);
    }

    /// Returns how many of `count` pages at `copy` lie completely within the file.
    [[nodiscard]] std::uint64_t pages_present(std::uint64_t copy, std::uint64_t count) const {
        return copy >= file_bytes_ ? 0 : std::min(count, (file_bytes_ - copy) / k_page_bytes);
    }
    void found_missing(std::uint64_t first_page, std::uint64_t count) {
        found_in_pages(first_page, count, "missing, since the file ends at byte " + std::to_string(file_bytes_));
    }

    /// Joins equal reports about pages that are adjacent in heap and file.
    void found_in_pages(std::uint64_t first, std::uint64_t count, std::string_view what) {
        const std::uint64_t copy = image_.copy_of(first * k_page_bytes);
        if (bad_.count != 0 && bad_.first + bad_.count == first && bad_.what == what &&
            bad_.copy + bad_.count * k_page_bytes == copy) {
            bad_.count += count;
            return;
        }
        tell_of_pages();
        bad_ = {first, count, copy, std::string(what)};
    }
    void tell_of_pages() {
        if (bad_.count == 0)
            return;
        found_({pages_name(bad_.first, bad_.count) + ": " + bad_.what, bad_.copy, bad_.count * k_page_bytes});
        bad_.count = 0;
    }
    void tell(damage found) {
        tell_of_pages();
        found_(std::move(found));
    }

    /// Returns memory for the next read; its contents are unspecified.
    std::span<std::byte> scratch(std::uint64_t bytes) {
        const auto wanted = static_cast<std::size_t>(bytes);
        if (scratch_.size() < wanted)
            scratch_ = std::vector<std::byte>(wanted);
        return std::span(scratch_).first(wanted);
    }

    heap_file& heap_;
    image& image_;
    const page_checksums& checksums_;
    depth how_deep_;
    const std::function<void(damage)>& found_;
    const std::function<void(std::uint64_t, std::uint64_t)>& progress_;
    std::vector<heap_range> stored_; // ranges of the heap
    std::uint64_t file_bytes_ = 0;
    std::vector<std::byte> scratch_;
    std::uint64_t checked_ = 0;
    std::uint64_t run_first_ = 0;
    std::vector<std::uint32_t> run_; // checksums of pages that are consecutive in heap and file
    struct {
        std::uint64_t first = 0;
        std::uint64_t count = 0;
        std::uint64_t copy = 0;
        std::string what{};
    } bad_; // pages not reported yet
};

} // namespace

std::string pages_name(std::uint64_t first, std::uint64_t count) {
    if (count == 1)
        return "page " + std::to_string(first);
    return "pages " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

result<std::uint64_t> verify(heap_file& heap, const std::function<void(damage)>& found,
                             const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    verifier all(heap, depth::pages, found, progress);
    REM_TRY(all.check());
    return all.checked();
}

result<void> verify_structure(heap_file& heap, const std::function<void(damage)>& found) {
    return verifier(heap, depth::structure, found, {}).check();
}

} // namespace remanence::store
