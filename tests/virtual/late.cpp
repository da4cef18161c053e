#include "shapes.hpp"

namespace shapes {

namespace {

/// drawing_program.cpp has such a class, too.
class unnamed : public shape {
public:
    [[nodiscard]] double area() const override { return 0; }
};
const shape* volatile kept = new unnamed;

} // namespace

double late::area() const { return 11; }

} // namespace shapes
