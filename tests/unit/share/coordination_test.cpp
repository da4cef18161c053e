#include "share/coordination.hpp"

#include "os/this_process.hpp"
#include "share/coordination_file.hpp"
#include "support/temp_dir.hpp"
#include "support/waiting.hpp"
#include "testing/simulated_disk.hpp"
#include "unit/share/child_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace remanence::share {
namespace {

using namespace std::chrono_literals;
using test::channel;
using test::child_process;
using role = coordination::role;
using turn = coordination::turn;

heap_identity some_heap(unsigned char number = 1) {
    heap_identity made;
    made.uuid.fill(number);
    made.session.fill(static_cast<std::uint8_t>(number + 1));
    made.epoch = 3;
    return made;
}
constexpr visible_commit k_commit{
    .version = 10, .chain = 77, .log_end = 4096, .image_bytes = 65536, .durable_through = 9};
constexpr current_checkpoint k_checkpoint{.sequence = 4, .version = 7, .log_begin = 512};
visible_commit commit_of(std::uint64_t version) { return {version, version + 100, version * 512, 65536, version}; }
current_checkpoint checkpoint_of(std::uint64_t sequence, std::uint64_t version) {
    return {sequence, version, version * 8};
}
deadline now() { return std::chrono::steady_clock::now(); }
deadline soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(2); }

/// A process's part in a heap, or one of several in one process.
struct opened {
    std::unique_ptr<os::file> heap;
    std::unique_ptr<coordination> how;
    role as = role::joined;
    coordination* operator->() const { return how.get(); }
};

result<opened> try_open(const std::string& path, os::file_system& files = os::posix_file_system()) {
    auto heap = files.open(path, os::access::read_write);
    if (!heap)
        return heap.error();
    auto attached = coordination::attach(files, **heap, path, 0600, soon());
    if (!attached)
        return attached.error();
    return opened{std::move(*heap), std::move(attached->how), attached->as};
}

/// As the first makes it ready.
opened open(const std::string& path, os::file_system& files = os::posix_file_system()) {
    auto made = try_open(path, files);
    if (!made) {
        ADD_FAILURE() << made.why().message;
        ::abort();
    }
    if (made->as == role::first) {
        EXPECT_TRUE(made->how->become_ready(some_heap(), k_commit, k_checkpoint));
    }
    return std::move(*made);
}

turn take(const opened& one, deadline until = {}) {
    auto taken = one->take_writer(until);
    EXPECT_TRUE(taken) << taken.why().message;
    return taken ? *taken : turn::timeout;
}

class coordination_of_processes : public testing::Test {
protected:
    coordination_of_processes() { std::ofstream(path_) << "a heap"; }
    [[nodiscard]] std::string shm() const { return path_ + "-shm"; }
    [[nodiscard]] bool shm_exists() const { return std::filesystem::exists(shm()); }
    /// Changes what the coordination file holds.
    void change_shm(const std::function<void(coordination_memory&)>& change) const {
        auto file = std::move(*os::posix_file_system().open(shm(), os::access::read_write));
        auto mapped = std::move(*file->map_shared(sizeof(coordination_memory), os::access::read_write));
        change(*reinterpret_cast<coordination_memory*>(mapped.get()));
    }
    /// Opens, tells that, and does as it is told until it is killed.
    [[nodiscard]] std::function<void(channel)> opener(const std::function<void(opened&)>& then) const {
        return [then, path = path_](channel parent) {
            opened mine = open(path);
            then(mine);
            parent.tell(1);
            (void)parent.hear();
        };
    }

    test::temp_dir dir_ = test::temp_dir::in_memory();
    std::string path_ = dir_ / "heap";
};

TEST_F(coordination_of_processes, the_first_makes_ready_and_the_others_see_what_it_says) {
    auto first = try_open(path_);
    ASSERT_TRUE(first) << first.why().message;
    ASSERT_EQ(first->as, role::first);
    child_process other([&](channel parent) {
        opened mine = open(path_); // waits until the first is ready
        EXPECT_EQ(mine.as, role::joined);
        EXPECT_EQ(mine->visible(), 10U);
        EXPECT_EQ(mine->commit().chain, 77U);
        EXPECT_EQ(mine->commit().log_end, 4096U);
        EXPECT_EQ(mine->commit().image_bytes, 65536U);
        EXPECT_EQ(mine->commit().durable_through, 9U);
        EXPECT_EQ(mine->checkpoint_sequence(), 4U);
        EXPECT_EQ(mine->checkpoint().version, 7U);
        EXPECT_EQ(mine->released().log_begin, 512U);
        EXPECT_TRUE(mine->check_identity(some_heap()));
        auto other_heap = mine->check_identity(some_heap(9));
        ASSERT_FALSE(other_heap);
        EXPECT_EQ(other_heap.why().code, errc::in_use);
        EXPECT_EQ(mine->attached_processes(), 2U);
        EXPECT_FALSE(*mine->detach(soon()));
        parent.tell(1);
    });
    EXPECT_TRUE(first->how->become_ready(some_heap(), k_commit, k_checkpoint));
    EXPECT_EQ(other.hear(), 1U);
    EXPECT_TRUE(other.ends_well());
    EXPECT_EQ(first->how->attached_processes(), 1U);
}

TEST_F(coordination_of_processes, the_last_one_knows_it_and_the_coordination_file_is_gone) {
    opened a = open(path_);
    opened b = open(path_);
    EXPECT_FALSE(*a->detach(soon()));
    EXPECT_TRUE(shm_exists());
    EXPECT_TRUE(*b->detach(soon()));
    EXPECT_FALSE(shm_exists());
    auto locks = std::move(*a.heap->open_locks());
    EXPECT_FALSE(*locks->try_lock(lock_byte::k_attach, os::lock_kind::shared)) << "it is not closed yet";
    b.how.reset();
    EXPECT_EQ(try_open(path_)->as, role::first);
}

TEST_F(coordination_of_processes, of_many_that_close_at_once_exactly_one_is_the_last) {
    opened mine = open(path_);
    std::vector<std::unique_ptr<child_process>> all;
    for (int i = 0; i < 6; ++i)
        all.push_back(std::make_unique<child_process>([&](channel parent) {
            opened one = open(path_);
            parent.tell(1);
            (void)parent.hear();
            const bool is_last = *one->detach(soon());
            parent.tell(is_last ? 1 : 0); // and closes
        }));
    for (auto& each : all)
        ASSERT_EQ(each->hear(), 1U);
    EXPECT_FALSE(*mine->detach(soon()));
    for (auto& each : all)
        each->tell(1);
    std::uint64_t last = 0;
    for (auto& each : all)
        last += each->hear();
    EXPECT_EQ(last, 1U);
    EXPECT_FALSE(shm_exists());
}

TEST_F(coordination_of_processes, exclusive_heaps_and_shared_ones_exclude_each_other) {
    auto exclusive = std::move(*os::posix_file_system().open(path_, os::access::read_write));
    {
        opened a = open(path_);
        EXPECT_FALSE(*exclusive->try_lock(os::lock_kind::exclusive));
        EXPECT_TRUE(*a->detach(soon()));
    }
    ASSERT_TRUE(*exclusive->try_lock(os::lock_kind::exclusive));
    auto refused = try_open(path_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.why().code, errc::in_use);
    EXPECT_EQ(refused.why().message, path_ +
                                         " is open elsewhere without sharing: another handle of this process holds its "
                                         "lock. Close it there first.");
    EXPECT_FALSE(shm_exists());
}

TEST_F(coordination_of_processes, a_first_one_that_dies_before_it_is_ready_is_followed_by_another_first_one) {
    child_process first([&](channel parent) {
        auto mine = try_open(path_);
        parent.tell(mine && mine->as == role::first ? 1 : 0);
        (void)parent.hear();
    });
    ASSERT_EQ(first.hear(), 1U);
    first.kill();
    EXPECT_TRUE(shm_exists());
    EXPECT_EQ(open(path_).as, role::first);
}

TEST_F(coordination_of_processes, when_all_have_died_the_next_one_is_the_first) {
    child_process a(opener([](opened& one) { one->publish(commit_of(99)); }));
    ASSERT_EQ(a.hear(), 1U);
    child_process b(opener([](opened& one) { EXPECT_EQ(one->visible(), 99U); }));
    ASSERT_EQ(b.hear(), 1U);
    a.kill();
    b.kill();
    opened mine = open(path_);
    EXPECT_EQ(mine.as, role::first);
    EXPECT_EQ(mine->visible(), 10U) << "what the dead have left is void";
    EXPECT_TRUE(*mine->detach(soon()));
}

TEST_F(coordination_of_processes, while_others_live_a_death_makes_nobody_first) {
    opened mine = open(path_);
    child_process other(opener([](opened&) {}));
    ASSERT_EQ(other.hear(), 1U);
    EXPECT_EQ(mine->attached_processes(), 2U);
    other.kill();
    EXPECT_EQ(mine->attached_processes(), 1U);
    EXPECT_EQ(open(path_).as, role::joined);
}

// Writing.

TEST_F(coordination_of_processes, one_writes_at_a_time_and_a_deadline_ends_waiting) {
    opened a = open(path_);
    opened b = open(path_);
    EXPECT_EQ(a->writer(), std::nullopt);
    EXPECT_EQ(take(a), turn::clean);
    EXPECT_EQ(take(b, now()), turn::timeout);
    EXPECT_EQ(take(b, std::chrono::steady_clock::now() + 30ms), turn::timeout);
    for (const opened* each : {&a, &b}) {
        const auto writer = (*each)->writer();
        ASSERT_TRUE(writer);
        EXPECT_EQ(writer->process, ::getpid());
        EXPECT_EQ(writer->thread, os::thread_number());
        EXPECT_EQ(writer->program, os::program_name());
        EXPECT_LT(std::chrono::system_clock::now() - writer->since, 1h);
    }
    a->release_writer();
    EXPECT_EQ(b->writer(), std::nullopt);
    EXPECT_EQ(take(b, now()), turn::clean);
}

TEST_F(coordination_of_processes, commits_are_seen_by_all_in_whatever_steps_versions_go) {
    opened a = open(path_);
    opened b = open(path_);
    ASSERT_EQ(take(a), turn::clean);
    a->begin_writing();
    for (const std::uint64_t version : {11U, 12U, 14U, 20U, 23U, 24U}) {
        a->publish(commit_of(version));
        EXPECT_EQ(b->visible(), version);
        EXPECT_EQ(b->commit().chain, version + 100);
        EXPECT_EQ(b->commit().log_end, version * 512);
    }
    a->end_writing();
    a->release_writer();
}

TEST_F(coordination_of_processes, a_commit_may_become_durable_later_than_visible) {
    opened a = open(path_);
    opened b = open(path_);
    a->publish({.version = 11, .chain = 1, .log_end = 2, .image_bytes = 3, .durable_through = 9});
    EXPECT_EQ(b->commit().durable_through, 9U);
    a->publish({.version = 11, .chain = 1, .log_end = 2, .image_bytes = 3, .durable_through = 11});
    EXPECT_EQ(b->commit().durable_through, 11U);
    EXPECT_EQ(b->commit().chain, 1U);
}

TEST_F(coordination_of_processes, who_takes_the_turn_of_a_writer_that_died_is_told) {
    opened mine = open(path_);
    child_process writer(opener([](opened& one) {
        EXPECT_EQ(take(one), turn::clean);
        one->begin_writing();
        one->publish(commit_of(11));
    }));
    ASSERT_EQ(writer.hear(), 1U);
    EXPECT_EQ(mine->writer()->process, writer.number());
    EXPECT_EQ(take(mine, now()), turn::timeout);
    writer.kill();
    EXPECT_EQ(mine->writer(), std::nullopt);
    EXPECT_EQ(mine->visible(), 11U) << "it was seen";
    EXPECT_EQ(take(mine), turn::take_over);
    mine->end_writing();
    mine->release_writer();
    EXPECT_EQ(take(mine), turn::clean);
}

TEST_F(coordination_of_processes, who_waits_for_a_writer_that_dies_has_its_turn_then) {
    opened mine = open(path_);
    child_process writer(opener([](opened& one) {
        (void)take(one);
        one->begin_writing();
    }));
    ASSERT_EQ(writer.hear(), 1U);
    std::thread killer([&] { writer.kill(); });
    EXPECT_EQ(take(mine), turn::take_over);
    killer.join();
}

TEST_F(coordination_of_processes, a_writer_that_dies_between_commits_leaves_nothing_to_take_over) {
    opened mine = open(path_);
    child_process writer(opener([](opened& one) {
        (void)take(one);
        one->begin_writing();
        one->publish(commit_of(11));
        one->end_writing();
    }));
    ASSERT_EQ(writer.hear(), 1U);
    writer.kill();
    EXPECT_EQ(take(mine), turn::clean);
}

TEST_F(coordination_of_processes, who_waits_is_seen_and_gets_its_turn_before_the_one_that_had_it) {
    opened mine = open(path_);
    ASSERT_EQ(take(mine), turn::clean);
    child_process other([&](channel parent) {
        opened one = open(path_);
        parent.tell(1);
        EXPECT_EQ(take(one), turn::clean);
        one->publish(commit_of(11));
        one->release_writer();
    });
    ASSERT_EQ(other.hear(), 1U);
    while (!mine->others_wait_to_write())
        std::this_thread::yield();
    while (mine->visible() != 11) { // at the first attempt, unless the machine is very busy
        mine->release_writer();
        ASSERT_EQ(take(mine), turn::clean);
    }
    EXPECT_TRUE(other.ends_well());
    mine->release_writer();
}

TEST_F(coordination_of_processes, one_that_stopped_while_it_waited_is_not_waited_for) {
    opened mine = open(path_);
    ASSERT_EQ(take(mine), turn::clean);
    child_process other([&](channel parent) {
        opened one = open(path_);
        parent.tell(1);
        (void)take(one);
    });
    ASSERT_EQ(other.hear(), 1U);
    while (!mine->others_wait_to_write())
        std::this_thread::yield();
    other.stop();
    mine->release_writer();
    EXPECT_EQ(take(mine), turn::clean);
    EXPECT_FALSE(mine->others_wait_to_write());
}

TEST_F(coordination_of_processes, a_version_can_be_waited_for) {
    opened mine = open(path_);
    EXPECT_TRUE(mine->wait_for_version(10, now()));
    EXPECT_FALSE(mine->wait_for_version(11, now()));
    EXPECT_FALSE(mine->wait_for_version(11, std::chrono::steady_clock::now() + 30ms));
    child_process writer([&](channel parent) {
        opened one = open(path_);
        (void)parent.hear();
        one->publish(commit_of(12));
        (void)parent.hear();
    });
    writer.tell(1);
    EXPECT_TRUE(mine->wait_for_version(11, {}));
    EXPECT_EQ(mine->visible(), 12U);
}

TEST_F(coordination_of_processes, after_a_failed_write_nobody_writes_until_all_have_closed) {
    {
        opened a = open(path_);
        opened b = open(path_);
        ASSERT_EQ(take(a), turn::clean);
        EXPECT_FALSE(b->is_poisoned());
        a->poison();
        a->release_writer();
        EXPECT_TRUE(b->is_poisoned());
        for (const opened* each : {&a, &b}) {
            auto refused = (*each)->take_writer({});
            ASSERT_FALSE(refused);
            EXPECT_EQ(refused.why().code, errc::poisoned);
            EXPECT_EQ(refused.why().message,
                      path_ +
                          " takes no more commits, since a process that has it open could not write to it. Close it in "
                          "every process and open it again: it will be as of its last durable commit.");
        }
        EXPECT_TRUE(b->pin(10)) << "it is read as before";
        EXPECT_TRUE(open(path_)->is_poisoned()) << "others join what there is";
    }
    opened again = open(path_);
    EXPECT_EQ(again.as, role::first);
    EXPECT_FALSE(again->is_poisoned());
}

// Reading.

TEST_F(coordination_of_processes, a_pin_holds_off_checkpoints_past_it_and_later_ones_do_not) {
    opened reader = open(path_);
    opened writer = open(path_);
    ASSERT_TRUE(reader->pin(10));
    writer->publish(commit_of(12));
    ASSERT_TRUE(*writer->try_take_checkpoint());
    writer->declare_apply(10);
    EXPECT_TRUE(writer->may_apply()) << "up to what it shows";
    writer->declare_apply(12);
    EXPECT_FALSE(writer->may_apply());
    ASSERT_EQ(writer->readers().size(), 1U);
    EXPECT_EQ(writer->readers()[0].version, 10U);
    EXPECT_EQ(writer->readers()[0].who.process, ::getpid());
    EXPECT_EQ(writer->readers()[0].who.thread, os::thread_number());
    EXPECT_EQ(reader->apply_target(), 12U);
    reader->unpin();
    EXPECT_TRUE(writer->may_apply());
    EXPECT_FALSE(reader->pin(10)) << "a checkpoint has passed it";
    EXPECT_TRUE(writer->may_apply()) << "nothing is pinned then";
    EXPECT_TRUE(reader->pin(12));
    EXPECT_TRUE(writer->may_apply());
}

TEST_F(coordination_of_processes, a_reader_that_made_its_own_copies_raises_its_pin) {
    opened reader = open(path_);
    opened writer = open(path_);
    ASSERT_TRUE(reader->pin(10));
    writer->publish(commit_of(12));
    writer->declare_apply(12);
    EXPECT_FALSE(writer->may_apply());
    EXPECT_TRUE(writer->readers()[0].is_in_the_way);
    EXPECT_EQ(reader->pinned(), 10U);
    reader->raise_pin(reader->apply_target());
    EXPECT_TRUE(writer->may_apply());
    EXPECT_EQ(reader->pinned(), 12U);
    EXPECT_EQ(writer->readers()[0].version, 10U) << "which it goes on to see";
    EXPECT_FALSE(writer->readers()[0].is_in_the_way);
    reader->unpin();
    EXPECT_EQ(reader->pinned(), std::nullopt);
}

TEST_F(coordination_of_processes, a_checkpoint_calls_those_that_are_in_its_way_and_nobody_else) {
    opened idle = open(path_);
    opened reader = open(path_);
    opened newer = open(path_);
    opened writer = open(path_);
    ASSERT_TRUE(reader->pin(10));
    ASSERT_TRUE(newer->pin(12));
    writer->publish(commit_of(12));
    writer->declare_apply(12);
    const std::uint32_t before = reader->calls();
    const std::uint32_t others = idle->calls() + newer->calls();
    std::thread called([&] { reader->wait_for_call(before); });
    EXPECT_FALSE(writer->may_apply());
    called.join();
    EXPECT_EQ(reader->calls(), before + 1);
    EXPECT_FALSE(writer->may_apply());
    EXPECT_EQ(reader->calls(), before + 2) << "whoever lost a call gets another";
    reader->raise_pin(12);
    EXPECT_TRUE(writer->may_apply());
    EXPECT_EQ(reader->calls(), before + 2);
    EXPECT_EQ(idle->calls() + newer->calls(), others);
    std::thread ends([&] { reader->wait_for_call(before + 2); });
    reader->call_own();
    ends.join();
}

TEST_F(coordination_of_processes, who_is_at_a_checkpoint_can_be_told) {
    opened mine = open(path_);
    EXPECT_FALSE(mine->checkpointer());
    child_process other(opener([](opened& one) { EXPECT_TRUE(*one->try_take_checkpoint()); }));
    ASSERT_EQ(other.hear(), 1U);
    EXPECT_FALSE(*mine->try_take_checkpoint());
    ASSERT_TRUE(mine->checkpointer());
    EXPECT_EQ(mine->checkpointer()->process, other.number());
    other.kill();
    EXPECT_FALSE(mine->checkpointer());
}

TEST_F(coordination_of_processes, a_process_is_held_off_by_its_own_pin_too) {
    opened one = open(path_);
    ASSERT_TRUE(one->pin(10));
    one->publish(commit_of(11));
    one->declare_apply(11);
    EXPECT_FALSE(one->may_apply());
    one->unpin();
    EXPECT_TRUE(one->may_apply());
}

TEST_F(coordination_of_processes, a_dead_reader_holds_nobody_up_and_a_stopped_one_does) {
    opened mine = open(path_);
    child_process reader(opener([](opened& one) {
        EXPECT_TRUE(one->pin(10));
        EXPECT_EQ(one->hold().sequence, 4U);
    }));
    ASSERT_EQ(reader.hear(), 1U);
    mine->publish(commit_of(11));
    mine->declare_apply(11);
    mine->publish_checkpoint(checkpoint_of(5, 10));
    reader.stop();
    EXPECT_FALSE(mine->may_apply());
    EXPECT_FALSE(mine->may_release());
    EXPECT_EQ(mine->readers().size(), 1U);
    EXPECT_EQ(mine->readers()[0].who.process, reader.number());
    reader.kill();
    EXPECT_TRUE(mine->readers().empty());
    EXPECT_TRUE(mine->may_release());
    EXPECT_TRUE(mine->may_apply());
}

TEST_F(coordination_of_processes, a_number_that_is_used_again_makes_nobody_alive) {
    opened mine = open(path_);
    child_process reader(opener([](opened& one) { EXPECT_TRUE(one->pin(10)); }));
    ASSERT_EQ(reader.hear(), 1U);
    reader.kill();
    change_shm([](coordination_memory& memory) {
        memory.slots[1].process.store(static_cast<std::uint64_t>(::getpid()), std::memory_order_relaxed);
    });
    mine->declare_apply(11);
    EXPECT_TRUE(mine->may_apply());
}

TEST_F(coordination_of_processes, who_takes_a_dead_ones_slot_inherits_nothing_of_it) {
    opened mine = open(path_);
    child_process reader(opener([](opened& one) {
        EXPECT_TRUE(one->pin(10));
        (void)one->hold();
    }));
    ASSERT_EQ(reader.hear(), 1U);
    reader.kill();
    opened heir = open(path_);
    EXPECT_TRUE(mine->readers().empty());
    mine->declare_apply(11);
    EXPECT_TRUE(mine->may_apply());
}

TEST_F(coordination_of_processes, what_is_held_is_not_released) {
    opened reader = open(path_);
    opened writer = open(path_);
    EXPECT_EQ(reader->hold().version, 7U);
    writer->publish_checkpoint(checkpoint_of(5, 10));
    EXPECT_EQ(writer->checkpoint().version, 10U);
    EXPECT_EQ(writer->released().sequence, 4U);
    EXPECT_FALSE(writer->may_release());
    reader->let_go();
    EXPECT_EQ(reader->hold().version, 10U);
    EXPECT_TRUE(writer->may_release());
    writer->release();
    EXPECT_EQ(reader->released().sequence, 5U);
    EXPECT_EQ(reader->released().log_begin, 80U);
}

TEST_F(coordination_of_processes, what_a_dead_checkpointer_did_not_release_is_released_before_the_next_checkpoint) {
    opened reader = open(path_);
    (void)reader->hold();
    child_process maker(opener([](opened& one) {
        EXPECT_TRUE(*one->try_take_checkpoint());
        one->publish_checkpoint(checkpoint_of(5, 10));
    }));
    ASSERT_EQ(maker.hear(), 1U);
    EXPECT_FALSE(*reader->try_take_checkpoint());
    maker.kill();
    EXPECT_TRUE(*reader->try_take_checkpoint());
    reader->declare_apply(10);
    EXPECT_FALSE(reader->may_apply()) << "the superblock before is held, and would be overwritten";
    reader->let_go();
    EXPECT_TRUE(reader->may_apply());
    EXPECT_EQ(reader->released().sequence, 5U);
}

TEST_F(coordination_of_processes, a_thousand_readers_one_of_which_is_stopped) {
    rlimit files{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
    opened writer = open(path_);
    child_process stopped(opener([](opened& one) { EXPECT_TRUE(one->pin(10)); }));
    ASSERT_EQ(stopped.hear(), 1U);
    stopped.stop();
    std::vector<opened> readers;
    for (int i = 0; i < 1000; ++i) {
        readers.push_back(open(path_));
        ASSERT_TRUE(readers.back()->pin(10));
    }
    EXPECT_EQ(writer->readers().size(), 1001U);
    EXPECT_EQ(writer->attached_processes(), 1002U);
    writer->publish(commit_of(11));
    writer->declare_apply(11);
    EXPECT_FALSE(writer->may_apply());
    for (const opened& each : readers) {
        each->unpin();
        ASSERT_TRUE(each->pin(11));
    }
    EXPECT_FALSE(writer->may_apply());
    stopped.kill();
    EXPECT_TRUE(writer->may_apply());
}

// Odd uses.

TEST_F(coordination_of_processes, other_descriptors_may_be_closed) {
    opened mine = open(path_);
    {
        std::ifstream again(path_);
    }
    ::close(::dup(::open(path_.c_str(), O_RDWR | O_CLOEXEC)));
    EXPECT_EQ(open(path_).as, role::joined);
}

TEST_F(coordination_of_processes, another_name_of_the_same_file_is_refused) {
    opened mine = open(path_);
    const std::string link = dir_ / "hard-link";
    std::filesystem::create_hard_link(path_, link);
    auto refused = try_open(link);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.why().code, errc::in_use);
    EXPECT_EQ(
        refused.why().message,
        link + " is shared under another name, or its coordination file " + link +
            "-shm was removed or damaged while it was open: another handle of this process holds its lock. Open it "
            "under the name by which they have it open, or close it there first.");
    EXPECT_FALSE(std::filesystem::exists(link + "-shm"));
    EXPECT_TRUE(*mine->detach(soon())) << "who was refused has left nothing";
}

TEST_F(coordination_of_processes, a_coordination_file_that_was_replaced_while_in_use_is_never_followed) {
    using changed = std::pair<const char*, std::function<void(coordination_memory&)>>;
    const std::vector<changed> changes{
        {"magic", [](auto& memory) { memory.header.magic ^= 1; }},
        {"boot", [](auto& memory) { memory.header.boot[3] ^= 1; }},
        {"inode", [](auto& memory) { memory.header.inode++; }},
        {"device", [](auto& memory) { memory.header.device++; }},
        {"size", [](auto& memory) { memory.header.bytes--; }},
        {"state", [](auto& memory) { memory.header.state = coordination_header::building; }},
    };
    for (const auto& [what, change] : changes) {
        SCOPED_TRACE(what);
        opened mine = open(path_);
        std::filesystem::copy_file(shm(), path_ + "-copy");
        std::filesystem::rename(path_ + "-copy", shm());
        change_shm(change);
        auto refused = try_open(path_);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.why().code, errc::in_use);
        EXPECT_EQ(mine->visible(), 10U);
        std::filesystem::remove(shm());
    }
    opened mine = open(path_);
    std::filesystem::remove(shm());
    EXPECT_EQ(try_open(path_).why().code, errc::in_use) << "removed";
    std::ofstream(shm()) << "xrem-shm";
    EXPECT_EQ(try_open(path_).why().code, errc::in_use) << "truncated";
}

TEST_F(coordination_of_processes, another_release_beside_this_one_is_told_apart) {
    opened mine = open(path_);
    change_shm([](coordination_memory& memory) { memory.header.protocol = 3; });
    auto refused = try_open(path_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.why().code, errc::unsupported_format);
    EXPECT_EQ(refused.why().message, shm() +
                                         ": processes of another release share this heap (protocol 3; this one has 1). "
                                         "Use one release in all of them.");
}

TEST_F(coordination_of_processes, what_is_left_of_a_coordination_file_is_made_anew) {
    const std::vector<std::function<void()>> leavings{
        [&] { std::ofstream(shm()).close(); },
        [&] { std::ofstream(shm()) << std::string(100, '\0'); },
        [&] { std::ofstream(shm()) << std::string(1 << 20, '\0'); },
        [&] { std::ofstream(shm()) << "xrem-shm"; },
        [&] { std::ofstream(shm()) << "xrem-shm" << std::string(1 << 20, '\xff'); },
        [&] {
            child_process killed(opener([](opened& one) { one->publish(commit_of(55)); }));
            ASSERT_EQ(killed.hear(), 1U);
        },
    };
    for (const auto& leave : leavings) {
        leave();
        opened mine = open(path_);
        EXPECT_EQ(mine.as, role::first);
        EXPECT_EQ(mine->visible(), 10U);
        EXPECT_TRUE(mine->readers().empty());
        EXPECT_EQ(mine->attached_processes(), 1U);
    }
}

TEST_F(coordination_of_processes, what_never_was_a_coordination_file_stays) {
    std::ofstream(shm()) << "somebody's letters";
    auto refused = try_open(path_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.why().code, errc::exists);
    EXPECT_EQ(refused.why().message,
              shm() + " is in the way: the processes that share a heap need a file of this name, and "
                      "this one is something else. Move it away.");
    EXPECT_EQ(std::filesystem::file_size(shm()), 18U);
    std::filesystem::remove(shm());

    const std::string target = dir_ / "target";
    std::ofstream(target) << "xrem-shm";
    std::filesystem::create_symlink(target, shm());
    EXPECT_FALSE(try_open(path_)) << "a symbolic link";
    EXPECT_EQ(std::filesystem::file_size(target), 8U);
    std::filesystem::remove(shm());

    std::filesystem::create_directory(shm());
    EXPECT_FALSE(try_open(path_)) << "a directory";
    std::filesystem::remove(shm());
    EXPECT_EQ(try_open(path_)->as, role::first) << "who was refused has left nothing";
}

TEST_F(coordination_of_processes, a_forked_child_takes_nothing_from_its_parent) {
    opened mine = open(path_);
    ASSERT_EQ(take(mine), turn::clean);
    ASSERT_TRUE(mine->pin(10));
    child_process child([&](channel) {
        mine.how.reset();
        opened again = open(path_); // on its own
        EXPECT_EQ(again.as, role::joined);
        EXPECT_EQ(take(again, now()), turn::timeout);
        EXPECT_EQ(again->attached_processes(), 2U);
    });
    EXPECT_TRUE(child.ends_well());
    opened other = open(path_);
    EXPECT_EQ(take(other, now()), turn::timeout);
    other->declare_apply(11);
    EXPECT_FALSE(other->may_apply());
}

TEST_F(coordination_of_processes, a_process_that_leaves_a_child_is_dead_all_the_same) {
    child_process parent_of_one([&](channel parent) {
        const opened mine = open(path_);
        ::prctl(PR_SET_CHILD_SUBREAPER, 0);
        if (::fork() == 0) {
            ::alarm(test::k_hang_seconds);
            parent.tell(
                static_cast<std::uint64_t>(::getpid())); // itself: by now it has closed the locks it was born with
            ::pause();
            ::_exit(0);
        }
        (void)parent.hear();
    });
    const std::uint64_t left_behind = parent_of_one.hear();
    ASSERT_NE(left_behind, ~std::uint64_t{0});
    EXPECT_EQ(open(path_).as, role::joined);
    parent_of_one.kill();
    EXPECT_EQ(::kill(static_cast<pid_t>(left_behind), 0), 0) << "the child lives";
    EXPECT_EQ(open(path_).as, role::first);
    ::kill(static_cast<pid_t>(left_behind), SIGKILL);
}

TEST(coordination_on_a_simulated_disk, is_as_on_a_real_one) {
    simulation::simulated_disk disk;
    {
        auto heap = std::move(*disk.open_or_create("heap", 0600));
    }
    opened a = open("heap", disk);
    opened b = open("heap", disk);
    EXPECT_EQ(a.as, role::first);
    EXPECT_EQ(b.as, role::joined);
    ASSERT_TRUE(b->pin(10));
    a->publish(commit_of(11));
    EXPECT_EQ(b->visible(), 11U);
    a->declare_apply(11);
    EXPECT_FALSE(a->may_apply());
    EXPECT_EQ(take(a), turn::clean);
    EXPECT_EQ(take(b, now()), turn::timeout);
    a->release_writer();
    EXPECT_FALSE(*b->detach(soon()));
    EXPECT_TRUE(*a->detach(soon()));
    EXPECT_FALSE(*disk.exists("heap-shm"));
}

TEST(coordination_on_a_simulated_disk, is_refused_where_other_machines_have_a_hand_in_the_file) {
    simulation::simulated_disk disk;
    disk.pretend_to_be("NFS");
    {
        auto heap = std::move(*disk.open_or_create("heap", 0600));
    }
    auto refused = try_open("heap", disk);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.why().code, errc::not_supported);
    EXPECT_EQ(refused.why().message,
              "heap is on a file system of the kind NFS, where processes cannot rely on each other's "
              "locks and memory. Copy the heap to a disk of this machine, or open it in one process "
              "only; or, if you know that they can, set heap_options::sharing.share_on_network.");
    auto heap = std::move(*disk.open("heap", os::access::read_write));
    EXPECT_TRUE(coordination::attach(disk, *heap, "heap", 0600, soon(), coordination::on::any));
}

TEST_F(coordination_of_processes, guests_hold_off_checkpoints_and_releases_as_others_do) {
    auto a = open(path_);
    const auto reading = std::move(*os::posix_file_system().open(path_, os::access::read_only));
    auto guest = std::move(*coordination::attach_to_read(os::posix_file_system(), *reading, path_, soon()));
    ASSERT_NE(guest, nullptr);
    EXPECT_TRUE(guest->check_identity(some_heap()));
    EXPECT_EQ(guest->visible(), 10U);
    ASSERT_TRUE(guest->pin(10));
    (void)guest->hold();
    ASSERT_TRUE(*a->try_take_checkpoint());
    a->publish(commit_of(11));
    a->declare_apply(10);
    EXPECT_TRUE(a->may_apply());
    a->publish_checkpoint(checkpoint_of(5, 10));
    EXPECT_FALSE(a->may_release());
    guest->let_go();
    EXPECT_TRUE(a->may_release());
    a->release();
    a->declare_apply(11);
    EXPECT_FALSE(a->may_apply());
    guest->raise_pin(11);
    EXPECT_TRUE(a->may_apply());
    guest->unpin();
    EXPECT_FALSE(guest->pin(10)) << "a checkpoint has passed it";
    EXPECT_TRUE(a->may_apply()) << "a pin was left behind";
    EXPECT_TRUE(guest->pin(11));
    EXPECT_FALSE(*a->detach(soon())) << "a guest is in its section";
    EXPECT_FALSE(shm_exists());
    EXPECT_EQ(guest->check_session().why().code, errc::closed);
    guest->unpin();
    EXPECT_FALSE(guest->pin(11)) << "the session is over";
}

TEST_F(coordination_of_processes, a_guest_of_nobody_is_none) {
    const auto reading = std::move(*os::posix_file_system().open(path_, os::access::read_only));
    EXPECT_EQ(*coordination::attach_to_read(os::posix_file_system(), *reading, path_, soon()), nullptr);
}

TEST_F(coordination_of_processes, a_guest_keeps_a_first_one_waiting_until_its_section_ends) {
    std::unique_ptr<coordination> guest;
    const auto reading = std::move(*os::posix_file_system().open(path_, os::access::read_only));
    {
        auto a = open(path_);
        guest = std::move(*coordination::attach_to_read(os::posix_file_system(), *reading, path_, soon()));
        ASSERT_TRUE(guest->pin(10));
    } // as if it had died
    const pid_t opener = ::gettid();
    std::atomic<bool> opens = false;
    std::atomic<bool> has_ended = false;
    std::thread ends([&] {
        opens.wait(false);
        EXPECT_TRUE(test::comes_true([&] { return test::is_asleep(::getpid(), opener); })); // as it waits for the guest
        has_ended = true;
        guest->unpin();
    });
    opens = true;
    opens.notify_all();
    const auto b = open(path_);
    EXPECT_TRUE(has_ended);
    EXPECT_EQ(b.as, role::first);
    ends.join();
}

} // namespace
} // namespace remanence::share
