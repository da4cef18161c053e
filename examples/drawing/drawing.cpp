#include "drawing.hpp"

#include <algorithm>

namespace examples {

namespace {

void move_all(shape& which, int by_x, int by_y) {
    which.x += by_x;
    which.y += by_y;
    for (shape* each : which.parts)
        move_all(*each, by_x, by_y);
}

void destroy(rem::heap& heap, shape* which) {
    for (shape* each : which->parts)
        destroy(heap, each);
    heap.destroy(which);
}

bool are_owned(const rem::vector<shape*>& parts, const shape* owner) {
    return std::all_of(parts.begin(), parts.end(),
                       [owner](const shape* each) { return each->owner == owner && are_owned(each->parts, each); });
}

} // namespace

shape* drawing::add(std::string_view name, const shape& made) {
    return heap_.write(name, [&] {
        auto* const added = heap_.make<shape>(shape{made.what, made.x, made.y, made.width, made.height, made.ink});
        all_->shapes.push_back(added);
        ++all_->edits;
        return added;
    });
}

shape* drawing::line(int x, int y, int to_x, int to_y, char ink) {
    return add("draw line", {shape::kind::line, x, y, to_x - x, to_y - y, ink});
}

shape* drawing::box(int x, int y, int width, int height, char ink) {
    return add("draw box", {shape::kind::box, x, y, width, height, ink});
}

shape* drawing::circle(int x, int y, int radius, char ink) {
    return add("draw circle", {shape::kind::circle, x, y, radius, radius, ink});
}

void drawing::move(shape* which, int by_x, int by_y) {
    heap_.write("move", [&] {
        move_all(*which, by_x, by_y);
        ++all_->edits;
    });
}

void drawing::take_out(shape* which) {
    rem::vector<shape*>& among = which->owner != nullptr ? which->owner->parts : all_->shapes;
    among.erase(std::find(among.begin(), among.end(), which));
}

shape* drawing::combine(const std::vector<shape*>& parts) {
    return heap_.write("group", [&] {
        auto* const made = heap_.make<shape>();
        for (shape* each : parts) {
            take_out(each);
            each->owner = made;
            made->parts.push_back(each);
        }
        all_->shapes.push_back(made);
        ++all_->edits;
        return made;
    });
}

void drawing::remove(shape* which) {
    heap_.write("delete", [&] {
        take_out(which);
        destroy(heap_, which);
        ++all_->edits;
    });
}

bool drawing::is_sound() const { return are_owned(all_->shapes, nullptr); }

} // namespace examples
