// Classes of C++, kept: virtual functions, strings and containers of the standard library, owning pointers: classes DIRECTORY. Each
// start checks what the earlier ones made, prints how many there are, and adds a hundred.
#include <softpm.h>

#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr int k_magic = 3;
constexpr int k_added = 100;

struct shape {
    shape() = default;
    shape(const shape&) = delete;
    shape& operator=(const shape&) = delete;
    virtual ~shape() = default;
    [[nodiscard]] virtual long area() const = 0;
};
struct square : shape {
    explicit square(long given) : side(given) {}
    [[nodiscard]] long area() const override { return side * side; }
    long side;
};
struct hexagon : shape {
    explicit hexagon(long given) : side(given) {}
    [[nodiscard]] long area() const override { return 3 * side * side; }
    long side;
};

struct drawing {
    std::map<std::string, std::unique_ptr<shape>> shapes;
    std::vector<std::string> names;
    std::list<const shape*> order;
    std::shared_ptr<std::string> title = std::make_shared<std::string>("a title that takes memory of its own");
    long area = 0;
};
struct root {
    drawing* all;
};

bool is_sound(const drawing& of) {
    long by_name = 0;
    long by_order = 0;
    for (const std::string& name : of.names)
        by_name += of.shapes.at(name)->area();
    for (const shape* each : of.order)
        by_order += each->area();
    return by_name == of.area && by_order == of.area && *of.title == "a title that takes memory of its own";
}

void add(drawing& to, long number) {
    std::string name = "a name that takes memory of its own: " + std::to_string(number);
    std::unique_ptr<shape>& added = to.shapes[name];
    if (number % 2 == 0)
        added = std::make_unique<square>(number);
    else
        added = std::make_unique<hexagon>(number);
    to.area += added->area();
    to.order.push_back(added.get());
    to.names.push_back(std::move(name));
}

} // namespace

int main(int /*count*/, char** arguments) {
    cattr how{};
    how.directory = arguments[1];
    pCSetAttr(0, &how);
    root* kept = nullptr;
    int id = pCRestoreAs(k_magic, &kept);
    if (id < 0) {
        id = pCAlloc(k_magic, sizeof *kept, reinterpret_cast<void**>(&kept));
        if (id > 0)
            kept->all = new drawing;
    }
    if (id < 0 || !is_sound(*kept->all)) {
        std::puts(pStatus());
        return 1;
    }
    std::printf("%zu shapes\n", kept->all->shapes.size());
    for (int i = 0; i < k_added; ++i)
        add(*kept->all, static_cast<long>(kept->all->names.size()));
    return pPoint(id) == 0 && pSync(id) == 0 ? 0 : 1;
}
