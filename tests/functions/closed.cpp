// A file of its own, since some programs lack it, or load it later.
#include "handlers.hpp"

namespace app {

#ifdef HANDLERS_REORDERED
EXPORTED int reopened(int n) { return n * n; }
EXPORTED int reclosed(int n) { return n * n * n; }
#endif

int closed(int n) { return n + 2; }

} // namespace app
