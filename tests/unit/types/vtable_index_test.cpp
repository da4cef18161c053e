#include "types/vtable_index.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace remanence::types {

class indexed_top {
public:
    indexed_top() = default;
    indexed_top(const indexed_top&) = delete;
    indexed_top& operator=(const indexed_top&) = delete;
    virtual ~indexed_top() = default;
    [[nodiscard]] virtual int number() const { return top_; }

private:
    int top_ = 1;
};
class indexed_left : public virtual indexed_top {
public:
    [[nodiscard]] int number() const override { return left_; }
    int left_ = 2;
};
class indexed_right : public virtual indexed_top {
public:
    int right_ = 3;
};
class indexed_bottom : public indexed_left, public indexed_right {
public:
    [[nodiscard]] int number() const override { return bottom_; }
    int bottom_ = 4;
};
class indexed_single : public indexed_top {
public:
    [[nodiscard]] int number() const override { return 5; }
};

namespace {

std::uint64_t vptr_of(const void* subobject) {
    std::uint64_t value = 0;
    std::memcpy(&value, subobject, sizeof value);
    return value;
}

TEST(vtable_index, finds_class_and_position_of_each_vptr_of_an_object) {
    const vtable_index index;
    const indexed_bottom object;
    const auto place_of = [&](const void* subobject) {
        return static_cast<std::uint32_t>(static_cast<const char*>(subobject) - reinterpret_cast<const char*>(&object));
    };
    const indexed_left* const left = &object;
    const indexed_right* const right = &object;
    const indexed_top* const top = &object;
    for (const void* const each : std::vector<const void*>{left, right, top}) {
        const vtable* const found = index.at(vptr_of(each));
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(index.name_of(*found), typeid(indexed_bottom).name());
        EXPECT_EQ(found->position, place_of(each));
        EXPECT_EQ(index.find(index.name_of(*found), found->position, index.virtual_bases_of(*found)), found);
        EXPECT_GE(index.functions_of(*found), each == right ? 0U : 3U);
    }
    const std::vector<virtual_base> bases = index.virtual_bases_of(*index.at(vptr_of(left)));
    ASSERT_EQ(bases.size(), 2U); // one, from two subobjects
    EXPECT_EQ(bases[0].position + bases[0].offset, place_of(top));
    EXPECT_EQ(bases[1].position + bases[1].offset, place_of(top));
}

TEST(vtable_index, tells_a_class_from_the_same_class_under_construction) {
    const vtable_index index;
    const indexed_left alone;
    const indexed_bottom derived; // its indexed_left has a vtable of its own while it is constructed
    const vtable* const found = index.at(vptr_of(&alone));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(index.find(typeid(indexed_left).name(), 0, index.virtual_bases_of(*found)), found);
    EXPECT_EQ(derived.number(), 4);
}

TEST(vtable_index, does_not_take_other_words_for_vptrs) {
    const vtable_index index;
    const indexed_single object;
    const std::uint64_t vptr = vptr_of(&object);
    ASSERT_NE(index.at(vptr), nullptr);
    for (const std::uint64_t other :
         {std::uint64_t{0}, vptr - 16, vptr - 8, vptr + 8, ~std::uint64_t{0},
          reinterpret_cast<std::uint64_t>(&typeid(indexed_single)), reinterpret_cast<std::uint64_t>(&object)})
        EXPECT_EQ(index.at(other), nullptr);
    EXPECT_EQ(index.find("no class", 0, {}), nullptr);
    EXPECT_EQ(index.find(typeid(indexed_single).name(), 8, {}), nullptr);
}

TEST(vtable_index, is_made_once_for_the_same_modules) { EXPECT_EQ(vtable_index::present(), vtable_index::present()); }

} // namespace
} // namespace remanence::types
