// Structs that C programs describe: looked at, dumped, loaded, compared, checked and migrated as those of C++ are.
#include "fixture.hpp"

#include <remanence/inspect.hpp>
#include <remanence/look_inside.hpp>
#include <remanence/remanence.hpp>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::test {
namespace {

struct date {
    short day, month;
    int year;
};
struct person { // as a first release has it
    int number;
    char name[12];
    double balance;
    bool is_known;
    float marks[2];
    date born;
    person* next;
    int gone;
};
namespace later {
struct person { // NOLINT(clang-analyzer-optin.performance.Padding)
    char name[20];
    long id; // was number
    double balance;
    bool is_known;
    unsigned added;
    double marks[2];
    date born;
    person* next;
};
} // namespace later

const rem_member k_date[] = {REM_NUMBER(date, day), REM_NUMBER(date, month), REM_NUMBER(date, year)};
const rem_member k_person[] = {
    REM_NUMBER(person, number),           REM_TEXT(person, name),     REM_NUMBER(person, balance),
    REM_NUMBER(person, is_known),         REM_NUMBERS(person, marks), REM_STRUCT_OF(person, born, date),
    REM_POINTER_TO(person, next, person), REM_NUMBER(person, gone),
};

class c_types : public c_heap {
protected:
    void SetUp() override {
        ASSERT_OK(REM_DESCRIBE(date, k_date));
        ASSERT_OK(REM_DESCRIBE(person, k_person));
        open();
    }
    person* add(const char* root, int number, const char* name, person* next) {
        auto* const made = static_cast<person*>(rem_calloc(heap, 1, sizeof(person)));
        EXPECT_OK(rem_write_begin(heap));
        made->number = number;
        std::strcpy(made->name, name); // NOLINT
        made->balance = 0.5 * number;
        made->is_known = true;
        made->marks[1] = 2;
        made->born = {1, 2, 1815};
        made->next = next;
        if (root != nullptr) {
            EXPECT_OK(REM_ROOT_SET(heap, root, made, person));
        }
        EXPECT_OK(rem_write_end(heap));
        return made;
    }
    std::string got(const char* what) {
        EXPECT_OK(rem_commit(heap, REM_DURABLE));
        return inspect::get(path, what);
    }
    static bool append(void* into, const char* text, std::size_t bytes) {
        static_cast<std::string*>(into)->append(text, bytes);
        return true;
    }
    std::string dumped() {
        std::string text;
        EXPECT_OK(rem_dump(heap, nullptr, &append, &text));
        return text;
    }
};

TEST_F(c_types, are_looked_at_as_those_of_other_programs) {
    person* const ada = add(nullptr, 7, "Ada", nullptr);
    (void)add("first", 5, "Charles", ada);
    EXPECT_EQ(
        got("first"),
        R"({"number":5,"name":"Charles","balance":2.5,"is_known":true,"marks":[0,2],"born":{"day":1,"month":2,"year":1815},"next":)"
        R"({"$offset":)" +
            std::to_string(reinterpret_cast<char*>(ada) - static_cast<char*>(rem_base(heap))) + R"(},"gone":0})");
    EXPECT_EQ(got("first.next.name"), "\"Ada\"");
    const std::string header = inspect::schema(path, inspect::schema_form::cpp);
    EXPECT_NE(header.find("struct person {\n    int number;\n    char name[12];\n"), std::string::npos) << header;
}

TEST_F(c_types, are_dumped_and_loaded) {
    (void)add("first", 5, "Charles", add(nullptr, 7, "Ada", nullptr));
    const std::string text = dumped();
    const std::string other_path = path + "-other";
    const rem_options options = options_of(REM_TRANSACTIONAL);
    rem_heap* other = nullptr;
    ASSERT_OK(rem_open(other_path.c_str(), &options, &other));
    struct reading {
        std::string_view left;
        static std::size_t read(void* context, char* into, std::size_t bytes) {
            auto& from = *static_cast<reading*>(context);
            const std::size_t count = from.left.copy(into, bytes);
            from.left.remove_prefix(count);
            return count;
        }
    } from{text};
    ASSERT_OK(rem_load(other, &reading::read, &from));
    const auto* const first = REM_ROOT_GET(other, "first", person);
    ASSERT_NE(first, nullptr) << rem_last_error()->message;
    EXPECT_STREQ(first->name, "Charles");
    ASSERT_NE(first->next, nullptr);
    EXPECT_EQ(rem_heap_of(first->next), other);
    EXPECT_EQ(first->next->number, 7);
    ASSERT_OK(rem_close(other));
}

TEST_F(c_types, that_are_described_later_are_stored_with_the_next_commit) {
    struct point {
        int x, y;
    };
    auto* const made = static_cast<point*>(rem_calloc(heap, 1, sizeof(point)));
    ASSERT_OK(REM_ROOT_SET(heap, "point", made, point));
    EXPECT_THROW((void)inspect::get(path, "point"), error);
    const rem_member members[] = {REM_NUMBER(point, x), REM_NUMBER(point, y)};
    ASSERT_OK(REM_DESCRIBE(point, members));
    ASSERT_EQ(REM_ROOT_GET(heap, "point", point), made);
    ASSERT_OK(rem_write_begin(heap));
    made->y = 3;
    ASSERT_OK(rem_write_end(heap));
    EXPECT_EQ(got("point"), R"({"x":0,"y":3})");
    reopen();
    EXPECT_EQ(REM_ROOT_GET(heap, "point", point), made);
}

// As another release of the program has it: in a process of its own, which describes the struct of that name otherwise.
TEST_F(c_types, are_migrated_by_the_names_of_their_members) {
    (void)add("first", 5, "Charles", add(nullptr, 7, "Ada", nullptr));
    ASSERT_OK(rem_close(heap));
    const auto next_release = [&] {
        const rem_member members[] = {
            REM_TEXT(later::person, name),
            REM_NUMBER(later::person, id),
            REM_NUMBER(later::person, balance),
            REM_NUMBER(later::person, is_known),
            REM_NUMBER(later::person, added),
            REM_NUMBERS(later::person, marks),
            REM_STRUCT_OF(later::person, born, date),
            REM_POINTER_TO(later::person, next, struct human),
        };
        std::vector<rem_member> all(std::begin(members), std::end(members));
        all.back().type = "human";
        ASSERT_OK(rem_describe("human", sizeof(later::person), alignof(later::person), all.data(), all.size()));
        open();
        // The root is stored as a person; it becomes a human.
        EXPECT_EQ(rem_root_get_as(heap, "first", "human", sizeof(later::person)), nullptr);
        EXPECT_EQ(last_status(), REM_TYPE_MISMATCH);
        const rem_renamed_member renamed[] = {{"human", "number", "id"}};
        rem_migration how{};
        how.size = sizeof how;
        EXPECT_STATUS(rem_migrate(heap, "first", "human", &how), REM_TYPE_MISMATCH); // numbers would be lost
        EXPECT_NE(std::string(rem_last_error()->message).find("number"), std::string::npos)
            << rem_last_error()->message;
        how.renamed = renamed;
        how.renamed_count = 1;
        ASSERT_OK(rem_migrate(heap, "first", "human", &how));
        const auto* const first =
            static_cast<later::person*>(rem_root_get_as(heap, "first", "human", sizeof(later::person)));
        ASSERT_NE(first, nullptr) << rem_last_error()->message;
        EXPECT_STREQ(first->name, "Charles");
        EXPECT_EQ(first->id, 5);
        EXPECT_EQ(first->balance, 2.5);
        EXPECT_EQ(first->added, 0U);
        EXPECT_EQ(first->marks[1], 2.0);
        EXPECT_EQ(first->born.year, 1815);
        ASSERT_NE(first->next, nullptr);
        EXPECT_EQ(first->next->id, 7);
        EXPECT_EQ(first->next->next, nullptr);
        ASSERT_OK(rem_migrate(heap, "first", "human", &how)); // nothing to do
        EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
    };
    next_release();
}

TEST_F(c_types, whose_values_would_be_lost_are_refused_until_they_are_named) {
    person* const first = add("first", 5, "Charles", nullptr);
    ASSERT_OK(rem_write_begin(heap));
    first->gone = 3;
    ASSERT_OK(rem_write_end(heap));
    std::vector<rem_member> all(std::begin(k_person), std::end(k_person) - 1); // without `gone`
    all[6].type = "short_person";
    ASSERT_OK(rem_describe("short_person", sizeof(person), alignof(person), all.data(), all.size()));
    rem_migration how{};
    how.size = sizeof how;
    EXPECT_STATUS(rem_migrate(heap, "first", "short_person", &how), REM_TYPE_MISMATCH);
    EXPECT_NE(std::string(rem_last_error()->message).find("person.gone is gone"), std::string::npos)
        << rem_last_error()->message;
    const char* const dropped[] = {"person.gone"};
    how.dropped = dropped;
    how.dropped_count = 1;
    EXPECT_OK(rem_migrate(heap, "first", "short_person", &how));
    EXPECT_NE(rem_root_get_as(heap, "first", "short_person", sizeof(person)), nullptr);
}

TEST_F(c_types, that_cannot_be_are_refused_with_a_sentence) {
    struct odd {
        int a, b;
    };
    const auto refused = [](std::vector<rem_member> members) {
        return rem_describe("odd", sizeof(odd), alignof(odd), members.data(), members.size());
    };
    const rem_member a = REM_NUMBER(odd, a);
    EXPECT_STATUS(refused({}), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(refused({{nullptr, REM_SIGNED, 0, 4, 0, nullptr}}), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(refused({{"", REM_SIGNED, 0, 4, 0, nullptr}}), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(refused({a, a}), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(refused({a, {"b", REM_SIGNED, 2, 4, 0, nullptr}}), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(refused({{"a", REM_SIGNED, 8, 4, 0, nullptr}}), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(refused({{"a", REM_SIGNED, 0, 4, 3, nullptr}}), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(refused({{"a", REM_SIGNED, 0, 4, SIZE_MAX, nullptr}}), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(refused({{"a", REM_SIGNED, SIZE_MAX - 1, 4, 0, nullptr}}), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(refused({{"a", REM_SIGNED, 0, 3, 0, nullptr}}), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(refused({{"a", static_cast<rem_member_kind>(77), 0, 4, 0, nullptr}}), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(refused({{"a", REM_STRUCT, 0, 8, 0, "struct nobody_knows"}}), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(refused({{"a", REM_STRUCT, 0, 4, 0, "date"}}), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(refused({{"a", REM_POINTER, 0, 4, 0, nullptr}}), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_describe("odd", 8, 3, &a, 1), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_describe("odd", 0, 4, &a, 1), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_describe(nullptr, 8, 4, &a, 1), REM_INVALID_ARGUMENT);
    EXPECT_OK(refused({a}));
    EXPECT_OK(refused({a}));
    EXPECT_STATUS(refused({a, REM_NUMBER(odd, b)}), REM_EXISTS);
    rem_migration how{};
    how.size = sizeof how;
    EXPECT_STATUS(rem_migrate(heap, "first", "nobody", &how), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_migrate(heap, nullptr, "odd", &how), REM_INVALID_ARGUMENT);
    EXPECT_OK(rem_migrate(heap, "no such root", "odd", &how));
}

TEST_F(c_types, members_that_are_left_out_are_carried_or_refused) {
    struct part {
        int a;
        int hidden;
        char b;
        long hidden_too;
    };
    const rem_member members[] = {REM_NUMBER(part, a), REM_NUMBER(part, b)};
    ASSERT_OK(REM_DESCRIBE(part, members));
    auto* const made = static_cast<part*>(rem_calloc(heap, 1, sizeof(part)));
    made->a = 1;
    made->hidden = 2;
    ASSERT_OK(REM_ROOT_SET(heap, "part", made, part));
    EXPECT_NE(dumped().find(R"("value":{"a":1,"b":0,"$rest":"02000000)"), std::string::npos) << dumped();
    made->hidden_too = reinterpret_cast<long>(made);
    std::string text;
    EXPECT_STATUS(rem_dump(heap, nullptr, &append, &text), REM_NOT_SUPPORTED);
    EXPECT_EQ(text, "");
}

TEST_F(c_types, a_root_is_one_object_in_a_block_of_its_own) {
    auto* const several = static_cast<person*>(rem_calloc(heap, 3, sizeof(person)));
    EXPECT_STATUS(REM_ROOT_SET(heap, "several", several, person), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(REM_ROOT_SET(heap, "several", several + 1, person), REM_INVALID_ARGUMENT);
    struct pair {
        long a, b;
    };
    auto* const pairs = static_cast<pair*>(rem_calloc(heap, 2, sizeof(pair)));
    ASSERT_OK(REM_ROOT_SET(heap, "pairs", pairs, pair));
    const rem_member members[] = {REM_NUMBER(pair, a), REM_NUMBER(pair, b)};
    ASSERT_OK(REM_DESCRIBE(pair, members));
    EXPECT_EQ(REM_ROOT_GET(heap, "pairs", pair), nullptr);
    EXPECT_EQ(last_status(), REM_TYPE_MISMATCH);
}

TEST_F(c_types, a_migration_that_fails_leaves_what_is_not_committed) {
    person* const first = add("first", 5, "Charles", nullptr);
    reopen(REM_SNAPSHOT);
    first->number = 6; // not committed
    const rem_member members[] = {REM_NUMBER(person, balance)};
    ASSERT_OK(rem_describe("poor_person", sizeof(person), alignof(person), members, 1));
    EXPECT_STATUS(rem_migrate(heap, "first", "poor_person", nullptr), REM_TYPE_MISMATCH);
    EXPECT_EQ(first->number, 6);
    EXPECT_OK(rem_commit(heap, REM_DURABLE));
    EXPECT_EQ(REM_ROOT_GET(heap, "first", person), first);
}

struct friend_of;
struct owner {
    int number;
    friend_of* one;
    char* text;
};
struct friend_of {
    int number;
};

TEST_F(c_types, pointers_to_what_is_described_later_are_migrated) {
    const rem_member members[] = {REM_NUMBER(owner, number), REM_POINTER_TO(owner, one, friend_of),
                                  REM_POINTER_TO(owner, text, char)};
    ASSERT_OK(REM_DESCRIBE(owner, members));
    auto* const made = static_cast<owner*>(rem_calloc(heap, 1, sizeof(owner)));
    ASSERT_OK(REM_ROOT_SET(heap, "owner", made, owner));
    EXPECT_NE(dumped().find(R"({"number":0,"one":null,"text":null})"), std::string::npos) << dumped();
    made->text = static_cast<char*>(rem_alloc(heap, 10));
    std::string text;
    EXPECT_STATUS(rem_dump(heap, nullptr, &append, &text), REM_NOT_SUPPORTED);
    const rem_member of_friend[] = {REM_NUMBER(friend_of, number)};
    ASSERT_OK(REM_DESCRIBE(friend_of, of_friend));
    EXPECT_EQ(REM_ROOT_GET(heap, "owner", owner), nullptr);
    EXPECT_OK(rem_migrate(heap, "owner", "owner", nullptr));
    EXPECT_EQ(REM_ROOT_GET(heap, "owner", owner), made);
    EXPECT_NE(made->text, nullptr);
}

TEST_F(c_types, may_have_thousands_of_members) {
    constexpr std::size_t k_members = 3000;
    std::vector<std::string> names;
    for (std::size_t i = 0; i != k_members; ++i)
        names.push_back("a_member_with_a_long_name_" + std::to_string(i));
    std::vector<rem_member> members;
    for (std::size_t i = 0; i != k_members; ++i)
        members.push_back({names[i].c_str(), REM_SIGNED, i * sizeof(int), sizeof(int), 0, nullptr});
    ASSERT_OK(rem_describe("large", k_members * sizeof(int), sizeof(int), members.data(), members.size()));
    void* const made = rem_calloc(heap, 1, k_members * sizeof(int));
    ASSERT_OK(rem_root_set_as(heap, "large", made, "large", k_members * sizeof(int)));
    EXPECT_EQ(rem_root_get_as(heap, "large", "large", k_members * sizeof(int)), made);
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
}

TEST_F(c_types, roots_of_other_programs_are_not_migrated) {
    ASSERT_OK(rem_close(heap));
    {
        remanence::heap other = remanence::heap::open(path);
        (void)other.root<int>("of C++");
        other.commit();
        other.close();
    }
    open();
    EXPECT_STATUS(rem_migrate(heap, "of C++", "person", nullptr), REM_TYPE_MISMATCH);
    EXPECT_OK(rem_migrate(heap, "none", "person", nullptr));
}

TEST_F(c_types, of_one_name_in_a_schema_are_one) {
    struct tagged {
        int a;
    };
    const rem_member members[] = {REM_NUMBER(tagged, a)};
    ASSERT_OK(rem_describe("struct tagged", sizeof(tagged), alignof(tagged), members, 1));
    EXPECT_STATUS(rem_describe("tagged", sizeof(tagged), alignof(tagged), members, 1), REM_EXISTS);
}

} // namespace
} // namespace remanence::test
