// Converts real numbers to text and back, independently of the locale: to the shortest text that reads back as the same
// number, and to the number that is nearest to a text. Standard libraries differ here: libstdc++ does not read a
// subnormal long double; libc++ reads no real numbers at all, and writes a long double as a double.
#pragma once

#include <string>
#include <string_view>

namespace remanence {

/// Appends the shortest text that read_real<T>() reads as this number. T: float, double, long double. Precondition: the
/// number is finite.
template <class T>
void put_real(std::string& out, T value);

/// Reads a number from all of `text`, which must have the form of a JSON number. Returns false if it does not, or if
/// the number is out of T's range: too large, or not 0 but nearer to 0 than the smallest T.
template <class T>
[[nodiscard]] bool read_real(std::string_view text, T& value);

extern template void put_real<float>(std::string&, float);
extern template void put_real<double>(std::string&, double);
extern template void put_real<long double>(std::string&, long double);
extern template bool read_real<float>(std::string_view, float&);
extern template bool read_real<double>(std::string_view, double&);
extern template bool read_real<long double>(std::string_view, long double&);

} // namespace remanence
