#include "inspect/last_commit.hpp"

#include "base/checksum.hpp"
#include "base/range.hpp"
#include "format/superblock.hpp"
#include "store/heap_verification.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace remanence::inspect {

namespace {

constexpr unsigned k_looks = 12;                  // how often the places that do not fit are read again in each attempt
constexpr std::uint64_t k_pages_looked_at = 1000; // limits the time of one such look

/// Returns the page of the heap that a problem concerns; nothing if it concerns no page.
std::optional<std::uint64_t> page_of(inspection& heap, const problem& which) {
    if (which.path != heap.path() || which.code == errc::truncated)
        return {};
    const auto offset = heap.store().copies().heap_offset_at(which.offset); // nothing if there is no offset
    return offset ? std::optional(*offset / k_page_bytes) : std::nullopt;
}

/// The places that did not fit when they were last read: pages, and others.
struct suspects {
    std::vector<page_range> pages;
    std::vector<problem> others;
    [[nodiscard]] bool empty() const { return pages.empty() && others.empty(); }
    [[nodiscard]] std::uint64_t page_count() const {
        std::uint64_t count = 0;
        for (const page_range& each : pages)
            count += each.count;
        return count;
    }
    void add_page(std::uint64_t page) {
        if (!pages.empty() && pages.back().end() == page)
            ++pages.back().count;
        else
            pages.push_back({page, 1});
    }
};

suspects suspects_of(inspection& heap) {
    suspects found;
    for (const problem& each : heap.misfits()) {
        if (const auto page = page_of(heap, each))
            found.pages.push_back({*page, std::max<std::uint64_t>(1, divide_up(each.bytes, k_page_bytes))});
        else
            found.others.push_back(each);
    }
    return found;
}

bool fits(inspection& now, std::uint64_t page) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(k_page_bytes));
    return static_cast<bool>(now.store().image().read_pages(page, bytes));
}

bool page_is_proven(inspection& before, inspection& now, std::uint64_t page) {
    if (now.last_change_of(page) > before.version())
        return false; // a checkpoint may have written a commit that `before` had not read
    const auto was = before.store().image().checksum_of(page);
    const auto is = now.store().image().checksum_of(page);
    if (!was || !is || *was != *is)
        return false;
    const auto filled =
        *is != 0 ? result<bool>(true) : now.store().image().has_contents(page / now.store().image().chunk_pages());
    return filled && *filled && !fits(now, page);
}

bool is_proven(inspection& before, inspection& now, const problem& other) {
    if (other.path == before.path() && other.code != errc::truncated)
        return other.offset != error::k_no_offset; // a structure that the superblock names is certainly damaged
    return std::ranges::any_of(now.misfits(), [&](const problem& each) {
        return each.path == other.path && each.offset == other.offset && each.code == other.code;
    });
}

/// Returns those of `all` that are certainly damaged. `all` did not fit in `before`; `now` is the same heap, read
/// later.
suspects proven(inspection& before, inspection& now, const suspects& all) {
    suspects found;
    if (now.super().checksum != before.super().checksum)
        return found;
    for (const page_range& each : all.pages) {
        for (std::uint64_t page = each.first; page < each.end(); ++page) {
            if (page_is_proven(before, now, page))
                found.add_page(page);
        }
    }
    for (const problem& each : all.others) {
        if (is_proven(before, now, each))
            found.others.push_back(each);
    }
    return found;
}

std::vector<problem> as_problems(inspection& heap, const suspects& all) {
    std::vector<problem> found = all.others;
    const std::uint64_t chunk_pages = heap.store().image().chunk_pages(); // pages of a chunk are adjacent in the file
    for (page_range rest : all.pages) {
        while (rest.count != 0) {
            const std::uint64_t copy = heap.store().image().copy_of(rest.first * k_page_bytes);
            std::uint64_t count = std::min(rest.count, chunk_pages - rest.first % chunk_pages);
            while (count < rest.count &&
                   heap.store().image().copy_of((rest.first + count) * k_page_bytes) == copy + count * k_page_bytes)
                count += std::min(rest.count - count, chunk_pages);
            found.push_back({{errc::corrupt, store::pages_name(rest.first, count) + ": damaged", heap.path(), 0, copy},
                             count * k_page_bytes});
            rest = {rest.first + count, rest.count - count};
        }
    }
    return found;
}

/// Returns those of these pages that do not fit in a later look either, and all other places that do not fit in that
/// look.
suspects looked_at_again(inspection& now, const suspects& before) {
    suspects found;
    std::uint64_t left = k_pages_looked_at;
    for (const page_range& each : before.pages) {
        for (std::uint64_t page = each.first; page < each.end() && left > 0; ++page, --left) {
            const bool is_there = (page + 1) * k_page_bytes <= now.store().image().bytes();
            if (is_there && !fits(now, page))
                found.add_page(page);
        }
    }
    for (const problem& each : now.misfits()) {
        if (!page_of(now, each))
            found.others.push_back(each);
    }
    return found;
}

/// True if something is certainly damaged. Then problems() lists the real problems only; if the writer caused none,
/// that is all of them.
bool is_damaged(os::file_system& files, inspection& heap) {
    suspects open = suspects_of(heap);
    if (open.empty()) // all bytes fit
        return !heap.problems().empty();
    inspection* before = &heap;
    std::unique_ptr<inspection> latest;
    for (unsigned look = 0; look < k_looks; ++look) {
        if (look > 0)
            // so that looks and the writer's steps do not coincide
            std::this_thread::sleep_for(std::chrono::milliseconds(look));
        auto now = inspection::open_live(files, heap.path(), {});
        if (!now)
            continue;
        const suspects certain = proven(*before, **now, open);
        const bool is_all =
            before == &heap && certain.page_count() == open.page_count() && certain.others.size() == open.others.size();
        if (!certain.empty() && !is_all)
            heap.keep_only(as_problems(**now, certain));
        if (!certain.empty())
            return true;
        open = looked_at_again(**now, open);
        if (open.empty())
            return false;
        latest = std::move(*now);
        before = latest.get();
    }
    return false;
}

/// Returns a checksum of both superblocks, for the case that neither is valid; nothing if they cannot be read.
std::optional<std::uint64_t> checksum_of_superblocks(os::file_system& files, const std::string& path) {
    auto file = files.open(path, os::access::read_only);
    if (!file)
        return {};
    auto size = (*file)->size();
    if (!size)
        return {};
    std::vector<std::byte> bytes(static_cast<std::size_t>(
        std::min<std::uint64_t>(*size, format::k_superblock_count * format::k_superblock_bytes)));
    if (auto read = (*file)->read(0, bytes); !read)
        return {};
    return checksum64(bytes, *size);
}

} // namespace

result<std::unique_ptr<inspection>> with_last_commit(os::file_system& files, const std::string& path,
                                                     std::uint64_t attempts, const inspection_progress& progress,
                                                     const std::function<result<void>(inspection&)>& use) {
    attempt_count all{attempts};
    return with_last_commit(files, path, all, progress, use);
}

result<std::unique_ptr<inspection>> with_last_commit(os::file_system& files, const std::string& path,
                                                     attempt_count& attempts, const inspection_progress& progress,
                                                     const std::function<result<void>(inspection&)>& use) {
    std::optional<std::uint64_t> unreadable;
    std::string last;
    while (attempts.made < attempts.most) {
        ++attempts.made;
        auto opened = inspection::open(files, path, progress);
        const bool is_live = !opened && opened.why().code == errc::in_use;
        if (is_live)
            opened = inspection::open_live(files, path, progress);
        if (!opened) {
            const errc code = opened.why().code;
            // Also true if no process had the heap open for writing (not is_live): one may have begun to write since.
            const bool may_have_moved = is_damage(code) || code == errc::in_use ||
                                        (code == errc::not_found && (is_live || opened.why().path != path)); // its log
            const auto now = is_damage(code) ? checksum_of_superblocks(files, path) : std::nullopt;
            if (!may_have_moved || (now && now == unreadable) || (is_damage(code) && !now && !is_live))
                return opened.error();
            unreadable = now;
            last = opened.why().message;
            continue;
        }
        inspection& heap = **opened;
        if (auto done = use(heap); !done) {
            if (!is_damage(done.why().code))
                return done.error();
            if (heap.note(done.why()))
                heap.note_misfit(done.why());
        }
        if (!is_live) {
            auto same = heap.is_unchanged(files);
            if (!same)
                return same.error();
            if (*same)
                return opened;
            last = path + " was opened for writing meanwhile.";
            continue;
        }
        if (heap.problems().empty() || is_damaged(files, heap))
            return opened;
        last = heap.problems().front().message;
    }
    return fail(
        errc::in_use,
        path + " is open elsewhere and written to faster than it can be read: it changed during each of " +
            std::to_string(attempts.most) +
            " attempts. Try again when less is written, or close it first; if this stays the same, it is damage: " +
            last,
        path);
}

} // namespace remanence::inspect
