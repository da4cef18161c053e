#include "engine_store.hpp"

#include <cstdlib>
#include <utility>

namespace remanence::crash {

namespace {

#ifdef REMANENCE_TSAN_BASES
constexpr std::uint64_t k_base = 0x5800'0000'0000;
#else
constexpr std::uint64_t k_base = 0x1100'0000'0000;
#endif

class engine_store final : public store {
public:
    engine_store(std::unique_ptr<txn::engine> opened, sections kind) : engine_(std::move(opened)), kind_(kind) {
        begin();
    }

    result<void> commit(log::durability how) override { return end(engine_->commit(how, txn::commit_scope::declared)); }
    result<std::uint64_t> commit_async() override {
        auto version = engine_->submit(txn::commit_scope::declared);
        auto ended = end(version ? result<void>() : version.error());
        return ended ? std::move(version) : ended.error();
    }
    result<void> await(std::uint64_t version) override { return engine_->await(version, log::durability::durable); }
    result<void> sync() override { return engine_->sync(); }
    result<void> rollback() override { return end(engine_->rollback()); }
    void announce(const std::byte* first, std::uint64_t bytes) override {
        if (kind_ == sections::declared && !engine_->announce(first, bytes))
            std::abort();
    }
    result<void> checkpoint() override { return engine_->checkpoint(); }
    result<void> close() override { return engine_->close(); }
    void* allocate(std::uint64_t bytes) override {
        std::optional<failure> why;
        return engine_->allocate(bytes, k_alignment, why);
    }
    void deallocate(void* block, std::uint64_t bytes) override { engine_->deallocate(block, bytes, k_alignment); }
    std::byte* base() override { return engine_->base(); }
    std::uint64_t version() override { return engine_->version(); }
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
            engine_->begin_declared();
    }
    // A commit that failed for lack of room may be repeated, so its section goes on.
    result<void> end(result<void> done) {
        if (done) {
            engine_->end_declared();
            begin();
        }
        return done;
    }

    static constexpr std::uint64_t k_alignment = 16;
    std::unique_ptr<txn::engine> engine_;
    sections kind_;
};

} // namespace

txn::engine_options small_heap_options() {
    txn::engine_options options;
    options.reserve_bytes = 256 * MiB;
    options.chunk_bytes = 64 * KiB;
    options.base = k_base;
    options.log_limit_bytes = 1 * MiB;
    // No tracker has to do with the disk, and this one needs half the system calls; some states are tried with others.
    const char* const forced = std::getenv("REMANENCE_TRACKING");
    options.tracker = os::tracker_named(forced != nullptr ? forced : "fallback").value();
    return options;
}

open_function engine(txn::engine_options options, sections kind) {
    return [options = std::move(options), kind](os::file_system& files,
                                                const std::string& path) -> result<std::unique_ptr<store>> {
        auto opened = txn::engine::open(files, path, txn::open_mode::open_or_create, options, "crash tests");
        if (!opened)
            return opened.error();
        return std::unique_ptr<store>(std::make_unique<engine_store>(std::move(*opened), kind));
    };
}

} // namespace remanence::crash
