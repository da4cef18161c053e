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

/// A hash table with linear probing, and a journal, both in memory that is mapped for them. No address is removed from
/// the table: a note that is forgotten has no size.
///
/// The journal has what entries were at earlier moments. An entry is copied there when it first changes after a moment,
/// so for each moment the journal grows by the table at most, whatever a section allocates and frees.
class noted_blocks final : public block_notes {
public:
    explicit noted_blocks(unsigned frames) : frames_(frames) {
        std::array<void*, 1> first{};
        os::note_calls(first.data(), first.size()); // the first call in a process may use malloc()
    }
    noted_blocks(const noted_blocks&) = delete;
    noted_blocks& operator=(const noted_blocks&) = delete;
    ~noted_blocks() override {
        release(table_);
        release(journal_);
    }

    void add(const void* block, std::uint64_t asked) noexcept override {
        if (!has_room_in_table() || !has_room_in_journal()) {
            if (word* const entry = known(block))
                entry[k_asked] = k_forgotten;
            return;
        }
        word* const entry = entry_of(table_, block);
        if (entry[k_address] == 0) {
            ++in_table_;
            entry[k_address] = address_of(block);
            entry[k_asked] = k_forgotten;
        }
        if (entry[k_period] != period_)
            std::copy_n(entry, words_of_entry(), journal_.words + in_journal_++ * words_of_entry());
        entry[k_asked] = asked;
        entry[k_type] = 0;
        entry[k_period] = period_;
        std::array<void*, os::k_calls_noted_max> calls;
        os::note_calls(calls.data(), frames_);
        std::transform(calls.begin(), calls.begin() + frames_, entry + k_head, address_of);
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
    void freed(const void* block, std::uint64_t bytes, std::uint64_t there) override {
        if (there == bytes)
            return;
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
    void all_is_committed() noexcept override {
        in_journal_ = k_last_commit;
        ++period_;
    }
    [[nodiscard]] moment now() noexcept override {
        ++period_;
        return in_journal_;
    }
    void go_back_to(moment earlier) noexcept override {
        while (in_journal_ > earlier) {
            const word* const was = journal_.words + --in_journal_ * words_of_entry();
            std::copy_n(was, words_of_entry(), entry_of(table_, reinterpret_cast<const void*>(was[k_address])));
        }
        ++period_;
    }
    void forget_all() noexcept override {
        for_each([](word* entry) { entry[k_asked] = k_forgotten; });
        all_is_committed();
    }

private:
    // The words of an entry; the calls follow them.
    static constexpr std::size_t k_address = 0; // 0: the entry is free
    static constexpr std::size_t k_asked = 1;
    static constexpr std::size_t k_type = 2;
    static constexpr std::size_t k_period = 3; // when the entry changed last
    static constexpr std::size_t k_head = 4;
    static constexpr word k_forgotten = ~word{0}; // in k_asked
    static constexpr std::size_t k_entries_first = 1024;

    struct entries {
        word* words = nullptr;
        std::size_t count_max = 0; // a power of two, or 0
    };

    [[nodiscard]] std::size_t words_of_entry() const { return k_head + frames_; }
    [[nodiscard]] std::uint64_t bytes_of(std::size_t count) const {
        return align_up(count * words_of_entry() * sizeof(word), k_page_bytes);
    }
    void release(const entries& of) const {
        if (of.words != nullptr)
            os::release_addresses(reinterpret_cast<std::byte*>(of.words), bytes_of(of.count_max));
    }
    /// Returns the entry of this address, or the free one where it belongs. Precondition: the table has a free entry.
    [[nodiscard]] word* entry_of(const entries& in, const void* block) const {
        constexpr word k_golden = 0x9e37'79b9'7f4a'7c15;
        for (std::size_t i = (address_of(block) * k_golden >> 20U) % in.count_max;; i = (i + 1) % in.count_max) {
            word* const entry = in.words + i * words_of_entry();
            if (entry[k_address] == 0 || entry[k_address] == address_of(block))
                return entry;
        }
    }
    [[nodiscard]] word* known(const void* block) const {
        word* const entry = table_.count_max == 0 ? nullptr : entry_of(table_, block);
        return entry != nullptr && entry[k_address] != 0 && entry[k_asked] != k_forgotten ? entry : nullptr;
    }
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (std::size_t i = 0; i != table_.count_max; ++i) {
            if (word* const entry = table_.words + i * words_of_entry(); entry[k_address] != 0)
                visit(entry);
        }
    }
    /// Enlarges the table if it is nearly full. Returns false if it is, and there is no memory.
    [[nodiscard]] bool has_room_in_table() {
        if (in_table_ < table_.count_max / 4 * 3)
            return true;
        const entries larger = make_twice(table_);
        if (larger.words == nullptr)
            return false;
        for_each([&](const word* entry) {
            std::copy_n(entry, words_of_entry(), entry_of(larger, reinterpret_cast<const void*>(entry[k_address])));
        });
        release(std::exchange(table_, larger));
        return true;
    }
    /// Does the same for the journal, if it is full.
    [[nodiscard]] bool has_room_in_journal() {
        if (in_journal_ < journal_.count_max)
            return true;
        const entries larger = make_twice(journal_);
        if (larger.words == nullptr)
            return false;
        std::copy_n(journal_.words, in_journal_ * words_of_entry(), larger.words);
        release(std::exchange(journal_, larger));
        return true;
    }
    [[nodiscard]] entries make_twice(const entries& of) const {
        const std::size_t count = std::max(2 * of.count_max, k_entries_first);
        std::byte* const memory = os::reserve_addresses(bytes_of(count), k_page_bytes);
        if (memory == nullptr)
            return {};
        if (os::make_writable(memory, bytes_of(count), os::addresses::held) != 0) {
            os::release_addresses(memory, bytes_of(count));
            return {};
        }
        return {reinterpret_cast<word*>(memory), count};
    }

    const std::size_t frames_;
    entries table_;
    std::size_t in_table_ = 0; // entries that are not free
    entries journal_;
    std::size_t in_journal_ = k_last_commit;
    word period_ = 1; // from one moment to the next
};

} // namespace

block_notes* make_block_notes(unsigned frames) { return new noted_blocks(frames); }

} // namespace remanence::txn
