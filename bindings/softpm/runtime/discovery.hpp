// The search of a persistence point: which of the written words hold pointers, where they lead, and which targets must
// be copied because they lie outside. Depends on content and memory; all other threads are stopped meanwhile.
//
//   D1  A word of a page that was not written since the last point has the same mark in the file as then. A page that
//       leads outside is searched again by each point, because its targets may change while the page does not.
//   D2  Pointers to guests keep the guests' addresses; a restore finds the copies by the table.
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
    /// True if points store the names of module addresses that pointers lead to (symbols).
    bool stores_names = false;
    /// After a restore: notes modules that pointers lead to from pages that have not been written since.
    void adopt_modules(const std::vector<module_entry>& lead_to);
    /// A variable of the program that the container keeps (pGlobal). `copy`: the one that an earlier process stored, or
    /// 0.
    struct global {
        std::byte* variable; // null: stored, but not requested yet
        std::uint64_t bytes;
        std::uint64_t copy;
    };
    std::vector<global> globals;

    /// After a restore: notes locks on pages that have not been written since.
    void adopt_locks();
    /// Begins a point; to be called before the pages.
    void begin();
    /// Packs the marks of a page that was written.
    void on_written_page(std::uint64_t page);
    /// Ends a point; to be called after the pages. Copies globals and guests, and stores the tables. Throws
    /// std::bad_alloc if the arena has no room for a copy.
    void finish();

    /// Returns the block that contains this address: in the container, in another arena, or of a registered allocator.
    /// Nothing if there is none.
    [[nodiscard]] block block_at(std::uint64_t value) const;

    /// Returns the lost pointers of the last point.
    [[nodiscard]] const std::vector<lost_pointer>& lost() const { return lost_; }
    [[nodiscard]] std::uint64_t guests() const { return guests_.size(); }

private:
    struct guest {
        std::uint64_t bytes;
        std::uint64_t copy;
        std::uint64_t round; // the last point that found it
    };
    enum class destination { nowhere, inside, module, guest, lost };

    [[nodiscard]] destination destination_of(std::uint64_t value, mark kind) const;
    /// True if the word holds a pointer; notes on its page where that leads.
    bool is_pointer(std::uintptr_t word, std::uint8_t& flags);
    [[nodiscard]] bool is_in_copy(std::uint64_t offset) const;
    void follow(std::uintptr_t word);
    void follow_all(std::uintptr_t begin, std::uint64_t bytes);
    void copy_guests();
    void drop_guests();
    /// Updates a copy and its marks. Packs the marks of pages that change.
    void refresh(std::uint64_t copy, const std::byte* original, std::uint64_t bytes);
    std::uint64_t allocate_copy(std::uint64_t bytes);
    void store_tables();
    void forget_freed_words(std::uint64_t page);
    void note_module(const module_entry& leads_to);
    void store_names();

    content of_;
    const modules* loaded_;
    std::unordered_map<std::uint64_t, guest> guests_;        // by the address of the original
    std::map<std::uint64_t, std::uint64_t> copies_;          // copies of guests: offset, bytes
    std::vector<std::uint64_t> found_;                       // guests that must be copied
    std::map<std::uint64_t, std::vector<lock_entry>> locks_; // by page
    std::vector<module_entry> modules_used_;                 // modules that pointers have led to
    const module_entry* last_module_ = nullptr;              // an element of this list
    std::uint64_t names_stored_ = 0;                         // for so many of these modules
    bool is_table_changed_ = true;
    std::uint64_t round_ = 0;
    std::vector<lost_pointer> lost_;
};

} // namespace remanence::softpm
