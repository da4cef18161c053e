#include "engine_store.hpp"

#include "api/heap_branch.hpp"
#include "base/assert.hpp"
#include "base/units.hpp"
#include "content.hpp"
#include "inspect/last_commit.hpp"
#include "os/memory.hpp"
#include "recover/steps_beside.hpp"
#include "testing/seeded_scheduler.hpp"
#include "txn/heap_history.hpp"
#include "txn/slab_caches.hpp"
#include "txn/version_opening.hpp"

#include <array>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>

namespace remanence::crash {

namespace {

#ifdef REMANENCE_TSAN_BASES
constexpr std::uint64_t k_base = 0x5800'0000'0000;
#else
constexpr std::uint64_t k_base = 0x1100'0000'0000;
#endif

/// In the place of the threads that a heap has beside the program's own (src/api).
class background {
public:
    background(os::file_system& files, bool spills) : scheduler_(files), spills_(spills) {}
    [[nodiscard]] os::file_system& files() { return scheduler_; }

    void begin(txn::engine& engine) {
        engine.copy_points_from(1);
        scheduler_.begin(schedule_seed() << 32 ^ engine.version());
        const std::size_t carrying_out = scheduler_.add([this] { return is_checkpoint_left_; },
                                                        [this, &engine] {
                                                            auto is_left = engine.step_checkpoint(
                                                                step_bytes_); // a failure poisons, and so do the others
                                                            is_checkpoint_left_ = is_left && *is_left;
                                                        });
        engine.let_checkpoints_be_carried_out([this, carrying_out] {
            static constexpr std::uint64_t k_pages[] = {1, 1, 1, 2, 7, 256};
            scheduler_.draw_rarity(carrying_out);
            step_bytes_ = k_pages[scheduler_.below(std::size(k_pages))] * k_page_bytes;
            is_checkpoint_left_ = true;
            return true;
        });
        scheduler_.add([this] { return is_sync_wanted_; },
                       [this, &engine] {
                           is_sync_wanted_ = false; // what is wanted from here on may come too late
                           static_cast<void>(engine.sync());
                       });
        scheduler_.add([this] { return is_point_left_; },
                       [this, &engine] {
                           is_point_left_ = false;
                           static_cast<void>(engine.finish_point()); // a failure poisons
                       });
        if (spills_)
            scheduler_.add([] { return true; }, [&engine] { static_cast<void>(engine.spill_excess()); });
    }
    void want_sync() { is_sync_wanted_ = true; }
    void want_record() { is_point_left_ = true; }
    void come_by() { scheduler_.come_by(); }
    void end() { scheduler_.end(); }

private:
    simulation::seeded_scheduler scheduler_;
    const bool spills_;
    std::uint64_t step_bytes_ = k_page_bytes;
    bool is_checkpoint_left_ = false;
    bool is_sync_wanted_ = false; // of lazy commits and asynchronous ones
    bool is_point_left_ = false;  // of commits that wait for nothing
};

/// Half of them as our containers do it, in words.
void declare_to(txn::heap_memory& memory, const std::byte* first, std::uint64_t bytes) {
    if (memory.offset_of(first) / 64 % 2 == 0)
        memory.declare_words(first, bytes);
    else if (!memory.declare(first, bytes))
        std::abort();
}

/// A thread that does what it is told while somebody waits for it.
class helper {
public:
    void run(const std::function<void()>& step) {
        std::unique_lock lock(mutex_);
        step_ = &step;
        changed_.notify_one();
        changed_.wait(lock, [this] { return step_ == nullptr; });
    }

private:
    void work(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (changed_.wait(lock, stop, [this] { return step_ != nullptr; })) {
            (*step_)();
            step_ = nullptr;
            changed_.notify_one();
        }
    }

    std::mutex mutex_;
    std::condition_variable_any changed_;
    const std::function<void()>* step_ = nullptr;
    std::jthread thread_{[this](const std::stop_token& stop) { work(stop); }};
};

/// Runs each step in one of three threads, in turn. They are the same for all heaps of the process: which slab a thread borrows is then
/// the same each time.
class helpers {
public:
    void run(const std::function<void()>& step) {
        static std::array<helper, 3> all;
        all[next_++ % all.size()].run(step);
    }

private:
    std::size_t next_ = 0; // with each heap
};

std::string in_words(const remanence::history::step_tree& steps) {
    std::string all;
    for (const auto& each : steps.list()) {
        all += std::to_string(each.version) + " after " + std::to_string(each.parent.value_or(0)) + ' ' + each.name +
               " [" + each.kept + "] " + std::to_string(each.bytes) +
               (each.is_present ? " bytes *\n" : " bytes\n"); // its time differs from run to run on real disks
    }
    return all + std::to_string(steps.undo_depth()) + " back, " + std::to_string(steps.redo_depth()) + " forth\n";
}

/// Of the last commit of a heap that is open.
std::string steps_in_files(os::file_system& files, const std::string& path) {
    std::string all;
    auto seen = inspect::with_last_commit(files, path, 1, {}, [&](inspect::inspection& now) -> result<void> {
        auto found = recover::read_history(files, now.store());
        if (!found)
            return found.error();
        all = found->steps ? in_words(*found->steps) : found->why;
        return {};
    });
    return seen ? all : seen.why().message;
}

class engine_store final : public store {
public:
    /// `beside`: with the engine's files, if there is to be any.
    engine_store(os::file_system& files, std::unique_ptr<background> beside, std::unique_ptr<txn::engine> opened,
                 sections kind, bool keeps_history, bool reads_late)
        : files_(files),
          beside_(std::move(beside)),
          engine_(std::move(opened)),
          kind_(kind),
          keeps_history_(keeps_history),
          reads_late_(reads_late) {
        if (beside_)
            beside_->begin(*engine_);
        if (engine_->limiter() != nullptr)
            engine_->limiter()->count_each_time();
        if (engine_->has_history())
            past_of(*engine_).let_procedures_be_run(
                [this](const ::remanence::history::procedure_call& call, bool) -> result<void> {
                    std::array<std::uint64_t, 2> where{};
                    REM_CHECK(call.name == "flip" && call.parameters.size() == sizeof where);
                    std::memcpy(where.data(), call.parameters.data(), sizeof where);
                    for (std::byte& each : std::span(base() + where[0], where[1]))
                        each = ~each;
                    return {};
                });
        begin();
    }
    ~engine_store() override {
        if (beside_)
            beside_->end();
    }

    result<void> commit(log::durability how) override {
        auto done = end(engine_->commit({.scope = txn::commit_scope::declared, .awaited = how}));
        if (engine_->has_history())
            past_of(*engine_).forget_call();
        if (beside_ && how == log::durability::lazy)
            beside_->want_sync();
        if (beside_ && how == log::durability::none)
            beside_->want_record();
        return how == log::durability::durable ? acknowledged(std::move(done)) : stepping(std::move(done));
    }
    result<std::uint64_t> commit_async() override {
        auto version = engine_->make_commit({.scope = txn::commit_scope::declared,
                                             .fresh = txn::fresh_contents::in_log_if_few,
                                             .awaited = log::durability::none});
        if (beside_)
            beside_->want_sync();
        auto ended = stepping(end(version ? result<void>() : version.error()));
        return ended ? std::move(version) : ended.error();
    }
    result<void> await(std::uint64_t version) override {
        REM_TRY(engine_->await(version, log::durability::durable));
        const auto failed = failed_.find(version);
        return failed == failed_.end() ? result<void>() : unexpected(failed->second);
    }
    void tell_of_failures(std::function<void(std::uint64_t version)> failed) override {
        engine_->let_points_be_told_of(
            [this, failed = std::move(failed)](std::uint64_t version, const std::optional<failure>& why) {
                failed_.emplace(version, why.value());
                failed(version);
            });
    }
    result<void> sync() override { return acknowledged(engine_->sync()); }
    result<void> rollback() override { return stepping(end(engine_->rollback())); }
    result<void> undo(std::uint64_t steps) override {
        return acknowledged(gone(past_of(*engine_).undo(steps, log::durability::durable)));
    }
    result<void> redo(std::uint64_t steps) override {
        return acknowledged(gone(past_of(*engine_).redo(steps, log::durability::durable)));
    }
    result<void> keep(const std::string& name) override {
        auto kept = past_of(*engine_).keep(name);
        return kept ? result<void>() : kept.error();
    }
    result<void> restore_kept(const std::string& name) override {
        return acknowledged(gone(past_of(*engine_).restore(kept_as(name), log::durability::durable)));
    }
    result<void> drop(const std::string& name) override { return past_of(*engine_).drop_kept(kept_as(name)); }
    result<void> squash(std::uint64_t steps) override { return past_of(*engine_).squash(steps); }
    result<void> note_migration() override { return engine_->history()->let_next_commit_migrate(); }
    result<void> branch(const std::string& name, const std::string& path) override {
        REM_TRY(past_of(*engine_).read_history());
        const auto version = past_of(*engine_).with_steps([&](auto& steps) { return steps.find_kept(name); });
        if (!version)
            return fail(errc::no_step, "nothing is kept by this name");
        auto way = past_of(*engine_).path_to(*version);
        if (!way)
            return way.error();
        REM_TRY(engine_->sync());
        return acknowledged(detail::make_branch(files_, engine_->path(), *way, path));
    }
    result<void> begin_flip() override {
        return engine_->has_history() ? past_of(*engine_).begin_call() : result<void>();
    }
    void end_flip(std::uint64_t offset, std::uint64_t bytes) override {
        const std::array where{offset, bytes};
        const auto* const first = reinterpret_cast<const std::byte*>(where.data());
        if (engine_->has_history())
            past_of(*engine_).end_call(::remanence::history::procedure_call{"flip", {first, first + sizeof where}});
    }
    void begin_group() override {
        past_of(*engine_).with_steps([](auto& steps) { steps.begin_group("group"); });
    }
    void end_group() override {
        past_of(*engine_).with_steps([](auto& steps) { steps.end_group(); });
    }
    std::string steps() override {
        if (!keeps_history_)
            return {};
        if (reads_late_)
            return steps_in_files(files_, engine_->path());
        if (auto read = past_of(*engine_).read_history(); !read)
            return read.why().message;
        return steps_in_words(*engine_);
    }
    std::vector<std::uint64_t> way() override {
        return engine_->has_history() && past_of(*engine_).read_history() ? way_through(*engine_)
                                                                          : std::vector<std::uint64_t>();
    }
    std::uint64_t undo_depth() override {
        return past_of(*engine_).with_steps([](const auto& steps) { return steps.undo_depth(); });
    }
    std::uint64_t redo_depth() override {
        return past_of(*engine_).with_steps([](const auto& steps) { return steps.redo_depth(); });
    }
    void move(std::byte* from, std::byte* to, std::uint64_t bytes) override {
        declare(to, bytes);
        engine_->memory().move_contents(from, to, bytes);
    }
    void declare(const std::byte* first, std::uint64_t bytes) override {
        if (kind_ == sections::watched && beside_)
            beside_->come_by();
        else if (kind_ == sections::watched)
            (void)engine_->spill_excess(); // a failure poisons
        else if (kind_ == sections::declaring || kind_ == sections::declared)
            declare_to(engine_->memory(), first, bytes);
    }
    [[nodiscard]] bool gives_back() const override { return true; }
    result<void> checkpoint() override { return acknowledged(engine_->checkpoint()); }
    result<void> shrink() override {
        auto shorter = engine_->shrink();
        return acknowledged(shorter ? result<void>() : shorter.error());
    }
    result<void> close() override { return engine_->close(); }
    void* allocate(std::uint64_t bytes) override {
        std::optional<unexpected> why;
        void* block = nullptr;
        among_threads([&] { block = engine_->memory().allocate(bytes, k_alignment, why); });
        REM_CHECK(kind_ != sections::among_threads || bytes > KiB || engine_->memory().slabs_lent() != 0);
        return block;
    }
    void deallocate(void* block, std::uint64_t bytes) override {
        among_threads([&] { engine_->memory().deallocate(block, bytes, k_alignment); });
    }
    void expect_other_blocks() override { has_other_blocks_ = true; }
    [[nodiscard]] bool has_allocated(std::span<const std::uint64_t> sizes) override {
        const std::uint64_t bytes =
            std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}, [](std::uint64_t sum, std::uint64_t each) {
                return sum + alloc::block_allocator::block_bytes(each, k_alignment);
            });
        const std::uint64_t found = engine_->stats().allocated_bytes;
        return has_other_blocks_ ? found > bytes : found == bytes;
    }
    std::byte* base() override { return engine_->memory().base(); }
    std::uint64_t version() override { return engine_->version(); }
    result<void> health() override {
        return engine_->is_poisoned() ? fail(errc::poisoned, "a checkpoint has failed", engine_->path())
                                      : result<void>();
    }
    result<std::vector<std::string>> verify() override {
        auto report = engine_->verify();
        if (!report)
            return report.error();
        std::vector<std::string> problems;
        for (const auto& problem : report->problems)
            problems.push_back(problem.what + " at " + std::to_string(problem.offset));
        return problems;
    }

private:
    void begin() {
        if (kind_ == sections::declared)
            engine_->memory().begin_declared();
    }
    // A commit that failed for lack of room may be repeated, so its section goes on.
    result<void> end(result<void> done) {
        if (done) {
            engine_->memory().end_declared();
            if (engine_->limiter() != nullptr)
                engine_->limiter()->keep_within_limits(); // as at the end of a section
            begin();
        }
        return done;
    }

    result<void> gone(result<std::uint64_t> version) {
        if (version)
            REM_TRY(engine_->await(*version, log::durability::durable));
        return end(version ? result<void>() : version.error());
    }

    void among_threads(const std::function<void()>& step) {
        if (kind_ != sections::among_threads) {
            step();
            return;
        }
        engine_->memory().expect_threads();
        helpers_.run(step);
    }

    /// Others may go on before the caller does anything else; when that fails, what is not durable may be gone.
    result<void> stepping(result<void> done) {
        if (!beside_)
            return done;
        beside_->come_by();
        return done ? health() : std::move(done);
    }
    /// The same, but what is durable stays so, whatever becomes of the others.
    result<void> acknowledged(result<void> done) {
        if (beside_)
            beside_->come_by();
        return done;
    }

    static txn::undo_manager::find_state kept_as(const std::string& name) {
        return [name](const txn::heap_history& of) { return of.leads().kept_state(std::string_view(name)); };
    }

    static constexpr std::uint64_t k_alignment = 16;
    os::file_system& files_;
    std::unique_ptr<background> beside_; // outlives the engine
    std::unique_ptr<txn::engine> engine_;
    sections kind_;
    bool keeps_history_;
    bool reads_late_;
    bool has_other_blocks_ = false;
    helpers helpers_;
    std::map<std::uint64_t, failure> failed_;
};

} // namespace

std::string steps_in_words(const txn::engine& of) { return past_of(of).with_steps(in_words); }

std::vector<std::uint64_t> way_through(const txn::engine& of) {
    return past_of(of).with_steps([](const auto& steps) {
        std::map<std::uint64_t, std::uint64_t> parents;
        for (const auto& each : steps.list())
            parents[each.version] = each.parent.value_or(0);
        std::vector<std::uint64_t> way;
        for (std::uint64_t left = steps.undo_depth(), here = steps.present(); left != 0; --left)
            way.push_back(here = parents[here]);
        std::ranges::reverse(way);
        for (std::uint64_t i = 0; i <= steps.redo_depth(); ++i)
            way.push_back(steps.after_present(i));
        return way;
    });
}

std::uint64_t& schedule_seed() {
    static std::uint64_t seed = 1;
    return seed;
}

txn::engine_options small_heap_options() {
    txn::engine_options options;
    options.has.thread_caches = txn::slab_caches::make;
    options.reserve_bytes = 256 * MiB;
    options.chunk_bytes = 64 * KiB;
    options.base = k_base;
    options.log_limit_bytes = 1 * MiB;
    // No tracker has to do with the disk, and this one needs half the system calls; some states are tried with others.
    const char* const forced = std::getenv("REMANENCE_TRACKING");
    options.tracker = track::tracker_named(forced != nullptr ? forced : "fallback").value();
    return options;
}

static open_function engine_of(txn::engine_options options, sections kind, checkpointing how, bool reads_late) {
    if (options.history)
        options.has.history = &txn::k_history_part;
    if (options.resident_limit_bytes != 0)
        options.has.memory_limiter = &txn::k_memory_limiter_part;
    return [options = std::move(options), kind, how,
            reads_late](os::file_system& files, const std::string& path) -> result<std::unique_ptr<store>> {
        auto beside = how == checkpointing::in_background
                          ? std::make_unique<background>(files, kind == sections::watched)
                          : nullptr;
        auto opened = txn::engine::open(beside ? beside->files() : files, path, txn::open_mode::open_or_create, options,
                                        "crash tests");
        if (!opened)
            return opened.error();
        return std::unique_ptr<store>(std::make_unique<engine_store>(files, std::move(beside), std::move(*opened), kind,
                                                                     options.history_kept, reads_late));
    };
}

open_function engine(txn::engine_options options, sections kind, checkpointing how) {
    return engine_of(std::move(options), kind, how, false);
}

open_function engine_that_reads_late(txn::engine_options options) {
    return engine_of(std::move(options), sections::ordinary, checkpointing::at_one_go, true);
}

open_function engine_elsewhere(txn::engine_options options, sections kind, checkpointing how) {
    options.when_taken = txn::when_base_taken::elsewhere;
    return [base = options.base, open = engine(options, kind, how)](
               os::file_system& files, const std::string& path) -> result<std::unique_ptr<store>> {
        auto present = files.exists(path);
        if (!present)
            return present.error();
        if (!*present)
            return open(files, path);
        auto in_its_place = os::reservation::at(base, os::k_base_alignment);
        if (!in_its_place)
            return in_its_place.error();
        return open(files, path);
    };
}

result<void> look_at(os::file_system& files, const std::string& path,
                     const std::optional<std::variant<std::uint64_t, std::string>>& version,
                     const std::function<void(const std::byte* base, std::uint64_t version)>& see) {
    txn::engine_options options = small_heap_options();
    options.has.map_version = txn::map_version;
    options.read_only = true;
    if (version)
        std::visit([&](const auto& asked) { options.version = asked; }, *version);
    auto opened = txn::engine::open(files, path, txn::open_mode::open_existing, options, "crash tests");
    if (!opened)
        return opened.error();
    see((*opened)->memory().base(), (*opened)->version());
    return (*opened)->close();
}

} // namespace remanence::crash
