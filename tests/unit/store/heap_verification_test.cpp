#include "store/heap_verification.hpp"

#include "unit/store/store_fixture.hpp"

namespace remanence::store {
namespace {

class verification : public store_on_disk {};

TEST_F(verification, a_flipped_bit_is_found_at_its_place_in_the_file) {
    commit_fresh(0, 1, 3);
    commit_fresh(1, 2);
    publish();
    const std::uint64_t copy = store_->image().copy_of(3 * k_page_bytes);
    flip(copy + 1234);
    ASSERT_TRUE(reopen());
    std::vector<std::byte> pages(k_chunk);
    auto read = store_->image().read_pages(0, pages);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.why().code, errc::corrupt);
    EXPECT_EQ(read.why().offset, copy);
    std::vector<std::uint64_t> found;
    ASSERT_TRUE(verify(*store_, [&](const damage& d) { found.push_back(d.offset); }, {}));
    EXPECT_EQ(found, std::vector<std::uint64_t>{copy});
    EXPECT_TRUE(store_->image().read_pages(k_chunk_pages, pages));
}

TEST_F(verification, a_bit_in_a_page_that_was_never_written_is_found_at_its_place) {
    commit_fresh(0, 1);
    commit_fresh(2, 2); // 1 was skipped: what lies there is not mapped
    publish();
    const std::uint64_t never_written = store_->image().copy_of(5 * k_page_bytes);
    const std::uint64_t skipped = store_->image().copy_of(k_chunk);
    flip(never_written + 77);
    flip(skipped + 77);
    ASSERT_TRUE(reopen());
    std::vector<std::uint64_t> found;
    ASSERT_TRUE(verify(*store_, [&](const damage& d) { found.push_back(d.offset); }, {}));
    EXPECT_EQ(found, std::vector<std::uint64_t>{never_written});
}

// Not those between which one is whole, of which something else is to be said, or that lie apart in the file.
TEST_F(verification, neighbouring_pages_of_which_the_same_is_to_be_said_are_told_of_at_one_go) {
    ASSERT_TRUE(store_->room().add_regions(k_chunk));
    const std::uint64_t border = store_->where().region_bytes() / k_page_bytes;
    for (const std::uint64_t page : {std::uint64_t{0}, border - k_chunk_pages, border})
        commit_fresh(page / k_chunk_pages, 1);
    for (const std::uint64_t page : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{4}, border - 1})
        apply(page, page);
    publish();
    std::vector<std::uint64_t> copies;
    for (const std::uint64_t page :
         {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{4}, border - 1, border})
        copies.push_back(store_->image().copy_of(page * k_page_bytes));
    for (const std::uint64_t copy : copies)
        flip(copy + 5);
    ASSERT_TRUE(reopen());
    std::vector<damage> found;
    ASSERT_TRUE(verify(*store_, [&](damage d) { found.push_back(std::move(d)); }, {}));
    std::vector<std::string> said;
    for (const damage& each : found)
        said.push_back(each.what + ", " + std::to_string(each.bytes) + " bytes");
    const auto name = [](std::uint64_t page) { return "page " + std::to_string(page); };
    EXPECT_EQ(said, (std::vector<std::string>{"pages 1 to 2: the checksum is wrong, 8192 bytes",
                                              "page 3: never written, but not all zeros, 4096 bytes",
                                              "page 4: the checksum is wrong, 4096 bytes",
                                              name(border - 1) + ": the checksum is wrong, 4096 bytes",
                                              name(border) + ": the checksum is wrong, 4096 bytes"}));
    ASSERT_EQ(found.size(), 5U);
    EXPECT_EQ(found[0].offset, store_->image().copy_of(k_page_bytes));
    EXPECT_EQ(found[4].offset, store_->image().copy_of(border * k_page_bytes));
}

// One page in each chunk, so that all others must be zeros; and the file ends within a page.
TEST_F(verification, what_lies_beyond_the_end_of_the_file_is_told_of_at_one_go_however_long_it_is) {
    constexpr std::uint64_t k_chunks = 600;
    ASSERT_TRUE(store_->room().add_regions(k_chunks * k_chunk));
    for (std::uint64_t chunk = 0; chunk < k_chunks; ++chunk)
        commit_fresh(chunk, chunk, chunk % 3);
    publish();
    const std::uint64_t end = store_->image().copy_of(2 * k_chunk) + 2000;
    edit([&](os::file& file) { ASSERT_TRUE(file.resize("test", end)); });
    auto opened = heap_file::open_damaged(disk_, k_path, [](const failure&) {});
    ASSERT_TRUE(opened) << opened.why().message;
    std::vector<damage> found;
    auto pages = verify(**opened, [&](damage d) { found.push_back(std::move(d)); }, {});
    ASSERT_TRUE(pages);
    EXPECT_EQ(*pages, k_chunks);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].what, "pages 32 to " + std::to_string(k_chunks * k_chunk_pages - 1) +
                                 ": missing, since the file ends at byte " + std::to_string(end));
    EXPECT_EQ(found[0].offset, end - 2000);
    EXPECT_EQ(found[0].bytes, (k_chunks - 2) * k_chunk);
}

TEST_F(verification, of_the_structure_alone_finds_what_contradicts_itself_and_reads_no_page) {
    commit_fresh(0, 1);
    commit_fresh(2, 2);
    publish();
    const auto super = store_->super();
    flip(store_->image().copy_of(0) + 9);
    format::node_reference root{};
    edit([&](os::file& file) {
        checksum_table table(file, super.regions[0]);
        ASSERT_TRUE(table.set(k_chunk_pages + 3, 77)); // 1 was skipped
        root = *write_changed(table, file);
    });
    edit_superblock(super.sequence % 2, [&](format::superblock& s) { s.regions[0].root = root; });
    ASSERT_TRUE(reopen());
    std::vector<std::string> found;
    ASSERT_TRUE(verify_structure(*store_, [&](const damage& d) { found.push_back(d.what); }));
    EXPECT_EQ(found, std::vector<std::string>{"page 19: there is a checksum, but according to the chunk map no place"});
    edit_superblock(super.sequence % 2, [&](format::superblock& s) { s.regions[0].root = {5, 0, 0}; });
    ASSERT_TRUE(reopen());
    found.clear();
    ASSERT_TRUE(verify_structure(*store_, [&](const damage& d) { found.push_back(d.what); }));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_NE(found[0].find("node of the checksum table"), std::string::npos) << found[0];
}

TEST_F(verification, a_checksum_of_a_page_that_has_no_place_is_found_at_what_would_be_its_copy) {
    commit_fresh(0, 1);
    commit_fresh(2, 2); // 1 was skipped
    publish();
    const auto super = store_->super();
    const std::uint64_t skipped = k_chunk_pages + 3;
    const std::uint64_t beyond = 3 * k_chunk_pages;
    const std::vector<std::uint64_t> copies{store_->image().copy_of(skipped * k_page_bytes),
                                            store_->image().copy_of(beyond * k_page_bytes)};
    format::node_reference root{};
    edit([&](os::file& file) {
        checksum_table table(file, super.regions[0]);
        for (const std::uint64_t page : {skipped, beyond})
            ASSERT_TRUE(table.set(page, 77));
        root = *write_changed(table, file);
    });
    edit_superblock(super.sequence % 2, [&](format::superblock& s) { s.regions[0].root = root; });
    ASSERT_TRUE(reopen());
    std::vector<damage> found;
    auto checked = verify(*store_, [&](damage d) { found.push_back(std::move(d)); }, {});
    ASSERT_TRUE(checked);
    EXPECT_EQ(*checked, 4U);
    ASSERT_EQ(found.size(), 2U);
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].offset, copies[i]);
        EXPECT_NE(found[i].what.find("no place"), std::string::npos) << found[i].what;
    }
    expect_model(); // it is nobody's page: reading goes by the map
}

TEST_F(verification, a_table_that_names_pages_beyond_its_region_is_found_and_the_others_are_checked) {
    ASSERT_TRUE(store_->room().add_regions(3 * format::k_leaf_span)); // three leaves, and a root with places for 256
    ASSERT_TRUE(store_->room().add_regions(store_->where().region_bytes() + 1));
    commit_fresh(0, 1);
    publish();
    apply(1, 2); // the root goes to its second place; the first one has an older root now
    publish();
    const auto super = store_->super();
    const format::region& region = super.regions[0];
    ASSERT_EQ(region.root.slot, 1U);
    const std::uint64_t places = region.table_offset + 3 * format::k_node_stride; // of the root: those of a fourth leaf
    std::uint64_t sum = 0;
    edit([&](os::file& file) {
        std::vector<std::byte> older(format::k_node_bytes);
        ASSERT_TRUE(file.read(places, older));
        std::vector<std::byte> root(format::k_node_bytes);
        ASSERT_TRUE(file.read(places + format::k_node_bytes, root));
        const format::node_reference fourth{node_checksum(older), 0, 0};
        std::memcpy(root.data() + 3 * sizeof fourth, &fourth, sizeof fourth);
        ASSERT_TRUE(file.write("test", places + format::k_node_bytes, root));
        sum = node_checksum(root);
    });
    edit_superblock(super.sequence % 2, [&](format::superblock& s) { s.regions[0].root.checksum = sum; });
    ASSERT_TRUE(reopen());
    std::vector<damage> found;
    auto checked = verify(*store_, [&](damage d) { found.push_back(std::move(d)); }, {});
    ASSERT_TRUE(checked);
    EXPECT_EQ(*checked, 2U);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].offset, region.table_offset);
    EXPECT_NE(found[0].what.find("beyond its region"), std::string::npos) << found[0].what;
}

} // namespace
} // namespace remanence::store
