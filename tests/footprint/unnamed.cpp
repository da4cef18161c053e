// Opens a heap with options, but names no part: it must have none, without optimization, too. What needs one is refused.
#include <remanence/remanence.hpp>

#include <iostream>

int main() {
    remanence::heap_options options;
    options.log.lazy_interval = std::chrono::milliseconds(100);
    remanence::heap::open("unnamed.rem", options).close();
    options.history.steps_max = 5; // of what names none
    try {
        const remanence::heap heap = remanence::heap::open("unnamed.rem", options);
    } catch (const remanence::error& refused) {
        std::cout << refused.what() << '\n';
        return refused.reason() == remanence::errc::not_supported ? 0 : 1;
    }
    return 1;
}
