// Heaps that move to other addresses: every pointer that types declare leads to what it led to, numbers stay, and what
// is not certain is refused with a sentence.
#include "fixture.hpp"

#include "support/seed.hpp"

#include <remanence/inspect.hpp>
#include <remanence/relocate.hpp>
#include <remanence/types/reflect.hpp>

#include <csignal>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

namespace relocation_test {

namespace rem = remanence;

struct book_place {
    double x = 0;
    double y = 0;
};
struct book_knot {
    std::uint64_t value = 0;
    book_knot* first = nullptr;
    rem::vector<book_knot*> others;
    rem::string name;
    book_place where;
    const double* height = nullptr; // a part of a book_knot
};
struct whole_book {
    rem::list<rem::string> list;
    rem::forward_list<std::uint64_t> chain;
    rem::map<rem::string, rem::vector<rem::string>> map;
    rem::multimap<int, book_knot*> knots;
    rem::set<rem::string> set;
    rem::unordered_map<rem::string, std::uint64_t> hash;
    rem::unordered_set<std::uint64_t> numbers;
    rem::deque<rem::string> deque;
    rem::deque<book_knot*> deque_of_knots;
    rem::vector<bool> bits;
    rem::hash_map<rem::string_pi, rem::string> links;
    rem::btree_map<std::uint64_t, book_knot*> tree;
    rem::packed_map packed;
    std::optional<rem::string> maybe;
    std::variant<int, rem::string, book_knot*> either;
    std::tuple<int, rem::string> both;
    std::array<book_knot*, 3> three{};
    book_knot* begin = nullptr;
    book_knot** array = nullptr; // of as many as `count`
    book_place* places = nullptr;
    std::uint64_t count = 0;
    std::uint64_t address = 0; // as a number
};
struct book_of_anything {
    void* object = nullptr;
};
struct book_by_address {
    rem::unordered_map<book_knot*, int> of;
};
struct nested_key {
    int value = 0;
    rem::vector<nested_key> more;
    friend bool operator==(const nested_key&, const nested_key&) = default;
};
struct hash_of_nested_key {
    std::size_t operator()(const nested_key& of) const { return static_cast<std::size_t>(of.value); }
};
struct book_of_nested_keys {
    rem::unordered_map<nested_key, book_knot*, hash_of_nested_key> of;
};
class quiet_book {
public:
    quiet_book() = default;
    void hide(book_knot* which) { hidden_ = which; }
    int shown = 0;

private:
    book_knot* hidden_ = nullptr;
    REM_REFLECT((), shown);
};
struct base_page {
    std::uint64_t number = 0;
    std::uint64_t other = 0;
};
struct derived_page : base_page {
    book_knot* hidden = nullptr;
};
struct book_of_base {
    base_page* object = nullptr;
};

} // namespace relocation_test

template <>
inline constexpr bool remanence::enable_persistable<relocation_test::quiet_book> = true;

namespace remanence::test {
namespace {

using namespace relocation_test;

std::string long_line(std::uint64_t i) { return "a text that is too long for the object: " + std::to_string(i); }

/// Fills the root and returns the knots that it made.
void fill_book(heap& h, std::mt19937_64& random) {
    h.write([&] {
        auto& all = h.root<whole_book>("everything");
        std::vector<book_knot*> knots;
        for (std::uint64_t i = 0; i != 300; ++i) {
            book_knot* const made = h.make<book_knot>();
            made->value = i;
            made->where = {static_cast<double>(i), -static_cast<double>(i)};
            if (i % 3 == 0)
                made->name = (i % 2 == 0 ? long_line(i) : std::to_string(i)).c_str();
            knots.push_back(made);
        }
        const auto any = [&] { return random() % 4 == 0 ? nullptr : knots[random() % knots.size()]; };
        for (book_knot* const each : knots) {
            each->first = any();
            for (std::uint64_t i = random() % 4; i != 0; --i)
                each->others.push_back(any());
            if (book_knot* const other = any(); other != nullptr)
                each->height = &other->where.y;
        }
        for (std::uint64_t i = 0; i != 200; ++i) {
            const std::string text = i % 2 == 0 ? long_line(i) : std::to_string(i);
            all.list.emplace_back(text.c_str());
            all.chain.push_front(i);
            for (std::uint64_t n = i % 5; n != 0; --n)
                all.map[text.c_str()].emplace_back(long_line(n).c_str());
            all.knots.emplace(static_cast<int>(i % 50), any());
            all.set.emplace(text.c_str());
            all.hash[text.c_str()] = i;
            all.numbers.insert(i * i);
            all.deque.emplace_back(text.c_str());
            if (i % 3 == 0)
                all.deque.emplace_front(text.c_str());
            all.deque_of_knots.push_back(any());
            all.bits.push_back(i % 7 == 0);
            all.links[string_pi(text)] = text.c_str();
            all.tree[i] = any();
            all.packed.emplace(text, long_line(i));
        }
        for (book_knot* const each : knots) // heights lead to parts of objects that are found
            all.deque_of_knots.push_back(each);
        all.maybe = long_line(1).c_str();
        all.either = knots[7];
        all.both = {5, rem::string("short")};
        all.three = {knots[1], nullptr, knots[2]};
        all.begin = knots[0];
        all.count = 10;
        all.array = h.get_allocator<book_knot*>().allocate(all.count);
        all.places = h.get_allocator<book_place>().allocate(all.count);
        for (std::uint64_t i = 0; i != all.count; ++i) {
            all.array[i] = knots[i * 11];
            all.places[i] = {1.5, static_cast<double>(i)};
        }
        all.address = reinterpret_cast<std::uintptr_t>(knots[3]);
    });
}

/// Everything that the root says and leads to, as text without addresses: knots have the numbers in which they are met.
class told_content {
public:
    explicit told_content(const whole_book& all) {
        const auto texts = [&](const auto& range) {
            for (const auto& each : range)
                add(std::string(each));
        };
        texts(all.list);
        for (const std::uint64_t each : all.chain)
            add(std::to_string(each));
        for (const auto& [key, value] : all.map) {
            add(std::string(key));
            texts(value);
        }
        for (const auto& [key, value] : all.knots)
            add(std::to_string(key)), add(value);
        texts(all.set);
        for (const auto& [key, value] : std::map<std::string, std::uint64_t>(all.hash.begin(), all.hash.end()))
            add(key), add(std::to_string(value)), add(std::to_string(all.hash.at(key.c_str())));
        for (const std::uint64_t each : std::set<std::uint64_t>(all.numbers.begin(), all.numbers.end()))
            add(std::to_string(each) + (all.numbers.contains(each) ? "" : "?"));
        texts(all.deque);
        for (const book_knot* each : all.deque_of_knots)
            add(each);
        for (const bool each : all.bits)
            add(each ? "1" : "0");
        std::map<std::string, std::string> links;
        for (const auto& [key, value] : all.links)
            links[std::string(key)] = value;
        for (const auto& [key, value] : links)
            add(key), add(value);
        for (const auto& [key, value] : all.tree)
            add(std::to_string(key)), add(value);
        for (const auto& [key, value] : all.packed)
            add(std::string(key)), add(std::string(value));
        add(std::string(*all.maybe));
        add(std::get<book_knot*>(all.either));
        add(std::string(std::get<1>(all.both)));
        for (const book_knot* each : all.three)
            add(each);
        add(all.begin);
        for (std::uint64_t i = 0; i != all.count; ++i)
            add(all.array[i]), add(std::to_string(all.places[i].y));
        add(std::to_string(all.address));
        while (!open_.empty()) {
            const book_knot* const next = open_.back();
            open_.pop_back();
            add(std::to_string(next->value));
            add(std::string(next->name));
            add(std::to_string(next->where.x));
            if (next->height != nullptr)
                add(std::to_string(*next->height));
            add(next->first);
            for (const book_knot* each : next->others)
                add(each);
        }
    }
    friend bool operator==(const told_content& a, const told_content& b) { return a.text_ == b.text_; }
    [[nodiscard]] std::size_t size() const { return text_.size(); }

private:
    void add(const std::string& text) {
        text_ += text;
        text_ += '\n';
    }
    void add(const book_knot* to) {
        if (to == nullptr)
            return add(std::string("null"));
        const auto [known, is_new] = numbers_.emplace(to, numbers_.size());
        if (is_new)
            open_.push_back(to);
        add("book_knot " + std::to_string(known->second));
    }

    std::string text_;
    std::map<const book_knot*, std::size_t> numbers_;
    std::vector<const book_knot*> open_;
};

heap_options movable(relocation how = relocation::automatic) {
    heap_options options = small_heap();
    options.memory.when_taken = how;
    return options;
}

class relocating : public testing::Test {
protected:
    /// Makes a heap, and returns what it holds.
    told_content make() {
        heap h = heap::create(path_, small_heap());
        std::mt19937_64 random(random_seed());
        fill_book(h, random);
        base_ = h.base();
        told_content all(*h.find_root<whole_book>("everything"));
        h.close();
        return all;
    }
    /// Makes a heap with one root, by `change`.
    template <class Change>
    void make_with(Change change) {
        heap h = heap::create(path_, small_heap());
        h.write([&] { change(h); });
        base_ = h.base();
        h.close();
    }
    [[nodiscard]] std::optional<std::string> why_refused(heap_options options = movable()) {
        const taken_addresses there(base_);
        const auto before = read_file(path_);
        const auto why = error_of([&] { heap h = heap::open_existing(path_, options); });
        EXPECT_TRUE(read_file(path_) == before);
        if (!why)
            return {};
        EXPECT_EQ(why->code, errc::base_taken) << why->what;
        return why->what;
    }

    temp_dir dir_;
    fs::path path_ = dir_ / "book.rem";
    void* base_ = nullptr;
};

TEST_F(relocating, a_writer_finds_everything_at_other_addresses_for_good) {
    const told_content before = make();
    void* moved = nullptr;
    {
        const taken_addresses there(base_);
        EXPECT_EQ(reason_of([&] { heap::open(path_, small_heap()); }), errc::base_taken);
        heap h = heap::open_existing(path_, movable());
        moved = h.base();
        EXPECT_NE(moved, base_);
        auto& all = *h.find_root<whole_book>("everything");
        EXPECT_TRUE(told_content(all) == before);
        EXPECT_TRUE(h.check_pointers().clean());
        EXPECT_TRUE(h.leaks().clean());
        EXPECT_TRUE(h.verify().clean());
        h.write([&] {
            all.list.emplace_back("one more");
            all.map["one more"].emplace_back("one more");
            all.hash["one more"] = 1;
            all.bits.push_back(true);
            all.list.pop_back();
            all.map.erase("one more");
            all.hash.erase("one more");
            all.bits.pop_back();
        });
        EXPECT_TRUE(told_content(all) == before);
        h.close();
    }
    heap h = heap::open_existing(path_, small_heap());
    EXPECT_EQ(h.base(), moved);
    EXPECT_TRUE(told_content(*h.find_root<whole_book>("everything")) == before);
    EXPECT_FALSE(fs::exists(path_.string() + "-moving"));
}

TEST_F(relocating, a_reader_finds_everything_and_leaves_the_file) {
    const told_content before = make();
    const auto bytes = read_file(path_);
    heap_options options = movable();
    options.read_only = true;
    std::uint64_t told = 0;
    options.on_progress = [&](const progress& now) {
        if (now.what == progress::phase::relocation)
            told = now.bytes_done;
    };
    {
        const taken_addresses there(base_);
        heap h = heap::open_existing(path_, options);
        EXPECT_NE(h.base(), base_);
        EXPECT_NE(told, 0U);
        EXPECT_TRUE(told_content(*h.find_root<whole_book>("everything")) == before);
        EXPECT_TRUE(h.check_pointers().clean());
        EXPECT_TRUE(h.verify().clean());
        EXPECT_EQ(reason_of([&] { h.commit(); }), errc::read_only);
    }
    EXPECT_TRUE(read_file(path_) == bytes);
}

TEST_F(relocating, a_copy_opens_beside_its_original) {
    const told_content before = make();
    inspect::copy(path_, dir_ / "copy.rem");
    heap original = heap::open_existing(path_, small_heap());
    heap copy = heap::open_existing(dir_ / "copy.rem", movable());
    EXPECT_NE(copy.base(), original.base());
    EXPECT_TRUE(told_content(*copy.find_root<whole_book>("everything")) == before);
    EXPECT_TRUE(told_content(*original.find_root<whole_book>("everything")) == before);
}

TEST_F(relocating, twenty_documents_of_the_same_addresses_open_fifty_times_at_once) {
    make_with([](heap& h) { h.root<book_of_base>("root").object = h.make<base_page>(base_page{7, 8}); });
    constexpr int k_documents = 20;
    for (int i = 0; i != k_documents; ++i)
        inspect::copy(path_, dir_ / std::to_string(i));
    heap_options options = movable();
    options.read_only = true;
    const taken_addresses crowded(base_);
    for (int round = 0; round != 50; ++round) {
        std::vector<heap> all;
        for (int i = 0; i != k_documents; ++i)
            all.push_back(heap::open_existing(dir_ / std::to_string(i), options));
        for (const heap& each : all)
            EXPECT_EQ(each.find_root<book_of_base>("root")->object->other, 8U);
    }
}

TEST_F(relocating, to_three_addresses_and_back_gives_the_same_values) {
    const told_content before = make();
    for (const std::uintptr_t base : {std::uintptr_t{0}, std::uintptr_t{0x1234} << 32U, std::uintptr_t{0x2400} << 32U,
                                      reinterpret_cast<std::uintptr_t>(base_)}) {
        const relocated done = relocate(path_, base);
        EXPECT_TRUE(base == 0 || done.base == base);
        EXPECT_GT(done.pointers, 2000U);
        heap h = heap::open_existing(path_, small_heap());
        EXPECT_EQ(h.base(), reinterpret_cast<void*>(done.base));
        EXPECT_TRUE(told_content(*h.find_root<whole_book>("everything")) == before);
        EXPECT_TRUE(h.leaks().clean());
        EXPECT_TRUE(h.verify().clean());
    }
}

TEST_F(relocating, refuses_bad_addresses_and_files) {
    make();
    EXPECT_EQ(reason_of([&] { relocate(path_, 12345); }), errc::invalid_argument);
    EXPECT_EQ(reason_of([&] { relocate(path_, std::uintptr_t{1} << 46U); }), errc::invalid_argument);
    EXPECT_EQ(reason_of([&] { relocate(dir_ / "nothing"); }), errc::not_found);
    write_file(dir_ / "text", std::string(10'000, 'x'));
    EXPECT_EQ(reason_of([&] { relocate(dir_ / "text"); }), errc::not_a_heap);
    heap h = heap::open_existing(path_, small_heap());
    EXPECT_EQ(reason_of([&] { relocate(path_); }), errc::in_use);
}

TEST_F(relocating, what_is_not_certain_is_refused_by_name) {
    make_with([](heap& h) { h.root<book_of_anything>("anything").object = h.make<book_knot>(); });
    EXPECT_NE(why_refused().value_or("").find("the root \"anything\""), std::string::npos) << *why_refused();
    fs::remove(path_);
    make_with([](heap& h) { h.root<quiet_book>("quiet").hide(h.make<book_knot>()); });
    EXPECT_NE(why_refused().value_or("").find("relocation_test::quiet_book"), std::string::npos) << *why_refused();
    fs::remove(path_);
    make_with([](heap& h) {
        auto* const made = h.make<derived_page>();
        made->hidden = h.make<book_knot>();
        h.root<book_of_base>("base").object = made;
    });
    EXPECT_NE(why_refused().value_or("").find("relocation_test::base_page"), std::string::npos) << *why_refused();
    fs::remove(path_);
    make_with([](heap& h) { h.root<book_by_address>("keys").of[h.make<book_knot>()] = 1; });
    EXPECT_NE(why_refused().value_or("").find("the addresses in their keys"), std::string::npos) << *why_refused();
}

TEST_F(relocating, keys_that_contain_keys_move) {
    make_with([](heap& h) {
        auto& root = h.root<book_of_nested_keys>("keys");
        nested_key key{.value = 1, .more = rem::vector<nested_key>(h.get_allocator<nested_key>())};
        key.more.push_back({2, rem::vector<nested_key>(h.get_allocator<nested_key>())});
        root.of[key] = h.make<book_knot>(7U);
    });
    const taken_addresses there(base_);
    heap h = heap::open_existing(path_, movable());
    const auto& found = *h.find_root<book_of_nested_keys>("keys")->of.begin();
    EXPECT_EQ(found.first.more.at(0).value, 2);
    EXPECT_EQ(found.second->value, 7U);
}

TEST_F(relocating, a_heap_that_processes_share_is_refused) {
    const told_content before = make();
    heap_options options = movable();
    options.access = sharing::processes;
    {
        const taken_addresses there(base_);
        const auto why = error_of([&] { heap::open_existing(path_, options); });
        ASSERT_TRUE(why);
        EXPECT_EQ(why->code, errc::base_taken);
        EXPECT_NE(why->what.find("processes that share a heap"), std::string::npos) << why->what;
    }
    heap h = heap::open_existing(path_, options);
    EXPECT_EQ(h.base(), base_);
    EXPECT_TRUE(told_content(*h.find_root<whole_book>("everything")) == before);
}

TEST_F(relocating, what_is_not_certain_but_holds_no_address_moves) {
    make_with([](heap& h) {
        h.root<book_of_anything>("anything").object = h.get_allocator<book_place>().allocate(1);
        h.root<quiet_book>("quiet").shown = 3;
        h.root<book_of_base>("base").object = h.make<derived_page>();
    });
    const taken_addresses there(base_);
    heap h = heap::open_existing(path_, movable());
    EXPECT_EQ(h.find_root<quiet_book>("quiet")->shown, 3);
    EXPECT_NE(h.find_root<book_of_base>("base")->object, nullptr);
    EXPECT_TRUE(h.check_pointers().clean());
}

TEST_F(relocating, a_reader_may_guess_and_a_writer_may_not) {
    make_with([](heap& h) {
        auto* const made = h.make<derived_page>();
        made->hidden = h.make<book_knot>();
        made->hidden->value = 77;
        h.root<book_of_base>("base").object = made;
    });
    EXPECT_NE(why_refused(movable(relocation::guessed)).value_or("").find("read_only"), std::string::npos);
    heap_options options = movable(relocation::guessed);
    options.read_only = true;
    const taken_addresses there(base_);
    heap h = heap::open_existing(path_, options);
    EXPECT_EQ(static_cast<derived_page*>(h.find_root<book_of_base>("base")->object)->hidden->value, 77U);
}

TEST_F(relocating, a_heap_with_a_history_is_refused) {
    heap_options options = small_heap();
    options.history = {.kept_over_sessions = true};
    {
        heap h = heap::create(path_, options);
        h.write([&] { h.root<book_knot>("book_knot").first = h.make<book_knot>(); });
        base_ = h.base();
        h.close();
    }
    EXPECT_NE(why_refused().value_or("").find("history"), std::string::npos);
    EXPECT_EQ(reason_of([&] { relocate(path_); }), errc::not_supported);
}

TEST_F(relocating, an_old_version_moves_when_it_is_opened) {
    heap_options options = small_heap();
    options.history = {.kept_over_sessions = true};
    {
        heap h = heap::create(path_, options);
        auto& root = h.root<book_knot>("book_knot");
        h.write([&] {
            root.first = h.make<book_knot>();
            root.first->name = "the first name, which is long enough";
        });
        h.keep("first");
        h.write([&] { root.first->name = "the second name, which is longer still"; });
        base_ = h.base();
        h.close();
    }
    const taken_addresses there(base_);
    heap_options old = movable();
    old.read_only = true;
    old.kept_version = "first";
    const heap h = heap::open_existing(path_, old);
    EXPECT_EQ(h.find_root<book_knot>("book_knot")->first->name, "the first name, which is long enough");
}

TEST_F(relocating, a_heap_whose_program_died_is_recovered_and_moved) {
    make_crashed_heap(path_, 2);
    {
        heap h = heap::open(path_, {.read_only = true, .memory = {.reserve_bytes = 64 * MiB}});
        base_ = h.base();
    }
    const taken_addresses there(base_);
    heap_options options = movable();
    options.read_only = true;
    {
        heap h = heap::open_existing(path_, options);
        EXPECT_TRUE(has_contents(h));
    }
    heap h = heap::open_existing(path_, movable());
    EXPECT_TRUE(has_contents(h));
    EXPECT_EQ(*h.find_root<std::uint64_t>("more"), 2U);
}

TEST_F(relocating, a_killed_move_leaves_the_heap_as_it_was_or_moved) {
    const told_content before = make();
    std::mt19937_64 random(random_seed());
    int finished = 0;
    for (int round = 0; round != 20; ++round) {
        const pid_t child = ::fork();
        ASSERT_NE(child, -1);
        if (child == 0) {
            relocate(path_);
            ::_exit(0);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
        ::kill(child, SIGKILL);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        finished += WIFEXITED(status) ? 1 : 0;
        heap h = heap::open_existing(path_, movable());
        ASSERT_TRUE(told_content(*h.find_root<whole_book>("everything")) == before) << "round " << round;
        ASSERT_TRUE(h.verify().clean());
        h.close();
    }
    relocate(path_);
    EXPECT_FALSE(fs::exists(path_.string() + "-moving"));
    EXPECT_FALSE(fs::exists(path_.string() + "-moving-new"));
    SUCCEED() << finished << " finished";
}

} // namespace
} // namespace remanence::test
