// Declares the functions that fill containers. There is one source file for each kind of shape.
// object_builder.cpp checks that the layout of a container is known.
#pragma once

#include "objects/object_builder.hpp"

#include <cstdint>
#include <memory>

namespace remanence::objects {

class shaped_filler : public container_filler {
public:
    shaped_filler(object_builder& to, object_place container)
        : to_(to), container_(container), is_(to.row(container.row)) {}

protected:
    object_builder& to_;
    const object_place container_;
    const types::type_row& is_;
};

inline object_place key_of(const element_place& element) { return element.has_key ? element.key : element.value; }

/// Makes a filler for an empty container, and tells it how many elements will come.
template <class Filler>
result<std::unique_ptr<container_filler>> begun(object_builder& builder, object_place container, std::uint64_t count) {
    auto filler = std::make_unique<Filler>(builder, container);
    REM_TRY(filler->begin(count));
    return std::unique_ptr<container_filler>(std::move(filler));
}

// Each of these functions makes the container empty and returns its filler. errc::exhausted; errc::invalid_argument if
// the schema describes an impossible container.
result<std::unique_ptr<container_filler>> make_sequence_filler(object_builder& builder, object_place container,
                                                               std::uint64_t count);
result<std::unique_ptr<container_filler>> make_ordered_filler(object_builder& builder, object_place container,
                                                              std::uint64_t count);
result<std::unique_ptr<container_filler>> make_packed_filler(object_builder& builder, object_place container,
                                                             std::uint64_t count);
result<std::unique_ptr<container_filler>> make_hash_filler(object_builder& builder, object_place container,
                                                           std::uint64_t count);

} // namespace remanence::objects
