#include "txn/block_notes.hpp"

#include "base/units.hpp"
#include "os/anonymous_memory.hpp"
#include "os/backtrace.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace remanence::txn {

namespace {

using word = std::uint64_t;

word address_of(const void* block) { return reinterpret_cast<word>(block); }

/// A hash table with linear probing, in memory that is mapped for it. No address is removed: a note that is forgotten
/// only has no transaction.
class noted_blocks final : public block_notes {
public:
    explicit noted_blocks(unsigned frames) : frames_(frames) {
        std::array<void*, 1> first{};
        os::note_calls(first.data(), first.size()); // the first call in a process may use malloc()
    }
    noted_blocks(const noted_blocks&) = delete;
    noted_blocks& operator=(const noted_blocks&) = delete;
    ~noted_blocks() override { release(table_); }

    void add(const void* block, std::uint64_t asked, const void* inner) noexcept override {
        if (!has_room())
            return;
        std::array<void*, os::k_calls_noted_max + k_own_calls_max> calls{};
        const std::size_t wanted = frames_ + k_own_calls_max;
        os::note_calls(calls.data(), wanted);
        const auto own = std::find(calls.begin(), calls.begin() + k_own_calls_max, inner);
        const auto first = own == calls.begin() + k_own_calls_max ? calls.begin() : own + 1;
        word* const entry = entry_of(table_, block);
        count_ += entry[k_address] == 0 ? 1 : 0;
        entry[k_address] = address_of(block);
        entry[k_asked] = asked;
        entry[k_type] = 0;
        entry[k_transaction] = transaction_;
        for (std::size_t i = 0; i != frames_; ++i)
            entry[k_head + i] = address_of(first[static_cast<std::ptrdiff_t>(i)]);
    }
    void add_type(const void* block, const std::type_info& type) noexcept override {
        if (word* const entry = known(block))
            entry[k_type] = address_of(&type);
    }
    [[nodiscard]] std::optional<note> find(const void* block) const override {
        const word* const entry = known(block);
        if (entry == nullptr)
            return {};
        note found{entry[k_asked], reinterpret_cast<const std::type_info*>(entry[k_type]), {}};
        for (std::size_t i = 0; i != frames_ && entry[k_head + i] != 0; ++i)
            found.calls.push_back(reinterpret_cast<void*>(entry[k_head + i]));
        return found;
    }
    void tell(const void* block) const override {
        std::string text;
        add_to(text, block);
        if (!text.empty())
            std::fprintf(stderr, "remanence: %p:%s\n", block, text.c_str());
    }
    void add_to(std::string& text, const void* block) const override {
        const auto found = find(block);
        if (!found)
            return;
        text += " The block was allocated by these calls, the innermost first:";
        const char* separator = " ";
        for (const std::string& call : os::texts_of_calls(found->calls.data(), found->calls.size())) {
            text += separator + call;
            separator = "; ";
        }
        text += '.';
    }
    void all_is_committed() noexcept override { ++transaction_; }
    void forget(bool committed_too) noexcept override {
        for_each([&](word* entry) {
            if (committed_too || entry[k_transaction] == transaction_)
                entry[k_transaction] = k_forgotten;
        });
    }

private:
    // The words of an entry; the calls follow them.
    static constexpr std::size_t k_address = 0; // 0: the entry is free
    static constexpr std::size_t k_asked = 1;
    static constexpr std::size_t k_type = 2;
    static constexpr std::size_t k_transaction = 3;
    static constexpr std::size_t k_head = 4;
    static constexpr word k_forgotten = 0;
    static constexpr std::size_t k_own_calls_max = 6; // those of this class, and of its caller
    static constexpr std::size_t k_entries_first = 1024;

    struct table {
        word* words = nullptr;
        std::size_t entries = 0; // a power of two, or 0
    };

    [[nodiscard]] std::size_t words_of_entry() const { return k_head + frames_; }
    [[nodiscard]] std::uint64_t bytes_of(std::size_t entries) const {
        return align_up(entries * words_of_entry() * sizeof(word), k_page_bytes);
    }
    void release(const table& of) const {
        if (of.words != nullptr)
            os::release_addresses(reinterpret_cast<std::byte*>(of.words), bytes_of(of.entries));
    }
    /// Returns the entry of this address, or the free one where it belongs. Precondition: the table has a free entry.
    [[nodiscard]] word* entry_of(const table& in, const void* block) const {
        constexpr word k_golden = 0x9e37'79b9'7f4a'7c15;
        for (std::size_t i = (address_of(block) * k_golden >> 20U) % in.entries;; i = (i + 1) % in.entries) {
            word* const entry = in.words + i * words_of_entry();
            if (entry[k_address] == 0 || entry[k_address] == address_of(block))
                return entry;
        }
    }
    [[nodiscard]] word* known(const void* block) const {
        word* const entry = table_.entries == 0 ? nullptr : entry_of(table_, block);
        return entry != nullptr && entry[k_address] != 0 && entry[k_transaction] != k_forgotten ? entry : nullptr;
    }
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (std::size_t i = 0; i != table_.entries; ++i) {
            if (word* const entry = table_.words + i * words_of_entry(); entry[k_address] != 0)
                visit(entry);
        }
    }
    /// Enlarges the table if it is nearly full. Returns false if it is, and there is no memory.
    [[nodiscard]] bool has_room() {
        if (count_ < table_.entries / 4 * 3)
            return true;
        const table larger = make_table(std::max(2 * table_.entries, k_entries_first));
        if (larger.words == nullptr)
            return false;
        for_each([&](const word* entry) {
            std::copy_n(entry, words_of_entry(), entry_of(larger, reinterpret_cast<const void*>(entry[k_address])));
        });
        release(std::exchange(table_, larger));
        return true;
    }
    [[nodiscard]] table make_table(std::size_t entries) const {
        std::byte* const memory = os::reserve_addresses(bytes_of(entries), k_page_bytes);
        if (memory == nullptr)
            return {};
        if (os::make_writable(memory, bytes_of(entries), os::addresses::held) != 0) {
            os::release_addresses(memory, bytes_of(entries));
            return {};
        }
        return {reinterpret_cast<word*>(memory), entries};
    }

    const std::size_t frames_;
    table table_;
    std::size_t count_ = 0; // entries that are not free
    word transaction_ = k_forgotten + 1;
};

} // namespace

block_notes* make_block_notes(unsigned frames) { return new noted_blocks(frames); }

} // namespace remanence::txn
