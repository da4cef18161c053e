// The search that a persistence point makes: which of the written words hold pointers, what they point at, and which
// targets lie outside of the container and must be copied (guests). Depends on content and memory. All other threads
// must be stopped.
//
//   D1  On a page that was not written since the last point, each word has the same mark as in the file. But a page
//       with pointers to the outside is searched by each point, because their targets may change while the page does
//       not.
//   D2  Pointers to guests are stored unchanged. The table of guests tells a restore where the copies are.
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
    /// Whether points store the names of functions and variables at which pointers point (symbols).
    bool stores_names = false;
    /// Called after a restore: adds the modules at which pointers on the restored pages point, because points search
    /// only pages that are written later.
    void adopt_modules(const std::vector<module_entry>& lead_to);
    /// A variable of the program whose bytes each point stores (pGlobal). `copy` is the place of the copy that an
    /// earlier process stored, or 0.
    struct global {
        std::byte* variable; // null if it was stored, but the program has not added it yet
        std::uint64_t bytes;
        std::uint64_t copy;
    };
    std::vector<global> globals;

    /// Called after a restore: adds the locks on the restored pages, because points search only pages that are written
    /// later.
    void adopt_locks();
    /// Begins a point. Must be called before on_written_page().
    void begin();
    /// Finds the pointers on a page that was written, and packs their marks.
    void on_written_page(std::uint64_t page);
    /// Ends a point. Must be called after the last on_written_page(). Copies globals and guests, and stores the tables.
    /// Throws std::bad_alloc if the arena has no room for a copy.
    void finish();

    /// Returns the block that contains this address; it may lie in the container, in another arena, or in memory of a
    /// registered allocator. If there is none, block::begin is null.
    [[nodiscard]] block block_at(std::uint64_t value) const;

    /// Returns the pointers of the last point that will be NULL after a restore.
    [[nodiscard]] const std::vector<lost_pointer>& lost() const { return lost_; }
    [[nodiscard]] std::uint64_t guests() const { return guests_.size(); }

private:
    struct guest {
        std::uint64_t bytes;
        std::uint64_t copy;
        std::uint64_t round; // number of the last point that found this guest
    };
    enum class destination { nowhere, inside, module, guest, lost };

    [[nodiscard]] destination destination_of(std::uint64_t value, mark kind) const;
    /// True if the word holds a pointer. Sets the flags of its page accordingly.
    bool is_pointer(std::uintptr_t word, std::uint8_t& flags);
    [[nodiscard]] bool is_in_copy(std::uint64_t offset) const;
    void follow(std::uintptr_t word);
    void follow_all(std::uintptr_t begin, std::uint64_t bytes);
    void copy_guests();
    void drop_guests();
    /// Updates a copy and its marks. Packs the marks of the pages that this changes.
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
    std::vector<std::uint64_t> found_;                       // guests that are still to be copied
    std::map<std::uint64_t, std::vector<lock_entry>> locks_; // by page
    std::vector<module_entry> modules_used_;                 // modules at which a pointer ever pointed
    const module_entry* last_module_ = nullptr;              // the element of modules_used_ that was used last
    std::uint64_t names_stored_ = 0;                         // how many of these modules have their names stored
    bool is_table_changed_ = true;
    std::uint64_t round_ = 0;
    std::vector<lost_pointer> lost_;
};

} // namespace remanence::softpm
