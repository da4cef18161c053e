// Objects of a process that are there before anything of it runs, and stay when all else ends.
#pragma once

namespace remanence {

/// For a static object, `constinit`: its constructor is carried out by the compiler, its destructor never. So static objects of users may
/// use it in theirs, and no thread is ever in the midst of making it, for whose end a child that is forked then would wait.
template <class T>
union undying {
    constexpr undying() : value() {}
    undying(const undying&) = delete;
    undying& operator=(const undying&) = delete;
    ~undying() {} // NOLINT(modernize-use-equals-default): it would be deleted

    T value;
};

} // namespace remanence
