#include "store/heap_creation.hpp"

#include "unit/store/store_fixture.hpp"

namespace remanence::store {
namespace {

class heap_file_creation : public store_on_disk {};

TEST_F(heap_file_creation, appears_whole_or_not_at_all_whichever_operation_fails) {
    store_.reset();
    for (errc code : {errc::io, errc::no_space}) {
        for (std::uint64_t n = 0;; ++n) {
            os::simulated_disk disk;
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
    result<void> rename_to_new(os::site where, const std::string& from, const std::string& to) override {
        return below_.rename_to_new(where, from, to);
    }
    result<void> remove(os::site where, const std::string& path) override { return below_.remove(where, path); }
    result<void> sync_directory(os::site where, const std::string& path) override {
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

} // namespace
} // namespace remanence::store
