// How containers of each shape are filled: object_builder.cpp says what is known of them. A file has the shapes of a kind.
#pragma once

#include "objects/object_builder.hpp"

#include <cstdint>
#include <memory>

namespace remanence::objects {

/// What all of them are made of.
class shaped_filler : public container_filler {
public:
    shaped_filler(object_builder& to, object_place container)
        : to_(to), container_(container), is_(to.row(container.row)) {}

protected:
    object_builder& to_;
    const object_place container_;
    const types::type_row& is_;
};

/// Where the key of an element is.
inline object_place key_of(const element_place& element) { return element.has_key ? element.key : element.value; }

/// A filler whose container is empty, and knows how many elements it gets.
template <class Filler>
result<std::unique_ptr<container_filler>> begun(object_builder& builder, object_place container, std::uint64_t count) {
    auto filler = std::make_unique<Filler>(builder, container);
    REM_TRY(filler->begin(count));
    return std::unique_ptr<container_filler>(std::move(filler));
}

// Each makes the container empty. errc::exhausted; errc::invalid_argument where the schema says what cannot be.
result<std::unique_ptr<container_filler>> make_sequence_filler(object_builder& builder, object_place container,
                                                               std::uint64_t count);
result<std::unique_ptr<container_filler>> make_ordered_filler(object_builder& builder, object_place container,
                                                              std::uint64_t count);
result<std::unique_ptr<container_filler>> make_packed_filler(object_builder& builder, object_place container,
                                                             std::uint64_t count);
result<std::unique_ptr<container_filler>> make_hash_filler(object_builder& builder, object_place container,
                                                           std::uint64_t count);

} // namespace remanence::objects
