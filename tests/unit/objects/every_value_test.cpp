// Values at the borders of their types, bit by bit: from memory to text and back, to CBOR and back, through files of containers and through
// migrations. NaNs have a sign and digits of their own.
#include "support/temp_dir.hpp"

#include <remanence/containers/btree_map.hpp>
#include <remanence/containers/string_pi.hpp>
#include <remanence/look_inside.hpp>
#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace every_value {

enum class of_char : char { low = -16, none = 0, high = 127 };
enum class of_bool : bool { no, yes };
enum class of_short : short { low = -16, high = 100 };
enum class of_long : std::uint64_t { one = 1 };

} // namespace every_value

namespace remanence {
namespace {

using namespace every_value;

/// Without the padding of long numbers.
template <class T>
std::string bits_of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof(T) == 16 && std::is_floating_point_v<T> ? 10 : sizeof(T)};
}
template <class T>
T of_bits(const void* bits) {
    T value{};
    std::memcpy(&value, bits, bits_of(value).size());
    return value;
}

template <class T>
std::vector<T> borders() {
    using limits = std::numeric_limits<T>;
    std::vector<T> all;
    std::mt19937_64 random(4711);
    if constexpr (std::is_floating_point_v<T>) {
        for (const T each :
             {T(0), T(1), limits::min(), limits::max(), limits::denorm_min(), limits::epsilon(), limits::infinity(),
              limits::quiet_NaN(), limits::signaling_NaN(), limits::min() / 2, std::nextafter(limits::min(), T(0)),
              std::nextafter(T(1), T(2)), T(1) / 3, T(1e15), T(1e22)}) {
            all.push_back(each);
            all.push_back(-each);
        }
        for (int i = 0; i != 2000; ++i) { // among them every kind of NaN, and long numbers as no processor writes them
            std::uint64_t bits[2] = {random(), random()};
            if (i % 3 == 0)
                bits[sizeof(T) == 16 ? 1 : 0] |= std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
            all.push_back(of_bits<T>(bits));
        }
        if constexpr (sizeof(T) == 16) {
            for (const std::uint64_t exponent : {0x0000U, 0x0001U, 0x7ffeU, 0x7fffU, 0x8000U, 0xffffU}) {
                for (const std::uint64_t digits : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 62,
                                                   std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
                    const std::uint64_t bits[2] = {digits, exponent};
                    all.push_back(of_bits<T>(bits));
                }
            }
        }
    } else if constexpr (std::is_enum_v<T>) {
        for (const std::underlying_type_t<T> each : borders<std::underlying_type_t<T>>())
            all.push_back(static_cast<T>(each));
    } else if constexpr (std::is_same_v<T, bool>) {
        all = {false, true};
    } else {
        for (const T each :
             {limits::min(), limits::max(), T(0), T(1), T(2), T(limits::max() / 2), T(limits::min() / 2)})
            for (const std::uint64_t step :
                 {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) // beyond a limit lies the other one
                all.push_back(static_cast<T>(static_cast<std::uint64_t>(each) + step));
    }
    return all;
}

/// Of numbers of one type: a sequence, which others are made of.
template <class T>
using numbers = list<T>;
template <class T>
using others = deque<T>;

template <class T>
void expect_all(const others<T>& is, const char* where) {
    const std::vector<T> was = borders<T>();
    ASSERT_EQ(is.size(), was.size()) << where;
    for (std::size_t i = 0; i != was.size(); ++i)
        EXPECT_EQ(bits_of(is[i]), bits_of(was[i]))
            << where << ", number " << i << " of " << detail::fingerprint_of<T>().name;
}

template <class T>
class every_value_of : public testing::Test {
protected:
    void fill(others<T>& all) const {
        for (const T& each : borders<T>())
            std::memcpy(static_cast<void*>(&all.emplace_back()), &each, sizeof each);
    }
    test::temp_dir directory_ = test::temp_dir::in_memory();
};

using number_types =
    testing::Types<bool, char, signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long,
                   wchar_t, char16_t, char32_t, float, double, long double, of_char, of_bool, of_short, of_long>;
TYPED_TEST_SUITE(every_value_of, number_types);

TYPED_TEST(every_value_of, a_number_survives_text_and_cbor) {
    heap from = heap::create(this->directory_ / "from");
    from.write([&] { this->fill(from.root<others<TypeParam>>("root")); });
    for (const bool is_binary : {false, true}) {
        for (const bool is_named : {false, true}) {
            std::string text;
            const std::function<void(std::string_view)> put = [&](std::string_view piece) { text += piece; };
            save(from, is_binary ? as_binary(put) : put);
            heap into = heap::create(this->directory_ / ("into " + std::to_string(2 * is_binary + is_named)));
            std::istringstream in(text);
            ASSERT_EQ(is_named ? load<others<TypeParam>>(into, in) : load<>(into, in), 1U);
            expect_all<TypeParam>(into.root<others<TypeParam>>("root"), is_binary ? "CBOR" : "text");
        }
    }
}

TYPED_TEST(every_value_of, a_number_survives_files_of_containers) {
    for (const file_form form : {file_form::portable, file_form::binary}) {
        const auto path = this->directory_ / "numbers";
        {
            file_backed<others<TypeParam>> file(path, {.form = form});
            file->clear();
            this->fill(*file);
            file.close();
        }
        file_backed<others<TypeParam>> file(path, {.form = form});
        expect_all<TypeParam>(*file, "a file");
    }
}

TYPED_TEST(every_value_of, a_number_survives_another_kind_of_container) {
    const auto path = this->directory_ / "h";
    {
        heap from = heap::create(path);
        from.write([&] {
            auto& all = from.root<numbers<TypeParam>>("root");
            for (const TypeParam& each : borders<TypeParam>())
                std::memcpy(static_cast<void*>(&all.emplace_back()), &each, sizeof each);
        });
        from.close();
    }
    heap into = heap::open(path, {.migrate = migrations().to<others<TypeParam>>("root")});
    expect_all<TypeParam>(into.root<others<TypeParam>>("root"), "a migration");
}

std::vector<std::string> texts_at_their_borders() {
    std::vector<std::string> all = {"",
                                    std::string(1, '\0'),
                                    std::string("a\0b", 3),
                                    "\xff",
                                    "\xc3\xa9",
                                    "\xc3",
                                    "\"",
                                    "\\",
                                    "\n\t\r",
                                    "\xed\xa0\x80",
                                    "\xf4\x8f\xbf\xbf",
                                    "[\"]",
                                    "]",
                                    "{\"$bytes\":\"00\"}",
                                    "null"};
    std::string bytes;
    for (int i = 0; i != 256; ++i)
        bytes += static_cast<char>(i);
    all.push_back(bytes);
    for (const std::size_t length : {14U, 15U, 16U, 22U, 23U, 24U, 31U, 100'000U}) {
        all.emplace_back(length, 'x');
        all.emplace_back(length, '\x80');
    }
    return all;
}

template <class Text>
class every_text_of : public testing::Test {
protected:
    using root = map<Text, Text>;
    static void fill(root& all) {
        for (const std::string& each : texts_at_their_borders())
            all.try_emplace(Text(each.data(), each.size()), each.data(), each.size());
    }
    static void expect_all(const root& is, const char* where) {
        EXPECT_EQ(is.size(), texts_at_their_borders().size()) << where;
        for (const std::string& each : texts_at_their_borders()) {
            const auto found = is.find(Text(each.data(), each.size()));
            ASSERT_NE(found, is.end()) << where << ": " << each.substr(0, 20);
            EXPECT_EQ(std::string_view(found->second), each) << where;
        }
    }
    test::temp_dir directory_ = test::temp_dir::in_memory();
};
using text_types = testing::Types<string, string_pi>;
TYPED_TEST_SUITE(every_text_of, text_types);

TYPED_TEST(every_text_of, a_text_survives_each_way_as_key_and_as_value) {
    using texts = map<TypeParam, TypeParam>;
    const auto path = this->directory_ / "from";
    heap from = heap::create(path);
    from.write([&] { this->fill(from.root<texts>("root")); });
    for (const bool is_binary : {false, true}) {
        std::string text;
        const std::function<void(std::string_view)> put = [&](std::string_view piece) { text += piece; };
        save(from, is_binary ? as_binary(put) : put);
        heap into = heap::create(this->directory_ / (is_binary ? "CBOR" : "text"));
        std::istringstream in(text);
        ASSERT_EQ(load<>(into, in), 1U);
        this->expect_all(into.root<texts>("root"), is_binary ? "CBOR" : "text");
    }
    from.close();
    std::string dump;
    inspect::dump(path, {}, [&](std::string_view piece) { dump += piece; });
    std::size_t keys = 0;
    for (std::size_t at = 0;
         (at = dump.find("\n{\"k\":", at)) != std::string::npos;) { // as each stands there, it leads there
        const std::size_t begin = at + 6;
        at = dump.find(",\"v\":", begin);
        const std::string key = dump.substr(begin, at - begin);
        EXPECT_EQ(inspect::get(path, "root[" + key + "]"), key);
        ++keys;
    }
    EXPECT_EQ(keys, texts_at_their_borders().size());
    for (const file_form form : {file_form::portable, file_form::binary}) {
        const auto file_path = this->directory_ / "file";
        {
            file_backed<texts> file(file_path, {.form = form});
            file->clear();
            this->fill(*file);
            file.close();
        }
        file_backed<texts> file(file_path, {.form = form});
        this->expect_all(*file, "a file");
    }
    heap into = heap::open(path, {.migrate = migrations().to<btree_map<TypeParam, TypeParam>>("root")});
    const auto& is = into.root<btree_map<TypeParam, TypeParam>>("root");
    for (const std::string& each : texts_at_their_borders())
        EXPECT_EQ(std::string_view(is.at(TypeParam(each.data(), each.size()))), each);
}

} // namespace
} // namespace remanence
