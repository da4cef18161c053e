// Descriptors 0, 1 and 2, for a program that was started without some of them.
#pragma once

namespace remanence::tool {

/// Opens those of descriptors 0, 1 and 2 that are closed, in such a way that reading and writing them still fail.
/// Otherwise a file that is opened later could become standard output, and text for it could be written into a heap.
void take_standard_descriptors() noexcept;

} // namespace remanence::tool
