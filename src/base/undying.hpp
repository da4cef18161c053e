// Static objects that are constructed before any code runs, and are never destroyed.
#pragma once

namespace remanence {

/// Holds a static object (`constinit`): the compiler evaluates its constructor, and its destructor never runs. So
/// constructors and destructors of users' static objects may use it. A fork never happens while another thread is
/// constructing it, which would leave the child waiting.
template <class T>
union undying {
    constexpr undying() : value() {}
    undying(const undying&) = delete;
    undying& operator=(const undying&) = delete;
    ~undying() {} // NOLINT(modernize-use-equals-default): it would be deleted

    T value;
};

} // namespace remanence
