// When a heap learns what the types of its roots consist of, and what it says of classes whose members changed.
#include "unit/api/fixture.hpp"

#include "api/heap_impl.hpp"
#include "api/registry.hpp"
#include "types/schema_table.hpp"

#include <remanence/types/reflect.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace stored_schema_test {

struct address {
    remanence::string street, city;
    int zip = 0;
};
class account {
public:
    int number = 0;

private:
    [[maybe_unused]] int level_ = 0;
    REM_REFLECT((), number, level_);
};

} // namespace stored_schema_test

template <>
inline constexpr bool remanence::enable_persistable<stored_schema_test::account> = true;

namespace remanence::test {
namespace {

using namespace stored_schema_test;

class stored_schema : public testing::Test {
protected:
    heap create() { return heap::create(file_, small_heap()); }
    static detail::heap_impl& impl_of(heap& of) { return *detail::registry::find(of.base()); }
    static std::uint64_t& table_word(heap& of) { return impl_of(of).memory().header().type_table; }
    static std::vector<types::stored_schema> stored(heap& of) {
        types::memory_bytes bytes(impl_of(of).memory());
        return *types::read_schemas(bytes, "the heap", table_word(of));
    }
    template <class T>
    static types::type_description schema_in(heap& of) {
        const auto& type = detail::fingerprint_of<T>();
        const auto all = stored(of);
        return **types::schema_of(all, type.hash, type.algorithm, "the heap");
    }

    temp_dir dir_;
    const fs::path file_ = dir_ / "h";
};

TEST_F(stored_schema, is_there_after_the_commit_that_makes_a_root) {
    heap h = create();
    h.root<btree_map<string, address>>("people");
    h.root<btree_map<string, address>>("others");
    h.root<int>("count");
    EXPECT_EQ(stored(h).size(), 2U);
    const auto schema = schema_in<btree_map<string, address>>(h);
    EXPECT_EQ(schema.name_of(schema.root), "rem::btree_map<rem::string, stored_schema_test::address>");
}

TEST_F(stored_schema, comes_to_an_older_heap_with_a_commit_that_happens_anyhow) {
    {
        heap h = create();
        h.root<address>("home");
        h.root<int>("count");
        h.write([&] { table_word(h) = 0; }); // as an older release leaves it
        h.close();
    }
    heap h = heap::open_existing(file_, small_heap());
    address* const home = h.find_root<address>("home");
    EXPECT_EQ(table_word(h), 0U) << "opening and finding write nothing";
    h.write([&] { home->zip = 1; });
    EXPECT_EQ(stored(h).size(), 1U) << "of the root that the program has found";
    h.write([&] { ++*h.find_root<int>("count"); });
    EXPECT_EQ(stored(h).size(), 2U);
}

TEST_F(stored_schema, is_left_out_when_no_root_has_the_type_any_more) {
    heap h = create();
    h.root<address>("home");
    EXPECT_NE(table_word(h), 0U);
    h.remove_root<address>("home");
    EXPECT_EQ(table_word(h), 0U);
    h.root<address>("home");
    h.root<int>("count");
    h.remove_root<address>("home");
    EXPECT_EQ(stored(h).size(), 1U);
}

TEST_F(stored_schema, that_is_damaged_is_renewed) {
    heap h = create();
    h.root<address>("home");
    h.write([&] { table_word(h) = 12345; });
    h.write([&] { h.find_root<address>("home")->zip = 1; });
    EXPECT_EQ(stored(h).size(), 1U);
}

TEST_F(stored_schema, is_rolled_back_with_the_root) {
    heap h = create();
    h.root<int>("count");
    const std::uint64_t before = table_word(h);
    EXPECT_THROW(h.write([&] {
        h.root<address>("home");
        throw 1;
    }),
                 int);
    EXPECT_EQ(table_word(h), before);
    h.write([&] { ++*h.find_root<int>("count"); });
    EXPECT_EQ(stored(h).size(), 1U) << "no root has the other type";
}

TEST_F(stored_schema, of_a_class_that_says_other_members_now_is_a_mismatch_in_words) {
    heap h = create();
    h.root<account>("account");
    detail::type_fingerprint changed = detail::fingerprint_of<account>();
    changed.classes_hash ^= 1;
    // A program whose class has another name for its second member: the same structure but for that.
    changed.structure = [](detail::structure_writer& out) {
        static constexpr char k_names[] = "numberrank_";
        static constexpr std::uint32_t k_ends[] = {6, 11};
        static constexpr detail::write_type k_types[] = {&detail::write_structure<int>, &detail::write_structure<int>};
        static constexpr detail::member_table k_members{k_types,
                                                        k_names,
                                                        k_ends,
                                                        [](std::uintptr_t place, const volatile void** into) {
                                                            into[0] = reinterpret_cast<const volatile void*>(place);
                                                            into[1] = reinterpret_cast<const volatile void*>(place + 4);
                                                        },
                                                        2,
                                                        true};
        static constexpr detail::type_shape k_shape{.kind = detail::shape_kind::members, .members = &k_members};
        out.object(typeid(account), 8, 4, 0, nullptr);
        out.shape(k_shape);
    };
    try {
        static_cast<void>(detail::find_root(&impl_of(h), "account", changed, {}));
        FAIL() << "it was found";
    } catch (const error& stop) {
        EXPECT_EQ(stop.reason(), errc::type_mismatch);
        EXPECT_NE(std::string(stop.what())
                      .find("member 2 of stored_schema_test::account was \"int level_\", is \"int rank_\""),
                  std::string::npos)
            << stop.what();
    }
}

} // namespace
} // namespace remanence::test
