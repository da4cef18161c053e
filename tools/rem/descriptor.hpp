// Descriptors 0, 1 and 2, for a program that was started without some of them.
#pragma once

namespace remanence::tool {

/// Those of them that are closed are open from now on, and as good as closed to whoever reads or writes them. Nothing that is opened
/// later becomes one of them: what is printed to a standard output that is not there must not go into a heap.
void take_standard_descriptors() noexcept;

} // namespace remanence::tool
