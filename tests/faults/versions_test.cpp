// Every allocation of a program that keeps, compares, branches off and restores versions fails, one after the other, and of one that calls a procedure: what fails leaves
// memory and versions as they were, so that it may be done again.
#include "api/heap_impl.hpp"
#include "api/history_calls.hpp"
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

using kept_numbers = remanence::vector<std::uint64_t>;
struct new_value {
    std::uint64_t from;
    std::uint64_t to;
};

namespace {

class keeping {
public:
    explicit keeping(const std::filesystem::path& where) : path_(where / "heap") {}

    /// Returns what is wrong; empty: nothing.
    std::string run() {
        std::optional<heap> opened;
        if (!does([&] { opened.emplace(heap::open(path_, options())); }))
            return {};
        h_ = &*opened;
        if (!does([&] { (void)h_->root<kept_numbers>("numbers", 10, 0U); }))
            return {};
        work();
        has_lacked_ = detail::undo_of(detail::impl_of(*h_)).with_steps([](const auto& steps) {
            return steps.has_lacked_memory();
        });
        (void)does([&] { opened->close(); });
        return wrong_;
    }
    [[nodiscard]] bool has_heard() const { return has_heard_ || has_lacked_; }
    /// What was left is a heap, and the branch is the version that it was made of, or not there.
    [[nodiscard]] std::string check() const {
        const std::filesystem::path branch = path_.string() + "-branch";
        for (const auto& path : {path_, branch}) {
            if (!std::filesystem::exists(path))
                continue;
            heap left = heap::open_existing(path, {.memory = {.reserve_bytes = 64 << 20}});
            if (!left.verify().clean())
                return left.verify().problems.front().what;
            if (path == branch && value(left) != 1)
                return "the branch holds " + std::to_string(value(left));
        }
        return {};
    }

private:
    static heap_options options() {
        const auto set = [](heap& h, std::uint64_t to) {
            for (std::uint64_t& each : *h.find_root<kept_numbers>("numbers"))
                each = to;
        };
        procedure_set known;
        known.add<new_value>(
            "set", [=](heap& h, const new_value& how) { set(h, how.to); },
            [=](heap& h, const new_value& how) { set(h, how.from); });
        return {.history = {.steps_max = 2},
                .procedures = known,
                .memory = {.reserve_bytes = 64 << 20, .chunk_bytes = 64 << 10}};
    }
    void work() {
        write(1, 100);
        call(9, [&] { h_->call("set", new_value{1, 9}); });
        call(1, [&] { h_->undo(); });
        call(9, [&] { h_->redo(); });
        call(1, [&] { h_->undo(); });
        call(1, [&] { h_->keep("one"); }, errc::exists);
        for (std::uint64_t i = 2; i < 7; ++i)
            write(i, 100 * i);
        call(6, [&] { (void)h_->diff(h_->versions().front().version, h_->version()); });
        call(6, [&] { h_->branch(h_->versions().front().version, path_.string() + "-branch"); }, errc::exists);
        call(6, [&] { h_->squash(2); });
        call(1, [&] { h_->restore("one"); });
        write(7, 50);
        call(7, [&] { h_->drop("one"); }, errc::no_step);
        write(8, 30'000);
        call(7, [&] { h_->undo(); });
    }
    void write(std::uint64_t to, std::size_t size) {
        call(to, [&] { h_->write([&] { h_->find_root<kept_numbers>("numbers")->assign(size, to); }); });
    }
    /// Afterwards the heap holds that. `done`: what the second attempt says if the first one has done it all the same.
    template <class Call>
    void call(std::uint64_t to, const Call& what, errc done = errc::no_step) {
        if (!wrong_.empty() || is_poisoned_)
            return;
        const std::uint64_t before = value(*h_);
        for (int attempt = 0; attempt != 2 && !is_poisoned_; ++attempt) {
            if (does(what, attempt == 1 ? std::optional(done) : std::nullopt)) {
                if (value(*h_) != to)
                    wrong_ = "it does not hold " + std::to_string(to);
                return;
            }
            is_poisoned_ = detail::impl_of(*h_).engine().is_poisoned();
            if (!is_poisoned_ && value(*h_) != before)
                wrong_ = "a call that failed has changed memory from " + std::to_string(before);
        }
        if (!is_poisoned_ && wrong_.empty())
            wrong_ = "it failed twice";
    }
    static std::uint64_t value(heap& h) {
        const struct unharmed {
            const bool was_armed = std::exchange(allocations().armed, false);
            ~unharmed() { allocations().armed = was_armed; }
        } meanwhile;
        const kept_numbers& all = *h.find_root<kept_numbers>("numbers");
        return all.front() == all.back() ? all.front() : ~std::uint64_t{0};
    }
    /// False: for lack of memory it could not. The heap of a branch is poisoned for itself.
    template <class Call>
    bool does(const Call& call, std::optional<errc> done = std::nullopt) {
        try {
            call();
            return true;
        } catch (const std::bad_alloc&) {
            has_heard_ = true;
        } catch (const error& e) {
            if (done == e.reason())
                return true;
            has_heard_ = true;
            if (e.reason() != errc::poisoned)
                throw;
        }
        return false;
    }

    std::filesystem::path path_;
    heap* h_ = nullptr;
    std::string wrong_;
    bool has_heard_ = false;
    bool has_lacked_ = false;
    bool is_poisoned_ = false;
};

TEST(failing_allocations_of_versions, leave_memory_and_versions_as_they_were) {
    {
        const test::temp_dir warm; // what is allocated once for all
        (void)keeping(warm.path()).run();
    }
    std::uint64_t n = 0;
    std::uint64_t heard = 0;
    for (const std::uint64_t stride = stride_of_faults(11);; n += stride) {
        SCOPED_TRACE("allocation " + std::to_string(n));
        const auto dir = test::temp_dir::in_memory();
        keeping program(dir.path());
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
    EXPECT_GT(n, 500U);
    std::cout << n << " allocations failed; " << heard << " times somebody heard\n";
}

} // namespace
} // namespace remanence::faults
