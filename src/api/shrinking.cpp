// heap::shrink(). A separate file, so that programs that do not call it do not link it.
#include "api/heap_impl.hpp"
#include "api/raise.hpp"

namespace remanence {

std::uint64_t heap::shrink() {
    detail::heap_impl* const impl = detail::checked(impl_);
    std::uint64_t shorter = 0;
    {
        const os::no_cancellation whole;
        detail::exclusively(impl, [&] {
            const detail::whole_call shrinking(impl->calls);
            auto done = impl->engine().shrink();
            if (!done)
                detail::raise(done.why());
            shorter = *done;
        });
    }
    os::end_if_cancelled();
    return shorter;
}

} // namespace remanence
