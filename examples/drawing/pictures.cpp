#include "drawing.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <sstream>
#include <vector>

namespace examples {

namespace {

class canvas {
public:
    canvas(int width, int height)
        : width_(width), lines_(static_cast<std::size_t>(height), std::string(static_cast<std::size_t>(width), ' ')) {}

    void draw(const shape& each) {
        switch (each.what) {
        case shape::kind::line:
            line(each.x, each.y, each.x + each.width, each.y + each.height, each.ink);
            break;
        case shape::kind::box:
            line(each.x, each.y, each.x + each.width, each.y, each.ink);
            line(each.x, each.y + each.height, each.x + each.width, each.y + each.height, each.ink);
            line(each.x, each.y, each.x, each.y + each.height, each.ink);
            line(each.x + each.width, each.y, each.x + each.width, each.y + each.height, each.ink);
            break;
        case shape::kind::circle:
            circle(each);
            break;
        case shape::kind::group:
            for (const shape* part : each.parts)
                draw(*part);
        }
    }
    [[nodiscard]] std::string text() const {
        std::string all;
        for (const std::string& each : lines_)
            all += each.substr(0, each.find_last_not_of(' ') + 1) + '\n';
        return all;
    }

private:
    void dot(int x, int y, char ink) {
        if (x >= 0 && x < width_ && y >= 0 && static_cast<std::size_t>(y) < lines_.size())
            lines_[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] = ink;
    }
    void line(int x, int y, int to_x, int to_y, char ink) {
        const int steps = std::max({std::abs(to_x - x), std::abs(to_y - y), 1});
        for (int i = 0; i <= steps; ++i)
            dot(x + static_cast<int>(std::lround(double(to_x - x) * i / steps)),
                y + static_cast<int>(std::lround(double(to_y - y) * i / steps)), ink);
    }
    void circle(const shape& each) { // a character is about twice as high as it is wide
        for (int i = 0; i < 64; ++i) {
            const double angle = i * 2 * 3.14159265358979 / 64;
            dot(each.x + static_cast<int>(std::lround(2 * each.width * std::cos(angle))),
                each.y + static_cast<int>(std::lround(each.height * std::sin(angle))), each.ink);
        }
    }

    int width_;
    std::vector<std::string> lines_;
};

constexpr int k_wide = 10; // of a character, in pixels
constexpr int k_high = 20;

void write_svg(std::ostream& out, const shape& each) {
    switch (each.what) {
    case shape::kind::line:
        out << "  <line x1=\"" << each.x * k_wide << "\" y1=\"" << each.y * k_high << "\" x2=\""
            << (each.x + each.width) * k_wide << "\" y2=\"" << (each.y + each.height) * k_high << "\"/>\n";
        break;
    case shape::kind::box:
        out << "  <rect x=\"" << each.x * k_wide << "\" y=\"" << each.y * k_high << "\" width=\"" << each.width * k_wide
            << "\" height=\"" << each.height * k_high << "\"/>\n";
        break;
    case shape::kind::circle:
        out << "  <circle cx=\"" << each.x * k_wide << "\" cy=\"" << each.y * k_high << "\" r=\""
            << each.height * k_high << "\"/>\n";
        break;
    case shape::kind::group:
        out << "  <g>\n";
        for (const shape* part : each.parts)
            write_svg(out, *part);
        out << "  </g>\n";
    }
}

} // namespace

std::string as_text(const document& shown, int width, int height) {
    canvas all(width, height);
    for (const shape* each : shown.shapes)
        all.draw(*each);
    return all.text();
}

std::string as_svg(const document& shown, int width, int height) {
    std::ostringstream out;
    out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width * k_wide << "\" height=\"" << height * k_high
        << "\" fill=\"none\" stroke=\"black\" stroke-width=\"2\">\n";
    for (const shape* each : shown.shapes)
        write_svg(out, *each);
    out << "</svg>\n";
    return out.str();
}

} // namespace examples
