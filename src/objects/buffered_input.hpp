// Reads bytes from a function that supplies some of them at each call. The bytes are input (I7).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace remanence::objects {

/// Writes at most `bytes` bytes to `into`, and returns how many; 0 at the end of input. May throw.
using read_bytes = std::function<std::size_t(char* into, std::size_t bytes)>;

inline constexpr std::uint64_t k_line_bytes_max = (std::uint64_t{1} << 32) - 1;

class buffered_input {
public:
    explicit buffered_input(const read_bytes& read) : read_(read), buffer_(std::size_t{64} * 1024, '\0') {}

    /// Returns the next byte without consuming it; -1 at the end of input.
    int peek() { return has_more() ? static_cast<unsigned char>(buffer_[at_]) : -1; }
    /// Returns the next byte and consumes it; -1 at the end of input.
    int take() { return has_more() ? static_cast<unsigned char>(buffer_[at_++]) : -1; }
    /// Consumes up to `count` bytes and appends them to `to`. Returns false if there are fewer.
    bool take(std::string& to, std::size_t count) {
        while (count != 0 && has_more()) {
            const std::size_t bytes = std::min(count, filled_ - at_);
            to.append(buffer_, at_, bytes);
            at_ += bytes;
            count -= bytes;
        }
        return count == 0;
    }
    /// Returns the bytes in the buffer without consuming them; none at the end of input.
    std::string_view buffered() {
        return has_more() ? std::string_view(buffer_).substr(at_, filled_ - at_) : std::string_view();
    }
    /// Consumes so many of the bytes in the buffer.
    void consume(std::size_t bytes) { at_ += bytes; }
    /// Consumes the buffered bytes up to and including the byte `end`, and appends them to `to`. Returns false if that
    /// byte was not found, but may still come.
    bool take_to(std::string& to, char end) {
        if (!has_more())
            return true;
        const std::size_t found = std::min(buffer_.find(end, at_), filled_);
        to.append(buffer_, at_, found - at_);
        at_ = std::min(found + 1, filled_);
        return found != filled_;
    }

private:
    bool has_more() {
        if (at_ != filled_)
            return true;
        at_ = 0;
        filled_ = read_(buffer_.data(), buffer_.size());
        if (filled_ > buffer_.size())
            throw std::length_error("the function that reads a dump says that it has read more than it was asked for");
        return filled_ != 0;
    }

    const read_bytes& read_;
    std::string buffer_;
    std::size_t at_ = 0;
    std::size_t filled_ = 0;
};

} // namespace remanence::objects
