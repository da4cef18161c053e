// The volatile reference: std::multimap over malloc.
#include "store.hpp"

#include <map>

namespace {

struct plain_address {
    std::string street, city, phone;
};

class std_multimap_store final : public store {
public:
    void insert(const records& entries) override {
        for (const record& entry : entries)
            people_.emplace(entry.name, plain_address{entry.street, entry.city, entry.phone});
    }

    std::uint64_t iterate() override {
        std::uint64_t checksum = 0;
        for (const auto& [name, where] : people_)
            checksum += address_checksum(name, where);
        return checksum;
    }

    std::uint64_t look_up(const records& entries) override {
        std::uint64_t checksum = 0;
        for (const record& entry : entries) {
            const auto at = people_.find(std::string_view(entry.name));
            if (at != people_.end())
                checksum += address_checksum(at->first, at->second);
        }
        return checksum;
    }

    std::uint64_t remove(const records& entries) override {
        std::uint64_t removed = 0;
        for (const record& entry : entries) {
            auto [at, end] = people_.equal_range(std::string_view(entry.name));
            while (at != end && at->second.phone != entry.phone)
                ++at;
            if (at == end)
                continue;
            people_.erase(at);
            ++removed;
        }
        return removed;
    }

    std::uint64_t remove_by_name(const records& entries) override {
        std::uint64_t removed = 0;
        for (const record& entry : entries) {
            const auto at = people_.find(std::string_view(entry.name));
            if (at == people_.end())
                continue;
            people_.erase(at);
            ++removed;
        }
        return removed;
    }

    std::uint64_t size() override { return people_.size(); }
    void close() override {}

private:
    std::multimap<std::string, plain_address, std::less<>> people_;
};

} // namespace

system_kind std_multimap_system() {
    const auto open = [](const std::filesystem::path&, bool) { return std::make_unique<std_multimap_store>(); };
    return {.name = "std::multimap", .open = open, .persistent = false};
}
