// byte_writer and byte_reader: a serialize_trait writes the bytes of a value to a byte_writer, and reads them from a
// byte_reader. Depends on the standard library only.
//
// Bytes that are read are input: they are checked, and bytes that do not parse are errc::corrupt, never undefined
// behaviour. Counts are stored in groups of seven bits, the lowest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace remanence {

namespace detail {

/// Throws errc::corrupt. `why` is a clause about the bytes.
[[noreturn]] void refuse_stored_bytes(const std::string& why);
/// Throws errc::invalid_argument.
[[noreturn]] void refuse_to_serialize(const std::string& why);

/// How deep containers of containers may nest, so that damaged bytes cannot make the stack overflow.
inline constexpr unsigned k_nesting_max = 200;

/// Counts a level of nesting during its lifetime. Calls `refuse`, which must throw, if there are too many levels.
class nesting {
public:
    template <class Refuse>
    nesting(unsigned& depth, const Refuse& refuse) : depth_(depth) {
        if (depth == k_nesting_max)
            refuse("values nest more than 200 deep");
        ++depth_;
    }
    nesting(const nesting&) = delete;
    nesting& operator=(const nesting&) = delete;
    ~nesting() { --depth_; }

private:
    unsigned& depth_;
};

} // namespace detail

/// Receives the bytes that a serialize() writes: at most as many as size() returned.
class byte_writer {
public:
    /// Writes into the `bytes` bytes at `to`.
    byte_writer(char* to, std::size_t bytes) noexcept : to_(to), left_(bytes) {}
    /// For a part of the value that `around` writes; begins at the same depth of nesting.
    byte_writer(char* to, std::size_t bytes, const byte_writer& around) noexcept
        : to_(to), left_(bytes), depth_(around.depth_) {}
    /// Writes bytes. Throws errc::invalid_argument if there are more than size() returned.
    void put(const void* from, std::size_t bytes) {
        if (bytes > left_)
            detail::refuse_to_serialize("serialize() writes more bytes than size() says");
        if (bytes != 0)
            std::memcpy(to_, from, bytes);
        to_ += bytes;
        left_ -= bytes;
    }
    /// Writes a count, in groups of seven bits.
    void put_count(std::uint64_t count) {
        for (; count >= 0x80; count >>= 7U)
            put_byte(static_cast<unsigned char>(count | 0x80U));
        put_byte(static_cast<unsigned char>(count));
    }
    /// Returns how many bytes put_count() writes.
    [[nodiscard]] static std::size_t size_of_count(std::uint64_t count) noexcept {
        std::size_t bytes = 1;
        for (; count >= 0x80; count >>= 7U)
            ++bytes;
        return bytes;
    }
    /// Returns how many bytes may still be written.
    [[nodiscard]] std::size_t left() const noexcept { return left_; }
    /// Enters a container. Keep the result alive while its elements are written. Throws errc::invalid_argument beyond
    /// 200 levels.
    [[nodiscard]] detail::nesting enter() { return {depth_, detail::refuse_to_serialize}; }

private:
    void put_byte(unsigned char byte) { put(&byte, 1); }

    char* to_;
    std::size_t left_;
    unsigned depth_ = 0;
};

/// Supplies a deserialize() with bytes. All functions throw errc::corrupt if there are too few bytes, or wrong ones.
class byte_reader {
public:
    /// Reads from `bytes`, which must outlive the reader and the views that it returns.
    explicit byte_reader(std::string_view bytes) noexcept : bytes_(bytes) {}
    /// Consumes the next bytes; returns a view of them.
    [[nodiscard]] std::string_view take(std::size_t bytes) {
        if (bytes > bytes_.size())
            detail::refuse_stored_bytes("the bytes end too early");
        const std::string_view taken = bytes_.substr(0, bytes);
        bytes_.remove_prefix(bytes);
        return taken;
    }
    /// Consumes the next bytes; copies them to `to`.
    void take(void* to, std::size_t bytes) {
        const std::string_view taken = take(bytes);
        if (bytes != 0)
            std::memcpy(to, taken.data(), bytes);
    }
    /// Reads a count that put_count() wrote.
    [[nodiscard]] std::uint64_t take_count() {
        std::uint64_t count = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(take(1).front());
            if (shift == 63 && byte > 1)
                break;
            count |= std::uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80)
                return count;
        }
        detail::refuse_stored_bytes("a count is too large");
    }
    /// Reads a count of things that have at least one byte each. Throws errc::corrupt if fewer bytes follow.
    [[nodiscard]] std::size_t take_count_of_things() {
        const std::uint64_t count = take_count();
        if (count > bytes_.size())
            detail::refuse_stored_bytes("a count is larger than what follows it");
        return static_cast<std::size_t>(count);
    }
    /// Returns how many bytes are left.
    [[nodiscard]] std::size_t left() const noexcept { return bytes_.size(); }
    /// Enters a container. Keep the result alive while its elements are read. Throws errc::corrupt beyond 200 levels.
    [[nodiscard]] detail::nesting enter() { return {depth_, detail::refuse_stored_bytes}; }

private:
    std::string_view bytes_;
    unsigned depth_ = 0;
};

} // namespace remanence
