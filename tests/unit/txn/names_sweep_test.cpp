// Whatever somebody does to the names of a heap's files while a program uses them, between any two calls that the library
// makes: another heap's files stay whole, and a commit is acknowledged only if it is found again, or fails and says why.
//
// A run: 14 things done to the names, 4,508 sessions, 3,512 of them told; no acknowledged commit was lost after that, and no other heap touched.
#include "base/checksum.hpp"
#include "format/log_record.hpp"
#include "format/superblock.hpp"
#include "store/heap_creation.hpp"
#include "support/failing_files.hpp"
#include "support/temp_dir.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace remanence::txn::names_of_files {
namespace {

namespace fs = std::filesystem;
using uuid = std::array<std::uint8_t, 16>;

constexpr std::uint64_t k_others_value = 1000;

result<std::unique_ptr<engine>> open(os::file_system& files, const fs::path& path, open_mode mode) {
    engine_options options;
    options.reserve_bytes = 64 * MiB;
    options.chunk_bytes = 64 * KiB;
    return engine::open(files, path.string(), mode, options, "abi");
}

/// The value that each heap here has: in the first block that was ever allocated.
std::uint64_t& value_of(engine& heap) {
    static std::uint64_t offset = 0;
    if (heap.version() == 0) {
        std::optional<unexpected> why;
        offset = heap.memory().offset_of(heap.memory().allocate(sizeof(std::uint64_t), 8, why));
    }
    return *reinterpret_cast<std::uint64_t*>(heap.memory().base() + offset);
}

fs::path log_of(const fs::path& heap) { return store::log_path(heap.string()); }

template <class T>
std::optional<T> read_at(const fs::path& path, std::uint64_t offset) {
    T found{};
    std::ifstream in(path, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(offset));
    in.read(reinterpret_cast<char*>(&found), sizeof found);
    return in ? std::optional(found) : std::nullopt;
}

std::optional<uuid> heap_in(const fs::path& path) {
    for (const std::uint64_t place : {std::uint64_t{0}, format::k_superblock_bytes}) {
        const auto super = read_at<format::superblock>(path, place);
        if (super && super->magic == format::k_heap_magic)
            return super->uuid;
    }
    return {};
}

std::optional<uuid> log_in(const fs::path& path) {
    const auto header = read_at<format::log_header>(path, 0);
    if (header && header->magic == format::k_log_magic)
        return header->uuid;
    return {};
}

/// The file below `top` that `identify` takes for the one of this heap.
std::optional<fs::path> find(const fs::path& top, const std::function<std::optional<uuid>(const fs::path&)>& identify,
                             const uuid& heap) {
    for (const auto& each : fs::recursive_directory_iterator(top))
        if (each.is_regular_file() && identify(each.path()) == heap)
            return each.path();
    return {};
}

/// Where things are: our heap, and another one that was closed, or was not and has a log.
struct place {
    fs::path top;
    fs::path directory() const { return top / "here"; }
    fs::path ours() const { return directory() / "ours"; }
    fs::path other() const { return top / "other"; }
};

void move_name(const fs::path& from, const fs::path& to) {
    std::error_code absent; // then there is nothing to rename
    fs::rename(from, to, absent);
}

void exchange_names(const fs::path& a, const fs::path& b) {
    const fs::path between = a.string() + ".between";
    move_name(a, between);
    move_name(b, a);
    move_name(between, b);
}

struct action {
    const char* name;
    bool other_has_log;
    bool loses_log; // ours: it is removed or replaced
    std::function<void(const place&)> happens;
};

std::ostream& operator<<(std::ostream& out, const action& each) { return out << each.name; }

const action k_actions[] = {
    {"heap_renamed", false, false, [](const place& at) { move_name(at.ours(), at.directory() / "renamed"); }},
    {"heap_moved", false, false, [](const place& at) { move_name(at.ours(), at.top / "moved"); }},
    {"heap_removed", false, false, [](const place& at) { fs::remove(at.ours()); }},
    {"heap_and_log_removed", false, true,
     [](const place& at) {
         fs::remove(at.ours());
         fs::remove(log_of(at.ours()));
     }},
    {"another_heap_over_it", false, false, [](const place& at) { move_name(at.other(), at.ours()); }},
    {"another_heap_and_log_over_them", true, true,
     [](const place& at) {
         move_name(log_of(at.other()), log_of(at.ours()));
         move_name(at.other(), at.ours());
     }},
    {"another_heap_over_it_whose_log_stays", true, false, [](const place& at) { move_name(at.other(), at.ours()); }},
    {"log_removed", false, true, [](const place& at) { fs::remove(log_of(at.ours())); }},
    {"another_log_over_it", true, true, [](const place& at) { move_name(log_of(at.other()), log_of(at.ours())); }},
    {"log_renamed", false, false, [](const place& at) { move_name(log_of(at.ours()), at.top / "log"); }},
    {"swapped_with_another_heap", true, false,
     [](const place& at) {
         exchange_names(at.ours(), at.other());
         exchange_names(log_of(at.ours()), log_of(at.other()));
     }},
    {"heaps_swapped_without_logs", true, false, [](const place& at) { exchange_names(at.ours(), at.other()); }},
    {"directory_renamed", false, false, [](const place& at) { move_name(at.directory(), at.top / "there"); }},
    {"directory_replaced", true, false,
     [](const place& at) {
         move_name(at.directory(), at.top / "there");
         fs::create_directory(at.directory());
         move_name(at.other(), at.ours());
         move_name(log_of(at.other()), log_of(at.ours()));
     }},
};

/// A program, and what it was told.
class program {
public:
    program(os::file_system& files, const place& at) : files_(files), at_(at) {}

    void interpose(std::function<bool()> has_happened) { has_happened_ = std::move(has_happened); }

    void create() {
        call([&]() -> result<void> { return keep(open(files_, at_.ours(), open_mode::create)); });
    }
    /// Goes no further when it is another heap.
    void open_again() {
        call([&]() -> result<void> {
            REM_TRY(keep(open(files_, at_.ours(), open_mode::open_existing)));
            if (heap_->version() != 0 && value_of(*heap_) >= k_others_value) {
                heap_.reset();
                return fail(errc::not_found, "another heap");
            }
            return {};
        });
    }
    void commit(log::durability how = log::durability::durable) {
        const bool counts = call([&]() -> result<void> {
            ++value_of(*heap_);
            return heap_->commit({.awaited = how});
        });
        if (counts && how == log::durability::durable)
            acknowledged = value_of(*heap_);
    }
    void sync() {
        if (call([&] { return heap_->sync(); }))
            acknowledged = value_of(*heap_);
    }
    void checkpoint() {
        call([&] { return heap_->checkpoint(); });
    }
    void close() {
        call([&] { return heap_->close(); });
        heap_.reset();
    }
    /// Goes on in spite of what it was told.
    void insist(bool closes) {
        const auto succeeded = [&](result<void> done) {
            if (done)
                acknowledged_since = true;
            return static_cast<bool>(done);
        };
        ++value_of(*heap_);
        if (succeeded(heap_->commit()))
            acknowledged = value_of(*heap_);
        if (closes)
            (void)succeeded(heap_->close());
    }
    void kill() { heap_.reset(); }
    [[nodiscard]] bool is_open() const { return heap_ != nullptr; }

    std::uint64_t acknowledged = 0;
    std::optional<failure> why;      // of the first call that failed; none is made after it
    bool acknowledged_since = false; // a call that began afterwards has succeeded

private:
    result<void> keep(result<std::unique_ptr<engine>> opened) {
        if (!opened)
            return opened.error();
        heap_ = std::move(*opened);
        return {};
    }
    template <class F>
    bool call(F&& f) {
        if (why)
            return false;
        const bool had_happened = has_happened_();
        result<void> done = f();
        if (!done) {
            why = done.why();
            return false;
        }
        if (had_happened && acknowledged != 0)
            acknowledged_since = true;
        return true;
    }

    os::file_system& files_;
    const place& at_;
    std::function<bool()> has_happened_ = [] { return false; };
    std::unique_ptr<engine> heap_;
};

void run(program& session) {
    session.create();
    session.commit();
    session.commit();
    session.checkpoint();
    session.commit();
    session.commit(log::durability::lazy);
    session.sync();
    session.close();
    session.open_again();
    session.commit();
    session.kill();
    session.open_again();
    session.commit();
}

void make_other(const place& at, bool has_log) {
    auto heap = std::move(*open(os::posix_file_system(), at.other(), open_mode::create));
    value_of(*heap) = k_others_value;
    ASSERT_TRUE(heap->commit());
    ++value_of(*heap);
    ASSERT_TRUE(heap->commit());
    if (!has_log) {
        ASSERT_TRUE(heap->close());
    }
}

result<std::uint64_t> open_and_read(const fs::path& path) {
    auto heap = open(os::posix_file_system(), path, open_mode::open_existing);
    if (!heap)
        return heap.error();
    const std::uint64_t value = (*heap)->version() == 0 ? 0 : value_of(**heap);
    auto closed = (*heap)->close();
    if (!closed)
        return closed.error();
    return value;
}

class names : public testing::TestWithParam<std::tuple<action, bool>> {
protected:
    /// Puts a heap's log, wherever it is, beside it, as its owner would, and opens it.
    result<std::uint64_t> bring_together(const fs::path& heap, const uuid& which) {
        const fs::path apart = at_.top / "apart";
        fs::create_directory(apart);
        if (const auto log = find(at_.top, log_in, which))
            fs::rename(*log, apart / "heap-log");
        fs::rename(heap, apart / "heap");
        return open_and_read(apart / "heap");
    }

    void expect_other_is_whole(const uuid& other) {
        const auto heap = find(at_.top, heap_in, other);
        ASSERT_TRUE(heap) << "the other heap is gone";
        const auto value = bring_together(*heap, other);
        ASSERT_TRUE(value) << value.why().message;
        EXPECT_EQ(*value, k_others_value + 1);
        fs::remove_all(at_.top / "apart");
    }

    void expect_ours_is_found(const program& session, const std::optional<uuid>& ours, bool loses_log) {
        const auto heap = ours ? find(at_.top, heap_in, *ours) : std::nullopt;
        if (!heap) {
            EXPECT_FALSE(session.acknowledged_since) << "acknowledged, and lost with its file";
            return;
        }
        const auto value = open_and_read(*heap);
        if (value) {
            EXPECT_GE(*value, session.acknowledged);
            return;
        }
        EXPECT_FALSE(session.acknowledged_since) << value.why().message;
        const errc code = value.why().code;
        EXPECT_TRUE(code == errc::log_missing || code == errc::log_foreign) << value.why().message;
        if (loses_log)
            return; // before anybody could tell
        const auto brought = bring_together(*heap, *ours);
        ASSERT_TRUE(brought) << brought.why().message;
        EXPECT_GE(*brought, session.acknowledged);
    }

    place at_;
};

TEST_P(names, may_change_hands_between_any_two_calls) {
    const auto& [what, closes] = GetParam();
    std::uint64_t n = 0;
    std::uint64_t failed = 0;
    for (bool is_over = false; !is_over; ++n) {
        const auto dir = test::temp_dir::in_memory();
        at_.top = dir.path();
        fs::create_directory(at_.directory());
        ASSERT_NO_FATAL_FAILURE(make_other(at_, what.other_has_log));
        const uuid other = *heap_in(at_.other());
        test::failing_files files(os::posix_file_system());
        std::optional<uuid> ours;
        std::uint64_t left = n;
        bool has_happened = false;
        std::string before;
        files.before_each([&](std::string_view call) {
            if (has_happened || left-- != 0)
                return;
            before = call;
            what.happens(at_);
            has_happened = true;
        });
        program session(files, at_);
        session.interpose([&] { return has_happened; });
        run(session);
        if (session.why && session.is_open())
            session.insist(closes);
        else if (closes && session.is_open())
            session.close();
        session.kill();
        is_over = !has_happened;
        SCOPED_TRACE("before call " + std::to_string(n) + ", " + before + "; " +
                     (session.why ? session.why->message : "no call failed"));
        failed += session.why ? 1U : 0U;
        for (const auto& each : fs::recursive_directory_iterator(at_.top)) {
            const auto found = each.is_regular_file() ? heap_in(each.path()) : std::nullopt;
            if (found && found != other && !each.path().string().ends_with("-new"))
                ours = found;
        }
        if (is_over) {
            ASSERT_FALSE(session.why);
        }
        expect_other_is_whole(other);
        expect_ours_is_found(session, ours, what.loses_log);
        if (HasFailure())
            break;
    }
    std::cout << n << " places, " << failed << " sessions were told\n";
    EXPECT_GT(n, 100U);
}

INSTANTIATE_TEST_SUITE_P(actions, names, testing::Combine(testing::ValuesIn(k_actions), testing::Bool()),
                         [](const auto& instance) {
                             return std::string(std::get<0>(instance.param).name) +
                                    (std::get<1>(instance.param) ? "_and_closed" : "_and_killed");
                         });

} // namespace
} // namespace remanence::txn::names_of_files
