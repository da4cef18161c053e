// Input: a byte that chooses the heap (odd: with a log) and which checksums are repaired afterwards, then patches of any of
// its parts: which part (1 byte), where (3), what is done (1), and the bytes. The heap is looked at as rem does it, copied,
// and opened by the engine; whoever finds it sound must be right.
#include "base/checksum.hpp"
#include "heap_files.hpp"
#include "inspect/inspection.hpp"
#include "inspect/root_survey.hpp"
#include "log_input.hpp"
#include "store/checksum_table.hpp"
#include "store/heap_copy.hpp"
#include "store/superblocks.hpp"
#include "support/sample_heap.hpp"

#include <algorithm>
#include <array>
#include <set>

using namespace remanence;
using namespace remanence::fuzz;

namespace {

constexpr const char* k_copy = "/disk/copy.rem";
constexpr std::uint64_t k_map_seed = 0x6d6170; // docs/format.md
constexpr std::uint64_t k_copy_bytes_max = 64 * MiB;

heap_files& files(std::size_t which) {
    static std::array<heap_files, 2> both{heap_files(heap_files::kind::closed),
                                          heap_files(heap_files::kind::unapplied)};
    return both[which];
}

enum class part : std::uint8_t { superblock, other_superblock, map, table, pages, log, heap_end, log_end, count };

// What the first byte says, but for the heap.
constexpr unsigned k_repair_pages = 2;
constexpr unsigned k_repair_tables = 4;
constexpr unsigned k_repair_map = 8;
constexpr unsigned k_repair_superblocks = 16;
constexpr unsigned k_repair_log = 32;
constexpr unsigned k_loose_log = 64;

/// Overwrites, or adds a number that is not far-fetched to one that is there.
void patch(std::span<std::uint8_t> bytes, std::uint64_t where, unsigned how, std::span<const std::uint8_t> with) {
    if (bytes.size() < sizeof(std::uint64_t) || with.empty())
        return;
    if (how < 128) {
        const std::size_t at = static_cast<std::size_t>(where % bytes.size());
        std::copy_n(with.begin(), std::min(with.size(), bytes.size() - at),
                    bytes.begin() + static_cast<std::ptrdiff_t>(at));
        return;
    }
    const std::size_t at = static_cast<std::size_t>(where % (bytes.size() / 8) * 8);
    const std::uint64_t by = std::uint64_t{with[0]} - 128; // wraps around
    fuzz::store(bytes, at, load<std::uint64_t>(bytes, at) + (by << how % 48));
}

/// The heap on its disk as an input has it.
class forger {
public:
    forger(heap_files& heap, unsigned repairs) : heap_(heap), repairs_(repairs) {
        heap.reset();
        const std::size_t bytes = 2 * format::k_superblock_bytes;
        superblocks_.resize(bytes);
        std::memcpy(superblocks_.data(), heap.heap().data(), bytes);
        super_place_ = heap.super().sequence % 2;
        if (!heap.log().empty())
            log_ = log_input(heap.log(), 20'000);
    }

    void apply(part which, std::uint64_t where, unsigned how, std::span<const std::uint8_t> with) {
        const format::superblock& super = heap_.super();
        const format::region& region = super.regions[0];
        switch (which) {
        case part::superblock:
            return patch(superblock(super_place_), where, how, with);
        case part::other_superblock:
            return patch(superblock(1 - super_place_), where, how, with);
        case part::map:
            return patch_file(super.map.area_offset + super.map.slot * super.map.slot_bytes,
                              std::max<std::uint64_t>(1, super.map.count) * sizeof(format::chunk_exception), where, how,
                              with);
        case part::table:
            return patch_file(region.table_offset + region.root.slot * format::k_node_bytes, format::k_node_bytes,
                              where, how, with);
        case part::pages: {
            const std::uint64_t count = (heap_.heap().size() - region.copy_a_offset) / k_page_bytes;
            const std::uint64_t page =
                where % 8 < 4 ? where / 8 % 4 : where / 8 % count; // the first ones lead to all others
            pages_.insert(page);
            return patch_file(region.copy_a_offset + page * k_page_bytes, k_page_bytes, where / 8 / count, how, with);
        }
        case part::log:
            return patch(log_, where, how, with);
        case part::heap_end:
            return heap_.resize(sample::k_path, where % (heap_.heap().size() + k_page_bytes));
        case part::log_end:
            if (!log_.empty())
                heap_.resize(sample::k_log_path, where % heap_.log().size());
            return;
        case part::count:
            return;
        }
    }

    void finish() {
        auto super = load<format::superblock>(superblocks_, super_place_ * format::k_superblock_bytes);
        if ((repairs_ & k_repair_pages) != 0)
            repair_pages(super);
        if ((repairs_ & k_repair_tables) != 0)
            repair_root(super);
        if ((repairs_ & k_repair_map) != 0)
            repair_map(super);
        fuzz::store(std::span(superblocks_), super_place_ * format::k_superblock_bytes, super);
        for (std::uint64_t place = 0; place < 2 && (repairs_ & k_repair_superblocks) != 0; ++place) {
            auto each = load<format::superblock>(superblocks_, place * format::k_superblock_bytes);
            each.checksum = store::superblock_checksum(each, place);
            fuzz::store(std::span(superblocks_), place * format::k_superblock_bytes, each);
        }
        heap_.write_heap(0, superblocks_);
        if (log_.empty())
            return;
        if ((repairs_ & k_repair_log) != 0)
            repair_log(log_, heap_.super(), (repairs_ & k_loose_log) != 0);
        auto log = std::move(*heap_.disk().open(sample::k_log_path, os::access::read_only));
        if (*log->size() == heap_.log().size()) // else it was cut
            heap_.write_log_input(log_);
    }

private:
    std::span<std::uint8_t> superblock(std::uint64_t place) {
        return std::span(superblocks_).subspan(place * format::k_superblock_bytes, sizeof(format::superblock));
    }
    std::unique_ptr<os::file> file() { return std::move(*heap_.disk().open(sample::k_path, os::access::read_write)); }

    void patch_file(std::uint64_t offset, std::uint64_t bytes, std::uint64_t where, unsigned how,
                    std::span<const std::uint8_t> with) {
        std::vector<std::uint8_t> area(static_cast<std::size_t>(bytes));
        if (!file()->read(offset, std::as_writable_bytes(std::span(area)))) // cut off
            return;
        patch(area, where, how, with);
        heap_.write_heap(offset, area);
    }
    void repair_pages(format::superblock& super) {
        const auto heap = file();
        const format::region where = heap_.super().regions[0];
        store::checksum_table table(*heap, where);
        std::vector<std::byte> bytes(k_page_bytes);
        for (const std::uint64_t page : pages_) {
            const bool is_there = static_cast<bool>(heap->read(where.copy_a_offset + page * k_page_bytes, bytes));
            if (is_there && !table.set(page, page_checksum(bytes)))
                return; // the table is damaged, too
        }
        std::vector<store::planned_write> writes;
        if (auto root = table.take_changed(writes))
            super.regions[0].root = *root;
        for (const store::planned_write& each : writes)
            static_cast<void>(heap->write("fuzz: checksum table", each.offset, each.bytes));
    }
    void repair_root(format::superblock& super) {
        std::array<std::byte, format::k_node_bytes> node{};
        format::node_reference& root = super.regions[0].root;
        if (file()->read(heap_.super().regions[0].table_offset + (root.slot & 1) * format::k_node_bytes, node))
            root.checksum = store::node_checksum(node);
    }
    void repair_map(format::superblock& super) {
        const format::map_reference& map = heap_.super().map;
        const std::uint64_t count =
            std::min<std::uint64_t>(super.map.count, map.slot_bytes / sizeof(format::chunk_exception));
        std::vector<std::byte> bytes(static_cast<std::size_t>(count * sizeof(format::chunk_exception)));
        if (file()->read(map.area_offset + map.slot * map.slot_bytes, bytes))
            super.map.checksum = checksum64(bytes, k_map_seed);
    }

    heap_files& heap_;
    unsigned repairs_;
    std::vector<std::uint8_t> superblocks_;
    std::uint64_t super_place_ = 0;
    std::vector<std::uint8_t> log_; // as log_input.hpp has it
    std::set<std::uint64_t> pages_; // that were patched
};

struct what_was_seen {
    std::optional<failure> refused; // or it failed for want of the system
    bool is_sound = false;
    bool is_only_a_superblock = false; // that is damaged
    std::uint64_t version = 0;
    std::uint64_t checksum = 0;
};

/// As rem copy: empty when it makes none.
std::vector<std::byte> copy_of(inspect::inspection& heap) {
    std::vector<std::byte> bytes;
    if (!heap.problems().empty() || !heap.check_structure())
        return bytes;
    auto roots = inspect::list_roots(heap);
    if (!roots)
        return bytes;
    inspect::check_roots(heap, *roots);
    if (!heap.problems().empty())
        return bytes;
    auto copied = store::copy_bytes(heap.store(),
                                    [&](std::span<const std::byte> piece) -> result<void> {
                                        if (bytes.size() + piece.size() > k_copy_bytes_max)
                                            return fail(errc::no_space, "too long", k_copy);
                                        bytes.insert(bytes.end(), piece.begin(), piece.end());
                                        return {};
                                    },
                                    {});
    if (!copied)
        bytes.clear();
    return bytes;
}

/// As rem copy, if there is a place for one, and then as rem info, ls and verify.
what_was_seen look_at(os::file_system& disk, const char* path, std::vector<std::byte>* copy) {
    what_was_seen seen;
    auto opened = inspect::inspection::open(disk, path, {});
    if (!opened) {
        seen.refused = opened.why();
        return seen;
    }
    inspect::inspection& heap = **opened;
    if (copy != nullptr)
        *copy = copy_of(heap);
    auto parts = heap.check_all({});
    auto roots = parts ? inspect::list_roots(heap) : result<std::vector<inspect::surveyed_root>>(parts.error());
    auto surveyed = roots ? inspect::survey_roots(heap, *roots) : result<void>(roots.error());
    if (!surveyed) {
        require(!is_damage(surveyed.why().code), "damage ended an inspection: " + surveyed.why().message);
        seen.refused = surveyed.why();
        return seen;
    }
    seen.is_sound = heap.problems().empty();
    seen.is_only_a_superblock =
        heap.problems().size() == 1 && heap.problems()[0].offset < 2 * format::k_superblock_bytes;
    seen.version = heap.version();
    const std::uint64_t bytes = heap.store().image().bytes();
    if ((seen.is_sound || seen.is_only_a_superblock) && bytes <= k_compared_bytes_max) {
        std::vector<std::byte> memory;
        auto read = heap.read({0, bytes}, [&](std::uint64_t, std::span<const std::byte> piece) {
            memory.insert(memory.end(), piece.begin(), piece.end());
        });
        require(static_cast<bool>(read), "a sound heap cannot be read");
        seen.checksum = checksum64(memory);
    }
    return seen;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2)
        return 0;
    heap_files& heap = files(data[0] % 2);
    forger input(heap, data[0]);
    for (std::span rest(data + 1, size - 1); rest.size() > 5;) {
        const std::uint64_t where = rest[1] | std::uint64_t{rest[2]} << 8 | std::uint64_t{rest[3]} << 16;
        const unsigned how = rest[4];
        const std::size_t bytes = std::min<std::size_t>(how < 128 ? 1 + how % 16 : 1, rest.size() - 5);
        input.apply(static_cast<part>(rest[0] % static_cast<unsigned>(part::count)), where, how,
                    rest.subspan(5, bytes));
        rest = rest.subspan(5 + bytes);
    }
    input.finish();

    std::vector<std::byte> copy;
    const what_was_seen seen = look_at(heap.disk(), sample::k_path, &copy);
    require(!seen.is_sound || !copy.empty() || heap.super().image_bytes > k_copy_bytes_max, "no copy of a sound heap");
    if (!copy.empty()) {
        auto file = std::move(*heap.disk().open_or_create(k_copy, 0600));
        require(static_cast<bool>(file->write("fuzz", 0, copy)), "cannot write the copy");
        const what_was_seen again = look_at(heap.disk(), k_copy, nullptr);
        require(again.is_sound, "the copy is not sound" + (again.refused ? ": " + again.refused->message : ""));
        require(again.version == seen.version, "the copy is another commit");
        require(static_cast<bool>(heap.disk().remove("fuzz", k_copy)), "cannot remove the copy");
    }
    const what_opened found = heap.open_and_check();
    if (seen.is_sound) {
        require(!found.refused || !is_damage(found.refused->code),
                "what an inspection finds sound does not open: " + (found.refused ? found.refused->message : ""));
        require(found.refused || found.is_sound, "what an inspection finds sound is not when it is open");
    }
    if (!found.refused && found.is_sound) {
        require(seen.is_sound || seen.is_only_a_superblock || (seen.refused && !is_damage(seen.refused->code)),
                "what opens, and is sound then, is not for an inspection");
        require(seen.refused || (seen.version == found.version && seen.checksum == found.checksum),
                "an inspection sees another commit than the open");
    }
    return 0;
}
