// Reservations in a store of bytes, the same for all such: a key is 12 bytes, whose order as bytes is that of reservations.
#pragma once

#include "store.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

using key_bytes = std::array<char, 12>;

inline void put_big_endian(char* at, std::uint32_t number) {
    number = __builtin_bswap32(number);
    std::memcpy(at, &number, sizeof number);
}
inline std::uint32_t big_endian_at(const char* at) {
    std::uint32_t number = 0;
    std::memcpy(&number, at, sizeof number);
    return __builtin_bswap32(number);
}

inline key_bytes key_of(const reservation& each) {
    key_bytes key{};
    put_big_endian(key.data(), each.resource);
    put_big_endian(key.data() + 4, each.end);
    put_big_endian(key.data() + 8, each.start);
    return key;
}
inline reservation reservation_of(std::string_view key) {
    return {big_endian_at(key.data()), big_endian_at(key.data() + 8), big_endian_at(key.data() + 4)};
}

inline std::string_view bytes_of(const key_bytes& key) { return {key.data(), key.size()}; }
inline std::string_view bytes_of(const std::uint64_t& number) {
    return {reinterpret_cast<const char*>(&number), sizeof number};
}
inline std::uint64_t number_of(std::string_view value) {
    std::uint64_t number = 0;
    std::memcpy(&number, value.data(), sizeof number);
    return number;
}

/// `Bytes` is made of a directory, and has
///     void begin(bool changes), void end()  // a transaction, durable if it changes something
///     bool seek(key), bool seek_first(), bool next()  // to the first key from there on; whether there is one
///     std::string_view key(), value()
///     void put(key, value), bool erase(key)  // the latter: whether it was there; they leave no place to go on from
///     void close()
template <class Bytes>
class byte_store final : public store {
public:
    explicit byte_store(const std::filesystem::path& directory) : bytes_(directory) {}

    std::uint64_t reserve(std::span<const request> requests) override {
        std::uint64_t made = 0;
        bytes_.begin(true);
        for (const auto& [wanted, who] : requests) {
            if (bytes_.seek(bytes_of(key_of(first_behind(wanted.resource, wanted.start))))) {
                const reservation next = reservation_of(bytes_.key());
                if (next.resource == wanted.resource && next.start < wanted.end)
                    continue;
            }
            bytes_.put(bytes_of(key_of(wanted)), bytes_of(who));
            ++made;
        }
        bytes_.end();
        return made;
    }
    std::uint64_t find_free(std::span<const query> queries) override {
        std::uint64_t sum = 0;
        bytes_.begin(false);
        for (const query& each : queries) {
            std::uint32_t free = each.from;
            for (bool is_there = bytes_.seek(bytes_of(key_of(first_behind(each.resource, each.from)))); is_there;
                 is_there = bytes_.next()) {
                const reservation next = reservation_of(bytes_.key());
                if (next.resource != each.resource || next.start >= free + each.minutes)
                    break;
                free = next.end;
            }
            sum += free + each.minutes <= each.until ? free : each.until;
        }
        bytes_.end();
        return sum;
    }
    std::uint64_t iterate() override {
        std::uint64_t sum = 0;
        bytes_.begin(false);
        for (bool is_there = bytes_.seek_first(); is_there; is_there = bytes_.next())
            sum += checksum_of(reservation_of(bytes_.key()), number_of(bytes_.value()));
        bytes_.end();
        return sum;
    }
    std::uint64_t cancel(std::span<const reservation> reservations) override {
        std::uint64_t gone = 0;
        bytes_.begin(true);
        for (const reservation& each : reservations)
            gone += bytes_.erase(bytes_of(key_of(each))) ? 1U : 0U;
        bytes_.end();
        return gone;
    }
    void close() override { bytes_.close(); }

private:
    Bytes bytes_;
};

template <class Bytes>
system_kind byte_system(const char* name) {
    return {name,
            [](const std::filesystem::path& directory) { return std::make_unique<byte_store<Bytes>>(directory); }};
}
