#include "subject.hpp"

#include "api/heap_impl.hpp"
#include "api/registry.hpp"
#include "base/range.hpp"
#include "format/log_record.hpp"
#include "log/record.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace remanence::damage {

namespace {

constexpr os::call_site k_call_site = "damage";
constexpr std::uint64_t k_field_bytes = 256 * KiB; // less to read at each try; a chunk of it is still skipped

} // namespace

subject::subject(sample::ending how) {
    const auto note = [&](heap& opened) {
        acknowledged_.resize(static_cast<std::size_t>(opened.version()));
        acknowledged_.back() = contents_of(opened);
    };
    sample::make(disk_, how, note, k_field_bytes);
    history_ = disk_.take_trace();
    intact_ = disk_.now();
    heap_bytes_ = read_file(sample::k_path);
    log_bytes_ = read_file(sample::k_log_path);
    if (!log_bytes_.empty())
        find_records();
    if (const auto as_made = compare(acknowledged_.back(), {}); !as_made.different.empty())
        throw std::logic_error("the sample itself: " + as_made.different);
    disk_.rewind(intact_);
    intact_print_ = disk_.fingerprint();
}

subject::contents subject::contents_of(heap& opened) {
    contents found{opened.version(), {}};
    const txn::engine& engine = detail::registry::find(opened.base())->engine();
    const std::byte* const base = engine.memory().base();
    found.blocks.push_back({0, {base, base + offsetof(format::heap_header, allocator)}});
    for (std::uint64_t at = k_page_bytes; at < engine.stats().committed_bytes;) {
        const auto block = engine.memory().block_of(base + at);
        if (!block) {
            at += 16;
            continue;
        }
        const auto* start = static_cast<const std::byte*>(block->start);
        found.blocks.push_back({static_cast<std::uint64_t>(start - base), {start, start + block->bytes}});
        at = found.blocks.back().offset + block->bytes;
    }
    return found;
}

std::string subject::difference(const contents& expected, const txn::engine& found) {
    for (const block& each : expected.blocks) {
        if (each.offset + each.bytes.size() > found.memory().accessible_bytes())
            return "the heap ends before the block at " + std::to_string(each.offset);
        if (std::memcmp(found.memory().base() + each.offset, each.bytes.data(), each.bytes.size()) != 0)
            return "the block at heap offset " + std::to_string(each.offset) + " has other contents";
    }
    return {};
}

result<std::unique_ptr<txn::engine>> subject::open() {
    txn::engine_options options;
    options.reserve_bytes = 64 * MiB;
    // Damage is the same to every tracker; these settings make a try cheaper.
    options.tracker = track::tracker_choice::fallback;
    options.core_dump = true;
    return txn::engine::open(disk_, sample::k_path, txn::open_mode::open_existing, options, detail::k_abi);
}

std::vector<std::byte> subject::read_file(const char* path) {
    if (!*disk_.exists(path))
        return {};
    auto file = std::move(*disk_.open(path, os::access::read_only));
    std::vector<std::byte> bytes(static_cast<std::size_t>(*file->size()));
    if (!file->read(0, bytes))
        throw std::logic_error("cannot read the simulated file");
    return bytes;
}

void subject::write_file(const damage& done) {
    auto file = std::move(*disk_.open(done.path, os::access::read_write));
    if (!file->write(k_call_site, done.offset, done.bytes))
        throw std::logic_error("cannot write the simulated file");
}

void subject::find_records() {
    for (std::uint64_t at = format::k_log_header_bytes; at < log_bytes_.size(); at += format::k_record_alignment) {
        format::record_header header{};
        const auto rest = std::span(log_bytes_).subspan(static_cast<std::size_t>(at));
        if (!log::looks_like_record(rest, header))
            continue;
        const std::uint64_t bytes = align_up(sizeof header + header.payload_bytes, format::k_record_alignment);
        log_written_end_ = std::max(log_written_end_, at + bytes);
        records_[header.version] = {at, bytes};
    }
}

bool subject::meets_all_records_after(std::uint64_t version, const damage& done) const {
    if (done.path != sample::k_log_path)
        return false;
    return std::all_of(records_.upper_bound(version), records_.end(), [&](const auto& record) {
        const file_range range = record.second;
        return done.offset < range.end() && range.offset < done.offset + done.bytes.size();
    });
}

std::vector<std::byte> subject::original(const damage& done) const {
    const auto& from = done.path == sample::k_path ? heap_bytes_ : log_bytes_;
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(done.offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(done.bytes.size())};
}

std::vector<damage> subject::older_versions(std::uint64_t unit) const {
    struct versions {
        std::vector<std::byte> file;
        std::map<std::uint64_t, std::set<std::vector<std::byte>>> seen;
    };
    std::map<std::string, versions> files; // a log of an earlier session is an older version of the present one
    std::map<std::uint32_t, std::string> names;
    for (const simulation::disk_operation& each : history_) {
        if (each.what == simulation::disk_operation::kind::create)
            names[each.inode] = each.path;
        if (each.what == simulation::disk_operation::kind::rename)
            files[each.to] = std::move(files[std::exchange(names[each.inode], each.to)]);
        if (!each.is_write() || each.failed)
            continue;
        auto& [file, seen] = files[names.at(each.inode)];
        const std::uint64_t end = align_up(each.offset + each.bytes, unit);
        file.resize(std::max<std::size_t>(file.size(), end));
        const auto at = file.begin() + static_cast<std::ptrdiff_t>(each.offset);
        if (each.data.empty())
            std::fill_n(at, each.bytes, std::byte{0});
        else
            std::copy(each.data.begin(), each.data.end(), at);
        for (std::uint64_t part = align_down(each.offset, unit); part < end; part += unit) {
            const auto begin = file.begin() + static_cast<std::ptrdiff_t>(part);
            seen[part].emplace(begin, begin + static_cast<std::ptrdiff_t>(unit));
        }
    }
    std::vector<damage> found;
    for (const auto& [path, versions] : files) {
        const std::uint64_t size = (path == sample::k_path ? heap_bytes_ : log_bytes_).size();
        for (const auto& [offset, earlier] : versions.seen) {
            for (const auto& bytes : earlier) {
                damage older{path, offset, bytes};
                if (offset + unit <= size && original(older) != bytes)
                    found.push_back(std::move(older));
            }
        }
    }
    return found;
}

verdict subject::try_with(const damage& done, bool goes_on) {
    disk_.rewind(intact_);
    write_file(done);
    auto opened = open();
    if (!opened)
        return refused(opened.why(), done);

    const std::uint64_t version = (*opened)->version();
    const std::uint64_t last = acknowledged_.size();
    const bool is_earlier = version < last && meets_all_records_after(version, done);
    const contents& expected = is_earlier ? acknowledged_[static_cast<std::size_t>(version - 1)] : acknowledged_.back();
    const std::string different =
        version == expected.version ? difference(expected, **opened) : "it is version " + std::to_string(version);
    const std::uint64_t print = disk_.fingerprint();
    const bool is_known = different.empty() && sound_.contains({version, print});
    verdict found{outcome::harmless, false, {}};
    bool reported = false;
    if (!is_known) {
        auto report = (*opened)->verify();
        if (!report)
            return {outcome::reported, false, "verify() failed: " + report.why().message};
        reported = !report->problems.empty();
        found.names_the_place =
            std::any_of(report->problems.begin(), report->problems.end(), [&](const store::damage& problem) {
                return align_down(problem.offset, k_page_bytes) == align_down(done.offset, k_page_bytes);
            });
    }
    if (reported) {
        found.how = outcome::reported;
    } else if (!different.empty()) {
        found.violation = "nobody noticed that " + different;
    } else if (is_earlier) {
        found.how = outcome::taken_for_torn;
    } else {
        auto file = disk_.open(done.path, os::access::read_only);
        std::vector<std::byte> now(done.bytes.size());
        const bool is_still_there = file && (*file)->read(done.offset, now) && now == done.bytes;
        if (!is_still_there)
            found.how = outcome::recovered;
    }
    if (!found.violation.empty() || is_known || (reported && !goes_on))
        return found;
    contents added;
    auto engine = std::move(*opened);
    std::string failed = use(*engine, expected, added);
    engine.reset();
    const comparison after = compare(expected, added);
    if (failed.empty())
        failed = after.different;
    if (!failed.empty() && !reported)
        found.violation = failed;
    // Reported damage may stand in the way of anything, but must not be made to look whole.
    if (!failed.empty() && reported && after.looks_whole)
        found.violation = "damage that was reported became a silent one: " + failed;
    if (failed.empty() && !reported)
        sound_.insert({version, print});
    return found;
}

// Nothing may be lost by the attempt: without the damage, the heap opens as it would have.
verdict subject::refused(const failure& why, const damage& done) {
    verdict found{outcome::refused, false, {}};
    const std::uint64_t place = why.offset;
    found.names_the_place =
        why.path == done.path && place != error::k_no_offset &&
        (align_down(place, k_page_bytes) == align_down(done.offset, k_page_bytes) ||
         (done.path == sample::k_log_path && place <= done.offset)); // a record, which may be longer than a page
    if (why.path != sample::k_path && why.path != sample::k_log_path)
        found.violation = "the error names no file: " + why.message;
    if (why.code == errc::corrupt && place == error::k_no_offset)
        found.violation = "the error names no place: " + why.message;
    if (!found.violation.empty())
        return found;
    write_file({done.path, done.offset, original(done)});
    if (disk_.fingerprint() == intact_print_)
        return found; // it opens as the sample did in the constructor
    if (const auto repaired = compare(acknowledged_.back(), {}); !repaired.different.empty())
        found.violation = "after it was refused (" + why.message + ") and repaired: " + repaired.different;
    return found;
}

subject::comparison subject::compare(const contents& expected, const contents& added) {
    auto opened = open();
    if (!opened)
        return {"it does not open: " + opened.why().message, false};
    auto report = (*opened)->verify();
    if (!report)
        return {"verify() failed: " + report.why().message, false};
    if (!report->problems.empty())
        return {"verify() found: " + report->problems.front().what, false};
    if ((*opened)->version() != std::max(expected.version, added.version))
        return {"it is version " + std::to_string((*opened)->version()), true};
    std::string different = difference(expected, **opened);
    return {different.empty() ? difference(added, **opened) : different, true};
}

// A program goes on: it takes memory, in chunks that are stored and in others, and commits and closes.
std::string subject::use(txn::engine& opened, const contents& holds, contents& added) {
    std::optional<unexpected> why;
    for (const std::uint64_t bytes : {std::uint64_t{40}, 5000 + k_page_bytes, 72 * KiB}) {
        auto* taken = static_cast<std::byte*>(opened.memory().allocate(bytes, 16, why));
        if (taken == nullptr)
            return "no memory: " + why->why().message;
        const auto offset = static_cast<std::uint64_t>(taken - opened.memory().base());
        const auto is_in_its_way = [&](const block& other) {
            return offset < other.offset + other.bytes.size() && other.offset < offset + bytes;
        };
        if (std::ranges::any_of(holds.blocks, is_in_its_way) || std::ranges::any_of(added.blocks, is_in_its_way))
            return "a new block lies over one in use";
        std::fill_n(taken, std::min<std::uint64_t>(bytes, 6000), std::byte{0x5a}); // the rest stays untouched
        added.blocks.push_back({offset, {taken, taken + bytes}});
    }
    if (auto committed = opened.commit(); !committed)
        return "the next commit failed: " + committed.why().message;
    added.version = opened.version();
    if (auto closed = opened.close(); !closed)
        return "the next close failed: " + closed.why().message;
    return {};
}

} // namespace remanence::damage
