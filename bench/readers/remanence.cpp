// Remanence: a heap that processes share, with a B-tree, as the peers have, or a hash table.
#include "store.hpp"

#include <remanence/remanence.hpp>

namespace {

namespace rem = remanence;

template <class Table>
class remanence_store final : public store {
public:
    explicit remanence_store(const std::filesystem::path& directory)
        : heap_(rem::heap::open(directory / "numbers.rem", {.access = rem::sharing::processes})),
          table_(heap_.root<Table>("numbers")) {}

    void fill(std::uint64_t entries) override {
        heap_.write([&] {
            for (std::uint64_t n = 0; n < entries; ++n)
                table_.emplace(bench::scattered_key(n), 0);
        });
    }
    void update(std::span<const std::uint64_t> keys) override {
        heap_.write([&] {
            for (const std::uint64_t key : keys)
                ++table_.at(key);
        });
    }
    std::uint64_t look_up(std::uint64_t key) override {
        std::uint64_t found = 0;
        heap_.read([&] { found = table_.at(key); });
        return found;
    }
    void look_at_nothing() override {
        heap_.read([] {});
    }
    void begin_reading() override { heap_.lock_shared(); }
    void close() override { heap_.close(); }

private:
    rem::heap heap_;
    Table& table_;
};

template <class Table>
system_kind kind(const char* name) {
    return {name,
            [](const std::filesystem::path& directory) { return std::make_unique<remanence_store<Table>>(directory); }};
}

} // namespace

std::vector<system_kind> remanence_systems() {
    return {
        kind<rem::btree_map<std::uint64_t, std::uint64_t>>("Remanence"),
        kind<rem::hash_map<std::uint64_t, std::uint64_t>>("Remanence, hash_map"),
    };
}
