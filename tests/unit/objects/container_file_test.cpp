// Containers whose file has the portable or the binary form.
#include "support/seed.hpp"
#include "support/temp_dir.hpp"

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace container_file_test {

namespace rem = remanence;
namespace fs = std::filesystem;

struct place {
    rem::string city;
    double longitude = 0;
    std::int64_t people = 0;
    bool is_capital = false;
    friend bool operator==(const place&, const place&) = default;
};
using places = rem::map<rem::string, place>;
struct old_place {
    rem::string city;
    float longitude = 0;
    std::int64_t thousands = 0;
};
using old_places = rem::btree_map<rem::string, old_place>;
using file = rem::file_backed<places>;

const place k_ulm{rem::string("Ulm \xc3\xbc\"\\\n, a text that is longer than a short one"), 9.99, -126'000, false};
const place k_raw{rem::string("\xff\x80 no UTF-8"), 1e300, INT64_MIN, true};

class container_file : public testing::TestWithParam<rem::file_form> {
protected:
    [[nodiscard]] rem::file_backed_options options() const { return {.form = GetParam()}; }
    [[nodiscard]] std::string text() const {
        std::ifstream from(file_, std::ios::binary);
        return {std::istreambuf_iterator<char>(from), {}};
    }
    void write(const std::string& bytes) const { std::ofstream(file_, std::ios::binary) << bytes; }
    void make() const {
        file made(file_, options());
        made->emplace("ulm", k_ulm);
        made->emplace("raw", k_raw);
        made.close();
    }
    [[nodiscard]] bool is_alone() const {
        return std::distance(fs::directory_iterator(file_.parent_path()), fs::directory_iterator()) == 1;
    }

    rem::test::temp_dir dir_;
    const fs::path file_ = dir_ / "places";
};

template <class F>
rem::errc error_of(F&& f) {
    try {
        f();
    } catch (const rem::error& why) {
        return why.reason();
    }
    return {};
}

TEST_P(container_file, keeps_its_permissions_and_shows_no_more_meanwhile) {
    make();
    for (const auto mode : {fs::perms(0600), fs::perms(0664)}) {
        fs::permissions(file_, mode);
        std::ofstream(file_.string() + "-new") << "what a crash has left"; // of other permissions
        file again(file_, options());
        EXPECT_EQ(fs::status(file_.string() + "-open").permissions(), fs::perms(0600));
        again->emplace("another", k_ulm);
        again.commit();
        EXPECT_EQ(fs::status(file_).permissions(), mode);
        again.close();
        EXPECT_EQ(fs::status(file_).permissions(), mode);
    }
}

TEST_P(container_file, holds_what_was_committed_and_nothing_lies_beside_it) {
    {
        file made(file_, options());
        EXPECT_TRUE(made->empty());
        EXPECT_EQ(made.path(), file_);
        EXPECT_FALSE(text().empty()) << "a new one is there at once";
        made->emplace("ulm", k_ulm);
        made.commit();
        made->emplace("raw", k_raw);
    }
    EXPECT_TRUE(is_alone());
    EXPECT_EQ(text().front(), GetParam() == rem::file_form::portable ? '{' : '\xd9');
    const file again(file_, options());
    ASSERT_EQ(again->size(), 2U);
    EXPECT_EQ(again->at("ulm"), k_ulm);
    EXPECT_EQ(again->at("raw"), k_raw);
}

TEST_P(container_file, sections_are_written_at_their_ends_and_taken_back_by_exceptions) {
    file made(file_, options());
    EXPECT_EQ(made.write([&] {
        made.write([&] { made->emplace("ulm", k_ulm); });
        EXPECT_EQ(text().find("ulm"), std::string::npos) << "the outer section has not ended";
        return 7;
    }),
              7);
    EXPECT_NE(text().find("ulm"), std::string::npos);
    const std::string before = text();
    EXPECT_THROW(made.write([&] {
        made->clear();
        throw std::runtime_error("no");
    }),
                 std::runtime_error);
    EXPECT_EQ(made->size(), 1U);
    EXPECT_EQ(text(), before);
    made->emplace("raw", k_raw);
    made.rollback();
    EXPECT_EQ(made->size(), 1U);
}

TEST_P(container_file, the_end_commits_unless_told_otherwise) {
    make();
    const std::string before = text();
    {
        rem::file_backed_options discards = options();
        discards.commit_at_close = false;
        file opened(file_, discards);
        opened->clear();
    }
    EXPECT_EQ(text(), before);
    try {
        file opened(file_, options());
        opened->clear();
        throw std::runtime_error("an exception ends it");
    } catch (const std::runtime_error&) {
        EXPECT_EQ(text(), before);
    }
    {
        file opened(file_, options());
        opened->clear();
        file moved = std::move(opened);
        EXPECT_FALSE(opened.is_open()); // NOLINT(bugprone-use-after-move)
    }
    EXPECT_TRUE(file(file_, options())->empty());
    EXPECT_TRUE(is_alone());
}

TEST_P(container_file, any_form_is_read_and_the_next_commit_writes_the_one_that_is_asked_for) {
    {
        rem::file_backed<places> made(file_);
        made->emplace("ulm", k_ulm);
    }
    for (const rem::file_form form : {GetParam(), rem::file_form::portable, rem::file_form::binary, GetParam()}) {
        file opened(file_, {.form = form});
        ASSERT_EQ(opened->size(), 1U);
        EXPECT_EQ(opened->at("ulm"), k_ulm);
        opened.close();
        EXPECT_EQ(text().front(), form == rem::file_form::portable ? '{' : '\xd9');
    }
    EXPECT_EQ(error_of([&] { file opened(file_); }), rem::errc::not_a_heap);
    EXPECT_EQ(error_of([&] { rem::file_backed<rem::map<rem::string, int>> other(file_, options()); }),
              rem::errc::type_mismatch);
}

TEST_P(container_file, is_open_once_and_takes_no_notice_of_what_a_crash_left) {
    make();
    {
        const file opened(file_, options());
        EXPECT_EQ(error_of([&] { file twice(file_, options()); }), rem::errc::in_use);
        EXPECT_EQ(opened->size(), 2U);
    }
    rem::heap left = rem::heap::create(file_.string() + "-open");
    left.root<int>("rest") = 1;
    left.commit();
    left.close();
    std::ofstream(file_.string() + "-new") << "half";
    {
        file opened(file_, options());
        EXPECT_EQ(opened->size(), 2U);
    }
    EXPECT_TRUE(is_alone());
    rem::file_backed_options to_read = options();
    to_read.heap.read_only = true;
    EXPECT_EQ(error_of([&] { file opened(file_, to_read); }), rem::errc::not_supported);
}

TEST_P(container_file, a_file_that_cannot_be_replaced_stays_and_so_do_the_changes) {
    make();
    const std::string before = text();
    file opened(file_, options());
    opened->erase("raw");
    const fs::path in_the_way = file_.string() + "-new";
    fs::create_directories(in_the_way / "full");
    EXPECT_THROW(opened.commit(), rem::error);
    EXPECT_EQ(text(), before);
    EXPECT_EQ(opened->size(), 1U);
    fs::remove_all(in_the_way);
    opened.commit();
    EXPECT_NE(text(), before);
    opened.close();
    EXPECT_EQ(file(file_, options())->size(), 1U);
}

TEST_P(container_file, what_is_cut_off_is_refused_and_stays_as_it_is) {
    make();
    const std::string whole = text();
    const std::size_t step = std::max<std::size_t>(whole.size() / 40, 1);
    for (std::size_t bytes = 0; bytes + 1 < whole.size(); bytes += step) {
        write(whole.substr(0, bytes));
        EXPECT_EQ(error_of([&] { file opened(file_, options()); }), rem::errc::invalid_argument) << bytes;
        EXPECT_EQ(text(), whole.substr(0, bytes));
        ASSERT_TRUE(is_alone());
    }
    write("no dump at all");
    EXPECT_EQ(error_of([&] { file opened(file_, options()); }), rem::errc::invalid_argument);
}

TEST_P(container_file, what_was_changed_is_read_or_refused) {
    make();
    const std::string whole = text();
    std::mt19937 random(rem::test::seed_or(35));
    int refused = 0;
    for (int i = 0; i != 60; ++i) {
        std::string changed = whole;
        changed[random() % changed.size()] = static_cast<char>(random());
        write(changed);
        try {
            file opened(file_, options());
            for (const auto& [name, each] : *opened)
                EXPECT_LE(name.size() + each.city.size(), 2 * whole.size());
        } catch (const rem::error&) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 10);
}

INSTANTIATE_TEST_SUITE_P(forms, container_file, testing::Values(rem::file_form::portable, rem::file_form::binary),
                         [](const auto& tested) {
                             return tested.param == rem::file_form::portable ? "portable" : "binary";
                         });

template <class F>
std::string said_by(F&& f) {
    try {
        f();
    } catch (const rem::error& why) {
        return why.what();
    }
    return "nothing";
}

TEST_P(container_file, is_migrated_with_new_members_and_by_functions) {
    {
        rem::file_backed<old_places> made(file_, options());
        made->emplace("ulm", old_place{"Ulm, a text that is longer than a short one", 9.5F, 126});
        made.close();
    }
    const std::string before = text();
    EXPECT_EQ(error_of([&] { file(file_, options()); }), rem::errc::type_mismatch);
    rem::file_backed_options how = options();
    how.heap.migrate =
        rem::migrations().to<places>("container").migrate<old_place, place>([](const old_place&, place&) {
            throw std::runtime_error("half way");
        });
    EXPECT_THROW(file(file_, how), std::runtime_error);
    how.heap.migrate = rem::migrations().to<places>("another");
    EXPECT_EQ(error_of([&] { file(file_, how); }), rem::errc::type_mismatch);
    EXPECT_EQ(text(), before);
    EXPECT_TRUE(is_alone());
    how.heap.migrate =
        rem::migrations().to<places>("container").migrate<old_place, place>([](const old_place& was, place& now) {
            now.people = was.thousands * 1000;
            now.is_capital = true;
        });
    for (const bool is_first : {true, false}) { // the file has the new type the second time
        file opened(file_, how);
        ASSERT_EQ(opened->size(), 1U);
        EXPECT_EQ(opened->at("ulm"), (place{"Ulm, a text that is longer than a short one", 9.5, 126'000, true}));
        EXPECT_TRUE(opened.get_heap().verify().clean());
        EXPECT_EQ(text() == before, is_first);
        opened.close();
    }
    EXPECT_TRUE(is_alone());
    EXPECT_EQ(file(file_, options())->at("ulm").people, 126'000);
}

TEST_P(container_file, messages_name_the_file_and_not_the_heap_beside_it) {
    make();
    const std::string whole = text();
    const auto expect_said = [&](const std::string& wanted, const std::string& said) {
        EXPECT_NE(said.find(wanted), std::string::npos) << said;
        EXPECT_NE(said.find(file_.string()), std::string::npos) << said;
        EXPECT_EQ(said.find("-open"), std::string::npos) << said;
        EXPECT_TRUE(is_alone());
    };
    write(whole.substr(0, whole.size() / 2));
    expect_said("cannot be loaded: line ", said_by([&] { file opened(file_, options()); }));
    write("Dear diary\n");
    expect_said("line 1: ", said_by([&] { file opened(file_, options()); }));
    write(whole);
    expect_said("holds a rem::map<rem::string, container_file_test::place>, not a rem::map<rem::string, int>. ",
                said_by([&] { rem::file_backed<rem::map<rem::string, int>> other(file_, options()); }));
}

TEST_P(container_file, a_dump_of_other_roots_is_refused) {
    {
        const rem::test::temp_dir elsewhere;
        rem::heap heap = rem::heap::create(elsewhere / "h");
        heap.root<int>("first");
        heap.root<places>("container")["ulm"] = k_ulm;
        heap.commit();
        std::ofstream to(file_, std::ios::binary);
        const auto put = [&](std::string_view piece) { to << piece; };
        rem::save(heap, GetParam() == rem::file_form::binary ? rem::as_binary(put) : put);
    }
    const std::string before = text();
    EXPECT_EQ(error_of([&] { file opened(file_, options()); }), rem::errc::type_mismatch);
    EXPECT_NE(said_by([&] { file opened(file_, options()); }).find(R"(it holds "first" of type int)"),
              std::string::npos);
    EXPECT_EQ(text(), before);
}

// What a user does: opens it, changes it, commits; and the process dies at any time.
class killed_container : public testing::TestWithParam<rem::file_form> {};

TEST_P(killed_container, has_its_last_commit_or_the_one_that_was_being_made) {
    std::mt19937 random(rem::test::random_seed());
    const rem::test::temp_dir dir = rem::test::temp_dir::in_memory();
    const fs::path path = dir / "places";
    using numbers = rem::file_backed<rem::map<int, rem::string>>;
    const rem::file_backed_options options{.form = GetParam()};
    const auto expect_whole = [](const numbers& opened) { // of commit n: n times n
        int expected = 0;
        for (const auto& [key, each] : *opened) {
            EXPECT_EQ(key, expected++);
            EXPECT_EQ(each, rem::string(50, 'a' + static_cast<char>(opened->size() % 26)));
        }
    };
    std::size_t least = 0;
    for (int round = 0; round != 12; ++round) {
        std::array<int, 2> acknowledged{};
        ASSERT_EQ(::pipe(acknowledged.data()), 0);
        const ::pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::close(acknowledged[0]);
            try {
                numbers opened(path, options);
                for (;;) {
                    opened.write([&] {
                        const std::size_t size = opened->size() + 1;
                        (*opened)[static_cast<int>(size) - 1];
                        for (auto& [key, each] : *opened)
                            each = rem::string(50, 'a' + static_cast<char>(size % 26));
                    });
                    const auto size = static_cast<std::uint32_t>(opened->size());
                    if (::write(acknowledged[1], &size, sizeof size) != sizeof size)
                        ::_exit(1);
                }
            } catch (...) {
                ::_exit(1);
            }
        }
        ::close(acknowledged[1]);
        std::uint32_t size = 0;
        if (round % 2 == 0) { // else it may be killed while it opens
            ASSERT_EQ(::read(acknowledged[0], &size, sizeof size), static_cast<::ssize_t>(sizeof size));
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 25'000));
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFSIGNALED(status)) << "it could not go on";
        least = std::max<std::size_t>(least, size);
        while (::read(acknowledged[0], &size, sizeof size) == sizeof size)
            least = size;
        ::close(acknowledged[0]);
        numbers opened(path, options);
        EXPECT_GE(opened->size(), least);
        EXPECT_LE(opened->size(), least + 1);
        expect_whole(opened);
        least = opened->size();
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(least, 5U);
    EXPECT_FALSE(fs::exists(path.string() + "-new"));
    EXPECT_FALSE(fs::exists(path.string() + "-open"));
}

INSTANTIATE_TEST_SUITE_P(forms, killed_container,
                         testing::Values(rem::file_form::memory, rem::file_form::portable, rem::file_form::binary),
                         [](const auto& tested) {
                             return tested.param == rem::file_form::memory     ? "memory"
                                    : tested.param == rem::file_form::portable ? "portable"
                                                                               : "binary";
                         });

struct many_numbers {
    float third = 1.0F / 3;
    float large = 3e38F;
    double tenth = 0.1;
    double minus_zero = -0.0;
    double least = 5e-324;
    double whole = 1e15;
    long double precise = 0.1L;
    std::uint64_t most = UINT64_MAX;
    std::int64_t least_whole = INT64_MIN;
    std::int64_t minus_one = -1;
    unsigned char small[6] = {0, 23, 24, 255, 100, 1};
    std::uint32_t medium[3] = {256, 65535, 65536};
};

TEST(binary_form, gives_the_lines_that_it_was_made_of) {
    const rem::test::temp_dir dir;
    rem::heap heap = rem::heap::create(dir / "h");
    auto& all = heap.root<rem::vector<many_numbers>>("numbers");
    heap.root<rem::vector<rem::string>>("texts") = {"", "\x01\"\\/", "\xf0\x9f\x98\x80", "\xff",
                                                    rem::string(70'000, 'x')};
    all.resize(3);
    heap.commit();
    std::string lines;
    std::string bytes;
    rem::save(heap, [&](std::string_view piece) { lines += piece; });
    rem::save(heap, rem::as_binary([&](std::string_view piece) { bytes += piece; }));
    EXPECT_LT(bytes.size(), lines.size());

    rem::heap other = rem::heap::create(dir / "o");
    std::istringstream from(bytes);
    EXPECT_EQ(rem::load<>(other, from), 2U);
    std::string again;
    rem::save(other, [&](std::string_view piece) { again += piece; });
    const auto without_first = [](const std::string& text) {
        return text.substr(text.find('\n'));
    }; // the commit's number
    EXPECT_EQ(without_first(again), without_first(lines));
}

TEST(binary_form, refuses_what_is_none_of_it) {
    const rem::test::temp_dir dir;
    rem::heap heap = rem::heap::create(dir / "h");
    const std::string mark = "\xd9\xd9\xf7";
    const std::string deep(100'000, '\x81');
    for (const std::string& each :
         {std::string(), std::string("\x9f"), std::string("\xa1\x01\x02"), std::string("\xf9\x3c\x00", 3),
          std::string("\xc1\x01"), std::string("\x5b\xff\xff\xff\xff\xff\xff\xff\xff", 9),
          std::string("\x9b\xff\xff\xff\xff\xff\xff\xff\xff", 9),
          std::string("\x3b\xff\xff\xff\xff\xff\xff\xff\xff", 9), std::string("\xd9\x01\x06\x42\x31,"),
          std::string("\xfb\x7f\xf0\0\0\0\0\0\0", 9), std::string("\x61\xff"), deep}) {
        std::istringstream from(mark + each);
        const rem::errc wanted = each == deep ? rem::errc::not_supported : rem::errc::invalid_argument;
        EXPECT_EQ(error_of([&] { rem::load<>(heap, from); }), wanted) << testing::PrintToString(each.substr(0, 20));
    }
    EXPECT_TRUE(heap.roots().empty());
}

} // namespace container_file_test
