/// \file
/// Reads the objects of an open heap by the schema that the heap stores, without their types: for servers, viewers, and
/// bindings of other languages. Works with every heap: shared, read-only, an old version, or one mapped elsewhere.
/// (look_inside.hpp reads the files of a heap that need not be open.) Example:
///
///     heap.read([&] {
///         auto people = rem::inspect::view_root(heap, "people");
///         if (auto found = people.find("KNUTH"))
///             std::cout << found->value.member("city").text();
///     });
///
/// **Lifetime.** A view is like a reference. It refers to an object as long as the object exists and stays where it is;
/// a commit does not matter. It becomes invalid when the object is destroyed or moved, which an erasure, a growing
/// container, a rollback, an undo or a migration may do. In a shared heap another process may do that: get views anew
/// from view_root() in each read section. What a call returns as std::string_view or std::span lies in the heap; copy
/// it before the section ends. Views may outlive the heap: then calls throw errc::closed.
///
/// **Safety.** Contents are not trusted. With an invalid view or a damaged heap, calls return wrong values or throw
/// errc::corrupt, but they read nothing outside of the heap, and all of them end.
///
/// **Limits.** Calls that may visit many elements have a limit of steps; a step examines an element, a node, or 16
/// places of a hash table. A call that would take more throws errc::limit_reached. A cursor goes on where such a call
/// stopped.
///
/// **Threads.** Each call runs in a read section, which is nested if the thread is in a section already. Several threads
/// may use the same view; each cursor belongs to one thread at a time.
///
/// Errors of all calls that read the heap: errc::closed; errc::corrupt; errc::invalid_argument when the object is of a
/// kind for which the call has no meaning.
#pragma once

#include <remanence/heap.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace remanence::inspect {

struct object_context;  // src/api/object_view.cpp
struct object_access;   // src/api/object_view.cpp
struct object_position; // src/api/object_view.cpp

/// What an object is.
enum class object_kind : std::uint8_t {
    boolean,         ///< bool: a number, 0 or 1
    signed_number,   ///< a whole number
    unsigned_number, ///< a whole number that is never negative
    real,            ///< float, double, long double
    character,       ///< char: also a signed number
    enumeration,     ///< a whole number whose values may have names
    text,            ///< a string, or an array of char
    serialised,      ///< bytes that only the program can read (rem::fragile)
    members,         ///< a class with members that are known
    tuple,           ///< std::pair or std::tuple: its members are named "first" and "second", or "0", "1" …
    sequence,        ///< elements in an order: an array, a vector, a deque, a list
    set,             ///< elements that are found by themselves
    map,             ///< elements that are found by keys
    optional,        ///< a value or nothing
    variant,         ///< a value of one of several types
    pointer,         ///< the address of another object, or null
    opaque,          ///< the heap does not store what the object consists of
};

/// How much a call may do.
struct object_limits {
    std::uint64_t steps = 1'000'000;               ///< at least 1
    std::uint64_t bytes = std::uint64_t{1} << 20U; ///< length of a text that object_view::json() returns
};

/// A key to search for: a number, a bool, or a text. Texts must exist until the call returns.
class object_key {
public:
    /// Makes a key of a number. Keys that are real numbers are compared exactly: 0.1F and 0.1 differ.
    template <std::signed_integral T>
    object_key(T number) : value_(std::int64_t{number}) {} // NOLINT(google-explicit-constructor)
    template <std::unsigned_integral T>
    object_key(T number) : value_(std::uint64_t{number}) {} // NOLINT(google-explicit-constructor)
    template <std::floating_point T>
    object_key(T number) : value_(static_cast<long double>(number)) {} // NOLINT(google-explicit-constructor)
    /// Makes a key of a text, of the name of an enumerator, or of a single character.
    template <std::convertible_to<std::string_view> T>
    object_key(const T& text) : value_(std::string_view(text)) {} // NOLINT(google-explicit-constructor)

private:
    friend object_access;
    std::variant<std::int64_t, std::uint64_t, long double, std::string_view> value_;
};

struct object_element;
class object_cursor;

/// An object in a heap, with its place in the heap's schema. Copies are cheap.
class object_view {
public:
    /// Returns what the object is. For std::atomic and std::chrono: what they contain. O(1); does not read the heap.
    [[nodiscard]] object_kind kind() const;
    /// Returns the name of the type, as a programmer would write it. Does not read the heap.
    [[nodiscard]] std::string type() const;
    /// Returns the width in bits: that of the bit-field, or eight times the object's size; 0 if the size is not known, and
    /// for a text in a packed map. Does not read the heap.
    [[nodiscard]] std::uint64_t bits() const;
    /// Returns the bytes of the object itself; none where bits() is not eight times a size. An element of a
    /// std::vector<bool> is a byte outside of the heap.
    [[nodiscard]] std::span<const std::byte> bytes() const;

    // Numbers, of all kinds from boolean to enumeration. errc::not_supported when the type of the result cannot hold the
    // value exactly.

    /// Returns a whole number.
    [[nodiscard]] std::int64_t to_int64() const;
    /// Returns a whole number that is not negative.
    [[nodiscard]] std::uint64_t to_uint64() const;
    /// Returns a number. A NaN keeps its sign, but not its other bits.
    [[nodiscard]] double to_double() const;
    /// Returns the name of the enumeration's value; an empty text if it has none.
    [[nodiscard]] std::string enumerator() const;

    /// Returns the text of an object of kind text, or the bytes of a serialised one. Zeros at the end of an array of char
    /// do not count.
    [[nodiscard]] std::string_view text() const;

    // Kinds members and tuple. A bit-field whose place is not known is no member. O(members); these do not read the heap.

    /// Returns the number of members, bases included.
    [[nodiscard]] std::size_t member_count() const;
    /// Returns a member's name; for a base, that of its type. errc::not_found when there is no such member.
    [[nodiscard]] std::string member_name(std::size_t index) const;
    /// Returns a member by number or by name. errc::not_found, with the names that exist.
    [[nodiscard]] object_view member(std::size_t index) const;
    [[nodiscard]] object_view member(std::string_view name) const;

    /// Returns what a pointer leads to; nothing for null. An object with virtual functions is shown as one of its own class,
    /// if the heap stores that; then O(classes). errc::corrupt when the target does not lie in the heap.
    [[nodiscard]] std::optional<object_view> target() const;
    /// Returns the value of an optional or a variant; nothing if it is empty.
    [[nodiscard]] std::optional<object_view> value() const;
    /// Returns which alternative a variant holds, counted from 0; nothing if it is valueless.
    [[nodiscard]] std::optional<std::size_t> alternative() const;

    // Kinds sequence, set and map. Elements are in the container's order; that of a hash container changes when it grows.

    /// Returns the number of elements. O(1); O(elements) for std::forward_list and some containers of Boost.
    [[nodiscard]] std::uint64_t size(object_limits limits = {}) const;
    /// Returns the element at an index. O(1) for arrays, vectors and deques; else O(index), where a leaf of a B-tree is
    /// one step. errc::not_found when there are fewer; errc::limit_reached.
    [[nodiscard]] object_element element(std::uint64_t index, object_limits limits = {}) const;
    /// Returns a cursor in front of the first element.
    [[nodiscard]] object_cursor elements() const;
    /// Returns the first element with that key; nothing if there is none. A multimap's further elements with that key are
    /// found by lower_bound(). errc::invalid_argument when the keys of the container are no such values;
    /// errc::limit_reached.
    ///
    /// O(log elements) for B-trees, std::map and the like that are ordered by std::less or std::greater, and packed maps.
    /// O(1) on average for hash containers with the hash of this or the standard library. Otherwise, as for containers
    /// of Boost, O(elements): the library cannot call a comparison or a hash of the program.
    [[nodiscard]] std::optional<object_element> find(const object_key& key, object_limits limits = {}) const;
    /// Does the same for keys of every kind, such as pairs. `key` is JSON in the form of json(), as in `rem get`:
    /// `{"first":1,"second":"one"}`. O(elements).
    [[nodiscard]] std::optional<object_element> find_json(std::string_view key, object_limits limits = {}) const;
    /// Returns a cursor in front of the first element whose key is not before `key`. O(log elements).
    /// errc::not_supported unless find() is O(log elements) for that container.
    [[nodiscard]] object_cursor lower_bound(const object_key& key, object_limits limits = {}) const;

    /// Returns the object as JSON, in the form of `rem get` (docs/reference/dump.md); a pointer is the heap offset of its
    /// target. errc::limit_reached when the text would be longer than `limits.bytes`, or takes too many steps;
    /// errc::not_supported when objects are nested too deeply. O(object).
    [[nodiscard]] std::string json(object_limits limits = {}) const;

private:
    friend object_access;
    object_view() = default;
    std::shared_ptr<const object_context> context_;
    std::uint64_t at_ = 0;
    std::uint32_t row_ = 0;
    std::uint8_t first_bit_ = 0; // of a bit-field
    std::uint8_t bits_ = 0;      // of a bit-field; else 0
};

/// An element of a container. Elements of sequences and sets have no key besides their value.
struct object_element {
    std::optional<object_view> key; ///< the key of an element of a map
    object_view value;              ///< the element, or the mapped value
};

/// A place between two elements of a container, for reading page by page. It becomes invalid with the container's
/// iterators, as a view does: across commits, begin anew with object_view::lower_bound(), or by index.
class object_cursor {
public:
    /// Move a cursor. The other one may only be destroyed or assigned to.
    object_cursor(object_cursor&& other) noexcept;
    object_cursor& operator=(object_cursor&& other) noexcept;
    ~object_cursor();

    /// Returns the next element and passes it; nothing at the end. O(1), amortized. errc::limit_reached: the next call
    /// goes on searching where this one stopped.
    [[nodiscard]] std::optional<object_element> next(object_limits limits = {});
    /// Returns the next elements, at most `count`, all as of one commit, and passes them. These are fewer at the end, and when
    /// the steps are used up; only at the end there are none. errc::limit_reached when the steps were used up before the
    /// first element.
    [[nodiscard]] std::vector<object_element> next_page(std::uint64_t count, object_limits limits = {});
    /// Passes so many elements; returns how many it has passed. These are fewer at the end, and when the steps are used up;
    /// only at the end it returns 0. O(1) for arrays, vectors and deques; else O(count), where a leaf of a B-tree is one
    /// step. errc::limit_reached when the steps were used up before the first element.
    std::uint64_t skip(std::uint64_t count, object_limits limits = {});

private:
    friend object_access;
    object_cursor(object_view container, std::unique_ptr<object_position> at) noexcept;
    object_view container_;
    std::unique_ptr<object_position> at_;
};

/// Returns a view of a root's object. Errors: errc::not_found when there is no such root; errc::not_supported when the
/// heap does not store the root's type, because no program that knows it has committed; errc::corrupt. O(roots + types).
[[nodiscard]] object_view view_root(const heap& of, std::string_view root);

} // namespace remanence::inspect
