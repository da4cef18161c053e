// Roots whose types changed since they were stored: which are found, and when the heap learns the new type. Programs with two
// versions of one type are in tests/process; here a root gets the description of another type, under this one's name.
#include "unit/api/fixture.hpp"

#include "api/heap_impl.hpp"
#include "api/registry.hpp"
#include "format/log_record.hpp"
#include "format/root_directory.hpp"
#include "types/root_directory.hpp"
#include "types/type_description.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

namespace changed_types_test {

struct spot {
    double lat, lon;
};
struct swapped_spot {
    double lon, lat;
};
struct renamed_spot {
    double latitude, lon;
};
struct wider_spot {
    double lat;
    float lon;
    float height;
};
class account {
public:
    int balance = 0;

private:
    [[maybe_unused]] int hidden_ = 0;
};

} // namespace changed_types_test

template <>
inline constexpr std::uint32_t remanence::layout_number<changed_types_test::account> = 3;

namespace remanence::test {
namespace {

using namespace changed_types_test;

std::string in_place_of(std::string text, std::string_view old, std::string_view name) {
    for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + name.size()))
        text.replace(at, old.size(), name);
    return text;
}

/// What a program would record whose `Is` were what `Was` is here.
template <class Was, class Is>
detail::type_fingerprint as_if() {
    detail::type_fingerprint made = detail::fingerprint_of<Was>();
    const std::string old = made.name;
    const std::string name = detail::fingerprint_of<Is>().name;
    auto described = *types::type_description::decode(made.description);
    for (types::type_row& row : described.rows)
        row.name = in_place_of(row.name, old, name);
    made.name = name;
    made.description = described.encode();
    ++made.hash;
    return made;
}

/// What programs recorded before names of members were.
template <class T>
detail::type_fingerprint by_algorithm_1() {
    detail::type_fingerprint made = detail::fingerprint_of<T>();
    made.algorithm = 1;
    made.hash = made.hash_1;
    made.description.clear();
    return made;
}

class changed_types : public testing::Test {
protected:
    template <class T>
    void store(const detail::type_fingerprint& type, std::string_view name = "home") {
        heap h = heap::open(file_, small_heap());
        h.write([&] { detail::add_root(impl_of(h), name, type, h.make<T>(), {}, false); });
        h.close();
    }
    heap open(bool accept_renamed = false, bool read_only = false) {
        heap_options how = small_heap();
        how.checks.accept_renamed_members = accept_renamed;
        how.read_only = read_only;
        return heap::open(file_, how);
    }
    static detail::heap_impl* impl_of(heap& h) { return detail::registry::find(h.base()); }
    /// The fingerprint that the heap has of a root.
    static types::stored_fingerprint stored(heap& h, std::string_view name = "home") {
        types::stored_fingerprint found{};
        (void)types::root_directory(impl_of(h)->memory()).for_each([&](const types::root_view& root) {
            if (root.name == name)
                found = {root.fingerprint_hash, root.fingerprint_algorithm};
        });
        return found;
    }
    template <class T>
    static types::stored_fingerprint present() {
        return {detail::fingerprint_of<T>().hash, 2};
    }
    template <class T>
    void expect_mismatch(heap& h, std::string_view part, std::string_view name = "home") {
        auto got = error_of([&] { (void)h.find_root<T>(name); });
        EXPECT_TRUE(is_error(got, errc::type_mismatch, file_, part));
        EXPECT_TRUE(is_error(error_of([&] { h.root<T>(name); }), errc::type_mismatch, file_, part));
    }

    temp_dir dir_;
    const fs::path file_ = dir_ / "h";
};

TEST_F(changed_types, with_members_that_changed_places_are_refused_and_named) {
    store<spot>(as_if<swapped_spot, spot>());
    for (const bool accept_renamed : {false, true}) {
        heap h = open(accept_renamed);
        expect_mismatch<spot>(h, "member 1 of changed_types_test::spot was \"double lon\", is \"double lat\": members "
                                 "changed places. Ask for the stored type");
    }
}

TEST_F(changed_types, with_a_member_of_another_type_are_refused_whatever_the_options) {
    store<spot>(as_if<wider_spot, spot>());
    for (const bool accept_renamed : {false, true}) {
        heap h = open(accept_renamed);
        expect_mismatch<spot>(h, "member 2 of changed_types_test::spot was \"float lon\", is \"double lon\". Ask for");
    }
}

TEST_F(changed_types, with_a_renamed_member_are_refused_with_the_remedy) {
    store<spot>(as_if<renamed_spot, spot>());
    heap h = open();
    expect_mismatch<spot>(
        h, "member 1 of changed_types_test::spot was \"double latitude\", is \"double lat\". If it was only "
           "renamed, open the heap with heap_options::checks.accept_renamed_members");
}

TEST_F(changed_types, with_a_renamed_member_are_found_on_demand_and_the_next_commit_records_it) {
    store<spot>(as_if<renamed_spot, spot>());
    const auto was = [this] {
        heap h = open();
        return stored(h);
    }();
    {
        heap h = open(true);
        EXPECT_NE(h.find_root<spot>("home"), nullptr);
        EXPECT_EQ(stored(h), was) << "before a commit";
        h.commit();
        EXPECT_EQ(stored(h), present<spot>());
        EXPECT_TRUE(h.verify().clean());
    }
    heap h = open();
    EXPECT_NE(h.find_root<spot>("home"), nullptr);
    EXPECT_EQ(stored(h), present<spot>());
}

TEST_F(changed_types, with_a_renamed_member_are_found_in_a_heap_that_is_only_read) {
    store<spot>(as_if<renamed_spot, spot>());
    const auto before = read_file(file_);
    {
        heap h = open(true, true);
        EXPECT_NE(h.find_root<spot>("home"), nullptr);
    }
    EXPECT_EQ(read_file(file_), before);
}

TEST_F(changed_types, known_by_algorithm_1_are_found_and_the_next_commit_renews_them) {
    store<spot>(by_algorithm_1<spot>());
    store<numbers>(by_algorithm_1<numbers>(), "numbers");
    store<numbers>(by_algorithm_1<numbers>(), "others");
    {
        heap h = open();
        EXPECT_NE(h.find_root<spot>("home"), nullptr);
        h.root<numbers>("numbers");
        EXPECT_EQ(stored(h).algorithm, 1U);
        h.write([&] { h.root<numbers>("numbers").push_back(7); });
        EXPECT_EQ(stored(h), present<spot>());
        EXPECT_EQ(stored(h, "numbers"), present<numbers>());
        EXPECT_EQ(stored(h, "others").algorithm, 1U) << "nobody said of which type it is";
        EXPECT_TRUE(h.verify().clean());
    }
    heap h = open();
    EXPECT_EQ(stored(h), present<spot>());
    EXPECT_EQ(h.find_root<numbers>("numbers")->back(), 7U);
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(changed_types, are_renewed_in_declared_sections_and_with_every_tracker) {
    if (const char* forced = std::getenv("REMANENCE_TRACKING"); forced != nullptr && *forced != '\0')
        GTEST_SKIP() << "REMANENCE_TRACKING forces a tracker; this test chooses its own";
    for (const tracking how : {tracking::automatic, tracking::trap, tracking::fallback}) {
        const std::string name = "home" + std::to_string(static_cast<int>(how));
        store<spot>(by_algorithm_1<spot>(), name);
        heap_options options = small_heap();
        options.tracker = how;
        options.checks.catch_stray_writes = how == tracking::trap;
        heap h = heap::open(file_, options);
        (void)h.find_root<spot>(name);
        h.write(declared, [&] { h.root<numbers>("declared"); });
        EXPECT_EQ(stored(h, name), present<spot>());
        h.close();
        h = heap::open(file_, options);
        EXPECT_EQ(stored(h, name), present<spot>());
    }
}

TEST_F(changed_types, are_not_renewed_by_opening_reading_and_closing) {
    store<spot>(by_algorithm_1<spot>());
    const auto before = read_file(file_);
    {
        heap h = open();
        EXPECT_NE(h.find_root<spot>("home"), nullptr);
        h.close();
    }
    EXPECT_EQ(read_file(file_), before);
    {
        heap h = open(false, true);
        EXPECT_NE(h.find_root<spot>("home"), nullptr);
    }
    EXPECT_EQ(read_file(file_), before);
}

TEST_F(changed_types, are_renewed_by_a_commit_at_close) {
    if (const char* forced = std::getenv("REMANENCE_TRACKING"); forced != nullptr && *forced != '\0')
        GTEST_SKIP() << "REMANENCE_TRACKING forces a tracker; this test chooses its own";
    store<spot>(by_algorithm_1<spot>());
    for (const bool by_destructor : {true, false}) {
        heap_options options = small_heap();
        options.commit_at_close = true;
        options.tracker = tracking::trap;
        options.checks.catch_stray_writes = true;
        const std::string name = by_destructor ? "home" : "another";
        if (!by_destructor)
            store<spot>(by_algorithm_1<spot>(), name);
        {
            heap h = heap::open(file_, options);
            (void)h.find_root<spot>(name);
            if (!by_destructor)
                h.close();
        }
        heap h = open();
        EXPECT_EQ(stored(h, name), present<spot>()) << name;
    }
}

TEST_F(changed_types, that_were_not_committed_are_as_they_were) {
    store<spot>(by_algorithm_1<spot>());
    heap h = open();
    (void)h.find_root<spot>("home");
    h.rollback();
    EXPECT_EQ(stored(h).algorithm, 1U);
    h.commit();
    EXPECT_EQ(stored(h), present<spot>()) << "what was found before the rollback counts";
}

// The renewal is a part of the commit: the log has it, or nothing of the commit.
TEST_F(changed_types, are_renewed_in_the_heap_that_a_killed_program_leaves) {
    store<spot>(by_algorithm_1<spot>());
    const fs::path before = dir_ / "before";
    const fs::path after = dir_ / "after";
    {
        heap h = open();
        (void)h.find_root<spot>("home");
        h.write([&] { h.root<numbers>("numbers"); }); // renews it
        h.write([&] { h.root<numbers>("numbers").push_back(1); });
        fs::copy_file(file_, after);
        fs::copy_file(log_of(file_), log_of(after));
        fs::copy_file(file_, before);
        fs::copy_file(log_of(file_), log_of(before));
        h.close();
    }
    {
        // The first record is damaged, so that the recovery ends before it.
        std::fstream log(log_of(before), std::ios::binary | std::ios::in | std::ios::out);
        const std::string zeros(fs::file_size(log_of(before)) - format::k_log_header_bytes, '\0');
        log.seekp(format::k_log_header_bytes);
        log.write(zeros.data(), static_cast<std::streamsize>(zeros.size()));
    }
    {
        heap h = heap::open_existing(after, small_heap());
        EXPECT_EQ(stored(h), present<spot>());
        EXPECT_EQ(h.find_root<numbers>("numbers")->size(), 1U);
        EXPECT_TRUE(h.verify().clean());
    }
    heap h = heap::open_existing(before, small_heap());
    EXPECT_EQ(stored(h).algorithm, 1U);
    EXPECT_EQ(h.find_root<numbers>("numbers"), nullptr);
    EXPECT_TRUE(h.verify().clean());
}

// Those who look for pointers take words by their values.
TEST_F(changed_types, leave_no_words_in_the_directory_that_look_like_addresses) {
    heap h = open();
    for (int i = 0; i != 8; ++i)
        h.root<spot>(std::string(static_cast<std::size_t>(i) + 1, 'n'));
    h.root<numbers>("others");
    h.root<account>("last");
    const std::uint64_t end = h.stats().heap_bytes;
    const auto* first = static_cast<const std::byte*>(h.base());
    int entries = 0;
    for (std::uint64_t at = k_page_bytes; at + sizeof(format::root_entry) <= end; at += sizeof(std::uint64_t)) {
        format::root_entry entry{};
        std::memcpy(&entry, first + at, sizeof entry);
        if (entry.fingerprint_algorithm != 2 || entry.name_bytes > 8 || entry.type_bytes > 100 ||
            entry.description_bytes > 200 || entry.object_alignment != 8)
            continue;
        ++entries;
        const std::uint64_t bytes = entry.name_bytes + entry.type_bytes + entry.description_bytes;
        for (std::uint64_t word = 0; word < bytes; word += sizeof(std::uint64_t)) {
            std::uint64_t value = 0;
            std::memcpy(&value, first + at + sizeof entry + word, sizeof value);
            EXPECT_NE(value >> 48, 0U) << "word " << word << " of entry " << entries;
        }
    }
    EXPECT_GE(entries, 9);
}

TEST_F(changed_types, whose_root_is_gone_or_another_one_by_then_are_left_alone) {
    store<spot>(by_algorithm_1<spot>());
    store<spot>(by_algorithm_1<spot>(), "gone");
    heap h = open();
    (void)h.find_root<spot>("home");
    (void)h.find_root<spot>("gone");
    h.write([&] {
        h.remove_root<spot>("home");
        h.root<numbers>("home");
        h.remove_root<spot>("gone");
    });
    EXPECT_EQ(stored(h), present<numbers>());
    EXPECT_TRUE(h.verify().clean());
}

// Algorithm 1 knew of no numbers: it cannot tell whether the layout changed.
TEST_F(changed_types, with_a_layout_number_are_refused_in_heaps_that_have_none) {
    store<account>(by_algorithm_1<account>());
    heap h = open(true);
    expect_mismatch<account>(h, "the layout number of changed_types_test::account was 0, is 3");
}

TEST_F(changed_types, with_another_layout_number_are_refused_with_both) {
    auto other = detail::fingerprint_of<account>();
    auto described = *types::type_description::decode(other.description);
    described.rows.front().number = 2;
    other.description = described.encode();
    ++other.hash;
    store<account>(other);
    heap h = open();
    expect_mismatch<account>(h, "the layout number of changed_types_test::account was 2, is 3.");
}

TEST_F(changed_types, without_a_description_are_refused_by_their_hash) {
    auto other = as_if<swapped_spot, spot>();
    other.description.clear(); // it was too long
    store<spot>(other);
    heap h = open(true);
    expect_mismatch<spot>(h, "The names are alike, but members or their types are not.");
}

TEST_F(changed_types, with_a_damaged_description_are_corrupt) {
    auto other = as_if<renamed_spot, spot>();
    other.description[0] = '\x7f'; // rows
    store<spot>(other);
    heap h = open(true);
    EXPECT_TRUE(is_error(error_of([&] { (void)h.find_root<spot>("home"); }), errc::corrupt, file_, "description"));
    const auto report = h.verify();
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_NE(report.problems[0].what.find("description of the type of the root \"home\""), std::string::npos);
    EXPECT_EQ(h.roots().size(), 1U);
}

// The objects of outdated roots are looked into, too.
TEST_F(changed_types, are_verified_before_they_are_renewed) {
    using squares = btree_map<std::uint64_t, std::uint64_t>;
    store<squares>(by_algorithm_1<squares>());
    heap h = open();
    auto* all = h.find_root<squares>("home");
    ASSERT_NE(all, nullptr);
    EXPECT_TRUE(h.verify().clean());
    std::memset(static_cast<void*>(all), 0x5a, sizeof *all);
    EXPECT_EQ(stored(h).algorithm, 1U);
    EXPECT_FALSE(h.verify().clean());
    h.rollback();
}

} // namespace
} // namespace remanence::test
