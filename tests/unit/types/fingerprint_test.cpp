#include "types/type_description.hpp"

#include <remanence/containers/btree_map.hpp>
#include <remanence/containers/hash_map.hpp>
#include <remanence/containers/standard.hpp>
#include <remanence/detail/abi.hpp>
#include <remanence/types/detail/fingerprint.hpp>
#include <remanence/types/fragile.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

namespace rem = remanence;
using remanence::detail::fingerprint_of;

// Types with short names, so that the expected texts are easy to read; stored types must have a namespace or be global.
namespace fp {

struct address {
    rem::string street, city, phone;
};
struct node {
    int value;
    node* next;
    rem::vector<node> children;
    node* pair[2];
};
struct matrix {
    double cells[2][3];
    char name[8];
    double (*row)[4];
};
enum class colour : std::uint16_t { red };
class opaque {
public:
    opaque() = default;
    [[nodiscard]] int number() const { return number_; }

private:
    [[maybe_unused]] int number_ = 0;
};
struct everything {
    bool a;
    colour b;
    opaque c;
    std::optional<rem::string> d;
    std::variant<int, rem::string> e;
    std::tuple<int, opaque> f;
    std::array<rem::string, 2> g;
    void* h;
    int (*i)(char);
    std::string j;
    unsigned k : 3;
};
struct with_union {
    int kind;
    union {
        int number;
        double real;
    };
};
struct base {
    int a;
};
struct derived : base {
    int b;
};

struct stubborn {
    explicit stubborn(int) {}
    stubborn(const stubborn&) = delete;
    stubborn& operator=(const stubborn&) = delete;
    ~stubborn() = default;
};
struct unwieldy {
    std::atomic<int> count;
    std::unique_ptr<int> owned;
    alignas(16) stubborn kept;
    alignas(16) std::array<node, 0> none;
    address* const to;
    bool last;
};
struct nothing {};
struct with_empty_base : nothing {
    int b;
};
struct umlauts {
    int Stra\u00dfe, x_1;
};
struct with_reference {
    int a;
    const rem::string& b;
};
class numbered_class {
    [[maybe_unused]] int number_ = 0;
};

struct tag; // never defined
template <class T, class Tag>
class strong {
public:
    [[nodiscard]] const T& get() const { return value_; }

private:
    T value_{};
};
template <class T, std::size_t N>
class fixed {
public:
    using value_type = T;

private:
    [[maybe_unused]] T values_[N]{};
};
template <class T>
struct holder {
    T value;
};

// Names that look like what must be refused.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier)
struct ZE {};
struct Z4mainE {};
struct UlvE_ {};
struct _GLOBAL {
    int Z;
};
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
template <int N>
struct numbered {};
template <auto Value>
struct valued {};
template <class... Ts>
struct pack {};

// The same type in two versions of a program, as far as one program can have both.
namespace v1 {
struct point {
    int x, y;
};
struct place {
    double lat, lon;
};
} // namespace v1
namespace v2 {
struct point {
    int x;
    unsigned y;
};
struct place {
    double lon, lat;
};
} // namespace v2

} // namespace fp

template <>
inline constexpr std::uint32_t remanence::layout_number<fp::numbered_class> = 7;

namespace {
struct anonymous {
    int x;
};
} // namespace

namespace fingerprint_test {

[[maybe_unused]] auto global_lambda = [] {};
[[maybe_unused]] struct {
    int x;
} unnamed;

template <class T>
std::string name_of() {
    return fingerprint_of<T>().name;
}
template <class T>
std::string layout_of() {
    const auto described = remanence::types::type_description::decode(fingerprint_of<T>().description);
    return described ? described->text() : "damaged";
}
template <class T>
bool nameable() {
    return fingerprint_of<T>().nameable;
}

TEST(fingerprint, names_are_those_a_programmer_writes) {
    EXPECT_EQ(name_of<int>(), "int");
    EXPECT_EQ(name_of<fp::address>(), "fp::address");
    EXPECT_EQ(name_of<rem::string>(), "rem::string");
    EXPECT_EQ(name_of<std::string>(), "std::string");
    EXPECT_EQ(name_of<rem::vector<rem::string>>(), "rem::vector<rem::string>");
    EXPECT_EQ((name_of<rem::multimap<rem::string, fp::address>>()), "rem::multimap<rem::string, fp::address>");
    EXPECT_EQ((name_of<rem::map<int, rem::set<long>>>()), "rem::map<int, rem::set<long>>");
    EXPECT_EQ((name_of<rem::map<int, int, std::greater<>>>()), "rem::map<int, int, std::greater<void>>");
    EXPECT_EQ((name_of<rem::map<int*, const char*>>()), "rem::map<int*, char const*>");
    EXPECT_EQ((name_of<rem::unordered_map<rem::string, rem::deque<int>>>()),
              "rem::unordered_map<rem::string, rem::deque<int>>");
    EXPECT_EQ(name_of<rem::unordered_multiset<int>>(), "rem::unordered_multiset<int>");
    EXPECT_EQ(name_of<rem::forward_list<rem::list<int>>>(), "rem::forward_list<rem::list<int>>");
    EXPECT_EQ((name_of<std::map<std::string, std::vector<int>>>()), "std::map<std::string, std::vector<int>>");
    EXPECT_EQ((name_of<std::unordered_map<int, std::string>>()), "std::unordered_map<int, std::string>");
    EXPECT_EQ(name_of<std::unique_ptr<fp::address>>(), "std::unique_ptr<fp::address>");
    EXPECT_EQ(name_of<std::function<void(rem::string)>>(), "std::function<void (rem::string)>");
    EXPECT_EQ((name_of<std::set<int, std::less<int>, rem::allocator<int>>>()), "rem::set<int, std::less<int>>")
        << "not the comparison of our alias";
}

// Names and places of members are alike from g++ and clang, with and without optimisation, says this test in each preset.
TEST(fingerprint, layouts_show_the_structure) {
    EXPECT_EQ(layout_of<int>(), "int 4/4");
    EXPECT_EQ(layout_of<fp::address>(),
              "fp::address 120/8 {0 rem::string street, 40 rem::string city, 80 rem::string phone}\n"
              "rem::string 40/8");
    EXPECT_EQ((layout_of<rem::multimap<rem::string, fp::address>>()),
              "rem::multimap<rem::string, fp::address> 56/8 <rem::string, fp::address, std::less<void>>\n"
              "rem::string 40/8\n"
              "fp::address 120/8 {0 rem::string street, 40 rem::string city, 80 rem::string phone}\n"
              "std::less<void> 1/1");
    EXPECT_EQ(layout_of<fp::node>(),
              "fp::node 64/8 {0 int value, 8 fp::node* next, 16 rem::vector<fp::node> children, 48 fp::node*[2] pair}\n"
              "int 4/4\n"
              "rem::vector<fp::node> 32/8 <fp::node>");
    EXPECT_EQ(layout_of<fp::matrix>(), "fp::matrix 64/8 {0 double[2][3] cells, 48 char[8] name, 56 double(*)[4] row}\n"
                                       "double 8/8\n"
                                       "char 1/1");
    EXPECT_EQ(layout_of<fp::everything>(),
              "fp::everything 248/8 {0 bool a, 2 fp::colour b, 4 fp::opaque c, 8 std::optional<rem::string> d, "
              "56 std::variant<int, rem::string> e, 104 std::tuple<int, fp::opaque> f, "
              "112 std::array<rem::string, 2ul> g, 192 void* h, 200 int (char)* i, 208 std::string j, unsigned int}\n"
              "bool 1/1\n"
              "fp::colour 2/2 <unsigned short>\n"
              "unsigned short 2/2\n"
              "fp::opaque 4/4\n"
              "std::optional<rem::string> 48/8 <rem::string>\n"
              "rem::string 40/8\n"
              "std::variant<int, rem::string> 48/8 <int, rem::string>\n"
              "int 4/4\n"
              "std::tuple<int, fp::opaque> 8/4 <int, fp::opaque>\n"
              "std::array<rem::string, 2ul> 80/8 <rem::string>\n"
              "std::string 32/8\n"
              "unsigned int 4/4");
    EXPECT_EQ((layout_of<fp::strong<int, fp::tag>>().substr(0, 46)), "fp::strong<int, fp::tag> 4/4 <int, std::type_i");
    EXPECT_EQ((layout_of<fp::fixed<fp::opaque, 3>>()), "fp::fixed<fp::opaque, 3ul> 12/4 <fp::opaque>\nfp::opaque 4/4");
}

TEST(fingerprint, names_of_members_are_known_whatever_the_members_are) {
    EXPECT_EQ(layout_of<fp::unwieldy>().substr(0, 101),
              "fp::unwieldy 64/16 {0 std::atomic<int> count, 8 std::unique_ptr<int> owned, 16 fp::stubborn kept, 32 ");
    EXPECT_EQ(layout_of<fp::with_empty_base>(), "fp::with_empty_base 4/4 {0 int b}\nint 4/4");
    EXPECT_EQ((layout_of<fp::holder<int>>()), "fp::holder<int> 4/4 {0 int value}\nint 4/4");
    EXPECT_EQ(layout_of<fp::umlauts>(), "fp::umlauts 8/4 {0 int Stra\u00dfe, 4 int x_1}\nint 4/4");
    EXPECT_EQ(layout_of<fp::with_reference>(), "fp::with_reference 16/8 {int, rem::string&}\nint 4/4")
        << "no address of its own: its neighbours' names are not known";
}

TEST(fingerprint, a_layout_number_is_part_of_it) {
    EXPECT_EQ(layout_of<fp::numbered_class>(), "fp::numbered_class 4/4 layout number 7");
    EXPECT_EQ(fingerprint_of<rem::vector<fp::numbered_class>>().numbered, "fp::numbered_class");
    EXPECT_EQ(fingerprint_of<fp::opaque>().numbered, "");
}

TEST(fingerprint, what_cannot_be_taken_apart_shows_its_size) {
    EXPECT_EQ(layout_of<fp::with_union>(), "fp::with_union 16/8");
    EXPECT_EQ(layout_of<fp::derived>(), "fp::derived 8/4");
    EXPECT_EQ(layout_of<fp::opaque>(), "fp::opaque 4/4");
}

// Golden values: files hold these. A change needs a new k_fingerprint_algorithm.
TEST(fingerprint, hashes_are_fixed_by_the_algorithm_number) {
    EXPECT_EQ(remanence::detail::k_fingerprint_algorithm, 2U);
    EXPECT_EQ(fingerprint_of<int>().hash, 0x7c807e019bece09dU);
    EXPECT_EQ(fingerprint_of<fp::address>().hash, 0xb43fb1024a5947fbU);
    EXPECT_EQ((fingerprint_of<rem::multimap<rem::string, fp::address>>().hash), 0xb6a16c50503f2549U);
    EXPECT_EQ(fingerprint_of<fp::node>().hash, 0xb55b0ea9595327cbU);
    EXPECT_EQ(fingerprint_of<fp::everything>().hash, 0x5b11f4a81ebca072U);
}

TEST(fingerprint, hashes_of_algorithm_1_are_those_that_heaps_have) {
    EXPECT_EQ(fingerprint_of<int>().hash_1, 0x48a673f1641c2272U);
    EXPECT_EQ(fingerprint_of<fp::address>().hash_1, 0x38f4a637fd2e0e4U);
    EXPECT_EQ((fingerprint_of<rem::multimap<rem::string, fp::address>>().hash_1), 0x69c52eec77f88229U);
    EXPECT_EQ(fingerprint_of<fp::node>().hash_1, 0x656e812d0aa5c879U);
    EXPECT_EQ(fingerprint_of<fp::everything>().hash_1, 0x7a9b3dd5ad978bc2U);
    EXPECT_EQ(fingerprint_of<rem::fragile<fp::address>>().hash_1, 0x97ae627278d3dc4aU);
    EXPECT_EQ((fingerprint_of<rem::hash_map<int, rem::btree_map<int, fp::node*>>>().hash_1), 0xdabd811aa0873e26U);
}

TEST(fingerprint, members_of_one_type_that_change_places_change_the_hash) {
    const auto without_versions = [](std::string text) {
        for (std::size_t at = text.find("::v"); at != std::string::npos; at = text.find("::v"))
            text.erase(at, 4);
        return text;
    };
    EXPECT_EQ(without_versions(layout_of<fp::v1::place>()), "fp::place 16/8 {0 double lat, 8 double lon}\ndouble 8/8");
    EXPECT_EQ(without_versions(layout_of<fp::v2::place>()), "fp::place 16/8 {0 double lon, 8 double lat}\ndouble 8/8");
    EXPECT_NE(without_versions(layout_of<rem::fragile<fp::v1::place>>()),
              without_versions(layout_of<rem::fragile<fp::v2::place>>()));
}

TEST(fingerprint, sizes_are_recorded) {
    EXPECT_EQ(fingerprint_of<fp::address>().size, sizeof(fp::address));
    EXPECT_EQ(fingerprint_of<fp::address>().alignment, alignof(fp::address));
}

TEST(fingerprint, a_changed_member_changes_the_hash_wherever_it_is_reached) {
    // The names differ too; so compare the structures without the names.
    const auto without_names = [](std::string text) {
        for (const std::string_view version : {"v1::", "v2::"}) {
            for (std::size_t at = text.find(version); at != std::string::npos; at = text.find(version)) {
                text.erase(at, version.size());
            }
        }
        return text;
    };
    const auto expect_different = [&]<class A, class B>() {
        EXPECT_NE(without_names(layout_of<A>()), without_names(layout_of<B>()));
        EXPECT_NE(fingerprint_of<A>().hash, fingerprint_of<B>().hash);
    };
    using a = fp::v1::point;
    using b = fp::v2::point;
    expect_different.operator()<a, b>();
    expect_different.operator()<rem::vector<a>, rem::vector<b>>();
    expect_different.operator()<rem::map<rem::string, a>, rem::map<rem::string, b>>();
    expect_different.operator()<rem::map<rem::string, rem::vector<a>>, rem::map<rem::string, rem::vector<b>>>();
    expect_different.operator()<a[3], b[3]>();
    expect_different.operator()<std::array<a, 3>, std::array<b, 3>>();
    expect_different.operator()<a*, b*>();
    expect_different.operator()<rem::vector<a*>, rem::vector<b*>>();
    expect_different.operator()<std::optional<a>, std::optional<b>>();
    expect_different.operator()<std::pair<int, a>, std::pair<int, b>>();
    expect_different.operator()<std::tuple<a>, std::tuple<b>>();
    expect_different.operator()<std::variant<int, a>, std::variant<int, b>>();
    expect_different.operator()<fp::holder<a>, fp::holder<b>>();
    expect_different.operator()<fp::strong<a, fp::tag>, fp::strong<b, fp::tag>>();
    expect_different.operator()<fp::fixed<a, 2>, fp::fixed<b, 2>>();
    expect_different.operator()<std::unique_ptr<a>, std::unique_ptr<b>>();
}

TEST(fingerprint, types_that_others_can_name_are_nameable) {
    EXPECT_TRUE(nameable<int>());
    EXPECT_TRUE(nameable<fp::address>());
    EXPECT_TRUE((nameable<rem::multimap<rem::string, fp::address>>()));
    EXPECT_TRUE((nameable<std::unordered_map<std::string, std::vector<int (*)(char, ...)>>>()));
    EXPECT_TRUE(nameable<std::function<void(fp::address&, int fp::base::*)>>());
    EXPECT_TRUE((nameable<std::array<rem::string[3], 12>>()));
    EXPECT_TRUE(nameable<std::chrono::nanoseconds>());
    EXPECT_TRUE(nameable<std::nullptr_t>());
    EXPECT_TRUE((nameable<fp::holder<void (*)(const volatile char*) noexcept>>()));
    EXPECT_TRUE((nameable<fp::holder<fp::holder<fp::holder<std::pair<fp::address, fp::address>>>>>()));
    EXPECT_TRUE((nameable<fp::pack<int, fp::pack<>, fp::pack<fp::ZE, fp::ZE>>>()));
}

TEST(fingerprint, letters_of_the_mangling_in_identifiers_mean_nothing) {
    EXPECT_TRUE(nameable<fp::ZE>());
    EXPECT_TRUE(nameable<fp::Z4mainE>());
    EXPECT_TRUE(nameable<fp::UlvE_>());
    EXPECT_TRUE(nameable<fp::_GLOBAL>());
    EXPECT_TRUE((nameable<fp::holder<std::pair<fp::ZE, fp::Z4mainE>>>()));
    EXPECT_TRUE(nameable<fp::numbered<12>>()) << "12 is no length";
    EXPECT_TRUE(nameable<fp::numbered<-1>>());
    EXPECT_TRUE((nameable<fp::valued<fp::colour::red>>()));
    EXPECT_TRUE((nameable<fp::valued<true>>()));
    EXPECT_TRUE((nameable<fp::valued<nullptr>>()));
    EXPECT_TRUE((nameable<fp::valued<&fp::base::a>>()));
}

TEST(fingerprint, local_types_are_not_nameable) {
    struct local {
        int x;
    };
    EXPECT_FALSE(nameable<local>());
    EXPECT_FALSE(nameable<rem::vector<local>>());
    EXPECT_FALSE((nameable<rem::map<rem::string, fp::holder<local>>>()));
    EXPECT_FALSE(nameable<local*>());
    EXPECT_FALSE(nameable<std::function<void(local)>>());
    const auto lambda = [] {};
    EXPECT_FALSE(nameable<std::remove_const_t<decltype(lambda)>>());
    EXPECT_FALSE((nameable<fp::strong<int, std::remove_const_t<decltype(lambda)>>>()));
}

TEST(fingerprint, unnamed_types_are_not_nameable) {
    EXPECT_FALSE(nameable<anonymous>());
    EXPECT_FALSE(nameable<rem::vector<anonymous>>());
    EXPECT_FALSE((nameable<rem::map<rem::string, fp::holder<anonymous>>>()));
    EXPECT_FALSE(nameable<decltype(global_lambda)>());
    EXPECT_FALSE((nameable<fp::strong<int, decltype(global_lambda)>>()));
    EXPECT_FALSE(nameable<fp::holder<decltype(unnamed)>>());
}

TEST(fingerprint, names_that_are_not_understood_are_kept) {
    EXPECT_EQ(remanence::detail::readable_name("not a mangled name"), "not a mangled name");
    EXPECT_TRUE(remanence::detail::is_nameable("not a mangled name"));
}

TEST(abi, describes_the_standard_library) {
    EXPECT_LE(remanence::detail::k_abi.size(), 120U);
#if defined(__GLIBCXX__) && _GLIBCXX_USE_CXX11_ABI && !defined(_GLIBCXX_DEBUG)
    EXPECT_EQ(remanence::detail::k_abi, "libstdc++ cxx11 le64 string32 map48 umap56 deque80");
#endif
}

} // namespace fingerprint_test
