// Roots that an older release of a program has stored become those of its present types: docs/guide/migration.md. Depends on the
// standard library only.
#pragma once

#include <remanence/heap.hpp>
#include <remanence/types/reflect.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace remanence {

/// A member that has another name now, of the class with this name (as errors have it).
struct renamed_member {
    std::string type;
    std::string old_name;
    std::string new_name;
};

namespace detail {

/// A text as an argument of a template.
template <std::size_t N>
struct text_argument {
    char text[N] = {};
    consteval text_argument(const char (&from)[N]) { // NOLINT(google-explicit-constructor)
        for (std::size_t i = 0; i != N; ++i)
            text[i] = from[i];
    }
};

} // namespace detail

/// For migration_options: `rem::renamed<"pages", "page_count">::of<book>()`.
template <detail::text_argument Old, detail::text_argument New>
struct renamed {
    template <class T>
    [[nodiscard]] static renamed_member of() {
        return {detail::readable_name(typeid(T).name()), Old.text, New.text};
    }
};

struct migration_options {
    bool dry_run = false; ///< says what would be done, and changes nothing
    std::vector<renamed_member> renamed = {};
};

/// One thing in which the stored type differs from the program's.
struct migration_change {
    std::string what;  ///< "book.pages was int, is long"
    bool is_automatic; ///< false: the root cannot be migrated because of it
};

struct migration_report {
    bool is_needed = false;  ///< false: the root has the program's type, or is not there
    bool is_possible = true; ///< with dry_run; else what is not possible is thrown
    std::vector<migration_change> changes;
};

namespace detail {

/// A class that a root's type has in it, and how one is made by default in raw memory; null: it cannot be.
struct class_maker {
    const std::type_info* type;
    void (*make)(void* at);
};

class class_makers {
public:
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
    [[nodiscard]] const std::vector<class_maker>& all() const { return all_; }

    /// For reflect_access::visit().
    template <class M>
    constexpr void take(std::string_view /*name*/) {
        add<M>();
    }

private:
    template <class T>
    struct arguments {
        static void add(class_makers& to) {
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
        static void add(class_makers& to) { (to.add<Args>(), ...); }
    };
    template <class Members>
    struct members;
    template <class... Ms>
    struct members<type_list<Ms...>> {
        static void add(class_makers& to) { (to.add<Ms>(), ...); }
    };

    template <class T>
    void add_class() {
        const auto is_same = [](const class_maker& each) { return *each.type == typeid(T); };
        if (std::any_of(all_.begin(), all_.end(), is_same))
            return;
        class_maker made{&typeid(T), nullptr};
        if constexpr (std::is_default_constructible_v<T>)
            made.make = [](void* at) { ::new (at) T(); };
        all_.push_back(made);
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

    std::vector<class_maker> all_;
};

migration_report migrate_root(heap& of, std::string_view name, const type_fingerprint& type,
                              const std::vector<class_maker>& makers, const migration_options& how);

} // namespace detail

/// Converts the root of this name to T, if an older release of the program has stored it as another version of its type; to be called
/// before root() and find_root(), which throw errc::type_mismatch for such a root. In one atomic commit (within a write section in that);
/// whatever happens meanwhile, the heap has the old root or the new one. Objects are matched by the names of their members, at any
/// depth: members may be in another order, new (they have what T() gives them), gone, renamed (`how`), of a wider number, of an enumeration
/// with more enumerators, a std::optional of what they were, or another kind of container of like elements. Pointers among the objects of the
/// root, and to objects of their own that it points at, lead to the new ones; these have other addresses. Old objects are freed.
///
/// Returns what has changed. Throws, and the heap is as before: errc::type_mismatch with all changes, and which are automatic, when one of
/// them is not; errc::not_supported when the heap does not have the schema of the root, for containers whose hash is the program's own, and for
/// classes that do not say their members (REM_REFLECT) or have no default for a new member; heap_exhausted; errc::read_only,
/// errc::base_taken; errc::section_conflict in a read section of the thread; what write() and constructors throw. O(objects). Old and new
/// objects are in the heap together until it is done, so the heap needs room for both.
template <class T>
migration_report migrate(heap& of, std::string_view name, const migration_options& how = {}) {
    detail::require_persistable<T>();
    detail::class_makers makers;
    makers.add<T>();
    return detail::migrate_root(of, name, detail::fingerprint_of<T>(), makers.all(), how);
}

} // namespace remanence
