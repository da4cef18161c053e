// Writes and reads the events of a history as bytes. A new kind of event needs a struct in format/history_event.hpp,
// a function of step_tree that writes it, and a case in step_loader.
#pragma once

#include "format/history_event.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace remanence::history {

using event_bytes = std::vector<std::byte>;

/// Appends an event to a byte string. All functions but finish() throw std::bad_alloc.
class event_writer {
public:
    event_writer(event_bytes& into, format::history_event_kind kind) : into_(into), begin_(into.size()) {
        add(format::history_event{kind, {}, 0});
    }
    template <class T>
    void add(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        add(&value, sizeof value);
    }
    void add(const void* from, std::size_t bytes) {
        const auto* const first = static_cast<const std::byte*>(from);
        into_.insert(into_.end(), first, first + bytes);
    }
    void add_text(std::string_view text) { add(text.data(), text.size()); }
    [[nodiscard]] event_bytes& bytes() { return into_; }
    /// Ends the event: nothing may be added to it after this.
    void finish() noexcept {
        const std::uint64_t bytes = into_.size() - begin_ - sizeof(format::history_event);
        std::memcpy(into_.data() + begin_ + offsetof(format::history_event, bytes), &bytes, sizeof bytes);
    }

private:
    event_bytes& into_;
    std::size_t begin_;
};

/// Reads values from the front of a byte string, which may hold anything (I7). Once a value is longer than the bytes
/// that are left, this and all later values are zeros or empty, and has_failed() is true.
class event_reader {
public:
    explicit event_reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
    std::span<const std::byte> take(std::uint64_t count) {
        if (has_failed_ || count > bytes_.size()) {
            has_failed_ = true;
            return {};
        }
        const auto taken = bytes_.first(static_cast<std::size_t>(count));
        bytes_ = bytes_.subspan(static_cast<std::size_t>(count));
        return taken;
    }
    template <class T>
    T take() {
        T value{};
        if (const auto from = take(sizeof value); !from.empty())
            std::memcpy(&value, from.data(), sizeof value);
        return value;
    }
    std::string take_text(std::uint64_t count) {
        const auto from = take(count);
        return {reinterpret_cast<const char*>(from.data()), from.size()};
    }
    void fail() { has_failed_ = true; }
    [[nodiscard]] bool has_failed() const { return has_failed_; }
    [[nodiscard]] bool is_at_end() const { return bytes_.empty(); }
    [[nodiscard]] std::size_t bytes_left() const { return bytes_.size(); }

private:
    std::span<const std::byte> bytes_;
    bool has_failed_ = false;
};

} // namespace remanence::history
