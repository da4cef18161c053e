// Members that REM_REFLECT leaves out, and bases that it does not list: they are carried as bytes, or refused. And what a dump refuses before
// its first byte.
#include "support/temp_dir.hpp"

#include <remanence/look_inside.hpp>
#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>
#include <remanence/types/reflect.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace leaving_out {

namespace rem = remanence;

struct base {
    int of_base = 0;
};
/// Leaves out a base, a member between others, one in what would be padding, and one at the end. There is room for no address.
class account : public base {
public:
    account() = default;
    explicit account(int number)
        : number_(number), secret_(-number), flag_(true), last_(static_cast<short>(number + 1)) {
        of_base = 2 * number;
    }
    friend bool operator==(const account& a, const account& b) {
        return a.of_base == b.of_base && a.number_ == b.number_ && a.secret_ == b.secret_ && a.text_ == b.text_ &&
               a.flag_ == b.flag_ && a.balance_ == b.balance_ && a.last_ == b.last_;
    }
    void set_text(const char* text) { text_ = text; }

private:
    int number_ = 0;
    int secret_ = 0;
    int third_ = 3;
    rem::string text_;
    int fourth_ = 4;
    bool flag_ = false;
    double balance_ = 0;
    int fifth_ = 5;
    short last_ = 0;
    REM_REFLECT((), number_, third_, text_, fourth_, balance_, fifth_);
};
struct holder { // its members lie in each other's padding
    account first;
    [[no_unique_address]] account second;
    char behind = 'b';
    rem::vector<account> several;
    friend bool operator==(const holder&, const holder&) = default;
};
class derived : public account {
public:
    derived() = default;
    explicit derived(int number) : account(number), in_padding_(static_cast<short>(number + 2)) {}
    friend bool operator==(const derived& a, const derived& b) {
        return static_cast<const account&>(a) == static_cast<const account&>(b) && a.in_padding_ == b.in_padding_;
    }

private:
    short in_padding_ = 0; // of the base
    REM_REFLECT((account), in_padding_);
};
/// Leaves out what may be an address.
class with_pointer {
public:
    void point_at(const void* to) { to_ = to; }
    void set(int number) { number_ = number; }
    [[nodiscard]] int number() const { return number_; }

private:
    int number_ = 0;
    const void* to_ = nullptr;
    REM_REFLECT((), number_);
};
/// An aggregate that does not name all of its members.
struct half {
    int told = 0;
    int untold = 0;
    REM_REFLECT((), told);
    friend bool operator==(const half&, const half&) = default;
};

namespace one {
class entry {
public:
    void set(int number, int secret) { number_ = number, secret_ = secret; }

private:
    int number_ = 0;
    int secret_ = 0;
    REM_REFLECT((), number_);
};
} // namespace one
namespace two { // another member, and what was left out has its place
class entry {
public:
    [[nodiscard]] int number() const { return number_; }
    [[nodiscard]] int secret() const { return secret_; }

private:
    int number_ = 0;
    int secret_ = 0;
    rem::string text_;
    REM_REFLECT((), number_, text_);
};
} // namespace two
namespace three { // another one where it lay
class entry {
public:
    [[nodiscard]] int number() const { return number_; }
    [[nodiscard]] int added() const { return added_; }

private:
    int number_ = 0;
    int added_ = 7;
    REM_REFLECT((), number_, added_);
};
} // namespace three

class closed {
public:
    double number() const { return number_; }

private:
    double number_ = 3; // might be an address, for who sees no members
};
struct with_closed {
    int before = 0;
    rem::vector<closed> several;
};

} // namespace leaving_out

template <>
inline constexpr bool remanence::enable_persistable<leaving_out::account> = true;
template <>
inline constexpr bool remanence::enable_persistable<leaving_out::derived> = true;
template <>
inline constexpr bool remanence::enable_persistable<leaving_out::with_pointer> = true;
template <>
inline constexpr bool remanence::enable_persistable<leaving_out::one::entry> = true;
template <>
inline constexpr bool remanence::enable_persistable<leaving_out::two::entry> = true;
template <>
inline constexpr bool remanence::enable_persistable<leaving_out::three::entry> = true;
template <>
inline constexpr bool remanence::enable_persistable<leaving_out::closed> = true;

namespace remanence {
namespace {

using namespace leaving_out;

class left_out : public testing::Test {
protected:
    static std::string text_of(const heap& from, bool is_binary = false) {
        std::string text;
        const std::function<void(std::string_view)> put = [&](std::string_view piece) { text += piece; };
        save(from, is_binary ? as_binary(put) : put);
        return text;
    }
    template <class F>
    static std::string refused(errc reason, F&& f) {
        try {
            f();
        } catch (const error& why) {
            EXPECT_EQ(why.reason(), reason) << why.what();
            return why.what();
        }
        ADD_FAILURE() << "it was not refused";
        return {};
    }
    static bool says(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }
    template <class T, class Make>
    void expect_carried(const Make& make) {
        heap from = heap::create(directory_ / "from");
        from.write([&] { make(from.root<T>("root")); });
        for (const bool is_binary : {false, true}) {
            for (const bool is_named : {false, true}) {
                heap into = heap::create(directory_ / ("into " + std::to_string(2 * is_binary + is_named)));
                std::istringstream in(text_of(from, is_binary));
                ASSERT_EQ(is_named ? load<T>(into, in) : load<>(into, in), 1U);
                EXPECT_TRUE(into.root<T>("root") == from.root<T>("root")) << text_of(from);
            }
        }
    }

    test::temp_dir directory_ = test::temp_dir::in_memory();
};

TEST_F(left_out, members_and_bases_are_carried_as_bytes) {
    expect_carried<holder>([](holder& all) {
        all.first = account(7);
        all.first.set_text("a text that is too long for the object itself");
        all.second = account(9);
        all.several = {account(1), account(2)};
    });
}

TEST_F(left_out, bytes_are_not_those_of_a_member_in_the_padding) {
    expect_carried<vector<derived>>([](vector<derived>& all) {
        for (int i = 0; i != 5; ++i)
            all.emplace_back(i);
    });
}

TEST_F(left_out, members_of_an_aggregate_are_carried) {
    expect_carried<map<int, half>>([](map<int, half>& all) { all[1] = {1, 2}, all[2] = {3, 0}; });
}

TEST_F(left_out, members_survive_another_kind_of_container) {
    {
        heap from = heap::create(directory_ / "h");
        from.write([&] { from.root<list<derived>>("root").emplace_back(5); });
        from.close();
    }
    heap into = heap::open(directory_ / "h", {.migrate = migrations().to<deque<derived>>("root")});
    EXPECT_TRUE(into.root<deque<derived>>("root").front() == derived(5));
}

TEST_F(left_out, what_may_be_an_address_is_refused_before_anything_is_written) {
    heap from = heap::create(directory_ / "h");
    auto& all = from.root<vector<with_pointer>>("root");
    from.write([&] {
        all.resize(20'000); // more than one piece
        for (auto& each : all)
            each.set(1);
    });
    EXPECT_TRUE(says(text_of(from), "\"number_\":1"));
    from.write([&] { all.back().point_at(&all); });
    std::string text;
    const std::string why =
        refused(errc::not_supported, [&] { save(from, [&](std::string_view piece) { text += piece; }); });
    EXPECT_EQ(text, "");
    EXPECT_TRUE(says(why, "bytes that its REM_REFLECT leaves out, and that may be an address")) << why;
}

TEST_F(left_out, members_stay_where_they_are_if_the_class_changes_elsewhere) {
    {
        heap from = heap::create(directory_ / "h");
        from.write([&] { from.root<vector<leaving_out::one::entry>>("root").emplace_back().set(1, 2); });
        from.close();
    }
    {
        heap into = heap::open(directory_ / "h", {.migrate = migrations().to<vector<leaving_out::two::entry>>("root")});
        EXPECT_EQ(into.root<vector<leaving_out::two::entry>>("root")[0].number(), 1);
        EXPECT_EQ(into.root<vector<leaving_out::two::entry>>("root")[0].secret(), 2);
    }
}

TEST_F(left_out, members_are_refused_if_the_class_has_something_else_in_their_place) {
    {
        heap from = heap::create(directory_ / "h");
        from.write([&] { from.root<vector<leaving_out::one::entry>>("root").emplace_back().set(1, 2); });
        from.close();
    }
    const std::string why = refused(errc::type_mismatch, [&] {
        (void)heap::open(directory_ / "h", {.migrate = migrations().to<vector<leaving_out::three::entry>>("root")});
    });
    EXPECT_TRUE(says(why, "bytes from its byte 4 on that its REM_REFLECT leaves out, and the class has changed"))
        << why;
    heap into = heap::open(
        directory_ / "h",
        {.migrate = migrations().to<vector<leaving_out::three::entry>>("root").drop("leaving_out::one::entry.$rest")});
    EXPECT_EQ(into.root<vector<leaving_out::three::entry>>("root")[0].added(), 7);
}

TEST_F(left_out, hidden_classes_are_named_before_anything_is_written) {
    heap from = heap::create(directory_ / "h");
    from.root<with_closed>("root");
    from.root<with_closed>("another");
    std::string text;
    const auto put = [&](std::string_view piece) { text += piece; };
    const std::string why = refused(errc::not_supported, [&] { save(from, put); });
    EXPECT_TRUE(says(why, "root.several[] is a leaving_out::closed, which does not say its members")) << why;
    EXPECT_TRUE(says(why, "another.several[]")) << why;
    from.close();
    EXPECT_EQ(refused(errc::not_supported, [&] { inspect::dump(directory_ / "h", {}, put); }), why);
    EXPECT_EQ(text, "");
    std::vector<std::string> gone;
    inspect::salvage(directory_ / "h", {}, put, [&](std::string_view what, bool is_damage) {
        EXPECT_FALSE(is_damage);
        gone.emplace_back(what);
    });
    EXPECT_EQ(gone.size(), 2U);
    EXPECT_TRUE(says(text, "{\"before\":0,\"several\":[]}")) << text;
}

TEST_F(left_out, a_file_of_a_container_that_cannot_be_written_is_not_begun) {
    (void)refused(errc::not_supported,
                  [&] { file_backed<vector<closed>> file(directory_ / "file", {.form = file_form::portable}); });
}

} // namespace
} // namespace remanence
