// One container, one file: what is in it when it is opened again, what a closed one says, and many at once.

#include "unit/api/fixture.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <iterator>
#include <stdexcept>

namespace remanence::test {

/// Can be told to fail.
class throwing_table {
public:
    throwing_table() {
        if (fails)
            throw std::runtime_error("no table");
    }
    int value = 1;
    static inline bool fails = false;
};

} // namespace remanence::test

template <>
inline constexpr bool remanence::enable_persistable<remanence::test::throwing_table> = true;

namespace remanence::test {
namespace {

using groups = file_backed<btree_map<string, std::uint64_t>>;
using squares = file_backed<hash_map<std::uint64_t, std::uint64_t>>;
using named_squares = file_backed<btree_map<string_pi, std::uint64_t>>;
static_assert(is_position_independent_v<squares::container_type> &&
              is_position_independent_v<named_squares::container_type> &&
              !is_position_independent_v<groups::container_type>);
static_assert(!std::is_copy_constructible_v<groups> && std::is_nothrow_move_constructible_v<groups> &&
              std::is_nothrow_move_assignable_v<groups>);

constexpr std::string_view k_name = "comp.lang.c++.moderated, and longer than a small string";

std::uint64_t number_in(const fs::path& file) {
    const groups opened(file);
    const auto found = opened->find(k_name);
    return found == opened->end() ? 0 : found->second;
}

class file_backed_container : public testing::Test {
protected:
    temp_dir dir_;
    const fs::path file_ = dir_ / "groups.rem";
};

TEST_F(file_backed_container, is_created_empty_and_found_with_what_was_committed) {
    {
        groups made(file_);
        EXPECT_TRUE(made.is_open());
        EXPECT_TRUE(made->empty());
        EXPECT_EQ(made.path(), file_);
        made->emplace(k_name, 1);
        made.commit();
        made.close();
        EXPECT_FALSE(made.is_open());
    }
    groups again(file_);
    EXPECT_EQ(again->find(k_name)->second, 1);
    EXPECT_EQ((*again).size(), 1);
    EXPECT_EQ(std::as_const(again)->size(), 1);
    EXPECT_EQ((*std::as_const(again)).size(), 1);
    EXPECT_TRUE(again.get_heap().verify().clean());
}

TEST_F(file_backed_container, commits_at_close_and_when_it_is_destroyed) {
    groups first(file_);
    first->emplace(k_name, 1);
    first.close();
    EXPECT_EQ(number_in(file_), 1);
    {
        groups second(file_);
        second->find(k_name)->second = 2;
    }
    EXPECT_EQ(number_in(file_), 2);
    groups third(file_);
    third->find(k_name)->second = 3;
    third = groups(dir_ / "other.rem");
    EXPECT_EQ(number_in(file_), 3);
}

TEST_F(file_backed_container, discards_at_close_if_told_so) {
    const file_backed_options discarding{.commit_at_close = false};
    groups first(file_, discarding);
    first->emplace(k_name, 1);
    first.commit();
    first->find(k_name)->second = 2;
    first.close();
    EXPECT_EQ(number_in(file_), 1);
    {
        groups second(file_, discarding);
        second->find(k_name)->second = 2;
    }
    EXPECT_EQ(number_in(file_), 1);
    const file_backed_options heaps_own{.commit_at_close = false, .heap = {.commit_at_close = true}};
    {
        groups third(file_, heaps_own);
        third->find(k_name)->second = 2;
    }
    EXPECT_EQ(number_in(file_), 1);
}

TEST_F(file_backed_container, is_durable_and_empty_when_the_process_dies_after_its_creation) {
    groups made(file_);
    fs::copy_file(file_, dir_ / "copy.rem"); // as a crash leaves it
    EXPECT_FALSE(fs::exists(log_of(file_)));
    made.close();
    EXPECT_TRUE(groups(dir_ / "copy.rem")->empty());
}

TEST_F(file_backed_container, is_as_of_its_last_commit_after_a_crash) {
    groups made(file_);
    made.write([&] { made->emplace(k_name, 1); });
    made->find(k_name)->second = 2;
    fs::copy_file(file_, dir_ / "copy.rem");
    fs::copy_file(log_of(file_), log_of(dir_ / "copy.rem"));
    made.close();
    EXPECT_EQ(number_in(file_), 2);
    EXPECT_EQ(number_in(dir_ / "copy.rem"), 1);
}

TEST_F(file_backed_container, takes_back_what_is_not_committed) {
    groups opened(file_);
    opened.write([&] { opened->emplace(k_name, 1); });
    opened->clear();
    opened.rollback();
    EXPECT_EQ(opened->find(k_name)->second, 1);
    EXPECT_THROW(opened.write([&] {
        opened->clear();
        throw std::runtime_error("changed its mind");
    }),
                 std::runtime_error);
    EXPECT_EQ(opened->find(k_name)->second, 1);
    EXPECT_EQ(opened.write([&] { return ++opened->find(k_name)->second; }), 2);
    EXPECT_EQ(opened.read([&] { return opened->find(k_name)->second; }), 2);
}

TEST_F(file_backed_container, commits_by_all_means_that_a_heap_has) {
    groups opened(file_);
    opened->emplace(k_name, 1);
    opened.commit(durability::none);
    EXPECT_EQ(opened.write(durability::lazy, [&] { return ++opened->find(k_name)->second; }), 2);
    opened.sync();
    opened->find(k_name)->second = 3;
    opened.commit_async().wait();
    opened.write_async([&] { ++opened->find(k_name)->second; }).wait();
    const auto add_one = [&] {
        auto& number = opened->find(k_name)->second;
        opened.get_heap().touch(&number, sizeof number);
        ++number;
    };
    opened.write(declared, add_one);
    opened.write(declared, durability::lazy, add_one);
    opened.write_async(declared, add_one).wait();
    fs::copy_file(file_, dir_ / "copy.rem"); // as a crash leaves it
    fs::copy_file(log_of(file_), log_of(dir_ / "copy.rem"));
    opened.rollback();
    EXPECT_EQ(opened->find(k_name)->second, 7);
    opened.close();
    EXPECT_EQ(number_in(dir_ / "copy.rem"), 7);
}

TEST_F(file_backed_container, is_still_there_when_its_first_change_is_taken_back) {
    groups made(file_);
    made->emplace(k_name, 1);
    made.rollback();
    EXPECT_TRUE(made->empty());
    made->emplace(k_name, 2);
    made.close();
    EXPECT_EQ(number_in(file_), 2);
}

std::vector<std::function<void(groups&)>> all_uses() {
    return {[](groups& g) { (void)g->size(); },
            [](groups& g) { (void)std::as_const(g)->size(); },
            [](groups& g) { (void)(*g).size(); },
            [](groups& g) { (void)(*std::as_const(g)).size(); },
            [](groups& g) { g.commit(); },
            [](groups& g) { g.rollback(); },
            [](groups& g) { g.write([] {}); },
            [](groups& g) { g.read([] {}); },
            [](groups& g) { g.close(); },
            [](groups& g) { (void)g.path(); },
            [](groups& g) { (void)g.get_heap(); },
            [](groups& g) { g.commit(durability::none); },
            [](groups& g) { g.sync(); },
            [](groups& g) { (void)g.commit_async(); },
            [](groups& g) { (void)g.write_async([] {}); }};
}

TEST_F(file_backed_container, throws_closed_from_every_use_once_it_is_closed_or_moved_from) {
    groups closed(file_);
    closed.close();
    groups source(file_);
    const groups target(std::move(source));
    for (groups* each : {&closed, &source}) { // NOLINT(bugprone-use-after-move): what is left of it
        EXPECT_FALSE(each->is_open());
        std::size_t number = 0;
        for (const auto& use : all_uses()) {
            SCOPED_TRACE("use " + std::to_string(number++));
            EXPECT_TRUE(is_error(error_of([&] { use(*each); }), errc::closed, {}, "Open it again"));
        }
    }
    EXPECT_TRUE(target->empty());
}

TEST_F(file_backed_container, may_be_assigned_another_one_when_it_is_closed) {
    groups opened(file_);
    opened.close();
    opened = groups(dir_ / "other.rem");
    opened->emplace(k_name, 1);
    opened.close();
    EXPECT_EQ(number_in(dir_ / "other.rem"), 1);
}

TEST_F(file_backed_container, keeps_pointers_valid_when_it_moves) {
    groups first(file_);
    first->emplace(k_name, 1);
    const auto* const pointer = &first->find(k_name)->second;
    groups second(std::move(first));
    EXPECT_EQ(&second->find(k_name)->second, pointer);
    first = std::move(second);
    EXPECT_EQ(&first->find(k_name)->second, pointer);
    EXPECT_TRUE(first.is_open());
    EXPECT_FALSE(second.is_open()); // NOLINT(bugprone-use-after-move): what is left of it
}

TEST_F(file_backed_container, stays_open_when_a_section_keeps_it_from_being_closed) {
    groups opened(file_);
    opened.write([&] {
        opened->emplace(k_name, 1);
        EXPECT_TRUE(is_error(error_of([&] { opened.close(); }), errc::section_open, file_, "End every section"));
        EXPECT_TRUE(opened.is_open());
    });
    EXPECT_EQ(opened->find(k_name)->second, 1);
    opened.close();
}

TEST_F(file_backed_container, is_in_use_when_it_is_open_already) {
    const groups first(file_);
    EXPECT_TRUE(is_error(error_of([&] { const groups second(file_); }), errc::in_use, file_, "Close it there first"));
    EXPECT_TRUE(first->empty());
    const squares moving(dir_ / "squares.rem"); // which would find another address
    EXPECT_TRUE(is_error(error_of([&] { const squares second(dir_ / "squares.rem"); }), errc::in_use,
                         dir_ / "squares.rem", "Close it there first"));
}

TEST_F(file_backed_container, of_another_type_names_both_and_is_left_alone) {
    groups(file_)->emplace(k_name, 1);
    const auto before = read_file(file_);
    const auto got = error_of([&] { const squares wrong(file_); });
    EXPECT_TRUE(is_error(got, errc::type_mismatch, file_, "rem::btree_map<rem::string, unsigned long>"));
    EXPECT_TRUE(is_error(got, errc::type_mismatch, file_, "rem::hash_map<unsigned long, unsigned long>"));
    EXPECT_EQ(read_file(file_), before);
    EXPECT_EQ(number_in(file_), 1);
}

TEST_F(file_backed_container, refuses_a_heap_of_roots_and_leaves_it_alone) {
    make_heap(file_);
    const auto before = read_file(file_);
    const auto got = error_of([&] { const groups wrong(file_); });
    EXPECT_TRUE(is_error(got, errc::type_mismatch, file_, "it holds \"names\" of type rem::map<rem::string"));
    EXPECT_EQ(read_file(file_), before);
}

TEST_F(file_backed_container, is_a_heap_with_one_root_for_everybody_else) {
    groups(file_)->emplace(k_name, 1);
    const heap opened = heap::open_existing(file_, small_heap());
    ASSERT_EQ(opened.roots().size(), 1);
    const auto* const found = opened.find_root<groups::container_type>(opened.roots().front().name);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->find(k_name)->second, 1);
}

TEST_F(file_backed_container, is_read_only_if_told_so) {
    const file_backed_options reading{.heap = {.read_only = true}};
    EXPECT_TRUE(is_error(error_of([&] { const groups none(file_, reading); }), errc::not_found, file_, "no such file"));
    heap::create(file_, small_heap()).close();
    EXPECT_TRUE(is_error(error_of([&] { const groups none(file_, reading); }), errc::not_found, file_,
                         "Open it for writing once"));
    groups(file_)->emplace(k_name, 1);
    const auto before = read_file(file_);
    {
        groups opened(file_, reading);
        EXPECT_EQ(opened->find(k_name)->second, 1);
        EXPECT_TRUE(is_error(error_of([&] { opened.write([] {}); }), errc::read_only, file_, "Open it for writing"));
    }
    EXPECT_EQ(read_file(file_), before);
}

TEST_F(file_backed_container, whose_constructor_throws_is_made_by_the_next_one) {
    throwing_table::fails = true;
    EXPECT_THROW(file_backed<throwing_table>{file_}, std::runtime_error);
    EXPECT_TRUE(heap::open_existing(file_, small_heap()).roots().empty());
    throwing_table::fails = false;
    EXPECT_EQ(file_backed<throwing_table>(file_)->value, 1);
}

TEST_F(file_backed_container, closes_on_an_error_that_is_not_to_be_repeated) {
    EXPECT_TRUE(is_error(error_of([&] { const groups none(dir_ / "nowhere" / "x"); }), errc::not_found,
                         dir_ / "nowhere", "that its directory is there"));
    write_file(file_, std::string(10'000, 'x'));
    EXPECT_TRUE(is_error(error_of([&] { const groups none(file_); }), errc::not_a_heap, file_, ""));
}

/// Fills the container, whose keys are made by `key_of`, changes it at another address, and reads it at its own again.
template <class Squares, class KeyOf>
void move_to_and_fro(const fs::path& file, const KeyOf& key_of) {
    void* own_base = nullptr;
    {
        Squares made(file);
        own_base = made.get_heap().base();
        for (std::uint64_t i = 0; i < 1000; ++i)
            made->emplace(key_of(i), i * i);
    }
    const fs::path crashed = file.parent_path() / "crashed.rem";
    {
        const taken_addresses taken(file);
        Squares moved(file);
        EXPECT_NE(moved.get_heap().base(), own_base);
        EXPECT_EQ(moved->at(key_of(999)), 999 * 999);
        for (std::uint64_t i = 1000; i < 2000; ++i)
            moved->emplace(key_of(i), i * i);
        for (std::uint64_t i = 0; i < 500; ++i)
            moved->erase(key_of(i));
        moved.commit();
        moved->erase(key_of(505));
        moved.rollback();
        EXPECT_TRUE(moved.get_heap().verify().clean());
        EXPECT_TRUE(moved.get_heap().check_pointers().clean());
        fs::copy_file(file, crashed);
        fs::copy_file(log_of(file), log_of(crashed));
    }
    for (const fs::path& each : {file, crashed}) {
        Squares back(each);
        EXPECT_EQ(back.get_heap().base(), own_base);
        ASSERT_EQ(back->size(), 1500);
        for (std::uint64_t i = 500; i < 2000; ++i)
            EXPECT_EQ(back->at(key_of(i)), i * i);
        back->clear();
    }
    EXPECT_TRUE(Squares(file)->empty());
}

TEST_F(file_backed_container, is_mapped_elsewhere_if_its_address_is_taken_and_it_has_none_in_it) {
    move_to_and_fro<squares>(file_, [](std::uint64_t i) { return i; });
}
TEST_F(file_backed_container, is_mapped_elsewhere_when_it_is_ordered_too) {
    move_to_and_fro<named_squares>(
        file_, [](std::uint64_t i) { return string_pi(std::to_string(i) + std::string(i % 50, 'n')); });
}

TEST_F(file_backed_container, with_addresses_in_it_is_base_taken_if_its_own_is_taken) {
    groups(file_)->emplace(k_name, 1);
    {
        const taken_addresses taken(file_);
        EXPECT_TRUE(is_error(error_of([&] { const groups none(file_); }), errc::base_taken, file_, "taken by"));
    }
    EXPECT_EQ(number_in(file_), 1);
}

TEST_F(file_backed_container, that_is_small_takes_64_kibibytes_on_disk_at_most) {
    {
        groups made(file_);
        for (std::uint64_t i = 0; i < 100; ++i)
            made->emplace("group " + std::to_string(i), i);
    }
    struct stat info{};
    ASSERT_EQ(::stat(file_.c_str(), &info), 0);
    EXPECT_LE(static_cast<std::uint64_t>(info.st_blocks) * 512, 64 * KiB);
}

std::size_t open_descriptors() {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

// All have the same address of their own, as if a thousand processes had had bad luck.
TEST_F(file_backed_container, is_open_with_a_thousand_others_by_one_descriptor_each) {
    constexpr std::size_t k_files = 1000;
    constexpr std::size_t k_of_the_process = 10; // those of the trackers, and the one that lists them
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur < k_files + 100 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    if (limit.rlim_cur < k_files + 100)
        GTEST_SKIP() << "this process may not have a thousand files open (ulimit -Hn)";
    squares(file_)->emplace(1, 1);
    const auto name = [&](std::size_t i) { return dir_ / ("squares " + std::to_string(i)); };
    for (std::size_t i = 0; i < k_files; ++i)
        fs::copy_file(file_, name(i));

    const std::size_t before = open_descriptors();
    std::vector<squares> all;
    for (std::size_t i = 0; i < k_files; ++i)
        all.emplace_back(name(i));
    EXPECT_LE(open_descriptors(), before + k_files + k_of_the_process);
    for (std::size_t i = 0; i < k_files; i += 100)
        all[i].write([&] { all[i]->emplace(i + 2, i); });
    for (std::size_t i = 0; i < k_files; ++i)
        ASSERT_EQ(all[i]->size(), i % 100 == 0 ? 2 : 1) << i;
    all.clear();
    EXPECT_EQ(open_descriptors(), before);
    for (std::size_t i = 0; i < k_files; i += 100)
        EXPECT_EQ(squares(name(i))->at(i + 2), i);
}

} // namespace
} // namespace remanence::test
