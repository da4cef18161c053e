#include "txn/follower.hpp"

#include <remanence/heap.hpp>

namespace remanence::detail {

void link_sharing() noexcept { txn::link_follower(); }

} // namespace remanence::detail
