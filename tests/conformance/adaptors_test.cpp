// std::stack, queue and priority_queue on containers of the heap, and vector<bool>, against their models.

#include "sequences.hpp"

#include "types/pointer_check.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <queue>
#include <stack>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace remanence::test {

/// An adaptor whose elements can be seen.
template <class Adaptor>
class seen_through : public Adaptor {
public:
    using allocator_type = typename Adaptor::container_type::allocator_type;
    using Adaptor::Adaptor;

    [[nodiscard]] auto begin() const { return this->c.begin(); }
    [[nodiscard]] auto end() const { return this->c.end(); }
    [[nodiscard]] allocator_type get_allocator() const { return this->c.get_allocator(); }
};

} // namespace remanence::test

template <class Adaptor>
inline constexpr bool remanence::enable_persistable<remanence::test::seen_through<Adaptor>> =
    remanence::persistable<Adaptor>;

namespace remanence::test {
namespace {

struct adaptor {
    static constexpr bool k_ordered = true;

    template <class C>
    static std::string apply(C& c, const operation& o) {
        using element = typename C::value_type;
        const auto made = [&] { return make_element<element>(o.text(), o.is_foreign()); };
        switch (o.choice % 9) {
        case 0:
        case 1:
            c.push(made());
            break;
        case 2: {
            const element copied = made();
            c.push(copied);
            break;
        }
        case 3:
            c.emplace(raw<element>(o.text()));
            break;
        case 4:
        case 5:
            if (!c.empty()) {
                std::string next = text_of(next_of(c));
                c.pop();
                return next;
            }
            break;
        case 6: {
            C copy(c, c.get_allocator());
            copy.push(made());
            if (o.position % 2 == 0)
                c = copy;
            else
                c = std::move(copy);
            break;
        }
        case 7: {
            C outside = empty_outside<C>();
            outside.push(made());
            outside.push(make_element<element>(o.key_text(), true));
            if (o.position % 4 == 0)
                c = std::move(outside);
            break;
        }
        default: {
            C other(empty_like(c));
            other.push(made());
            if (o.position % 8 == 0)
                c.swap(other);
            break;
        }
        }
        return std::to_string(c.size());
    }

    static bool is_strong(const operation&) { return false; }

private:
    template <class C>
    static const auto& next_of(const C& c) {
        if constexpr (requires { c.top(); })
            return c.top();
        else
            return c.front();
    }
};

template <class Element>
class adaptors : public testing::Test {};
#if defined(REMANENCE_ALL_TESTS)
using elements = testing::Types<int, string, record, fragile, serialised>;
#else // of each guest two kinds of elements are compiled
using elements = testing::Types<int, fragile>;
#endif
TYPED_TEST_SUITE(adaptors, elements);

TYPED_TEST(adaptors, stack_conforms) {
    using model = modelled_by<TypeParam>;
    expect_conformance<adaptor, seen_through<std::stack<TypeParam, vector<TypeParam>>>,
                       seen_through<std::stack<model, std::vector<model>>>>();
}
TYPED_TEST(adaptors, queue_conforms) {
    using model = modelled_by<TypeParam>;
    expect_conformance<adaptor, seen_through<std::queue<TypeParam, deque<TypeParam>>>,
                       seen_through<std::queue<model, std::deque<model>>>>();
}
TYPED_TEST(adaptors, priority_queue_conforms) {
    using model = modelled_by<TypeParam>;
    expect_conformance<adaptor, seen_through<std::priority_queue<TypeParam, vector<TypeParam>>>,
                       seen_through<std::priority_queue<model, std::vector<model>>>>();
}

struct bits {
    static constexpr bool k_ordered = true;

    template <class C>
    static std::string apply(C& c, const operation& o) {
        const bool bit = o.key % 2 == 0;
        switch (o.choice % 12) {
        case 0:
        case 1:
            c.push_back(bit);
            break;
        case 2:
            c.insert(at(c, o.position), bit);
            break;
        case 3:
            c.insert(at(c, o.position), o.text_bytes, bit);
            break;
        case 4: {
            const auto from = at(c, o.position);
            if (from != c.end())
                c.erase(from);
            break;
        }
        case 5:
            if (!c.empty())
                c.pop_back();
            break;
        case 6:
            c.flip();
            break;
        case 7:
            if (!c.empty())
                c[o.position % c.size()] = bit;
            break;
        case 8:
            c.resize(o.text_bytes * 3, bit);
            break;
        case 9: {
            C copy(c, c.get_allocator());
            copy.push_back(bit);
            if (o.position % 2 == 0)
                c = copy;
            else
                c = std::move(copy);
            break;
        }
        case 10: {
            C outside = empty_outside<C>();
            outside.assign(o.text_bytes, bit);
            outside.push_back(!bit);
            if (o.position % 4 == 0)
                c = std::move(outside);
            else
                c.insert(at(c, o.position), outside.begin(), outside.end());
            break;
        }
        default: {
            C other(empty_like(c));
            other.push_back(bit);
            if (o.position % 4 == 0)
                c.swap(other);
            c.shrink_to_fit();
            if (c.size() > 2000)
                c.clear();
            break;
        }
        }
        return std::to_string(c.size());
    }

    static bool is_strong(const operation&) { return false; }
};
TEST(sequences_of_bits, vector_of_bool_conforms) {
    if (types::checks_pointers())
        GTEST_SKIP() << "47 bits that are set are a stack's address to the check of pointers";
    expect_conformance<bits, vector<bool>, std::vector<bool>>();
}

} // namespace
} // namespace remanence::test
