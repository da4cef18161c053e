#include "shapes.hpp"

namespace shapes {

double circle::area() const { return 3 * radius_ * radius_; }
bool circle::is_round() const { return true; }
const char* circle::name() const { return "circle"; }
double square::area() const { return side_ * side_; }
const char* square::name() const { return "square"; }
int square::tag() const { return 33; }
double last::area() const { return 9; }
double diamond::area() const { return own_; }
diamond* diamond::parent() const { return static_cast<diamond*>(dynamic_cast<void*>(parent_)); }

} // namespace shapes
