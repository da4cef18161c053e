#include "share/coordination.hpp"
#include "txn/follower.hpp"

#include <remanence/heap.hpp>

namespace remanence::detail {

void link_sharing() noexcept {
    share::link();
    txn::link_follower();
}

} // namespace remanence::detail
