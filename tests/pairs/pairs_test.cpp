// The joints: a random walk over what can be done to a heap, which goes from each feature to each other one, with a model of what the heap
// must hold after each step: the objects, how many steps can be undone, which versions are kept. What a later release adds joins it: as a
// function here, and a line in the table at the end.
#include "api/heap_impl.hpp"
#include "process/other_process.hpp"
#include "support/seed.hpp"

#include <remanence/collector.hpp>
#include <remanence/file_backed.hpp>
#include <remanence/look_back.hpp>
#include <remanence/migrate.hpp>
#include <remanence/procedures.hpp>
#include <remanence/relocate.hpp>
#include <remanence/streams.hpp>
#include <remanence/types/reflect.hpp>
#include <remanence/volatile_files.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Two releases of a program.
namespace pairs_1 {
struct record {
    int number = 0;
    remanence::string text;
};
using shelf = remanence::map<int, record>;
} // namespace pairs_1
namespace pairs_2 {
struct record {
    remanence::string text;
    long mark = 7;
    long number = 0;
};
using shelf = remanence::btree_map<int, record>;
} // namespace pairs_2

// Objects with virtual functions.
namespace pairs_figures {
class figure {
public:
    figure() = default;
    figure(const figure&) = default;
    figure& operator=(const figure&) = default;
    virtual ~figure() = default;
    [[nodiscard]] virtual std::size_t corners() const = 0;
    remanence::string name;

private:
    REM_REFLECT((), name);
};
class polygon : public figure {
public:
    [[nodiscard]] std::size_t corners() const override { return points.size(); }
    remanence::vector<int> points;
    const figure* within = nullptr;

private:
    REM_REFLECT((figure), points, within);
};
class round_figure : public figure {
public:
    [[nodiscard]] std::size_t corners() const override { return 0; }

private:
    REM_REFLECT((figure));
};
using figures_1 = remanence::vector<figure*>; // of the first release
using figures_2 = remanence::list<figure*>;
} // namespace pairs_figures
template <std::derived_from<pairs_figures::figure> Figure>
inline constexpr bool remanence::enable_persistable<Figure> = true;

namespace remanence::test {
namespace {

using namespace pairs_figures;

struct content {
    std::map<int, std::pair<long, std::string>> records;
    std::size_t figures = 0; // polygons, each with a round one that it lies in
    std::size_t lost = 0;    // blocks that no root reaches
    std::uint64_t bulk = 0;  // each of the numbers of a large vector
    bool has_extra = false;  // a root that was loaded
    friend bool operator==(const content&, const content&) = default;
};

/// A state that the heap was in after a commit, and where it came from.
struct state {
    content what;
    std::size_t parent = 0; // of itself: nothing leads back
    std::uint64_t version = 0;
};

constexpr std::size_t k_bulk = 150'000;
constexpr const char* k_shelf = "shelf";
constexpr const char* k_bulk_name = "bulk";
constexpr const char* k_figures = "figures";

class walk {
public:
    walk(std::uint64_t seed, bool is_kept) : random_(seed), is_kept_(is_kept) {
        states_.push_back({});
        open();
        check("the beginning");
    }

    // Each of these is a feature. False: it makes no sense now.

    bool write() {
        write_something();
        return true;
    }
    bool savepoint_in_a_section() {
        content next = now();
        try {
            heap_->write([&] {
                change(next);
                const content before = next;
                savepoint here = heap_->savepoint();
                content lost = next;
                change(lost);
                if (below(2) == 0)
                    heap_->root<int>("a root that is rolled back", 3);
                here.rollback();
                next = before;
                change(next);
            });
            made(next);
        } catch (const heap_exhausted& e) { // what it changed was spilled before; the section is rolled back
            EXPECT_TRUE(spills_) << e.what();
        }
        return true;
    }
    bool group_of_commits() {
        content next = now();
        {
            auto together = heap_->group("group");
            for (std::uint64_t i = 0; i != 3; ++i)
                heap_->write([&] { change(next); });
        }
        made(next);
        return true;
    }
    bool procedure() {
        content next = now();
        const int by = static_cast<int>(1 + below(5));
        heap_->call("raise", by);
        for (auto& [key, each] : next.records)
            each.first += by;
        made(next);
        return true;
    }
    bool rollback() {
        content lost = now();
        change(lost);
        heap_->rollback();
        return true;
    }
    /// An exclusive lock within a shared one, and a lock that an exception ends.
    bool locks() {
        content next = now();
        {
            using detail::held_lock;
            const auto reading = held_lock::acquire(*heap_, lock_mode::shared, std::chrono::seconds(1), nullptr);
            const auto writing = held_lock::acquire(*heap_, lock_mode::exclusive, std::chrono::seconds(1), nullptr);
            change(next);
            const std::unique_lock nested(*heap_);
            change(next);
        }
        made(next);
        content lost = now();
        try {
            const std::unique_lock section(*heap_);
            change(lost);
            throw std::runtime_error("half way");
        } catch (const std::runtime_error&) { // NOLINT(bugprone-empty-catch): as intended
        }
        return true;
    }
    bool bulk() {
        content next = now();
        next.bulk = another_number();
        heap_->write([&] {
            auto& bulk = heap_->root<numbers>(k_bulk_name);
            bulk.resize(k_bulk);
            std::ranges::fill(bulk, next.bulk);
        });
        made(next);
        return true;
    }
    /// From now on, or no longer, changes go to the file before their commit.
    bool spill() {
        close();
        if (!is_kept_)
            forget_session();
        spills_ = !spills_;
        open();
        return bulk();
    }
    /// From now on, or no longer, only a part of the heap stays in memory.
    bool limit() {
        close();
        if (!is_kept_)
            forget_session();
        is_limited_ = !is_limited_;
        open();
        return bulk();
    }
    /// A block moves by page tables, and is freed again.
    bool moved_block() {
        constexpr std::size_t k_bytes = 700'000;
        content next = now();
        heap_->write([&] {
            change(next);
            auto blocks = heap_->get_allocator<char>();
            char* const block = blocks.allocate(k_bytes);
            std::fill(block, block + k_bytes, 'm');
            char* const moved = blocks.allocate(2 * k_bytes);
            detail::impl_of(*heap_).memory().move_contents(block, moved, k_bytes);
            blocks.deallocate(block, k_bytes);
            EXPECT_EQ(std::count(moved, moved + k_bytes, 'm'), k_bytes);
            blocks.deallocate(moved, 2 * k_bytes);
        });
        made(next);
        return true;
    }
    bool collection() {
        content next = now();
        heap_->write([&] {
            change(next);
            (void)heap_->get_allocator<char>().allocate(1000);
            EXPECT_EQ(heap_->collect().blocks, 1 + std::exchange(next.lost, 0));
        });
        made(next);
        return true;
    }
    bool collection_in_steps() {
        content next = now();
        heap_->write([&] {
            change(next);
            (void)heap_->get_allocator<char>().allocate(1000);
            ++next.lost;
        });
        made(next);
        collector steps(*heap_);
        bool is_done = steps.step(std::chrono::nanoseconds(0));
        write_something();
        while (!is_done)
            is_done = steps.step(std::chrono::nanoseconds(0));
        next = now();
        EXPECT_EQ(steps.freed().blocks, std::exchange(next.lost, 0));
        made(next);
        return true;
    }
    /// Polygons with 1, 2, ... corners, or none any more.
    bool virtual_functions() {
        content next = now();
        heap_->write([&] {
            change(next);
            next.figures = release_ == 1 ? change_figures<figures_1>() : change_figures<figures_2>();
        });
        made(next);
        return true;
    }
    /// The steps may need what is free now.
    bool shrink() {
        expect_refused(errc::not_supported, [&] { heap_->shrink(); });
        return true;
    }
    bool undo() {
        const std::uint64_t steps = 1 + below(2);
        if (depth() < steps) {
            expect_refused(errc::no_step, [&] { heap_->undo(depth() + 1); });
            return true;
        }
        if (!leads([&] { heap_->undo(steps); }))
            return true;
        for (std::uint64_t i = 0; i != steps; ++i) {
            undone_.push_back(present_);
            present_ = states_[present_].parent;
        }
        return true;
    }
    bool redo() {
        if (undone_.empty())
            return false;
        if (!leads([&] { heap_->redo(); }))
            return true;
        present_ = undone_.back();
        undone_.pop_back();
        return true;
    }
    bool go_to() {
        const std::size_t to = begin_ + below(states_.size() - begin_);
        if (!leads([&] { heap_->go_to(states_[to].version); }))
            return true;
        present_ = to;
        undone_.clear();
        return true;
    }
    bool keep() {
        const auto is_kept = std::ranges::find(kept_, present_, [](const auto& each) { return each.second.first; });
        if (is_kept != kept_.end() || kept_.size() == 4)
            return false;
        const std::string name = "kept " + std::to_string(++names_);
        heap_->keep(name);
        kept_[name] = {present_, release_};
        for (const kept_version& each :
             heap_->versions()) { // an empty root that was made anew has given the state another one
            if (each.name == name)
                states_[present_].version = each.version;
        }
        return true;
    }
    bool drop() {
        if (kept_.empty())
            return false;
        heap_->drop(kept_.begin()->first);
        kept_.erase(kept_.begin());
        return true;
    }
    bool restore() {
        const auto found = any_kept();
        if (found == kept_.end())
            return false;
        if (found->second.second != release_) { // whose object the program has a reference to
            expect_refused(errc::in_use, [&] { heap_->restore(found->first); });
            return true;
        }
        if (found->second.first < begin_) { // the object may be another one, since the migrations between
            try {
                heap_->restore(found->first);
            } catch (const error& e) {
                EXPECT_EQ(e.reason(), errc::in_use) << e.what();
                return true;
            }
        } else if (!leads([&] { heap_->restore(found->first); })) {
            return true;
        }
        if (found->second.first < begin_) { // from before a migration: nothing but this leads there
            states_.push_back({states_[found->second.first].what, 0, states_[found->second.first].version});
            states_.back().parent = states_.size() - 1;
            found->second.first = present_ = states_.size() - 1;
            begin_ = present_;
            depth_is_known_ = false;
        } else {
            present_ = found->second.first;
        }
        undone_.clear();
        return true;
    }
    bool migration() {
        close();
        if (!is_kept_)
            forget_session();
        release_ = 3 - release_;
        open();
        states_.push_back({now(), states_.size(), heap_->version()});
        begin_ = present_ = states_.size() - 1;
        undone_.clear();
        depth_is_known_ = true;
        return true;
    }
    bool dump_and_load() {
        std::ostringstream dump;
        save(*heap_, dump);
        std::istringstream text(dump.str());
        {
            heap other = heap::create(dir_ / "loaded", small_heap());
            (void)load(other, text);
            expect_content(other, now(), release_);
        }
        remove("loaded");
        return true;
    }
    bool load_into_it() {
        content next = now();
        if (next.has_extra) {
            heap_->write([&] { EXPECT_TRUE(heap_->remove_root<int>("extra")); });
            next.has_extra = false;
            made(next);
        }
        std::istringstream text(extra_);
        EXPECT_EQ(load(*heap_, text), 1U);
        next.has_extra = true;
        made(next);
        return true;
    }
    bool portable_file() {
        const fs::path file = dir_ / "shelf.jsonl";
        using texts = map<int, string>;
        {
            file_backed<texts> container(file, {.form = file_form::portable});
            for (const auto& [key, each] : now().records)
                (*container)[key] = each.second;
            container.commit();
        }
        {
            const file_backed<texts> container(file, {.form = file_form::portable});
            EXPECT_EQ(container->size(), now().records.size());
            for (const auto& [key, each] : now().records)
                EXPECT_EQ(std::string_view(container->at(key)), each.second);
        }
        fs::remove(file);
        return true;
    }
    bool share() {
        if (!is_kept_)
            return false;
        close();
        heap_options how = options();
        how.access = sharing::processes;
        how.history = {}; // what the heap records counts
        how.procedures = {};
        content next = now();
        next.records[100] = {static_cast<long>(another_number()), "of the other process"};
        heap shared = heap::open(path_, how);
        EXPECT_EQ(shared.read([&] { return shared.undo_depth(); }), known_depth(shared));
        {
            other_process other(shared, [&] {
                heap mine = heap::open(path_, how);
                mine.write([&] { put(mine, 100, next.records[100]); });
                mine.close();
            });
            ASSERT_OR_THROW(other.wait() == 0, "the other process");
        }
        {
            SCOPED_TRACE("what the other process has written");
            shared.read([&] { expect_content(shared, next, release_); });
        }
        made(next, shared.version());
        if (below(2) == 0) {
            SCOPED_TRACE("undone");
            shared.undo();
            undone_.push_back(present_);
            present_ = states_[present_].parent;
            shared.read([&] { expect_content(shared, now(), release_); });
        }
        shared.close();
        open();
        return true;
    }
    bool guest() {
        close();
        heap_options how = options();
        how.access = sharing::processes;
        how.history = {};
        how.procedures = {};
        if (!is_kept_)
            forget_session();
        heap shared = heap::open(path_, how);
        {
            other_process other(shared, [&] {
                how.read_only = true;
                heap mine = heap::open_existing(path_, how);
                mine.read([&] { expect_content(mine, now(), release_); });
                expect_refused(errc::read_only, [&] { mine.undo(); });
                expect_refused(errc::read_only, [&] { mine.write([] {}); });
                ASSERT_OR_THROW(!testing::Test::HasFailure(), "a guest");
            });
            ASSERT_OR_THROW(other.wait() == 0, "the guest");
        }
        shared.close();
        open();
        return true;
    }
    bool read_only() {
        close();
        if (!is_kept_)
            forget_session();
        {
            heap_options how = small_heap();
            how.read_only = true;
            heap looks = heap::open_existing(path_, how);
            expect_content(looks, now(), release_);
            expect_refused(errc::read_only, [&] { looks.undo(); });
            expect_refused(errc::read_only, [&] { looks.write([] {}); });
            expect_refused(errc::read_only, [&] { looks.keep("a name"); });
        }
        open();
        return true;
    }
    bool old_version() {
        const auto found = any_kept();
        if (!is_kept_ || found == kept_.end())
            return false;
        if (below(2) == 0) { // beside the writer, without the types
            EXPECT_NE(inspect::get_of(path_.string(), found->first, k_shelf), "");
            return true;
        }
        close();
        {
            heap_options how = small_heap();
            how.read_only = true;
            how.kept_version = found->first;
            heap looks = heap::open_existing(path_, how);
            expect_content(looks, states_[found->second.first].what, found->second.second);
            expect_refused(errc::read_only, [&] { looks.write([] {}); });
        }
        open();
        return true;
    }
    bool branch() {
        const auto found = any_kept();
        const bool is_of_now = found == kept_.end();
        const std::uint64_t version = is_of_now ? 0 : states_[found->second.first].version;
        if (is_of_now && !heap_->undo_depth())
            return false;
        heap_->branch(is_of_now ? states_[present_].version : version, dir_ / "branch");
        const content expected = is_of_now ? now() : states_[found->second.first].what;
        const int release = is_of_now ? release_ : found->second.second;
        elsewhere([&] {
            heap other = heap::open_existing(dir_ / "branch", small_heap());
            expect_content(other, expected, release);
            EXPECT_EQ(other.undo_depth(), 0U);
            EXPECT_TRUE(other.verify().clean());
        });
        remove("branch");
        return true;
    }
    bool copy() {
        const bool takes_history = is_kept_ && below(2) == 0;
        inspect::copy(path_.string(), (dir_ / "copy").string(), inspect::existing::refused, {}, {},
                      takes_history ? inspect::copied_history::taken : inspect::copied_history::left);
        const std::uint64_t steps = heap_->undo_depth();
        elsewhere([&] {
            heap other = heap::open_existing(dir_ / "copy", options());
            expect_content(other, now(), release_);
            EXPECT_EQ(other.undo_depth(), takes_history ? steps : 0);
            EXPECT_EQ(other.versions().size(), takes_history ? kept_.size() : 0);
            put(other, 5, {5, "in the copy"});
            other.commit();
            other.undo();
            expect_content(other, now(), release_);
        });
        remove("copy");
        return true;
    }
    bool volatile_copy() {
        const bool is_refused = has_figures();
        elsewhere([&] {
            if (is_refused) {
                expect_refused(errc::not_supported, [&] { (void)load_volatile(path_); });
                return;
            }
            save_as(*load_volatile(path_), dir_ / "saved");
            heap other = heap::open_existing(dir_ / "saved", options());
            expect_content(other, now(), release_);
            EXPECT_EQ(other.undo_depth(), 0U);
            put(other, 5, {5, "in the copy"});
            other.commit();
            EXPECT_TRUE(other.verify().clean());
        });
        remove("saved");
        return true;
    }
    bool upgrade() {
        close();
        if (!is_kept_)
            forget_session();
        EXPECT_NE(inspect::upgrade(path_.string(), "pairs").changed, is_upgraded_);
        is_upgraded_ = true;
        open();
        return true;
    }
    bool relocation() {
        elsewhere([&] {
            if (is_kept_)
                expect_refused(errc::not_supported, [&] { relocate(path_); });
            else
                relocate(path_);
        });
        return true;
    }
    bool crash() {
        content next = now();
        close();
        if (!is_kept_)
            forget_session();
        next.records[101] = {static_cast<long>(another_number()), "before the crash"};
        {
            other_process dies([&] {
                heap mine = open_heap();
                mine.write([&] { put(mine, 101, next.records[101]); });
                put(mine, 102, {3, "not committed"});
                ::_exit(0); // as a kill leaves it
            });
            ASSERT_OR_THROW(dies.wait() == 0, "what was to die");
        }
        open();
        if (is_kept_)
            made(next, heap_->version());
        else
            states_[present_].what = next;
        return true;
    }
    bool reopen() {
        close();
        if (!is_kept_)
            forget_session();
        open();
        return true;
    }

    void check(const std::string& after) {
        SCOPED_TRACE(after);
        expect_content(*heap_, now(), release_);
        EXPECT_EQ(heap_->undo_depth(), known_depth(*heap_)) << path_back();
        std::vector<std::string> names;
        for (const kept_version& each : heap_->versions())
            names.push_back(each.name);
        std::ranges::sort(names);
        std::vector<std::string> expected;
        for (const auto& [name, of] : kept_)
            expected.push_back(name);
        std::ranges::sort(expected);
        EXPECT_EQ(names, expected);
        if (below(8) == 0) {
            const auto report = heap_->verify();
            EXPECT_TRUE(report.clean()) << report.problems.front().what;
            EXPECT_EQ(heap_->leaks().blocks, now().lost);
        }
    }

private:
    /// What leads to the present state: of the heap, and of the model.
    std::string path_back() {
        std::ostringstream text;
        for (const history_step& each : heap_->history())
            text << (each.is_present ? "* " : "  ") << each.version << " from " << each.parent.value_or(0) << ' '
                 << each.name << ", " << each.bytes << " bytes " << each.kept << '\n';
        text << "and of the model:";
        for (std::size_t at = present_;; at = states_[at].parent) {
            text << ' ' << states_[at].version;
            if (states_[at].parent == at)
                break;
        }
        return text.str();
    }
    static void ASSERT_OR_THROW(bool truth, const char* what) {
        if (!truth)
            throw std::runtime_error(what);
    }
    /// They may be none, if the program has the root since before an undo.
    [[nodiscard]] bool has_figures() const {
        const auto all = heap_->roots();
        return std::ranges::any_of(all, [](const root_info& each) { return each.name == k_figures; });
    }
    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    [[nodiscard]] const content& now() const { return states_[present_].what; }
    std::uint64_t depth() {
        std::uint64_t steps = 0;
        for (std::size_t at = present_; states_[at].parent != at; at = states_[at].parent)
            ++steps;
        return steps;
    }
    /// Behind a version that was kept over a migration, and restored, the model does not know what else leads where.
    std::uint64_t known_depth(const heap& of) { return depth_is_known_ ? depth() : of.undo_depth(); }
    std::map<std::string, std::pair<std::size_t, int>>::iterator any_kept() {
        if (kept_.empty())
            return kept_.end();
        return std::next(kept_.begin(), static_cast<std::ptrdiff_t>(below(kept_.size())));
    }

    heap_options options() const {
        heap_options how = small_heap();
        how.memory.chunk_bytes = 64 * KiB;
        if (spills_)
            how.memory.dirty_limit_bytes = 1;
        if (is_limited_)
            how.memory.resident_limit_bytes = 1 * MiB;
        how.history = {.bytes_max = 1 << 30, .kept_over_sessions = is_kept_};
        how.procedures.add<int>(
            "raise", [](heap& of, int by) { raise(of, by); }, [](heap& of, int by) { raise(of, -by); });
        if (release_ == 1)
            how.migrate =
                migrations()
                    .to<pairs_1::shelf>(k_shelf)
                    .to<figures_1>(k_figures)
                    .drop("mark")
                    .migrate<pairs_2::record, pairs_1::record>([](const pairs_2::record& was, pairs_1::record& is) {
                        is.number = static_cast<int>(was.number);
                    });
        else
            how.migrate = migrations().to<pairs_2::shelf>(k_shelf).to<figures_2>(k_figures);
        return how;
    }
    heap open_heap() const { return heap::open(path_, options()); }
    void open() {
        heap_ = std::make_unique<heap>(open_heap());
        if (release_ == 1)
            heap_->root<pairs_1::shelf>(k_shelf);
        else
            heap_->root<pairs_2::shelf>(k_shelf);
        if (states_[present_].version == 0)
            states_[present_].version = heap_->version();
    }
    void close() {
        heap_->close();
        heap_.reset();
    }
    /// With the heap closed, whose addresses are those of its copies.
    template <class F>
    void elsewhere(const F& f) {
        close();
        if (!is_kept_)
            forget_session();
        f();
        open();
    }
    /// Without a history over sessions only the objects stay.
    void forget_session() {
        states_.push_back({now(), states_.size(), 0});
        begin_ = present_ = states_.size() - 1;
        undone_.clear();
        kept_.clear();
        depth_is_known_ = true;
    }

    /// A step from the present state.
    void made(const content& next) {
        if (next != now() ||
            heap_->undo_depth() != known_depth(*heap_)) // a section that changes nothing commits nothing
            made(next, heap_->version());
    }
    void made(const content& next, std::uint64_t version) {
        states_.push_back({next, present_, version});
        present_ = states_.size() - 1;
        undone_.clear();
    }
    void write_something() {
        content next = now();
        heap_->write([&] { change(next); });
        made(next);
    }
    /// None that calls of the procedure can come to, so that no commit is empty.
    std::uint64_t another_number() { return numbers_ += 1000; }
    void change(content& what) {
        const int key = static_cast<int>(below(20));
        if (what.records.contains(key) && below(3) == 0) {
            what.records.erase(key);
            release_ == 1 ? heap_->find_root<pairs_1::shelf>(k_shelf)->erase(key)
                          : heap_->find_root<pairs_2::shelf>(k_shelf)->erase(key);
            return;
        }
        const int number = static_cast<int>(another_number());
        what.records[key] = {number, "a text that has a block of its own, number " + std::to_string(number)};
        put(*heap_, key, what.records[key]);
    }
    void put(heap& into, int key, const std::pair<long, std::string>& value) const {
        if (release_ == 1) {
            auto& one = (*into.find_root<pairs_1::shelf>(k_shelf))[key];
            one.number = static_cast<int>(value.first);
            one.text = value.second.c_str();
        } else {
            auto& one = (*into.find_root<pairs_2::shelf>(k_shelf))[key];
            one.number = value.first;
            one.text = value.second.c_str();
        }
    }
    /// Returns how many there are then.
    template <class Figures>
    std::size_t change_figures() {
        auto& all = heap_->root<Figures>(k_figures);
        if (all.empty()) {
            for (std::size_t i = 1; i != 4; ++i) {
                auto* const made = heap_->make<polygon>();
                made->points.resize(i);
                made->name = "a polygon with a name that has a block of its own";
                made->within = heap_->make<round_figure>();
                all.push_back(made);
            }
            return all.size();
        }
        for (const figure* const each : all) {
            heap_->destroy(static_cast<const polygon*>(each)->within);
            heap_->destroy(each);
        }
        heap_->remove_root<Figures>(k_figures);
        return 0;
    }
    template <class Figures>
    static std::size_t count_figures(heap& of) {
        std::size_t count = 0;
        for (const figure* const each : *of.find_root<Figures>(k_figures)) {
            EXPECT_EQ(each->corners(), ++count);
            EXPECT_EQ(dynamic_cast<const polygon&>(*each).within->corners(), 0U);
        }
        return count;
    }
    static void raise(heap& of, int by) {
        for (const root_info& each : of.roots()) {
            if (each.name != k_shelf)
                continue;
            if (each.type.find("pairs_1") != std::string::npos) {
                for (auto& [key, one] : *of.find_root<pairs_1::shelf>(k_shelf))
                    one.number += by;
            } else {
                for (auto&& [key, one] : *of.find_root<pairs_2::shelf>(k_shelf))
                    one.number += by;
            }
        }
    }
    template <class Shelf>
    static void read_shelf(heap& of, content& found) {
        const auto* const shelf = of.find_root<Shelf>(k_shelf);
        if (shelf == nullptr)
            return;
        for (const auto& [key, each] : *shelf)
            found.records[key] = {each.number, std::string(std::string_view(each.text))};
    }
    static void expect_content(heap& of, const content& expected, int release) {
        content found;
        release == 1 ? read_shelf<pairs_1::shelf>(of, found) : read_shelf<pairs_2::shelf>(of, found);
        bool has_bulk = false;
        bool has_figures = false;
        for (const root_info& each : of.roots()) {
            found.has_extra = found.has_extra || each.name == "extra";
            has_bulk = has_bulk || each.name == k_bulk_name;
            has_figures = has_figures || each.name == k_figures;
        }
        if (has_bulk) {
            const auto* const bulk = of.find_root<numbers>(k_bulk_name);
            found.bulk = bulk->empty() ? 0 : bulk->front();
            EXPECT_TRUE(std::ranges::all_of(*bulk, [&](auto each) { return each == found.bulk; }));
        }
        if (has_figures)
            found.figures = release == 1 ? count_figures<figures_1>(of) : count_figures<figures_2>(of);
        EXPECT_EQ(found.figures, expected.figures);
        EXPECT_TRUE(found.records == expected.records);
        EXPECT_EQ(found.bulk, expected.bulk);
        EXPECT_EQ(found.has_extra, expected.has_extra);
    }
    /// False: nothing has changed, since there is a call on the way, and versions are kept (docs/guide/undo.md); or since a root that the
    /// program has is not there, and its place is taken.
    template <class F>
    bool leads(const F& f) {
        try {
            f();
            return true;
        } catch (const error& e) {
            const std::string_view why = e.what();
            const bool has_call = e.reason() == errc::no_step && !kept_.empty() &&
                                  why.find("there is a call of the procedure") != std::string_view::npos;
            const bool has_no_place =
                e.reason() == errc::in_use &&
                (why.starts_with("the root \"bulk\" of") || why.starts_with("the root \"figures\" of")) &&
                why.find("where something else lies in its place") != std::string_view::npos;
            const bool is_another = e.reason() == errc::in_use && why.starts_with("the root \"figures\" of") &&
                                    why.find("is another object in that version") != std::string_view::npos;
            EXPECT_TRUE(has_call || has_no_place || is_another) << why;
            return false;
        }
    }
    template <class F>
    static void expect_refused(errc code, const F& f) {
        try {
            f();
            ADD_FAILURE() << "it was done";
        } catch (const error& e) {
            EXPECT_EQ(e.reason(), code) << e.what();
        }
    }
    void remove(const std::string& name) const {
        for (const char* end : {"", "-log", "-history", "-history-unfit"})
            fs::remove((dir_ / name).string() + end);
    }
    static std::string dump_of_extra() {
        temp_dir dir;
        heap other = heap::create(dir / "extra", small_heap());
        other.root<int>("extra") = 5;
        other.commit();
        std::ostringstream dump;
        save(other, dump);
        return dump.str();
    }

    std::mt19937_64 random_;
    const bool is_kept_;
    temp_dir dir_;
    fs::path path_ = dir_ / "h";
    std::unique_ptr<heap> heap_;
    int release_ = 1;
    std::vector<state> states_;
    std::size_t begin_ = 0; // no step leads before this one
    std::size_t present_ = 0;
    std::vector<std::size_t> undone_;                         // the last one first
    std::map<std::string, std::pair<std::size_t, int>> kept_; // with the release whose types it has
    bool depth_is_known_ = true;
    bool is_upgraded_ = false;
    bool spills_ = false;
    bool is_limited_ = false;
    std::uint64_t names_ = 0;
    std::uint64_t numbers_ = 0;
    const std::string extra_ = dump_of_extra();
};

struct feature {
    const char* name;
    bool (walk::*does)();
};

constexpr feature k_features[] = {
    {"write", &walk::write},
    {"savepoint", &walk::savepoint_in_a_section},
    {"group", &walk::group_of_commits},
    {"procedure", &walk::procedure},
    {"rollback", &walk::rollback},
    {"locks", &walk::locks},
    {"bulk", &walk::bulk},
    {"spilling", &walk::spill},
    {"limited memory", &walk::limit},
    {"moved block", &walk::moved_block},
    {"collection", &walk::collection},
    {"collection in steps", &walk::collection_in_steps},
    {"virtual functions", &walk::virtual_functions},
    {"shrinking", &walk::shrink},
    {"undo", &walk::undo},
    {"redo", &walk::redo},
    {"go_to", &walk::go_to},
    {"keep", &walk::keep},
    {"drop", &walk::drop},
    {"restore", &walk::restore},
    {"migration", &walk::migration},
    {"dump and load", &walk::dump_and_load},
    {"load into it", &walk::load_into_it},
    {"portable file", &walk::portable_file},
    {"sharing", &walk::share},
    {"guest", &walk::guest},
    {"read-only", &walk::read_only},
    {"old version", &walk::old_version},
    {"branch", &walk::branch},
    {"copy", &walk::copy},
    {"volatile copy", &walk::volatile_copy},
    {"upgrade", &walk::upgrade},
    {"relocation", &walk::relocation},
    {"crash", &walk::crash},
    {"reopening", &walk::reopen},
};
constexpr std::size_t k_count = std::size(k_features);

class pairs_no_sanitizer : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(of, pairs_no_sanitizer, testing::Bool(), [](const auto& instance) {
    return instance.param ? "a_kept_history" : "a_history_in_memory";
});

TEST_P(pairs_no_sanitizer, of_features_go_together) {
    const std::uint64_t seed = random_seed();
    std::mt19937_64 random(seed);
    walk of_heap(seed, GetParam());
    std::vector<std::vector<int>> tries(k_count, std::vector<int>(k_count, 0));
    std::size_t before = 0;
    std::set<std::pair<std::size_t, std::size_t>> done;
    for (std::size_t step = 0; step != 2 * k_count * k_count; ++step) {
        const std::size_t first = random() % k_count;
        std::size_t next = first; // what was tried the least behind that one
        for (std::size_t i = 1; i != k_count; ++i) {
            const std::size_t other = (first + i) % k_count;
            if (tries[before][other] < tries[before][next])
                next = other;
        }
        const std::string what = std::string(k_features[before].name) + ", then " + k_features[next].name;
        SCOPED_TRACE(what + ", step " + std::to_string(step));
        ++tries[before][next];
        try {
            if (!(of_heap.*k_features[next].does)())
                continue; // it makes no sense now
            of_heap.check(what);
        } catch (const std::exception& e) {
            ADD_FAILURE() << e.what();
        }
        if (HasFailure())
            return;
        done.emplace(before, next);
        before = next;
    }
    const std::size_t pairs = done.size();
    std::cout << pairs << " of " << k_count * k_count << " pairs\n";
    EXPECT_GT(pairs, k_count * k_count / 2); // some never make sense: sharing, where the history is in memory
}

} // namespace
} // namespace remanence::test
