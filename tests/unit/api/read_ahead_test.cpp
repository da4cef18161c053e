// What a heap reads of its file beyond what is asked for: memory_options::read_ahead, and what packed maps do without it.

#include "support/waiting.hpp"
#include "unit/api/fixture.hpp"

#include <sys/syscall.h>

#include <array>
#include <thread>

namespace remanence::test {
namespace {

class reading_ahead : public testing::Test {
protected:
    static constexpr std::size_t k_entries = 60'000;

    static std::string key(std::size_t i) { return "key " + std::to_string(1'000'000 + i); }

    void SetUp() override {
        heap h = heap::create(path_);
        auto& map = h.root<packed_map>("map");
        for (std::size_t i = 0; i < k_entries; ++i)
            map.emplace(key(i), "some sixty bytes of value, so that there are leaves enough..");
        h.commit();
        h.checkpoint();
        h.close();
        opened_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
        ASSERT_GE(opened_, 0);
        ::fsync(opened_);
        ::posix_fadvise(opened_, 0, 0, POSIX_FADV_DONTNEED);
        size_ = fs::file_size(path_);
        mapped_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, opened_, 0);
        ASSERT_NE(mapped_, MAP_FAILED);
        if (in_page_cache() != 0)
            GTEST_SKIP() << "this file system keeps all in memory";
    }
    void TearDown() override {
        ::munmap(mapped_, size_);
        ::close(opened_);
    }
    heap open(bool read_ahead) {
        heap_options options;
        options.memory.read_ahead = read_ahead;
        return heap::open_existing(path_, options);
    }
    /// Pages of the file that were asked for, whether or not they have come, or have gone again: from Linux 6.5 on the kernel tells.
    [[nodiscard]] std::optional<std::size_t> asked_for() const {
#ifdef SYS_cachestat
        constexpr long k_cachestat = SYS_cachestat;
#else
        constexpr long k_cachestat = 451;
#endif
        const std::array<std::uint64_t, 2> all{}; // from the beginning to the end
        std::array<std::uint64_t, 5> counts{};    // cached, dirty, being written, evicted, evicted a moment ago
        if (::syscall(k_cachestat, opened_, all.data(), counts.data(), 0) != 0)
            return {};
        return static_cast<std::size_t>(counts[0] + counts[3]);
    }
    /// The same, or pages that have come.
    [[nodiscard]] std::size_t in_page_cache() const {
        if (const auto asked = asked_for())
            return *asked;
        std::vector<unsigned char> pages((size_ + k_page_bytes - 1) / k_page_bytes);
        EXPECT_EQ(::mincore(mapped_, size_, pages.data()), 0);
        return static_cast<std::size_t>(std::ranges::count_if(pages, [](unsigned char page) { return page % 2 != 0; }));
    }
    /// Where only those can be counted that have come: once no more have for half a second.
    [[nodiscard]] std::size_t in_page_cache_at_last() const {
        if (const auto asked = asked_for())
            return *asked;
        std::size_t last = in_page_cache();
        for (int same = 0; same != 10; ++same) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            if (const std::size_t now = in_page_cache(); now != last) {
                last = now;
                same = 0;
            }
        }
        return last;
    }
    [[nodiscard]] bool come_to(std::size_t pages) const {
        if (const auto asked = asked_for())
            return *asked >= pages;
        return comes_true([&] { return in_page_cache() >= pages; }); // the device may pause
    }
    [[nodiscard]] std::size_t pages_of_file() const { return size_ / k_page_bytes; }

    temp_dir directory_;
    fs::path path_ = directory_.path() / "h";
    std::size_t size_ = 0;
    int opened_ = -1;
    void* mapped_ = MAP_FAILED;
};

TEST_F(reading_ahead, without_it_a_look_up_reads_what_it_needs) {
    heap h = open(false);
    const auto* const map = h.find_root<packed_map>("map");
    const std::size_t opened = in_page_cache_at_last();
    for (const std::size_t i : {k_entries / 5, k_entries / 2, k_entries / 7 * 6})
        EXPECT_NE(map->find(key(i)), map->end());
    EXPECT_LT(opened, pages_of_file() / 4);
    EXPECT_LE(in_page_cache_at_last(), opened + 3 * std::size_t{8});
}

TEST_F(reading_ahead, read_index_reads_what_leads_to_the_leaves_and_not_the_leaves) {
    heap h = open(false);
    const auto* const map = h.find_root<packed_map>("map");
    const std::size_t opened = in_page_cache_at_last();
    map->read_index();
    EXPECT_TRUE(come_to(opened + 12)); // nodes of 2 KiB, for a thousand leaves
    const std::size_t with_index = in_page_cache_at_last();
    EXPECT_LT(with_index, pages_of_file() / 4);
    EXPECT_NE(map->find(key(k_entries / 3)), map->end());
    EXPECT_NE(map->find(key(k_entries / 3 * 2)), map->end());
    EXPECT_LE(in_page_cache_at_last(), with_index + 2 * std::size_t{2}); // a leaf lies on two pages at most
}

TEST_F(reading_ahead, an_iteration_asks_for_what_comes_next) {
    heap h = open(false);
    const auto* const map = h.find_root<packed_map>("map");
    auto at = map->begin();
    for (std::size_t i = 0; i < k_entries / 4; ++i)
        ++at;
    // What it has passed is less than a third, with what leads there.
    EXPECT_TRUE(come_to(pages_of_file() / 4 + 64));
    for (; at != map->end(); ++at) {
    }
    EXPECT_TRUE(come_to(pages_of_file() / 4 * 3));
}

TEST_F(reading_ahead, read_index_does_no_harm_elsewhere) {
    heap h = open(true);
    h.find_root<packed_map>("map")->read_index();
    h.write([&] {
        auto& empty = h.root<packed_map>("empty");
        empty.read_index();
        EXPECT_TRUE(empty.empty());
    });
    const packed_map in_memory;
    in_memory.read_index();
    EXPECT_TRUE(h.verify().clean());
}

} // namespace
} // namespace remanence::test
