// The memory layout of the standard library in the including translation unit, as a text. A heap stores this text when
// it is created, and refuses programs with another one, since their containers would read its nodes wrongly. Depends on
// the standard library only.
//
// Omitted on purpose, since they change no layout: NDEBUG, _GLIBCXX_ASSERTIONS, the compiler, the page size.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

// In debug mode the standard library's containers have other members, and compiled functions take and return some of
// these containers. So the library defines only one of the two symbols below, the one for the mode that it was compiled
// in; each translation unit refers to the symbol for its own mode. A program that was compiled in the other mode fails
// to link, and the name of the missing symbol says why. This check costs a program one pointer of memory. (The name of an
// inline namespace would tell the modes apart, too, but appear in each message of the compiler.)
#if defined(__GLIBCXX__)
#if defined(__has_attribute)
#if __has_attribute(retain)
#define REM_KEPT_BY_LINKER [[gnu::used, gnu::retain]]
#endif
#endif
#if !defined(REM_KEPT_BY_LINKER)
#define REM_KEPT_BY_LINKER [[gnu::used]]
#endif
#if defined(_GLIBCXX_DEBUG)
extern "C" const char remanence_library_built_with_GLIBCXX_DEBUG;
namespace remanence::detail {
REM_KEPT_BY_LINKER inline const char* const k_debug_library = &remanence_library_built_with_GLIBCXX_DEBUG;
}
#else
extern "C" const char remanence_library_built_without_GLIBCXX_DEBUG;
namespace remanence::detail {
REM_KEPT_BY_LINKER inline const char* const k_plain_library = &remanence_library_built_without_GLIBCXX_DEBUG;
}
#endif
#undef REM_KEPT_BY_LINKER
#endif

namespace remanence::detail {

/// A text that is composed at compile time.
struct abi_text {
    std::array<char, 120> characters{};
    std::size_t size = 0;

    constexpr abi_text& operator+=(std::string_view text) {
        for (const char character : text)
            characters[size++] = character; // a text that is too long does not compile
        return *this;
    }
    constexpr abi_text& operator+=(std::size_t number) {
        std::array<char, 20> digits{};
        std::size_t count = 0;
        do {
            digits[count++] = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number != 0);
        while (count != 0)
            characters[size++] = digits[--count];
        return *this;
    }
};

// Internal linkage on purpose, here and below: translation units may be compiled with different settings, and each must
// describe itself.
static constexpr abi_text k_abi_text = [] {
    abi_text text;
#if defined(__GLIBCXX__)
    text += "libstdc++";
#if defined(_GLIBCXX_INLINE_VERSION) && _GLIBCXX_INLINE_VERSION
    text += " versioned";
#elif _GLIBCXX_USE_CXX11_ABI
    text += " cxx11";
#else
    text += " cxx98";
#endif
#if defined(_GLIBCXX_DEBUG)
    text += " debug";
#endif
#elif defined(_LIBCPP_ABI_VERSION)
    text += "libc++ v";
    text += static_cast<std::size_t>(_LIBCPP_ABI_VERSION);
#if defined(_LIBCPP_ABI_ALTERNATE_STRING_LAYOUT)
    text += " altstring";
#endif
#if defined(_LIBCPP_ABI_BOUNDED_ITERATORS) || defined(_LIBCPP_ABI_BOUNDED_ITERATORS_IN_VECTOR) ||                      \
    defined(_LIBCPP_ABI_BOUNDED_ITERATORS_IN_STRING) || defined(_LIBCPP_ABI_BOUNDED_UNIQUE_PTR)
    text += " bounded";
#endif
#else
#error "Remanence knows the container layouts of libstdc++ and libc++ only."
#endif
    text += std::endian::native == std::endian::little ? " le" : " be";
    text += sizeof(void*) * 8;
    text += " string";
    text += sizeof(std::string);
    text += " map";
    text += sizeof(std::map<int, int>);
    text += " umap";
    text += sizeof(std::unordered_map<int, int>);
    text += " deque";
    text += sizeof(std::deque<int>);
    return text;
}();

/// The ABI fingerprint, for example "libstdc++ cxx11 le64 string32 map48 umap56 deque80".
static constexpr std::string_view k_abi(k_abi_text.characters.data(), k_abi_text.size);

} // namespace remanence::detail
