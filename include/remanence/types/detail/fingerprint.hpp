// The fingerprint of a stored type: its name, a hash over its structure as far as that is visible, and a description of
// the structure. A root with another fingerprint than the requested one is refused, since its bytes would be read
// wrongly.
//
// Depends on the standard library only. src/types/fingerprint.cpp computes hashes; mangled_name_reader.cpp and
// name_shortener.cpp beside it make names.
//
// Structure: size and alignment of every type that can be reached through members of aggregates, elements of arrays,
// arguments of class templates (so keys and values of containers) and plain pointers; and the names and places of those
// members. Each class is written once. A class with constructors of its own shows only its name, size, alignment and
// layout number. The same program gives the same hash with g++ and clang, with and without NDEBUG and
// _GLIBCXX_ASSERTIONS.
#pragma once

#include <remanence/types/detail/aggregate.hpp>
#include <remanence/types/detail/known_classes.hpp>
#include <remanence/types/detail/member_names.hpp>
#include <remanence/types/detail/position_independent.hpp>
#include <remanence/types/detail/reflect_access.hpp>
#include <remanence/types/detail/shape.hpp>
#include <remanence/types/detail/virtual_functions.hpp>
#include <remanence/types/layout_number.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace remanence::types {
struct type_row; // src/types/type_description.hpp
}

namespace remanence::detail {

/// The version of the hash algorithm, stored with every hash; a new algorithm gets a new number. Heaps with hashes of
/// algorithm 1 can be read, too: type_fingerprint::hash_1.
inline constexpr std::uint32_t k_fingerprint_algorithm = 2;

struct type_fingerprint {
    std::string name;            ///< readable, for example "rem::multimap<rem::string, address>"
    std::uint64_t hash = 0;      ///< over the structure
    std::uint64_t size = 0;      ///< in bytes
    std::uint64_t alignment = 0; ///< in bytes
    std::uint32_t algorithm = k_fingerprint_algorithm;
    /// False for types that other programs cannot name: local and unnamed types, closures, types in anonymous
    /// namespaces, and templates over such types.
    bool nameable = false;
    /// True if objects of the type hold no address. Not part of the hash.
    bool position_independent = false;
    /// The hash by algorithm 1, which ignored names and places of members, and layout numbers.
    std::uint64_t hash_1 = 0;
    /// The readable name of a class in the structure that has a layout number, and that number; empty if there is none.
    std::string numbered;
    std::uint64_t layout_number = 0;
    /// The structure as an encoded types::type_description, so that another program can say what differs.
    std::string description;

    // Not part of the hash: what else the schema contains (src/types/schema_table.hpp).
    write_type structure = nullptr; ///< writes the structure of the type, when its schema is needed
    std::uint32_t shapes = 0;       ///< how many of its types have a known shape
    /// A hash over members named by REM_REFLECT, and over enumerators; 0 if there are none.
    std::uint32_t classes_hash = 0;
    /// The schema of a type that a C program describes; such a type has no `structure`.
    std::string schema;

    /// The part for virtual functions; null if no class in the structure has any.
    const virtual_part* virtual_functions = nullptr;
    assumption assumed = assumption::none; ///< what the compiler assumes about one of these classes
};

/// Returns `mangled` as a programmer writes it, with Remanence's own aliases; `mangled` itself if that fails.
[[nodiscard]] std::string readable_name(const char* mangled);
/// See type_fingerprint::nameable.
[[nodiscard]] bool is_nameable(const char* mangled);

/// Writes a structure into a table, each type once. The hash and the description are made from this table: the hash
/// with mangled names (the ABI fixes these, while demanglers change their spelling over time), the description with
/// readable names. This class also writes the text that algorithm 1 hashed.
class structure_writer {
public:
    structure_writer();
    structure_writer(const structure_writer&) = delete;
    structure_writer& operator=(const structure_writer&) = delete;
    ~structure_writer();

    // Each write_type calls one of the following functions.

    /// Writes a type whose name says everything.
    void plain(const std::type_info& type);
    void reference(const std::type_info& type);
    void pointer(write_type pointee);
    /// `extent` is 0 if it is not known.
    void array(std::size_t extent, write_type element);
    /// `contents` writes what the class consists of, unless that was written before. May be null.
    void object(const std::type_info& type, std::size_t size, std::size_t alignment, std::uint32_t layout_number,
                write_type contents);
    /// Records how the type of the last call of object() stores its contents. `shape` must live as long as the process.
    void shape(const type_shape& shape);
    /// Records that a class has virtual functions.
    void has_virtual_functions(const virtual_part* part, assumption made) {
        virtual_functions_ = part;
        assumed_ = made != assumption::none ? made : assumed_;
    }
    /// Writes a class whose members are stored serialised, one after the other.
    void serialised(const std::type_info& type, const member_table& members);

    // The argument `contents` of object() calls one of the following functions.
    void members(const member_table& members);
    /// Writes types in their order, such as the arguments of a template; skips null pointers. `open` and `close` are
    /// the text that algorithm 1 hashed before and after a list that is not empty.
    void list(std::string_view open, const write_type* types, std::size_t count, std::string_view close);
    /// Writes what else distinguishes the layout, for example " b-tree 2: 15 slots".
    void text(std::string_view text);

    [[nodiscard]] type_fingerprint finish(const std::type_info& type, std::size_t size, std::size_t alignment) &&;
    /// Returns the encoded schema (src/types/schema_table.hpp) instead of a fingerprint.
    [[nodiscard]] std::string schema() &&;

private:
    std::uint32_t write(write_type type);
    std::uint32_t intern(types::type_row row);
    void take(const member_table& members, std::string_view open, std::string_view next, types::type_row& into);
    void take_members_of_classes();

    std::vector<types::type_row> rows_; // with mangled names
    std::uint32_t last_ = 0;            // the row of the last type
    std::uint32_t open_ = 0;            // the row whose contents are being written
    std::string text_1_;                // what algorithm 1 hashes

    struct row_with_shape {
        std::uint32_t row;
        const type_shape* shape;
    };
    std::vector<row_with_shape> shapes_;
    const virtual_part* virtual_functions_ = nullptr;
    assumption assumed_ = assumption::none;
};

template <class T>
concept complete = requires { sizeof(T); };

/// True for allocators. They are not written as arguments of a template, since they repeat the container's value type.
template <class T>
inline constexpr bool is_allocator_v = false;
template <class T>
inline constexpr bool is_allocator_v<allocator<T>> = true;
template <class T>
inline constexpr bool is_allocator_v<std::allocator<T>> = true;

template <class T>
consteval write_type writer_of() {
    if constexpr (is_allocator_v<T>)
        return nullptr;
    else
        return &write_structure<T>;
}

template <class... Ts>
void write_list(structure_writer& out, std::string_view open, std::string_view close) {
    if constexpr (sizeof...(Ts) != 0) {
        static constexpr write_type k_types[] = {writer_of<Ts>()...};
        out.list(open, k_types, sizeof...(Ts), close);
    }
}

template <class T>
void locate_members(std::uintptr_t place, const volatile void** into) {
    const auto addresses = member_addresses<T>(*reinterpret_cast<const T*>(place));
    std::copy(std::begin(addresses.at), std::end(addresses.at), into);
}

/// True if a member is a reference. References have no addresses, so only the types of a class's members are written
/// then.
template <class... Ts>
consteval bool have_references(type_list<Ts...>) {
    return (std::is_reference_v<Ts> || ...);
}

/// `Writer<M>` writes the structure of a member.
template <class T, template <class> class Writer, class Members = member_types<T>>
struct members_of;
template <class T, template <class> class Writer, class... Ms>
struct members_of<T, Writer, type_list<Ms...>> {
    static constexpr write_type k_types[] = {Writer<Ms>::k_write..., nullptr}; // an array may not be empty
    static consteval member_table table() {
        if constexpr (sizeof...(Ms) == 0 || have_references(type_list<Ms...>()))
            return {k_types, nullptr, nullptr, nullptr, sizeof...(Ms)};
        else
            return {k_types, names_of_members<T>::k_names.text, names_of_members<T>::k_names.ends, &locate_members<T>,
                    sizeof...(Ms)};
    }
    static constexpr member_table k_table = table();
};

template <class M>
struct structure_of_member {
    static constexpr write_type k_write = writer_of<M>();
};

template <class T>
void write_members(structure_writer& out) {
    out.members(members_of<T, structure_of_member>::k_table);
}

template <template <class...> class Template, class... Args>
void write_arguments(structure_writer& out, std::type_identity<Template<Args...>> /*type*/) {
    write_list<Args...>(out, " <", ">");
}
/// Writes the value type of a class template whose arguments are not all types.
template <class T>
void write_arguments(structure_writer& out, std::type_identity<T> /*type*/) {
    if constexpr (requires { typename T::value_type; }) {
        if constexpr (!std::is_same_v<typename T::value_type, T>)
            write_list<typename T::value_type>(out, " <", ">");
    }
}
template <class... Parts>
void write_parts(structure_writer& out, type_list<Parts...> /*parts*/) {
    write_list<Parts...>(out, " <", ">");
}

/// Writes what follows a class's name, size and alignment.
template <class T>
void write_contents(structure_writer& out) {
    using traits = class_traits<T>;
    if constexpr (requires { traits::write(out); }) {
        traits::write(out);
    } else if constexpr (requires { traits::layout(); }) {
        if constexpr (requires { typename traits::parts; })
            write_parts(out, typename traits::parts());
        else
            write_arguments(out, std::type_identity<T>());
        out.text(traits::layout());
    } else {
        write_arguments(out, std::type_identity<T>());
    }
    if constexpr (std::is_polymorphic_v<T>)
        out.text(k_virtual_note);
}

template <class T>
inline constexpr bool is_std_array_v = false;
template <class Element, std::size_t N>
inline constexpr bool is_std_array_v<std::array<Element, N>> = true;

template <class T>
consteval write_type contents_of_class() {
    if constexpr (std::is_empty_v<T>) {
        return nullptr;
    } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T> && !is_std_array_v<T>) {
        constexpr aggregate_obstacle obstacle = aggregate_shape_v<T>.obstacle;
        static_assert(obstacle != aggregate_obstacle::too_many,
                      "Remanence looks into aggregates up to 32 members (and 1024 elements of C arrays): group "
                      "some of this one's members into structs, use std::array, or give it a constructor.");
        if constexpr (obstacle == aggregate_obstacle::none)
            return &write_members<T>;
        else
            return nullptr;
    } else {
        return &write_contents<T>;
    }
}

/// Returns how a T stores its contents; shape_kind::none if that is not known. T must not be cv-qualified. The result
/// is not a pointer, since g++ with sanitizers cannot compare pointers with null in a constant expression.
template <class T>
consteval const type_shape& shape_of() {
    if constexpr (std::is_enum_v<T>)
        return shape_of_enumeration<T>::k_shape;
    else if constexpr (std::is_arithmetic_v<T>)
        return shape_of_number<T>::k_shape;
    else if constexpr (requires { typename class_traits<T>::shape; })
        return class_traits<T>::shape::k_shape;
    else if constexpr (reflect_access::is_reflected<T>())
        return shape_of_members<reflect_access::members<T>>::k_shape;
    else
        return no_shape::k_shape;
}
template <class T>
inline constexpr bool has_shape_v = shape_of<T>().kind != shape_kind::none;

template <class T>
void write_shape(structure_writer& out) {
    if constexpr (has_shape_v<T>)
        out.shape(shape_of<T>());
}

/// The shape of an empty class, which is known to have no members. (The members of a class that hides them are not
/// known.)
inline constexpr member_table k_no_members{nullptr, nullptr, nullptr, nullptr, 0};
inline constexpr type_shape k_shape_of_empty_class{.kind = shape_kind::members, .members = &k_no_members};

template <class T>
void write_class(structure_writer& out) {
    out.object(typeid(T), sizeof(T), alignof(T), layout_number<T>, contents_of_class<T>());
    if constexpr (std::is_polymorphic_v<T>) {
        out.has_virtual_functions(know_class(typeid(T), &fingerprint_of<T>), compiler_obstacle());
        if (!has_virtual_bases(typeid(T))) // where they lie depends on the whole object
            write_shape<T>(out);
    } else {
        write_shape<T>(out);
    }
    if constexpr (!has_shape_v<T> && std::is_empty_v<T>)
        out.shape(k_shape_of_empty_class);
}

/// Writes the type in which an enumeration is stored.
template <class T>
void write_underlying(structure_writer& out) {
    write_list<std::underlying_type_t<T>>(out, " : ", "");
}

template <class T>
void write_structure(structure_writer& out) {
    using type = std::remove_cv_t<T>;
    if constexpr (std::is_void_v<type> || std::is_function_v<type> || std::is_member_pointer_v<type>) {
        out.plain(typeid(type));
    } else if constexpr (std::is_reference_v<type>) {
        out.reference(typeid(type));
    } else if constexpr (std::is_array_v<type>) {
        out.array(std::extent_v<type>, &write_structure<std::remove_extent_t<type>>);
    } else if constexpr (std::is_pointer_v<type>) {
        using pointee = std::remove_pointer_t<type>;
        static_assert(complete<pointee> || !std::is_class_v<pointee>,
                      "Remanence must see the definition of what a stored pointer points at: include its header.");
        out.pointer(&write_structure<pointee>);
    } else if constexpr (!complete<type>) { // an incomplete template argument, used as a tag only
        out.plain(typeid(std::type_identity<type>));
    } else if constexpr (std::is_enum_v<type>) {
        tell_changes_of_classes();
        out.object(typeid(type), sizeof(type), alignof(type), 0, &write_underlying<type>);
        write_shape<type>(out);
    } else if constexpr (std::is_scalar_v<type>) {
        out.object(typeid(type), sizeof(type), alignof(type), 0, nullptr);
        write_shape<type>(out);
    } else {
        write_class<type>(out);
    }
}

// The members of pairs and tuples, which cannot be taken apart like aggregates.

template <class... Ts>
consteval std::array<write_type, sizeof...(Ts) + 1> writers_of() {
    return {&write_structure<Ts>..., nullptr};
}

template <class A, class B>
struct members_of_pair {
    static constexpr packed_names<2, 11> k_names{"firstsecond", {5, 11}};
    static constexpr auto k_types = writers_of<A, B>();
    static constexpr std::size_t k_count = 2;
    static constexpr bool k_is_own = false;
    static void locate(std::uintptr_t place, const volatile void** into) {
        into[0] = reinterpret_cast<const volatile void*>(place);
        into[1] = reinterpret_cast<const volatile void*>(place + mapped_offset_v<A, B>);
    }
};

template <std::size_t... I, class... Ts>
struct members_of_tuple<std::index_sequence<I...>, Ts...> {
    static constexpr std::size_t k_count = sizeof...(Ts);
    static constexpr bool k_is_own = false;
    static_assert(k_count <= 100, "the names have two digits at most");
    static consteval auto name() {
        packed_names<k_count + 1, 2 * k_count> named;
        std::size_t bytes = 0;
        for (std::size_t i = 0; i != k_count; ++i) {
            if (i >= 10)
                named.text[bytes++] = static_cast<char>('0' + i / 10);
            named.text[bytes++] = static_cast<char>('0' + i % 10);
            named.ends[i] = static_cast<std::uint32_t>(bytes);
        }
        return named;
    }
    static constexpr auto k_names = name();
    static constexpr auto k_types = writers_of<Ts...>();
    static void locate(std::uintptr_t place, const volatile void** into) {
        const auto& object = *reinterpret_cast<const std::tuple<Ts...>*>(place);
        ((into[I] = __builtin_addressof(std::get<I>(object))), ...);
    }
};

template <class T>
type_fingerprint make_fingerprint() {
    structure_writer out;
    write_structure<T>(out);
    type_fingerprint made =
        std::move(out).finish(typeid(T), sizeof(T), alignof(T)); // NOLINT(bugprone-sizeof-expression)
    made.position_independent = is_position_independent_v<T>;
    made.structure = &write_structure<T>;
    return made;
}

/// Returns the fingerprint of T; computes it at the first call. Thread-safe.
template <class T>
const type_fingerprint& fingerprint_of() {
    static_assert(std::is_object_v<T> && std::is_same_v<T, std::remove_cv_t<T>>);
    // Two threads may compute the fingerprint at the same time. Neither waits for the other, since a forked child may
    // not have the other thread.
    static std::atomic<const type_fingerprint*> known = nullptr;
    const type_fingerprint* found = known.load(std::memory_order_acquire);
    if (found == nullptr) {
        auto made = std::make_unique<const type_fingerprint>(make_fingerprint<T>());
        if (known.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel, std::memory_order_acquire))
            found = made.release(); // never freed
    }
    return *found;
}

} // namespace remanence::detail
