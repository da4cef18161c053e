// Every allocation of a program that undoes and redoes fails, one after the other: what fails leaves memory and history as they were,
// so that it may be done again.
//
// A run: 812 allocations failed, each heard of, and what failed could be repeated.
#include "api/heap_impl.hpp"
#include "failing_new.hpp"
#include "program.hpp"
#include "support/temp_dir.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace remanence::faults {

using undone_numbers = remanence::vector<std::uint64_t>;

namespace {

class undoing {
public:
    explicit undoing(const std::filesystem::path& where, bool kept = false) : path_(where / "heap"), kept_(kept) {}

    /// Returns what is wrong; empty: nothing.
    std::string run() {
        std::optional<heap> opened;
        if (!does([&] { opened.emplace(heap::open(path_, options())); }))
            return {};
        heap& h = *opened;
        if (!does([&] { (void)h.root<undone_numbers>("numbers", 10, 0U); }))
            return {};
        acknowledged_ = 0;
        const auto step = [&](std::uint64_t to, const auto& call) {
            begun_ = to;
            for (int attempt = 0; attempt != 2; ++attempt) {
                if (does(call)) {
                    acknowledged_ = to;
                    return value(h) == to ? std::string() : "it does not hold " + std::to_string(to);
                }
                is_poisoned_ = is_poisoned_ || detail::impl_of(h).engine().is_poisoned();
                if (is_poisoned_)
                    return std::string();
                if (value(h) != acknowledged_)
                    return "a call that failed has changed memory from " + std::to_string(acknowledged_);
            }
            return std::string("it failed twice");
        };
        const auto write = [&](std::uint64_t to, std::size_t size) {
            return step(to,
                        [&h, to, size] { h.write([&] { h.find_root<undone_numbers>("numbers")->assign(size, to); }); });
        };
        std::string wrong;
        const auto goes_on = [&](std::string found) {
            wrong = std::move(found);
            return wrong.empty() && !is_poisoned_;
        };
        (void)(goes_on(write(1, 100)) && goes_on(write(2, 40'000)) && goes_on(step(1, [&] { h.undo(); })) &&
               goes_on(step(2, [&] { h.redo(); })) && goes_on(step(0, [&] { h.undo(2); })) && goes_on(write(3, 7)) &&
               goes_on(step(2, [&] { h.go_to(version_of(h, 2)); })) && goes_on(group(h, write)) &&
               goes_on(step(2, [&] { h.undo(); })) && goes_on(step(5, [&] { h.redo(); })) &&
               goes_on(step(k_empty, [&] { h.undo(h.undo_depth()); })) && // beyond the root, which stays
               goes_on(step(5, [&] { h.redo(h.redo_depth()); })));
        (void)does([&] { h.close(); });
        return wrong;
    }
    /// What was left holds what was acknowledged, or what was being committed.
    std::string check() const {
        if (acknowledged_ == k_none)
            return {};
        heap_options with{.memory = {.reserve_bytes = 64 << 20}};
        if (kept_)
            with.history = options().history;
        heap h = heap::open_existing(path_, with);
        if (!h.verify().clean())
            return h.verify().problems.front().what;
        const std::uint64_t found = value(h);
        if (kept_ && !h.why_history_is_new().empty())
            return h.why_history_is_new();
        for (std::uint64_t steps = h.undo_depth(); steps != 0; --steps)
            h.undo();
        if (kept_ && value(h) != k_empty) // it has asked for the root
            return "not all steps led back";
        return found == acknowledged_ || found == begun_ ? "" : "it holds " + std::to_string(found);
    }
    [[nodiscard]] bool has_heard() const { return has_heard_; }

private:
    static constexpr std::uint64_t k_none = ~std::uint64_t{0};
    static constexpr std::uint64_t k_empty = k_none - 1;

    [[nodiscard]] heap_options options() const {
        return {.history = {.steps_max = 100, .kept_over_sessions = kept_},
                .memory = {.reserve_bytes = 64 << 20, .chunk_bytes = 64 << 10}};
    }
    static std::uint64_t value(heap& h) {
        const struct unharmed {
            const bool was_armed = std::exchange(allocations().armed, false);
            ~unharmed() { allocations().armed = was_armed; }
        } meanwhile;
        const undone_numbers& all = *h.find_root<undone_numbers>("numbers");
        if (all.empty())
            return k_empty;
        return all.front() == all.back() ? all.front() : k_none;
    }
    /// Counted from the first state with the root.
    static std::uint64_t version_of(heap& h, std::size_t state) { return h.history()[1 + state].version; }

    template <class Write>
    std::string group(heap& h, const Write& write) {
        std::optional<remanence::group> together;
        if (!does([&] { together.emplace(h.group("together")); }) &&
            !does([&] { together.emplace(h.group("together")); }))
            return "no group could be begun";
        std::string wrong = write(4, 200);
        return wrong.empty() && !is_poisoned_ ? write(5, 3000) : wrong;
    }
    /// False: for lack of memory it could not.
    template <class Call>
    bool does(const Call& call) {
        try {
            call();
            return true;
        } catch (const std::bad_alloc&) {
            has_heard_ = true;
        } catch (const error& e) {
            has_heard_ = true;
            if (e.reason() != errc::poisoned)
                throw;
            is_poisoned_ = true;
        }
        return false;
    }

    std::filesystem::path path_;
    bool kept_; // over sessions
    std::uint64_t acknowledged_ = k_none;
    std::uint64_t begun_ = 0;
    bool has_heard_ = false;
    bool is_poisoned_ = false;
};

class failing_allocations_of_undo : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(kept, failing_allocations_of_undo, testing::Bool());

TEST_P(failing_allocations_of_undo, leave_memory_and_history_as_they_were) {
    {
        const test::temp_dir warm; // what is allocated once for all
        (void)undoing(warm.path(), GetParam()).run();
    }
    std::uint64_t n = 0;
    std::uint64_t heard = 0;
    for (const std::uint64_t stride = stride_of_faults(1);; n += stride) {
        SCOPED_TRACE("allocation " + std::to_string(n));
        const auto dir = test::temp_dir::in_memory();
        undoing program(dir.path(), GetParam());
        allocations() = {.armed = true, .from_then_on = false, .left = n};
        const std::string wrong = program.run();
        allocations().armed = false;
        ASSERT_EQ(wrong, "");
        ASSERT_EQ(program.check(), "");
        if (allocations().failed == 0)
            break;
        heard += program.has_heard() ? 1U : 0U;
        EXPECT_TRUE(program.has_heard() || allocations().was_optional) << "nobody heard of it";
    }
    EXPECT_GT(n, 100U);
    std::cout << n << " allocations failed; " << heard << " times somebody heard\n";
}

} // namespace
} // namespace remanence::faults
