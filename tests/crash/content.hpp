// What a heap must contain: the bytes that the program wrote, kept apart from the heap itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace remanence::crash {

/// Deterministic pseudo-random numbers (splitmix64): the same on every machine, unlike those of <random>.
class generator {
public:
    explicit generator(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next();
    std::uint64_t below(std::uint64_t n) { return next() % n; }
    void fill(std::span<std::byte> bytes);

private:
    std::uint64_t state_;
};

// The objects in the heap: a root, and a list of blocks behind it. Its links are heap offsets, 0 at the end, since a heap need
// not be mapped at the same address each time.

struct list_block {
    std::uint64_t next;
    std::uint64_t id;
    std::uint64_t bytes; // of the block, this header included
};

struct list_root {
    std::uint64_t magic;
    std::uint64_t serial; // changes with every commit of the workload
    std::uint64_t count;
    std::uint64_t first;
    std::uint64_t scratch[4];
};

class content;

/// What a history that is kept over sessions knows at a version.
struct known_past {
    std::string steps;                                  // as store::steps() tells them
    std::vector<std::shared_ptr<const content>> states; // that undo and redo lead to; null: the one that memory is in
    std::size_t state = 0;                              // that one
    std::map<std::string, std::shared_ptr<const content>> kept; // by name; null, likewise
    std::map<std::uint64_t, std::shared_ptr<const content>>
        by_version{}; // all states that there ever were; null, likewise
};

/// Cheap to copy: versions share the pieces they have in common.
class content {
public:
    struct block {
        std::uint64_t offset; // in the heap
        std::uint64_t bytes;
    };
    static constexpr std::uint64_t k_root_magic = 0x746f6f7221212121;

    [[nodiscard]] bool has_root() const { return root_ != 0; }
    [[nodiscard]] std::uint64_t root() const { return root_; }
    [[nodiscard]] const std::vector<block>& blocks() const { return blocks_; } // in list order
    [[nodiscard]] std::uint64_t bytes() const;
    /// Bytes of the block that were written in one piece, from its beginning.
    [[nodiscard]] std::uint64_t filled_bytes(std::size_t index) const {
        return pieces_.at(blocks_[index].offset)->size();
    }

    void set_root(std::uint64_t offset) { root_ = offset; }
    /// Forgets the root, which has no blocks any more.
    void erase_root();
    void insert_front(block added) { blocks_.insert(blocks_.begin(), added); }
    /// Forgets a block and everything written into it.
    void erase(std::size_t index);
    /// The program wrote these bytes there. A piece is written whole first; later writes lie within one piece.
    void write(std::uint64_t offset, std::span<const std::byte> bytes);
    /// Equal for equal contents; different ones have the same once in 2⁶⁴.
    [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }
    /// How the memory differs from what it must be; nothing when it does not.
    [[nodiscard]] std::optional<std::string> difference(const std::byte* base) const;
    /// Of the version that holds this, once it is committed; null: not known. Copies have none.
    [[nodiscard]] const known_past* past() const { return past_.known.get(); }
    void set_past(known_past known) const { past_.known = std::make_shared<const known_past>(std::move(known)); }
    /// Whether [offset, offset+bytes) meets memory that is in use.
    [[nodiscard]] bool overlaps(std::uint64_t offset, std::uint64_t bytes) const;

private:
    using piece = std::shared_ptr<const std::vector<std::byte>>;
    using pieces = std::map<std::uint64_t, piece>; // by heap offset, disjoint
    static std::uint64_t fingerprint_of(const pieces::value_type& each);
    void erase(pieces::const_iterator first, pieces::const_iterator last);

    struct past_of_one {
        past_of_one() = default;
        past_of_one(const past_of_one&) {}
        past_of_one& operator=(const past_of_one&) {
            known.reset();
            return *this;
        }
        ~past_of_one() = default;
        std::shared_ptr<const known_past> known;
    };
    pieces pieces_;
    mutable past_of_one past_;
    std::uint64_t fingerprint_ = 0; // the sum of the pieces'; blocks and root are among them
    std::vector<block> blocks_;
    std::uint64_t root_ = 0;
};

} // namespace remanence::crash
