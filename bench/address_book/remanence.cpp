// rem::multimap in a heap; one write section per phase.
#include "store.hpp"

#include <address_book.hpp> // of the example

namespace {

namespace rem = remanence;

class remanence_store final : public store {
public:
    explicit remanence_store(const std::filesystem::path& directory)
        : heap_(rem::heap::open(directory / "book.rem")), people_(heap_.root<address_book>(k_people)) {}

    void insert(const records& entries) override {
        heap_.write([&] {
            for (const record& entry : entries)
                people_.emplace(std::string_view(entry.name),
                                address{rem::string(entry.street), rem::string(entry.city), rem::string(entry.phone)});
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

    std::uint64_t look_up(const records& entries, const record_order& order) override {
        return heap_.read([&] {
            std::uint64_t checksum = 0;
            for (const std::uint32_t index : order) {
                const auto at = people_.find(std::string_view(entries[index].name));
                if (at != people_.end())
                    checksum += address_checksum(at->first, at->second);
            }
            return checksum;
        });
    }

    std::uint64_t remove(const records& entries, const record_order& order) override {
        return heap_.write([&] {
            std::uint64_t removed = 0;
            for (const std::uint32_t index : order) {
                const record& entry = entries[index];
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

    std::uint64_t remove_by_name(const records& entries, const record_order& order) override {
        return heap_.write([&] {
            std::uint64_t removed = 0;
            for (const std::uint32_t index : order) {
                const auto at = people_.find(std::string_view(entries[index].name));
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
    address_book& people_;
};

} // namespace

system_kind remanence_system() {
    const auto open = [](const std::filesystem::path& directory, bool) {
        return std::make_unique<remanence_store>(directory);
    };
    return {.name = "remanence multimap", .open = open};
}
