// Runs random operations on a container in a heap and on its std model side by side, with commits, rollbacks, crashes
// of elements and reopenings among them. After each operation both hold the same, and all of it lies in the heap.
//
// An adapter says what the operations of a family of containers are:
//     template <class C> static std::string apply(C&, const operation&);  // the result, as far as one can see it
//     static bool is_strong(const operation&);  // whether a failure leaves the container as it was
//     static constexpr bool k_ordered;            // whether the order of elements is defined
//     static bool is_announced(const operation&); // for our own containers: whether they announce all that it changes
#pragma once

#include "elements.hpp"

#include "support/btree_inspector.hpp"
#include "support/hash_inspector.hpp"
#include "support/temp_dir.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace remanence::test {

/// One step; what the numbers mean is up to the adapter.
struct operation {
    enum class kind { change, change_in_section, fail, commit, rollback, reopen, commit_and_reopen };
    kind what;
    unsigned choice;     ///< which of the adapter's operations
    unsigned position;   ///< where, modulo the container's size
    unsigned key;        ///< from few, so that they meet again
    unsigned text_bytes; ///< 0 to 200
    unsigned fuse;       ///< with `fail`: which use of an element throws

    [[nodiscard]] std::string key_text() const { return pattern(key * 37 % 201, key); }
    [[nodiscard]] std::string text() const { return pattern(text_bytes, text_bytes * 7 + choice); }

    /// Whether elements come from outside all heaps.
    [[nodiscard]] bool is_foreign() const { return key % 2 == 0; }

    friend std::ostream& operator<<(std::ostream& out, const operation& o) {
        return out << "{kind " << static_cast<int>(o.what) << ", choice " << o.choice << ", position " << o.position
                   << ", key " << o.key << ", text " << o.text_bytes << ", fuse " << o.fuse << '}';
    }

private:
    static std::string pattern(std::size_t bytes, unsigned seed) {
        std::string text(bytes, ' ');
        for (std::size_t i = 0; i < bytes; ++i)
            text[i] = static_cast<char>('a' + (seed + i * (1 + seed % 5)) % 26);
        return text;
    }
};

inline rc::Gen<operation> any_operation() {
    using kind = operation::kind;
    return rc::gen::build<operation>(
        rc::gen::set(&operation::what, rc::gen::weightedElement<kind>({{66, kind::change},
                                                                       {4, kind::change_in_section},
                                                                       {20, kind::fail},
                                                                       {3, kind::commit},
                                                                       {5, kind::rollback},
                                                                       {1, kind::reopen},
                                                                       {1, kind::commit_and_reopen}})),
        rc::gen::set(&operation::choice, rc::gen::inRange(0U, 1000U)),
        rc::gen::set(&operation::position, rc::gen::inRange(0U, 1000U)),
        rc::gen::set(&operation::key, rc::gen::inRange(0U, 40U)),
        rc::gen::set(&operation::text_bytes, rc::gen::inRange(0U, 201U)),
        rc::gen::set(&operation::fuse, rc::gen::inRange(1U, 30U)));
}

/// An empty container of the same heap, or of no heap when `C` is ours.
template <class C>
C empty_like(const C& container) {
    return C(container.get_allocator());
}
template <class C>
C empty_outside() {
    if constexpr (std::is_constructible_v<typename C::allocator_type, std::nullptr_t>) {
        return C(typename C::allocator_type(nullptr));
    } else {
        return C();
    }
}

template <class C>
inline constexpr bool is_btree_v = requires { typename C::sorted_tag; };

template <class C>
inline constexpr bool is_hash_table_v = false;
template <class Key, class Hash, class Equal>
inline constexpr bool is_hash_table_v<hash_set<Key, Hash, Equal>> = true;
template <class Key, class Value, class Hash, class Equal>
inline constexpr bool is_hash_table_v<hash_map<Key, Value, Hash, Equal>> = true;

/// Whether it is one of our own, which announce what they write.
template <class C>
inline constexpr bool announces_v = is_btree_v<C> || is_hash_table_v<C>;
template <>
inline constexpr bool announces_v<string_pi> = true;
template <class T>
inline constexpr bool announces_v<vector_pi<T>> = true;

template <class Adapter, class C>
std::vector<std::string> contents(const C& container) {
    std::vector<std::string> all;
    std::transform(container.begin(), container.end(), std::back_inserter(all),
                   [](const auto& element) { return text_of(element); });
    if (!Adapter::k_ordered)
        std::sort(all.begin(), all.end());
    return all;
}

/// What the sessions of one test did.
struct tally {
    std::size_t operations = 0;
    std::size_t failures = 0; ///< elements that threw
};

template <class Adapter, class Container, class Model>
class session {
public:
    explicit session(tally& counted) : tally_(counted) {
        open();
        book_->write([this] {
            (void)book_->template root<Container>("container"); // so that the root directory has its size
            allocated_bytes_empty_ = allocated_bytes_without_root();
            container_ = &book_->template root<Container>("container");
        });
    }

    void run(const std::vector<operation>& all) {
        for (const operation& each : all) {
            step(each);
            ++tally_.operations;
        }
        fuse = 0;
        RC_ASSERT(allocated_bytes_without_root() == allocated_bytes_empty_); // nothing leaked
        verify();
        book_->close();
    }

private:
    void open() { book_.emplace(heap::open(directory_ / "book.rem")); }

    void step(const operation& o) {
        switch (o.what) {
        case operation::kind::change:
            change(o);
            break;
        case operation::kind::change_in_section:
            change_in_section(o);
            break;
        case operation::kind::fail:
            fail(o);
            break;
        case operation::kind::commit:
            book_->commit();
            committed_ = model_;
            break;
        case operation::kind::rollback:
            book_->rollback();
            model_ = committed_;
            break;
        case operation::kind::commit_and_reopen:
            book_->commit();
            committed_ = model_;
            reopen();
            break;
        case operation::kind::reopen: // what is not committed is gone
            model_ = committed_;
            reopen();
            break;
        }
        compare();
    }

    void change(const operation& o) {
        const std::string seen = Adapter::apply(*container_, o);
        RC_ASSERT(seen == Adapter::apply(model_, o));
    }

    /// Half of the sections succeed. Those of our own containers are declared: a change that was not announced is then
    /// refused in builds with assertions, and lost with the next rollback in others.
    void change_in_section(const operation& o) {
        if constexpr (announces_v<Container>) {
            if (Adapter::is_announced(o)) {
                book_->commit(); // of what was changed outside of sections
                committed_ = model_;
                const auto in_section = [this](auto&& f) { return book_->write(declared, f); };
                return change_within(o, in_section);
            }
        }
        change_within(o, [this](auto&& f) { return book_->write(f); });
    }
    template <class Section>
    void change_within(const operation& o, const Section& section) {
        if (o.position % 2 == 0) {
            const std::string seen = section([&] { return Adapter::apply(*container_, o); });
            RC_ASSERT(seen == Adapter::apply(model_, o));
            committed_ = model_;
        } else {
            RC_ASSERT_THROWS_AS(section([&] {
                                    (void)Adapter::apply(*container_, o);
                                    throw injected_failure();
                                }),
                                injected_failure);
            model_ = committed_;
        }
    }

    /// Does what change() does when the elements cannot fail.
    void fail(const operation& o) {
        fuse = o.fuse;
        std::optional<std::string> seen;
        try {
            seen = Adapter::apply(*container_, o);
        } catch (const injected_failure&) {
            ++tally_.failures;
        }
        fuse = 0;
        if (seen) {
            RC_ASSERT(*seen == Adapter::apply(model_, o));
        } else if (!Adapter::is_strong(o)) {
            // Any valid content is allowed: check that it is one, then go back to one that is known.
            check_inside();
            check_structure();
            book_->rollback();
            model_ = committed_;
        }
    }

    void compare() const {
        const std::vector<std::string> here = contents<Adapter>(*container_);
        RC_ASSERT(here == contents<Adapter>(model_));
        if constexpr (requires { container_->size(); })
            RC_ASSERT(container_->size() == here.size());
        check_inside();
        check_structure();
    }

    void check_structure() const {
        if constexpr (is_btree_v<Container>)
            RC_ASSERT(detail::btree_inspector::fault(*container_) == "");
        if constexpr (is_hash_table_v<Container>)
            RC_ASSERT(detail::hash_inspector::fault(*container_) == "");
    }

    void check_inside() const {
        const allocator<char> home(container_->get_allocator());
        RC_ASSERT(home == book_->template get_allocator<char>());
        RC_ASSERT(is_inside(container_));
        if constexpr (std::is_same_v<typename Container::value_type, char>) {
            RC_ASSERT(lies_inside(*container_, home));
        } else {
            for (const auto& element : *container_)
                RC_ASSERT(lies_inside(element, home));
        }
    }

    void reopen() {
        book_->close();
        book_.reset();
        open();
        RC_ASSERT(book_->stats().recovered_commits == 0U);
        container_ = book_->template find_root<Container>("container");
        RC_ASSERT(container_ != nullptr);
    }

    /// Bytes in live blocks once the root is removed.
    std::uint64_t allocated_bytes_without_root() {
        book_->template remove_root<Container>("container");
        container_ = nullptr;
        return book_->stats().allocated_bytes;
    }

    void verify() {
        const verify_report report = book_->verify();
        for (const verify_report::problem& problem : report.problems)
            ADD_FAILURE() << problem.what;
        RC_ASSERT(report.clean());
    }

    tally& tally_;
    temp_dir directory_ = temp_dir::in_memory();
    std::optional<heap> book_;
    Container* container_ = nullptr;
    Model model_;
    Model committed_;
    std::uint64_t allocated_bytes_empty_ = 0;
};

template <class Container>
inline constexpr bool holds_fragile_v =
    std::is_same_v<typename Container::value_type, fragile> ||
    std::is_same_v<typename Container::value_type, std::pair<const fragile, fragile>>;

template <class Container>
inline constexpr bool may_throw_v = holds_fragile_v<Container>;
template <class Container>
    requires std::is_same_v<typename Container::key_compare, fragile_less>
inline constexpr bool may_throw_v<Container> = true;
template <class Container>
    requires std::is_same_v<typename Container::hasher, fragile_hash>
inline constexpr bool may_throw_v<Container> = true;

/// At least 10,000 operations; a failure prints the seed and a shrunken sequence.
template <class Adapter, class Container, class Model>
void expect_conformance() {
    constexpr std::size_t operations_each = 100;
    constexpr std::size_t operations_min = 10'000; // RapidCheck runs 100 sequences
    tally counted;
    const bool passed = rc::check("conforms to the standard container", [&] {
        const auto all = *rc::gen::container<std::vector<operation>>(operations_each, any_operation());
        session<Adapter, Container, Model>(counted).run(all);
    });
    EXPECT_TRUE(passed);
    EXPECT_GE(counted.operations, operations_min);
    EXPECT_EQ(counted.failures != 0, may_throw_v<Container>) << "failures: " << counted.failures;
}

} // namespace remanence::test
