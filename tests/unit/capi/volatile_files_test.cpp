// Roots of volatile heaps in C; rem_save_as() and rem_load_volatile().
#include "fixture.hpp"

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace remanence::test {

namespace {

struct c_saved {
    long value;
    c_saved* next;
};
// Larger than a block that a C program would ask for with its size in a heap file.
struct c_saved_large {
    long values[70];
};

class c_volatile_files : public testing::Test {
protected:
    void SetUp() override { ASSERT_OK(rem_open_volatile(nullptr, &heap)); }
    void TearDown() override {
        if (rem_is_open(heap)) {
            EXPECT_OK(rem_close(heap));
        }
    }
    std::vector<std::string> names() {
        std::vector<std::string> found;
        EXPECT_OK(rem_roots(
            heap,
            [](void* into, const rem_root* root) {
                static_cast<std::vector<std::string>*>(into)->push_back(std::string(root->name) + ": " + root->type);
                return true;
            },
            &found));
        return found;
    }

    temp_dir dir = temp_dir::in_memory();
    std::string path = (dir.path() / "heap").string();
    rem_heap* heap = nullptr;
};

TEST_F(c_volatile_files, roots_are_set_found_listed_and_removed) {
    auto* const one = static_cast<c_saved*>(rem_alloc(heap, sizeof(c_saved)));
    EXPECT_EQ(rem_root_get(heap, "one"), nullptr);
    EXPECT_EQ(last_status(), REM_NOT_FOUND);
    ASSERT_OK(rem_root_set(heap, "one", one));
    ASSERT_OK(REM_ROOT_SET(heap, "typed", one, c_saved));
    EXPECT_EQ(rem_root_get(heap, "one"), one);
    EXPECT_EQ(rem_root_get(heap, "typed"), one);
    EXPECT_EQ(REM_ROOT_GET(heap, "typed", c_saved), one);
    EXPECT_EQ(rem_root_get_as(heap, "typed", "c_saved", sizeof(c_saved) + 1), nullptr);
    EXPECT_EQ(last_status(), REM_TYPE_MISMATCH);
    EXPECT_EQ(rem_root_get_as(heap, "typed", "another", sizeof(c_saved)), nullptr);
    EXPECT_EQ(last_status(), REM_TYPE_MISMATCH);
    EXPECT_EQ(names(), (std::vector<std::string>{"one: C block", "typed: C c_saved"}));
    EXPECT_OK(rem_root_remove(heap, "one"));
    EXPECT_STATUS(rem_root_remove(heap, "one"), REM_NOT_FOUND);
    EXPECT_EQ(names(), std::vector<std::string>{"typed: C c_saved"});

    c_saved outside{};
    EXPECT_STATUS(rem_root_set(heap, "outside", &outside), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_root_set(heap, "null", nullptr), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_root_set(heap, "", one), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_root_set_as(heap, "long", one, "c_saved", 1000), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_root_set_as(heap, "typeless", one, nullptr, 8), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_roots(heap, nullptr, nullptr), REM_INVALID_ARGUMENT);
}

TEST_F(c_volatile_files, a_list_goes_there_and_back) {
    c_saved* first = nullptr;
    for (long i = 0; i != 1000; ++i) {
        auto* const made = static_cast<c_saved*>(rem_alloc(heap, sizeof(c_saved)));
        *made = {i, first};
        first = made;
    }
    ASSERT_OK(REM_ROOT_SET(heap, "list", first, c_saved));
    ASSERT_OK(rem_save_as(heap, path.c_str()));
    ASSERT_OK(rem_close(heap));

    const rem_options options = options_of(REM_TRANSACTIONAL);
    ASSERT_OK(rem_open(path.c_str(), &options, &heap));
    ASSERT_EQ(REM_ROOT_GET(heap, "list", c_saved), first);
    ASSERT_OK(rem_write_begin(heap));
    for (long i = 999; i > 499; --i) {
        c_saved* const gone = REM_ROOT_GET(heap, "list", c_saved);
        EXPECT_EQ(gone->value, i);
        ASSERT_OK(REM_ROOT_SET(heap, "list", gone->next, c_saved));
        ASSERT_OK(rem_free(gone));
    }
    ASSERT_OK(rem_write_end(heap));
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
    ASSERT_OK(rem_close(heap));

    ASSERT_OK(rem_load_volatile(path.c_str(), nullptr, &heap));
    long count = 0;
    for (c_saved* each = REM_ROOT_GET(heap, "list", c_saved); each != nullptr; ++count) {
        EXPECT_EQ(each->value, 499 - count);
        EXPECT_EQ(rem_heap_of(each), heap);
        c_saved* const gone = each;
        each = each->next;
        ASSERT_OK(rem_free(gone));
        EXPECT_STATUS(rem_free(gone), REM_INVALID_ARGUMENT);
    }
    EXPECT_EQ(count, 500);
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
    EXPECT_STATUS(rem_save_as(heap, path.c_str()), REM_EXISTS);
    EXPECT_STATUS(rem_save_as(heap, (path + "2").c_str()), REM_INVALID_ARGUMENT) << "the root dangles";
    EXPECT_OK(rem_root_remove(heap, "list"));
    EXPECT_OK(rem_save_as(heap, (path + "2").c_str()));
}

TEST_F(c_volatile_files, described_structs_keep_their_schema) {
    const rem_member members[] = {{"values", REM_SIGNED, 0, sizeof(long), 70, nullptr}};
    ASSERT_OK(rem_describe("struct c_saved_large", sizeof(c_saved_large), alignof(c_saved_large), members, 1));
    auto* const large = static_cast<c_saved_large*>(rem_calloc(heap, 1, sizeof(c_saved_large)));
    large->values[69] = 69;
    auto* const array = static_cast<c_saved_large*>(rem_calloc(heap, 4, sizeof(c_saved_large)));
    EXPECT_STATUS(REM_ROOT_SET(heap, "array", array, struct c_saved_large), REM_INVALID_ARGUMENT);
    EXPECT_OK(rem_free(array));
    ASSERT_OK(REM_ROOT_SET(heap, "large", large, struct c_saved_large));
    EXPECT_EQ(REM_ROOT_GET(heap, "large", struct c_saved_large), large);
    ASSERT_OK(rem_save_as(heap, path.c_str()));
    ASSERT_OK(rem_close(heap));
    for (int turn = 0; turn != 2; ++turn) {
        const rem_options options = options_of(REM_TRANSACTIONAL);
        ASSERT_OK(rem_open(path.c_str(), &options, &heap));
        ASSERT_EQ(REM_ROOT_GET(heap, "large", struct c_saved_large), large);
        EXPECT_EQ(large->values[69], 69);
        EXPECT_OK(REM_ROOT_SET(heap, "large", large, struct c_saved_large));
        std::string dump;
        EXPECT_OK(rem_dump(
            heap, "large",
            [](void* into, const char* text, std::size_t bytes) {
                static_cast<std::string*>(into)->append(text, bytes);
                return true;
            },
            &dump));
        EXPECT_NE(dump.find("\"values\""), std::string::npos) << "the schema is there: " << dump;
        ASSERT_OK(rem_close(heap));
        ASSERT_OK(rem_load_volatile(path.c_str(), nullptr, &heap));
        EXPECT_EQ(REM_ROOT_GET(heap, "large", struct c_saved_large), large);
        path += "-again";
        ASSERT_OK(rem_save_as(heap, path.c_str()));
        ASSERT_OK(rem_close(heap));
    }
}

TEST_F(c_volatile_files, mistakes_are_a_status) {
    EXPECT_STATUS(rem_save_as(nullptr, path.c_str()), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_save_as(heap, nullptr), REM_INVALID_ARGUMENT);
    rem_heap* other = heap;
    EXPECT_STATUS(rem_load_volatile(path.c_str(), nullptr, &other), REM_NOT_FOUND);
    EXPECT_EQ(other, nullptr);
    EXPECT_STATUS(rem_load_volatile(nullptr, nullptr, &other), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_load_volatile(path.c_str(), nullptr, nullptr), REM_INVALID_ARGUMENT);
    rem_volatile_options options{};
    EXPECT_STATUS(rem_load_volatile(path.c_str(), &options, &other), REM_INVALID_ARGUMENT) << "no size";
    options.size = sizeof options;
    options.leak_frames = 3;
    EXPECT_STATUS(rem_load_volatile(path.c_str(), &options, &other), REM_INVALID_ARGUMENT);

    rem_options of_file = options_of(REM_TRANSACTIONAL);
    ASSERT_OK(rem_open(path.c_str(), &of_file, &other));
    EXPECT_STATUS(rem_save_as(other, (path + "2").c_str()), REM_NOT_SUPPORTED);
    rem_heap* loaded = nullptr;
    EXPECT_STATUS(rem_load_volatile(path.c_str(), nullptr, &loaded), REM_IN_USE);
    ASSERT_OK(rem_close(other));
    EXPECT_STATUS(rem_save_as(other, (path + "2").c_str()), REM_CLOSED);
    EXPECT_FALSE(std::filesystem::exists(path + "2"));
}

} // namespace

} // namespace remanence::test
