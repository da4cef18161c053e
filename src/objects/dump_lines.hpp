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

    /// Reads a line; returns false at the end. errc::invalid_argument if the line is too long, or not a line of a dump.
    result<bool> next(std::string& line) {
        if (number_ == 0)
            is_binary_ = input_.peek() == static_cast<unsigned char>(k_binary_mark.front());
        line.clear();
        if (input_.peek() < 0)
            return false;
        ++number_;
        if (is_binary_)
            return binary_.next(line);
        while (!input_.take_to(line, '\n')) {
            if (line.size() > k_line_bytes_max)
                return fail(errc::invalid_argument, "it is longer than 4 GiB");
        }
        return true;
    }
    /// Returns the number of the line that next() has read.
    [[nodiscard]] const std::uint64_t& number() const { return number_; }

private:
    buffered_input input_;
    binary_reader binary_;
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
    [[nodiscard]] std::uint64_t count() const { return count_; }
    /// Precondition of both functions: count() is not 0.
    [[nodiscard]] std::string_view first() const {
        const std::string& piece = pieces_.front();
        return std::string_view(piece).substr(at_, piece.find('\n', at_) - at_);
    }
    void remove_first() {
        at_ = pieces_.front().find('\n', at_) + 1;
        if (at_ == pieces_.front().size()) {
            pieces_.pop_front();
            at_ = 0;
        }
        --count_;
    }

private:
    static constexpr std::size_t k_piece_bytes = std::size_t{1} << 20;

    std::deque<std::string> pieces_;
    std::size_t at_ = 0; // place of the first line, in the first string
    std::uint64_t count_ = 0;
};

} // namespace remanence::objects
