// Runs random operations on a container in a heap and on its std model side by side, with commits, rollbacks, failures
// of elements, reopenings and kills of the process among them. After each operation both hold the same, and all of it lies in the heap.
//
// An adapter says what the operations of a family of containers are:
//     template <class C> static std::string apply(C&, const operation&);  // the result, as far as one can see it
//     static bool is_strong(const operation&);  // whether a failure leaves the container as it was
//     static constexpr bool k_ordered;            // whether the order of elements is defined
//     static bool is_announced(const operation&); // for our own containers: whether they announce all that it changes
#pragma once

#include "condemned.hpp"
#include "elements.hpp"
#include "operations.hpp"

#include "support/btree_inspector.hpp"
#include "support/hash_inspector.hpp"
#include "support/temp_dir.hpp"
#include "support/trusting_survey.hpp"
#include "types/pointer_check.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace remanence::test {

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

template <class C>
inline constexpr bool is_packed_v = std::is_same_v<C, packed_map> || std::is_same_v<C, packed_multimap>;

/// Whether it is one of our own, which announce what they write.
template <class C>
inline constexpr bool announces_v = is_btree_v<C> || is_hash_table_v<C> || is_packed_v<C>;
template <>
inline constexpr bool announces_v<string_pi> = true;
template <class T>
inline constexpr bool announces_v<vector_pi<T>> = true;

template <class Adapter, class C>
texts contents(const C& container) {
    texts all;
    std::transform(container.begin(), container.end(), std::back_inserter(all),
                   [](const auto& element) { return text_of(element); });
    if (!Adapter::k_ordered)
        std::sort(all.begin(), all.end());
    return all;
}

/// A model with the contents of a container, where equal elements follow each other as there: which of them extract() and
/// find() take depends on that.
template <class Model, class C>
Model model_like(const C& container) {
    Model made;
    auto last = [&] {
        if constexpr (requires { made.before_begin(); })
            return made.before_begin();
        else
            return made.end();
    }();
    for (const auto& element : container) {
        if constexpr (requires { made.before_begin(); })
            last = made.insert_after(last, modelled(element));
        else if constexpr (requires { typename Model::hasher; }) // equal ones in the order that they have here
            last = made.insert(last, modelled(element));
        else if constexpr (requires { made.push(modelled(element)); })
            made.push(modelled(element));
        else
            made.insert(made.end(), modelled(element));
    }
    return made;
}

/// What the sessions of one test did.
struct tally {
    std::size_t operations = 0;
    std::size_t failures = 0; ///< elements that threw
    std::size_t kills = 0;
};

/// One heap after the other: that of a sequence that failed is not used again.
template <class Adapter, class Container, class Model>
class session {
public:
    explicit session(tally& counted) : tally_(counted) {}

    void run(const std::vector<operation>& all) {
        try {
            begin();
            auto each = all.begin(); // the steps up to a kill are another process's
            for (auto kill = std::find_if(each, all.end(), kills); kill != all.end();
                 kill = std::find_if(each, all.end(), kills)) {
                kill_at(each, kill);
                each = kill + 1;
            }
            for (; each != all.end(); ++each)
                step(*each);
            tally_.operations += all.size();
            end();
        } catch (...) {
            fuse = 0;
            book_.reset();
            place_.reset();
            throw;
        }
    }

private:
    using steps = std::vector<operation>::const_iterator;
    struct place {
        temp_dir directory = temp_dir::in_memory();
    };

    static bool kills(const operation& o) {
        return o.what == operation::kind::kill || o.what == operation::kind::kill_in_commit;
    }

    void begin() {
        if (!place_) {
            place_.emplace();
            open();
            book_->write([this] {
                (void)book_->template root<Container>("container"); // so that the root directory has its size
                allocated_bytes_empty_ = allocated_bytes_without_root();
            });
        }
        book_->write([this] { container_ = &book_->template root<Container>("container"); });
        model_ = committed_ = Model();
    }

    void end() {
        if (types::
                checks_pointers()) // in other builds freed blocks keep their bytes, and the scan finds these in new ones
            check_pointers();
        require(allocated_bytes_without_root() == allocated_bytes_empty_, "memory has leaked");
        verify();
        book_->checkpoint(); // verify() reads the log, which would have all sequences' commits in the end
    }

    void open() { book_.emplace(heap::open(place_->directory / "book.rem")); }
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
        case operation::kind::kill: // run() does these
        case operation::kind::kill_in_commit:
            break;
        }
        compare();
    }

    void change(const operation& o) {
        const std::string seen = Adapter::apply(*container_, o);
        require(seen == Adapter::apply(model_, o), "an operation has another result");
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
            require(seen == Adapter::apply(model_, o), "an operation has another result");
            committed_ = model_;
        } else {
            bool failed = false;
            try {
                section([&] {
                    (void)Adapter::apply(*container_, o);
                    throw injected_failure();
                });
            } catch (const injected_failure&) {
                failed = true;
            }
            require(failed, "the section has swallowed an exception");
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
            require(*seen == Adapter::apply(model_, o), "an operation has another result");
        } else if (!Adapter::is_strong(o)) {
            // Any valid content is allowed: check that it is one, then go back to one that is known.
            check_inside();
            check_structure();
            book_->rollback();
            model_ = committed_;
        }
    }

    /// A child does what is before the kill. This process then finds what was committed, or what was about to be.
    void kill_at(steps from, steps to) {
        book_->close();
        book_.reset();
        const last_words words = run_until_killed([&](condemned& child) {
            tally_ = {};
            open();
            find_container();
            for (; from != to; ++from)
                step(*from);
            child.say({contents<Adapter>(committed_), contents<Adapter>(model_), tally_.failures});
            if (to->what == operation::kind::kill_in_commit) {
                child.die_after(to->position % 12);
                book_->commit();
                child.die_after(UINT_MAX - 1);
                child.say({contents<Adapter>(model_), contents<Adapter>(model_), tally_.failures});
            }
            condemned::die_now();
        });
        tally_.failures += words.failures;
        ++tally_.kills;
        open();
        find_container();
        const texts found = contents<Adapter>(*container_);
        const bool is_new = to->what == operation::kind::kill_in_commit && found == words.in_flight;
        require(is_new || found == words.committed, "after the kill there is something else than was committed");
        model_ = model_like<Model>(*container_);
        committed_ = model_;
        compare();
    }

    void compare() const {
        const texts here = contents<Adapter>(*container_);
        require(here == contents<Adapter>(model_), "the contents differ");
        if constexpr (requires { container_->size(); })
            require(container_->size() == here.size(), "size() is wrong");
        check_inside();
        check_structure();
    }

    void check_structure() const {
        if constexpr (is_btree_v<Container>)
            require_no(detail::btree_inspector::fault(*container_));
        if constexpr (is_hash_table_v<Container>)
            require_no(detail::hash_inspector::fault(*container_));
        if constexpr (is_packed_v<Container>) {
            detail::trusting_survey survey;
            const detail::structure_result found = detail::check_structure(*container_, survey);
            require_no(found ? found->what : std::string());
        }
    }

    void check_inside() const {
        const allocator<char> home(container_->get_allocator());
        require(home == book_->template get_allocator<char>(), "the allocator is of another heap");
        require(is_inside(container_), "the container lies outside of the heap");
        if constexpr (std::is_same_v<typename Container::value_type, char>) {
            require(lies_inside(*container_, home), "an element lies outside of the heap");
        } else {
            for (const auto& element : *container_)
                require(lies_inside(element, home), "an element lies outside of the heap");
        }
    }

    void reopen() {
        book_->close();
        book_.reset();
        open();
        require(book_->stats().recovered_commits == 0, "a clean close left commits to recover");
        find_container();
    }
    void find_container() {
        container_ = book_->template find_root<Container>("container");
        require(container_ != nullptr, "the root is gone");
    }

    static void require_no(const std::string& fault) { require(fault.empty(), fault.c_str()); }
    void check_pointers() {
        const pointer_report report = book_->check_pointers();
        for (const pointer_report::pointer& pointer : report.pointers)
            ADD_FAILURE() << pointer.root << ", offset " << pointer.offset << ": " << pointer.what;
        require(report.clean(), "check_pointers() has found something");
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
        require(report.clean(), "verify() has found something");
    }

    tally& tally_;
    std::optional<place> place_;
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

/// At least 10,000 operations with each event, fewer in builds with a sanitizer; says how many.
template <class Adapter, class Container, class Model>
void expect_conformance() {
    for (const event often : k_events) {
        tally counted;
        session<Adapter, Container, Model> sequences(counted);
        EXPECT_TRUE(check_sequences(often, [&](const std::vector<operation>& all) { sequences.run(all); }));
        EXPECT_GE(counted.operations, k_steps * k_sequences_least);
        EXPECT_EQ(counted.failures != 0, may_throw_v<Container>) << "failures: " << counted.failures;
        EXPECT_EQ(counted.kills != 0, often == event::kill);
        std::cout << counted.operations << " operations with " << name_of(often) << ", " << counted.kills << " kills\n";
    }
}

} // namespace remanence::test
