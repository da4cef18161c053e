// For checks of containers that need not lie in a heap.
#pragma once

#include <remanence/types/detail/structure.hpp>

#include <cstddef>

namespace remanence::detail {

/// Takes every address for a block of the size that it should have.
class trusting_survey final : public block_survey {
public:
    [[nodiscard]] bool is_block(const void* first, std::size_t) const override { return first != nullptr; }
};

} // namespace remanence::detail
