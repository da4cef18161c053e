// Decides at compile time which types may be stored in a heap. Depends on the standard library only.
//
// Another process, perhaps of another program, will read what lies in a heap. So nothing in a heap may lead out of it:
// to malloc's memory, code, static objects, threads or files.
//
// - Arrays, aggregates and the templates of the standard library are examined with all of their parts.
// - A container is judged by its allocator and its elements. For a container of the standard library, of Boost, or with
//   class_traits, nothing else is examined.
// - Other classes hide their members. They are accepted if they are trivially copyable and assignable, since they
//   consist of their bytes alone; otherwise they are refused until you vouch for them, as shown below.
// - Some aggregates cannot be taken apart (bases with members, unions, more than 32 members). They are treated as
//   classes that hide their members. But if they have at most 256 initialisers, what each of these initialises is
//   judged: bases and members, and the first member of a union.
//
//     template <>
//     inline constexpr bool remanence::enable_persistable<my::account> = true;
//
// Plain pointers are accepted: they should point at objects in the same heap, as make() returns them.
// heap::check_pointers() finds those that do not.
#pragma once

#include <remanence/allocator.hpp>
#include <remanence/types/detail/aggregate.hpp>
#include <remanence/types/detail/known_classes.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iosfwd>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace remanence {

/// Specialise it as true for a class of yours that hides its members and consists only of what may be stored, or for a
/// class that is refused although it does no harm. The library then does not examine the class. Do so before its first
/// use with a heap.
template <class T>
inline constexpr bool enable_persistable = false;

namespace detail {

/// The result of examining a type: the reason why it cannot be stored (`nothing` if it can), and `Part`, the type
/// inside it that this reason is about.
template <unfit Why, class Part>
struct verdict {
    static constexpr unfit k_why = Why;
    using part = Part;
};
using fit = verdict<unfit::nothing, void>;

// Classes that are recognised by their functions, so that their headers need not be included.

template <class T>
concept can_lock = requires(T& t) {
    t.lock();
    t.unlock();
};
template <class T>
concept can_notify = requires(T& t) {
    t.notify_one();
    t.notify_all();
};
template <class T>
concept can_release = requires(T& t) {
    t.release();
    { t.try_acquire() } -> std::same_as<bool>;
};
template <class T>
concept can_count_down = requires(T& t) { t.arrive_and_wait(); };
template <class T>
concept can_join = requires(T& t) {
    { t.joinable() } -> std::same_as<bool>;
    t.join();
};
template <class T>
concept has_future_result = requires(T& t) { t.get_future(); } || requires(const T& t) {
    { t.valid() } -> std::same_as<bool>;
    t.wait();
};
/// Classes like boost::any and boost::function.
template <class T>
concept tells_type_it_holds = requires(const T& t) {
    { t.type() } -> std::same_as<const std::type_info&>;
} || requires(const T& t) {
    { t.target_type() } -> std::same_as<const std::type_info&>;
};

// Classes that are recognised by name.

/// Returns the name of a class without template arguments.
template <class T>
constexpr std::string_view name_of_class() {
    const std::string_view signature = __PRETTY_FUNCTION__;
    const std::string_view name = signature.substr(signature.find("T = ") + 4);
    return name.substr(0, name.find_first_of("<;]"));
}

/// True for the locks of POSIX and C, which are unions.
template <class T>
constexpr bool is_lock_of_c() {
    constexpr std::string_view k_names[] = {
        "pthread_mutex_t", "pthread_cond_t", "pthread_rwlock_t", "pthread_barrier_t", "sem_t", "mtx_t", "cnd_t"};
    for (const std::string_view each : k_names) {
        if (name_of_class<T>() == each)
            return true;
    }
    return false;
}

/// True if a class belongs to the standard library or Boost, so that its interface shows what it consists of. A class
/// of another library may have the same interface and other members, for instance by inheritance.
template <class T>
constexpr bool is_of_known_library() {
    const std::string_view name = name_of_class<T>();
    return name.starts_with("std::") || name.starts_with("boost::");
}

/// True for containers that point at a static object of the program when they are empty.
template <class T>
constexpr bool is_empty_a_static() {
    const std::string_view name = name_of_class<T>();
    const std::size_t scope = name.rfind("::");
    const std::string_view last = scope == std::string_view::npos ? name : name.substr(scope + 2);
    if (name.starts_with("boost::"))
        return last.starts_with("unordered_flat_") || last.starts_with("unordered_node_");
    if (name.starts_with("absl::"))
        return last.ends_with("hash_map") || last.ends_with("hash_set") || last.starts_with("btree_");
    if (name.starts_with("folly::"))
        return last.starts_with("F14");
    return name.starts_with("phmap::") || name.starts_with("tsl::");
}

/// True for a boost::multi_index_container with an index that contains an array. Its move assignment and its copies
/// pass the array of one heap to a container of another.
template <class T>
constexpr bool is_mixing_heaps() {
    const std::string_view signature = __PRETTY_FUNCTION__;
    const std::string_view name = signature.substr(signature.find("T = ") + 4);
    return name.starts_with("boost::multi_index::multi_index_container<") &&
           (name.find("boost::multi_index::hashed_") != name.npos ||
            name.find("boost::multi_index::random_access<") != name.npos);
}

/// True for containers and iterators of libstdc++'s debug mode, which point at each other.
template <class T>
constexpr bool is_linked_by_iterators() {
#if defined(_GLIBCXX_DEBUG)
    return std::is_base_of_v<__gnu_debug::_Safe_sequence_base, T> ||
           std::is_base_of_v<__gnu_debug::_Safe_iterator_base, T>;
#else
    return false;
#endif
}

/// Remanence's allocator, one derived from it (std::scoped_allocator_adaptor), or one that the program vouches for.
template <class Alloc>
concept heap_allocator = enable_persistable<Alloc> || std::is_base_of_v<allocator<typename Alloc::value_type>, Alloc>;

template <class T, class... Open>
auto judge();

template <class... Open>
fit judge_all(type_list<>, type_list<Open...>);
/// Returns the verdict about the first part that cannot be stored.
template <class First, class... Rest, class... Open>
auto judge_all(type_list<First, Rest...>, type_list<Open...> open) {
    using found = decltype(judge<First, Open...>());
    if constexpr (found::k_why != unfit::nothing)
        return found();
    else
        return decltype(judge_all(type_list<Rest...>(), open))();
}

/// Judges the memory of a class: if the class has an allocator, that must be a heap's.
template <class T>
auto judge_memory() {
    if constexpr (!requires { typename T::allocator_type; })
        return fit();
    else if constexpr (requires(const typename T::allocator_type& alloc) { alloc.resource(); })
        return verdict<unfit::memory_resource, T>();
    else if constexpr (!heap_allocator<typename T::allocator_type>)
        return verdict<unfit::other_memory, T>();
    else
        return fit();
}

/// Judges the parts that class_traits<T> lists.
template <class T, class... Open>
auto judge_parts() {
    using memory = decltype(judge_memory<T>());
    if constexpr (memory::k_why != unfit::nothing)
        return memory();
    else
        return decltype(judge_all(typename class_traits<T>::parts(), type_list<Open...>()))();
}

template <class T, class... Open>
auto judge_container() {
    using memory = decltype(judge_memory<T>());
    using value = decltype(judge<typename T::value_type, Open...>());
    if constexpr (is_empty_a_static<T>())
        return verdict<unfit::empty_is_static, T>();
    else if constexpr (memory::k_why != unfit::nothing)
        return memory();
    else if constexpr (is_mixing_heaps<T>())
        return verdict<unfit::mixes_heaps, T>();
    else if constexpr (value::k_why != unfit::nothing)
        return value();
    else if constexpr (requires { typename T::key_compare; })
        return decltype(judge<typename T::key_compare, Open...>())();
    else if constexpr (requires {
                           typename T::hasher;
                           typename T::key_equal;
                       })
        return decltype(judge_all(type_list<typename T::hasher, typename T::key_equal>(), type_list<Open...>()))();
    else
        return fit();
}

template <class T>
concept has_container_interface = requires {
    typename T::allocator_type;
    typename T::value_type;
} || requires { typename T::container_type; }; // std::stack and similar adaptors

/// Judges a class by its container interface; unfit::hidden if it has none.
template <class T, class... Open>
auto judge_interface() {
    if constexpr (requires { typename T::container_type; })
        return decltype(judge<typename T::container_type, Open...>())();
    else if constexpr (has_container_interface<T>)
        return decltype(judge_container<T, Open...>())();
    else
        return verdict<unfit::hidden, T>();
}

/// True if the members of a class can be examined.
template <class T>
consteval bool is_open_aggregate() {
    if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>)
        return aggregate_shape_v<T>.obstacle == aggregate_obstacle::none;
    else
        return false;
}

// Aggregates that cannot be taken apart.

inline constexpr std::size_t k_slots_judged_max = 256; // bounds the time it takes to compile

/// Converts to any type that may not be stored for the reason `Why` or, if `Why` is `nothing`, for any reason.
template <class Owner, unfit Why, class... Open>
struct any_unfit {
    template <class M>
    static consteval bool is_meant() {
        constexpr unfit k_found = decltype(judge<M, Open...>())::k_why;
        return Why == unfit::nothing ? k_found != unfit::nothing : k_found == Why;
    }
    template <class M>
        requires(!std::same_as<M, Owner>)
    // NOLINTNEXTLINE(google-explicit-constructor)
    operator M() const
        requires(is_meant<M>())
    {
        std::terminate();
    }
};

/// Returns the position of the first of T's bases and members that cannot be stored; if all can, their number. Not
/// recursive: for each initialiser that does not fit, clang would keep the whole stack of instantiations, with their
/// long names.
template <class T, class... Open, std::size_t... Positions>
consteval std::size_t first_unfit_slot(type_list<Open...> /*open*/, std::index_sequence<Positions...> /*all*/) {
    constexpr std::array<bool, sizeof...(Positions)> unfit_slots{
        is_of_kind_v<T, sizeof...(Positions), Positions, any_unfit<T, unfit::nothing, Open...>>...};
    return static_cast<std::size_t>(std::ranges::find(unfit_slots, true) - unfit_slots.begin());
}

/// Returns why the base or member at a position cannot be stored.
template <class T, std::size_t Slots, std::size_t Position, unfit Why, class... Open>
consteval unfit why_of_slot(type_list<Open...> open) {
    if constexpr (Why == unfit::hidden || is_of_kind_v<T, Slots, Position, any_unfit<T, Why, Open...>>)
        return Why;
    else
        return why_of_slot<T, Slots, Position, static_cast<unfit>(static_cast<std::uint8_t>(Why) + 1)>(open);
}

/// Finds the first of T's bases and members that cannot be stored; returns the reason, or `nothing` if all can be
/// stored.
template <class T, class... Open>
consteval unfit why_of_slots() {
    if constexpr (std::is_aggregate_v<T>) {
        constexpr std::size_t slots = count_slots<T>();
        if constexpr (slots <= k_slots_judged_max) {
            constexpr auto open = type_list<Open...>();
            constexpr std::size_t position = first_unfit_slot<T>(open, std::make_index_sequence<slots>());
            if constexpr (position < slots)
                return why_of_slot<T, slots, position, unfit::reference>(open);
        }
    }
    return unfit::nothing;
}

template <class Owner>
struct any_lvalue {
    template <class M>
        requires(!std::same_as<std::remove_cv_t<M>, Owner>)
    // NOLINTNEXTLINE(google-explicit-constructor)
    operator M&() const {
        std::terminate();
    }
};
/// True if T has a member that only an lvalue initialises.
template <class T>
consteval bool has_references() {
    if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) {
        if constexpr (count_slots<T>() > k_slots_max) {
            return []<std::size_t... N>(std::index_sequence<N...>) {
                return (accepts_v<T, any_lvalue<T>, std::make_index_sequence<N>, std::index_sequence<>> || ...);
            }(std::make_index_sequence<k_members_max + 1>());
        }
    }
    return false;
}

template <class T, class... Open>
auto judge_class() {
    if constexpr (is_linked_by_iterators<T>())
        return verdict<unfit::linked_by_iterators, T>();
    else if constexpr (requires { class_traits<T>::k_why; })
        return verdict<class_traits<T>::k_why, T>();
    else if constexpr (requires { typename class_traits<T>::parts; })
        return decltype(judge_parts<T, Open...>())();
    else if constexpr (std::is_base_of_v<std::ios_base, T>)
        return verdict<unfit::stream, T>();
    else if constexpr (has_container_interface<T> &&
                       (is_of_known_library<T>() || decltype(judge_interface<T, Open...>())::k_why != unfit::nothing))
        return decltype(judge_interface<T, Open...>())();
    else if constexpr (can_lock<T> || can_notify<T> || can_release<T> || can_count_down<T> || is_lock_of_c<T>())
        return verdict<unfit::lock, T>();
    else if constexpr (can_join<T>)
        return verdict<unfit::thread, T>();
    else if constexpr (has_future_result<T>)
        return verdict<unfit::result_of_thread, T>();
    else if constexpr (tells_type_it_holds<T>)
        return verdict<unfit::type_erased, T>();
    else if constexpr (std::is_empty_v<T>)
        return fit();
    else if constexpr (is_open_aggregate<T>())
        return decltype(judge_all(member_types<T>(), type_list<Open...>()))();
    // A class with a reference member is not assignable. Unnamed unions have no references, but g++ says that they are
    // not assignable, either.
    else if constexpr (std::is_trivially_copyable_v<T> &&
                       (std::is_union_v<T> || (std::is_move_constructible_v<T> && std::is_move_assignable_v<T>)))
        return verdict<why_of_slots<T, Open...>(), T>();
    else if constexpr (has_references<T>())
        return verdict<unfit::reference, T>();
    else
        return verdict<unfit::hidden, T>();
}

/// `Open`: the classes that are being examined; a class may lead to itself.
template <class T, class... Open>
auto judge() {
    using type = std::remove_cv_t<T>;
    using element = typename element_of_arrays<type>::type;
    if constexpr (enable_persistable<type> || (std::is_same_v<type, Open> || ...))
        return fit();
    else if constexpr (std::is_reference_v<type>)
        return verdict<unfit::reference, T>();
    else if constexpr (!std::is_same_v<element, type>)
        return decltype(judge<element, Open...>())();
    else if constexpr (std::is_same_v<type, std::FILE*>)
        return verdict<unfit::stream, T>();
    else if constexpr (std::is_function_v<std::remove_pointer_t<type>> || std::is_member_function_pointer_v<type>)
        return verdict<unfit::code, T>();
    else if constexpr (std::is_scalar_v<type>)
        return fit();
    else if constexpr (std::is_class_v<type> || std::is_union_v<type>)
        return decltype(judge_class<type, type, Open...>())();
    else
        return verdict<unfit::hidden, T>();
}

} // namespace detail

/// True if objects of this type may be stored. heap::root() and heap::make() require it, and say why a type is refused.
template <class T>
concept persistable = decltype(detail::judge<T>())::k_why == detail::unfit::nothing;

namespace detail {

/// Does not compile unless objects of type Stored may be stored. Part is the type that cannot be, and Why the reason.
/// It is a single function, called where the user's type is named: each function in between would add lines to a
/// compiler's message before the sentence.
template <class Stored, class Part = typename decltype(judge<Stored>())::part,
          unfit Why = decltype(judge<Stored>())::k_why>
constexpr void require_persistable() {
    static_assert(Why != unfit::reference, "Remanence cannot store references: use a plain pointer to an object that "
                                           "heap::make() made.");
    static_assert(Why != unfit::code, "Remanence cannot store pointers to functions or member functions: the program's "
                                      "code lies elsewhere in the next process. Use rem::function_pointer<R(Args...)>, "
                                      "which finds a function or static member function by its name.");
    static_assert(Why != unfit::lock, "Remanence cannot store locks, condition variables, semaphores or barriers: they "
                                      "belong to the threads of a process. Keep them outside the heap, or use "
                                      "heap::write() and heap::read(), which lock.");
    static_assert(Why != unfit::thread, "Remanence cannot store threads: they end with the process.");
    static_assert(Why != unfit::result_of_thread,
                  "Remanence cannot store futures, promises or tasks: they share malloc "
                  "memory with threads, which end with the process.");
    static_assert(Why != unfit::stream,
                  "Remanence cannot store streams: an open file belongs to the process. Store its "
                  "name.");
    static_assert(Why != unfit::type_erased,
                  "Remanence cannot store std::function, std::any, coroutines and their like: they point "
                  "at code of the running program, and at malloc memory. Use std::variant, or "
                  "a number that tells what is meant.");
    static_assert(Why != unfit::shared_ownership,
                  "Remanence cannot store std::shared_ptr or std::weak_ptr: they count "
                  "owners in malloc memory, by virtual functions. Use a plain pointer to "
                  "an object that heap::make() made.");
    static_assert(Why != unfit::deleted_by_malloc,
                  "Remanence cannot store a std::unique_ptr with std::default_delete, which gives heap memory to the "
                  "operator delete of malloc. Use std::optional or a plain pointer and heap::destroy(), or a deleter "
                  "that frees in the heap.");
    static_assert(Why != unfit::view,
                  "Remanence cannot store std::string_view, std::span or std::initializer_list: what "
                  "they show may lie anywhere. Use rem::string or rem::vector, which own it.");
    static_assert(Why != unfit::static_object,
                  "Remanence cannot store std::error_code, std::error_condition, std::type_index or "
                  "std::source_location: they point at static objects of the program. Store a number or a name.");
    static_assert(Why != unfit::memory_resource,
                  "Remanence cannot store std::pmr containers: they point at a memory "
                  "resource outside the heap. Use the container of namespace remanence.");
    static_assert(Why != unfit::other_memory,
                  "Remanence cannot store a container that takes its memory from elsewhere, "
                  "by std::allocator for instance (std::string, std::vector<T>). Use that of "
                  "namespace remanence (rem::string, rem::vector<T>), or rem::allocator; or rem::fragile, which "
                  "stores it serialised.");
    static_assert(Why != unfit::empty_is_static,
                  "Remanence cannot store this container: an empty one points at a static "
                  "object of the program, which lies elsewhere in the next process. Use "
                  "rem::hash_map, rem::btree_map or boost::unordered_map.");
    static_assert(
        Why != unfit::mixes_heaps,
        "Remanence cannot store a boost::multi_index_container with a hashed or random-access index: moved "
        "or copied between heaps, it frees the array of one in the other. Use an ordered or sequenced index.");
    static_assert(
        Why != unfit::linked_by_iterators,
        "Remanence cannot store containers or iterators of the debug mode of libstdc++: iterators that are in use are "
        "linked to their container, which would be stored with pointers to the stack. Compile without "
        "_GLIBCXX_DEBUG (_GLIBCXX_ASSERTIONS does no harm), or use Remanence's own containers, rem::btree_map, "
        "rem::hash_map or rem::vector_pi for instance.");
    static_assert(Why != unfit::hidden,
                  "Remanence cannot see what this class is made of. If nothing in it leads out of "
                  "the heap (no std::string, no container with std::allocator, no reference, no lock), vouch for "
                  "it: template <> inline constexpr bool remanence::enable_persistable<T> = true;");
}

} // namespace detail
} // namespace remanence
