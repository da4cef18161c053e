// The leaves of packed maps: keys and values lie side by side in one block, and an array of marks in the order of keys
// leads to them. Depends on the standard library only.
//
// Layout, part of the file format (k_packed_layout), little-endian, unaligned:
//   0                 header: u32 bytes of records, u16 dead bytes among them, u16 number of records
//   8                 records in the order of their insertion: length of key, length of value (LEB128), key, value
//   …                 free
//   end - 4 * count   marks, that of the first key last: u16 distance of the record from the end of the header,
//                     u16 of the key's hash
//
// Invariants
// PL1. Each leaf has at least one record. If a leaf has several records, none of them is_large(), and the leaf has at
//      most k_packed_leaf_bytes. So 16 bits suffice for each offset.
// PL2. The size of a block is a multiple of 8; the upper half of a mark is never 0, nor is a count. So no word of a
//      leaf looks like an address, unless it consists of the program's own bytes.
#pragma once

#include <remanence/containers/detail/hash_bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace remanence::detail {

inline constexpr unsigned k_packed_layout = 1;
inline constexpr std::size_t k_packed_leaf_bytes = 4096;
inline constexpr std::size_t k_packed_record_bytes_max = 0xffff0000; // a leaf stores its size in 32 bits

struct packed_record {
    std::string_view key, value;

    /// Returns the record's size without its mark. The result is wrong if it does not fit into 64 bits.
    [[nodiscard]] std::size_t bytes() const noexcept {
        return length_bytes(key.size()) + length_bytes(value.size()) + key.size() + value.size();
    }
    [[nodiscard]] bool is_large() const noexcept { return bytes() > k_packed_leaf_bytes / 4; }

    /// Writes the record; returns the place behind it.
    std::byte* write(std::byte* to) const noexcept {
        to = write_length(write_length(to, key.size()), value.size());
        return write_text(write_text(to, key), value);
    }
    [[nodiscard]] static packed_record read(const std::byte* from) noexcept {
        const std::size_t key_bytes = read_length(from);
        const std::size_t value_bytes = read_length(from);
        const auto* const first = reinterpret_cast<const char*>(from);
        return {{first, key_bytes}, {first + key_bytes, value_bytes}};
    }

private:
    static constexpr std::size_t k_digit = 0x80;
    [[nodiscard]] static std::size_t length_bytes(std::size_t length) noexcept {
        std::size_t bytes = 1;
        for (; length >= k_digit; length /= k_digit)
            ++bytes;
        return bytes;
    }
    static std::byte* write_length(std::byte* to, std::size_t length) noexcept {
        for (; length >= k_digit; length /= k_digit)
            *to++ = static_cast<std::byte>(length % k_digit + k_digit);
        *to++ = static_cast<std::byte>(length);
        return to;
    }
    /// Reads a length and moves `from` behind it. Reads at most ten bytes, even if they are damaged.
    [[nodiscard]] static std::size_t read_length(const std::byte*& from) noexcept {
        auto digit = static_cast<std::size_t>(*from++);
        std::size_t length = digit % k_digit;
        for (unsigned bits = 7; digit >= k_digit && bits < 64; bits += 7) {
            digit = static_cast<std::size_t>(*from++);
            length |= (digit % k_digit) << bits;
        }
        return length;
    }
    static std::byte* write_text(std::byte* to, std::string_view text) noexcept {
        if (!text.empty())
            std::memcpy(to, text.data(), text.size());
        return to + text.size();
    }
};

/// Returns the upper half of a key's mark.
[[nodiscard]] inline std::uint32_t packed_mark_of(std::string_view key) noexcept {
    return static_cast<std::uint32_t>(hash_bytes(key.data(), key.size(), 0) | 1) << 16; // PL2
}

/// Reads a leaf.
class packed_leaf {
public:
    static constexpr std::size_t k_header_bytes = 8;
    static constexpr std::size_t k_mark_bytes = 4;
    struct header {
        std::uint32_t record_bytes = 0;
        std::uint16_t dead_bytes = 0;
        std::uint16_t count = 0;
    };
    static_assert(sizeof(header) == k_header_bytes);

    packed_leaf() = default;
    /// `first` and `bytes` are the leaf's block.
    packed_leaf(const std::byte* first, std::size_t bytes) noexcept : begin_(first), end_(first + bytes) {}

    [[nodiscard]] header head() const noexcept {
        header read;
        std::memcpy(&read, begin_, sizeof read);
        return read;
    }
    [[nodiscard]] const std::byte* begin() const noexcept { return begin_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(end_ - begin_); }
    [[nodiscard]] std::size_t count() const noexcept { return head().count; }
    [[nodiscard]] std::size_t free_bytes() const noexcept {
        const header now = head();
        return bytes() - k_header_bytes - now.record_bytes - k_mark_bytes * now.count;
    }
    /// Returns how many bytes the records that are not dead, and their marks, have.
    [[nodiscard]] std::size_t live_bytes() const noexcept {
        const header now = head();
        return now.record_bytes - now.dead_bytes + k_mark_bytes * now.count;
    }

    [[nodiscard]] std::uint32_t mark(std::size_t index) const noexcept {
        std::uint32_t read = 0;
        std::memcpy(&read, end_ - k_mark_bytes * (index + 1), sizeof read);
        return read;
    }
    /// Returns the same value as packed_mark_of(key(index)).
    [[nodiscard]] std::uint32_t mark_of_key(std::size_t index) const noexcept { return mark(index) & 0xffff0000U; }
    [[nodiscard]] const std::byte* place(std::size_t index) const noexcept {
        return begin_ + k_header_bytes + (mark(index) & 0xffff);
    }
    [[nodiscard]] packed_record record(std::size_t index) const noexcept { return packed_record::read(place(index)); }
    [[nodiscard]] std::string_view key(std::size_t index) const noexcept { return record(index).key; }
    /// Returns the size of the record at place(index).
    [[nodiscard]] std::size_t record_bytes(std::size_t index) const noexcept {
        const std::string_view value = record(index).value;
        return static_cast<std::size_t>(value.data() + value.size() - reinterpret_cast<const char*>(place(index)));
    }

    /// Returns the first record whose key is not before `key`, or count().
    [[nodiscard]] std::size_t lower(std::string_view key) const noexcept {
        return first_that([&](std::string_view each) { return each >= key; });
    }
    /// Returns the first record whose key is behind `key`, or count().
    [[nodiscard]] std::size_t upper(std::string_view key) const noexcept {
        return first_that([&](std::string_view each) { return each > key; });
    }
    /// Returns the first record with that key, or count(). It compares marks first, so it reads hardly any other
    /// record.
    [[nodiscard]] std::size_t find(std::string_view wanted, std::uint32_t mark_wanted) const noexcept {
        const std::size_t behind = count();
        for (std::size_t i = 0; i != behind; ++i) {
            if (mark_of_key(i) == mark_wanted && key(i) == wanted)
                return i;
        }
        return behind;
    }

private:
    template <class Is>
    [[nodiscard]] std::size_t first_that(const Is& is) const noexcept {
        std::size_t first = 0;
        for (std::size_t many = count(); many != 0;) {
            const std::size_t half = many / 2;
            if (is(key(first + half))) {
                many = half;
            } else {
                first += half + 1;
                many -= half + 1;
            }
        }
        return first;
    }

    const std::byte* begin_ = nullptr;
    const std::byte* end_ = nullptr;
};

/// Writes a new leaf into a block, or changes a leaf.
class packed_leaf_writer {
public:
    packed_leaf_writer(std::byte* first, std::size_t bytes) noexcept : begin_(first), end_(first + bytes) {}

    /// Appends a record to a new leaf. Its key must not be less than those before it.
    void add(const packed_record& record, std::uint32_t mark) noexcept {
        put_mark(head_.count++, mark | head_.record_bytes);
        std::byte* const to = begin_ + packed_leaf::k_header_bytes + head_.record_bytes;
        head_.record_bytes += static_cast<std::uint32_t>(record.write(to) - to);
    }
    /// Appends records [from, to) of another leaf to a new leaf.
    void add(const packed_leaf& of, std::size_t from, std::size_t to) noexcept {
        std::byte* behind = begin_ + packed_leaf::k_header_bytes + head_.record_bytes;
        for (; from != to; ++from) {
            const std::size_t bytes = of.record_bytes(from);
            put_mark(head_.count++, of.mark_of_key(from) | head_.record_bytes);
            std::memcpy(behind, of.place(from), bytes);
            behind += bytes;
            head_.record_bytes += static_cast<std::uint32_t>(bytes);
        }
    }
    /// Writes the header, which makes the block a leaf.
    void finish() noexcept { std::memcpy(begin_, &head_, sizeof head_); }

    // Changes of a leaf. They call `declare` for each range of bytes before they write to it.

    /// Inserts a record; there must be room.
    template <class Declare>
    void insert(std::size_t index, const packed_record& record, std::uint32_t mark, const Declare& declare) noexcept {
        head_ = leaf().head();
        declare(begin_, sizeof head_);
        const std::size_t marks = head_.count - index; // how many marks of later records move
        std::byte* const last = end_ - packed_leaf::k_mark_bytes * head_.count;
        declare(last - packed_leaf::k_mark_bytes, packed_leaf::k_mark_bytes * (marks + 1));
        std::memmove(last - packed_leaf::k_mark_bytes, last, packed_leaf::k_mark_bytes * marks);
        put_mark(index, mark | head_.record_bytes);
        std::byte* const to = begin_ + packed_leaf::k_header_bytes + head_.record_bytes;
        declare(to, record.bytes());
        head_.record_bytes += static_cast<std::uint32_t>(record.write(to) - to);
        ++head_.count;
        finish();
    }
    template <class Declare>
    void erase(std::size_t index, const Declare& declare) noexcept {
        head_ = leaf().head();
        declare(begin_, sizeof head_);
        const std::size_t marks = head_.count - index - 1; // how many marks of later records move
        std::byte* const last = end_ - packed_leaf::k_mark_bytes * head_.count;
        head_.dead_bytes = static_cast<std::uint16_t>(head_.dead_bytes + leaf().record_bytes(index));
        declare(last + packed_leaf::k_mark_bytes, packed_leaf::k_mark_bytes * marks);
        std::memmove(last + packed_leaf::k_mark_bytes, last, packed_leaf::k_mark_bytes * marks);
        --head_.count;
        finish();
    }

private:
    [[nodiscard]] packed_leaf leaf() const noexcept { return {begin_, static_cast<std::size_t>(end_ - begin_)}; }
    void put_mark(std::size_t index, std::uint32_t mark) noexcept {
        std::memcpy(end_ - packed_leaf::k_mark_bytes * (index + 1), &mark, sizeof mark);
    }

    std::byte* begin_;
    std::byte* end_;
    packed_leaf::header head_;
};

} // namespace remanence::detail
