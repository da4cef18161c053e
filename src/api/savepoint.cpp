#include "api/heap_impl.hpp"
#include "api/raise.hpp"

#include <utility>

namespace remanence {

savepoint heap::savepoint() {
    detail::heap_impl* const impl = detail::checked(impl_);
    if (impl->sections.write_depth() == 0) {
        detail::raise(errc::outside_section,
                      "a savepoint of " + impl->origin.path.string() +
                          " was asked for outside of write sections. Make it in a write section.",
                      impl->origin.path.string());
    }
    return remanence::savepoint(impl);
}

savepoint::savepoint(detail::heap_impl* of) : impl_(of->watch()), number_(of->make_savepoint()) {}

savepoint::savepoint(savepoint&& other) noexcept
    : impl_(std::exchange(other.impl_, {})), number_(std::exchange(other.number_, 0)) {}

savepoint& savepoint::operator=(savepoint&& other) noexcept {
    if (this != &other) {
        release();
        impl_ = std::exchange(other.impl_, {});
        number_ = std::exchange(other.number_, 0);
    }
    return *this;
}

savepoint::~savepoint() { release(); }

void savepoint::rollback() {
    detail::heap_impl* const of = impl();
    if (of == nullptr)
        detail::raise(errc::closed, "the heap of this savepoint is closed.");
    of->roll_back_to(number_);
}

void savepoint::release() noexcept {
    if (detail::heap_impl* const of = impl())
        of->engine().points().end(number_);
}

bool savepoint::is_open() const noexcept {
    detail::heap_impl* const of = impl();
    return of != nullptr && of->engine().points().has(number_);
}

detail::heap_impl* savepoint::impl() const noexcept {
    const std::shared_ptr<detail::heap_impl*> watched = impl_.lock();
    return watched && (*watched)->origin.same_process() ? *watched : nullptr;
}

} // namespace remanence
