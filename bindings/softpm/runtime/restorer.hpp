// Makes of what a container's file has what the program had: finds what is reachable, and lets its pointers lead to where things are now.
// Depends on content.
//
//   R1  What lay in the arena moves as a whole: its pointers change by the same distance, or not at all.
//   R2  Nothing of the file changes before the next point: a restore that fails has done nothing.
#pragma once

#include "content.hpp"

#include <string>
#include <vector>

namespace remanence::softpm {

class restorer {
public:
    restorer(const content& of, const modules& loaded);

    /// Throws std::runtime_error: the file's tables make no sense, or a pointer leads to code or variables that are not
    /// there any more. O(what is reachable).
    void run();
    [[nodiscard]] const std::vector<lost_pointer>& lost() const { return lost_; }
    [[nodiscard]] std::uint64_t lost_count() const { return lost_count_; }
    /// That lead somewhere.
    [[nodiscard]] std::uint64_t pointers() const { return pointers_; }

private:
    void check_tables() const;
    void reach(std::uintptr_t address);
    [[nodiscard]] bool is_excluded(std::uint64_t offset) const;
    void fix_block(const block& which);
    void fix(std::uintptr_t word);
    /// Where a word leads now that led to `value`, outside of the arena; 0: nowhere.
    std::uintptr_t outside(std::uint64_t value);
    void open_locks() const;
    void refuse_missing_modules() const;

    content of_;
    const modules& loaded_;
    modules old_modules_;
    std::vector<guest_entry> guests_;
    std::vector<excluded_entry> excluded_; // by offset
    std::uint64_t shift_;
    std::vector<block> found_;
    std::vector<std::string> missing_; // modules
    std::vector<lost_pointer> lost_;
    std::uint64_t lost_count_ = 0;
    std::uint64_t pointers_ = 0;
};

} // namespace remanence::softpm
