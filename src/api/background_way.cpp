#include "api/background_way.hpp"

#include "os/blocked_signals.hpp"

#include <cstdint>
#include <new>

namespace remanence::detail {

background_way::background_way(txn::engine& engine) : engine_(engine) {
    const os::blocked_signals none;
    thread_ = std::thread([this] { run(); });
}

background_way::~background_way() {
    ends_ = true;
    engine_.shared()->protocol().call_own();
    thread_.join();
}

void background_way::run() {
    for (;;) {
        // Read before let_checkpoint_pass(), so that wait_for_call() returns at once if a call comes after this line.
        const std::uint32_t calls = engine_.shared()->protocol().calls();
        if (ends_)
            return;
        try {
            (void)engine_.shared()->let_checkpoint_pass();
        } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): a later attempt may find memory
        }
        engine_.shared()->protocol().wait_for_call(calls);
    }
}

} // namespace remanence::detail
