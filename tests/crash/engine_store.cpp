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
    explicit engine_store(std::unique_ptr<txn::engine> opened) : engine_(std::move(opened)) {}

    result<void> commit(log::durability how) override { return engine_->commit(how); }
    result<void> sync() override { return engine_->sync(); }
    result<void> rollback() override { return engine_->rollback(); }
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
    static constexpr std::uint64_t k_alignment = 16;
    std::unique_ptr<txn::engine> engine_;
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

open_function engine(txn::engine_options options) {
    return [options = std::move(options)](os::file_system& files,
                                          const std::string& path) -> result<std::unique_ptr<store>> {
        auto opened = txn::engine::open(files, path, txn::open_mode::open_or_create, options, "crash tests");
        if (!opened)
            return opened.error();
        return std::unique_ptr<store>(std::make_unique<engine_store>(std::move(*opened)));
    };
}

} // namespace remanence::crash
