// Reads the lines of a dump, in the portable or the binary form. Stores the lines of a root's elements until the number
// of elements is known.
#pragma once

#include "base/result.hpp"
#include "objects/binary_form.hpp"
#include "objects/buffered_input.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace remanence::objects {

/// Reads lines without their line ends. Each item of the binary form is read as one line.
class line_reader {
public:
    explicit line_reader(const read_bytes& read) : input_(read), binary_(input_) {}

    /// Reads a line; returns false at the end. The line is valid until the next call. errc::invalid_argument if the line
    /// is too long, or not a line of a dump.
    result<bool> next(std::string_view& line) {
        if (number_ == 0)
            is_binary_ = input_.peek() == static_cast<unsigned char>(k_binary_mark.front());
        if (input_.peek() < 0)
            return false;
        ++number_;
        if (const auto whole = is_binary_ ? std::nullopt : input_.take_within('\n')) {
            line = *whole;
            return true;
        }
        result<bool> more = is_binary_ ? binary_.next(joined_) : join();
        line = joined_;
        return more;
    }
    /// Returns the number of the line that next() has read.
    [[nodiscard]] const std::uint64_t& number() const { return number_; }

private:
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
        if (pieces_.empty() || pieces_.back().size() + line.size() >= pieces_.back().capacity())
            pieces_.emplace_back().reserve(std::max(k_piece_bytes, line.size() + 1));
        pieces_.back().append(line) += '\n';
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
        const std::string& piece = pieces_.front();
        const std::size_t begin = at_;
        at_ = piece.find('\n', begin) + 1;
        --count_;
        return std::string_view(piece).substr(begin, at_ - 1 - begin);
    }

private:
    static constexpr std::size_t k_piece_bytes = std::size_t{1} << 20;

    std::deque<std::string> pieces_;
    std::size_t at_ = 0; // place of the first line, in the first string
    std::uint64_t count_ = 0;
};

} // namespace remanence::objects
