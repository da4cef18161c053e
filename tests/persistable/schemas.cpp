// Prints the stored schema of many types, one on a line: its name here, the hash of its fingerprint, its name there, and the bytes. Both compilers
// must print the same (same_schemas.py), or a program that was compiled by one would not know the roots of the other.
#include <remanence/remanence.hpp>
#include <remanence/types/reflect.hpp>

#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

namespace schemas {

namespace rem = remanence;

enum plain_enumeration { k_before = -3, k_after = 100 };
enum class colour : unsigned char { red, green = 5, blue };
enum class wide : std::int64_t { least = INT64_MIN, most = INT64_MAX };

struct empty {};
struct numbers {
    char c;
    signed char sc;
    unsigned char uc;
    short s;
    unsigned short us;
    int i;
    unsigned u;
    long l;
    unsigned long ul;
    long long ll;
    unsigned long long ull;
    float f;
    double d;
    long double ld;
    bool b;
    char8_t c8;
    char16_t c16;
    char32_t c32;
    wchar_t w;
    std::byte byte;
    std::size_t size;
    std::int8_t i8;
    std::uint64_t u64;
    __int128 big;
    unsigned __int128 ubig;
};
struct arrays {
    int one[3];
    int two[2][3];
    char name[16];
    std::array<double, 4> four;
    std::array<std::array<char, 2>, 3> nested;
};
struct node {
    int value;
    node* next;
    const node* before;
    node* children[4];
    int (*rows)[3];
    void* anything;
};
template <class T, int N, bool B, colour C, auto V>
struct numbered {
    T value;
    std::array<T, static_cast<std::size_t>(N)> values;
};
template <class... Ts>
struct pack {
    std::tuple<Ts...> all;
};
template <template <class...> class Template, class T>
struct of_template {
    Template<T> held;
};
struct outer {
    struct inner {
        enum kind : short { first, second };
        kind what;
        int value;
    };
    inner one, two;
    enum { unnamed_one, unnamed_two } unnamed;
};
inline namespace version_1 {
struct versioned {
    int value;
};
} // namespace version_1
struct base {
    int of_base;
};
class hidden : public base {
public:
    [[nodiscard]] int number() const { return number_ + static_cast<int>(level_); }

private:
    int number_ = 0;
    unsigned level_ : 4 = 1;
    rem::string name_;
    REM_REFLECT((base), number_, level_, name_);
};
class silent {
public:
    [[nodiscard]] int number() const { return number_; }

private:
    int number_ = 0;
};
struct alignas(64) aligned {
    char c;
    alignas(16) int i;
};
struct bits {
    unsigned a : 3;
    unsigned b : 5;
    int after;
};
struct by_length {
    bool operator()(const rem::string& a, const rem::string& b) const { return a.size() < b.size(); }
};
struct library {
    std::optional<int> maybe;
    std::optional<rem::string> maybe_text;
    std::variant<int, rem::string, std::monostate, double> either;
    std::pair<int, rem::string> pair;
    std::tuple<int, double, rem::string> tuple;
    std::atomic<int> atomic;
    std::chrono::nanoseconds duration;
    std::chrono::system_clock::time_point when;
    std::bitset<70> bitset;
    std::complex<double> complex;
};
struct containers {
    rem::string text;
    rem::vector<int> vector;
    rem::vector<bool> bits;
    rem::deque<node> deque;
    rem::list<rem::string> list;
    rem::forward_list<colour> chain;
    rem::map<rem::string, rem::vector<int>> map;
    rem::multimap<int, numbers> multimap;
    rem::set<rem::string, by_length> set;
    rem::multiset<int, std::greater<>> multiset;
    rem::unordered_map<rem::string, int> hashed;
    rem::unordered_multiset<std::uint64_t> hashed_set;
};
struct own_containers {
    rem::string_pi text;
    rem::vector_pi<int> vector;
    rem::btree_map<rem::string_pi, int> tree;
    rem::btree_multimap<int, rem::string_pi> several;
    rem::btree_set<double> set;
    rem::hash_map<rem::string_pi, colour> table;
    rem::hash_set<std::uint64_t> numbers;
    rem::packed_map packed;
};

template <class T>
void print(const char* name) {
    remanence::detail::structure_writer out;
    remanence::detail::write_structure<T>(out);
    const std::string bytes = std::move(out).schema();
    const auto& type = remanence::detail::fingerprint_of<T>();
    std::printf("%s\t%016llx\t%s\t", name, static_cast<unsigned long long>(type.hash), type.name.c_str());
    for (const char c : bytes)
        std::printf("%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    std::printf("\n");
}

} // namespace schemas

#define PRINT(...) schemas::print<__VA_ARGS__>(#__VA_ARGS__)

int main() {
    using namespace schemas;
    PRINT(int);
    PRINT(empty);
    PRINT(plain_enumeration);
    PRINT(colour);
    PRINT(wide);
    PRINT(numbers);
    PRINT(arrays);
    PRINT(node);
    PRINT(numbered<int, 3, true, colour::green, 7U>);
    PRINT(numbered<rem::string, 2, false, static_cast<colour>(9), 'x'>);
    PRINT(numbered<node*, 1, false, colour::red, wide::least>);
    PRINT(numbered<long, 1, true, colour::blue, -5L>);
    PRINT(pack<>);
    PRINT(pack<int, rem::string, pack<double, node*>>);
    PRINT(of_template<rem::vector, int>);
    PRINT(outer);
    PRINT(outer::inner);
    PRINT(versioned);
    PRINT(hidden);
    PRINT(silent);
    PRINT(aligned);
    PRINT(bits);
    PRINT(library);
    PRINT(containers);
    PRINT(own_containers);
    PRINT(rem::map<rem::string, std::variant<int, rem::vector<node>>>);
    PRINT(rem::hash_map<std::pair<int, rem::string_pi>, std::optional<rem::string_pi>>);
    PRINT(rem::btree_map<int, std::tuple<hidden, library*, arrays>>);
}
