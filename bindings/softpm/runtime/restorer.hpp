// Restores the program's memory from a container's file: finds the reachable blocks, and corrects pointers whose
// targets have moved. Depends on content.
//
//   R1  The arena moves as a whole. So all pointers into it change by the same distance, or not at all.
//   R2  The file does not change before the next point. So a restore that fails has no effect on it.
//   R3  If the arena is at its old address, only words that point out of it change. These lie on flagged pages
//       (page_flag). Then the restore need not find unreachable blocks: it treats all blocks as used, until the arena
//       has grown by a quarter since the last full search.
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
    /// `by_names`: if a pointer's module is not loaded, its target is found by the name that the container stores.
    restorer(const content& of, const modules& loaded, bool by_names);

    /// Restores. Throws std::runtime_error if the file's tables are malformed, or if a pointer points at code or
    /// variables that no longer exist. O(reachable memory). If the arena is at its old address: O(flagged pages), and
    /// reading an eighth of a byte for each byte in use.
    void run();
    [[nodiscard]] const std::vector<lost_pointer>& lost() const { return lost_; }
    [[nodiscard]] std::uint64_t lost_count() const { return lost_count_; }
    /// Returns the modules at which pointers point now.
    [[nodiscard]] const std::vector<module_entry>& modules_used() const { return modules_used_; }

private:
    struct change {
        std::uintptr_t word;
        std::uint64_t value;
    };

    void check_tables() const;
    [[nodiscard]] bool may_skip_the_walk() const;
    /// Corrects the pointers on flagged pages. Returns false, without a change, if a pointer has a missing target. Such
    /// a pointer may lie in a block that nothing reaches.
    bool fix_flagged_pages();
    void unpack_marks() const;
    void walk();
    void reach(std::uintptr_t address);
    [[nodiscard]] bool is_excluded(std::uint64_t offset) const;
    void fix_block(const block& which);
    void fix(std::uintptr_t word);
    /// Returns the new value for a word that had this one.
    std::uint64_t value_now(std::uintptr_t word, std::uint64_t value);
    /// Returns the present address for a pointer to `value`, which is outside of the arena; 0 if its target no longer
    /// exists.
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
    std::vector<excluded_entry> excluded_; // sorted by offset
    std::uint64_t shift_;
    std::vector<block> found_;
    std::optional<std::vector<symbols>> old_names_; // read when first needed
    std::vector<symbols> new_names_;                // of the loaded modules; read when first needed
    std::vector<module_entry> modules_used_;
    std::set<std::string> missing_modules_;
    std::set<std::string> missing_names_;
    std::uint64_t missing_count_ = 0;
    std::vector<lost_pointer> lost_;
    std::uint64_t lost_count_ = 0;
};

} // namespace remanence::softpm
