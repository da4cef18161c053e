// Roots that an older release of a program has stored become those of its present types: docs/guide/changed-struct.md. Depends on the
// standard library only.
//
// What the guide leaves out:
//
// Enumerators. The heap's schema knows which enumerators were stored. Without a migration root() takes those that are new or gone, and the
// next commit records the new ones; it refuses a root (errc::type_mismatch) in which a name has another value now, or a value another name. Values
// outside -16 (unsigned: 0) to 127 have no names, and stay as they are.
//
// Renamings. Each one names the present member, and the name that an earlier release gave it: renamed<"a", "c"> and renamed<"b", "c">, if
// `a` became `b` and then `c`. They may stay in the program when the heap has the new names. Refused are renamings that would lose a value: the
// class has no member of the new name; the stored class has neither name, and one of its members would be gone; it has both, and that
// other member is not renamed; the class still has a member of the old name.
//
// What REM_REFLECT leaves out stays, as bytes, where the class has nothing else in its place; else it is refused unless "account.$rest" is
// dropped. Bytes of padding may be the reason.
//
// Order. The library knows the order of numbers, enumerators, texts, and pairs and tuples of these, by std::less and std::greater. Any other
// order is made by a function of the program's: a comparator, the `<` or `<=>` of a class, or that of a key like std::optional<int>.
// Migration does not call it. Such a set or map keeps its order if it was a map, set, btree_map or btree_set (or the multi kind, if
// it is one now), its comparator has the same name, and the class of its keys has its name and the same members in the same order; an enumeration
// in a key may have more enumerators. Else it is refused, unless a function makes the container: migrate<vector<point>, set<point>>.
// A hash container with a hash or an equality of the program's own stays only in place.
//
// In place. Objects are changed where they are if each class, and each number in a container, keeps its size, and containers keep
// their kinds. Members that move are then numbers, pointers, texts, vectors, deques, or structs, arrays, optionals and variants of these. Keys do not
// change, and no pointer may lead to something of a type that a member has which is gone. Functions make objects anew.
//
// Pointers. One leads to a single object if a block begins there, and has the bytes of a block for one such object. So not told apart are
// several small numbers in such a block (two int in 8 bytes: taken along, if their type stays), a base in a block of the same size, and the end
// of a full container behind which an object of that type begins; check_options::red_zones records exact sizes. Two small
// structs in a block for one whose class changes are refused if the bytes behind the first are not 0. Refused are pointers that
// do not lead to one whole object; to a number that becomes wider; to a member that a function makes, if the member does not follow by itself
// (where several functions are called in turn, none does); and each aligned word that may be an address into the root, in a root with a class
// that hides its members, or without a schema. What only a pointer that is gone leads to stays in the heap.
#pragma once

#include <remanence/heap.hpp>
#include <remanence/types/detail/class_walk.hpp>
#include <remanence/types/reflect.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// A class that has another name now. Both names are as errors have them.
struct class_with_other_name {
    std::string old_name;
    std::string new_name;
};

/// For migration_options: `rem::renamed_class<"app::circle">::of<app::round>()`. Only where a std::variant holds the class: anywhere else,
/// members say which object becomes which.
template <detail::text_argument Old>
struct renamed_class {
    template <class T>
    [[nodiscard]] static class_with_other_name of() {
        return {Old.text, detail::readable_name(typeid(T).name())};
    }
};

/// One thing in which the stored type differs from the program's.
struct migration_change {
    std::string what;  ///< "book.pages was int, is long"
    bool is_automatic; ///< false: the root cannot be migrated because of it
};

struct migration_report {
    bool is_needed = false; ///< false: the root has the program's type, or is not there
    /// With dry_run; else what is not possible is thrown. It looks at types, and for values that would be lost: equal keys, and objects that
    /// cannot be made by default, are found when objects are converted.
    bool is_possible = true;
    bool is_in_place = true; ///< all objects keep their addresses, and are not there twice
    /// With dry_run: about how many bytes the heap needs until the commit beyond what it has in use, in blocks of objects that are made anew.
    /// Without what constructors make for new members, and functions for objects that they fill. 0 in place.
    std::uint64_t peak_bytes = 0;
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
        class_walk<class_makers>(*this).template add<T>();
    }
    [[nodiscard]] const std::vector<class_maker>& all() const { return all_; }

    /// For class_walk.
    template <class T>
    void take_class() {
        class_maker made{&typeid(T), nullptr};
        if constexpr (std::is_default_constructible_v<T>)
            made.make = [](void* at) { ::new (at) T(); };
        all_.push_back(made);
    }

private:
    std::vector<class_maker> all_;
};

} // namespace detail

/// How the program itself makes a New of an Old: see migrate<Old, New>(function).
class migration_step {
public:
    template <class Old, class New, class F>
    static migration_step of(F function) {
        static_assert(!std::is_same_v<Old, New>, "Old and New are the same type.");
        static_assert(std::is_default_constructible_v<New>,
                      "New needs a default constructor: the function fills an object that is there.");
        static_assert(std::is_invocable_v<F&, const Old&, New&>,
                      "The function takes a const Old&, and the New& that it fills.");
        detail::require_persistable<Old>();
        detail::require_persistable<New>();
        migration_step step;
        step.was_ = &detail::fingerprint_of<Old>();
        step.is_ = &detail::fingerprint_of<New>();
        step.makers_.add<New>();
        step.fill_ = [function = std::move(function)](const void* was, void* is) mutable {
            function(*static_cast<const Old*>(was), *static_cast<New*>(is));
        };
        step.destroy_ = [](void* object) { static_cast<New*>(object)->~New(); };
        return step;
    }
    [[nodiscard]] const detail::type_fingerprint& was() const { return *was_; }
    [[nodiscard]] const detail::type_fingerprint& is() const { return *is_; }
    [[nodiscard]] const std::vector<detail::class_maker>& makers() const { return makers_.all(); }
    [[nodiscard]] const std::function<void(const void*, void*)>& fill() const { return fill_; }
    void destroy(void* object) const { destroy_(object); }

private:
    const detail::type_fingerprint* was_ = nullptr;
    const detail::type_fingerprint* is_ = nullptr;
    detail::class_makers makers_;
    std::function<void(const void*, void*)> fill_;
    void (*destroy_)(void*) = nullptr;
};

/// For migration_options and migrations: wherever an object of the root becomes a New and is stored as an Old, at any depth, `function` is
/// called with both, `(const Old&, New&)`. Old is that release's type under another name, with members of the same names, types and
/// places; what is stored is compared with it. Members of New that follow by the automatic changes are filled before; the function fills the
/// others, which are as New() leaves them, and may change all but pointers. Those lead to the new objects when all are made: the function
/// sees null, and what it writes is replaced if the Old has a pointer of that name.
///
/// Steps chain: of migrate<A, B> and migrate<B, C> both are called where an A becomes a C. The B is made and destroyed, and its pointers are null:
/// members of C with pointers follow from those of A with the same names. Where steps lead to a type and what is stored is none of
/// their Olds, the root is refused, and not converted by automatic changes. Keys are not filled by functions. The function may throw, and must
/// not commit, or use the root. It is copied with the step: what a mutable lambda keeps is each copy's own.
template <class Old, class New, class F>
[[nodiscard]] migration_step migrate(F function) {
    return migration_step::of<Old, New>(std::move(function));
}

struct migration_options {
    bool dry_run = false; ///< says what would be done, and changes nothing
    std::vector<renamed_member> renamed = {};
    std::vector<migration_step> steps = {};
    std::vector<class_with_other_name> renamed_classes = {};
    /// Members that are gone with the values that they have, "year" of any class or "book.year", and enumerators, "kind::novel", whose
    /// values become 0. "account.$rest" is what a class left out in its REM_REFLECT.
    std::vector<std::string> dropped = {};
};

namespace detail {

/// A root, and what it is to become.
struct root_to_migrate {
    std::string name;
    const type_fingerprint* type;
    std::vector<class_maker> makers;
};

/// In one section; what they report is joined.
migration_report migrate_roots(heap& of, const std::vector<root_to_migrate>& roots, const migration_options& how);

template <class T>
root_to_migrate root_for_migration(std::string_view name) {
    require_persistable<T>();
    class_makers makers;
    makers.add<T>();
    return {std::string(name), &fingerprint_of<T>(), makers.all()};
}

} // namespace detail

/// Converts the root of this name to T, if an older release of the program has stored it as another version of its type; to be called
/// before root() and find_root(), which throw errc::type_mismatch for such a root. In one atomic commit (within a write section in that);
/// whatever happens meanwhile, the heap has the old root or the new one. Objects are matched by the names of their members, at any
/// depth: members may be in another order, new (they have what T() gives them), gone (if all of them are zero or empty, or `how` drops them), renamed (`how`), of a wider number, of an enumeration
/// with more enumerators, a std::optional of what they were, or another kind of container of like elements. Sets and maps whose order
/// is the program's own stay in it only if neither comparator nor keys have changed. What else has changed the functions in `how.steps` do.
/// Pointers among the objects of the root, and to objects of their own that it points at, lead to the new ones; these have other addresses.
/// Old objects are freed. Where nothing but names differ (of members, of classes, enumerators that are new), no
/// object is looked at. Where all classes, numbers in containers and containers keep their sizes and kinds, objects are changed where they
/// are, and only pointers into objects whose members move are corrected. Keys do not change in place. dry_run says whether this holds.
///
/// All roots whose type has this very fingerprint are converted together if enumerators have changed, or what classes say of their members
/// (REM_REFLECT): they have one schema. A history begins anew with this commit, but for versions that are kept.
///
/// Returns what has changed. Throws, and the heap is as before: errc::type_mismatch with all changes, and which are automatic, when one of
/// them is not, or a renaming would lose a member; errc::not_supported when the heap does not have the schema of the root, for
/// containers whose hash is the program's own, and for
/// classes that do not say their members (REM_REFLECT) or have no default for a new member; errc::in_use when other processes have the heap
/// open, since what they know of the root would be gone; heap_exhausted; errc::read_only, errc::base_taken; errc::section_conflict in a read
/// section of the thread; what functions, constructors and write() throw. O(objects). Unless it is done in place, old and new objects are in the heap
/// together until it is done, so the heap needs room for both.
template <class T>
migration_report migrate(heap& of, std::string_view name, const migration_options& how = {}) {
    return detail::migrate_roots(of, {detail::root_for_migration<T>(name)}, how);
}

/// What is to be converted when a heap is opened:
///
///     auto heap = rem::heap::open(path, {.migrate = rem::migrations()
///                                                       .to<shelf>("shelf")
///                                                       .to<customers>("customers")
///                                                       .migrate<release_1::book, book>(fill_book)});
///
/// All of it happens in one atomic commit, as by migrate<T>() of each root; roots that do not differ, or are not there, cost a look
/// at the directory and the schema. A heap that is opened read-only and would have to be converted is errc::read_only. A root that is named
/// with two types is errc::invalid_argument.
class migrations {
public:
    /// The root of this name becomes a T.
    template <class T>
    migrations& to(std::string_view name) {
        roots_.push_back(detail::root_for_migration<T>(name));
        return *this;
    }
    template <class Old, class New, class F>
    migrations& migrate(F function) {
        how_.steps.push_back(migration_step::of<Old, New>(std::move(function)));
        return *this;
    }
    /// `renamed<"pages", "page_count">::of<book>()`
    migrations& rename(renamed_member member) {
        how_.renamed.push_back(std::move(member));
        return *this;
    }
    /// `renamed_class<"app::circle">::of<app::round>()`
    migrations& rename(class_with_other_name which) {
        how_.renamed_classes.push_back(std::move(which));
        return *this;
    }

    /// "year" of any class, or "book.year": migration_options::dropped. Values of members that are gone are refused without it.
    migrations& drop(std::string name) {
        how_.dropped.push_back(std::move(name));
        return *this;
    }

    migration_report operator()(heap& of) const { return detail::migrate_roots(of, roots_, how_); }
    /// Says what would be done, and changes nothing.
    [[nodiscard]] migration_report dry_run(heap& of) const {
        migration_options how = how_;
        how.dry_run = true;
        return detail::migrate_roots(of, roots_, how);
    }

private:
    std::vector<detail::root_to_migrate> roots_;
    migration_options how_;
};

} // namespace remanence
