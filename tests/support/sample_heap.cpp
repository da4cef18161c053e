#include "support/sample_heap.hpp"

#include "api/heap_impl.hpp"
#include "base/units.hpp"

#include <remanence/arena.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::sample {

namespace {

constexpr std::uint64_t k_chunk_bytes = 64 * KiB;
constexpr int k_words = 60;
constexpr std::uint64_t k_numbers = 1500;
constexpr std::uint64_t k_more_numbers = 2500;
constexpr std::uint64_t k_field_words = k_field_bytes / sizeof(std::uint64_t);

heap_options small() {
    heap_options options;
    options.memory.reserve_bytes = 64 * MiB;
    options.memory.chunk_bytes = k_chunk_bytes;
#ifdef REMANENCE_TSAN_BASES
    options.memory.base = 0x5840'0000'0000;
#else
    options.memory.base = 0x1180'0000'0000;
#endif
    return options;
}

std::string word(int i) { return "word number " + std::to_string(i) + (i % 2 == 0 ? ", one of the longer ones" : ""); }
std::string meaning(int i, int edition) {
    return "edition " + std::to_string(edition) + ": " + std::string(static_cast<std::size_t>(i % 7 * 20), '.') +
           std::to_string(i);
}
bool is_removed(int i) { return i % 3 == 0; }
bool is_revised(int i) { return i % 5 == 1; }

std::uint64_t number(std::uint64_t i) { return i % 1000 + 1; }

/// The program that makes the heap.
struct maker {
    heap& opened;
    const std::function<void(heap&)>& committed;
    std::uint64_t field_words;
    dictionary& words = opened.root<dictionary>("dictionary");
    numbers& counts = opened.root<numbers>("numbers");
    field& land = opened.root<field>("field");

    void commit() {
        opened.commit();
        committed(opened);
    }
    void first_session();
    void second_session();
    void store_and_free();
};

void maker::first_session() {
    for (int i = 0; i < k_words; ++i)
        words.emplace(word(i), meaning(i, 1));
    commit();
    for (std::uint64_t i = 0; i < k_numbers; ++i)
        counts.push_back(number(i));
    commit();
    land.words = opened.get_allocator<std::uint64_t>().allocate(field_words);
    land.count = field_words;
    land.words[0] = 1;
    land.words[field_words - 1] = 2;
    commit();
    for (int i = 0; i < k_words; ++i) {
        if (is_removed(i))
            words.erase(words.find(std::string_view(word(i))));
    }
    commit();
    opened.checkpoint();
    land.words[100] = 3;
    commit();
}

void maker::second_session() {
    for (int i = 0; i < k_words; ++i) {
        if (is_revised(i) && !is_removed(i))
            words.find(std::string_view(word(i)))->second = meaning(i, 2);
    }
    commit();
    for (int i = 0; i < k_words; ++i) // a long record, which later ones do not cover
        words.emplace("passing " + word(i), meaning(i, 3));
    commit();
    for (int i = 0; i < k_words; ++i)
        words.erase(words.find(std::string_view("passing " + word(i))));
    commit();
    opened.checkpoint();
    while (counts.size() < k_more_numbers) // moves to a larger block
        counts.push_back(number(counts.size()));
    commit();
    land.words[field_words / 2] = 4; // a chunk that was skipped so far
    commit();
    counts[11] = 0;
    commit();
}

/// Leaves chunks that are stored, and in which no block lies.
void maker::store_and_free() {
    constexpr std::uint64_t k_bytes = 4 * k_chunk_bytes;
    auto place = opened.get_allocator<std::byte>();
    std::byte* const block = place.allocate(k_bytes);
    std::fill_n(block, k_bytes, std::byte{1});
    commit();
    place.deallocate(block, k_bytes);
    commit();
}

/// Performs on a disk without files what was recorded before the last superblock was written.
void repeat_up_to_last_superblock(const std::vector<simulation::disk_operation>& trace,
                                  simulation::simulated_disk& on) {
    const auto last = std::find_if(trace.rbegin(), trace.rend(), [](const simulation::disk_operation& each) {
        return each.where.name() == std::string_view("store: superblock");
    });
    std::for_each(trace.begin(), std::prev(last.base()), [&](const auto& each) { on.apply(each); });
}

} // namespace

void make(simulation::simulated_disk& disk, ending how, const std::function<void(heap&)>& committed,
          std::uint64_t field_bytes) {
    const std::uint64_t field_words = field_bytes / sizeof(std::uint64_t);
    const std::function<void(heap&)> observe = [&](heap& opened) {
        if (committed)
            committed(opened);
    };
    simulation::simulated_disk undisturbed;
    simulation::simulated_disk& worked_on = how == ending::giving_back ? undisturbed : disk;
    {
        heap opened = detail::open(worked_on, k_path, small(), detail::opening::create);
        maker{opened, observe, field_words}.first_session();
        opened.close();
    }
    heap opened = detail::open(worked_on, k_path, small(), detail::opening::open_existing);
    maker second{opened, observe, field_words};
    second.second_session();
    if (how == ending::closed)
        return opened.close();
    if (how == ending::giving_back) {
        second.store_and_free();
        opened.checkpoint();
        repeat_up_to_last_superblock(undisturbed.trace(), disk);
    }
    worked_on.die_at(0); // so that the destructor cannot close the files
    {
        const heap killed = std::move(opened);
    }
    worked_on.work_again();
}

std::optional<std::string> difference(heap& opened) {
    const auto* words = opened.find_root<dictionary>("dictionary");
    const auto* counts = opened.find_root<numbers>("numbers");
    const auto* land = opened.find_root<field>("field");
    if (words == nullptr || counts == nullptr || land == nullptr || opened.roots().size() != 3)
        return "the roots are not those that were made";

    std::map<std::string, std::string> expected;
    for (int i = 0; i < k_words; ++i) {
        if (!is_removed(i))
            expected.emplace(word(i), meaning(i, is_revised(i) ? 2 : 1));
    }
    if (words->size() != expected.size())
        return "the dictionary has " + std::to_string(words->size()) + " words";
    for (auto found = words->begin(); const auto& [key, value] : expected) {
        if (std::string_view(found->first) != key || std::string_view(found->second) != value)
            return "the dictionary says \"" + std::string(found->first) + "\": \"" + std::string(found->second) + '"';
        ++found;
    }
    if (counts->size() != k_more_numbers)
        return "there are " + std::to_string(counts->size()) + " numbers";
    for (std::uint64_t i = 0; i < k_more_numbers; ++i) {
        if ((*counts)[i] != (i == 11 ? 0 : number(i)))
            return "number " + std::to_string(i) + " is " + std::to_string((*counts)[i]);
    }
    if (land->count != k_field_words)
        return "the field has another size";
    const std::map<std::uint64_t, std::uint64_t> touched{
        {0, 1}, {100, 3}, {k_field_words / 2, 4}, {k_field_words - 1, 2}};
    for (std::uint64_t i = 0; i < k_field_words; ++i) {
        const auto at = touched.find(i);
        if (land->words[i] != (at == touched.end() ? 0 : at->second))
            return "word " + std::to_string(i) + " of the field is " + std::to_string(land->words[i]);
    }
    return {};
}

void make_with_arena(simulation::simulated_disk& disk) {
    heap opened = detail::open(disk, k_path, small(), detail::opening::create);
    auto& counts = arena::open(opened, "numbers", {.room_bytes = MiB}).root<numbers>("numbers");
    while (counts.size() != k_numbers_in_arena)
        counts.push_back(counts.size() + 1);
    opened.commit();
    opened.close();
}

} // namespace remanence::sample
