#include "store/heap_creation.hpp"

#include "support/failing_files.hpp"
#include "unit/store/store_fixture.hpp"

#include <cstring>

namespace remanence::store {
namespace {

class heap_file_creation : public store_on_disk {};

TEST_F(heap_file_creation, appears_whole_or_not_at_all_whichever_operation_fails) {
    store_.reset();
    for (errc code : {errc::io, errc::no_space}) {
        for (std::uint64_t n = 0;; ++n) {
            simulation::simulated_disk disk;
            disk.fail_at(n, code);
            auto made = heap_file::create(disk, k_path, {k_chunk, 0x1100'0000'0000, "abi", 0600});
            if (made) {
                EXPECT_GT(n, 5U);
                break;
            }
            EXPECT_EQ(made.why().code, code) << n;
            made = heap_file::open(disk, k_path, os::access::read_write);
            if (!made) {
                EXPECT_EQ(made.why().code, errc::not_found) << n;
            }
            made = heap_file::create(disk, k_path, {k_chunk, 0x1100'0000'0000, "abi", 0600});
            EXPECT_TRUE(made || made.why().code == errc::exists || made.why().code == errc::in_use)
                << made.why().message;
        }
    }
}

TEST_F(heap_file_creation, of_an_existing_one_is_refused) {
    auto made = heap_file::create(disk_, k_path, {k_chunk, 0x1100'0000'0000, "abi", 0600});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.why().code, errc::exists);
    EXPECT_EQ(heap_file::open(disk_, k_path, os::access::read_write).why().code, errc::in_use);
}

TEST_F(heap_file_creation, of_one_that_somebody_else_is_building_is_refused) {
    const std::string other = "dir/other";
    auto builder = begin_new(disk_, other, 0600);
    ASSERT_TRUE(builder);
    ASSERT_TRUE((*builder)->write("test", 0, page_bytes(1).span()));
    auto made = heap_file::create(disk_, other, {k_chunk, 0x1100'0000'0000, "abi", 0600});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.why().code, errc::in_use);
    EXPECT_EQ(made.why().path, other);
    EXPECT_EQ(*(*builder)->size(), k_page_bytes); // what is being built is left alone
}

/// Files of which another process takes NAME-new away, complete, once it is open here.
class files_with_a_rival final : public os::file_system {
public:
    explicit files_with_a_rival(os::file_system& below) : below_(below) {}
    result<std::unique_ptr<os::file>> open(const std::string& path, os::access mode) override {
        return below_.open(path, mode);
    }
    result<std::unique_ptr<os::file>> open_or_create(const std::string& path, unsigned mode) override {
        auto opened = below_.open_or_create(path, mode);
        EXPECT_TRUE((*opened)->write("test", 0, page_bytes(1).span()));
        EXPECT_TRUE(below_.rename_to_new("test", path, "dir/taken"));
        return opened;
    }
    result<bool> exists(const std::string& path) override { return below_.exists(path); }
    result<bool> has_directory(const std::string& path) override { return below_.has_directory(path); }
    result<void> rename_to_new(os::call_site where, const std::string& from, const std::string& to) override {
        return below_.rename_to_new(where, from, to);
    }
    result<void> rename_over(os::call_site where, const std::string& from, const std::string& to) override {
        return below_.rename_over(where, from, to);
    }
    result<void> remove(os::call_site where, const std::string& path, os::file& which) override {
        return below_.remove(where, path, which);
    }
    result<void> sync_directory(os::call_site where, const std::string& path) override {
        return below_.sync_directory(where, path);
    }

private:
    os::file_system& below_;
};

TEST_F(heap_file_creation, that_finds_its_file_renamed_by_a_rival_leaves_it_alone) {
    files_with_a_rival files(disk_);
    auto made = heap_file::create(files, "dir/other", {k_chunk, 0x1100'0000'0000, "abi", 0600});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.why().code, errc::in_use);
    auto taken = disk_.open("dir/taken", os::access::read_only);
    ASSERT_TRUE(taken);
    std::vector<std::byte> page(k_page_bytes);
    ASSERT_TRUE((*taken)->read(0, page));
    EXPECT_TRUE(std::equal(page.begin(), page.end(), page_bytes(1).span().begin()));
}

TEST_F(heap_file_creation, gives_its_name_to_no_file_but_the_one_that_it_built) {
    const std::string other = "dir/other";
    for (const std::string_view before : {"sync", "rename_to_new"}) {
        test::failing_files files(disk_);
        files.before_each([&, done = false](std::string_view call) mutable {
            if (call != before || std::exchange(done, true))
                return;
            EXPECT_TRUE(disk_.rename_to_new("test", new_path(other), "dir/taken"));
            EXPECT_TRUE((*disk_.open_or_create(new_path(other), 0600))->write("test", 0, page_bytes(1).span()));
        });
        EXPECT_FALSE(heap_file::create(files, other, {k_chunk, 0x1100'0000'0000, "abi", 0600}));
        const bool is_named = *disk_.exists(other); // it came there between the last look and the renaming
        EXPECT_EQ(is_named, before == "rename_to_new");
        const std::string place = is_named ? other : new_path(other);
        EXPECT_EQ(*(*disk_.open(place, os::access::read_only))->size(),
                  k_page_bytes); // whoever put it there has it still
        ASSERT_TRUE(disk_.remove("test", place));
        ASSERT_TRUE(disk_.remove("test", "dir/taken"));
    }
}

TEST_F(heap_file_creation, goes_over_what_an_interrupted_one_left_and_over_nothing_else) {
    const std::string other = "dir/other";
    const std::string building = new_path(other);
    const creation how{k_chunk, 0x1100'0000'0000, "abi", 0600};
    const auto begin_over = [&](std::span<const std::byte> bytes) {
        auto file = std::move(*disk_.open_or_create(building, 0600));
        EXPECT_TRUE(file->write("test", 0, bytes));
        file.reset();
        auto begun = begin_new(disk_, other, 0600);
        if (begun) {
            EXPECT_EQ(*(*begun)->size(), 0U);
        } else {
            EXPECT_EQ(begun.why().path, building);
            std::vector<std::byte> left(bytes.size());
            EXPECT_TRUE((*disk_.open(building, os::access::read_only))->read(0, left));
            EXPECT_TRUE(std::equal(left.begin(), left.end(), bytes.begin()));
        }
        const errc code = begun ? errc{} : begun.why().code;
        if (begun)
            begun->reset();
        EXPECT_TRUE(disk_.remove("test", building));
        return code;
    };
    const auto bytes_of = [&](const std::string& path) {
        auto file = std::move(*disk_.open(path, os::access::read_only));
        std::vector<std::byte> bytes(static_cast<std::size_t>(*file->size()));
        EXPECT_TRUE(file->read(0, bytes));
        return bytes;
    };
    EXPECT_EQ(begin_over({}), errc{});
    EXPECT_EQ(begin_over(std::vector<std::byte>(8192)), errc{});
    std::vector<std::byte> somebodys(100'000);
    EXPECT_EQ(begin_over(somebodys), errc::exists); // an image of a disk may begin with zeros
    somebodys[1080] = std::byte{0x53};              // as one of ext4 does
    EXPECT_EQ(begin_over(somebodys), errc::exists);
    std::memcpy(somebodys.data(), format::k_copy_magic.data(), sizeof format::k_copy_magic);
    EXPECT_EQ(begin_over(somebodys), errc{}); // a copy that was not finished
    ASSERT_TRUE(create_empty(disk_, "dir/empty", how));
    auto empty = bytes_of("dir/empty");
    EXPECT_EQ(begin_over(empty), errc{}); // a creation that had its superblocks
    empty[3000] ^= std::byte{1};          // torn
    EXPECT_EQ(begin_over(empty), errc{});
    EXPECT_EQ(begin_over(page_bytes(1).span()), errc::exists); // somebody's file
    EXPECT_EQ(begin_over(std::vector<std::byte>(5, std::byte{'x'})), errc::exists);
    ASSERT_TRUE(store_->room().add_regions(k_chunk)); // for a first commit, which failed before there was a log
    EXPECT_EQ(begin_over(bytes_of(k_path)), errc{});
    ASSERT_NO_FATAL_FAILURE(commit_fresh(0, 1));
    ASSERT_NO_FATAL_FAILURE(publish());
    EXPECT_EQ(begin_over(bytes_of(k_path)), errc::exists); // a heap
    ASSERT_TRUE(disk_.open_or_create(log_path(building), 0600));
    EXPECT_EQ(begin_over({}), errc::exists); // with a log beside it
}

} // namespace
} // namespace remanence::store
