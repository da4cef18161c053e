// What the person who watches the demo reads. Depends on the terminal helpers.
#pragma once

#include "../terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>

/// Lines on standard output, above a progress bar when that is a terminal; counts the problems among them.
class display {
public:
    explicit display(std::uint64_t total) : bar_(STDOUT_FILENO, total), look_(STDOUT_FILENO) {}

    [[nodiscard]] const terminal::style& look() const { return look_; }
    void line(const std::string& text) {
        bar_.clear();
        std::cout << text << '\n' << std::flush;
    }
    /// `label` is a key of the final report.
    void fact(const std::string& label, const std::string& text) {
        line("  " + look_.faint(label + std::string(12 - std::min<std::size_t>(label.size(), 11), ' ')) + text);
    }
    void progress(std::uint64_t done, const std::string& note) { bar_.show(done, note); }
    void problem(const std::string& text) {
        ++problems_;
        line(look_.bad("WRONG: ") + text);
    }
    [[nodiscard]] std::uint64_t problems() const { return problems_; }

private:
    terminal::progress_bar bar_;
    terminal::style look_;
    std::uint64_t problems_ = 0;
};
