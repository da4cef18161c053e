// Objects of the program's own beside sections of other threads that fail: whatever these roll back, a local object keeps
// what it holds, and the heap what was committed.

#include "fixture.hpp"
#include "support/seed.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace remanence::test::default_heap_threads {

struct record {
    string name;
    string text;
};

/// What the random program stores: of each kind that a copy has to go into.
struct entry {
    string name;
    vector<string> lines;
    std::optional<string> note;
    std::pair<int, string_pi> tag;
    btree_map<int, string_pi> numbered;
};

namespace {

std::string text_of(int k) {
    return "the text of record number " + std::to_string(k) + ", which is long enough for a block of its own";
}

// A server's pattern: one thread takes copies out of read sections, another one's write sections sometimes fail.
TEST(default_heap_threads, a_readers_copies_survive_another_threads_rollback) {
    constexpr int k_records = 50;
    const temp_dir dir;
    heap book = heap::create(dir / "book.rem", small_heap());
    auto& table = book.root<map<int, record>>("table");
    book.write([&] {
        for (int k = 0; k < k_records; ++k)
            table[k] = {string("record " + std::to_string(k) + " with a long name"), string(text_of(k))};
    });
    std::atomic<bool> stop = false;
    std::atomic<int> wrong = 0;
    std::thread reader([&] {
        for (int i = 0; !stop; ++i) {
            const auto mine = book.read([&] { return table.at(i % k_records); });
            std::this_thread::yield();
            wrong += mine.text != text_of(i % k_records) ? 1 : 0;
        }
    });
    for (int i = 0; i < 1000; ++i) {
        try {
            book.write(durability::none, [&] {
                table[1000 + i % 7] = {"a new record, not for long", string(std::size_t(60 + i % 40), 'x')};
                if (i % 2 != 0)
                    throw std::runtime_error("refused");
            });
        } catch (const std::runtime_error&) { // NOLINT(bugprone-empty-catch): what this is about
        }
    }
    stop = true;
    reader.join();
    EXPECT_EQ(wrong, 0);
    for (int k = 0; k < k_records; ++k)
        EXPECT_EQ(table.at(k).text, text_of(k));
    EXPECT_TRUE(book.verify().clean());
}

/// The same in ordinary objects.
struct model {
    std::string name;
    std::vector<std::string> lines;
    std::optional<std::string> note;
    std::pair<int, std::string> tag;
    std::map<int, std::string> numbered;

    friend bool operator==(const model&, const model&) = default;
};

model model_of(const entry& e) {
    model m{.name = std::string(e.name),
            .lines = {},
            .note = {},
            .tag = {e.tag.first, std::string(e.tag.second)},
            .numbered = {}};
    for (const string& line : e.lines)
        m.lines.emplace_back(line);
    if (e.note)
        m.note = std::string(*e.note);
    for (const auto& [number, text] : e.numbered)
        m.numbered.emplace(number, text);
    return m;
}

using dice = std::mt19937_64;

int up_to(dice& random, int most) { return std::uniform_int_distribution<int>(0, most)(random); }

std::string random_text(dice& random) {
    return std::string(std::size_t(up_to(random, 3) == 0 ? up_to(random, 15) : up_to(random, 200)),
                       char('a' + up_to(random, 25)));
}

model random_model(dice& random) {
    model m{.name = random_text(random),
            .lines = {},
            .note = {},
            .tag = {up_to(random, 9), random_text(random)},
            .numbered = {}};
    for (int n = up_to(random, 4); n > 0; --n)
        m.lines.push_back(random_text(random));
    if (up_to(random, 1) == 0)
        m.note = random_text(random);
    for (int n = up_to(random, 4); n > 0; --n)
        m.numbered[up_to(random, 9)] = random_text(random);
    return m;
}

/// Made by default, where this is called.
entry entry_of(const model& m) {
    entry e;
    e.name = m.name;
    for (const std::string& line : m.lines)
        e.lines.emplace_back(line);
    if (m.note)
        e.note.emplace(*m.note);
    e.tag = {m.tag.first, string_pi(m.tag.second)};
    for (const auto& [number, text] : m.numbered)
        e.numbered.emplace(number, string_pi(text));
    return e;
}

/// An object of the program's, and what it must hold. Each kind of place in which a program keeps one.
struct local {
    std::unique_ptr<entry> plain;
    std::optional<entry> maybe;
    std::pair<int, vector<entry>> several;
    model expected;
    std::size_t count = 1; // of `several`

    [[nodiscard]] bool is_right() const {
        if (plain)
            return model_of(*plain) == expected;
        if (maybe)
            return model_of(*maybe) == expected;
        for (const entry& each : several.second) {
            if (model_of(each) != expected)
                return false;
        }
        return several.second.size() == count;
    }
    [[nodiscard]] entry& first() { return plain ? *plain : maybe ? *maybe : several.second.front(); }
};

/// The heap that all threads share, and what is committed in it.
struct shared_heap {
    explicit shared_heap(const fs::path& path) : file(heap::create(path, small_heap())) {}
    heap file;
    map<int, entry>& stored = file.root<map<int, entry>>("stored");
    std::map<int, model> expected; // changes in write sections only, as their last act
};

class refused : public std::exception {};

/// One thread's random actions. `own` is a heap that no other thread uses.
class actor {
public:
    actor(shared_heap& shared, const fs::path& own, std::uint64_t seed)
        : shared_(shared), own_(heap::create(own, small_heap())), random_(seed) {}

    void run(int steps) {
        for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
            act();
            if (step % 8 == 0)
                check();
        }
        check();
        locals_.clear();
        const in here(own_);
        in_own_.clear();
    }
    [[nodiscard]] heap& own() { return own_; }

private:
    static constexpr int k_keys = 40;
    static constexpr std::size_t k_locals_max = 30;

    int random_key() { return up_to(random_, k_keys - 1); }

    void check() {
        for (const local& each : locals_)
            ASSERT_TRUE(each.is_right()) << each.expected.name;
        for (const local& each : in_own_)
            ASSERT_TRUE(each.is_right()) << each.expected.name;
        shared_.file.read([&] {
            ASSERT_EQ(shared_.stored.size(), shared_.expected.size());
            const int key = random_key();
            const auto stored = shared_.stored.find(key);
            const auto expected = shared_.expected.find(key);
            ASSERT_EQ(stored == shared_.stored.end(), expected == shared_.expected.end());
            if (stored != shared_.stored.end()) {
                ASSERT_EQ(model_of(stored->second), expected->second);
            }
        });
    }

    void keep(local&& made) {
        if (locals_.size() < k_locals_max)
            locals_.push_back(std::move(made));
        else
            locals_[std::size_t(up_to(random_, int(k_locals_max) - 1))] = std::move(made);
    }

    /// Of an entry, in one of the places.
    local placed(entry&& e, model expected) {
        local made;
        made.expected = std::move(expected);
        switch (up_to(random_, 2)) {
        case 0:
            made.plain = std::make_unique<entry>(std::move(e));
            break;
        case 1:
            made.maybe = std::move(e);
            break;
        default:
            made.count = std::size_t(1 + up_to(random_, 2));
            for (std::size_t i = 0; i < made.count; ++i)
                made.several.second.push_back(e);
        }
        return made;
    }

    void act() {
        switch (up_to(random_, 9)) {
        case 0:
            copy_out();
            break;
        case 1: {
            model m = random_model(random_);
            keep(placed(entry_of(m), m));
            break;
        }
        case 2:
            drop();
            break;
        case 3:
            move_between_locals();
            break;
        case 4:
            take_by_writing();
            break;
        case 5:
            in_own_heap();
            break;
        default:
            write();
        }
    }

    void copy_out() {
        model expected;
        const int key = random_key();
        std::optional<entry> found = shared_.file.read([&]() -> std::optional<entry> {
            const auto stored = shared_.stored.find(key);
            if (stored == shared_.stored.end())
                return std::nullopt;
            expected = shared_.expected.at(key);
            return stored->second;
        });
        if (found)
            keep(placed(std::move(*found), std::move(expected)));
    }

    void drop() {
        if (!locals_.empty())
            locals_.erase(locals_.begin() + up_to(random_, int(locals_.size()) - 1));
    }

    void move_between_locals() {
        if (locals_.size() < 2)
            return;
        local& from = locals_[std::size_t(up_to(random_, int(locals_.size()) - 1))];
        local& to = locals_[std::size_t(up_to(random_, int(locals_.size()) - 1))];
        if (&from == &to || from.count != 1 || to.count != 1)
            return;
        if (up_to(random_, 1) == 0) {
            to.first() = from.first();
            to.expected = from.expected;
        } else {
            std::swap(from.first(), to.first());
            std::swap(from.expected, to.expected);
        }
    }

    /// The result of a write section is the program's own, though it was made of what the section erased.
    void take_by_writing() {
        const int key = random_key();
        const bool fails = up_to(random_, 3) == 0;
        model expected;
        try {
            std::optional<entry> taken = shared_.file.write(durability::none, [&]() -> std::optional<entry> {
                const auto stored = shared_.stored.find(key);
                if (stored == shared_.stored.end())
                    return std::nullopt;
                std::optional<entry> found = std::move(stored->second);
                shared_.stored.erase(stored);
                if (fails)
                    throw refused();
                expected = std::move(shared_.expected.at(key));
                shared_.expected.erase(key);
                return found;
            });
            if (taken)
                keep(placed(std::move(*taken), std::move(expected)));
        } catch (const refused&) { // NOLINT(bugprone-empty-catch): what this is about
        }
    }

    /// Objects that live in this thread's heap, by its own choice; nobody else commits or rolls back there.
    void in_own_heap() {
        const in here(own_);
        if (up_to(random_, 1) == 0 && !in_own_.empty()) {
            in_own_.pop_back();
            return;
        }
        model m = random_model(random_);
        in_own_.push_back(placed(entry_of(m), m));
        EXPECT_EQ(in_own_.back().first().name.get_allocator(), own_.get_allocator());
        if (up_to(random_, 9) == 0)
            own_.commit(durability::none);
    }

    void change_stored(std::map<int, model>& changes, entry& outside, model& expected_outside) {
        const int key = random_key();
        model m = random_model(random_);
        switch (up_to(random_, 5)) {
        case 0: {
            shared_.stored.erase(key);
            changes[key].name = k_erased;
            return;
        }
        case 1:
            shared_.stored[key] = entry_of(m);
            break;
        case 2: // made elsewhere before
            if (locals_.empty())
                return;
            shared_.stored[key] = locals_.back().first();
            m = locals_.back().expected;
            break;
        case 3: { // from another heap
            const entry elsewhere = [&] {
                const in there(own_);
                return entry_of(m);
            }();
            shared_.stored.insert_or_assign(key, elsewhere);
            break;
        }
        case 4: { // by swaps with an object of no heap, which keeps what it got whatever becomes of the section
            entry& stored = shared_.stored[key];
            m = model_of(stored);
            swap(stored.name, outside.name);
            swap(stored.lines, outside.lines);
            swap(stored.tag, outside.tag);
            swap(stored.numbered, outside.numbered);
            std::swap(m.name, expected_outside.name);
            std::swap(m.lines, expected_outside.lines);
            std::swap(m.tag, expected_outside.tag);
            std::swap(m.numbered, expected_outside.numbered);
            break;
        }
        default:
            shared_.stored.erase(key);
            shared_.stored.emplace(key, entry_of(m));
        }
        changes[key] = std::move(m);
    }

    void write() {
        const bool fails = up_to(random_, 2) == 0;
        model expected_outside = random_model(random_);
        entry outside = entry_of(expected_outside);
        try {
            shared_.file.write(durability::none, [&] {
                std::map<int, model> changes;
                for (int n = up_to(random_, 3); n >= 0; --n)
                    change_stored(changes, outside, expected_outside);
                if (fails)
                    throw refused();
                for (auto& [key, m] : changes) {
                    if (m.name == k_erased)
                        shared_.expected.erase(key);
                    else
                        shared_.expected[key] = std::move(m);
                }
            });
        } catch (const refused&) { // NOLINT(bugprone-empty-catch): what this is about
        }
        keep(placed(std::move(outside), std::move(expected_outside)));
    }

    static constexpr const char* k_erased = "erased";

    shared_heap& shared_;
    heap own_;
    dice random_;
    std::vector<local> locals_;
    std::vector<local> in_own_;
};

TEST(default_heap_threads, random_programs_agree_with_a_model_of_each_object) {
    const auto seed = test::random_seed();
    constexpr int k_threads = 3;
    constexpr int k_steps = 600;
    const temp_dir dir;
    shared_heap shared(dir / "shared.rem");
    const auto bytes = shared.file.stats().allocated_bytes;
    {
        std::vector<std::unique_ptr<actor>> actors;
        for (unsigned i = 0; i < k_threads; ++i)
            actors.push_back(
                std::make_unique<actor>(shared, dir / ("own " + std::to_string(i)), std::uint64_t{seed} + i));
        std::vector<std::uint64_t> own_bytes;
        for (auto& each : actors)
            own_bytes.push_back(each->own().stats().allocated_bytes);
        std::vector<std::thread> threads;
        for (auto& each : actors)
            threads.emplace_back([&each] { each->run(k_steps); });
        for (std::thread& each : threads)
            each.join();
        for (std::size_t i = 0; i < k_threads; ++i) {
            EXPECT_EQ(actors[i]->own().stats().allocated_bytes, own_bytes[i]);
            EXPECT_TRUE(actors[i]->own().verify().clean());
        }
    }
    for (const auto& [key, expected] : shared.expected)
        EXPECT_EQ(model_of(shared.stored.at(key)), expected);
    EXPECT_TRUE(shared.file.verify().clean());
    const auto found = shared.file.check_pointers();
    EXPECT_TRUE(found.clean()) << found.pointers.front().what;
    shared.file.write([&] { shared.stored.clear(); });
    EXPECT_EQ(shared.file.stats().allocated_bytes, bytes); // nothing is left behind
    EXPECT_TRUE(shared.file.verify().clean());
}

} // namespace
} // namespace remanence::test::default_heap_threads
