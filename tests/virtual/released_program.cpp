// usage: released_program MODE FILE: several releases of a program (RELEASE is 1, 2, ...) whose classes with virtual
// functions differ. Each opens the heap that another one has made. Exits with 0 if all is as it should be; prints what is
// thrown.
#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>
#include <remanence/types/reflect.hpp>

#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>

namespace released {

class figure {
public:
    figure() = default;
    figure(const figure&) = default;
    figure& operator=(const figure&) = default;
    virtual ~figure() = default;
    [[nodiscard]] virtual double area() const = 0;
    remanence::string name;
    const figure* next = nullptr;
#if RELEASE >= 2
    int level = 5; // an abstract class has a new member
#endif

private:
#if RELEASE >= 2
    REM_REFLECT((), level, name, next);
#else
    REM_REFLECT((), name, next);
#endif
};

class tagged {
public:
    tagged() = default;
    tagged(const tagged&) = default;
    tagged& operator=(const tagged&) = default;
    virtual ~tagged() = default;
    [[nodiscard]] virtual int tag() const { return 1; }
    long number = 7;

private:
    REM_REFLECT((), number);
};

#if RELEASE == 3
class disc : public figure { // has another name
#else
class circle : public figure {
#endif
public:
    [[nodiscard]] double area() const override { return 3.0 * static_cast<double>(radius * radius); }
#if RELEASE >= 2
    remanence::string colour = "a colour that no release had before";
    long radius = 2;

private:
    REM_REFLECT((figure), colour, radius);
#else
    int radius = 2;
    int gone = 0;

private:
    REM_REFLECT((figure), radius, gone);
#endif
};
#if RELEASE == 3
using circle = disc;
#endif

/// The second of two bases.
class square : public tagged, public figure {
public:
    [[nodiscard]] double area() const override { return side * side; }
    [[nodiscard]] int tag() const override { return 44; }
    double side = 3;
    remanence::vector<const figure*> inside;

private:
    REM_REFLECT((tagged, figure), side, inside);
};

/// Has no members of its own.
class dot : public figure {
public:
    [[nodiscard]] double area() const override { return 0; }

private:
    REM_REFLECT((figure));
};

#ifndef WITHOUT_LINE
/// One release does not have it.
class line : public figure {
public:
    [[nodiscard]] double area() const override { return length / 1000; }
    double length = 500;

private:
    REM_REFLECT((figure), length);
};
#endif

struct drawing {
    remanence::vector<figure*> all;
    remanence::map<int, circle> circles;
    tagged* last_tagged = nullptr;
    const square* angular = nullptr;
#if RELEASE >= 2
    long added = 9;
#endif
};

} // namespace released

template <class T>
    requires std::derived_from<T, released::figure> || std::derived_from<T, released::tagged>
inline constexpr bool remanence::enable_persistable<T> = true;

using namespace released; // NOLINT(google-build-using-namespace): a small program

namespace {

int faults = 0;

void expect(bool holds, const char* what) {
    if (holds)
        return;
    ++faults;
    std::printf("  not true: %s\n", what);
}
#define EXPECT(condition) expect(condition, #condition)

constexpr const char* k_name = "a name that has a block of its own, in all releases";

// So that the compiler does not know the objects' classes.
[[gnu::noinline]] double area_of(const figure& of) { return of.area(); }

void fill(remanence::heap& heap, drawing& into) {
    auto* const round = heap.make<circle>();
    auto* const angular = heap.make<square>();
    auto* const small = heap.make<dot>();
    round->radius = 4;
    angular->side = 5;
    angular->number = 8;
    for (figure* const each :
         {static_cast<figure*>(round), static_cast<figure*>(angular), static_cast<figure*>(small)}) {
        each->name = k_name;
        into.all.push_back(each);
        angular->inside.push_back(each);
    }
    into.all.push_back(round); // twice
    round->next = angular;
    angular->next = small;
    small->next = round;
    into.last_tagged = angular;
    into.angular = angular;
    for (int i = 0; i != 20; ++i)
        into.circles.try_emplace(i).first->second.radius = i;
    into.circles.at(3).next = &into.circles.at(4);
    into.all.push_back(&into.circles.at(5));
}

void check_contents(const drawing& all) {
    EXPECT(all.all.size() == 5 || (all.all.size() == 6 && area_of(*all.all[5]) == 0.5)); // a line
    if (all.all.size() < 5)
        return;
    const auto* const round = dynamic_cast<const circle*>(all.all[0]);
    const auto* const angular = dynamic_cast<const square*>(all.all[1]);
    const auto* const small = dynamic_cast<const dot*>(all.all[2]);
    if (round == nullptr || angular == nullptr || small == nullptr) {
        EXPECT(!"objects are of their classes");
        return;
    }
    EXPECT(area_of(*all.all[0]) == 48 && area_of(*all.all[1]) == 25 && area_of(*all.all[2]) == 0);
    EXPECT(all.all[3] == round && round->next == angular && angular->next == small && small->next == round);
    EXPECT(all.angular == angular && all.last_tagged == angular && all.last_tagged->tag() == 44);
    EXPECT(angular->number == 8 && angular->inside.size() == 3);
    for (std::size_t i = 0; i != angular->inside.size(); ++i)
        EXPECT(angular->inside[i] == all.all[i] && all.all[i]->name == k_name);
    EXPECT(all.circles.size() == 20 && all.circles.at(3).next == &all.circles.at(4));
    for (const auto& [number, each] : all.circles)
        EXPECT(area_of(each) == 3.0 * number * number);
    EXPECT(all.all[4] == &all.circles.at(5) && area_of(*all.all[4]) == 75);
#if RELEASE >= 2
    EXPECT(all.added == 9);
    for (const figure* const each : all.all)
        EXPECT(each->level == 5);
    EXPECT(round->colour == circle().colour && all.circles.at(7).colour == circle().colour);
#endif
}

remanence::heap_options with_history() {
    remanence::heap_options how;
    how.history = {.bytes_max = 1 << 20, .kept_over_sessions = true};
    return how;
}

remanence::heap_options with_migration(remanence::heap_options how = {}) {
    auto changes = remanence::migrations().to<drawing>("drawing").to<drawing>("second").drop("gone");
#if RELEASE == 3
    changes.rename(remanence::renamed_class<"released::circle">::of<disc>());
#endif
    how.migrate = changes;
    return how;
}

void check_all(remanence::heap& heap) {
    for (const char* const each : {"drawing", "second"}) {
        if (const auto* const root = heap.find_root<drawing>(each))
            check_contents(*root);
    }
    EXPECT(heap.verify().clean());
    const auto lost = heap.leaks();
    EXPECT(lost.clean() && lost.blocks == 0);
}

void write(const char* path, bool has_other) {
    auto heap = remanence::heap::create(path, with_history());
    heap.write([&] {
        for (const char* const each : {"drawing", "second"})
            fill(heap, heap.root<drawing>(each));
        if (has_other) // a root that no release migrates
            heap.root<remanence::vector<figure*>>("other").push_back(heap.make<dot>());
    });
    check_all(heap);
    heap.keep("first");
    heap.close();
}

#ifndef WITHOUT_LINE
void add_line(const char* path) {
    auto heap = remanence::heap::open_existing(path);
    heap.write([&] { heap.root<drawing>("drawing").all.push_back(heap.make<line>()); });
    heap.close();
}
#endif

void read(const char* path) {
    {
        auto heap = remanence::heap::open_existing(path, with_migration());
        check_all(heap);
        heap.close();
    }
    auto heap = remanence::heap::open_existing(path); // without migration, as all is as it is here
    check_all(heap);
    heap.write([&] { // objects can be made and destroyed
        auto& all = heap.root<drawing>("drawing").all;
        all.push_back(heap.make<dot>());
        heap.destroy(static_cast<dot*>(all.back()));
        all.pop_back();
    });
    check_all(heap);
    heap.close();
}

/// Neither undo nor restore() leads to objects of classes that have changed.
void go_back(const char* path) {
    auto heap = remanence::heap::open_existing(path, with_migration(with_history()));
    check_all(heap);
    try {
        heap.undo();
        EXPECT(!"undone, to objects of other classes");
    } catch (const remanence::error& error) {
        EXPECT(error.reason() == remanence::errc::no_step);
    }
    heap.close();
    heap = remanence::heap::open_existing(path, with_history());
    try { // before a root is used
        heap.restore("first");
        EXPECT(!"restored, with objects of other classes");
    } catch (const remanence::error& error) {
        EXPECT(error.reason() == remanence::errc::type_mismatch);
    }
    check_all(heap);
    heap.write([&] { heap.root<drawing>("drawing").all.push_back(heap.make<dot>()); });
    heap.undo();
    heap.close();
    heap = remanence::heap::open_existing(path, with_history());
    check_all(heap);
    heap.close();
}

} // namespace

int main(int count, char** arguments) {
    try {
        const std::string_view mode = count == 3 ? arguments[1] : "";
        if (mode == "write" || mode == "write-other")
            write(arguments[2], mode == "write-other");
        else if (mode == "read")
            read(arguments[2]);
        else if (mode == "back")
            go_back(arguments[2]);
#ifndef WITHOUT_LINE
        else if (mode == "add-line")
            add_line(arguments[2]);
#endif
        else
            EXPECT(!"a mode");
    } catch (const remanence::error& error) {
        std::printf("%s\n", error.what());
        return 2;
    }
    return faults != 0;
}
