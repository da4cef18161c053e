// A record of several words that one process at a time writes and any number of processes read: two copies, and a word
// that tells which copy is current. If a process dies while it writes one copy, the other is intact, so no reader
// waits. (With a sequence counter that is odd during a write, readers would wait.)
//
//  DB1  The published number never decreases. It may increase by more than one, so its parity cannot tell which copy
//       is current: a batch of two commits would overwrite the copy that readers use.
//  DB2  A copy is written only while the word points to the other copy, and after that other copy was published. So
//       the fields that were read between two equal loads of the word belong together.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace remanence::share {

/// `Policy::word` is an atomic that is ordered against other steps of the protocol; `Policy::field` is an atomic that
/// need not be.
template <class Policy, std::size_t Count>
class doubled {
public:
    using fields = std::array<std::uint64_t, Count>;

    /// Returns the published word: `number << 1 | copy`.
    [[nodiscard]] std::uint64_t look(std::memory_order order = std::memory_order_acquire) const {
        return current_.load(order);
    }
    [[nodiscard]] static std::uint64_t number_in(std::uint64_t looked) { return looked >> 1; }

    /// Returns the record that was current at that look(); nothing if another one was published since.
    [[nodiscard]] std::optional<fields> read(std::uint64_t looked) const {
        fields read;
        for (std::size_t i = 0; i < Count; ++i)
            read[i] = copies_[looked & 1][i].load(std::memory_order_acquire);
        // DB2. The loads of the fields acquire, so this load is not moved before them.
        if (current_.load(std::memory_order_relaxed) != looked)
            return {};
        return read;
    }

    /// For one process at a time. DB1: `number` must not be less than the last one. Each number may be published at
    /// most twice: the two words then still differ, in their bit for the copy.
    void publish(std::uint64_t number, const fields& content) {
        const std::uint64_t copy = ~current_.load(std::memory_order_relaxed) & 1;
        for (std::size_t i = 0; i < Count; ++i)
            copies_[copy][i].store(content[i], std::memory_order_release); // DB2: not before the last publication
        current_.store(number << 1 | copy, std::memory_order_seq_cst);
    }

private:
    typename Policy::word current_;
    typename Policy::field copies_[2][Count];
};

} // namespace remanence::share
