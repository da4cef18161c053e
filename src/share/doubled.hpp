// A record of several words that one process at a time changes, and any number read: two copies and a word that says which one holds.
// Whoever dies while he writes leaves the other copy, and nobody waits: with a counter that is odd meanwhile, readers would.
//
//  DB1  The number that is published never goes back. It may jump, so that the copy is not told by it: a batch of two commits would
//      overwrite the copy that readers use.
//  DB2  A copy is written only while the word points to the other one, and begins to be written only after that was published. So
//      what was read between two equal looks at the word is whole.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace remanence::share {

/// `Policy` gives `word`, which is read and written beside other protocol steps, and `field`.
template <class Policy, std::size_t Count>
class doubled {
public:
    using fields = std::array<std::uint64_t, Count>;

    /// What is published: `number << 1 | copy`.
    [[nodiscard]] std::uint64_t look(std::memory_order order = std::memory_order_acquire) const {
        return current_.load(order);
    }
    [[nodiscard]] static std::uint64_t number_in(std::uint64_t looked) { return looked >> 1; }

    /// What belonged to that look; nothing when another one was published since.
    [[nodiscard]] std::optional<fields> read(std::uint64_t looked) const {
        fields read;
        for (std::size_t i = 0; i < Count; ++i)
            read[i] = copies_[looked & 1][i].load(std::memory_order_acquire);
        if (current_.load(std::memory_order_relaxed) != looked) // DB2; behind the fields, since those acquire
            return {};
        return read;
    }

    /// One process at a time. DB1: `number` is greater than any before, or, once, the same: the word is another one then, too.
    void publish(std::uint64_t number, const fields& content) {
        const std::uint64_t copy = ~current_.load(std::memory_order_relaxed) & 1;
        for (std::size_t i = 0; i < Count; ++i)
            copies_[copy][i].store(content[i], std::memory_order_release); // DB2: behind what was published last
        current_.store(number << 1 | copy, std::memory_order_seq_cst);
    }

private:
    typename Policy::word current_;
    typename Policy::field copies_[2][Count];
};

} // namespace remanence::share
