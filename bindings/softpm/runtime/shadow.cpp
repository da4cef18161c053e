#include "shadow.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace remanence::softpm {

namespace {

constexpr std::uintptr_t k_page = 4096;
constexpr std::size_t k_given_back_from = 64 * 1024; // clearing this many bytes of marks gives their memory back

bool is_there = false; // set before there are threads

std::size_t words_touched(std::uintptr_t begin, std::size_t bytes) {
    return ((begin + bytes + k_word_bytes - 1) >> k_word_shift) - (begin >> k_word_shift);
}

} // namespace

void map_shadow() {
    if (is_there)
        return;
    is_there = true;
    void* const wanted = pointer_to(k_shadow_offset);
    void* const got = ::mmap(wanted, k_shadow_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != wanted) {
        char text[200];
        const int bytes = std::snprintf(text, sizeof text,
                                        "softpm: cannot reserve 16 TiB of addresses for the marks of pointers: %s. "
                                        "Raise the limit on address space (ulimit -v unlimited).\n",
                                        std::strerror(got == MAP_FAILED ? errno : EEXIST));
        (void)!::write(STDERR_FILENO, text, static_cast<std::size_t>(bytes));
        ::_exit(1);
    }
    ::madvise(got, k_shadow_bytes, MADV_DONTDUMP);
    ::madvise(got, k_shadow_bytes, MADV_NOHUGEPAGE);
}

bool is_mapped(std::uintptr_t address) {
    if (address - k_shadow_offset < k_shadow_bytes)
        return false;
    return ::msync(pointer_to(address & -k_page), 1, MS_ASYNC) == 0; // only tests whether the page is mapped
}

void copy_marks(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0)
        return;
    const std::uintptr_t target = address_of(to);
    const std::uintptr_t source = address_of(from);
    if ((target ^ source) % k_word_bytes != 0) {
        clear_marks(to, bytes);
        return;
    }
    // If the copy begins within a word, that word keeps its mark (M2 of the pass).
    const std::uintptr_t skipped = (k_word_bytes - target % k_word_bytes) % k_word_bytes;
    if (bytes > skipped)
        std::memmove(marks_at(target + skipped), marks_at(source + skipped),
                     words_touched(target + skipped, bytes - skipped));
}

void clear_marks(const void* begin, std::size_t bytes) {
    if (bytes == 0)
        return;
    std::uint8_t* first = marks_at(begin);
    std::size_t count = words_touched(address_of(begin), bytes);
    if (count >= k_given_back_from) {
        const std::uintptr_t whole = (address_of(first) + k_page - 1) & -k_page;
        const std::uintptr_t end = (address_of(first) + count) & -k_page;
        ::madvise(pointer_to(whole), end - whole, MADV_DONTNEED);
        std::memset(first, 0, whole - address_of(first));
        count = address_of(first) + count - end;
        first = pointer_to<std::uint8_t>(end);
    }
    std::memset(first, 0, count);
}

namespace {
#ifdef REMANENCE_SOFTPM_SANITIZED // runs when the sanitizer is ready
[[gnu::constructor(101)]] void map_early() { map_shadow(); }
#else // executables: runs before the constructors of libraries, whose variables are marked later
[[gnu::used, gnu::section(".preinit_array")]] void (*const map_early)() = map_shadow;
#endif
} // namespace

} // namespace remanence::softpm

extern "C" {
[[gnu::visibility("default")]] void softpm_copy_marks(void* to, const void* from, std::size_t bytes) {
    remanence::softpm::copy_marks(to, from, bytes);
}
[[gnu::visibility("default")]] void softpm_clear_marks(void* begin, std::size_t bytes) {
    remanence::softpm::clear_marks(begin, bytes);
}
[[gnu::visibility("default")]] void softpm_mark_words(void** words, std::size_t count) {
    remanence::softpm::map_shadow();
    for (std::size_t i = 0; i < count; ++i)
        remanence::softpm::set_mark(words[i], remanence::softpm::mark::pointer);
}
// The pointer may not lie at a multiple of 8. Then it is not marked, so points do not find it.
[[gnu::visibility("default")]] void softpm_stored_unaligned(void* word) {
    if (remanence::softpm::address_of(word) % remanence::softpm::k_word_bytes == 0)
        remanence::softpm::set_mark(word, remanence::softpm::mark::pointer);
}
// Called if the source may be a variadic argument on the stack.
[[gnu::visibility("default")]] void softpm_mark_unmarked_by_window(std::uintptr_t* begin, std::size_t bytes) {
    using namespace remanence::softpm;
    if (address_of(begin) % k_word_bytes != 0)
        return;
    for (std::size_t i = 0; i < bytes / sizeof *begin; ++i)
        if (*marks_at(begin + i) == static_cast<std::uint8_t>(mark::data) && is_in_window(begin[i]))
            set_mark(begin + i, mark::perhaps);
}
[[gnu::visibility("default")]] void softpm_mark_by_window(std::uintptr_t* begin, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes / sizeof *begin; ++i)
        remanence::softpm::set_mark(begin + i, remanence::softpm::is_in_window(begin[i])
                                                   ? remanence::softpm::mark::perhaps
                                                   : remanence::softpm::mark::data);
}
}
