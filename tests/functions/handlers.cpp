#include "handlers.hpp"

namespace app {

#ifdef HANDLERS_REORDERED
int one_more(int n) { return n * 1000; }
EXPORTED handler which_one_more() { return one_more; }
int counter::count(int n) { return n + 3; }
#endif

__attribute__((visibility("hidden"))) int hidden(int n) { return n + 5; }
static int own(int n) { return n + 6; }
static int twin(int n) { return n + 7; }

handler own_twin() { return twin; }
handler half_of_own() { return half; }
handler own_one() { return own; }
handler hidden_one() { return hidden; }

int other(int n) { return n + 8; }
int same_as_other(int n) { return n + 8; }
#ifndef HANDLERS_REORDERED
int counter::count(int n) { return n + 3; }
#endif
int opened(int n) { return n + 1; }

} // namespace app

int on_key(int n) { return n + 4; }
