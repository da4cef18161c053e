// shapes: objects with virtual functions that stay. `shapes FILE circle 2` adds a circle, `shapes FILE square 3` a
// square, and `shapes FILE group` makes one group of all that is there. Each run prints the shapes and their areas.
// REM_REFLECT names the members, so that `rem get FILE 'shapes[0].radius_'`, `rem dump` and `rem gc` know them, too.
#include <remanence/remanence.hpp>
#include <remanence/types/reflect.hpp>

#include <charconv>
#include <concepts>
#include <exception>
#include <iostream>
#include <numbers>
#include <stdexcept>
#include <string>
#include <string_view>

namespace drawing {

namespace rem = remanence;

class shape {
public:
    shape() = default;
    shape(const shape&) = delete;
    shape& operator=(const shape&) = delete;
    virtual ~shape() = default;
    [[nodiscard]] virtual double area() const = 0;
    virtual void print(int depth) const = 0;

protected:
    void print_line(std::string_view name, int depth) const {
        std::cout << std::string(static_cast<std::size_t>(depth) * 2, ' ') << name << ": " << area() << '\n';
    }

private:
    REM_REFLECT(());
};

class circle : public shape {
public:
    explicit circle(double radius) : radius_(radius) {}
    [[nodiscard]] double area() const override { return std::numbers::pi * radius_ * radius_; }
    void print(int depth) const override { print_line("circle", depth); }

private:
    double radius_;
    REM_REFLECT((shape), radius_);
};

class square : public shape {
public:
    explicit square(double side) : side_(side) {}
    [[nodiscard]] double area() const override { return side_ * side_; }
    void print(int depth) const override { print_line("square", depth); }

private:
    double side_;
    REM_REFLECT((shape), side_);
};

class group : public shape {
public:
    explicit group(rem::vector<shape*> parts) : parts_(std::move(parts)) {}
    [[nodiscard]] double area() const override {
        double sum = 0;
        for (const shape* const each : parts_)
            sum += each->area();
        return sum;
    }
    void print(int depth) const override {
        print_line("group", depth);
        for (const shape* const each : parts_)
            each->print(depth + 1);
    }

private:
    rem::vector<shape*> parts_; // in the heap, as the group itself
    REM_REFLECT((shape), parts_);
};

} // namespace drawing

// Nothing in these classes leads out of the heap.
template <std::derived_from<drawing::shape> Shape>
inline constexpr bool remanence::enable_persistable<Shape> = true;

namespace {

namespace rem = remanence;

struct usage_error : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

double number_of(std::string_view text) {
    double number = 0;
    const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (why != std::errc() || end != text.data() + text.size())
        throw usage_error("not a number: " + std::string(text));
    return number;
}

void run(int count, char* words[]) {
    rem::heap heap = rem::heap::open(words[1]);
    auto& all = heap.root<rem::vector<drawing::shape*>>("shapes");
    const std::string_view what = count > 2 ? words[2] : "";
    heap.write([&] {
        if (what == "circle" && count == 4) {
            all.push_back(heap.make<drawing::circle>(number_of(words[3])));
        } else if (what == "square" && count == 4) {
            all.push_back(heap.make<drawing::square>(number_of(words[3])));
        } else if (what == "group" && count == 3) {
            drawing::shape* const whole = heap.make<drawing::group>(all);
            all.assign(1, whole);
        } else if (count != 2) {
            throw usage_error("usage: shapes FILE [circle RADIUS | square SIDE | group]");
        }
    });
    for (const drawing::shape* const each : all)
        each->print(0);
    heap.close();
}

} // namespace

int main(int count, char* words[]) {
    try {
        if (count < 2)
            throw usage_error("usage: shapes FILE [circle RADIUS | square SIDE | group]");
        run(count, words);
        return 0;
    } catch (const usage_error& reason) {
        std::cerr << reason.what() << '\n';
        return 2;
    } catch (const std::exception& reason) {
        std::cerr << "shapes: " << reason.what() << '\n';
        return 1;
    }
}
