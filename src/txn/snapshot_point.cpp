#include "txn/snapshot_point.hpp"

#include "base/assert.hpp"
#include "base/range_list.hpp"
#include "base/units.hpp"

#include <new>

namespace remanence::txn {

namespace {

// How many bytes of log are reserved for each copied page. How much of a page has changed is known only after the later
// comparison. Reserving for the worst case would write as many zeros to the log as the pages have bytes.
constexpr std::uint64_t k_record_bytes_of_page = 64;
constexpr std::uint64_t k_steps_read_ahead = 4;
constexpr std::uint64_t k_few_bytes = 4 * MiB;
constexpr std::uint64_t k_spare_from_bytes = 2 * MiB; // smaller points do not need whole blocks
constexpr std::size_t k_points_max = 64; // whoever looks for the newest content of a page looks through all of them

/// Adds the time for which it exists.
class waiting_time {
public:
    explicit waiting_time(std::chrono::nanoseconds& sum) : sum_(sum) {}
    waiting_time(const waiting_time&) = delete;
    waiting_time& operator=(const waiting_time&) = delete;
    ~waiting_time() { sum_ += std::chrono::steady_clock::now() - begun_; }

private:
    std::chrono::nanoseconds& sum_;
    const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

} // namespace

// Where a point would do harm, the commit is made at once. Inspection and red zones must be able to refuse the commit
// in the call that makes it. A history must copy the bytes that a commit overwrites before they are lost. And new
// memory that is not mapped from the file yet takes more space than it needs until a commit is made at once.
bool snapshot_point::may_begin() const {
    return checkpoints_.are_carried_out_beside() && session_.has_begun() && !options_.is_shared && !options_.history &&
           !options_.inspect && !memory_.has_red_zones() && !has_failed() && !budget_.holds_too_many_unmapped();
}

// While points are in flight, even a small point is copied: otherwise its call would have to finish them.
result<std::optional<std::uint64_t>> snapshot_point::begin() {
    REM_TRY(make_room_for_copies());
    if (has_failed())
        return std::optional<std::uint64_t>();
    auto copied = view_.collector().copy_written(
        memory_.unused_pages(),
        {is_in_flight() ? 0 : bytes_min_, budget_.copies_limit_bytes(), committer_.held_back_max()});
    space_.note_left_copies();
    if (!copied)
        return copied.error();
    if (!*copied)
        return std::optional<std::uint64_t>();
    if ((*copied)->is_empty()) {
        view_.accept({}); // the written pages equal committed content
        committer_.all_is_committed();
        return std::optional(session_.promised());
    }
    std::list<point> next;
    next.push_back({.version = session_.promised() + 1, .copies = std::move(**copied)});
    point& begun = next.back();
    begun.nothing.reserve(0, 0, 0, {});
    auto reserved = names_.find();
    if (reserved)
        reserved = reserve(begun.copies);
    if (!reserved) {
        begun.copies.clear();
        return reserved.error();
    }
    view_.begin_with_copies(begun.copies);
    in_flight_.splice(in_flight_.end(), next);
    committer_.all_is_committed();
    session_.promise();
    return std::optional(begun.version);
}

result<void> snapshot_point::make_room_for_copies() {
    const std::uint64_t written = view_.collector().gathered_bytes();
    const auto exceeds_memory = [&](std::uint64_t bytes) { // few bytes are not worth asking for the limit
        return bytes > k_few_bytes && bytes > budget_.all_copies_limit_bytes();
    };
    const auto are_too_many = [&] {
        return is_in_flight() && (in_flight_.size() >= k_points_max || exceeds_memory(bytes_in_flight() + written));
    };
    while (are_too_many()) {
        const waiting_time waiting(wait_);
        REM_TRY(advance(~std::uint64_t{0}));
    }
    return {};
}

std::uint64_t snapshot_point::bytes_in_flight() const {
    std::uint64_t bytes = 0;
    for (const point& each : in_flight_)
        bytes += each.copies.bytes();
    return bytes;
}

// Reserves places in the file, with space, for fresh chunks. Other pages have a place already, and whether they have
// changed is known only after the later comparison. Includes what the points in flight have reserved, since nothing of
// that is used yet.
result<void> snapshot_point::reserve(const view::page_copies& next) {
    std::vector<heap_range> pages;
    const auto append = [&](const view::page_copies& copies) {
        for (const view::page_copies::piece& piece : copies.pieces())
            pages.push_back(piece.pages);
    };
    append(next);
    for (const point& each : in_flight_)
        append(each.copies);
    sort_and_merge(pages);
    return committer_.reserve_early(view_.collector().fresh_in(pages),
                                    (in_flight_.size() + 1) * sizeof(format::record_header) +
                                        (bytes_in_flight() + next.bytes()) / k_page_bytes * k_record_bytes_of_page);
}

result<void> snapshot_point::finish() {
    while (is_in_flight())
        REM_TRY(advance(~std::uint64_t{0}));
    return {};
}

result<void> snapshot_point::finish_for_commit() {
    if (!is_in_flight())
        return {};
    const waiting_time waiting(wait_);
    return finish();
}

result<void> snapshot_point::advance(std::uint64_t bytes_max) {
    REM_TRY(health_.usable());
    point& oldest = in_flight_.front();
    bool is_writing = false;
    try {
        auto compared = view_.collector().compare_copies(oldest.copies, oldest.compared, bytes_max);
        if (!compared)
            return give_up(std::move(compared.error().why()));
        if (!*compared)
            return {};
        auto made = make(oldest, is_writing);
        if (!made)
            return made.error();
        if (*made)
            return give_up(std::move(**made));
    } catch (const std::bad_alloc&) {
        if (is_writing)
            health_.lack_memory();
        if (health_.is_poisoned())
            throw;
        return give_up({});
    }
    oldest.copies.clear();
    in_flight_.pop_front();
    return {};
}

// Returns the reason if the record cannot be made. If this function fails, the heap is poisoned.
result<std::optional<failure>> snapshot_point::make(point& oldest, bool& is_writing) {
    REM_CHECK(oldest.version == session_.version() + 1);
    pending_commit commit{commit_scope::everything, std::move(oldest.compared.changes), &oldest.copies};
    oldest.compared = {};
    committer_.take_record(commit);
    auto reserved = committer_.reserve(commit);
    if (!reserved && reserved.why().code == errc::no_space && checkpoints_.is_under_way()) {
        REM_TRY(checkpoints_.finish()); // the end of the checkpoint may free parts of the log
        reserved = committer_.reserve(commit);
    }
    if (!reserved && health_.is_poisoned())
        return reserved.error();
    if (!reserved)
        return std::optional(std::move(reserved.error().why()));
    pages_changed_ = commit.changes.pages.size();
    is_writing = true;
    REM_TRY(committer_.write(commit));
    return std::optional<failure>();
}

result<void> snapshot_point::give_up(std::optional<failure> why) {
    return health_.poisoning_without_memory([&]() -> result<void> {
        if (failed_) {
            for (const point& each : in_flight_)
                failed_(each.version, why); // before the empty record of this version can become durable
        }
        memory_.declared().note_other_changes();
        for (const point& each : in_flight_)
            view_.give_up_copies(each.copies);
        why_ = std::move(why);
        std::list<point> given_up;
        given_up.swap(in_flight_);
        failed_points_.splice(failed_points_.end(), given_up);
        for (point& each : failed_points_) {
            each.compared = {};
            REM_TRY(committer_.write_nothing(each.nothing));
        }
        return {};
    });
}

// The next point probably has as many pages as the last one.
bool snapshot_point::needs_spare() const {
    return is_in_flight() && in_flight_.back().copies.bytes() >= k_spare_from_bytes &&
           view_.committed().memory().free_pages() * k_page_bytes < in_flight_.back().copies.bytes();
}

std::vector<file_range> snapshot_point::places_of_next_steps() const noexcept {
    try {
        if (is_in_flight())
            return view_.collector().places_to_compare(in_flight_.front().copies, in_flight_.front().compared,
                                                       k_steps_read_ahead * step_bytes_);
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): the step reads them itself
    }
    return {};
}

void snapshot_point::restore_failed() {
    for (const point& each : failed_points_)
        view_.restore_copies(each.copies);
    memory_.declared().note_other_changes();
}

void snapshot_point::forget() {
    for (point& each : failed_points_)
        each.copies.clear();
    failed_points_.clear();
    why_.reset();
}

} // namespace remanence::txn
