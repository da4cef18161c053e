// One operation on a heap, for scripts/paths: paths_program OPERATION PATH. What measured() runs is counted, on its thread.
#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>

#include <functional>
#include <string>

namespace rem = remanence;

namespace release_1 {
struct book {
    rem::string title;
    int pages = 0;
};
} // namespace release_1
namespace release_2 {
struct book {
    rem::string title;
    long pages = 0;
    bool is_lent = false;
};
} // namespace release_2

[[gnu::noinline]] static void measured(const std::function<void()>& operation) { operation(); }

static void count(rem::heap& heap) {
    heap.write([&] { ++heap.root<long>("count"); });
}

int main(int, char** argv) {
    const std::string operation = argv[1];
    const std::string path = argv[2];
    if (operation == "commit") {
        rem::heap heap = rem::heap::create(path);
        auto& number = heap.root<long>("count");
        count(heap); // it begins the session
        ++number;
        measured([&] { heap.commit(); });
    } else if (operation == "open") {
        {
            rem::heap heap = rem::heap::create(path);
            count(heap);
        }
        measured([&] { rem::heap::open(path).close(); });
    } else if (operation == "undo") {
        rem::heap heap = rem::heap::create(path, {.history = {.steps_max = 10}});
        count(heap);
        count(heap);
        measured([&] { heap.undo(); });
    } else if (operation == "migration") {
        {
            rem::heap heap = rem::heap::create(path);
            heap.write([&] { heap.root<rem::vector<release_1::book>>("shelf").resize(3); });
        }
        rem::heap heap = rem::heap::open(path);
        const rem::migrations to_release_2 =
            rem::migrations().to<rem::vector<release_2::book>>("shelf").migrate<release_1::book, release_2::book>(
                [](const release_1::book&, release_2::book&) {});
        measured([&] { to_release_2(heap); });
    } else {
        return 2;
    }
    return 0;
}
