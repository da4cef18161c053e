// The table of examples/cache against the plainest list of entries, in a heap.
#include "../../examples/cache/lru_table.hpp"

#include "support/seed.hpp"
#include "support/temp_dir.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

namespace remanence::test {
namespace {

using examples::cache_item;
using examples::lru_table;

/// The same by a list that is searched from its newest entry.
class table_model {
public:
    struct entry {
        std::string key;
        std::string value;
        std::int64_t expires;
    };

    const std::string* get(const std::string& key, std::int64_t now) {
        const auto at = find(key);
        if (at == all_.end())
            return nullptr;
        if (at->expires <= now) {
            all_.erase(at);
            return nullptr;
        }
        all_.splice(all_.begin(), all_, at);
        return &at->value;
    }
    void set(const std::string& key, const std::string& value, std::int64_t expires, std::size_t entries_max) {
        erase(key);
        all_.push_front({key, value, expires});
        if (all_.size() > entries_max)
            all_.resize(entries_max);
    }
    bool erase(const std::string& key) {
        return std::erase_if(all_, [&](const entry& each) { return each.key == key; }) != 0;
    }
    [[nodiscard]] const std::list<entry>& all() const { return all_; }

private:
    std::list<entry>::iterator find(const std::string& key) {
        return std::ranges::find(all_, key, [](const entry& each) { return each.key; });
    }
    std::list<entry> all_;
};

void expect_equal(const lru_table& table, const table_model& model) {
    ASSERT_TRUE(table.is_sound());
    const cache_item* item = table.newest();
    for (const table_model::entry& each : model.all()) {
        ASSERT_NE(item, nullptr);
        ASSERT_EQ(std::string_view(item->key), each.key);
        ASSERT_EQ(std::string_view(item->value), each.value);
        ASSERT_EQ(item->expires, each.expires);
        item = item->older;
    }
    ASSERT_EQ(item, nullptr);
}

TEST(lru_table, behaves_as_its_model_over_sections_rollbacks_and_reopening) {
    std::mt19937 random(test::random_seed());
    const temp_dir dir = temp_dir::in_memory();
    std::optional<heap> in(heap::open(dir / "cache.rem"));
    lru_table* table = &in->root<lru_table>("table");
    const std::uint64_t blocks_of_empty = in->verify().blocks_checked;
    table_model model;
    std::int64_t now = 0;
    for (int step = 0; step != 1000; ++step) {
        const table_model before = model;
        const auto change = [&] {
            for (auto i = random() % 30; i != 0; --i) {
                const std::string key = "key " + std::to_string(random() % 300);
                now += static_cast<std::int64_t>(random() % 2);
                switch (random() % 8) {
                case 0:
                    ASSERT_EQ(table->erase(key), model.erase(key));
                    break;
                case 1:
                case 2: {
                    const std::string value(random() % 200, 'x');
                    const auto expires = now + static_cast<std::int64_t>(random() % 2000);
                    const std::size_t entries_max = 1 + random() % 400;
                    table->set(key, value, expires, entries_max);
                    model.set(key, value, expires, entries_max);
                    break;
                }
                default: {
                    const string_pi* const got = table->get(key, now);
                    const std::string* const expected = model.get(key, now);
                    ASSERT_EQ(got == nullptr, expected == nullptr);
                    if (got != nullptr) {
                        ASSERT_EQ(std::string_view(*got), *expected);
                    }
                }
                }
            }
        };
        switch (random() % 8) {
        case 0:
            EXPECT_THROW(in->write([&] {
                change();
                throw std::runtime_error("rolled back");
            }),
                         std::runtime_error);
            model = before;
            break;
        case 1:
            change();
            in->commit();
            in->close();
            in.emplace(heap::open(dir / "cache.rem"));
            table = in->find_root<lru_table>("table");
            ASSERT_NE(table, nullptr);
            break;
        default:
            in->write(declared, change); // builds without NDEBUG throw if a change was not declared
            in->rollback();              // takes back what was not declared, and so not committed
        }
        expect_equal(*table, model);
    }
    EXPECT_TRUE(in->check_pointers().clean());
    EXPECT_TRUE(in->verify().clean());
    in->remove_root<lru_table>("table");
    in->root<lru_table>("table");
    EXPECT_EQ(in->verify().blocks_checked, blocks_of_empty);
}

} // namespace
} // namespace remanence::test
