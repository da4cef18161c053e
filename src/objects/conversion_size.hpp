// Computes in advance how many bytes of blocks a conversion will allocate. For that it visits the old objects as the
// conversion will.
#pragma once

#include "objects/container_layout.hpp"
#include "objects/conversion.hpp"

#include <cstdint>
#include <vector>

namespace remanence::objects {

class conversion_size {
public:
    /// All arguments must outlive this object. The rows that add() visits must match.
    conversion_size(heap_source& source, object_builder& builder, const row_matching& rows)
        : source_(source), builder_(builder), rows_(rows) {}

    /// Adds an object that gets a block of its own. Of default values, only the blocks of containers are counted. The
    /// memory that functions of the program allocate is not known. errc::corrupt. O(objects).
    result<void> add(object_place from, std::uint32_t to);
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

private:
    result<void> visit(object_place from, std::uint32_t to, unsigned depth);
    result<void> visit_parts(object_place from, std::uint32_t to, unsigned depth);
    result<void> visit_packed(object_place from);
    result<void> visit_steps(const step_chain& chain, object_place from, std::uint32_t to, unsigned depth);
    void add_default(std::uint32_t to, unsigned depth);
    void add_container(std::uint32_t to, std::uint64_t count);
    void add_text(const types::type_row& is, std::uint64_t bytes);
    [[nodiscard]] bool may_own(std::uint32_t to);
    void add_block(const block_layout& of, std::uint64_t times = 1) {
        bytes_ += times * builder_.memory().bytes_of_block(of.bytes, of.alignment);
    }

    heap_source& source_;
    object_builder& builder_;
    const row_matching& rows_;
    std::uint64_t bytes_ = 0;
    std::vector<char> owners_; // for each row: whether its objects may own blocks
};

} // namespace remanence::objects
