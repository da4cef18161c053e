// Random edits of containers of all kinds, and what a history does to them, beside whole copies of the heap's memory: each state that is come
// back to is byte for byte what it was, allocator included.
//
// REMANENCE_HISTORY_OPERATIONS: how many edits and steps of the history are made (default 10,000).

#include "api/heap_impl.hpp"
#include "support/seed.hpp"
#include "unit/api/fixture.hpp"

#include <remanence/containers/btree_map.hpp>
#include <remanence/containers/btree_set.hpp>
#include <remanence/containers/hash_map.hpp>
#include <remanence/containers/hash_set.hpp>
#include <remanence/containers/packed_map.hpp>
#include <remanence/containers/string_pi.hpp>
#include <remanence/containers/vector_pi.hpp>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace remanence::test {
namespace {
namespace history_of_containers {

constexpr std::uint64_t k_keys = 3000;

/// One edit of a container, by three random numbers: what, where, and with what.
struct edit {
    std::uint64_t what;
    std::uint64_t key;
    std::uint64_t value;
    [[nodiscard]] std::string text() const { return std::string(value % 70, static_cast<char>('a' + value % 26)); }
};

template <class C>
void change_map(C& c, const edit& e) {
    if (e.what % 97 == 0)
        c.clear();
    else if (e.what % 3 == 0)
        c.erase(e.key);
    else
        c.insert_or_assign(e.key, e.value);
}

template <class C>
void change_set(C& c, const edit& e) {
    if (e.what % 97 == 0)
        c.clear();
    else if (e.what % 3 == 0)
        c.erase(e.key);
    else
        c.insert(e.key);
}

template <class C>
void change_row(C& c, const edit& e) {
    switch (e.what % 5) {
    case 0:
        c.resize(e.key * (e.what % 8 == 0 ? 8 : 1), e.value);
        break;
    case 1:
        c.insert(std::next(c.begin(), static_cast<std::ptrdiff_t>(e.key % (c.size() + 1))), e.value);
        break;
    case 2:
        if (!c.empty())
            c.erase(std::next(c.begin(), static_cast<std::ptrdiff_t>(e.key % c.size())));
        break;
    default:
        if (!c.empty())
            *std::next(c.begin(), static_cast<std::ptrdiff_t>(e.key % c.size())) = e.value;
    }
}

template <class C>
void change_text(C& c, const edit& e) {
    if (e.what % 41 == 0)
        c.clear();
    else if (e.what % 3 == 0 && !c.empty())
        c.erase(e.key % c.size(), e.value % 9);
    else if (e.what % 3 == 1)
        c.insert(e.key % (c.size() + 1), e.text().c_str());
    else
        c += e.text().c_str();
}

void change_packed(packed_map& c, const edit& e) {
    const std::string key = std::to_string(e.key);
    if (e.what % 97 == 0)
        c.clear();
    else if (e.what % 3 == 0)
        c.erase(key);
    else
        c.insert_or_assign(key, e.what % 16 == 0 ? std::string(3000, 'x') : e.text());
}

void change_named(map<string, std::uint64_t>& c, const edit& e) {
    const std::string key = std::string(e.key % 40, 'k') + std::to_string(e.key);
    if (e.what % 3 == 0) {
        if (const auto found = c.find(key); found != c.end())
            c.erase(found);
    } else {
        c[string(key)] = e.value;
    }
}

void change_multi(multimap<std::uint64_t, string>& c, const edit& e) {
    if (e.what % 3 == 0)
        c.erase(e.key % 50);
    else
        c.emplace(e.key % 50, e.text().c_str());
}

void change_chain(forward_list<std::uint64_t>& c, const edit& e) {
    if (e.what % 3 == 0 && !c.empty())
        c.pop_front();
    else if (e.what % 29 == 0)
        c.reverse();
    else
        c.push_front(e.value);
}

/// A heap with one container of each kind.
class containers {
public:
    /// Finds them, or makes them.
    static void change(heap& h, const edit& e, std::uint64_t which) { all()[which % all().size()](h, e); }
    /// Those that declare all that is changed here.
    static void change_declared(heap& h, const edit& e, std::uint64_t which) { all()[which % k_own](h, e); }
    static void make_all(heap& h) {
        for (const auto& each : all())
            each(h, {1, 1, 1});
    }

private:
    using changed = void (*)(heap&, const edit&);
    static constexpr std::size_t k_own = 6;
    static const std::vector<changed>& all() {
        static const std::vector<changed> every{
            [](heap& h, const edit& e) { change_map(h.root<btree_map<std::uint64_t, std::uint64_t>>("btree_map"), e); },
            [](heap& h, const edit& e) { change_set(h.root<btree_set<std::uint64_t>>("btree_set"), e); },
            [](heap& h, const edit& e) { change_map(h.root<hash_map<std::uint64_t, std::uint64_t>>("hash_map"), e); },
            [](heap& h, const edit& e) { change_set(h.root<hash_set<std::uint64_t>>("hash_set"), e); },
            [](heap& h, const edit& e) { change_text(h.root<string_pi>("string_pi"), e); },
            [](heap& h, const edit& e) { change_packed(h.root<packed_map>("packed_map"), e); },
            [](heap& h, const edit& e) { change_row(h.root<vector_pi<std::uint64_t>>("vector_pi"), e); },
            [](heap& h, const edit& e) { change_row(h.root<vector<std::uint64_t>>("vector"), e); },
            [](heap& h, const edit& e) { change_row(h.root<deque<std::uint64_t>>("deque"), e); },
            [](heap& h, const edit& e) { change_row(h.root<list<std::uint64_t>>("list"), e); },
            [](heap& h, const edit& e) { change_chain(h.root<forward_list<std::uint64_t>>("forward_list"), e); },
            [](heap& h, const edit& e) { change_set(h.root<set<std::uint64_t>>("set"), e); },
            [](heap& h, const edit& e) { change_named(h.root<map<string, std::uint64_t>>("map"), e); },
            [](heap& h, const edit& e) { change_multi(h.root<multimap<std::uint64_t, string>>("multimap"), e); },
            [](heap& h, const edit& e) { change_set(h.root<unordered_set<std::uint64_t>>("unordered_set"), e); },
            [](heap& h, const edit& e) {
                change_map(h.root<unordered_map<std::uint64_t, std::uint64_t>>("unordered_map"), e);
            },
            [](heap& h, const edit& e) { change_text(h.root<string>("string"), e); },
        };
        return every;
    }
};

std::string in_words(const std::vector<history_step>& steps) {
    std::string all;
    for (const history_step& each : steps)
        all += std::to_string(each.version) + " after " + std::to_string(each.parent.value_or(0)) + " \"" + each.name +
               "\" [" + each.kept + "], " + std::to_string(each.bytes) + " bytes, at " +
               std::to_string(each.time.time_since_epoch().count()) + (each.is_present ? " *\n" : "\n");
    return all;
}

class editor {
public:
    editor(std::function<heap()> open, std::uint64_t seed) : open_(std::move(open)), h_(open_()), dice_(seed) {
        h_.write([&] { containers::make_all(h_); });
        h_.forget_history(); // none of the states has fewer roots
        remember();
    }

    /// Returns what is wrong; empty: nothing.
    std::string step() {
        ++steps_;
        switch (below(24)) {
        case 0:
            open_again();
            break;
        case 1:
            h_.checkpoint();
            break;
        case 2:
            commit_group();
            break;
        case 3:
            edit_around_savepoints();
            break;
        case 4:
            roll_back();
            break;
        case 5:
        case 6:
            keep_or_drop();
            break;
        case 7:
            restore();
            break;
        case 8:
            squash();
            break;
        case 9:
        case 10:
        case 11:
            if (const std::uint64_t depth = h_.undo_depth(); depth != 0)
                h_.undo(1 + below(depth));
            break;
        case 12:
        case 13:
            if (const std::uint64_t depth = h_.redo_depth(); depth != 0)
                h_.redo(1 + below(depth));
            break;
        case 14:
            go_anywhere();
            break;
        case 15:
        case 16:
            h_.write(declared, [&] { edits(true); });
            remember();
            break;
        case 17:
            (void)h_.write_async([&] { edits(); });
            remember();
            break;
        default:
            h_.write([&] { edits(); });
            remember();
        }
        ++operations_;
        return check();
    }
    [[nodiscard]] std::uint64_t operations() const { return operations_; }
    [[nodiscard]] std::uint64_t steps() const { return steps_; }
    [[nodiscard]] std::uint64_t sessions() const { return sessions_; }
    void close() { h_.close(); }

private:
    std::uint64_t below(std::uint64_t end) { return dice_() % end; }
    void edits(bool declared = false) {
        for (std::uint64_t count = 1 + below(60); count != 0; --count, ++operations_) {
            const edit one{dice_(), below(k_keys), dice_()};
            if (declared)
                containers::change_declared(h_, one, below(1000));
            else
                containers::change(h_, one, below(1000));
        }
    }
    void commit_group() {
        {
            const auto g = h_.group("several");
            for (std::uint64_t count = below(4); count != 0; --count)
                h_.write([&] { edits(); });
        }
        remember();
    }
    void edit_around_savepoints() {
        h_.write([&] {
            edits();
            auto outer = h_.savepoint();
            edits();
            auto inner = h_.savepoint();
            edits();
            if (below(2) == 0)
                inner.rollback();
            edits();
            if (below(2) == 0)
                outer.rollback();
            try {
                h_.write([&] {
                    edits();
                    throw std::runtime_error("an inner section that fails");
                });
            } catch (const std::runtime_error&) { // which went back to `outer`
            }
        });
        remember();
    }
    void roll_back() {
        h_.lock();
        edits();
        h_.rollback();
        h_.unlock();
    }
    std::string name() { return "kept " + std::to_string(below(4)); }
    [[nodiscard]] std::optional<std::uint64_t> kept_as(const std::string& name) const {
        for (const kept_version& each : h_.versions()) {
            if (each.name == name)
                return each.version;
        }
        return {};
    }
    void keep_or_drop() {
        const std::string which = name();
        if (kept_as(which)) {
            h_.drop(which);
            return;
        }
        for (const kept_version& each : h_.versions()) {
            if (each.is_present)
                return;
        }
        EXPECT_EQ(h_.keep(which), here());
    }
    void restore() {
        const std::string which = name();
        if (const auto version = kept_as(which)) {
            h_.restore(which);
            EXPECT_EQ(here(), *version);
        }
    }
    void squash() {
        const std::uint64_t depth = h_.undo_depth();
        const std::uint64_t steps = 2 + below(3);
        const auto refused = error_of([&] { h_.squash(steps); });
        if (refused) {
            EXPECT_EQ(refused->code, steps > depth ? errc::no_step : errc::invalid_argument);
        } else {
            EXPECT_EQ(h_.undo_depth(), depth - steps + 1);
        }
    }
    void go_anywhere() {
        const auto all = h_.history();
        h_.go_to(all[below(all.size())].version);
    }
    /// After a close, or as after a crash.
    void open_again() {
        const auto before = h_.history();
        const std::uint64_t back = h_.undo_depth();
        const std::uint64_t forth = h_.redo_depth();
        const bool closes = below(2) == 0;
        if (closes) {
            h_.close();
            h_ = open_();
        } else {
            h_.rebuild();
        }
        ++sessions_;
        EXPECT_EQ(h_.why_history_is_new(), "");
        EXPECT_EQ(in_words(h_.history()), in_words(before)) << (closes ? "after a close" : "as after a crash");
        EXPECT_EQ(h_.undo_depth(), back);
        EXPECT_EQ(h_.redo_depth(), forth);
    }
    [[nodiscard]] std::uint64_t here() const {
        for (const history_step& each : h_.history()) {
            if (each.is_present)
                return each.version;
        }
        return 0;
    }
    std::vector<std::byte> memory() {
        txn::heap_memory& all = detail::impl_of(h_).memory();
        all.allocator().flush();
        return {all.base(), all.base() + all.accessible_bytes()};
    }
    /// Only the states that the history still leads to, so that this does not take more and more memory.
    void remember() {
        std::map<std::uint64_t, std::vector<std::byte>> left;
        for (const history_step& each : h_.history()) {
            if (const auto found = copies_.find(each.version); found != copies_.end())
                left.insert(copies_.extract(found));
        }
        copies_ = std::move(left);
        copies_[here()] = memory();
    }
    std::string check() {
        const std::vector<std::byte> found = memory();
        std::vector<std::byte>& expected = copies_.at(here());
        expected.resize(found.size()); // what the heap has grown by since holds nothing
        if (found != expected)
            return "step " + std::to_string(steps_) + ": memory is not what it was at version " +
                   std::to_string(here());
        if (steps_ % 200 != 0)
            return {};
        const auto report = h_.verify();
        return report.clean() ? "" : report.problems.front().what;
    }

    const std::function<heap()> open_;
    heap h_;
    std::mt19937_64 dice_;
    std::uint64_t operations_ = 0;
    std::uint64_t steps_ = 0;
    std::uint64_t sessions_ = 1;
    std::map<std::uint64_t, std::vector<std::byte>> copies_;
};

class histories_of_containers : public testing::TestWithParam<history_options> {};

TEST_P(histories_of_containers, give_back_each_byte_of_all_kinds) {
    const char* const asked = std::getenv("REMANENCE_HISTORY_OPERATIONS");
    const std::uint64_t wanted = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 10'000;
    const temp_dir dir;
    heap_options options = small_heap();
    options.memory.chunk_bytes = 64 * KiB;
    options.log.log_limit_bytes = 256 * KiB; // checkpoints between and beside commits
    options.commits = durability::lazy;
    options.history = GetParam();
    editor random([&] { return heap::open(dir / "h", options); }, random_seed());
    while (random.operations() < wanted / 2 && !HasFailure()) // of two limits
        ASSERT_EQ(random.step(), "");
    random.close();
    std::cout << random.operations() << " operations, " << random.steps() << " steps of the history, "
              << random.sessions() << " sessions\n";
}

INSTANTIATE_TEST_SUITE_P(limits, histories_of_containers,
                         testing::Values(history_options{.steps_max = 25, .kept_over_sessions = true},
                                         history_options{.bytes_max = MiB, .kept_over_sessions = true}),
                         [](const auto& instance) { return instance.param.steps_max != 0 ? "steps" : "bytes"; });

} // namespace history_of_containers
} // namespace
} // namespace remanence::test
