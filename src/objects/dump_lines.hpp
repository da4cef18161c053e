// Reads the lines of a dump, in the portable or the binary form. Stores the lines of a root's elements until the number
// of elements is known.
#pragma once

#include "base/result.hpp"
#include "objects/binary_form.hpp"
#include "objects/buffered_input.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace remanence::objects {

/// True if the line or item is an element: {"v":...} or {"k":...,"v":...}.
inline bool is_element_line(std::string_view line) {
    return line.starts_with("{\"v\":") || line.starts_with("{\"k\":");
}
inline bool is_element_item(std::string_view item) {
    return item.starts_with("\xa1\x61v") || item.starts_with("\xa2\x61k");
}

/// Reads lines without their line ends. Each item of the binary form is read as one line.
class line_reader {
public:
    explicit line_reader(const read_bytes& read) : input_(read), binary_(input_) {}

    /// Reads a line; returns false at the end. The line is valid until the next call. `may_be_item`: an element in the
    /// binary form may stay an item. errc::invalid_argument if the line is too long, or not a line of a dump.
    result<bool> next(std::string_view& line, bool may_be_item = false) {
        if (number_ == 0)
            is_binary_ = input_.peek() == static_cast<unsigned char>(k_binary_mark.front());
        const std::string_view ahead = input_.buffered();
        if (ahead.empty())
            return false;
        ++number_;
        const bool is_item = is_binary_ && may_be_item && is_element_item(ahead);
        const std::optional<std::size_t> size =
            is_binary_ ? is_item ? size_of_item(ahead) : std::nullopt : size_of_line(ahead);
        if (size) {
            line = ahead.substr(0, *size);
            input_.consume(is_binary_ ? *size : *size + 1);
            return true;
        }
        result<bool> more = is_binary_ ? binary_.next(joined_) : join();
        line = joined_;
        return more;
    }
    /// True if next() has read the beginning of a dump in the binary form.
    [[nodiscard]] bool is_binary() const { return is_binary_; }
    /// Returns the number of the line that next() has read.
    [[nodiscard]] const std::uint64_t& number() const { return number_; }

private:
    static std::optional<std::size_t> size_of_line(std::string_view ahead) {
        const std::size_t end = ahead.find('\n');
        return end == std::string_view::npos ? std::nullopt : std::optional(end);
    }
    /// Reads a line that ends behind the buffered bytes.
    result<bool> join() {
        joined_.clear();
        while (!input_.take_to(joined_, '\n')) {
            if (joined_.size() > k_line_bytes_max)
                return fail(errc::invalid_argument, "it is longer than 4 GiB");
        }
        return true;
    }

    buffered_input input_;
    binary_reader binary_;
    std::string joined_;
    bool is_binary_ = false;
    std::uint64_t number_ = 0;
};

/// Stores the lines of a root's elements. Many lines share one string, so that most of them need no allocation. Memory
/// is freed as the lines are used.
class kept_lines {
public:
    void add(std::string_view line) {
        const std::size_t size = line.size();
        if (pieces_.empty() || pieces_.back().capacity() - pieces_.back().size() < sizeof size + line.size())
            pieces_.emplace_back().reserve(std::max(k_piece_bytes, sizeof size + line.size()));
        pieces_.back().append(reinterpret_cast<const char*>(&size), sizeof size).append(line);
        ++count_;
    }
    /// Returns how many lines are left.
    [[nodiscard]] std::uint64_t count() const { return count_; }
    /// Removes the first line and returns it. Valid until the next call. Precondition: count() is not 0.
    [[nodiscard]] std::string_view take_first() {
        if (at_ == pieces_.front().size()) {
            pieces_.pop_front();
            at_ = 0;
        }
        std::size_t size = 0;
        std::memcpy(&size, pieces_.front().data() + at_, sizeof size);
        const std::string_view line = std::string_view(pieces_.front()).substr(at_ + sizeof size, size);
        at_ += sizeof size + size;
        --count_;
        return line;
    }

private:
    static constexpr std::size_t k_piece_bytes = std::size_t{1} << 20;

    std::deque<std::string> pieces_; // before each line its size
    std::size_t at_ = 0;             // place of the first line, in the first string
    std::uint64_t count_ = 0;
};

} // namespace remanence::objects
