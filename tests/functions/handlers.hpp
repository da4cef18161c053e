// Functions that a heap points to. They lie in the program, or in a shared library of it.
#pragma once

#define EXPORTED __attribute__((visibility("default")))

using handler = int (*)(int);

namespace app {

EXPORTED int opened(int);
EXPORTED int closed(int);
EXPORTED int same_as_other(int);
EXPORTED int other(int);
EXPORTED handler hidden_one();  // returns a function that its module does not export
EXPORTED handler own_one();     // returns a static function
EXPORTED handler half_of_own(); // returns the module's copy of half()
EXPORTED handler own_twin();    // returns a static function, of which the program has one, too

struct counter {
    EXPORTED static int count(int n);
};
EXPORTED inline int half(int n) { return n / 2; }
template <int N>
int plus(int n) {
    return n + N;
}

} // namespace app

extern "C" EXPORTED int on_key(int);
