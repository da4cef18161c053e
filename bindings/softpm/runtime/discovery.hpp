// What a persistence point has to find: which of the words that were written hold pointers, where they lead, and what has to be copied
// since it lies elsewhere. Depends on content and memory; everything stands meanwhile.
//
//   D1  A word of a page that was not written since the last point is marked in the file as it was then. A page that leads outside is
//       looked at again by each point: what it leads to changes without it.
//   D2  Guests keep their addresses in the pointers that lead to them; a restore finds their copies by the table.
#pragma once

#include "content.hpp"

#include <map>
#include <unordered_map>
#include <vector>

namespace remanence::softpm {

class discovery {
public:
    discovery(const content& of, const modules& loaded) : of_(of), loaded_(&loaded) {}

    void set_modules(const modules& loaded) {
        loaded_ = &loaded;
        last_module_ = nullptr;
    }
    /// True if points store names of modules that pointers lead to (symbols).
    bool stores_names = false;
    /// After a restore: modules to which pointers lead on pages that nobody has written since.
    void adopt_modules(const std::vector<module_entry>& lead_to);
    /// A variable of the program that the container keeps (pGlobal). `copy` as it was stored by an earlier process, or 0.
    struct global {
        std::byte* variable; // null: stored, and not asked for yet
        std::uint64_t bytes;
        std::uint64_t copy;
    };
    std::vector<global> globals;

    /// After a restore: locks that lie on pages which nobody has written since.
    void adopt_locks();
    /// Before the pages.
    void begin();
    /// Packs the marks of a page that was written.
    void on_written_page(std::uint64_t page);
    /// After the pages. Copies globals and guests, and stores the tables. Throws std::bad_alloc: the arena has no room for a copy.
    void finish();

    /// The block with this address: of the container, of another arena, or of a registered allocator. None: no block is there.
    [[nodiscard]] block block_at(std::uint64_t value) const;

    /// Of the last point.
    [[nodiscard]] const std::vector<lost_pointer>& lost() const { return lost_; }
    [[nodiscard]] std::uint64_t guests() const { return guests_.size(); }

private:
    struct guest {
        std::uint64_t bytes;
        std::uint64_t copy;
        std::uint64_t round; // of the last point that found it
    };
    enum class destination { nowhere, inside, module, guest, lost };

    [[nodiscard]] destination destination_of(std::uint64_t value, mark kind) const;
    /// True if the word holds a pointer; notes on its page where it leads.
    bool is_pointer(std::uintptr_t word, std::uint8_t& flags);
    [[nodiscard]] bool is_in_copy(std::uint64_t offset) const;
    void follow(std::uintptr_t word);
    void follow_all(std::uintptr_t begin, std::uint64_t bytes);
    void copy_guests();
    void drop_guests();
    /// Brings a copy up to date, its marks, too. Pages of it that changed are packed.
    void refresh(std::uint64_t copy, const std::byte* original, std::uint64_t bytes);
    std::uint64_t allocate_copy(std::uint64_t bytes);
    void store_tables();
    void forget_freed_words(std::uint64_t page);
    void note_module(const module_entry& leads_to);
    void store_names();

    content of_;
    const modules* loaded_;
    std::unordered_map<std::uint64_t, guest> guests_;        // by the address of the original
    std::map<std::uint64_t, std::uint64_t> copies_;          // of guests: offset, bytes
    std::vector<std::uint64_t> found_;                       // guests to be copied
    std::map<std::uint64_t, std::vector<lock_entry>> locks_; // by page
    std::vector<module_entry> modules_used_;                 // that pointers led to, at this point or before
    const module_entry* last_module_ = nullptr;              // of these, in the list
    std::uint64_t names_stored_ = 0;                         // of so many of these
    bool is_table_changed_ = true;
    std::uint64_t round_ = 0;
    std::vector<lost_pointer> lost_;
};

} // namespace remanence::softpm
