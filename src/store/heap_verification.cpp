#include "store/heap_verification.hpp"

#include "base/checksum.hpp"
#include "store/superblocks.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace remanence::store {

namespace {

constexpr std::uint64_t k_run_bytes = 1 * MiB;

class verifier {
public:
    verifier(heap_file& heap, const std::function<void(damage)>& found,
             const std::function<void(std::uint64_t, std::uint64_t)>& progress)
        : heap_(heap), found_(found), progress_(progress) {}

    result<void> check_superblocks() {
        superblock_places places{};
        REM_TRY(heap_.file().read(0, std::as_writable_bytes(std::span(places))));
        for (std::uint64_t i = 0; i < places.size(); ++i) {
            if (!is_valid(places[i], i))
                found_({"a superblock is damaged", i * format::k_superblock_bytes});
        }
        return {};
    }

    void check_map() {
        const format::superblock& super = heap_.super();
        auto map = chunk_map::read(heap_.file(), super.map, super.image_bytes / super.chunk_bytes);
        if (!map)
            found_({map.why().message, map.why().offset});
    }

    void check_region(const format::region& region, const checksum_table& table) {
        const std::uint64_t first = region.heap_offset / k_page_bytes;
        const std::uint64_t end = first + region.bytes / k_page_bytes;
        std::uint64_t next = first; // the page after the last one with a checksum
        bool is_gap_known = true;   // no damaged node since then, so that the pages between have no checksum
        bool strays = false;
        auto check_gap = [&](std::uint64_t to) {
            if (is_gap_known)
                check_zeros(next, to);
            is_gap_known = true;
        };
        table.walk(
            [&](std::uint64_t at) {
                found_({"a node of the checksum table is damaged; the pages it covers cannot be checked", at});
                is_gap_known = false;
            },
            [&](std::uint64_t page, std::uint32_t checksum) {
                if (first + page >= end) {
                    strays = true;
                    return;
                }
                check_gap(first + page);
                next = first + page + 1;
                check_page(first + page, checksum);
            });
        check_run();
        check_gap(end);
        if (strays)
            found_({"the checksum table names pages beyond its region", region.table_offset});
    }

    void check_unpublished() {
        for (const auto& [chunk, checksums] : heap_.unpublished()) {
            for (std::size_t i = 0; i < checksums.size(); ++i) {
                if (checksums[i] != 0)
                    check_page(chunk * heap_.chunk_pages() + i, checksums[i]);
            }
            check_run();
        }
    }

    [[nodiscard]] std::uint64_t checked() const { return checked_; }

private:
    /// Consecutive pages are gathered, so that they are read at one go.
    void check_page(std::uint64_t page, std::uint32_t checksum) {
        if (run_first_ + run_.size() != page || run_.size() * k_page_bytes >= k_run_bytes) {
            check_run();
            run_first_ = page;
        }
        run_.push_back(checksum);
    }

    void check_run() {
        if (run_.empty())
            return;
        checked_ += run_.size();
        check_pages();
        run_.clear();
        if (progress_)
            progress_(run_first_ * k_page_bytes, heap_.image_bytes());
    }

    void check_pages() {
        const auto bytes = scratch(run_.size() * k_page_bytes);
        const std::uint64_t home = heap_.home_of(run_first_ * k_page_bytes);
        const auto read_at_once = heap_.file().read(home, bytes);
        bool told = static_cast<bool>(read_at_once); // else page by page, to say which
        const bool readable = told;
        for (std::size_t i = 0; i < run_.size(); ++i) {
            const auto page = bytes.subspan(i * k_page_bytes, k_page_bytes);
            const std::uint64_t at = home + i * k_page_bytes;
            const std::string name = "page " + std::to_string(run_first_ + i);
            if (!heap_.is_stored((run_first_ + i) / heap_.chunk_pages())) {
                found_({name + " has a checksum, but according to the chunk map no place", at});
                told = true; // the file may end before
                continue;
            }
            if (!readable) {
                if (auto read = heap_.file().read(at, page); !read) {
                    found_({name + ": " + read.why().message, at});
                    told = true;
                    continue;
                }
            }
            if (page_checksum(page) != run_[i])
                found_({name + " is damaged", at});
        }
        if (!told) // it works the second time, so that nothing is known to be lost; still it failed
            found_({read_at_once.why().message, home});
    }

    // Pages of stored chunks that have no checksum are mapped like all others. Those of fresh chunks may have one that is
    // not in the table yet.
    void check_zeros(std::uint64_t first_page, std::uint64_t end_page) {
        while (first_page < end_page) {
            const std::uint64_t chunk = first_page / heap_.chunk_pages();
            const std::uint64_t end = std::min(end_page, (chunk + 1) * heap_.chunk_pages());
            const std::uint64_t begin = std::exchange(first_page, end);
            if (chunk * heap_.chunk_bytes() >= heap_.image_bytes())
                return;
            if (!heap_.is_stored(chunk) || heap_.unpublished().contains(chunk))
                continue;
            const auto bytes = scratch((end - begin) * k_page_bytes);
            const std::uint64_t home = heap_.home_of(begin * k_page_bytes);
            if (auto read = heap_.file().read(home, bytes); !read) {
                found_({read.why().message, home});
                continue;
            }
            for (std::uint64_t page = begin; page < end; ++page) {
                const std::uint64_t at = (page - begin) * k_page_bytes;
                const auto zeros = bytes.subspan(static_cast<std::size_t>(at), k_page_bytes);
                if (!is_all_zeros(zeros))
                    found_({"page " + std::to_string(page) + " was never written, but is not all zeros", home + at});
            }
        }
    }

    /// Memory for what is read next; it is not worth clearing each time.
    std::span<std::byte> scratch(std::uint64_t bytes) {
        const auto wanted = static_cast<std::size_t>(bytes);
        if (scratch_.size() < wanted)
            scratch_ = std::vector<std::byte>(wanted);
        return std::span(scratch_).first(wanted);
    }

    heap_file& heap_;
    const std::function<void(damage)>& found_;
    const std::function<void(std::uint64_t, std::uint64_t)>& progress_;
    std::vector<std::byte> scratch_;
    std::uint64_t checked_ = 0;
    std::uint64_t run_first_ = 0;
    std::vector<std::uint32_t> run_; // checksums of consecutive pages of a region
};

} // namespace

result<std::uint64_t> verify(heap_file& heap, const std::function<void(damage)>& found,
                             const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
    verifier all(heap, found, progress);
    REM_TRY(all.check_superblocks());
    all.check_map();
    for (std::size_t i = 0; i < heap.tables().size(); ++i)
        all.check_region(heap.super().regions[i], heap.tables()[i]);
    all.check_unpublished();
    return all.checked();
}

} // namespace remanence::store
