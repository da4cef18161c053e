// The checks by heap::verify() of objects whose types the program has named: the links of our containers must lead to
// live blocks and agree with each other. A check follows a link only if it leads to the beginning of a block that is
// large enough, so that damage is found and does no harm. Depends on the standard library only.
#pragma once

#include <remanence/types/detail/aggregate.hpp>
#include <remanence/types/detail/known_classes.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace remanence::detail {

struct structure_fault {
    const void* where = nullptr;
    std::string what; ///< "a node that …"
};
using structure_result = std::optional<structure_fault>;

class block_survey;
/// The check of a root by heap::verify().
using root_check = structure_result (*)(const void* object, block_survey& survey);

/// The questions that a check asks about the heap.
class block_survey {
public:
    block_survey(const block_survey&) = delete;
    block_survey& operator=(const block_survey&) = delete;
    /// True if an allocated block with at least `bytes` bytes begins at `first`. O(log of the block's size).
    [[nodiscard]] virtual bool is_block(const void* first, std::size_t bytes) const = 0;

    // Containers in containers are examined at once, down to a certain depth. Deeper ones wait until no other is left.

    struct waiting {
        const void* object;
        root_check check; // part of the key: the object's first member has the same address
        friend bool operator==(const waiting&, const waiting&) = default;
    };
    /// Calls `look`, which examines the container, or, at the depth limit, lets the container wait. Returns a fault if
    /// the container contains itself: it is among those around it, or has waited before. Throws std::bad_alloc.
    template <class Look>
    [[nodiscard]] structure_result look_into(const waiting& next, const Look& look) {
        if (depth_ == k_depth_max) {
            const bool is_around = std::find(around_.begin(), around_.end(), next) != around_.end();
            if (is_around || !have_waited_.emplace(next.object, next.check).second)
                return structure_fault{next.object, "containers that contain each other in a circle"};
            waiting_.push_back(next);
            return {};
        }
        around_[depth_++] = next;
        structure_result found = look();
        --depth_;
        return found;
    }
    /// Examines the containers that wait; returns the first fault.
    [[nodiscard]] structure_result look_into_waiting() {
        structure_result found;
        while (!found && !waiting_.empty()) {
            const waiting next = waiting_.back();
            waiting_.pop_back();
            found = next.check(next.object, *this);
        }
        return found;
    }

protected:
    block_survey() = default;
    ~block_survey() = default;

private:
    static constexpr unsigned k_depth_max = 200;
    unsigned depth_ = 0;
    std::array<waiting, k_depth_max> around_{};
    std::vector<waiting> waiting_;
    std::set<std::pair<const void*, root_check>> have_waited_;
};

template <class T>
concept checked_by_its_traits =
    requires(const T& object, block_survey& survey) { class_traits<T>::check(object, survey); };

template <class T>
consteval bool has_structure();

template <class... Parts>
consteval bool any_has_structure(type_list<Parts...>) {
    return (has_structure<Parts>() || ...);
}

/// True if there is anything to check. Containers of the standard library are not examined.
template <class T>
consteval bool has_structure() {
    using type = std::remove_cv_t<T>;
    using element = typename element_of_arrays<type>::type;
    if constexpr (checked_by_its_traits<type>) {
        return true;
    } else if constexpr (!std::is_same_v<element, type>) {
        return has_structure<element>();
    } else if constexpr (holds_parts_v<type>) {
        return any_has_structure(typename class_traits<type>::parts{});
    } else if constexpr (std::is_class_v<type> && std::is_aggregate_v<type>) {
        if constexpr (aggregate_shape_v<type>.obstacle == aggregate_obstacle::none)
            return any_has_structure(member_types<type>{});
    }
    return false;
}

template <class T>
structure_result check_structure(const T& object, block_survey& survey);
template <class T>
structure_result check_object(const void* object, block_survey& survey) {
    return check_structure(*static_cast<const T*>(object), survey);
}

struct structure_visitor {
    block_survey& survey;
    structure_result found{};

    template <class... Parts>
    void operator()(const Parts&... parts) {
        static_cast<void>((is_sound(parts) && ...));
    }
    template <class T>
    bool is_sound(const T& part) {
        found = check_structure(part, survey);
        return !found;
    }
};

template <class T>
structure_result check_structure(const T& object, block_survey& survey) {
    if constexpr (checked_by_its_traits<T>) {
        return survey.look_into({&object, &check_object<T>}, [&] { return class_traits<T>::check(object, survey); });
    } else if constexpr (has_structure<T>()) {
        structure_visitor visitor{survey};
        if constexpr (!std::is_same_v<typename element_of_arrays<T>::type, T>) {
            for (const auto& element : object) {
                if (!visitor.is_sound(element))
                    break;
            }
        } else if constexpr (known_composition_v<T> == composition::variant) {
            if (!object.valueless_by_exception())
                std::visit(visitor, object);
        } else if constexpr (known_composition_v<T> == composition::optional) {
            if (object.has_value())
                visitor(*object);
        } else if constexpr (known_composition_v<T> == composition::pair) {
            visitor(object.first, object.second);
        } else if constexpr (known_composition_v<T> == composition::tuple) {
            std::apply(visitor, object);
        } else {
            visit_members(object, visitor);
        }
        return std::move(visitor.found);
    } else {
        return {};
    }
}

/// True if comparing or hashing a sound key reads only the key and what it owns.
template <class Key>
inline constexpr bool is_plain_key_v = std::is_arithmetic_v<Key> || requires { class_traits<Key>::k_is_plain_key; };
template <class Key, class Compare>
inline constexpr bool is_plain_order_v =
    is_plain_key_v<Key> && (std::same_as<Compare, std::less<>> || std::same_as<Compare, std::less<Key>> ||
                            std::same_as<Compare, std::greater<>> || std::same_as<Compare, std::greater<Key>>);

template <class T>
structure_result check_root(const void* object, block_survey& survey) {
    structure_result found = check_object<T>(object, survey);
    return found ? std::move(found) : survey.look_into_waiting();
}
/// Returns null if there is nothing to check.
template <class T>
constexpr root_check check_of_root() {
    if constexpr (has_structure<T>())
        return check_root<T>;
    else
        return nullptr;
}

} // namespace remanence::detail
