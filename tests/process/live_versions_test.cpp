// Old versions of a heap that another process has open for writing, alone or shared: a version that was opened stays what it was, byte for
// byte, whatever that process does, and however it ends.
//
// REMANENCE_LIVE_VERSIONS_ROUNDS: openings in the storm, each of one version (default 30).

#include "api/heap_impl.hpp"
#include "process/other_process.hpp"
#include "support/seed.hpp"
#include "unit/api/fixture.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace remanence::test {
namespace {
namespace versions_of_live_heaps {

using lists = map<std::uint64_t, numbers>;
using content = std::vector<char>;

heap_options writing(sharing how) {
    heap_options made = small_heap();
    made.memory.chunk_bytes = 64 * KiB;
    made.access = how;
    made.log.log_limit_bytes = 256 * KiB; // so that checkpoints are due all the time
    made.history = {.steps_max = 1000, .kept_over_sessions = true};
    return made;
}

heap_options reading(const std::string& name) {
    heap_options made = small_heap();
    made.read_only = true;
    made.kept_version = name;
    return made;
}

/// The memory of the heap, but for free pages: what was written there, and freed, was never committed.
content bytes_of(heap& h) {
    txn::heap_memory& memory = detail::impl_of(h).memory();
    memory.allocator().flush();
    content bytes(memory.accessible_bytes());
    for (std::size_t at = 0; at < bytes.size(); at += k_page_bytes) {
        if (!memory.allocator().is_free_page(at / k_page_bytes))
            std::memcpy(&bytes[at], memory.base() + at, k_page_bytes);
    }
    while (!bytes.empty() && bytes.back() == 0) // memory may reach further than what is in use
        bytes.pop_back();
    return bytes;
}

/// What another process does: it makes versions and writes down their bytes, and on the way to `stop` whatever may be in the way of a reader.
class writer {
public:
    writer(fs::path path, sharing how, unsigned seed) : path_(std::move(path)), random_(seed) {
        h_.emplace(heap::open(path_, writing(how)));
        h_->write([&] { (void)h_->root<lists>("lists"); });
        h_->forget_history(); // it is there in all versions
    }
    /// Versions "0", "1", ... with commits, undo and checkpoints between.
    void make_versions(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            change(7);
            h_->write([&] { all()[100].assign(1, i); }); // the version is not kept yet
            h_->keep(std::to_string(i));
            std::ofstream(bytes_in(path_, i), std::ios::binary) << std::string_view(as_text(bytes_of(*h_)));
        }
    }
    /// Changes all there is, and the history with it.
    void rage(std::uint64_t versions) {
        for (std::uint64_t i = 0; i < versions; ++i)
            h_->drop(std::to_string(i));
        for (std::uint64_t i = 0; i < 6; ++i)
            h_->write([&] { all()[i].assign(40'000, random_()); });
        h_->checkpoint();
        h_->forget_history();
        change(5);
        h_->checkpoint();
    }
    void change(int times) {
        for (int i = 0; i < times; ++i) {
            switch (random_() % 8) {
            case 0:
                h_->undo(std::min<std::uint64_t>(random_() % 3, h_->undo_depth()));
                break;
            case 1:
                h_->checkpoint();
                break;
            case 2:
                h_->write([&] { all().erase(random_() % 6); });
                break;
            default:
                h_->write([&] { all()[random_() % 6].assign(random_() % 20'000, random_()); });
            }
        }
    }
    void close() { h_->close(); }
    static fs::path bytes_in(const fs::path& path, std::uint64_t version) {
        return path.string() + "-bytes-" + std::to_string(version);
    }

private:
    static std::string_view as_text(const content& bytes) { return {bytes.data(), bytes.size()}; }
    lists& all() { return *h_->find_root<lists>("lists"); }

    fs::path path_;
    std::mt19937 random_;
    std::optional<heap> h_;
};

class live_versions : public testing::TestWithParam<sharing> {
protected:
    static constexpr std::uint64_t k_versions = 5;

    void expect_as_written(heap& h, std::uint64_t version) const {
        EXPECT_EQ(h.find_root<lists>("lists")->at(100), numbers(1, version));
        EXPECT_TRUE(bytes_of(h) == read_file(writer::bytes_in(path_, version))) << "version " << version;
    }
    /// Opens each while the writer has the heap open, holds one of them while `end` comes, and looks again.
    template <class F>
    void open_hold_and_end(other_process& other, const F& end) {
        told_.wait(0);
        for (std::uint64_t i = 0; i < k_versions; ++i) {
            heap h = heap::open(path_, reading(std::to_string(i)));
            expect_as_written(h, i);
            EXPECT_TRUE(h.verify().clean());
            h.rebuild();
            expect_as_written(h, i);
            h.close();
        }
        heap held = heap::open(path_, reading("2"));
        told_.set(1);
        told_.wait(2);
        expect_as_written(held, 2); // it was dropped, and all was written again
        EXPECT_TRUE(held.verify().clean());
        EXPECT_EQ(error_of([&] { held.rebuild(); })->code, errc::no_step);
        expect_as_written(held, 2); // nothing was done
        end(other);
        expect_as_written(held, 2);
        held.close();
        heap again = heap::open(path_, writing(GetParam())); // nothing that was read is in anybody's way
        EXPECT_TRUE(again.verify().clean());
        expect_rest(again);
    }
    void expect_rest(heap& h) {
        EXPECT_EQ(h.why_history_is_new(), "");
        h.write([&] { h.root<lists>("lists")[100].assign(1, 77); });
        h.undo();
        h.close();
    }
    /// Does what writer says, and ends when it is told to.
    [[nodiscard]] std::function<void()> writes(unsigned seed) {
        return [this, seed] {
            writer w(path_, GetParam(), seed);
            w.make_versions(k_versions);
            told_.set(0);
            told_.wait(1);
            w.rage(k_versions);
            told_.set(2);
            told_.wait(3);
            w.close();
        };
    }

    temp_dir dir_;
    fs::path path_ = dir_ / "h";
    signals told_;
};

INSTANTIATE_TEST_SUITE_P(each, live_versions, testing::Values(sharing::exclusive, sharing::processes),
                         [](const auto& instance) {
                             return std::string(instance.param == sharing::exclusive ? "exclusive" : "shared");
                         });

TEST_P(live_versions, stay_when_they_are_dropped_and_the_heap_is_closed) {
    other_process other(writes(random_seed()));
    open_hold_and_end(other, [&](other_process& it) {
        told_.set(3);
        EXPECT_EQ(it.wait(), 0);
    });
}

TEST_P(live_versions, stay_when_the_writer_is_killed) {
    other_process other(writes(random_seed()));
    open_hold_and_end(other, [](other_process& it) { it.kill(); });
}

TEST_P(live_versions, keep_nobody_from_the_heap) {
    other_process other(writes(random_seed()));
    told_.wait(0);
    heap held = heap::open(path_, reading("1"));
    EXPECT_EQ(error_of([&] { held.write([] {}); })->code, errc::read_only);
    told_.set(1);
    told_.wait(2);
    told_.set(3);
    EXPECT_EQ(other.wait(), 0);
    other_process next(held, [&] { // while the copy is open, another program writes to the heap
        heap mine = heap::open(path_, writing(GetParam()));
        mine.write([&] { mine.root<lists>("lists")[1].assign(10, 1); });
        mine.close();
    });
    EXPECT_EQ(next.wait(), 0);
    expect_as_written(held, 1);
}

TEST_P(live_versions, that_are_not_there_are_errors_that_list_what_there_is) {
    other_process other(writes(random_seed()));
    told_.wait(0);
    EXPECT_TRUE(
        is_error(error_of([&] { heap::open(path_, reading("none")); }), errc::no_step, path_, "kept are \"0\""));
    heap_options by_number = reading("");
    by_number.version = 1'000'000;
    EXPECT_TRUE(
        is_error(error_of([&] { heap::open(path_, by_number); }), errc::no_step, path_, "has no version 1000000"));
    by_number.access = sharing::processes; // which makes no difference
    EXPECT_TRUE(
        is_error(error_of([&] { heap::open(path_, by_number); }), errc::no_step, path_, "has no version 1000000"));
    by_number.version = {};
    EXPECT_EQ(error_of([&] { heap::open(path_, by_number); }).has_value(), GetParam() == sharing::exclusive)
        << "the newest one is as before";
}

TEST_P(live_versions, of_a_heap_whose_log_lies_elsewhere_are_opened_too) {
    fs::create_directory(dir_ / "logs");
    other_process other([&] {
        heap_options with = writing(GetParam());
        with.log.log_directory = dir_ / "logs";
        heap h = heap::open(path_, with);
        h.write([&] { h.root<lists>("lists")[1].assign(10, 1); });
        h.keep("1");
        h.write([&] { h.root<lists>("lists")[1].assign(20, 2); });
        told_.set(0);
        told_.wait(1);
    });
    told_.wait(0);
    heap h = heap::open(path_, reading("1"));
    EXPECT_EQ(h.find_root<lists>("lists")->at(1), numbers(10, 1));
    other.kill();
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(live_versions, of_a_heap_without_a_history_are_errors) {
    other_process other([&] {
        heap_options plain = small_heap();
        plain.access = GetParam();
        heap h = heap::open(path_, plain);
        h.write([&] { (void)h.root<lists>("lists"); });
        told_.set(0);
        told_.wait(1);
    });
    told_.wait(0);
    EXPECT_TRUE(is_error(error_of([&] { heap::open(path_, reading("1")); }), errc::no_step, path_, "is not there"));
}

// The bytes of a page that no commit changes are turned over, while the heap is open: what reads it says so, and nothing else.
TEST_P(live_versions, of_a_damaged_heap_are_errors) {
    std::uint64_t place = 0;
    {
        heap h = heap::open(path_, writing(sharing::exclusive));
        h.write([&] { h.root<lists>("lists")[1].assign(100'000, 0x4242424242424242); });
        h.keep("1");
        h.close();
        const auto bytes = read_file(path_);
        const std::string wanted(k_page_bytes, '\x42');
        place = std::string_view(bytes.data(), bytes.size()).find(wanted);
        ASSERT_NE(place, std::string::npos);
    }
    other_process other([&] {
        heap h = heap::open(path_, writing(GetParam()));
        h.write([&] { h.root<lists>("lists")[2].assign(10, 1); });
        told_.set(0);
        told_.wait(1);
    });
    told_.wait(0);
    flip_byte(path_, place + k_page_bytes / 2);
    EXPECT_TRUE(is_error(error_of([&] { heap::open(path_, reading("1")); }), errc::corrupt, path_, "damaged"));
}

/// What the storm's writer has done last, and is going to drop.
struct progress_of_storm {
    std::atomic<std::uint64_t> newest;
    std::atomic<std::uint64_t> dropped;
    std::atomic<std::uint64_t> last; // it waits there: who opens a version reads the whole history, which grows
};

// Each version is a number, in all elements of lists that lie in many chunks. Versions come and go, and so do writers.
TEST_P(live_versions, are_whole_in_a_storm) {
    constexpr std::uint64_t k_kept = 16; // versions at a time
    const auto shared =
        std::shared_ptr<progress_of_storm>(static_cast<progress_of_storm*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                                                                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
                                           [](progress_of_storm* of) { ::munmap(of, 4096); });
    const auto writes_on = [&](unsigned seed) {
        std::mt19937 random(seed);
        heap h = heap::open(path_, writing(GetParam()));
        auto& all = h.root<lists>("lists");
        for (std::uint64_t next = shared->newest + 1;; ++next) {
            while (next > shared->last)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            h.write([&] {
                for (std::uint64_t i = 0; i < 4; ++i)
                    all[i].assign(5'000 + random() % 5'000, next);
            });
            // One that was killed may have kept it.
            if (std::ranges::none_of(h.versions(), [&](const auto& each) { return each.name == std::to_string(next); }))
                h.keep(std::to_string(next));
            shared->newest = next;
            if (next > k_kept) {
                shared->dropped = next - k_kept;
                for (const kept_version& each : h.versions()) {
                    if (std::stoull(each.name) <= next - k_kept)
                        h.drop(each.version);
                }
            }
            if (random() % 4 == 0)
                h.checkpoint();
            if (random() % 16 == 0)
                h.forget_history();
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
        }
    };
    const char* const given = std::getenv("REMANENCE_LIVE_VERSIONS_ROUNDS");
    const int rounds = given != nullptr ? std::stoi(given) : 30;
    std::mt19937 random(random_seed());
    int gone = 0;
    int busy = 0;
    std::optional<other_process> other;
    for (int round = 0; round < rounds; ++round) {
        const bool may_go = random() % 2 == 0; // the wanted one
        shared->last = shared->newest + (may_go ? 4 * k_kept : k_kept / 2);
        if (round % 10 == 0) {
            other.reset(); // killed
            other.emplace([&, seed = static_cast<unsigned>(random())] { writes_on(seed); });
            const std::uint64_t before = shared->newest;
            while (shared->newest < before + 3)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        const std::uint64_t wanted = shared->newest - random() % 2;
        try {
            heap h = heap::open(path_, reading(std::to_string(wanted)));
            for (int look = 0; look < 2; ++look) {
                for (const auto& [key, list] : *h.find_root<lists>("lists")) {
                    ASSERT_GE(list.size(), 5'000U);
                    ASSERT_TRUE(std::ranges::all_of(list, [&](auto each) { return each == wanted; }))
                        << "round " << round;
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(random() % 5));
            }
        } catch (const error& e) {
            gone += e.reason() == errc::no_step ? 1 : 0;
            busy += e.reason() == errc::in_use ? 1 : 0;
            ASSERT_TRUE((e.reason() == errc::no_step && shared->dropped >= wanted) || e.reason() == errc::in_use)
                << "round " << round << ", version " << wanted << ": " << e.what();
        }
    }
    std::cout << rounds << " openings: " << gone << " of versions that were dropped meanwhile, " << busy
              << " of heaps that were written to too fast\n";
    EXPECT_LT(gone + busy, rounds) << "none was opened";
}

} // namespace versions_of_live_heaps
} // namespace
} // namespace remanence::test
