// How containers of each shape are filled: object_builder.cpp says what is known of them.
#pragma once

#include "objects/object_builder.hpp"

#include <cstdint>
#include <memory>

namespace remanence::objects {

/// Makes the container empty. errc::exhausted.
result<std::unique_ptr<container_filler>> make_filler(object_builder& builder, object_place container,
                                                      std::uint64_t count);

} // namespace remanence::objects
