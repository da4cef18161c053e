// rem::hash_map in a heap, one write section per phase. With duplicates each name has a vector of its entries, in the
// order in which they came. Names are found one by one, as in the other systems, or all together by find_each(), in the same order.
#include "store.hpp"

#include <remanence/remanence.hpp>

#include <algorithm>
#include <ranges>
#include <utility>

namespace {

namespace rem = remanence;

using one_each = rem::hash_map<rem::string_pi, rem::string_pi>;
using several_each = rem::hash_map<rem::string_pi, rem::vector_pi<rem::string_pi>>;

// What is done with the entries of a name.

void add(one_each& people, const record& entry) {
    people.emplace(std::string_view(entry.name), std::string_view(entry.value));
}

void add(several_each& people, const record& entry) {
    auto at = people.find(std::string_view(entry.name));
    if (at == people.end())
        at = people.try_emplace(rem::string_pi(entry.name)).first;
    at->second.emplace_back(std::string_view(entry.value));
}

std::uint64_t checksum_of_all(std::string_view name, const rem::string_pi& only) { return entry_checksum(name, only); }

std::uint64_t checksum_of_all(std::string_view name, const rem::vector_pi<rem::string_pi>& all) {
    std::uint64_t checksum = 0;
    for (const rem::string_pi& each : all)
        checksum += entry_checksum(name, each);
    return checksum;
}

const rem::string_pi& first_of(const rem::string_pi& only) { return only; }
const rem::string_pi& first_of(const rem::vector_pi<rem::string_pi>& all) { return all.front(); }

std::uint64_t count_of(const rem::string_pi&) { return 1; }
std::uint64_t count_of(const rem::vector_pi<rem::string_pi>& all) { return all.size(); }

/// Whether there was such an entry.
bool remove_one(one_each& people, one_each::iterator at, const record& entry) {
    if (at->second != std::string_view(entry.value))
        return false;
    people.erase(at);
    return true;
}

bool remove_one(several_each& people, several_each::iterator at, const record& entry) {
    auto& all = at->second;
    const auto found = std::find(all.begin(), all.end(), std::string_view(entry.value));
    if (found == all.end())
        return false;
    all.erase(found);
    if (all.empty())
        people.erase(at);
    return true;
}

void remove_first(one_each& people, one_each::iterator at) { people.erase(at); }

void remove_first(several_each& people, several_each::iterator at) {
    at->second.erase(at->second.begin());
    if (at->second.empty())
        people.erase(at);
}

// How the entries of all names are found: act(where, entry) for each.

struct one_by_one {
    template <class Book, class Act>
    static void find(Book& people, const records& entries, const Act& act) {
        for (const record& entry : entries)
            act(people.find(std::string_view(entry.name)), entry);
    }
};
struct together {
    template <class Book, class Act>
    static void find(Book& people, const records& entries, const Act& act) {
        auto entry = entries.begin();
        people.find_each(entries |
                             std::views::transform([](const record& each) { return std::string_view(each.name); }),
                         [&](auto at) { act(at, *entry++); });
    }
};

template <class Book, class Way>
class hash_store final : public store {
public:
    explicit hash_store(const std::filesystem::path& directory)
        : heap_(rem::heap::open(directory / "book.rem")), people_(heap_.root<Book>("people")) {}

    void insert(const records& entries) override {
        heap_.write([&] {
            for (const record& entry : entries)
                add(people_, entry);
        });
    }

    std::uint64_t iterate() override {
        return heap_.read([&] {
            std::uint64_t checksum = 0;
            for (const auto& [name, addresses] : people_)
                checksum += checksum_of_all(name, addresses);
            return checksum;
        });
    }

    std::uint64_t look_up(const records& entries) override {
        return heap_.read([&] {
            std::uint64_t checksum = 0;
            Way::find(std::as_const(people_), entries, [&](auto at, const record&) {
                if (at != people_.end())
                    checksum += entry_checksum(at->first, first_of(at->second));
            });
            return checksum;
        });
    }

    std::uint64_t remove(const records& entries) override {
        return heap_.write([&] {
            std::uint64_t removed = 0;
            Way::find(people_, entries, [&](auto at, const record& entry) {
                removed += at != people_.end() && remove_one(people_, at, entry);
            });
            return removed;
        });
    }

    std::uint64_t remove_by_name(const records& entries) override {
        return heap_.write([&] {
            std::uint64_t removed = 0;
            Way::find(people_, entries, [&](auto at, const record&) {
                if (at == people_.end())
                    return;
                remove_first(people_, at);
                ++removed;
            });
            return removed;
        });
    }

    std::uint64_t size() override {
        std::uint64_t count = 0;
        for (const auto& [name, addresses] : people_)
            count += count_of(addresses);
        return count;
    }
    void close() override { heap_.close(); }

private:
    rem::heap heap_;
    Book& people_;
};

template <class Way>
system_kind hash_system(const std::string& name) {
    const auto open = [](const std::filesystem::path& directory, bool duplicates) -> std::unique_ptr<store> {
        if (duplicates)
            return std::make_unique<hash_store<several_each, Way>>(directory);
        return std::make_unique<hash_store<one_each, Way>>(directory);
    };
    return {.name = name, .open = open};
}

} // namespace

system_kind remanence_hash_system() { return hash_system<one_by_one>("remanence hash_map"); }
system_kind remanence_hash_together_system() { return hash_system<together>("remanence hash_map, find_each"); }
