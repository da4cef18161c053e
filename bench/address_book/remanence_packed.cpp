// rem::packed_map and packed_multimap in a heap, one write section per phase: an entry is its bytes, as in the other systems.
#include "store.hpp"

#include <remanence/remanence.hpp>

#include <iterator>
#include <ranges>
#include <utility>

namespace {

namespace rem = remanence;

rem::packed_map::iterator very(const rem::packed_map& people, const record& entry) {
    const auto at = people.find(entry.name);
    return at != people.end() && at->second == entry.value ? at : people.end();
}

rem::packed_multimap::iterator very(const rem::packed_multimap& people, const record& entry) {
    return people.find(entry.name, entry.value);
}

template <class Book>
class packed_store final : public store {
public:
    explicit packed_store(const std::filesystem::path& directory)
        : heap_(rem::heap::open(directory / "book.rem")), people_(heap_.root<Book>("people")) {}

    void insert(const records& entries) override {
        heap_.write([&] {
            const auto all = entries | std::views::transform([](const record& entry) {
                                 return std::pair<std::string_view, std::string_view>(entry.name, entry.value);
                             });
            people_.insert(all.begin(), all.end());
        });
    }

    std::uint64_t iterate() override {
        return heap_.read([&] {
            std::uint64_t checksum = 0;
            for (const auto& [name, value] : people_)
                checksum += entry_checksum(name, value);
            return checksum;
        });
    }

    std::uint64_t look_up(const records& entries) override {
        return heap_.read([&] {
            std::uint64_t checksum = 0;
            for (const record& entry : entries) {
                if (const auto at = people_.find(entry.name); at != people_.end()) {
                    const auto [name, value] = *at;
                    checksum += entry_checksum(name, value);
                }
            }
            return checksum;
        });
    }

    std::uint64_t remove(const records& entries) override {
        return heap_.write([&] {
            std::uint64_t removed = 0;
            for (const record& entry : entries) {
                const auto at = very(people_, entry);
                if (at == people_.end())
                    continue;
                people_.erase(at);
                ++removed;
            }
            return removed;
        });
    }

    std::uint64_t remove_by_name(const records& entries) override {
        return heap_.write([&] {
            std::uint64_t removed = 0;
            for (const record& entry : entries) {
                const auto at = people_.find(entry.name);
                if (at == people_.end())
                    continue;
                people_.erase(at);
                ++removed;
            }
            return removed;
        });
    }

    std::uint64_t size() override { return static_cast<std::uint64_t>(std::distance(people_.begin(), people_.end())); }
    void close() override { heap_.close(); }

private:
    rem::heap heap_;
    Book& people_;
};

} // namespace

system_kind remanence_packed_system() {
    const auto open = [](const std::filesystem::path& directory, bool duplicates) -> std::unique_ptr<store> {
        if (duplicates)
            return std::make_unique<packed_store<rem::packed_multimap>>(directory);
        return std::make_unique<packed_store<rem::packed_map>>(directory);
    };
    return {.name = "remanence packed_map", .open = open};
}
