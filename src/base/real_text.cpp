#include "base/real_text.hpp"

#include <array>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <system_error>
#include <type_traits>

namespace remanence {

namespace {

#ifdef __cpp_lib_to_chars
constexpr bool k_has_real_charconv = true;
#else
constexpr bool k_has_real_charconv = false;
#endif

locale_t plain_locale() {
    static const locale_t made = ::newlocale(LC_ALL_MASK, "C", nullptr);
    return made;
}

/// Converts with the C library, which rounds correctly and accepts subnormal numbers.
template <class T>
bool read_by_c(std::string_view text, T& value) {
    const std::string whole(text); // with a terminating zero
    char* end = nullptr;
    if constexpr (std::is_same_v<T, float>)
        value = ::strtof_l(whole.c_str(), &end, plain_locale());
    else if constexpr (std::is_same_v<T, double>)
        value = ::strtod_l(whole.c_str(), &end, plain_locale());
    else
        value = ::strtold_l(whole.c_str(), &end, plain_locale());
    const bool is_zero = whole.substr(0, whole.find_first_of("eE")).find_first_of("123456789") == std::string::npos;
    return end == whole.c_str() + whole.size() && end != whole.c_str() && std::isfinite(value) &&
           (value != 0 || is_zero);
}

/// Converts with the C library, to the fewest digits that read back as the same number.
template <class T>
void put_by_c(std::string& out, T value) {
    std::array<char, 64> text{};
    const locale_t outer = ::uselocale(plain_locale());
    for (int digits = std::numeric_limits<T>::digits10; digits <= std::numeric_limits<T>::max_digits10; ++digits) {
        std::snprintf(text.data(), text.size(), "%.*Lg", digits, static_cast<long double>(value));
        T read = 0;
        if (read_by_c<T>(text.data(), read) && read == value)
            break;
    }
    ::uselocale(outer);
    out += text.data();
}

} // namespace

template <class T>
void put_real(std::string& out, T value) {
    if constexpr (k_has_real_charconv) {
        std::array<char, 64> text{};
        out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
    } else {
        put_by_c(out, value);
    }
}

template <class T>
bool read_real(std::string_view text, T& value) {
#ifdef __cpp_lib_to_chars
    if constexpr (!std::is_same_v<T, long double>) {
        const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
        return read.ec == std::errc() && read.ptr == text.data() + text.size() && std::isfinite(value);
    }
#endif
    return read_by_c(text, value);
}

template void put_real<float>(std::string&, float);
template void put_real<double>(std::string&, double);
template void put_real<long double>(std::string&, long double);
template bool read_real<float>(std::string_view, float&);
template bool read_real<double>(std::string_view, double&);
template bool read_real<long double>(std::string_view, long double&);

} // namespace remanence
