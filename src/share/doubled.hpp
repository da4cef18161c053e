// A record of several words that one process at a time changes and any number reads: two copies, and a word that says
// which one is current. A process that dies while it writes leaves the other copy, and no reader waits. (With a
// sequence counter that is odd during a write, readers would wait.)
//
//  DB1  The published number never goes back. It may jump, so its parity cannot say which copy is current: a batch of
//       two commits would overwrite the copy that readers use.
//  DB2  A copy is written only while the word points to the other one, and only after that was published. So what was
//       read between two equal loads of the word is whole.
//      what was read between two equal looks at the word is whole.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace remanence::share {

/// `Policy` gives `word`, which is ordered against other protocol steps, and `field`.
template <class Policy, std::size_t Count>
class doubled {
public:
    using fields = std::array<std::uint64_t, Count>;

    /// Returns the published word: `number << 1 | copy`.
    [[nodiscard]] std::uint64_t look(std::memory_order order = std::memory_order_acquire) const {
        return current_.load(order);
    }
    [[nodiscard]] static std::uint64_t number_in(std::uint64_t looked) { return looked >> 1; }

    /// Returns the record of that word; nothing if another one was published since.
    [[nodiscard]] std::optional<fields> read(std::uint64_t looked) const {
        fields read;
        for (std::size_t i = 0; i < Count; ++i)
            read[i] = copies_[looked & 1][i].load(std::memory_order_acquire);
        // DB2. This load stays after those of the fields, since they acquire.
        if (current_.load(std::memory_order_relaxed) != looked)
            return {};
        return read;
    }

    /// For one process at a time. DB1: `number` is greater than any before. It may be the same once: the word still
    /// differs, by the copy.
    void publish(std::uint64_t number, const fields& content) {
        const std::uint64_t copy = ~current_.load(std::memory_order_relaxed) & 1;
        for (std::size_t i = 0; i < Count; ++i)
            copies_[copy][i].store(content[i], std::memory_order_release); // DB2: stays after the last publication
        current_.store(number << 1 | copy, std::memory_order_seq_cst);
    }

private:
    typename Policy::word current_;
    typename Policy::field copies_[2][Count];
};

} // namespace remanence::share
