// Containers in a heap, one write section per phase: rem::multimap, as the example has it, and rem::btree_multimap; in
// remanence_hash.cpp is rem::hash_map.
#include "store.hpp"

#include "compact_address.hpp"

#include <address_book.hpp> // of the example

namespace {

namespace rem = remanence;

/// An ordered container of all entries.
template <class Book>
class ordered_store final : public store {
public:
    explicit ordered_store(const std::filesystem::path& directory)
        : heap_(rem::heap::open(directory / "book.rem")), people_(heap_.root<Book>(k_people)) {}

    void insert(const records& entries) override {
        using text = typename Book::key_type;
        heap_.write([&] {
            for (const record& entry : entries)
                people_.emplace(std::string_view(entry.name),
                                typename Book::mapped_type{text(entry.street), text(entry.city), text(entry.phone)});
        });
    }

    std::uint64_t iterate() override {
        return heap_.read([&] {
            std::uint64_t checksum = 0;
            for (const auto& [name, where] : people_)
                checksum += address_checksum(name, where);
            return checksum;
        });
    }

    std::uint64_t look_up(const records& entries) override {
        return heap_.read([&] {
            std::uint64_t checksum = 0;
            for (const record& entry : entries) {
                const auto at = people_.find(std::string_view(entry.name));
                if (at != people_.end())
                    checksum += address_checksum(at->first, at->second);
            }
            return checksum;
        });
    }

    std::uint64_t remove(const records& entries) override {
        return heap_.write([&] {
            std::uint64_t removed = 0;
            for (const record& entry : entries) {
                auto [at, end] = people_.equal_range(std::string_view(entry.name));
                while (at != end && at->second.phone != std::string_view(entry.phone))
                    ++at;
                if (at == end)
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
                const auto at = people_.find(std::string_view(entry.name));
                if (at == people_.end())
                    continue;
                people_.erase(at);
                ++removed;
            }
            return removed;
        });
    }

    std::uint64_t size() override { return people_.size(); }
    void close() override { heap_.close(); }

private:
    rem::heap heap_;
    Book& people_;
};

template <class Book>
system_kind ordered_system(const std::string& name) {
    const auto open = [](const std::filesystem::path& directory, bool) {
        return std::make_unique<ordered_store<Book>>(directory);
    };
    return {.name = name, .open = open};
}

} // namespace

system_kind remanence_system() { return ordered_system<address_book>("remanence multimap"); }

system_kind remanence_btree_system() {
    return ordered_system<rem::btree_multimap<rem::string_pi, compact_address>>("remanence btree_multimap");
}
