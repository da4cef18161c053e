// Makes a container as another version of softpm might have, whose directory has other members: foreign FILE.
#include <remanence/heap.hpp>

namespace foreign {
struct directory {
    unsigned version = 1;
    int magic = 1;
};
} // namespace foreign

int main(int count, char** arguments) {
    if (count < 2)
        return 1;
    remanence::heap_options options;
    options.checks.application = "softpm";
    remanence::heap made = remanence::heap::create(arguments[1], options);
    made.write([&] { made.root<foreign::directory>("softpm"); });
    made.sync();
}
