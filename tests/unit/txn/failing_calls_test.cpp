// Every call that the engine makes into its files fails in turn, reads and questions included: the failure is reported,
// and the heap opens again as of its last commit or the one in flight.
//
// A run: 854 calls failed, and 184 of asynchronous commits; each was reported.
#include "support/failing_files.hpp"
#include "support/sample_heap.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <string>

namespace remanence::txn {
namespace {

struct scenario {
    const char* name;
    sample::ending before;
    /// Runs until something fails; `version` is that of the last commit that was acknowledged as durable.
    std::function<result<void>(os::file_system&, std::uint64_t& version)> run;
    std::uint64_t in_flight = 1; // commits beyond that, at most
};

std::ostream& operator<<(std::ostream& out, const scenario& each) { return out << each.name; }

result<std::unique_ptr<engine>> open(os::file_system& files, bool read_only = false,
                                     const char* path = sample::k_path) {
    engine_options options;
    options.reserve_bytes = 64 * MiB;
    options.chunk_bytes = 64 * KiB;
    options.read_only = read_only;
    return engine::open(files, path, read_only ? open_mode::open_existing : open_mode::open_or_create, options,
                        detail::k_abi);
}

result<void> check(engine& opened) {
    auto report = opened.verify();
    if (!report)
        return report.error();
    if (!report->problems.empty())
        return fail(errc::io, report->problems.front().what, sample::k_path); // reported, if not as an error
    return {};
}

/// Changes pages that are stored, and takes memory in chunks that are not, skipping some.
result<void> change(engine& opened) {
    std::optional<unexpected> why;
    for (const std::uint64_t bytes : {std::uint64_t{100}, 400 * KiB}) {
        auto* block = static_cast<std::byte*>(opened.memory().allocate(bytes, 16, why));
        if (block == nullptr)
            return std::move(*why);
        block[0] = block[bytes - 1] = std::byte{7};
    }
    return {};
}

result<void> change_and_commit(engine& opened, std::uint64_t& version) {
    REM_TRY(change(opened));
    REM_TRY(opened.commit());
    version = opened.version();
    return {};
}

/// Commits that are not waited for, up to the memory, the page cache and the memory again; `then` makes them durable.
result<void> commit_lazily(engine& opened, std::uint64_t& version, const std::function<result<void>()>& then) {
    using log::durability;
    for (const durability how : {durability::none, durability::lazy, durability::none}) {
        REM_TRY(change(opened));
        REM_TRY(opened.commit({.awaited = how}));
    }
    REM_TRY(check(opened));
    REM_TRY(then());
    version = opened.version();
    return {};
}

const scenario k_scenarios[] = {
    {"create", sample::ending::closed,
     [](os::file_system& files, std::uint64_t&) -> result<void> {
         auto opened = open(files, false, "/disk/another.rem");
         if (!opened)
             return opened.error();
         std::uint64_t version = 0;
         REM_TRY(change_and_commit(**opened, version));
         return (*opened)->close();
     }},
    {"work", sample::ending::closed,
     [](os::file_system& files, std::uint64_t& version) -> result<void> {
         auto opened = open(files);
         if (!opened)
             return opened.error();
         engine& heap = **opened;
         REM_TRY(change_and_commit(heap, version));
         REM_TRY(check(heap));
         REM_TRY(change_and_commit(heap, version));
         REM_TRY(heap.checkpoint());
         std::optional<unexpected> why;
         auto* block = static_cast<std::byte*>(heap.memory().allocate(100, 16, why));
         block[0] = std::byte{1};
         REM_TRY(heap.rollback());
         REM_TRY(change_and_commit(heap, version));
         REM_TRY(check(heap));
         return heap.close();
     }},
    {"commit_lazily", sample::ending::closed,
     [](os::file_system& files, std::uint64_t& version) -> result<void> {
         auto opened = open(files);
         if (!opened)
             return opened.error();
         engine& heap = **opened;
         REM_TRY(commit_lazily(heap, version, [&] { return heap.sync(); }));
         REM_TRY(commit_lazily(heap, version, [&] { return heap.commit(); }));
         REM_TRY(commit_lazily(heap, version, [&] { return heap.checkpoint(); }));
         return commit_lazily(heap, version, [&] { return heap.close(); });
     },
     3},
    {"commit_asynchronously", sample::ending::closed,
     [](os::file_system& files, std::uint64_t& version) -> result<void> {
         auto opened = open(files);
         if (!opened)
             return opened.error();
         engine& heap = **opened;
         for (int i = 0; i < 2; ++i) {
             REM_TRY(change(heap));
             auto first = heap.make_commit({.fresh = fresh_contents::in_log_if_few});
             if (!first)
                 return first.error();
             REM_TRY(change(heap));
             auto second = heap.make_commit({.fresh = fresh_contents::in_log_if_few});
             if (!second)
                 return second.error();
             REM_TRY(change(heap)); // never committed, or with the next
             REM_TRY(heap.await(*first, log::durability::durable));
             version = *first;
             REM_TRY(heap.await(*second, log::durability::durable));
             version = *second;
         }
         REM_TRY(change(heap));
         auto last = heap.make_commit({.fresh = fresh_contents::in_log_if_few});
         if (!last)
             return last.error();
         REM_TRY(heap.close()); // waits for it
         REM_TRY(heap.await(*last, log::durability::durable));
         version = *last;
         return {};
     },
     2},
    {"commit_copies", sample::ending::closed,
     [](os::file_system& files, std::uint64_t& version) -> result<void> {
         auto opened = open(files);
         if (!opened)
             return opened.error();
         engine& heap = **opened;
         heap.copy_points_from(1);
         heap.let_checkpoints_be_carried_out([] { return true; });
         std::optional<failure> told;
         heap.let_points_be_told_of([&](std::uint64_t, const std::optional<failure>& why) { told = why; });
         const auto copy = [&]() -> result<std::uint64_t> {
             REM_TRY(change(heap));
             return heap.make_commit({.fresh = fresh_contents::in_log_if_few, .awaited = log::durability::none});
         };
         const auto await = [&](std::uint64_t made) -> result<void> {
             REM_TRY(heap.await(made, log::durability::durable));
             if (told)
                 return unexpected(*told);
             version = made;
             return {};
         };
         REM_TRY(change_and_commit(heap, version)); // there is a log now
         for (int i = 0; i < 2; ++i) {
             auto first = copy();
             if (!first)
                 return first.error();
             auto second = copy();
             if (!second)
                 return second.error();
             REM_TRY(change(heap)); // never committed, or with the next
             REM_TRY(await(*first));
             REM_TRY(await(*second));
         }
         auto last = copy();
         if (!last)
             return last.error();
         REM_TRY(heap.close());
         return await(*last);
     },
     3},
    {"recover", sample::ending::unapplied,
     [](os::file_system& files, std::uint64_t&) -> result<void> {
         auto opened = open(files);
         if (!opened)
             return opened.error();
         return check(**opened);
     }},
    {"read", sample::ending::closed,
     [](os::file_system& files, std::uint64_t&) -> result<void> {
         auto opened = open(files, true);
         if (!opened)
             return opened.error();
         return check(**opened);
     }},
};

class failing_call : public testing::TestWithParam<std::tuple<scenario, errc>> {};

TEST_P(failing_call, is_reported_and_nothing_is_lost) {
    const auto& [tested, code] = GetParam();
    simulation::simulated_disk disk;
    std::uint64_t committed = 0;
    sample::make(disk, tested.before, [&](heap& h) { committed = h.version(); });
    const auto intact = disk.now();
    test::failing_files files(disk);
    std::set<std::string> unreported;
    std::uint64_t n = 0;
    for (;; ++n) {
        disk.rewind(intact);
        files.fail_at(n, code);
        std::uint64_t version = committed;
        const auto done = tested.run(files, version);
        files.work_again();
        if (files.failed().empty()) {
            ASSERT_TRUE(done) << done.why().message;
            break;
        }
        SCOPED_TRACE("call " + std::to_string(n) + ", " + files.failed());
        if (done)
            unreported.insert(files.failed());
        else
            EXPECT_FALSE(done.why().path.empty()) << done.why().message;
        auto again = open(disk);
        ASSERT_TRUE(again) << again.why().message;
        EXPECT_GE((*again)->version(), version);
        EXPECT_LE((*again)->version(), version + tested.in_flight);
        auto sound = check(**again);
        EXPECT_TRUE(sound) << sound.why().message;
    }
    std::cout << n << " calls failed with " << static_cast<int>(code) << '\n';
    for (const std::string& call : unreported)
        ADD_FAILURE() << "nobody heard of the failed " << call;
    EXPECT_GT(n, 5U);
}

INSTANTIATE_TEST_SUITE_P(scenarios, failing_call,
                         testing::Combine(testing::ValuesIn(k_scenarios), testing::Values(errc::io, errc::no_space)),
                         [](const auto& instance) {
                             return std::string(std::get<0>(instance.param).name) +
                                    (std::get<1>(instance.param) == errc::io ? "_io" : "_no_space");
                         });

} // namespace
} // namespace remanence::txn
