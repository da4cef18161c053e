// A container in a heap and its std model, made a specimen for sessions (session.hpp).
//
// An adapter says what the operations of a family of containers are:
//     template <class C> static std::string apply(C&, const operation&);  // the result, as far as one can see it
//     static bool is_strong(const operation&);  // whether a failure leaves the container as it was
//     static constexpr bool k_ordered;            // whether the order of elements is defined
//     static bool is_declared(const operation&); // for our own containers: whether they declare all that it changes
//
// `make test`: 10,000 random operations for each kind of container, of element and of event, 11,040,000 in all; `make soak` 30,000 each.
#pragma once

#include "elements.hpp"
#include "session.hpp"

#include "support/btree_inspector.hpp"
#include "support/hash_inspector.hpp"
#include "support/trusting_survey.hpp"

#include <remanence/remanence.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

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

/// Whether it is one of our own, which declare what they write.
template <class C>
inline constexpr bool declares_v = is_btree_v<C> || is_hash_table_v<C> || is_packed_v<C>;
template <>
inline constexpr bool declares_v<string_pi> = true;
template <class T>
inline constexpr bool declares_v<vector_pi<T>> = true;

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

/// What a session works on, of these types.
template <class Adapter, class Container, class Model>
class container_and_model : public specimen {
public:
    void make(heap& in) override { container_ = &in.root<Container>("container"); }
    void find(heap& in) override {
        container_ = in.find_root<Container>("container");
        require(container_ != nullptr, "the root is gone");
    }
    void remove(heap& in) override {
        in.remove_root<Container>("container");
        container_ = nullptr;
    }

    std::string apply(const operation& o) override { return Adapter::apply(*container_, o); }
    std::string apply_to_model(const operation& o) override { return Adapter::apply(model_, o); }
    [[nodiscard]] bool is_strong(const operation& o) const override { return Adapter::is_strong(o); }
    [[nodiscard]] bool is_declared(const operation& o) const override {
        if constexpr (declares_v<Container>)
            return Adapter::is_declared(o);
        else
            return false;
    }

    void begin_model() override { model_ = committed_ = Model(); }
    void follow() override { model_ = committed_ = model_like<Model>(*container_); }
    void commit_model() override { committed_ = model_; }
    void roll_back_model() override { model_ = committed_; }

    [[nodiscard]] texts contents() const override {
        texts all = contents_of(*container_);
        if constexpr (requires { container_->size(); })
            require(container_->size() == all.size(), "size() is wrong");
        return all;
    }
    [[nodiscard]] texts contents_of_model() const override { return contents_of(model_); }
    [[nodiscard]] texts committed_contents() const override { return contents_of(committed_); }

    void check(const heap& in) const override {
        check_inside(in);
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

private:
    template <class C>
    static texts contents_of(const C& container) {
        texts all;
        std::transform(container.begin(), container.end(), std::back_inserter(all),
                       [](const auto& element) { return text_of(element); });
        if (!Adapter::k_ordered)
            std::sort(all.begin(), all.end());
        return all;
    }
    void check_inside(const heap& in) const {
        const allocator<char> home(container_->get_allocator());
        require(home == in.get_allocator<char>(), "the allocator is of another heap");
        require(is_inside(container_), "the container lies outside of the heap");
        if constexpr (std::is_same_v<typename Container::value_type, char>) {
            require(lies_inside(*container_, home), "an element lies outside of the heap");
        } else {
            for (const auto& element : *container_)
                require(lies_inside(element, home), "an element lies outside of the heap");
        }
    }
    static void require_no(const std::string& fault) { require(fault.empty(), fault.c_str()); }

    Container* container_ = nullptr;
    Model model_;
    Model committed_;
};

template <class Container>
inline constexpr bool holds_fragile_v =
    std::is_same_v<typename Container::value_type, fragile> ||
    std::is_same_v<typename Container::value_type, std::pair<const fragile, fragile>> ||
    std::is_same_v<typename Container::value_type, std::pair<fragile, fragile>>; // of a flat map

template <class Container>
inline constexpr bool may_throw_v = holds_fragile_v<Container>;
template <class Container>
    requires std::is_same_v<typename Container::key_compare, fragile_less>
inline constexpr bool may_throw_v<Container> = true;
template <class Container>
    requires std::is_same_v<typename Container::hasher, fragile_hash>
inline constexpr bool may_throw_v<Container> = true;

/// As expect_conformance() of a specimen, of these types.
template <class Adapter, class Container, class Model>
void expect_conformance() {
    container_and_model<Adapter, Container, Model> both;
    expect_conformance(both, may_throw_v<Container>);
}

} // namespace remanence::test
