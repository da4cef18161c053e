// Old versions that are opened in place. Apart from all else, so that their code is in programs that open one, and in no others.

#include "txn/version_opening.hpp"

#include <remanence/heap.hpp>

namespace remanence::detail {

void link_versions() noexcept { txn::link_version_opening(); }

} // namespace remanence::detail
