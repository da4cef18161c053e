// Real numbers as text, and back: the shortest text that reads as the same number, and the number that is nearest to a text,
// whatever the locale is. Standard libraries differ here: libstdc++ refuses to read a subnormal long double, and libc++ reads
// no real number at all and writes a long double as a double.
#pragma once

#include <string>
#include <string_view>

namespace remanence {

/// Appends the shortest text that read_real<T>() reads as this number. T: float, double, long double. Precondition: it is finite.
template <class T>
void put_real(std::string& out, T value);

/// Reads all of `text`, which has the form of a JSON number. False: it is none, or out of T's range: too large, or nearer to 0 than
/// the smallest T, and not 0.
template <class T>
[[nodiscard]] bool read_real(std::string_view text, T& value);

extern template void put_real<float>(std::string&, float);
extern template void put_real<double>(std::string&, double);
extern template void put_real<long double>(std::string&, long double);
extern template bool read_real<float>(std::string_view, float&);
extern template bool read_real<double>(std::string_view, double&);
extern template bool read_real<long double>(std::string_view, long double&);

} // namespace remanence
