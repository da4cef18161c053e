// Function pointers within one program. tests/functions lets different builds of a program share them.
#include "fixture.hpp"

#include <remanence/function_pointer.hpp>
#include <remanence/look_inside.hpp>
#include <remanence/migrate.hpp>
#include <remanence/relocate.hpp>
#include <remanence/streams.hpp>

#include <atomic>
#include <bit>
#include <concepts>
#include <sstream>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace function_pointer_test {

namespace rem = remanence;

int twice(int n) { return 2 * n; }
int thrice(int n) noexcept { return 3 * n; }
static int fourfold(int n) { return 4 * n; }
inline int fivefold(int n) { return 5 * n; }
template <int N>
int times(int n) {
    return N * n;
}
namespace {
int negative(int n) { return -n; }
} // namespace
struct calculator {
    static int square(int n) { return n * n; }
};
void append(std::string& to, const std::string& what) { to += what; }
std::string& itself(std::string& of) { return of; }
std::unique_ptr<int> pass_on(std::unique_ptr<int> of) { return of; }
template <class T>
int count_of(T /*of*/) {
    return 1;
}

using operation = rem::function_pointer<int(int)>;
struct step {
    operation apply;
    int argument = 0;
};
struct machine {
    rem::vector<step> steps;
    rem::map<rem::string, operation> by_name;
    rem::hash_map<operation, int> uses;
    operation none;

    [[nodiscard]] int sum() const {
        int all = 0;
        for (const step& each : steps)
            all += each.apply(each.argument);
        return all;
    }
};

namespace release_1 {
struct plan {
    operation first;
    rem::vector<operation> all;
};
} // namespace release_1
namespace release_2 {
struct plan {
    int more = 3;
    rem::list<operation> all;
    operation first;
};
} // namespace release_2

struct event; // incomplete
struct listener {
    operation number;
    rem::function_pointer<void(const listener&, rem::string)> own;
    rem::function_pointer<void(event*)> other;
};

static_assert(rem::persistable<machine>);
static_assert(rem::position_independent<step>);
static_assert(sizeof(operation) == 8 && std::is_trivially_copyable_v<operation>);
static_assert(std::convertible_to<int (*)(int) noexcept, operation> && !std::convertible_to<long (*)(int), operation>);

namespace {

using namespace remanence::test;
using remanence::errc;
using remanence::function_pointer;
using remanence::heap;
using remanence::heap_options;

class function_pointers : public testing::Test {
protected:
    heap open(heap_options how = small_heap()) { return heap::open(dir_ / "h", how); }
    static void fill(machine& m) {
        m.steps.push_back({twice, 1});
        m.steps.push_back({&thrice, 10});
        m.steps.push_back({fourfold, 100});
        m.steps.push_back({fivefold, 1000});
        m.steps.push_back({times<6>, 10'000});
        m.steps.push_back({negative, 100'000});
        m.steps.push_back({&calculator::square, 1000});
        m.by_name["twice"] = &twice;
        m.uses[twice] = 7;
        m.uses[thrice] = 8;
    }
    static constexpr int k_sum = 2 + 30 + 400 + 5000 + 60'000 - 100'000 + 1'000'000;
    static testing::AssertionResult is_filled(const machine& m) {
        if (m.sum() != k_sum)
            return testing::AssertionFailure() << m.sum();
        const auto used = m.uses.find(operation(thrice));
        if (m.by_name.at("twice") != twice || used == m.uses.end() || used->second != 8 || m.none)
            return testing::AssertionFailure() << "a function is another one";
        return testing::AssertionSuccess();
    }

    temp_dir dir_;
};

operation with_number(std::uint64_t number) { return std::bit_cast<operation>(number); }

TEST_F(function_pointers, are_called_after_the_heap_was_opened_again) {
    {
        heap h = open();
        h.write([&] { fill(h.root<machine>("m")); });
        h.close();
    }
    heap h = open();
    EXPECT_TRUE(is_filled(h.root<machine>("m")));
    EXPECT_TRUE(h.verify().clean());
    EXPECT_TRUE(h.check_pointers().clean());
}

TEST_F(function_pointers, pass_arguments_and_results_as_the_function_itself) {
    std::string text = "a";
    const function_pointer add = append;
    add(text, "b");
    const function_pointer<std::string&(std::string&)> same = &itself;
    EXPECT_EQ(&same(text), &text);
    EXPECT_EQ(text, "ab");
    const function_pointer<std::unique_ptr<int>(std::unique_ptr<int>)> move = pass_on;
    EXPECT_EQ(*move(std::make_unique<int>(5)), 5);
    EXPECT_EQ(add.get(), &append);
}

TEST_F(function_pointers, compare_by_what_they_lead_to) {
    const operation two = twice;
    operation other = thrice;
    EXPECT_NE(two, other);
    EXPECT_TRUE(two == &twice);
    EXPECT_TRUE(twice == two);
    EXPECT_FALSE(two == thrice);
    EXPECT_FALSE(two == nullptr);
    other = &twice;
    EXPECT_EQ(two, other);
    EXPECT_EQ(std::hash<operation>()(two), std::hash<operation>()(other));
    other = nullptr;
    EXPECT_TRUE(other == nullptr);
    EXPECT_EQ(other, operation());
    EXPECT_FALSE(other);
    EXPECT_EQ(other.get(), nullptr);
    EXPECT_EQ(other.name(), "");
    EXPECT_FALSE(two == +[](int n) { return n; }) << "what has no name is another function";
}

TEST_F(function_pointers, tell_the_names_of_functions) {
    EXPECT_EQ(operation(twice).name(), "function_pointer_test::twice(int)");
    EXPECT_EQ(operation(negative).name(), "function_pointer_test::(anonymous namespace)::negative(int)");
}

TEST_F(function_pointers, that_are_null_throw_when_they_are_called) {
    const auto got = error_of([] { operation()(1); });
    ASSERT_TRUE(got);
    EXPECT_EQ(got->code, errc::invalid_argument);
}

TEST_F(function_pointers, to_functions_that_the_program_lacks_throw_and_compare) {
    const operation lacking = with_number(12345);
    for (int i = 0; i != 2; ++i) {
        const auto got = error_of([&] { lacking(1); });
        ASSERT_TRUE(got);
        EXPECT_EQ(got->code, errc::not_supported);
        EXPECT_NE(got->what.find("0x3039"), std::string::npos) << got->what;
        EXPECT_NE(got->what.find("Load the library that has it"), std::string::npos) << got->what;
    }
    EXPECT_EQ(reason_of([&] { (void)lacking.get(); }), errc::not_supported);
    EXPECT_EQ(reason_of([&] { (void)lacking.name(); }), errc::not_supported);
    EXPECT_TRUE(lacking);
    EXPECT_TRUE(lacking == with_number(12345));
    EXPECT_FALSE(lacking == twice);
}

TEST_F(function_pointers, to_functions_whose_names_compilers_make_up_are_refused) {
    const auto lambda = [](int n) { return n + 1; };
    const auto refused = [](const std::optional<caught>& got) {
        return got && got->code == errc::not_supported &&
               got->what.find("the compiler has made up") != std::string::npos;
    };
    EXPECT_TRUE(refused(error_of([&] { static_cast<void>(operation(+lambda)); })));
    EXPECT_TRUE(refused(error_of([&] { static_cast<void>(function_pointer(count_of<decltype(lambda)>)); })));
    struct {
        int n;
    } unnamed{1};
    EXPECT_TRUE(refused(error_of([&] { static_cast<void>(function_pointer(count_of<decltype(unnamed)>)); })));
    operation kept = twice;
    EXPECT_TRUE(refused(error_of([&] { kept = +lambda; })));
    EXPECT_TRUE(kept == twice);
}

TEST_F(function_pointers, to_what_is_no_function_of_the_program_are_refused) {
    const auto attempt = [](std::uintptr_t address) {
        const auto got = error_of([&] { static_cast<void>(operation(reinterpret_cast<int (*)(int)>(address))); });
        return got && got->code == errc::not_supported ? got->what : std::string("nothing thrown");
    };
    const auto code = reinterpret_cast<std::uintptr_t>(&twice);
    EXPECT_NE(attempt(code + 1).find("has no name for it"), std::string::npos) << attempt(code + 1);
    const auto on_stack = reinterpret_cast<std::uintptr_t>(&code);
    EXPECT_NE(attempt(on_stack).find("none of the program's files"), std::string::npos) << attempt(on_stack);
}

TEST_F(function_pointers, are_numbers_in_dumps_and_schemas) {
    {
        heap h = open();
        h.write([&] { fill(h.root<machine>("m")); });
        h.close();
    }
    const std::string number = std::to_string(operation(fourfold).number());
    EXPECT_EQ(rem::inspect::get(dir_ / "h", "m.steps[2]"), R"({"apply":{"number":)" + number + R"(},"argument":100})");
    EXPECT_NE(rem::inspect::schema(dir_ / "h").find("rem::function_pointer<int (int)>"), std::string::npos)
        << rem::inspect::schema(dir_ / "h");
}

TEST_F(function_pointers, are_declared_by_headers_that_know_the_types_of_the_parameters) {
    {
        heap h = open();
        h.write([&] { (void)h.root<listener>("l"); });
        h.close();
    }
    const std::string header = rem::inspect::schema(dir_ / "h", rem::inspect::schema_form::cpp);
    for (const char* const line :
         {"    rem::function_pointer<int (int)> number;",
          "    rem::function_pointer<void (function_pointer_test::listener const&, rem::string)> own;",
          "    alignas(8) unsigned char other[8]; // "
          "rem::function_pointer<void (function_pointer_test::event*)>"})
        EXPECT_NE(header.find(line), std::string::npos) << line << " is not in\n" << header;
}

TEST_F(function_pointers, survive_dumps_in_either_form) {
    for (const bool is_binary : {false, true}) {
        std::stringstream dump;
        {
            heap h = open();
            h.write([&] {
                h.root<machine>("m").steps.clear();
                fill(h.root<machine>("m"));
            });
            const auto write = [&](std::string_view text) { dump << text; };
            rem::save(h, is_binary ? rem::as_binary(write) : std::function<void(std::string_view)>(write));
            h.close();
        }
        heap other = heap::create(dir_ / (is_binary ? "binary" : "text"), small_heap());
        rem::load<machine>(other, dump);
        EXPECT_TRUE(is_filled(other.root<machine>("m")));
    }
}

TEST_F(function_pointers, survive_relocation_and_collection) {
    {
        heap h = open();
        h.write([&] { fill(h.root<machine>("m")); });
        h.close();
    }
    rem::relocate(dir_ / "h");
    heap h = open();
    EXPECT_TRUE(is_filled(h.root<machine>("m")));
    EXPECT_EQ(h.collect().blocks, 0U);
    EXPECT_TRUE(is_filled(h.root<machine>("m")));
}

TEST_F(function_pointers, survive_migration) {
    heap h = open();
    h.write([&] { h.root<release_1::plan>("p") = {twice, rem::vector<operation>({thrice, fourfold})}; });
    EXPECT_TRUE(rem::migrate<release_2::plan>(h, "p").is_needed);
    const auto& now = h.root<release_2::plan>("p");
    EXPECT_EQ(now.first(10), 20);
    EXPECT_EQ(now.all.front()(10), 30);
    EXPECT_EQ(now.all.back()(10), 40);
}

TEST_F(function_pointers, are_undone_as_other_values) {
    heap_options options = small_heap();
    options.history = {.steps_max = 100};
    heap h = open(options);
    auto& one = h.root<operation>("one");
    h.write([&] { one = twice; });
    h.write([&] { one = thrice; });
    EXPECT_EQ(one(7), 21);
    h.undo();
    EXPECT_EQ(one(7), 14);
    h.redo();
    EXPECT_EQ(one(7), 21);
}

TEST_F(function_pointers, of_another_signature_are_another_type) {
    heap h = open();
    h.write([&] { h.root<operation>("one") = twice; });
    EXPECT_EQ(reason_of([&] { h.root<function_pointer<int(long)>>("one"); }), errc::type_mismatch);
}

// no_sanitizer: fork_test.cpp says why.
TEST(function_pointers_beside_fork_no_sanitizer, are_found_in_a_child_while_other_threads_of_the_parent_look_for_some) {
    std::atomic<bool> is_over = false;
    std::jthread busy([&] {
        while (!is_over)
            static_cast<void>(error_of([] { with_number(1)(1); })); // locks each time
    });
    for (int i = 0; i != 50; ++i)
        EXPECT_EQ(in_child([] { return operation(twice).name() + std::to_string(operation(thrice)(5)); }),
                  "function_pointer_test::twice(int)15");
    is_over = true;
}

} // namespace

} // namespace function_pointer_test
