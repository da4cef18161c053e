#include "types/root_survey.hpp"

#include "base/units.hpp"
#include "types/root_reader.hpp"

#include <bitset>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

namespace remanence::types {

namespace {

constexpr std::uint64_t k_granule_bytes = 8; // blocks begin at multiples of it

/// Of heap offsets of blocks. Memory: that of the parts of the heap which it has some of, not of the heap.
class block_set {
public:
    /// False when it is there already.
    bool insert(std::uint64_t offset) {
        const std::uint64_t granule = offset / k_granule_bytes;
        auto bit = parts_[granule / k_part][static_cast<std::size_t>(granule % k_part)];
        const bool is_new = !bit;
        bit = true;
        return is_new;
    }

private:
    static constexpr std::size_t k_part = 4096; // granules
    std::unordered_map<std::uint64_t, std::bitset<k_part>> parts_;
};

/// Follows one root.
class walk {
public:
    explicit walk(txn::inspection& heap) : heap_(heap), base_(heap.super().base) {}

    /// The first damage that the root reaches; an error is one of the system.
    result<std::optional<std::uint64_t>> run(std::uint64_t object) {
        reach(object);
        while (!pending_.empty()) {
            const byte_range block = pending_.back();
            pending_.pop_back();
            auto done = heap_.read(block, [&](std::uint64_t, std::span<const std::byte> bytes) {
                // Pieces begin where blocks and pages do, so words are aligned in them.
                for (std::size_t i = 0; i + sizeof(std::uint64_t) <= bytes.size(); i += sizeof(std::uint64_t)) {
                    std::uint64_t value = 0;
                    std::memcpy(&value, bytes.data() + i, sizeof value);
                    if (value - base_ < heap_.heap_bytes_end())
                        reach(value - base_);
                }
            });
            if (!done && !is_damage(done.why().code))
                return done.error();
            if (!done)
                return std::optional(done.why().offset);
        }
        return std::optional<std::uint64_t>();
    }

private:
    void reach(std::uint64_t offset) {
        const auto block = heap_.block_of(offset);
        if (block && seen_.insert(block->offset))
            pending_.push_back(*block);
    }

    txn::inspection& heap_;
    std::uint64_t base_;
    block_set seen_;
    std::vector<byte_range> pending_;
};

result<void> survey(txn::inspection& heap, surveyed_root& root) {
    auto own = heap.read({root.object, root.bytes}, [](std::uint64_t, std::span<const std::byte>) {});
    if (!own && !is_damage(own.why().code))
        return own.error();
    if (!own) {
        root.state = root_state::damaged;
        root.damage_offset = own.why().offset;
        return {};
    }
    if (!heap.knows_blocks()) {
        root.state = root_state::object_whole;
        return {};
    }
    auto damage = walk(heap).run(root.object);
    if (!damage)
        return damage.error();
    if (*damage) {
        root.state = root_state::reaches_damage;
        root.damage_offset = **damage;
    }
    return {};
}

} // namespace

result<std::vector<surveyed_root>> list_roots(txn::inspection& heap) {
    std::vector<surveyed_root> roots;
    auto damaged = [&](const failure& why) -> result<void> {
        if (!is_damage(why.code))
            return unexpected(why);
        heap.note(why);
        return {};
    };
    auto header = heap.header();
    if (!header) {
        REM_TRY(damaged(header.why()));
        return roots;
    }
    if (*header == nullptr)
        return roots;
    const root_reader reader(heap, heap.path());
    auto directory = reader.directory((*header)->root_word);
    if (!directory) {
        failure why = directory.why();
        why.message = "the roots cannot be found: " + why.message;
        why.offset = error::k_no_offset;
        REM_TRY(damaged(why));
        return roots;
    }
    for (std::uint64_t i = 0; *directory != nullptr && i < (*directory)->count; ++i) {
        auto entry = reader.entry(**directory, i);
        if (!entry) {
            failure why = entry.why();
            why.message = "root " + std::to_string(i + 1) + " of " + std::to_string((*directory)->count) +
                          " cannot be read from the root directory: " + why.message;
            why.offset = error::k_no_offset; // the page is told of by itself
            REM_TRY(damaged(why));
            continue;
        }
        surveyed_root root{};
        root.name = entry->name;
        root.type = entry->type;
        root.object = entry->object;
        root.bytes = entry->bytes;
        root.fingerprint_hash = entry->fingerprint_hash;
        root.fingerprint_algorithm = entry->fingerprint_algorithm;
        root.damage_offset = error::k_no_offset;
        if (!roots.empty() && roots.back().name >= root.name) {
            heap.note(
                {errc::corrupt,
                 "the root directory of " + heap.path() + " is not in the order of names at \"" + root.name + "\"",
                 heap.path()});
        }
        roots.push_back(std::move(root));
    }
    return roots;
}

void check_roots(txn::inspection& heap, const std::vector<surveyed_root>& roots) {
    for (const surveyed_root& root : roots) {
        if (!heap.knows_blocks())
            break;
        const auto block = heap.block_of(root.object);
        if (!block || block->end() < root.object + root.bytes) {
            heap.note({errc::corrupt,
                       "the root \"" + root.name + "\" of " + heap.path() + " does not lie in an allocated block",
                       heap.path()});
        }
    }
}

result<void> survey_roots(txn::inspection& heap, std::vector<surveyed_root>& roots) {
    check_roots(heap, roots);
    if (heap.problems().empty())
        return {};
    for (surveyed_root& root : roots)
        REM_TRY(survey(heap, root));
    return {};
}

} // namespace remanence::types
