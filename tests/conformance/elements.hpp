// What the containers under test hold: numbers, strings, an aggregate of strings, a class whose constructors and assignments
// throw when they are told to, and one that is stored serialised. In the models numbers are numbers, and all others std::string.
#pragma once

#include <remanence/remanence.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace remanence::test {

/// Thrown by `fragile` when the fuse has burnt down.
class injected_failure : public std::runtime_error {
public:
    injected_failure() : std::runtime_error("injected") {}
};

/// Operations of `fragile` until one throws; 0: none will.
inline std::size_t fuse = 0;

inline void burn() {
    if (fuse == 0)
        return;
    --fuse;
    if (fuse == 0)
        throw injected_failure();
}

/// A string that may throw from every constructor and assignment, moves included.
class fragile {
public:
    using allocator_type = allocator<char>;

    fragile() : fragile(std::string_view()) {}
    explicit fragile(const allocator_type& where) : fragile(std::string_view(), where) {}
    explicit fragile(std::string_view text, const allocator_type& where = {}) : text_((burn(), text), where) {}
    fragile(const fragile& other) : text_((burn(), other.text_)) {}
    fragile(const fragile& other, const allocator_type& where) : text_((burn(), other.text_), where) {}
    // NOLINTNEXTLINE(performance-noexcept-move-constructor)
    fragile(fragile&& other) : text_((burn(), std::move(other.text_))) {}
    fragile(fragile&& other, const allocator_type& where) : text_((burn(), std::move(other.text_)), where) {}
    fragile& operator=(const fragile& other) {
        burn();
        text_ = other.text_;
        return *this;
    }
    fragile& operator=(fragile&& other) { // NOLINT(performance-noexcept-move-constructor)
        burn();
        text_ = std::move(other.text_);
        return *this;
    }
    ~fragile() = default;

    [[nodiscard]] const string& text() const { return text_; }
    operator std::string_view() const { return text_; } // NOLINT(google-explicit-constructor): to be looked up by

    friend bool operator==(const fragile& a, const fragile& b) { return a.text_ == b.text_; }
    friend auto operator<=>(const fragile& a, const fragile& b) { return a.text_ <=> b.text_; }
    friend bool operator==(const fragile& a, std::string_view b) { return a.text_ == b; }
    friend auto operator<=>(const fragile& a, std::string_view b) { return std::string_view(a.text_) <=> b; }

private:
    string text_;
};

} // namespace remanence::test

template <> // it hides a string, which lies in the heap
inline constexpr bool remanence::enable_persistable<remanence::test::fragile> = true;

namespace remanence::test {

/// A comparator that may throw.
struct fragile_less {
    using is_transparent = void;
    [[nodiscard]] bool operator()(std::string_view a, std::string_view b) const {
        burn();
        return a < b;
    }
};

/// A hash and an equality that may throw.
struct fragile_hash {
    using is_transparent = void;
    [[nodiscard]] std::size_t operator()(std::string_view text) const {
        burn();
        return std::hash<std::string_view>()(text);
    }
};
struct fragile_equal {
    using is_transparent = void;
    [[nodiscard]] bool operator()(std::string_view a, std::string_view b) const {
        burn();
        return a == b;
    }
};

/// Three values, so that groups overflow.
struct poor_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return text.size() % 3; }
};

/// An aggregate, which only the allocator's construct() can bring into the heap.
struct record {
    string head;
    std::pair<string, vector<string>> tail;

    friend bool operator==(const record&, const record&) = default;
    friend auto operator<=>(const record& a, const record& b) { return joined(a) <=> joined(b); }
    friend std::string joined(const record& r) {
        std::string all(r.head);
        all += r.tail.first;
        for (const string& part : r.tail.second)
            all += part;
        return all;
    }
};

/// A class that knows nothing of heaps, stored as an element that is serialised.
struct note {
    std::string text;
    std::vector<std::string> words;

    friend auto operator<=>(const note&, const note&) = default;
};
using serialised = remanence::fragile<note>;

// text -> element, and back.

/// Built in the default heap, or where no heap is.
template <class T>
T make_element(const std::string& text, bool foreign = false) {
    if constexpr (std::is_same_v<T, std::string>) {
        return text;
    } else if constexpr (std::is_same_v<T, int>) {
        return static_cast<int>(std::hash<std::string>()(text) % 100);
    } else if constexpr (std::is_same_v<T, serialised>) {
        const allocator<char> where = foreign ? allocator<char>(nullptr) : allocator<char>();
        return T(note{text, {text.substr(0, 3), text.substr(text.size() / 2)}}, where);
    } else {
        const allocator<char> where = foreign ? allocator<char>(nullptr) : allocator<char>();
        const std::string_view all(text);
        if constexpr (std::is_same_v<T, record>) {
            const std::size_t third = text.size() / 3;
            record made{string(all.substr(0, third), where),
                        {string(all.substr(third, third), where), vector<string>(where)}};
            made.tail.second.emplace_back(all.substr(2 * third));
            return made;
        } else {
            return T(all, where);
        }
    }
}

/// Elements that can be made of a text, and looked up by one.
template <class T>
inline constexpr bool is_textual_v = std::is_convertible_v<const T&, std::string_view>;

/// What an element can be constructed from.
template <class T>
auto raw(const std::string& text) {
    if constexpr (is_textual_v<T>)
        return text;
    else
        return make_element<T>(text);
}
/// What it is looked up by.
template <class T>
auto sought(const std::string& text) {
    if constexpr (is_textual_v<T>)
        return std::string_view(text);
    else
        return make_element<T>(text);
}

inline std::string text_of(int element) { return std::to_string(element); }
inline std::string text_of(const serialised& element) { return element->text; }
inline std::string text_of(char element) { return std::string(1, element); }
inline std::string text_of(const std::string& element) { return element; }
inline std::string text_of(std::string_view element) { return std::string(element); }
inline std::string text_of(const string& element) { return std::string(element); }
inline std::string text_of(const string_pi& element) { return std::string(element); }
inline std::string text_of(const fragile& element) { return std::string(element.text()); }
inline std::string text_of(const record& element) { return joined(element); }
template <class A, class B>
std::string text_of(const std::pair<A, B>& element) {
    return text_of(element.first) + '\x01' + text_of(element.second);
}

// What an element is in the model.

template <class T>
using modelled_by = std::conditional_t<std::is_same_v<T, int>, int, std::string>;
/// So that the models, too, are searched by string_view.
struct model_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    std::size_t operator()(int number) const { return std::hash<int>()(number); }
};

inline int modelled(int element) { return element; }
inline bool modelled(bool element) { return element; }
inline char modelled(char element) { return element; }
template <class T>
std::string modelled(const T& element) {
    return text_of(element);
}
template <class A, class B>
auto modelled(const std::pair<A, B>& element) {
    return std::pair(modelled(element.first), modelled(element.second));
}

// Whether an element, with all it owns, lies in the open heap.

inline bool is_inside(const void* address) { return heap_of(address) != nullptr; }

template <class String>
    requires std::is_same_v<typename String::value_type, char>
bool lies_inside(const String& element, const allocator<char>& home) {
    return is_inside(&element) && element.get_allocator() == home && is_inside(element.data());
}
/// Bytes of a packed container.
inline bool lies_inside(std::string_view element, const allocator<char>&) { return is_inside(element.data()); }
inline bool lies_inside(const int& element, const allocator<char>&) { return is_inside(&element); }
inline bool lies_inside(bool, const allocator<char>&) { return true; } // a bit has no address
inline bool lies_inside(const serialised& element, const allocator<char>& home) {
    return is_inside(&element) && element.get_allocator() == home;
}
inline bool lies_inside(const fragile& element, const allocator<char>& home) {
    return lies_inside(element.text(), home);
}
inline bool lies_inside(const record& element, const allocator<char>& home) {
    if (!lies_inside(element.head, home) || !lies_inside(element.tail.first, home))
        return false;
    if (element.tail.second.get_allocator() != home)
        return false;
    for (const string& part : element.tail.second) {
        if (!lies_inside(part, home))
            return false;
    }
    return true;
}
template <class A, class B>
bool lies_inside(const std::pair<A, B>& element, const allocator<char>& home) {
    return lies_inside(element.first, home) && lies_inside(element.second, home);
}

/// By its text; with a seed where there is one.
struct text_hash {
    template <class T>
    std::size_t operator()(const T& element, std::uint64_t seed = 0) const {
        return seeded_string_hash()(text_of(element), seed);
    }
};

} // namespace remanence::test

template <>
struct remanence::hash<remanence::test::record> : remanence::test::text_hash {};
template <>
struct remanence::seeded_hash<remanence::test::record> : remanence::test::text_hash {};
template <>
struct remanence::hash<remanence::test::serialised> : remanence::test::text_hash {};
template <>
struct remanence::seeded_hash<remanence::test::serialised> : remanence::test::text_hash {};
template <>
struct remanence::hash<remanence::test::fragile> : remanence::string_hash {};
template <>
struct remanence::seeded_hash<remanence::test::fragile> : remanence::seeded_string_hash {};
