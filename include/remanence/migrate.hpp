/// \file
/// Migration: roots that an older release of a program has stored are converted to its present types.
/// docs/guide/changed-struct.md teaches it; what follows are the details that the guide leaves out. Depends on the
/// standard library only.
///
/// Enumerators. The heap's schema records which enumerators were stored. Without a migration, root() accepts
/// enumerators that are new or gone, and the next commit records the new ones. It refuses a root (errc::type_mismatch)
/// in which a name now has another value, or a value has another name. Only values from -16 (unsigned: 0) to 127 have
/// recorded names; all others stay as they are.
///
/// Renamings. A renaming states a name that an earlier release gave to a member, and the member's present name:
/// renamed<"a", "c"> and renamed<"b", "c"> if `a` became `b` and then `c`. A renaming may stay in the program once the
/// heap has the new names. A renaming that would lose a value is refused:
/// - the class has no member of the new name, or still has one of the old name;
/// - the stored class has neither name, and one of its members would be gone;
/// - the stored class has both names, and its member with the new name is not renamed itself.
///
/// Members that REM_REFLECT leaves out are kept as bytes if the new class has nothing else in their place. Otherwise
/// the root is refused, unless "account.$rest" is dropped. Padding bytes are treated like members that REM_REFLECT
/// leaves out.
///
/// Order. The library knows the order of numbers, enumerators, texts, and pairs and tuples of these, by std::less and
/// std::greater. Any other order comes from a function of the program, which migration does not call: a comparator, the
/// `<` or `<=>` of a class, or the order of a key like std::optional<int>. Such a set or map keeps its order on three
/// conditions. It was stored as a map, set, btree_map or btree_set (as a container for equal keys, if it is one now).
/// Its comparator has the same name. The class of its keys has the same name, and the same members in the same order;
/// an enumeration in a key may have more enumerators. Otherwise the root is refused, unless a function makes the
/// container: migrate<vector<point>, set<point>>. A hash container with the program's own hash or equality can only
/// stay in place.
///
/// In place. Objects are changed where they are if each class, and each number in a container, keeps its size, and
/// containers keep their kinds. Members that move must be numbers, pointers, texts, vectors, deques, or structs,
/// arrays, optionals and variants of these. Keys must not change, and no pointer may lead to an object of a type that a
/// removed member had. If a function converts an object, new objects are always made.
///
/// Pointers. The migration assumes that a pointer leads to a single object if a block begins at its target, and has the
/// size of a block for one such object. So the migration cannot tell these cases from a single object: several small
/// numbers in such a block (two int in 8 bytes; they are carried along if their type stays), a base class in a block of
/// the same size, and the end of a full container behind which an object of that type begins. check_options::red_zones
/// records exact sizes. Two small structs in a block for one, whose class changes, are refused if the bytes behind the
/// first are not 0.
///
/// A root is refused if it has one of these:
/// - a pointer to an object with virtual functions that was made since the last commit, or whose class the program does
///   not have, has a virtual base, or does not say its members; the program has each class of which it makes objects by
///   heap::make(), or that a type in the migration names;
/// - a function whose Old or New leads to objects with virtual functions;
/// - a pointer that does not lead to one whole object, or that leads to a number that becomes wider;
/// - a pointer to a member that a function makes, unless the member follows by automatic changes (if several functions
///   are called in turn, no member does);
/// - an aligned word that may be an address into the root, if the root has no schema or a class that hides its members.
///
/// An object to which only a removed pointer leads stays in the heap.
///
/// Virtual functions. An object is converted as one of its own class, also where a pointer to its base leads to it. A new
/// member of a base holds what the constructor of the object's class gives it. Such objects stay in place only if they
/// do not change. If a class has changed, all roots that lead to its objects are named in one migration, or the heap is
/// refused (errc::type_mismatch); a heap of changed classes is migrated when it is opened (heap_options::migrate). restore() refuses
/// versions with objects of classes that have changed since (errc::type_mismatch).
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

/// A member that has another name now. Made by renamed::of().
struct renamed_member {
    std::string type;     ///< class of the member, as error messages name it
    std::string old_name; ///< the name that is stored
    std::string new_name; ///< the present name
};

namespace detail {

/// A text as a template argument.
template <std::size_t N>
struct text_argument {
    char text[N] = {};
    consteval text_argument(const char (&from)[N]) { // NOLINT(google-explicit-constructor)
        for (std::size_t i = 0; i != N; ++i)
            text[i] = from[i];
    }
};

} // namespace detail

/// Makes a renamed_member for migration_options: `rem::renamed<"pages", "page_count">::of<book>()`.
template <detail::text_argument Old, detail::text_argument New>
struct renamed {
    /// Returns the renaming of a member of class T.
    template <class T>
    [[nodiscard]] static renamed_member of() {
        return {detail::readable_name(typeid(T).name()), Old.text, New.text};
    }
};

/// A class that has another name now. Made by renamed_class::of().
struct class_with_other_name {
    std::string old_name; ///< the stored name, as error messages have it
    std::string new_name; ///< the present name, as error messages have it
};

/// Makes a class_with_other_name for migration_options: `rem::renamed_class<"app::circle">::of<app::round>()`. Needed
/// only if a std::variant holds the class, if the class is a base, or if pointers to a base lead to its objects: elsewhere
/// the members' names tell which class becomes which. Objects of the old class become such of the new one even if the
/// program has both classes.
template <detail::text_argument Old>
struct renamed_class {
    /// Returns the renaming to class T.
    template <class T>
    [[nodiscard]] static class_with_other_name of() {
        return {Old.text, detail::readable_name(typeid(T).name())};
    }
};

/// One difference between the stored type and the program's.
struct migration_change {
    std::string what;  ///< such as "book.pages was int, is long"
    bool is_automatic; ///< false: because of this change the root cannot be migrated
};

/// What a migration has done, or would do (migration_options::dry_run).
struct migration_report {
    bool is_needed = false; ///< false: the root has the program's type, or does not exist
    /// With dry_run: whether the migration is possible; without dry_run, an impossible migration throws. A dry run
    /// checks types, and values that would be lost. Equal keys, and objects that cannot be default-constructed, are
    /// found only during conversion.
    bool is_possible = true;
    bool is_in_place = true; ///< all objects keep their addresses, and no space for copies is needed
    /// With dry_run: about how many more bytes the heap needs until the commit, in blocks of new objects; 0 in place.
    /// Memory that constructors of new members, and the program's functions, allocate is not counted.
    std::uint64_t peak_bytes = 0;
    std::vector<migration_change> changes; ///< all differences
};

namespace detail {

/// A class within a root's type, and a function that default-constructs an object of it in raw memory; null if the
/// class has no default constructor.
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

    /// Called by class_walk.
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

/// A function of the program that fills an object of the class New from one of the class Old. Returned by migrate<Old,
/// New>(function).
class migration_step {
public:
    /// Used by the library only, as are all members.
    template <class Old, class New, class F>
    static migration_step of(F function) {
        static_assert(!std::is_same_v<Old, New>, "Old and New are the same type.");
        static_assert(std::is_default_constructible_v<New>,
                      "New needs a default constructor: the function fills an existing object.");
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
    /// Used by the library only.
    [[nodiscard]] const detail::type_fingerprint& was() const { return *was_; }
    /// Used by the library only.
    [[nodiscard]] const detail::type_fingerprint& is() const { return *is_; }
    /// Used by the library only.
    [[nodiscard]] const std::vector<detail::class_maker>& makers() const { return makers_.all(); }
    /// Used by the library only.
    [[nodiscard]] const std::function<void(const void*, void*)>& fill() const { return fill_; }
    /// Used by the library only.
    void destroy(void* object) const { destroy_(object); }

private:
    const detail::type_fingerprint* was_ = nullptr;
    const detail::type_fingerprint* is_ = nullptr;
    detail::class_makers makers_;
    std::function<void(const void*, void*)> fill_;
    void (*destroy_)(void*) = nullptr;
};

/// Returns a step for migration_options::steps. Wherever an object of the root is stored as an Old and becomes a New,
/// at any depth, `function(const Old&, New&)` is called. Old is the earlier release's type under another name, with
/// members of the same names, types and places; it is compared with what is stored. Members of New that follow by
/// automatic changes are filled first. The function fills the other members, which have the values that New() gave
/// them, and may change all members but pointers. Pointers are null while the function runs, and are set once all
/// objects are made; a pointer that the function writes is then replaced if Old has a pointer of that name.
///
/// Steps chain: with migrate<A, B> and migrate<B, C>, both are called where an A becomes a C. The B is temporary, with
/// null pointers; pointers of C are set from those of A with the same names. If a step makes the present type, but no
/// chain of steps begins at the stored type, the root is refused: it is not converted automatically. Functions cannot
/// fill keys. The function may throw; it must not commit, or use the root. Each copy of the step has its own copy of
/// the function: the state of a mutable lambda is not shared.
template <class Old, class New, class F>
[[nodiscard]] migration_step migrate(F function) {
    return migration_step::of<Old, New>(std::move(function));
}

/// How migrate() converts a root. All members are empty by default.
struct migration_options {
    /// Only reports what would be done, and changes nothing.
    bool dry_run = false;
    std::vector<renamed_member> renamed = {};                ///< members with new names
    std::vector<migration_step> steps = {};                  ///< functions that make objects
    std::vector<class_with_other_name> renamed_classes = {}; ///< classes with new names
    /// What may be lost: members that are gone, with their values ("year" of any class, or "book.year"); enumerators,
    /// whose values become 0 ("kind::novel"); and members that a class leaves out in its REM_REFLECT ("account.$rest").
    std::vector<std::string> dropped = {};
};

namespace detail {

/// A root, and the type that the migration gives it.
struct root_to_migrate {
    std::string name;
    const type_fingerprint* type;
    std::vector<class_maker> makers;
};

/// Migrates roots in one write section, and returns one report for all of them.
migration_report migrate_roots(heap& of, const std::vector<root_to_migrate>& roots, const migration_options& how);

template <class T>
root_to_migrate root_for_migration(std::string_view name) {
    require_persistable<T>();
    class_makers makers;
    makers.add<T>();
    return {std::string(name), &fingerprint_of<T>(), makers.all()};
}

} // namespace detail

/// Converts the root `name` to T, if an older release of the program has stored the root with another version of its
/// type. Call this function before root() and find_root(), which throw errc::type_mismatch for such a root. The
/// migration is one atomic commit, or a part of the surrounding write section: whatever happens, the heap has the old
/// root or the new one.
///
/// Automatic changes. Members are matched by name, at any depth. A member may be
/// - in another place, or new (it has what T() gives it);
/// - gone, if its value is zero or empty everywhere, or `how` drops it;
/// - renamed, if `how` says so;
/// - of another type: a wider number, an enumeration with more enumerators, a std::optional of the old type, or another
///   kind of container with like elements.
///
/// Sets and maps whose comparator is the program's own are converted automatically only if comparator and keys have not
/// changed. The functions in `how.steps` make all other changes. Pointers among the objects of the root, and pointers
/// to objects that the root points at, then lead to the new objects, which have other addresses. Old objects are freed.
///
/// In place. If only names of members or classes differ, or enumerators are new, no object is read. If all classes,
/// numbers in containers and containers keep their sizes and kinds, objects are changed where they are, and only
/// pointers into objects whose members move are corrected. Keys must not change. A dry run tells whether this is
/// possible.
///
/// If enumerators, or the REM_REFLECT of classes, have changed, all roots with the same stored fingerprint are
/// converted together, since they share one schema. The history begins anew with this commit, except for kept versions.
///
/// Returns what has changed. Errors, with the heap as before:
/// - errc::type_mismatch when a change is not automatic, or a renaming would lose a member; the message lists all
///   changes, and says which are automatic;
/// - errc::not_supported when the heap has no schema of the root, for containers with a hash of the program's own, and
///   for classes that do not state their members (REM_REFLECT) or have no default for a new member;
/// - errc::in_use when other processes have the heap open, since their view of the root would become wrong;
/// - heap_exhausted, errc::read_only, errc::base_taken; errc::section_conflict in a read section of the thread; what
///   functions, constructors and write() throw.
///
/// O(objects). Unless objects are changed in place, the heap needs room for old and new objects together.
template <class T>
migration_report migrate(heap& of, std::string_view name, const migration_options& how = {}) {
    return detail::migrate_roots(of, {detail::root_for_migration<T>(name)}, how);
}

/// The migrations of a heap, for heap_options::migrate:
///
///     auto heap = rem::heap::open(path, {.migrate = rem::migrations()
///                                                       .to<shelf>("shelf")
///                                                       .to<customers>("customers")
///                                                       .migrate<release_1::book, book>(fill_book)});
///
/// All roots are converted in one atomic commit, each as by migrate<T>(). For roots that have the present type already,
/// or do not exist, only the directory of roots and the schema are read. Errors: those of migrate(); errc::read_only
/// when a heap is opened read-only and needs conversion; errc::invalid_argument when to() names a root twice, with
/// different types.
class migrations {
public:
    /// Adds a root, which becomes a T.
    template <class T>
    migrations& to(std::string_view name) {
        roots_.push_back(detail::root_for_migration<T>(name));
        return *this;
    }
    /// Adds a function that makes a New from an Old: see migrate<Old, New>(function).
    template <class Old, class New, class F>
    migrations& migrate(F function) {
        how_.steps.push_back(migration_step::of<Old, New>(std::move(function)));
        return *this;
    }
    /// Adds a renamed member: `renamed<"pages", "page_count">::of<book>()`.
    migrations& rename(renamed_member member) {
        how_.renamed.push_back(std::move(member));
        return *this;
    }
    /// Adds a renamed class: `renamed_class<"app::circle">::of<app::round>()`.
    migrations& rename(class_with_other_name which) {
        how_.renamed_classes.push_back(std::move(which));
        return *this;
    }

    /// Adds a member whose values may be lost, "year" of any class or "book.year": see migration_options::dropped.
    migrations& drop(std::string name) {
        how_.dropped.push_back(std::move(name));
        return *this;
    }

    /// Migrates the roots of an open heap, and returns one report for all.
    migration_report operator()(heap& of) const { return detail::migrate_roots(of, roots_, how_); }
    /// Returns what would be done, and changes nothing.
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
