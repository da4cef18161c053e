// Finds all classes that an object of a type consists of, owns or points at, as far as templates show them. Depends on
// the standard library only.
#pragma once

#include <remanence/types/detail/aggregate.hpp>
#include <remanence/types/detail/fingerprint.hpp>
#include <remanence/types/detail/reflect_access.hpp>

#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <unordered_set>

namespace remanence::detail {

/// Calls `taker.take_class<C>()` once for each class C, before the classes that C contains.
template <class Taker>
class class_walk {
public:
    /// `taker` must outlive the walk.
    explicit class_walk(Taker& taker) : taker_(taker) {}

    template <class T>
    void add() {
        using type = std::remove_cv_t<T>;
        if constexpr (std::is_array_v<type>) {
            add<std::remove_extent_t<type>>();
        } else if constexpr (std::is_pointer_v<type>) {
            if constexpr (complete<std::remove_pointer_t<type>>)
                add<std::remove_pointer_t<type>>();
        } else if constexpr (std::is_class_v<type>) {
            if constexpr (complete<type>)
                add_class<type>();
        }
    }

    /// Called by reflect_access::visit().
    template <class M>
    constexpr void take(std::string_view /*name*/) {
        add<M>();
    }

private:
    template <class T>
    struct arguments {
        static void add(class_walk& to) {
            if constexpr (requires { typename T::mapped_type; })
                to.add<typename T::mapped_type>();
            if constexpr (requires { typename T::key_type; })
                to.add<typename T::key_type>();
            if constexpr (requires { typename T::value_type; }) {
                if constexpr (!std::is_same_v<typename T::value_type, T>)
                    to.add<typename T::value_type>();
            }
        }
    };
    template <template <class...> class Template, class... Args>
    struct arguments<Template<Args...>> {
        static void add(class_walk& to) { (to.add<Args>(), ...); }
    };
    template <class Members>
    struct members;
    template <class... Ms>
    struct members<type_list<Ms...>> {
        static void add(class_walk& to) { (to.add<Ms>(), ...); }
    };

    template <class T>
    void add_class() {
        if (!seen_.insert(&typeid(T)).second)
            return;
        taker_.template take_class<T>();
        if constexpr (reflect_access::is_reflected<T>())
            reflect_access::visit<T>(*this);
        else if constexpr (std::is_aggregate_v<T> && !is_std_array_v<T> && !std::is_empty_v<T>)
            add_members<T>();
        else
            arguments<T>::add(*this);
    }
    template <class T>
    void add_members() {
        if constexpr (aggregate_shape_v<T>.obstacle == aggregate_obstacle::none)
            members<member_types<T>>::add(*this);
    }

    Taker& taker_;
    std::unordered_set<const std::type_info*> seen_;
};

} // namespace remanence::detail
