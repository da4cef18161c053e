#include "session.hpp"

#include "elements.hpp"

#include "api/heap_impl.hpp"
#include "base/units.hpp"
#include "os/file.hpp"
#include "support/temp_dir.hpp"
#include "txn/memory_limiter.hpp"
#include "types/pointer_check.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::test {

namespace {

/// What the sessions of one test did.
struct tally {
    std::size_t operations = 0;
    std::size_t failures = 0; ///< elements that threw
    std::size_t kills = 0;
    std::uint64_t evicted_bytes = 0;
};

/// An option that all heaps of these tests have, chosen by REMANENCE_CONFORMANCE_WITH: its name. Then there are as many
/// sequences as RC_PARAMS says.
enum class setting { usual, aligned_blocks, red_zones, leak_frames, resident_limit };

setting chosen_setting() {
    const char* const chosen = std::getenv("REMANENCE_CONFORMANCE_WITH");
    if (chosen == nullptr)
        return setting::usual;
    constexpr std::pair<std::string_view, setting> k_settings[] = {{"aligned_blocks", setting::aligned_blocks},
                                                                   {"red_zones", setting::red_zones},
                                                                   {"leak_frames", setting::leak_frames},
                                                                   {"resident_limit", setting::resident_limit}};
    for (const auto& [name, each] : k_settings) {
        if (name == chosen)
            return each;
    }
    throw std::invalid_argument(std::string("REMANENCE_CONFORMANCE_WITH names no option: ") + chosen);
}

heap_options options_with(setting chosen) {
    heap_options options;
    options.memory.aligned_blocks = chosen == setting::aligned_blocks;
    options.checks.red_zones = chosen == setting::red_zones;
    if (chosen == setting::leak_frames)
        options.checks.leak_frames = 4;
    return options;
}

struct place {
    temp_dir directory = temp_dir::in_memory();
};

/// One heap after the other: that of a sequence that failed is not used again.
class session {
public:
    session(specimen& of, tally& counted) : of_(of), tally_(counted) {}

    void run(const std::vector<operation>& all) {
        try {
            begin();
            auto each = all.begin(); // the steps up to a kill are another process's
            for (auto kill = std::find_if(each, all.end(), kills); kill != all.end();
                 kill = std::find_if(each, all.end(), kills)) {
                kill_at(each, kill);
                each = kill + 1;
            }
            for (; each != all.end(); ++each)
                step(*each);
            tally_.operations += all.size();
            end();
        } catch (...) {
            fuse = 0;
            book_.reset();
            place_.reset();
            throw;
        }
    }

private:
    using steps = std::vector<operation>::const_iterator;

    static bool kills(const operation& o) {
        return o.what == operation::kind::kill || o.what == operation::kind::kill_in_commit;
    }

    void begin() {
        if (!place_) {
            place_.emplace();
            open();
            book_->write([this] {
                of_.make(*book_); // so that the root directory has its size
                allocated_bytes_empty_ = allocated_bytes_without_root();
            });
        }
        book_->write([this] { of_.make(*book_); });
        of_.begin_model();
    }

    void end() {
        if (types::
                checks_pointers()) // in other builds freed blocks keep their bytes, and the scan finds these in new ones
            check_pointers();
        require(book_->leaks().clean(), "leaks() has found a block that the root owns");
        require(allocated_bytes_without_root() == allocated_bytes_empty_, "memory has leaked");
        verify();
        tally_.evicted_bytes += book_->stats().evicted_bytes;
        book_->checkpoint(); // verify() reads the log, which would have all sequences' commits in the end
    }

    void open() {
        book_.emplace(detail::open(*files_, place_->directory / "book.rem", options_with(setting_)));
        txn::engine& engine = detail::impl_of(*book_).engine();
        engine.copy_points_from(1);
        if (setting_ == setting::resident_limit) { // less than a program may ask for, since these heaps are small
            engine.limit_memory_by(txn::k_memory_limiter_part);
            engine.limiter()->limit_heap(16 * KiB);
            engine.limiter()->count_each_time();
        }
        last_.reset();
    }
    void step(const operation& o) {
        switch (o.what) {
        case operation::kind::change:
            change(o);
            break;
        case operation::kind::change_in_section:
            change_in_section(o);
            break;
        case operation::kind::fail:
            fail(o);
            break;
        case operation::kind::commit:
            commit();
            break;
        case operation::kind::rollback:
            rollback();
            break;
        case operation::kind::commit_and_reopen:
            commit();
            reopen();
            break;
        case operation::kind::reopen: // what is not committed is gone
            of_.roll_back_model();
            reopen();
            break;
        case operation::kind::kill: // run() does these
        case operation::kind::kill_in_commit:
            break;
        }
        compare();
    }

    // Every other one is asynchronous, and may be in flight while the next operations are carried out; a kill waits for it.
    void commit() {
        is_asynchronous_ = !is_asynchronous_;
        if (is_asynchronous_)
            last_ = book_->commit_async();
        else
            book_->commit();
        of_.commit_model();
        if (setting_ == setting::resident_limit)
            book_->write([] {}); // whose end evicts
    }
    void rollback() {
        book_->rollback();
        of_.roll_back_model();
    }

    void change(const operation& o) { follow_in_model(o, of_.apply(o)); }
    void follow_in_model(const operation& o, const std::string& seen) {
        require(seen == of_.apply_to_model(o), "an operation has another result");
    }

    /// Half of the sections succeed. Those of our own containers are declared: a change that was not declared is then
    /// refused in builds with assertions, and lost with the next rollback in others.
    void change_in_section(const operation& o) {
        if (of_.is_declared(o)) {
            commit(); // of what was changed outside of sections
            change_within(o, [this](auto&& f) { return book_->write(declared, f); });
        } else {
            change_within(o, [this](auto&& f) { return book_->write(f); });
        }
    }
    template <class Section>
    void change_within(const operation& o, const Section& section) {
        if (o.position % 2 == 0) {
            follow_in_model(o, section([&] { return of_.apply(o); }));
            of_.commit_model();
        } else {
            bool failed = false;
            try {
                section([&] {
                    (void)of_.apply(o);
                    throw injected_failure();
                });
            } catch (const injected_failure&) {
                failed = true;
            }
            require(failed, "the section has swallowed an exception");
            of_.roll_back_model();
        }
    }

    /// Does what change() does when the elements cannot fail.
    void fail(const operation& o) {
        fuse = o.fuse;
        std::optional<std::string> seen;
        try {
            seen = of_.apply(o);
        } catch (const injected_failure&) {
            ++tally_.failures;
        }
        fuse = 0;
        if (seen) {
            follow_in_model(o, *seen);
        } else if (!of_.is_strong(o)) {
            // Any valid content is allowed: check that it is one, then go back to one that is known.
            of_.check(*book_);
            rollback();
        }
    }

    /// A child does what is before the kill. This process then finds what was committed, or what was about to be.
    void kill_at(steps from, steps to) {
        book_->close();
        book_.reset();
        const last_words words = run_until_killed([&](condemned& child, os::file_system& files) {
            tally_ = {};
            files_ = &files;
            open();
            of_.find(*book_);
            for (; from != to; ++from)
                step(*from);
            if (last_)
                last_->wait();
            child.say({of_.committed_contents(), of_.contents_of_model(), tally_.failures});
            if (to->what == operation::kind::kill_in_commit) {
                child.die_after(to->position % 12);
                book_->commit();
                child.die_after(UINT_MAX - 1);
                child.say({of_.contents_of_model(), of_.contents_of_model(), tally_.failures});
            }
            condemned::die_now();
        });
        tally_.failures += words.failures;
        ++tally_.kills;
        open();
        of_.find(*book_);
        const texts found = of_.contents();
        const bool is_new = to->what == operation::kind::kill_in_commit && found == words.in_flight;
        require(is_new || found == words.committed, "after the kill there is something else than was committed");
        of_.follow();
        compare();
    }

    void compare() const {
        require(of_.contents() == of_.contents_of_model(), "the contents differ");
        of_.check(*book_);
    }

    void reopen() {
        book_->close();
        book_.reset();
        open();
        require(book_->stats().recovered_commits == 0, "a clean close left commits to recover");
        of_.find(*book_);
    }

    void check_pointers() {
        const pointer_report report = book_->check_pointers();
        for (const pointer_report::pointer& pointer : report.pointers)
            ADD_FAILURE() << pointer.root << ", offset " << pointer.offset << ": " << pointer.what;
        require(report.clean(), "check_pointers() has found something");
    }

    /// Bytes in live blocks once the root is removed.
    std::uint64_t allocated_bytes_without_root() {
        of_.remove(*book_);
        return book_->stats().allocated_bytes;
    }

    void verify() {
        const verify_report report = book_->verify();
        for (const verify_report::problem& problem : report.problems)
            ADD_FAILURE() << problem.what;
        require(report.clean(), "verify() has found something");
    }

    specimen& of_;
    tally& tally_;
    const setting setting_ = chosen_setting();
    os::file_system* files_ = &os::posix_file_system(); // observed ones, in a child
    std::optional<place> place_;
    std::optional<heap> book_;
    bool is_asynchronous_ = false;
    std::optional<commit_ticket> last_;
    std::uint64_t allocated_bytes_empty_ = 0;
};

} // namespace

void expect_conformance(specimen& of, bool may_throw) {
    for (const event often : k_events) {
        tally counted;
        session sequences(of, counted);
        EXPECT_TRUE(check_sequences(often, [&](const std::vector<operation>& all) { sequences.run(all); }));
        if (chosen_setting() == setting::usual) {
            EXPECT_GE(counted.operations, k_steps * k_sequences_least);
        }
        EXPECT_EQ(counted.evicted_bytes != 0, chosen_setting() == setting::resident_limit);
        EXPECT_EQ(counted.failures != 0, may_throw) << "failures: " << counted.failures;
        EXPECT_EQ(counted.kills != 0, often == event::kill);
        std::cout << counted.operations << " operations with " << name_of(often) << ", " << counted.kills << " kills\n";
    }
}

} // namespace remanence::test
