// What malloc_test.py runs with libremanence-malloc.so in front: memory of heaps for code that calls malloc() and new. new_in_program PART;
// exits with 0 when all is as it should be, else says which line is not.
#include "old_library.h"

#include <remanence/new_in.hpp>
#include <remanence/remanence.h>
#include <remanence/remanence.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <list>
#include <malloc.h>
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#define EXPECT(holds)                                                                                                  \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, #holds);                                                   \
            ::_exit(1);                                                                                                \
        }                                                                                                              \
    } while (false)

namespace rem = remanence;

namespace new_in_test {
using words = std::map<std::string, std::list<std::string>>;
struct old_class {
    words* all;
};
} // namespace new_in_test

namespace {

const char* file = "new_in.rem";

std::string word_of(std::size_t number) { return "word number " + std::to_string(number); }

void add(old_words& words, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i != to; ++i)
        EXPECT(old_words_add(&words, word_of(i).c_str()) == 0);
}

void expect_words(const old_words& words, std::size_t count) {
    EXPECT(words.count == count);
    const old_entry* entry = words.first;
    for (std::size_t i = count; i-- != 0; entry = entry->next) {
        EXPECT(entry != nullptr && entry->word == word_of(i));
        EXPECT(words.by_number[i] == entry->word);
    }
    EXPECT(entry == nullptr);
}

/// What calls of the library throw.
rem::errc code_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const rem::error& e) {
        EXPECT(rem::heap_of(e.what()) == nullptr);
        return e.reason();
    }
    return {};
}

bool is_own(const rem::heap& of) {
    const std::unique_ptr<int> made(new int(1));
    const std::unique_ptr<void, decltype(&std::free)> block(std::malloc(100), &std::free);
    return rem::heap_of(made.get()) == &of && rem::heap_of(block.get()) == &of;
}

void old_code_keeps_its_data() {
    {
        rem::heap store = rem::heap::open(file);
        auto& words = store.root<old_words>("words");
        store.write([&] {
            const rem::new_in scope(store);
            add(words, 0, 1000);
        });
        EXPECT(rem::heap_of(words.first) == &store && rem::heap_of(words.by_number) == &store);
        EXPECT(rem::heap_of(words.first->word) == &store && store.check_pointers().clean());
        store.write([&] { add(words, 1000, 1001); }); // outside of a scope
        EXPECT(rem::heap_of(words.first) == nullptr && !store.check_pointers().clean());
        store.write([&] { EXPECT(old_words_remove_first(&words) == 0); });
    }
    rem::heap store = rem::heap::open(file);
    auto& words = store.root<old_words>("words");
    expect_words(words, 1000);
    EXPECT(store.verify().clean());
    const std::uint64_t before = store.stats().allocated_bytes;
    store.write([&] {
        while (words.count > 10)
            EXPECT(old_words_remove_first(&words) == 0);
        words.by_number = static_cast<const char**>(
            std::realloc(words.by_number, (words.room = 16) * sizeof *words.by_number)); // stays in its heap
    });
    expect_words(words, 10);
    EXPECT(rem::heap_of(words.by_number) == &store && store.stats().allocated_bytes < before / 10);
    EXPECT(store.verify().clean());
}

void exceptions_roll_back_and_stay_whole() {
    rem::heap store = rem::heap::open(file);
    auto& words = store.root<old_words>("words");
    store.write([&] {
        const rem::new_in scope(store);
        add(words, 0, 10);
    });
    try {
        store.write([&] {
            const rem::new_in scope(store);
            add(words, 10, 5000);
            throw std::runtime_error("a message that is longer than what lies in a string itself");
        });
        EXPECT(false);
    } catch (const std::exception& e) {
        EXPECT(std::string_view(e.what()) == "a message that is longer than what lies in a string itself");
    }
    expect_words(words, 10);
    EXPECT(store.verify().clean());
    EXPECT(std::uncaught_exceptions() == 0);
    struct own_text {
        std::string text;
    };
    try {
        store.write([&] {
            const rem::new_in scope(store);
            throw own_text{std::string(100, 'x')};
        });
        EXPECT(false);
    } catch (const own_text&) { // whose memory is gone with the section: it is freed without a word
    }
    EXPECT(store.verify().clean());
}

void other_calls_are_refused_and_end_the_scope() {
    rem::heap store = rem::heap::open(file);
    store.write([&] { store.root<int>("number") = 1; });
    const auto expect_refused = [&](const std::function<void()>& call) {
        store.write([&] {
            const rem::new_in scope(store);
            EXPECT(is_own(store));
            EXPECT(code_of(call) == rem::errc::invalid_argument);
            EXPECT(!is_own(store));
        });
    };
    expect_refused([&] { (void)store.stats(); });
    expect_refused([&] { (void)store.root<int>("other"); });
    expect_refused([&] { store.write([] {}); });
    expect_refused([&] { store.commit(); });
    expect_refused([&] { const rem::heap other = rem::heap::open("other.rem"); });
    expect_refused([&] { store.undo(); });
    expect_refused([&] { const rem::volatile_heap scratch; });
    expect_refused([&] {
        const rem::new_in inner(store);
        EXPECT(is_own(store));
        store.commit();
    });
    EXPECT(rem_malloc_into(nullptr) == REM_OK);
    EXPECT(store.verify().clean() && store.root<int>("number") == 1);
}

void scopes_nest() {
    rem::heap store = rem::heap::open(file);
    rem::volatile_heap scratch;
    store.write([&] {
        const rem::new_in outer(store);
        EXPECT(is_own(store));
        void* kept = nullptr;
        {
            const rem::new_in inner(scratch);
            kept = std::malloc(1000);
            EXPECT(rem::volatile_heap::of(kept) == &scratch && malloc_usable_size(kept) >= 1000);
            kept = std::realloc(kept, 100'000);
            EXPECT(rem::volatile_heap::of(kept) == &scratch);
        }
        EXPECT(is_own(store));
        std::free(kept);
        void* aligned = nullptr;
        EXPECT(::posix_memalign(&aligned, 256, 1000) == 0 && reinterpret_cast<std::uintptr_t>(aligned) % 256 == 0);
        EXPECT(rem::heap_of(aligned) == &store);
        std::free(aligned);
    });
    EXPECT(scratch.stats().blocks == 0 && store.verify().clean() && !is_own(store));
}

void what_libraries_take_for_themselves_stays_outside() {
    std::FILE* stream = nullptr;
    auto text = std::make_unique<std::ostringstream>();
    {
        rem::heap store = rem::heap::open(file);
        store.write([&] {
            const rem::new_in scope(store);
            stream = std::fopen("text", "w");
            EXPECT(stream != nullptr && rem::heap_of(stream) == nullptr);
            std::fprintf(stream, "%s %f\n", "text", 1.5);
            std::printf("text\n");
            std::thread([&] { EXPECT(!is_own(store)); }).join(); // another thread is in no scope
            try {
                throw 5;
            } catch (const int& thrown) {
                EXPECT(rem::heap_of(&thrown) == nullptr);
            }
        });
        EXPECT(store.verify().clean());
    }
    EXPECT(std::fprintf(stream, "more\n") == 5 && std::fclose(stream) == 0 && std::fflush(stdout) == 0);
}

void new_is_malloc() {
    using new_in_test::old_class;
    using new_in_test::words;
    {
        rem::heap store = rem::heap::open(file);
        auto& root = store.root<old_class>("class");
        store.write([&] {
            const rem::new_in scope(store);
            root.all = new words;
            for (int i = 0; i != 500; ++i)
                (*root.all)["a key that is longer than a short string " + std::to_string(i % 50)].push_back(
                    std::string(100, 'x'));
        });
        EXPECT(store.check_pointers().clean());
    }
    rem::heap store = rem::heap::open(file);
    words& all = *store.root<old_class>("class").all;
    EXPECT(all.size() == 50 && all.begin()->second.size() == 10 &&
           all.rbegin()->second.back() == std::string(100, 'x'));
    store.write([&] {
        all.erase(all.begin());
        delete &all;
        store.root<old_class>("class").all = nullptr;
    });
    EXPECT(store.verify().clean());
}

/// A heap that is full refuses in its terms: nothing is taken from elsewhere.
void full_heaps_throw() {
    rem::volatile_heap scratch({.reserve_bytes = std::uint64_t{1} << 30U});
    const rem::new_in scope(scratch);
    bool has_thrown = false;
    std::size_t count = 0;
    void* blocks = nullptr; // each leads to the one before
    try {
        for (;; ++count) {
            void* const got = ::operator new(std::size_t{3} << 20U);
            EXPECT(rem::volatile_heap::of(got) == &scratch);
            *static_cast<void**>(got) = blocks;
            blocks = got;
        }
    } catch (const std::bad_alloc& e) {
        has_thrown = rem::volatile_heap::of(&e) == nullptr;
    }
    EXPECT(has_thrown && count > 300 && std::uncaught_exceptions() == 0);
    EXPECT(::operator new(std::size_t{3} << 20U, std::nothrow) == nullptr&& std::malloc(std::size_t{3} << 20U) ==
           nullptr);
    static std::size_t calls;
    std::set_new_handler([] {
        if (++calls == 3)
            std::set_new_handler(nullptr);
    });
    EXPECT(::operator new(std::size_t{3} << 20U, std::align_val_t{64}, std::nothrow) == nullptr&& calls == 3);
    while (blocks != nullptr)
        ::operator delete(std::exchange(blocks, *static_cast<void**>(blocks)));
}

void undo_and_savepoints_take_it_back() {
    rem::heap store = rem::heap::open(file, {.history = {.steps_max = 10}});
    auto& words = store.root<old_words>("words");
    for (std::size_t i = 0; i != 3; ++i)
        store.write([&] {
            const rem::new_in scope(store);
            add(words, i * 10, i * 10 + 10);
        });
    store.undo();
    expect_words(words, 20);
    store.undo();
    expect_words(words, 10);
    store.redo(2);
    expect_words(words, 30);
    store.write([&] {
        rem::savepoint point = store.savepoint();
        {
            const rem::new_in scope(store);
            add(words, 30, 100);
        }
        point.rollback();
        expect_words(words, 30);
    });
    EXPECT(store.verify().clean());
}

void what_an_earlier_run_allocated_is_freed_before_there_is_a_scope() {
    rem::heap store = rem::heap::open(file);
    auto& words = store.root<old_words>("words");
    if (std::getenv("SECOND_RUN") == nullptr) {
        store.write([&] {
            const rem::new_in scope(store);
            add(words, 0, 10);
        });
        store.close();
        ::setenv("SECOND_RUN", "", 1);
        ::execl("/proc/self/exe", "new_in_program", "earlier", static_cast<char*>(nullptr));
        EXPECT(false);
    }
    store.write([&] { EXPECT(old_words_remove_first(&words) == 0); });
    expect_words(words, 9);
    EXPECT(store.verify().clean());
}

void a_child_frees_what_is_its_parents() {
    rem::heap store = rem::heap::open(file);
    void* block = nullptr;
    store.write([&] {
        const rem::new_in scope(store);
        block = std::malloc(100);
    });
    const pid_t child = ::fork();
    if (child == 0) {
        std::free(block);
        ::_exit(0);
    }
    int status = -1;
    EXPECT(::waitpid(child, &status, 0) == child && status == 0);
    store.write([&] { std::free(block); });
    EXPECT(store.verify().clean());
}

void free_twice() {
    rem::heap store = rem::heap::open(file);
    store.write([&] {
        void* block = nullptr;
        {
            const rem::new_in scope(store);
            block = std::malloc(100);
        }
        std::free(block);
        std::free(block); // NOLINT: that is what is tested
    });
}

void calls_of_c() {
    rem_heap* heap = nullptr;
    EXPECT(rem_open(file, nullptr, &heap) == REM_OK);
    EXPECT(rem_write_begin(heap) == REM_OK);
    EXPECT(rem_malloc_into(heap) == REM_OK);
    char* const word = ::strdup("word");
    EXPECT(rem_malloc_into(nullptr) == REM_OK);
    EXPECT(rem_heap_of(word) == heap && rem_root_set(heap, "word", word) == REM_OK);
    EXPECT(rem_malloc_into(heap) == REM_OK);
    EXPECT(rem_alloc(heap, 10) == nullptr && rem_last_error()->status == REM_INVALID_ARGUMENT);
    void* const outside = std::malloc(10); // that ended it
    EXPECT(rem_heap_of(outside) == nullptr);
    std::free(outside);
    EXPECT(rem_write_end(heap) == REM_OK && rem_close(heap) == REM_OK);
    EXPECT(rem_open(file, nullptr, &heap) == REM_OK);
    EXPECT(std::strcmp(static_cast<const char*>(rem_root_get(heap, "word")), "word") == 0);
    EXPECT(rem_malloc_into(heap) == REM_OK && rem_close(heap) != REM_OK); // as any other call
    EXPECT(rem_close(heap) == REM_OK && rem_malloc_into(heap) == REM_CLOSED);
    rem_heap* scratch = nullptr;
    EXPECT(rem_open_volatile(nullptr, &scratch) == REM_OK && rem_malloc_into(scratch) == REM_OK);
    void* const block = std::malloc(10);
    EXPECT(rem_close(scratch) == REM_INVALID_ARGUMENT);
    EXPECT(rem_heap_of(block) == scratch);
    std::free(block);
    EXPECT(rem_close(scratch) == REM_OK);
}

void read_only_heaps_are_refused() {
    {
        const rem::heap store = rem::heap::open(file);
    }
    rem::heap store = rem::heap::open(file, {.read_only = true});
    EXPECT(code_of([&] { const rem::new_in scope(store); }) == rem::errc::read_only);
}

void without_the_library() {
    rem::heap store = rem::heap::open(file);
    rem::volatile_heap scratch;
    EXPECT(code_of([&] { const rem::new_in scope(store); }) == rem::errc::not_supported);
    EXPECT(code_of([&] { const rem::new_in scope(scratch); }) == rem::errc::not_supported);
}

} // namespace

int main(int argc, char** argv) {
    const std::map<std::string_view, void (*)()> parts = {
        {"keeps", old_code_keeps_its_data},
        {"exceptions", exceptions_roll_back_and_stay_whole},
        {"refused", other_calls_are_refused_and_end_the_scope},
        {"nested", scopes_nest},
        {"libraries", what_libraries_take_for_themselves_stays_outside},
        {"new", new_is_malloc},
        {"full", full_heaps_throw},
        {"undo", undo_and_savepoints_take_it_back},
        {"earlier", what_an_earlier_run_allocated_is_freed_before_there_is_a_scope},
        {"child", a_child_frees_what_is_its_parents},
        {"twice", free_twice},
        {"c", calls_of_c},
        {"read-only", read_only_heaps_are_refused},
        {"without", without_the_library},
    };
    const auto part = parts.find(argc > 1 ? argv[1] : "");
    EXPECT(part != parts.end());
    char directory[] = "/tmp/new_in_XXXXXX";
    if (std::getenv("SECOND_RUN") == nullptr)
        EXPECT(::mkdtemp(directory) != nullptr && ::chdir(directory) == 0);
    part->second();
    std::filesystem::remove_all(std::filesystem::current_path());
}
