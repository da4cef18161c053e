// Objects with virtual functions are migrated. tests/virtual has classes that keep their names: one program has only one
// release of them, so the classes here have other names in the next release.
#include "support/migration_fixture.hpp"

#include <remanence/types/reflect.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace virtual_1 {
namespace rem = remanence;
class animal {
public:
    animal() = default;
    animal(const animal&) = default;
    animal& operator=(const animal&) = default;
    virtual ~animal() = default;
    [[nodiscard]] virtual int legs() const = 0;
    rem::string name;
    const animal* friend_of = nullptr;

private:
    REM_REFLECT((), name, friend_of);
};
class owned {
public:
    owned() = default;
    owned(const owned&) = default;
    owned& operator=(const owned&) = default;
    virtual ~owned() = default;
    [[nodiscard]] virtual int price() const { return 10; }
    int year = 1990;

private:
    REM_REFLECT((), year);
};
class cat : public animal {
public:
    [[nodiscard]] int legs() const override { return 4; }
    int lives = 9;

private:
    REM_REFLECT((animal), lives);
};
class dog : public owned, public animal {
public:
    [[nodiscard]] int legs() const override { return 4; }
    [[nodiscard]] int price() const override { return 100; }
    rem::vector<const animal*> friends;

private:
    REM_REFLECT((owned, animal), friends);
};
class bird : public animal {
public:
    [[nodiscard]] int legs() const override { return 2; }

private:
    REM_REFLECT((animal));
};
class unicorn : public animal {
public:
    [[nodiscard]] int legs() const override { return 4; }

private:
    REM_REFLECT((animal));
};
/// Does not say its members.
class sphinx : public animal {
public:
    [[nodiscard]] int legs() const override { return 4; }
};
class penguin : public virtual animal {
public:
    [[nodiscard]] int legs() const override { return 2; }
};
struct zoo {
    rem::vector<animal*> all;
    const owned* oldest = nullptr;
    rem::vector<owned> things;
    int visitors = 3;
    int keepers = 4;
};
} // namespace virtual_1

namespace virtual_2 {
namespace rem = remanence;
class animal {
public:
    animal() = default;
    animal(const animal&) = default;
    animal& operator=(const animal&) = default;
    virtual ~animal() = default;
    [[nodiscard]] virtual int legs() const = 0;
    long age = 1;
    rem::string name;
    const animal* friend_of = nullptr;

private:
    REM_REFLECT((), age, name, friend_of);
};
class owned {
public:
    owned() = default;
    owned(const owned&) = default;
    owned& operator=(const owned&) = default;
    virtual ~owned() = default;
    [[nodiscard]] virtual int price() const { return 20; }
    rem::string owner = "an owner whom no release had before";
    long year = 2000;

private:
    REM_REFLECT((), owner, year);
};
class cat : public animal {
public:
    cat() { age = 2; } // what a new member of the base holds in cats
    [[nodiscard]] int legs() const override { return 40; }
    long lives = 9;

private:
    REM_REFLECT((animal), lives);
};
class dog : public owned, public animal {
public:
    [[nodiscard]] int legs() const override { return 40; }
    [[nodiscard]] int price() const override { return 200; }
    rem::vector<const animal*> friends;

private:
    REM_REFLECT((owned, animal), friends);
};
class bird : public animal {
public:
    explicit bird(int wings) { age = wings; } // has no default
    [[nodiscard]] int legs() const override { return 20; }

private:
    REM_REFLECT((animal));
};
class parrot : public animal {
public:
    [[nodiscard]] int legs() const override { return 22; }

private:
    REM_REFLECT((animal));
};
struct zoo {
    rem::vector<owned> things;
    rem::list<animal*> all;
    const owned* oldest = nullptr;
    dog guard; // is new
};
} // namespace virtual_2

namespace virtual_3 { // other structs, with the classes of virtual_1
namespace rem = remanence;
using virtual_1::animal;
using virtual_1::owned;
struct zoo_in_place {
    rem::vector<animal*> all;
    const owned* oldest = nullptr;
    rem::vector<owned> things;
    int keepers = 4;
    int visitors = 3;
};
struct plain {
    int number = 5;
    rem::string text;
};
class polymorphic {
public:
    polymorphic() = default;
    polymorphic(const polymorphic&) = default;
    polymorphic& operator=(const polymorphic&) = default;
    virtual ~polymorphic() = default;
    [[nodiscard]] virtual int value() const { return number; }
    int number = 6;
    rem::string text;

private:
    REM_REFLECT((), number, text);
};
/// A dog without its first base.
class stray : public animal {
public:
    [[nodiscard]] int legs() const override { return 4; }
    rem::vector<const animal*> friends;

private:
    REM_REFLECT((animal), friends);
};
} // namespace virtual_3

template <class T>
    requires std::derived_from<T, virtual_1::animal> || std::derived_from<T, virtual_1::owned> ||
                 std::derived_from<T, virtual_2::animal> || std::derived_from<T, virtual_2::owned> ||
                 std::same_as<T, virtual_3::polymorphic>
inline constexpr bool remanence::enable_persistable<T> = true;

namespace remanence::test {
namespace {

constexpr const char* k_virtual_text = "a name that has a block of its own";

[[gnu::noinline]] int legs_of(const virtual_1::animal& of) { return of.legs(); }
[[gnu::noinline]] int legs_of(const virtual_2::animal& of) { return of.legs(); }

std::uint64_t word_at(const void* place) {
    std::uint64_t value = 0;
    std::memcpy(&value, place, sizeof value);
    return value;
}

migration_options with_new_classes() {
    // Objects of these classes are made somewhere, so the program has them.
    static_cast<void>(detail::class_to_be_made<virtual_2::cat>::k_part);
    static_cast<void>(detail::class_to_be_made<virtual_2::dog>::k_part);
    static_cast<void>(detail::class_to_be_made<virtual_2::parrot>::k_part);
    migration_options how;
    how.renamed_classes = {renamed_class<"virtual_1::animal">::of<virtual_2::animal>(),
                           renamed_class<"virtual_1::owned">::of<virtual_2::owned>(),
                           renamed_class<"virtual_1::cat">::of<virtual_2::cat>(),
                           renamed_class<"virtual_1::dog">::of<virtual_2::dog>(),
                           renamed_class<"virtual_1::bird">::of<virtual_2::parrot>()};
    how.dropped = {"visitors", "keepers"};
    return how;
}

class migrated_virtual : public migrated_heap {
protected:
    virtual_1::zoo& make_zoo(const char* name = "zoo") {
        heap_.write([&] {
            auto& zoo = heap_.root<virtual_1::zoo>(name);
            auto* const tom = heap_.make<virtual_1::cat>();
            auto* const rex = heap_.make<virtual_1::dog>();
            auto* const tweety = heap_.make<virtual_1::bird>();
            for (virtual_1::animal* const each : std::vector<virtual_1::animal*>{tom, rex, tweety, tom}) {
                each->name = k_virtual_text;
                each->friend_of = rex;
                zoo.all.push_back(each);
                rex->friends.push_back(each);
            }
            tom->lives = 7;
            rex->year = 2010;
            zoo.oldest = rex;
            zoo.things.resize(3);
            zoo.things[1].year = 1900;
        });
        return heap_.root<virtual_1::zoo>(name);
    }

    void expect_zoo(const virtual_2::zoo& zoo) {
        const std::vector<const virtual_2::animal*> all(zoo.all.begin(), zoo.all.end());
        ASSERT_EQ(all.size(), 4U);
        const auto* const tom = dynamic_cast<const virtual_2::cat*>(all[0]);
        const auto* const rex = dynamic_cast<const virtual_2::dog*>(all[1]);
        const auto* const tweety = dynamic_cast<const virtual_2::parrot*>(all[2]);
        ASSERT_TRUE(tom != nullptr && rex != nullptr && tweety != nullptr);
        EXPECT_EQ(all[3], tom);
        EXPECT_EQ(legs_of(*all[0]), 40);
        EXPECT_EQ(legs_of(*all[1]), 40);
        EXPECT_EQ(legs_of(*all[2]), 22);
        for (std::size_t i = 0; i != all.size(); ++i) {
            EXPECT_EQ(all[i]->name, k_virtual_text);
            EXPECT_EQ(all[i]->friend_of, rex);
            EXPECT_EQ(rex->friends.at(i), all[i]);
        }
        EXPECT_EQ(tom->lives, 7);
        EXPECT_EQ(tom->age, 2);
        EXPECT_EQ(tweety->age, 1);
        EXPECT_EQ(zoo.oldest, rex);
        EXPECT_EQ(zoo.oldest->price(), 200);
        EXPECT_EQ(rex->year, 2010);
        EXPECT_EQ(rex->owner, virtual_2::owned().owner);
        ASSERT_EQ(zoo.things.size(), 3U);
        EXPECT_EQ(zoo.things[1].year, 1900);
        EXPECT_EQ(zoo.things[1].price(), 20);
        EXPECT_EQ(zoo.things[1].owner, virtual_2::owned().owner);
        EXPECT_EQ(legs_of(zoo.guard), 40);
        EXPECT_TRUE(heap_.verify().clean());
        EXPECT_EQ(heap_.leaks().blocks, 0U);
    }
    void expect_refused(const std::string& said, const std::string& what) {
        EXPECT_NE(said.find(what), std::string::npos) << said;
        EXPECT_EQ(legs_of(*heap_.root<virtual_1::zoo>("zoo").all[0]), 4);
    }
};

TEST_F(migrated_virtual, objects_are_of_their_own_classes) {
    make_zoo();
    const auto done = migrate<virtual_2::zoo>(heap_, "zoo", with_new_classes());
    EXPECT_TRUE(done.is_needed);
    EXPECT_FALSE(done.is_in_place);
    expect_zoo(heap_.root<virtual_2::zoo>("zoo"));
    reopen();
    expect_zoo(heap_.root<virtual_2::zoo>("zoo"));
    EXPECT_FALSE(migrate<virtual_2::zoo>(heap_, "zoo", with_new_classes()).is_needed);
    EXPECT_TRUE(heap_.collect().clean());
    expect_zoo(heap_.root<virtual_2::zoo>("zoo"));
}

TEST_F(migrated_virtual, elements_get_a_member_and_their_vptrs) {
    heap_.write([&] { heap_.root<vector<virtual_1::owned>>("things").resize(100); });
    (void)migrate<deque<virtual_2::owned>>(heap_, "things");
    reopen();
    const auto& things = heap_.root<deque<virtual_2::owned>>("things");
    ASSERT_EQ(things.size(), 100U);
    for (const virtual_2::owned& each : things) {
        EXPECT_EQ(each.price(), 20);
        EXPECT_EQ(each.year, 1990);
        EXPECT_EQ(each.owner, virtual_2::owned().owner);
    }
    EXPECT_EQ(heap_.leaks().blocks, 0U);
}

TEST_F(migrated_virtual, a_dry_run_changes_nothing) {
    make_zoo();
    const auto version = heap_.version();
    migration_options how = with_new_classes();
    how.dry_run = true;
    const auto said = migrate<virtual_2::zoo>(heap_, "zoo", how);
    EXPECT_TRUE(said.is_needed && said.is_possible && !said.is_in_place);
    EXPECT_GT(said.peak_bytes, sizeof(virtual_2::cat) + sizeof(virtual_2::dog) + sizeof(virtual_2::parrot));
    EXPECT_EQ(heap_.version(), version);
    how.renamed_classes.pop_back();
    const auto refused = migrate<virtual_2::zoo>(heap_, "zoo", how);
    EXPECT_FALSE(refused.is_possible);
    EXPECT_TRUE(std::any_of(refused.changes.begin(), refused.changes.end(), [](const migration_change& each) {
        return !each.is_automatic && each.what.find("virtual_1::bird") != std::string::npos;
    }));
}

TEST_F(migrated_virtual, objects_in_place_keep_addresses_and_vptrs) {
    const virtual_1::zoo& zoo = make_zoo();
    const std::vector<const virtual_1::animal*> before(zoo.all.begin(), zoo.all.end());
    const std::uint64_t vptr = word_at(before[0]);
    EXPECT_TRUE(migrate<virtual_3::zoo_in_place>(heap_, "zoo").is_in_place);
    reopen();
    const auto& now = heap_.root<virtual_3::zoo_in_place>("zoo");
    EXPECT_EQ(now.visitors, 3);
    EXPECT_EQ(now.keepers, 4);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), now.all.begin(), now.all.end()));
    EXPECT_EQ(word_at(now.all[0]), vptr);
    EXPECT_EQ(legs_of(*now.all[2]), 2);
    EXPECT_EQ(now.things[1].price(), 10);
    EXPECT_EQ(now.oldest->year, 2010);
}

TEST_F(migrated_virtual, other_roots_may_be_migrated) {
    make_zoo();
    heap_.write([&] { heap_.root<vector<virtual_3::plain>>("plain").resize(2); });
    (void)migrate<list<virtual_3::plain>>(heap_, "plain");
    reopen();
    EXPECT_EQ(heap_.root<list<virtual_3::plain>>("plain").size(), 2U);
    EXPECT_EQ(legs_of(*heap_.root<virtual_1::zoo>("zoo").all[0]), 4);
}

TEST_F(migrated_virtual, a_class_gets_virtual_functions_and_loses_them) {
    heap_.write([&] {
        auto& all = heap_.root<vector<virtual_3::plain>>("plain");
        all.resize(2);
        all[1].number = 11;
        all[1].text = k_virtual_text;
    });
    (void)migrate<vector<virtual_3::polymorphic>>(heap_, "plain");
    reopen();
    const auto& all = heap_.root<vector<virtual_3::polymorphic>>("plain");
    EXPECT_EQ(all.at(1).value(), 11);
    EXPECT_EQ(all.at(1).text, k_virtual_text);
    (void)migrate<vector<virtual_3::plain>>(heap_, "plain");
    reopen();
    EXPECT_EQ(heap_.root<vector<virtual_3::plain>>("plain").at(1).number, 11);
    EXPECT_EQ(heap_.root<vector<virtual_3::plain>>("plain").at(1).text, k_virtual_text);
}

TEST_F(migrated_virtual, what_is_there_stays_if_the_program_lacks_a_class) {
    make_zoo();
    heap_.write([&] { heap_.root<virtual_1::zoo>("zoo").all.push_back(heap_.make<virtual_1::unicorn>()); });
    migration_options how = with_new_classes();
    // The class itself is one of the program's, but no animal of the next release.
    expect_refused(refused<virtual_2::zoo>("zoo", errc::type_mismatch, how), "virtual_1::unicorn");
    how.renamed_classes.erase(how.renamed_classes.begin() + 2);
    heap_.write([&] { heap_.root<virtual_1::zoo>("zoo").all.pop_back(); });
    expect_refused(refused<virtual_2::zoo>("zoo", errc::type_mismatch, how), "virtual_1::cat");
}

TEST_F(migrated_virtual, classes_that_hide_members_are_refused) {
    make_zoo();
    heap_.write([&] { heap_.root<virtual_1::zoo>("zoo").all.push_back(heap_.make<virtual_1::sphinx>()); });
    expect_refused(refused<virtual_2::zoo>("zoo", errc::type_mismatch, with_new_classes()), "REM_REFLECT");
    expect_refused(refused<virtual_3::zoo_in_place>("zoo", errc::type_mismatch), "REM_REFLECT");
}

TEST_F(migrated_virtual, classes_with_virtual_bases_are_refused) {
    make_zoo();
    heap_.write([&] { heap_.root<virtual_1::zoo>("zoo").all.push_back(heap_.make<virtual_1::penguin>()); });
    expect_refused(refused<virtual_2::zoo>("zoo", errc::type_mismatch, with_new_classes()), "virtual base");
}

TEST_F(migrated_virtual, objects_of_this_section_are_refused) {
    make_zoo();
    const auto both = [&] {
        heap_.root<virtual_1::zoo>("zoo").all.push_back(heap_.make<virtual_1::cat>());
        expect_refused(refused<virtual_2::zoo>("zoo", errc::type_mismatch, with_new_classes()), "last commit");
    };
    EXPECT_THROW(heap_.write(both), error); // since a section in it has failed
    (void)migrate<virtual_2::zoo>(heap_, "zoo", with_new_classes());
    expect_zoo(heap_.root<virtual_2::zoo>("zoo"));
}

TEST_F(migrated_virtual, a_pointer_to_what_is_no_base_any_more_is_refused) {
    make_zoo();
    static_cast<void>(detail::class_to_be_made<virtual_3::stray>::k_part);
    migration_options how;
    how.renamed_classes = {renamed_class<"virtual_1::dog">::of<virtual_3::stray>()};
    how.dropped = {"visitors", "keepers"};
    expect_refused(refused<virtual_3::zoo_in_place>("zoo", errc::type_mismatch, how), "no base virtual_1::owned");
}

TEST_F(migrated_virtual, objects_in_two_roots_are_refused) {
    make_zoo();
    heap_.write([&] {
        heap_.root<vector<const virtual_1::owned*>>("owned").push_back(heap_.root<virtual_1::zoo>("zoo").oldest);
    });
    expect_refused(refused<virtual_2::zoo>("zoo", errc::type_mismatch, with_new_classes()), "\"owned\"");
}

TEST_F(migrated_virtual, a_root_that_leads_to_objects_of_a_class_that_changes_is_to_be_named) {
    make_zoo();
    make_zoo("other");
    expect_refused(refused<virtual_2::zoo>("zoo", errc::type_mismatch, with_new_classes()), "\"other\"");
    heap_.close();
    auto both = migrations().to<virtual_2::zoo>("zoo").to<virtual_2::zoo>("other").drop("visitors").drop("keepers");
    for (const class_with_other_name& each : with_new_classes().renamed_classes)
        both.rename(each);
    heap_ = heap::open_existing(directory_ / "h", {.migrate = both});
    expect_zoo(heap_.root<virtual_2::zoo>("zoo"));
    expect_zoo(heap_.root<virtual_2::zoo>("other"));
}

TEST_F(migrated_virtual, functions_do_not_make_them) {
    make_zoo();
    migration_options how = with_new_classes();
    how.steps = {migrate<virtual_1::zoo, virtual_2::zoo>([](const virtual_1::zoo&, virtual_2::zoo&) {})};
    expect_refused(refused<virtual_2::zoo>("zoo", errc::type_mismatch, how), "virtual functions");
}

TEST_F(migrated_virtual, undo_ends_at_the_migration) {
    heap_.close();
    heap_ = heap::open_existing(directory_ / "h", {.history = {.bytes_max = 1 << 20}});
    make_zoo();
    (void)migrate<virtual_2::zoo>(heap_, "zoo", with_new_classes());
    EXPECT_THROW(heap_.undo(), error);
    heap_.write([&] { heap_.root<virtual_2::zoo>("zoo").all.clear(); });
    heap_.undo();
    expect_zoo(heap_.root<virtual_2::zoo>("zoo"));
}

} // namespace
} // namespace remanence::test
