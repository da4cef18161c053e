// A document of shapes as a CAD program has it: shapes in groups in groups, linked by plain pointers both ways. Its commands change the
// objects and nothing else: none knows how it is undone.
#pragma once

#include <remanence/remanence.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace examples {

namespace rem = remanence;

struct shape {
    enum class kind : std::uint8_t { line, box, circle, group };

    kind what = kind::group;
    int x = 0; ///< of the first point, the upper left corner, or the centre
    int y = 0;
    int width = 0; ///< to the second point, the opposite corner; radius of a circle
    int height = 0;
    char ink = '*';
    shape* owner = nullptr;      ///< the group that it is in; null: the drawing itself
    rem::vector<shape*> parts{}; ///< of a group, from back to front
};

struct document {
    rem::vector<shape*> shapes; ///< that are in no group, from back to front
    std::uint64_t edits = 0;    ///< that led to this state
};

/// Each command is one write section, and so one step of the history, with a name.
class drawing {
public:
    explicit drawing(rem::heap& heap) : heap_(heap), all_(&heap.root<document>("drawing")) {}

    shape* line(int x, int y, int to_x, int to_y, char ink = '*');
    shape* box(int x, int y, int width, int height, char ink = '#');
    shape* circle(int x, int y, int radius, char ink = 'o');
    void move(shape* which, int by_x, int by_y);
    /// Makes a group of shapes that are in none.
    shape* combine(const std::vector<shape*>& parts);
    void remove(shape* which);

    [[nodiscard]] const document& contents() const { return *all_; }
    [[nodiscard]] bool is_empty() const { return all_->shapes.empty(); }
    /// Whether each shape is in the group that says it has it.
    [[nodiscard]] bool is_sound() const;

private:
    shape* add(std::string_view name, const shape& made);
    void take_out(shape* which);

    rem::heap& heap_;
    document* all_;
};

// pictures.cpp

/// So many lines of characters; shapes outside are cut off.
std::string as_text(const document& shown, int width, int height);
std::string as_svg(const document& shown, int width, int height);

} // namespace examples
