// The container of examples/ring_buffer against std::deque, in a heap.
#include "../../examples/ring_buffer/ring_buffer.hpp"

#include "support/seed.hpp"
#include "support/temp_dir.hpp"

#include <remanence/file_backed.hpp>
#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <random>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ring_buffer_test {

struct fails {
    int value;
    explicit fails(int v) : value(v) {
        if (v < 0)
            throw std::runtime_error("negative");
    }
};

} // namespace ring_buffer_test

namespace remanence::test {
namespace {

using ring_buffer_test::fails;

using ring = examples::ring_buffer<string_pi>;
static_assert(std::ranges::random_access_range<ring> && std::ranges::random_access_range<const ring>);
static_assert(persistable<ring> && position_independent<ring>);
static_assert(!position_independent<examples::ring_buffer<int*>>);
static_assert(!persistable<examples::ring_buffer<std::string>>);

void expect_equal(const ring& all, const std::deque<std::string>& model) {
    ASSERT_TRUE(all.check_invariants());
    ASSERT_TRUE(std::ranges::equal(all, model,
                                   [](const string_pi& a, const std::string& b) { return std::string_view(a) == b; }));
}

TEST(ring_buffer, behaves_as_a_deque_over_commits_rollbacks_and_reopening) {
    std::mt19937 random(test::random_seed());
    const temp_dir dir = temp_dir::in_memory();
    std::optional<heap> in(heap::open(dir / "ring.rem"));
    ring* all = &in->root<ring>("all");
    in->commit();
    std::deque<std::string> model;
    std::size_t largest = 0;
    for (int step = 0; step != 2000; ++step) {
        if (model.size() > 2000) {
            in->write([&] { all->clear(); });
            model.clear();
        }
        const std::deque<std::string> before = model;
        const auto change = [&] {
            if (random() % 8 == 0) {
                ring other(*all);
                other.emplace_back("another one");
                model.emplace_back("another one");
                if (random() % 2 == 0)
                    *all = other;
                else
                    *all = ring(std::move(other), all->get_allocator());
                all->reserve(random() % (2 * model.size()));
            }
            // Many at times, so that elements are on other pages than the container.
            const bool is_burst = random() % 16 == 0;
            for (auto i = random() % (is_burst ? 800U : 8U); i != 0; --i) {
                if (!model.empty() && random() % (is_burst ? 8U : 2U) == 0) {
                    all->pop_front();
                    model.pop_front();
                } else if (!model.empty() && random() % 4 == 0) {
                    all->push_back(all->front()); // an element of its own, also when it grows
                    model.push_back(model.front());
                } else {
                    model.emplace_back(random() % 60, 'x');
                    all->emplace_back(model.back());
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
            in->write(change);
            in->close();
            in.emplace(heap::open(dir / "ring.rem"));
            all = in->find_root<ring>("all");
            ASSERT_NE(all, nullptr);
            break;
        default:
            in->write(declared, change); // builds without NDEBUG throw if a change was not declared
            in->rollback();              // takes back what was not declared, and so not committed
        }
        expect_equal(*all, model);
        largest = std::max(largest, model.size());
    }
    EXPECT_GT(largest, 500U);
    EXPECT_EQ(std::ranges::equal(*all | std::views::reverse, model | std::views::reverse, {},
                                 [](const string_pi& each) { return std::string_view(each); }),
              true);
    EXPECT_TRUE(in->check_pointers().clean());
    EXPECT_TRUE(in->verify().clean());
}

TEST(ring_buffer, is_as_before_when_an_element_cannot_be_made) {
    const temp_dir dir;
    heap in = heap::open(dir / "ring.rem");
    auto& all = in.root<examples::ring_buffer<fails>>("all");
    for (int size = 0; size != 9; ++size) { // 0, 4 and 8: when it would grow
        in.write([&] { EXPECT_THROW(all.emplace_back(-1), std::runtime_error); });
        EXPECT_EQ(all.size(), static_cast<std::size_t>(size));
        EXPECT_TRUE(all.check_invariants());
        in.write([&] { all.emplace_back(size); });
        EXPECT_EQ(all.back().value, size);
    }
}

TEST(ring_buffer, is_found_at_another_address) {
    const temp_dir dir;
    const std::string text = "more characters than lie in the string itself";
    const void* created_at = nullptr;
    {
        heap in = heap::open(dir / "ring.rem");
        created_at = in.base();
    }
    std::filesystem::remove(dir / "ring.rem");
    const file_backed_options at_one_base{.heap = {.memory = {.base = reinterpret_cast<std::uintptr_t>(created_at)}}};
    file_backed<ring>(dir / "ring.rem", at_one_base)->emplace_back(text);
    const file_backed<ring> in_the_way(dir / "other.rem", at_one_base);
    file_backed<ring> found(dir / "ring.rem");
    EXPECT_NE(static_cast<const void*>(&*found), static_cast<const void*>(&*in_the_way));
    ASSERT_EQ(found->size(), 1U);
    EXPECT_EQ(found->front(), text);
    found->pop_front();
    EXPECT_TRUE(found->empty());
}

TEST(ring_buffer, is_not_found_with_other_elements) {
    const temp_dir dir;
    heap in = heap::open(dir / "ring.rem");
    in.root<ring>("all");
    EXPECT_THROW(static_cast<void>(in.find_root<examples::ring_buffer<int>>("all")), error);
}

} // namespace
} // namespace remanence::test
