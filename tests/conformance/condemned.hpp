// A child process that works on a heap until it is killed, by itself, where it was told to be; so a kill can be repeated.
#pragma once

#include "os/file.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace remanence::test {

using texts = std::vector<std::string>;

/// What the child told before it was killed.
struct last_words {
    texts committed; ///< contents that were acknowledged
    texts in_flight; ///< and those of the commit that it was in
    std::size_t failures;
};

/// The child's side.
class condemned {
public:
    virtual ~condemned() = default;
    virtual void say(const last_words& words) = 0;
    /// Kills when the process has begun and ended so many operations that change files, together.
    virtual void die_after(unsigned edges) = 0;
    [[noreturn]] static void die_now();

protected:
    condemned() = default;
    condemned(const condemned&) = default;
    condemned& operator=(const condemned&) = default;
};

/// The heaps of the child are on `files`, whose operations die_after() counts.
using condemned_work = std::function<void(condemned& child, os::file_system& files)>;

/// Forks; the child does `work`, which must end by its death. Throws `mismatch` when it ended otherwise, having said why on
/// standard error. No heap may be open.
last_words run_until_killed(const condemned_work& work);

} // namespace remanence::test
