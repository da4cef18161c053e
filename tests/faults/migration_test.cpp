// Every allocation of a program that migrates a root, dumps and loads fails, one after the other: the heap has the old objects or the new
// ones, and what failed succeeds when it is done again.
#include "api/heap_impl.hpp"
#include "failing_new.hpp"
#include "program.hpp"
#include "support/temp_dir.hpp"

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <new>
#include <optional>
#include <string>

namespace remanence::faults {

struct old_entry {
    string text;
    int number = 0;
    old_entry* next = nullptr;
};
struct new_entry {
    long number = 0;
    string text;
    new_entry* next = nullptr;
    string added = "a text that is too long for the object itself";
};
struct first_price {
    double amount = 0;
};
struct second_price {
    long cents = 0;
    string text;
};
struct third_price {
    string text;
    long cents = 0;
};
struct old_place { // becomes the other in place
    string gone;
    int number = 0;
    int height = 0;
    old_place* next = nullptr;
};
struct new_place {
    int height = 0;
    int number = 0;
    new_place* next = nullptr;
    string added = "a text that is too long for the object itself";
};
using old_entries = map<string, old_entry>;
using new_entries = btree_map<string, new_entry>;

namespace {

class unharmed {
public:
    unharmed() : was_armed_(allocations().armed) { allocations().armed = false; }
    unharmed(const unharmed&) = delete;
    unharmed& operator=(const unharmed&) = delete;
    ~unharmed() { allocations().armed = was_armed_; }

private:
    bool was_armed_;
};

migrations to_newer_types() {
    const unharmed meanwhile;
    return migrations()
        .to<new_entries>("entries")
        .to<vector<third_price>>("prices")
        .to<list<new_place>>("places")
        .drop("gone")
        .migrate<first_price, second_price>([](const first_price& was, second_price& now) {
            now.cents = static_cast<long>(was.amount * 100);
            now.text = "a text that is too long for the object itself";
        })
        .migrate<second_price, third_price>([](const second_price& was, third_price& now) { now.text += was.text; });
}

/// Migrates, dumps and loads into another heap. Returns what is wrong; empty: nothing.
std::string migrate_and_carry(heap& from, heap& into, bool& heard) {
    const auto does = [&](const auto& call) { // what failed once is done again
        try {
            call();
        } catch (const std::bad_alloc&) {
            heard = true;
            const unharmed meanwhile;
            if (detail::impl_of(from).engine().is_poisoned() || detail::impl_of(into).engine().is_poisoned())
                return std::string("poisoned"); // in the midst of a commit
            if (!from.verify().clean() || !into.verify().clean())
                return std::string("what failed has damaged a heap: ");
            call();
        }
        const bool is_half_done = // committed, but memory lacked behind that: await() has told that it is durable
            detail::impl_of(from).engine().is_poisoned() || detail::impl_of(into).engine().is_poisoned();
        heard = heard || is_half_done;
        return std::string(is_half_done ? "poisoned" : "");
    };
    const migrations how = to_newer_types();
    std::string wrong = does([&] { (void)how(from); });
    std::string text;
    if (wrong.empty()) {
        wrong = does([&] {
            text.clear();
            save(from, [&](std::string_view piece) { text += piece; });
        });
    }
    if (wrong.empty()) {
        wrong = does([&] {
            if (into.find_root<new_entries>("entries") != nullptr)
                return; // the commit was done before
            std::string_view rest = text;
            (void)load<>(into, [&](char* to, std::size_t bytes) {
                const std::size_t count = rest.copy(to, bytes);
                rest.remove_prefix(count);
                return count;
            });
        });
    }
    const unharmed meanwhile;
    if (!wrong.empty())
        return wrong;
    for (heap* const each : {&from, &into}) {
        const auto* const entries = each->find_root<new_entries>("entries");
        if (entries == nullptr || entries->size() != 5 || entries->at("3").number != 3 ||
            entries->at("3").next != &entries->at("4") || entries->at("3").added.size() != 45)
            return "objects are missing";
        const auto* const prices = each->find_root<vector<third_price>>("prices");
        if (prices == nullptr || prices->size() != 2 || prices->at(1).cents != 250 || prices->at(1).text.size() != 90)
            return "prices are missing";
        const auto* const places = each->find_root<list<new_place>>("places");
        if (places == nullptr || places->size() != 2 || places->back().number != 2 || places->back().height != -2 ||
            places->back().next != &places->front() || places->front().added.size() != 45)
            return "places are missing";
    }
    for (const heap* const each : {&from, &into}) {
        if (const verify_report report = each->verify(); !report.clean())
            return report.problems.front().what;
    }
    return "";
}

void expect_sound_or_poisoned(const heap& of) {
    try {
        const verify_report report = of.verify();
        EXPECT_TRUE(report.clean()) << report.problems.front().what;
    } catch (const error& stop) {
        EXPECT_EQ(stop.reason(), errc::poisoned) << stop.what();
    }
}

TEST(failing_allocations_of_migration, leave_all_old_objects_or_all_new_ones) {
    std::uint64_t heard = 0;
    std::uint64_t poisoned = 0;
    std::uint64_t n = 0;
    for (const std::uint64_t stride = stride_of_faults(1);; n += stride) {
        SCOPED_TRACE("allocation " + std::to_string(n));
        allocations().armed = false;
        const auto dir = test::temp_dir::in_memory();
        // So few addresses that neither lies in the other's way, wherever they are, when they are opened again.
        const heap_options how{.memory = {.reserve_bytes = 64 << 20, .chunk_bytes = 64 << 10}};
        std::optional<heap> from = heap::create(dir / "from", how);
        std::optional<heap> into = heap::create(dir / "into", how);
        from->write([&] {
            auto& entries = from->root<old_entries>("entries");
            for (int i = 0; i != 5; ++i)
                entries[string(std::to_string(i))] = {"text", i, nullptr};
            entries["3"].next = &entries["4"];
            from->root<vector<first_price>>("prices") = {{1.25}, {2.5}};
            auto& places = from->root<list<old_place>>("places");
            for (const int i : {1, 2})
                places.push_back({"a text that is gone, and too long for the object itself", i, -i, nullptr});
            places.back().next = &places.front();
        });
        bool has_heard = false;
        if (n == 0) { // what is allocated once for all
            (void)detail::fingerprint_of<new_entries>();
            (void)detail::fingerprint_of<second_price>();
            (void)detail::fingerprint_of<vector<third_price>>();
            (void)detail::fingerprint_of<list<new_place>>();
        }
        allocations() = {.armed = true, .from_then_on = false, .left = n};
        std::string wrong = migrate_and_carry(*from, *into, has_heard);
        allocations().armed = false;
        if (wrong == "poisoned") {
            poisoned++;
            for (const heap* const each :
                 {&*from, &*into}) // what is known of the file is half of it: no damage is told of
                expect_sound_or_poisoned(*each);
            from.reset();
            into.reset();
            from.emplace(heap::open_existing(dir / "from", how));
            into.emplace(heap::open_existing(dir / "into", how));
            wrong = migrate_and_carry(*from, *into, has_heard);
        }
        ASSERT_EQ(wrong, "");
        heard += has_heard ? 1U : 0U;
        if (allocations().failed == 0)
            break;
        EXPECT_TRUE(has_heard || allocations().was_optional) << "nobody heard of it";
    }
    EXPECT_GT(n, 100U);
    std::cout << n << " allocations failed; " << heard << " times somebody heard, of these " << poisoned
              << " in the midst of a commit\n";
}

} // namespace
} // namespace remanence::faults
