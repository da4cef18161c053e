// Makes of what a container's file has what the program had: finds what is reachable, and lets its pointers lead to where things are now.
// Depends on content.
//
//   R1  What lay in the arena moves as a whole: its pointers change by the same distance, or not at all.
//   R2  Nothing of the file changes before the next point: a restore that fails has done nothing.
//   R3  Where the arena lies where it was, only words that lead out of it change. They lie on flagged pages (page_flag). So what is not reachable
//       need not be known: all of it is taken for used, until the arena has grown by a quarter since a restore that looked.
#pragma once

#include "content.hpp"
#include "symbols.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace remanence::softpm {

class restorer {
public:
    /// `by_names`: pointers to modules that are not loaded are found by the names that the container has.
    restorer(const content& of, const modules& loaded, bool by_names);

    /// Throws std::runtime_error: the file's tables make no sense, or a pointer leads to code or variables that are not
    /// there any more. O(what is reachable); where the arena lies where it was, O(flagged pages) and an eighth of a byte for each byte in use.
    void run();
    [[nodiscard]] const std::vector<lost_pointer>& lost() const { return lost_; }
    [[nodiscard]] std::uint64_t lost_count() const { return lost_count_; }
    /// That pointers lead to now.
    [[nodiscard]] const std::vector<module_entry>& modules_used() const { return modules_used_; }

private:
    struct change {
        std::uintptr_t word;
        std::uint64_t value;
    };

    void check_tables() const;
    [[nodiscard]] bool may_skip_the_walk() const;
    /// False: pointers lead to what is not there. Perhaps they lie in blocks that nothing reaches; nothing was changed.
    bool fix_flagged_pages();
    void unpack_marks() const;
    void walk();
    void reach(std::uintptr_t address);
    [[nodiscard]] bool is_excluded(std::uint64_t offset) const;
    void fix_block(const block& which);
    void fix(std::uintptr_t word);
    /// What a word has to hold that holds this.
    std::uint64_t value_now(std::uintptr_t word, std::uint64_t value);
    /// Where a word leads now that led to `value`, outside of the arena; 0: nowhere.
    std::uintptr_t outside(std::uint64_t value);
    std::uintptr_t in_module(std::uint64_t value, const module_entry& then);
    std::uintptr_t by_name(std::uint64_t offset, const module_entry& then);
    void note_use(const module_entry& which);
    void open_locks() const;
    void refuse_missing_modules() const;

    content of_;
    const modules& loaded_;
    bool by_names_;
    modules old_modules_;
    std::vector<guest_entry> guests_;
    std::vector<excluded_entry> excluded_; // by offset
    std::uint64_t shift_;
    std::vector<block> found_;
    std::optional<std::vector<symbols>> old_names_; // when somebody asked
    std::vector<symbols> new_names_;                // likewise, of modules
    std::vector<module_entry> modules_used_;
    std::set<std::string> missing_modules_;
    std::set<std::string> missing_names_;
    std::uint64_t missing_count_ = 0;
    std::vector<lost_pointer> lost_;
    std::uint64_t lost_count_ = 0;
};

} // namespace remanence::softpm
