// Changes that functions of the program make, chains of them, and roots that are converted when a heap is opened.
#include "format/heap_header.hpp"
#include "format/schema_table.hpp"
#include "support/seed.hpp"
#include "support/temp_dir.hpp"

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Each release has its classes in a namespace of its own, so that one program has them all.
namespace first {
namespace rem = remanence;
struct author {
    rem::string name; // "Knuth, Donald"
};
struct book {
    rem::string title;
    double price = 0;
    rem::vector<author> authors;
    book* next = nullptr;
    rem::vector<book*> cited;
    const rem::string* shown = nullptr; // a title
};
using shelf = rem::map<rem::string, book>;
} // namespace first
namespace second {
namespace rem = remanence;
struct author {
    rem::string given, family;
};
struct book {
    rem::string title;
    long cents = -1;
    rem::vector<author> authors;
    book* next = nullptr;
    rem::vector<book*> cited;
    const rem::string* shown = nullptr;
};
using shelf = rem::btree_map<rem::string, book>;
} // namespace second
namespace third {
namespace rem = remanence;
struct money {
    long units = 0;
    int cents = 0;
};
struct book {
    int stock = 7;
    book* next = nullptr;
    rem::string title;
    money price;
    rem::vector<book*> cited;
    const rem::string* shown = nullptr;
    rem::string by; // all authors
};
using shelf = rem::btree_map<rem::string, book>;
} // namespace third
namespace strange {
namespace rem = remanence;
struct book {
    rem::string title;
    float price = 0; // was double
};
} // namespace strange

namespace of_units {
struct was {
    std::chrono::seconds held{5};
    std::chrono::seconds perhaps{6};
};
struct now {
    std::atomic<std::chrono::milliseconds> held;
    std::optional<std::chrono::milliseconds> perhaps;
};
} // namespace of_units

namespace narrow {
struct money {
    short units = 0;
    int cents = 0;
};
} // namespace narrow

namespace stays {
namespace rem = remanence;
enum class kind : int { novel, textbook };
enum class more_kinds : int { novel, textbook, poem };
struct old_entry {
    rem::string text;
    long number = 0;
    kind what = kind::novel;
    old_entry* other = nullptr;
};
struct new_entry {
    rem::string text;
    long count = 0;
    more_kinds what = more_kinds::novel;
    new_entry* other = nullptr;
};
struct with_bits {
    long number = 0;
    unsigned small : 3 = 0;
};
struct with_bits_and_more {
    long number = 0;
    unsigned small : 3 = 0;
    long more = 0;
};
} // namespace stays

namespace remanence {
namespace {

const auto k_split_author = [](const first::author& was, second::author& now) {
    const std::size_t comma = was.name.find(", ");
    now.family = was.name.substr(0, comma);
    now.given = was.name.substr(comma + 2);
};
const auto k_price_in_cents = [](const first::book& was, second::book& now) {
    now.cents = std::lround(was.price * 100);
};
const auto k_join_authors = [](const second::book& was, third::book& now) {
    now.price = {was.cents / 100, static_cast<int>(was.cents % 100)};
    for (const second::author& each : was.authors)
        now.by += (now.by.empty() ? "" : ", ") + each.given + " " + each.family;
};
const char* const k_long = " which is a title that no string holds by itself";

class migration_steps : public testing::Test {
protected:
    test::temp_dir directory_ = test::temp_dir::in_memory();
    std::filesystem::path path_ = directory_ / "h";

    heap fill() {
        heap made = heap::create(path_);
        made.write([&] {
            auto& shelf = made.root<first::shelf>("shelf");
            for (int i = 0; i != 20; ++i) {
                first::book& each = shelf["book " + string(std::to_string(i))];
                each.title = std::to_string(i) + k_long;
                each.price = i + 0.25;
                each.authors.push_back({"Knuth, Donald"});
                each.authors.push_back({"A family name that is long, Given names that are longer"});
            }
            auto* const alone = made.make<first::book>();
            alone->title = "alone";
            alone->price = 1.5;
            for (auto& [key, book] : shelf) {
                book.next = alone;
                book.cited = {alone, nullptr, &shelf.at("book 3")};
                book.shown = &shelf.at("book 4").title;
            }
            alone->next = &shelf.at("book 5");
        });
        return made;
    }
    static migrations to_second() {
        return migrations()
            .to<second::shelf>("shelf")
            .migrate<first::author, second::author>(k_split_author)
            .migrate<first::book, second::book>(k_price_in_cents);
    }
    static migrations to_third() {
        return migrations()
            .to<third::shelf>("shelf")
            .migrate<second::book, third::book>(k_join_authors)
            .migrate<first::author, second::author>(k_split_author)
            .migrate<first::book, second::book>(k_price_in_cents);
    }
    static void expect_second(heap& of) {
        auto& shelf = of.root<second::shelf>("shelf");
        ASSERT_EQ(shelf.size(), 20U);
        const second::book& some = shelf.at("book 7");
        EXPECT_EQ(some.title, string("7") + k_long);
        EXPECT_EQ(some.cents, 725);
        ASSERT_EQ(some.authors.size(), 2U);
        EXPECT_EQ(some.authors[0].given, "Donald");
        EXPECT_EQ(some.authors[0].family, "Knuth");
        EXPECT_EQ(some.authors[1].given, "Given names that are longer");
        expect_pointers(shelf);
        EXPECT_EQ(some.next->cents, 150);
        expect_whole(of);
    }
    static void expect_third(heap& of) {
        auto& shelf = of.root<third::shelf>("shelf");
        ASSERT_EQ(shelf.size(), 20U);
        const third::book& some = shelf.at("book 7");
        EXPECT_EQ(some.title, string("7") + k_long);
        EXPECT_EQ(some.price.units, 7);
        EXPECT_EQ(some.price.cents, 25);
        EXPECT_EQ(some.stock, 7);
        EXPECT_EQ(some.by, "Donald Knuth, Given names that are longer A family name that is long");
        expect_pointers(shelf);
        EXPECT_EQ(some.next->price.cents, 50);
        expect_whole(of);
    }
    template <class Shelf>
    static void expect_pointers(Shelf& shelf) {
        for (auto& [key, book] : shelf) {
            EXPECT_EQ(book.next->title, "alone");
            ASSERT_EQ(book.cited.size(), 3U);
            EXPECT_EQ(book.cited[0], book.next);
            EXPECT_EQ(book.cited[1], nullptr);
            EXPECT_EQ(book.cited[2], &shelf.at("book 3"));
            EXPECT_EQ(book.next->next, &shelf.at("book 5"));
        }
    }
    static void expect_whole(heap& of) {
        const verify_report report = of.verify();
        EXPECT_TRUE(report.clean()) << report.problems.front().what;
        EXPECT_TRUE(of.check_pointers().clean());
    }
    template <class F>
    static std::string thrown(errc code, const F& f) {
        try {
            f();
        } catch (const error& stop) {
            EXPECT_EQ(stop.reason(), code) << stop.what();
            return stop.what();
        }
        ADD_FAILURE() << "nothing was thrown";
        return {};
    }
};

TEST_F(migration_steps, of_the_program_are_called_where_they_apply_at_any_depth) {
    heap opened = fill();
    const migration_report report =
        migrate<second::shelf>(opened, "shelf",
                               {.steps = {migrate<first::book, second::book>(k_price_in_cents),
                                          migrate<first::author, second::author>(k_split_author)}});
    EXPECT_TRUE(report.is_needed);
    expect_second(opened);
    for (auto& [key, book] : opened.root<second::shelf>("shelf"))
        EXPECT_EQ(book.shown, &opened.root<second::shelf>("shelf").at("book 4").title);
    const auto allocated = opened.stats().allocated_bytes;
    opened.remove_root<second::shelf>("shelf");
    EXPECT_LT(opened.stats().allocated_bytes, allocated / 10) << "old objects stay";
}

TEST_F(migration_steps, are_taken_in_turn_from_the_release_that_is_stored) {
    {
        heap opened = fill();
        // A pointer into a member of an object that several functions make leads nowhere.
        EXPECT_NE(thrown(errc::type_mismatch, [&] { (void)to_third()(opened); })
                      .find("a pointer leads to a rem::string in an object that functions make"),
                  std::string::npos);
        opened.write([&] {
            for (auto& [key, book] : opened.root<first::shelf>("shelf"))
                book.shown = nullptr;
        });
        EXPECT_EQ(to_third().dry_run(opened).is_needed, true);
        opened.close();
    }
    {
        heap opened = heap::open(path_, {.migrate = to_second()});
        expect_second(opened);
        opened.close();
    }
    {
        heap opened = heap::open(path_, {.migrate = to_third()});
        expect_third(opened);
        opened.close();
    }
    std::filesystem::remove(path_);
    {
        heap made = fill();
        made.write([&] {
            for (auto& [key, book] : made.root<first::shelf>("shelf"))
                book.shown = nullptr;
        });
        made.close();
    }
    heap opened = heap::open(path_, {.migrate = to_third()}); // two releases at once
    expect_third(opened);
    const auto version = opened.version();
    EXPECT_FALSE(to_third()(opened).is_needed);
    EXPECT_EQ(opened.version(), version);
}

TEST_F(migration_steps, refuse_what_is_none_of_their_olds) {
    heap opened = heap::create(path_);
    opened.write([&] { opened.root<vector<strange::book>>("books").resize(2); });
    const std::string why = thrown(errc::type_mismatch, [&] {
        (void)migrations().to<vector<third::book>>("books").migrate<second::book, third::book>(k_join_authors)(opened);
    });
    EXPECT_NE(why.find("third::book, which functions make, but not of what is stored: second::book is another one"),
              std::string::npos)
        << why;
    EXPECT_EQ(opened.root<vector<strange::book>>("books").size(), 2U);
}

TEST_F(migration_steps, do_not_make_keys) {
    heap opened = heap::create(path_);
    opened.write([&] { opened.root<set<int>>("numbers") = {1, 2}; });
    const std::string why = thrown(errc::type_mismatch, [&] {
        (void)migrations().to<set<long>>("numbers").migrate<int, long>([](int was, long& now) { now = -was; })(opened);
    });
    EXPECT_NE(why.find("in a key, which functions do not make"), std::string::npos) << why;
    opened.write([&] { opened.root<vector<int>>("list") = {1, 2}; });
    (void)migrations().to<vector<long>>("list").migrate<int, long>([](int was, long& now) { now = -was; })(opened);
    EXPECT_EQ(opened.root<vector<long>>("list").at(1), -2);
}

TEST_F(migration_steps, that_throw_half_way_leave_the_heap_as_it_was) {
    {
        heap opened = fill();
        opened.close();
    }
    int calls = 0;
    const auto how = migrations()
                         .to<second::shelf>("shelf")
                         .migrate<first::author, second::author>(k_split_author)
                         .migrate<first::book, second::book>(
                             [&calls, title = std::string()](const first::book& was, second::book& now) mutable {
                                 title.assign(was.title.begin(), was.title.end());
                                 now.title += title;
                                 if (++calls == 12)
                                     throw std::runtime_error("half way");
                             });
    EXPECT_THROW((void)heap::open(path_, {.migrate = how}), std::runtime_error);
    EXPECT_EQ(calls, 12);
    heap opened = heap::open(path_);
    const auto allocated = opened.stats().allocated_bytes;
    calls = 0;
    EXPECT_THROW((void)how(opened), std::runtime_error);
    EXPECT_EQ(opened.stats().allocated_bytes, allocated);
    EXPECT_EQ(opened.root<first::shelf>("shelf").at("book 7").price, 7.25);
    expect_whole(opened);
    (void)to_second()(opened);
    expect_second(opened);
}

TEST_F(migration_steps, happen_in_one_commit_for_all_roots) {
    {
        heap made = heap::create(path_);
        made.write([&] {
            made.root<vector<int>>("a") = {1, 2};
            made.root<vector<float>>("b") = {0.5F};
            (void)made.root<int>("c", 3);
        });
        made.close();
    }
    const auto all = migrations().to<list<long>>("a").to<vector<double>>("b").to<int>("c").to<int>("not there");
    {
        heap opened = heap::open(path_);
        const auto version = opened.version();
        (void)all(opened);
        EXPECT_EQ(opened.version(), version + 1);
        EXPECT_EQ(opened.root<list<long>>("a").back(), 2);
        EXPECT_EQ(opened.root<vector<double>>("b").back(), 0.5);
        EXPECT_EQ(opened.find_root<int>("not there"), nullptr);
        (void)all(opened);
        EXPECT_EQ(opened.version(), version + 1);
        opened.close();
    }
    // One that cannot be converted keeps all others from it.
    const auto not_all = migrations().to<vector<std::optional<long>>>("a").to<vector<int>>("b");
    EXPECT_NE(thrown(errc::type_mismatch, [&] { (void)heap::open(path_, {.migrate = not_all}); })
                  .find("was double, is int, which does not have all of its values"),
              std::string::npos);
    heap opened = heap::open(path_);
    EXPECT_EQ(opened.root<list<long>>("a").back(), 2);
}

TEST_F(migration_steps, need_a_heap_that_may_be_written_to) {
    {
        heap made = fill();
        made.close();
    }
    EXPECT_NE(
        thrown(errc::read_only, [&] { (void)heap::open(path_, {.read_only = true, .migrate = to_second()}); })
            .find("the root \"shelf\" of " + path_.string() + " is of an older type and cannot be migrated, since"),
        std::string::npos);
    heap opened = heap::open(path_, {.migrate = to_second()});
    opened.close();
    heap read = heap::open(path_, {.read_only = true, .migrate = to_second()}); // there is nothing to do
    EXPECT_EQ(read.find_root<second::shelf>("shelf")->size(), 20U);
}

TEST_F(migration_steps, leave_objects_where_they_are_if_only_names_differ) {
    using namespace stays;
    heap opened = heap::create(path_);
    opened.write([&] {
        auto& entries = opened.root<map<string, old_entry>>("entries");
        entries["a"] = {"text", 3, stays::kind::textbook, nullptr};
        opened.root<vector<old_entry*>>("others").push_back(&entries.at("a"));
        opened.root<set<old_entry*>>("by address").insert(&entries.at("a"));
    });
    const void* const was = &opened.root<map<string, old_entry>>("entries").at("a");
    const auto allocated = opened.stats().allocated_bytes;
    (void)migrations()
        .to<map<string, new_entry>>("entries")
        .to<vector<new_entry*>>("others")
        .to<set<new_entry*>>("by address")
        .rename(renamed<"number", "count">::of<new_entry>())(opened);
    const new_entry& now = opened.root<map<string, new_entry>>("entries").at("a");
    EXPECT_EQ(static_cast<const void*>(&now), was);
    EXPECT_EQ(now.count, 3);
    EXPECT_EQ(now.what, more_kinds::textbook);
    EXPECT_EQ(opened.root<vector<new_entry*>>("others").at(0), &now);
    EXPECT_EQ(*opened.root<set<new_entry*>>("by address").begin(), &now);
    EXPECT_LT(opened.stats().allocated_bytes, allocated + 1024);
    expect_whole(opened);
}

TEST_F(migration_steps, are_told_of_by_the_refusal_of_a_root_with_all_that_differs) {
    heap opened = fill();
    opened.write([&] { opened.root<vector<strange::book>>("strange").resize(1); });
    const std::string why = thrown(errc::type_mismatch, [&] { (void)opened.root<second::shelf>("shelf"); });
    for (const char* const part :
         {"Ask for the stored type", " Automatic changes: second::book.cents is new; ", "second::author.given is new; ",
          "first::author.name is gone; ",
          "first::book.price is gone; it was rem::map<rem::string, first::book>, is rem::btree_map<rem::string, "
          "second::book>. To convert the root, open the heap with heap_options::migrate = "
          "rem::migrations().to<rem::btree_map<rem::string, second::book>>(\"shelf\")."})
        EXPECT_NE(why.find(part), std::string::npos) << part << "\n" << why;
    const std::string both = thrown(errc::type_mismatch, [&] { (void)opened.root<vector<first::author>>("strange"); });
    EXPECT_NE(both.find("strange::book.title is gone"), std::string::npos) << both;
    opened.write([&] { opened.root<vector<third::money>>("money").resize(1); });
    const std::string other = thrown(errc::type_mismatch, [&] { (void)opened.root<list<narrow::money>>("money"); });
    EXPECT_NE(other.find(" Changes that a function has to make: narrow::money.units was long, is short, which does not "
                         "have all of its values. To convert the root, open the heap with heap_options::migrate = "
                         "rem::migrations().to<rem::list<narrow::money>>(\"money\").migrate<Old, New>(function)."),
              std::string::npos)
        << other;
}

TEST_F(migration_steps, of_schemas_that_are_forged_fail_or_leave_a_sound_heap) {
    std::mt19937_64 random(test::random_seed());
    heap opened = fill();
    opened.write([&] {
        for (auto& [key, book] : opened.root<first::shelf>("shelf"))
            book.shown = nullptr;
    });
    const auto& header = *static_cast<const format::heap_header*>(opened.base());
    int refused = 0;
    for (int i = 0; i != 300; ++i) {
        try {
            opened.write([&] {
                auto* const table = static_cast<unsigned char*>(opened.base()) + header.type_table;
                const auto bytes = reinterpret_cast<const format::schema_table*>(table)->bytes;
                for (std::uint64_t left = 1 + random() % 3; left != 0; --left)
                    table[sizeof(format::schema_table) + random() % (bytes - sizeof(format::schema_table))] ^=
                        static_cast<unsigned char>(1U << random() % 8);
                (void)(i % 2 == 0 ? to_second() : to_third())(opened);
                throw std::runtime_error("undone");
            });
        } catch (const error&) {
            ++refused;
        } catch (const std::bad_alloc&) { // heap_exhausted
            ++refused;
        } catch (const std::runtime_error&) {
        }
    }
    EXPECT_GT(refused, 0);
    expect_whole(opened);
    (void)to_third()(opened);
    expect_third(opened);
}

TEST_F(migration_steps, refuse_what_a_conversion_would_lose) {
    using namespace stays;
    heap opened = heap::create(path_);
    opened.write([&] {
        opened.root<with_bits>("bits").small = 5;
        auto& entries = opened.root<list<int>>("entries");
        entries = {1, 2};
        opened.root<set<int*>>("by address") = {&entries.front(), &entries.back()};
    });
    EXPECT_NE(thrown(errc::type_mismatch, [&] { (void)migrate<with_bits_and_more>(opened, "bits"); })
                  .find("such as bit-fields"),
              std::string::npos);
    const std::string why = thrown(errc::type_mismatch, [&] { (void)migrate<btree_set<int*>>(opened, "by address"); });
    EXPECT_NE(why.find("keys with pointers, whose order is another one"), std::string::npos) << why;
    EXPECT_EQ(opened.root<with_bits>("bits").small, 5U);
}

// A step is asked for with the unit, though what has it is the same as a number.
TEST_F(migration_steps, between_units_are_called_for_what_wraps_the_new_one) {
    using namespace of_units;
    using std::chrono::milliseconds;
    heap opened = heap::create(path_);
    opened.write([&] { (void)opened.root<was>("times"); });
    (void)migrations().to<now>("times").migrate<std::chrono::seconds, milliseconds>(
        [](const std::chrono::seconds& old, milliseconds& made) { made = old + milliseconds{1}; })(opened);
    const now& times = opened.root<now>("times");
    EXPECT_EQ(times.held.load(), milliseconds{5'001});
    EXPECT_EQ(times.perhaps, milliseconds{6'001});
}

} // namespace
} // namespace remanence
