// Remanence: a B-tree, built in one commit or in many.
#include "store.hpp"

#include <remanence/remanence.hpp>

#include <algorithm>
#include <stdexcept>

namespace {

namespace rem = remanence;

using table = rem::btree_map<std::uint64_t, value_words>;

class remanence_store final : public store {
public:
    remanence_store(const std::filesystem::path& directory, std::uint64_t entries_of_commit)
        : entries_of_commit_(entries_of_commit),
          heap_(rem::heap::open(directory / "entries.rem")),
          table_(heap_.root<table>("table")) {}

    void build(std::uint64_t entries) override {
        for (std::uint64_t first = 0; first < entries; first += entries_of_commit_) {
            heap_.write([&] {
                for (std::uint64_t key = first; key < std::min(entries, first + entries_of_commit_); ++key)
                    table_.emplace_hint(table_.end(), key, first_value(key));
            });
        }
    }
    value_words look_up(std::uint64_t key) override { return table_.at(key); }
    void update(const std::vector<std::uint64_t>& keys) override {
        heap_.write([&] {
            for (const std::uint64_t key : keys)
                ++table_.at(key)[1];
        });
    }
    totals count() override {
        totals all;
        for (const auto& [key, value] : table_) {
            if (value[0] != key)
                throw std::runtime_error("Remanence: an entry is not what was put in");
            ++all.entries;
            all.updates += value[1];
        }
        return all;
    }
    void close() override { heap_.close(); }

private:
    std::uint64_t entries_of_commit_;
    rem::heap heap_;
    table& table_;
};

} // namespace

system_kind remanence_one_commit_system() {
    return {"Remanence, one commit", [](const std::filesystem::path& directory) {
                return std::make_unique<remanence_store>(directory, ~std::uint64_t{0} / 2);
            }};
}

system_kind remanence_many_commits_system() {
    return {"Remanence, many commits", [](const std::filesystem::path& directory) {
                return std::make_unique<remanence_store>(directory, 10'000);
            }};
}
