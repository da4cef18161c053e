#include "capi/callbacks.hpp"

#include "api/raise.hpp"

#include <utility>

namespace remanence::capi {

namespace {

constinit thread_local callback* innermost = nullptr; // NOLINT: one for each thread

} // namespace

callback::callback(detail::heap_impl& of)
    : of_(of),
      writes_(of.sections.write_depth()),
      reads_(of.sections.read_depth()),
      outer_(std::exchange(innermost, this)) {}

callback::~callback() { innermost = outer_; }

const callback* callback::innermost_of(const detail::heap_impl& of) noexcept {
    const callback* found = innermost;
    while (found != nullptr && &found->of_ != &of)
        found = found->outer_;
    return found;
}

std::size_t callback::writes_within(const detail::heap_impl& of) {
    const callback* const found = innermost_of(of);
    return of.sections.write_depth() - (found == nullptr ? 0 : found->writes_);
}

std::size_t callback::reads_within(const detail::heap_impl& of) {
    const callback* const found = innermost_of(of);
    return of.sections.read_depth() - (found == nullptr ? 0 : found->reads_);
}

void callback::refuse_close(const detail::heap_impl& of) {
    if (innermost_of(of) == nullptr)
        return;
    const std::string path = of.origin.path.string();
    detail::raise(
        errc::section_open,
        path + " cannot be closed by a function that a call of this heap runs. Close it when that call has returned.",
        path);
}

void callback::end() const {
    const bool is_in_section = writes_ != 0 || reads_ != 0;
    const bool has_left_some = of_.sections.write_depth() > writes_ || of_.sections.read_depth() > reads_;
    if (!is_in_section || !has_left_some)
        return;
    while (of_.sections.read_depth() > reads_)
        of_.sections.leave_read();
    while (of_.sections.write_depth() > writes_)
        of_.abandon_write();
    const std::string path = of_.origin.path.string();
    detail::raise(errc::section_open,
                  "a function that a call of " + path +
                      " ran has left a section open, which was rolled back. End each section where it began.",
                  path);
}

} // namespace remanence::capi
