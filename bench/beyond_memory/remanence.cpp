// Remanence: a B-tree of numbers, built in one commit or in many, and a packed map of the bytes that the peers get.
#include "store.hpp"

#include <remanence/remanence.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>

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

/// Big-endian, so that they are in the order of their numbers.
std::array<char, 8> name_of(std::uint64_t key) {
    std::array<char, 8> name{};
    for (std::size_t i = 0; i < name.size(); ++i)
        name[i] = static_cast<char>(key >> (56 - 8 * i));
    return name;
}

std::string_view text_of(const std::array<char, 8>& name) { return {name.data(), name.size()}; }

std::string_view bytes_of(const value_words& words) {
    return {reinterpret_cast<const char*>(words.data()), sizeof words};
}

value_words words_of(std::string_view bytes) {
    value_words words{};
    std::memcpy(words.data(), bytes.data(), std::min(bytes.size(), sizeof words));
    return words;
}

class packed_store final : public store {
public:
    packed_store(const std::filesystem::path& directory, bool read_ahead)
        : heap_(rem::heap::open(directory / "entries.rem", {.memory = {.read_ahead = read_ahead}})),
          map_(heap_.root<rem::packed_map>("table")) {
        map_.read_index(); // as RocksDB does when it opens
    }

    void build(std::uint64_t entries) override {
        heap_.write([&] {
            for (std::uint64_t key = 0; key < entries; ++key)
                map_.emplace(text_of(name_of(key)), bytes_of(first_value(key)));
        });
    }
    value_words look_up(std::uint64_t key) override { return words_of(map_.at(text_of(name_of(key)))); }
    void update(const std::vector<std::uint64_t>& keys) override {
        heap_.write([&] {
            for (const std::uint64_t key : keys) {
                const auto at = map_.find(text_of(name_of(key)));
                value_words value = words_of(at->second);
                ++value[1];
                map_.assign(at, bytes_of(value));
            }
        });
    }
    totals count() override {
        totals all;
        for (const auto& [key, bytes] : map_) {
            const value_words value = words_of(bytes);
            if (key != text_of(name_of(value[0])))
                throw std::runtime_error("Remanence, packed: an entry is not what was put in");
            ++all.entries;
            all.updates += value[1];
        }
        return all;
    }
    void close() override { heap_.close(); }

private:
    rem::heap heap_;
    rem::packed_map& map_;
};

} // namespace

system_kind remanence_packed_system() {
    return {"Remanence, packed",
            [](const std::filesystem::path& directory) { return std::make_unique<packed_store>(directory, true); }};
}

system_kind remanence_page_by_page_system() {
    return {"Remanence, packed, read page by page",
            [](const std::filesystem::path& directory) { return std::make_unique<packed_store>(directory, false); }};
}

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
