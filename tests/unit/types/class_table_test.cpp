#include "types/class_table.hpp"

#include "base/units.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace remanence::types {
namespace {

constexpr std::uint64_t k_place = k_page_bytes; // the first page is the header's

/// A heap's memory without blocks.
class plain_bytes final : public heap_bytes {
public:
    explicit plain_bytes(std::size_t count) : bytes_(count) {}
    [[nodiscard]] bool contains(std::uint64_t offset, std::uint64_t bytes) const override {
        return offset <= bytes_.size() && bytes <= bytes_.size() - offset;
    }
    result<std::byte*> at(std::uint64_t offset, std::uint64_t /*bytes*/) override { return bytes_.data() + offset; }
    result<std::optional<heap_range>> block_around(std::uint64_t /*offset*/) override {
        return std::optional<heap_range>();
    }
    [[nodiscard]] std::uint64_t block_bytes_for(std::uint64_t bytes, std::uint64_t /*alignment*/) const override {
        return bytes;
    }
    [[nodiscard]] std::byte* data() { return bytes_.data(); }
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }

private:
    std::vector<std::byte> bytes_;
};

class class_table : public testing::Test {
protected:
    class_table() : heap_(2 * k_page_bytes) {
        const format::class_table empty{format::k_classes_magic, format::k_classes_version, 0, 256,
                                        sizeof(format::class_table)};
        std::memcpy(heap_.data() + k_place, &empty, sizeof empty);
    }
    format::class_table& table() { return *reinterpret_cast<format::class_table*>(heap_.data() + k_place); }
    format::class_entry& first() { return *reinterpret_cast<format::class_entry*>(&table() + 1); }
    [[nodiscard]] bool is_sound() { return read_classes(heap_, k_place).has_value(); }

    plain_bytes heap_;
    const std::vector<stored_class> two_{{"6circle", 0, 24, {}, 0x1234},
                                         {"7diamond", 16, 0, {{0, -24, 48}, {48, -24, 16}}}};
};

TEST_F(class_table, returns_what_was_appended_until_it_is_full) {
    for (const stored_class& each : two_)
        EXPECT_TRUE(append_class(table(), each));
    EXPECT_EQ(read_classes(heap_, k_place), two_);
    EXPECT_FALSE(append_class(table(), {std::string(256, 'x'), 0, 0, {}}));
    EXPECT_EQ(read_classes(heap_, k_place), two_);
}

TEST_F(class_table, that_is_damaged_is_refused) {
    ASSERT_TRUE(append_class(table(), two_[1]));
    ASSERT_TRUE(is_sound());
    const auto is_refused_with = [&](auto& field, auto value) {
        const auto before = field;
        field = static_cast<std::remove_reference_t<decltype(field)>>(value);
        const bool is_refused = !is_sound();
        field = before;
        return is_refused;
    };
    EXPECT_TRUE(is_refused_with(table().magic, 1));
    EXPECT_TRUE(is_refused_with(table().version, 2));
    EXPECT_TRUE(is_refused_with(table().count, 2));
    EXPECT_TRUE(is_refused_with(table().count, 0xffffffff));
    EXPECT_TRUE(is_refused_with(table().bytes, heap_.size()));
    EXPECT_TRUE(is_refused_with(table().used_bytes, 0));
    EXPECT_TRUE(is_refused_with(table().used_bytes, 257));
    EXPECT_TRUE(is_refused_with(first().bytes, 0));
    EXPECT_TRUE(is_refused_with(first().bytes, 0xffffffff));
    EXPECT_TRUE(is_refused_with(first().virtual_bases, 0xffffffff));
    EXPECT_TRUE(is_refused_with(first().name_bytes, 0xffffffff));
    EXPECT_TRUE(is_refused_with(first().name_bytes, 0));
    EXPECT_TRUE(is_refused_with(table().count, 0)); // bytes are left over
    EXPECT_TRUE(is_refused_with(first().position, 12));
    EXPECT_TRUE(is_refused_with(first().object_bytes, 16)); // the vptr would lie behind the object
    ASSERT_TRUE(append_class(table(), two_[1]));
    EXPECT_FALSE(is_sound()) << "it is there twice";
    table().used_bytes = sizeof(format::class_table);
    table().count = 0;
    ASSERT_TRUE(append_class(table(), {std::string("no\0name", 7), 0, 0, {}}));
    EXPECT_FALSE(is_sound());
    for (const std::uint64_t place : {std::uint64_t{0}, k_place + 4, 2 * k_page_bytes - 8, ~std::uint64_t{0} - 7})
        EXPECT_FALSE(read_classes(heap_, place).has_value());
}

} // namespace
} // namespace remanence::types
