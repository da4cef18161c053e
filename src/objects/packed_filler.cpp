// Fills packed_map and packed_multimap (containers/detail/packed_leaf.hpp). Records are collected into leaves; the tree
// above the leaves is made at the end.
#include "objects/packed_filler.hpp"

#include "base/units.hpp"
#include "objects/shaped_filler.hpp"

#include <remanence/containers/detail/packed_leaf.hpp>
#include <remanence/containers/detail/text_keys.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace remanence::objects {

using detail::packed_leaf;
using detail::packed_record;
using detail::shape_kind;
using types::type_part;
using types::type_row;

namespace {

class filler_of_packed final : public shaped_filler {
public:
    filler_of_packed(object_builder& to, object_place container)
        : shaped_filler(to, container),
          rows_(inspect::rows_of_elements(is_)),
          has_several_(has_several_of_a_key(is_)) {}

    result<void> begin(std::uint64_t count) {
        count_ = count;
        return {};
    }
    result<element_place> add(std::uint64_t /*hash*/) override { // texts have no place until the record is complete
        return element_place{.value = {rows_.value, container_.at}, .has_key = true, .key = {rows_.key, container_.at}};
    }
    result<void> made() override {
        auto [key, value] = to_.texts_of_record();
        const packed_record record{key, value};
        if (key.size() + value.size() > detail::k_packed_record_bytes_max)
            return fail(errc::exhausted, "a record of " + std::to_string(key.size() + value.size()) +
                                             " bytes does not fit into a " + to_.schema().name_of(container_.row));
        if (has_key_ && (has_several_ ? key < last_key_ : key <= last_key_))
            return fail(errc::invalid_argument,
                        "a " + to_.schema().name_of(container_.row) + " gets " +
                            (key == last_key_ ? "a key that is there already"
                                              : "a key that does not come behind the one before it"));
        const std::uint64_t bytes = record.bytes() + packed_leaf::k_mark_bytes;
        if (record.is_large() || packed_leaf::k_header_bytes + bytes_ + bytes > detail::k_packed_leaf_bytes)
            REM_TRY(end_leaf());
        if (records_.empty() && has_key_)
            separator_ = shortest_between(last_key_, key);
        const bool is_large = record.is_large();
        last_key_ = key;
        has_key_ = true;
        bytes_ += bytes;
        records_.emplace_back(std::move(key), std::move(value));
        return is_large ? end_leaf() : result<void>();
    }
    result<void> finish() override {
        REM_TRY(end_leaf());
        const object_place tree{is_.parts[0].type, container_.at};
        auto filler = make_ordered_filler(to_, tree, leaves_.size());
        if (!filler)
            return filler.error();
        for (const leaf& each : leaves_) {
            auto place = (*filler)->add(0);
            if (!place)
                return place.error();
            const auto& separator = *members_of(to_.row(place->key.row));
            to_.put_word(place->key.at + *separator[0].offset, detail::text_head(each.separator));
            REM_TRY(to_.put_text({separator[1].type, place->key.at + *separator[1].offset}, each.separator));
            const auto& numbers = to_.row(place->value.row).numbers;
            to_.put_word(place->value.at, 0 - place->value.at); // the allocator: its distance to the heap's header
            to_.put_link(place->value.at + numbers[0], each.block);
            to_.put_word(place->value.at + numbers[1], each.bytes);
            to_.put_word(place->value.at + numbers[1] + k_word, each.bytes);
            REM_TRY((*filler)->made());
        }
        to_.put_word(container_.at + is_.numbers[0], count_);
        return (*filler)->finish();
    }

private:
    struct leaf {
        std::string separator;
        std::uint64_t block, bytes;
    };

    /// Returns the shortest text that can separate the last key of a leaf from the first key of the next one (PK1).
    static std::string shortest_between(const std::string& left, const std::string& right) {
        const auto common = std::mismatch(left.begin(), left.end(), right.begin(), right.end()).second - right.begin();
        return right.substr(0, static_cast<std::size_t>(common) + 1);
    }
    result<void> end_leaf() {
        if (records_.empty())
            return {};
        const std::uint64_t bytes = align_up(packed_leaf::k_header_bytes + bytes_, k_word); // rounded up (PL2)
        auto block = to_.allocate(bytes, 1);
        if (!block)
            return block.error();
        detail::packed_leaf_writer writer(to_.at(*block), bytes);
        for (const auto& [key, value] : records_)
            writer.add({key, value}, detail::packed_mark_of(key));
        writer.finish();
        leaves_.push_back({std::move(separator_), *block, bytes});
        separator_.clear();
        records_.clear();
        bytes_ = 0;
        return {};
    }

    inspect::element_rows rows_;
    bool has_several_;
    std::uint64_t count_ = 0;
    bool has_key_ = false;
    std::string last_key_;
    std::string separator_;                                    // separator before the leaf that is being filled
    std::vector<std::pair<std::string, std::string>> records_; // records of that leaf
    std::uint64_t bytes_ = 0;                                  // size of these records with their marks
    std::vector<leaf> leaves_;
};

} // namespace

bool is_packed_as_here(const types::type_description& schema, const type_row& container) {
    const type_row& tree = schema.rows[container.parts[0].type];
    const auto* const separator = members_of(schema.rows[tree.parts[0].type]);
    const type_row& block = schema.rows[tree.parts[1].type];
    if (container.numbers[0] != 5 * k_word || container.size != 6 * k_word || tree.size != 5 * k_word ||
        container.note != " packed " + std::to_string(detail::k_packed_layout) || separator == nullptr ||
        separator->size() != 2)
        return false;
    const auto has_place = [](const type_part& each) { return each.offset.has_value(); };
    if (!std::all_of(separator->begin(), separator->end(), has_place))
        return false;
    const type_row& head = schema.rows[(*separator)[0].type];
    const type_row& text = schema.rows[(*separator)[1].type];
    return head.shape == shape_kind::unsigned_number && head.size == k_word && text.shape == shape_kind::text_by_link &&
           text.numbers[0] == k_word && text.size == 4 * k_word && block.numbers[0] == k_word &&
           block.numbers[1] == 2 * k_word && block.size == 4 * k_word;
}

void for_each_block_of_packed(std::uint64_t records, std::uint64_t bytes,
                              const std::function<void(object_builder::layout, std::uint64_t)>& visit) {
    constexpr std::uint64_t k_record_most = 14;    // bytes of two lengths and a mark
    constexpr std::uint64_t k_leaf_least = 3072;   // a leaf has 4096 bytes, of which at most a quarter stays free
    constexpr std::uint64_t k_leaves_of_node = 14; // a node has at least so many leaves
    const std::uint64_t leaves = (bytes + records * k_record_most) / k_leaf_least + 1;
    visit({detail::k_packed_leaf_bytes, k_word}, leaves);
    visit({2 * detail::k_packed_leaf_bytes, k_word},
          leaves / k_leaves_of_node + 1); // nodes, and separators that have blocks of their own
}

result<std::unique_ptr<container_filler>> make_packed_filler(object_builder& builder, object_place container,
                                                             std::uint64_t count) {
    return begun<filler_of_packed>(builder, container, count);
}

} // namespace remanence::objects
