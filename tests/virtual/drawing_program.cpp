// usage: drawing_program write|read|lacks|unnamed FILE [LIBRARY]: makes a drawing in a heap, or uses one that another build of
// the program has made; LIBRARY has the class that this program lacks. Exits with 0 if all is as it should be.
#include "shapes.hpp"

#include <remanence/remanence.hpp>

#include <dlfcn.h>

#include <concepts>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeinfo>

namespace shapes {

struct drawing {
    remanence::vector<shape*> all;
    remanence::map<int, circle> by_number;
    holder held;
    tagged* last_tagged = nullptr;
    node* top = nullptr;
    right* side = nullptr;
    const shape* final_one = nullptr;
};

namespace {

/// late.cpp has such a class, too.
class unnamed : public shape {
public:
    [[nodiscard]] double area() const override { return 1; }
};

} // namespace

} // namespace shapes

template <std::derived_from<shapes::shape> Shape>
inline constexpr bool remanence::enable_persistable<Shape> = true;

using namespace shapes; // NOLINT(google-build-using-namespace): a small program

namespace {

int faults = 0;

void expect(bool holds, const char* what) {
    if (holds)
        return;
    ++faults;
    std::printf("  not true: %s\n", what);
}
#define EXPECT(condition) expect(condition, #condition)

// So that the compiler does not know the objects' classes.
[[gnu::noinline]] double area_of(const shape& of) { return of.area(); }
[[gnu::noinline]] bool is_last(const shape& of) { return dynamic_cast<const last*>(&of) != nullptr; }

void check(const drawing& all) {
    const shape& round = *all.all[0];
    const shape& angular = *all.all[1];
    const shape& wide = *all.all[2];
    EXPECT(area_of(round) == 12 && round.is_round() && round.name() == std::string_view("circle"));
    EXPECT(area_of(angular) == 9 && !angular.is_round() && angular.name() == std::string_view("square"));
    EXPECT(all.last_tagged->tag() == 8);
    EXPECT(area_of(wide) == 8 && wide.name() == std::string_view("diamond") && wide.id == 1);
    EXPECT(all.top->depth() == 1008 && all.side->depth() == 1008 && all.side->right_ == 7 && all.side->id == 1);
    const shape* const top_as_shape = all.top; // by the offset of a virtual base
    EXPECT(top_as_shape == &wide && wide.parent() == &wide);
    EXPECT(dynamic_cast<const circle*>(&round) != nullptr && dynamic_cast<const circle*>(&angular) == nullptr);
    EXPECT(dynamic_cast<const tagged*>(&angular) != nullptr);
    EXPECT(dynamic_cast<const diamond*>(all.last_tagged) != nullptr);
    EXPECT(dynamic_cast<const right*>(&wide) == all.side && dynamic_cast<const tagged*>(all.side) == all.last_tagged);
    EXPECT(typeid(wide) == typeid(diamond) && typeid(round) == typeid(circle));
    EXPECT(area_of(*all.final_one) == 9 && is_last(*all.final_one) && !is_last(round));
    EXPECT(area_of(all.held.round) == 48 && area_of(all.held.angular) == 9);
    EXPECT(static_cast<const tagged&>(all.held.angular).tag() == 33 && all.held.number == 3);
    EXPECT(all.by_number.size() == 10);
    for (const auto& [number, each] : all.by_number)
        EXPECT(area_of(each) == 3.0 * number * number);
    try {
        throw dynamic_cast<const diamond*>(&wide);
    } catch (const shape* caught) { // the runtime finds the virtual base
        EXPECT(caught == &wide);
    }
}

void check_missing(const drawing& all) {
    std::string said;
    try {
        (void)area_of(*all.all[3]);
    } catch (const remanence::error& error) {
        EXPECT(error.reason() == remanence::errc::type_mismatch);
        said = error.what();
    }
    EXPECT(said.find("shapes::late") != std::string::npos);
    const shape& missing = *all.all[3];
    EXPECT(dynamic_cast<const circle*>(&missing) == nullptr);
    EXPECT(typeid(missing) != typeid(shape));
}

#ifndef SHAPES_WITHOUT_LATE
/// Another source file has a class of the same name.
void store_unnamed(const char* path) {
    auto heap = remanence::heap::create(path);
    remanence::errc found{};
    try {
        heap.write([&] { heap.root<remanence::vector<shape*>>("all").push_back(heap.make<unnamed>()); });
    } catch (const remanence::error& why) {
        found = why.reason();
    }
    EXPECT(found == remanence::errc::unnameable_type);
}

void write(const char* path) {
    auto heap = remanence::heap::create(path);
    heap.write([&] {
        auto& all = heap.root<drawing>("drawing");
        all.all.push_back(heap.make<circle>());
        all.all.push_back(heap.make<square>());
        auto* const wide = heap.make<diamond>();
        wide->be_own_parent();
        all.all.push_back(wide);
        all.all.push_back(heap.make<late>());
        all.last_tagged = wide;
        all.top = wide;
        all.side = wide;
        all.final_one = heap.make<last>();
        for (int i = 0; i != 10; ++i)
            all.by_number.try_emplace(i, i);
    });
    check(heap.root<drawing>("drawing"));
    heap.close();
}
#endif

void read(const char* path, bool is_missing, const char* library) {
    auto heap = remanence::heap::open_existing(path);
    heap.read([&] {
        const auto& all = heap.root<drawing>("drawing");
        check(all);
        if (is_missing)
            check_missing(all);
        else
            EXPECT(area_of(*all.all[3]) == 11);
    });
    if (library != nullptr) {
        EXPECT(::dlopen(library, RTLD_NOW) != nullptr);
        EXPECT(area_of(*heap.root<drawing>("drawing").all[3]) == 11);
    }
    const auto report = heap.verify();
    EXPECT(report.clean());
    heap.write([&] { // destructors, through bases
        auto& all = heap.root<drawing>("drawing");
        heap.destroy(static_cast<circle*>(all.all[0]));
        all.all[0] = heap.make<circle>();
    });
    check(heap.root<drawing>("drawing"));
    heap.close();
}

} // namespace

int main(int count, char** arguments) {
    try {
        const std::string_view mode = count >= 3 ? arguments[1] : "";
#ifndef SHAPES_WITHOUT_LATE
        if (mode == "write")
            write(arguments[2]);
        else if (mode == "unnamed")
            store_unnamed(arguments[2]);
        else
#endif
            if (mode == "read" || mode == "lacks")
            read(arguments[2], mode == "lacks", count == 4 ? arguments[3] : nullptr);
        else
            throw std::invalid_argument("usage: drawing_program write|read|lacks FILE [LIBRARY]");
    } catch (const std::exception& error) {
        std::printf("%s\n", error.what());
        return 1;
    }
    return faults != 0;
}
