#include "shared_store.hpp"

#include "engine_store.hpp"
#include "session.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remanence::crash {

namespace {

class shared_store final : public store {
public:
    using open_one = std::function<result<std::unique_ptr<txn::engine>>()>;
    static result<std::unique_ptr<store>> open(open_one one) {
        auto made = std::make_unique<shared_store>(std::move(one));
        for (auto& each : made->engines_) {
            auto opened = made->open_one_();
            if (!opened)
                return opened.error();
            each = std::move(*opened);
        }
        REM_TRY(made->take_writer_lock());
        return std::unique_ptr<store>(std::move(made));
    }
    explicit shared_store(open_one one) : open_one_(std::move(one)) {}

    result<void> commit(log::durability how) override {
        ++commits_;
        if (commits_ % k_period == k_dies && how == log::durability::durable && !is_in_group_)
            return commit_and_die([this] { return writer().make_commit(); });
        REM_TRY(writer().commit({.awaited = how}));
        return give_turn();
    }
    result<void> undo(std::uint64_t steps) override {
        return go([=, this] { return past_of(writer()).undo(steps, log::durability::durable); });
    }
    result<void> redo(std::uint64_t steps) override {
        return go([=, this] { return past_of(writer()).redo(steps, log::durability::durable); });
    }
    result<void> keep(const std::string& name) override {
        auto kept = past_of(writer()).keep(name);
        return kept ? give_turn() : kept.error();
    }
    result<void> restore_kept(const std::string& name) override {
        return go([&, this] { return past_of(writer()).restore(kept_as(name), log::durability::durable); });
    }
    result<void> drop(const std::string& name) override {
        REM_TRY(past_of(writer()).drop_kept(kept_as(name)));
        return give_turn();
    }
    result<void> squash(std::uint64_t steps) override {
        REM_TRY(past_of(writer()).squash(steps));
        return give_turn();
    }
    result<void> note_migration() override { return writer().history()->let_next_commit_migrate(); }
    void begin_group() override {
        is_in_group_ = true;
        past_of(writer()).with_steps([](auto& steps) { steps.begin_group("group"); });
    }
    void end_group() override {
        is_in_group_ = false;
        past_of(writer()).with_steps([](auto& steps) { steps.end_group(); });
    }
    std::string steps() override { return writer().has_history() ? steps_in_words(writer()) : std::string(); }
    std::vector<std::uint64_t> way() override {
        return writer().has_history() ? way_through(writer()) : std::vector<std::uint64_t>();
    }
    std::uint64_t undo_depth() override {
        return past_of(writer()).with_steps([](const auto& steps) { return steps.undo_depth(); });
    }
    std::uint64_t redo_depth() override {
        return past_of(writer()).with_steps([](const auto& steps) { return steps.redo_depth(); });
    }
    result<std::uint64_t> commit_async() override {
        REM_TRY(commit(log::durability::durable));
        return version();
    }
    result<void> await(std::uint64_t /*version*/) override { return {}; }
    result<void> sync() override { return writer().sync(); }
    result<void> rollback() override { return writer().rollback(); }
    [[nodiscard]] bool gives_back() const override { return true; }
    result<void> checkpoint() override {
        end_reading();
        return writer().checkpoint();
    }
    result<void> close() override {
        end_reading();
        REM_TRY(writer().rollback());
        writer().shared()->release_writer_lock();
        REM_TRY(other().close());
        return writer().close();
    }
    void* allocate(std::uint64_t bytes) override {
        std::optional<unexpected> why;
        return writer().memory().allocate(bytes, k_alignment, why);
    }
    void deallocate(void* block, std::uint64_t bytes) override {
        writer().memory().deallocate(block, bytes, k_alignment);
    }
    std::byte* base() override { return writer().memory().base(); }
    std::uint64_t version() override { return writer().version(); }
    result<void> health() override {
        return writer().is_poisoned() ? fail(errc::poisoned, "a checkpoint has failed", writer().path())
                                      : result<void>();
    }
    result<std::vector<std::string>> verify() override {
        end_reading();
        auto report = writer().verify();
        if (!report)
            return report.error();
        std::vector<std::string> problems;
        for (const auto& problem : report->problems)
            problems.push_back(problem.what + " at " + std::to_string(problem.offset));
        return problems;
    }

private:
    txn::engine& writer() { return *engines_[writing_]; }
    txn::engine& other() { return *engines_[writing_ ^ 1]; }

    result<void> take_writer_lock() {
        auto taken = writer().shared()->take_writer_lock({});
        return taken ? result<void>() : taken.error();
    }

    /// After a commit. A group is one process's.
    result<void> give_turn() {
        const std::string left = steps();
        writer().shared()->release_writer_lock();
        REM_TRY(let_other_read());
        if (!reading_ && !is_in_group_)
            writing_ ^= 1;
        REM_TRY(take_writer_lock());
        if (steps() != left)
            throw violation("the next process has other steps:\n" + steps() + "and not\n" + left);
        return {};
    }

    result<void> go(const std::function<result<std::uint64_t>()>& where) {
        ++commits_;
        if (reading_) // in the place of a thread, too: chunks that move may need a superblock first
            REM_TRY(other().shared()->let_checkpoint_pass());
        if (commits_ % k_period == k_dies)
            return commit_and_die(where);
        auto version = where();
        if (!version)
            return version.error();
        REM_TRY(writer().publish(log::durability::durable));
        return give_turn();
    }

    static txn::undo_manager::find_state kept_as(const std::string& name) {
        return [name](const txn::heap_history& of) { return of.leads().kept_state(std::string_view(name)); };
    }

    // The commit is in the log, perhaps not on the device, and nobody was told: whoever has the writer lock next finds it, and makes it durable.
    result<void> commit_and_die(const std::function<result<std::uint64_t>()>& make) {
        auto version = make();
        if (!version)
            return version.error();
        REM_TRY(writer().await(*version, log::durability::lazy));
        const std::string left = steps();
        end_reading();
        engines_[writing_].reset();
        writing_ ^= 1;
        REM_TRY(take_writer_lock());
        if (writer().version() != *version)
            throw violation("who takes over does not find the commit of who died");
        if (steps() != left)
            throw violation("who takes over has other steps:\n" + steps() + "and not\n" + left);
        auto again = open_one_();
        if (!again)
            return again.error();
        engines_[writing_ ^ 1] = std::move(*again);
        return {};
    }

    // For some commits it stays at its version, over a checkpoint that is held up first, and passes it then.
    result<void> let_other_read() {
        const std::uint64_t at = commits_ % k_period;
        if (at == k_begins_to_read && !reading_) {
            REM_TRY(other().shared()->catch_up());
            if (!other().shared()->begin_read(writer().version()))
                throw violation("a section cannot begin at the version that was just followed");
            const std::byte* const memory = other().memory().base();
            reading_.emplace(memory, memory + other().stats().committed_bytes);
        }
        const bool lets_pass = at >= k_lets_pass;
        for (bool is_left = true; is_left;) { // in the place of threads
            if (reading_ && lets_pass)
                REM_TRY(other().shared()->let_checkpoint_pass());
            auto stepped = writer().step_checkpoint();
            if (!stepped)
                return stepped.error();
            is_left = *stepped && (lets_pass || !reading_);
        }
        if (reading_ && !std::equal(reading_->begin(), reading_->end(), other().memory().base()))
            throw violation("a section does not see the version at which it began");
        if (reading_ && at == k_ends_to_read)
            end_reading();
        return {};
    }

    void end_reading() {
        if (std::exchange(reading_, std::nullopt))
            other().shared()->end_read();
    }

    static constexpr std::uint64_t k_alignment = 16;
    // Of so many commits:
    static constexpr std::uint64_t k_period = 12;
    static constexpr std::uint64_t k_begins_to_read = 3;
    static constexpr std::uint64_t k_lets_pass = 7;
    static constexpr std::uint64_t k_ends_to_read = 9;
    static constexpr std::uint64_t k_dies = 11;

    open_one open_one_;
    std::array<std::unique_ptr<txn::engine>, 2> engines_;
    std::size_t writing_ = 0;
    std::uint64_t commits_ = 0;
    bool is_in_group_ = false;
    std::optional<std::vector<std::byte>> reading_; // what the other one saw when its section began
};

} // namespace

open_function shared_engines(txn::engine_options options) {
    if (options.history)
        options.has.history = &txn::k_history_part;
    options.is_shared = true;
    options.has.sharing = &txn::k_sharing_part;
    options.when_taken = txn::when_base_taken::elsewhere;
    return [options = std::move(options)](os::file_system& files, const std::string& path) {
        return shared_store::open([options, &files, path] {
            return txn::engine::open(files, path, txn::open_mode::open_or_create, options, "crash tests");
        });
    };
}

} // namespace remanence::crash
