// A heap that somebody is writing to, on a simulated disk; copies of it, and what they must hold.
#pragma once

#include "inspect/last_commit.hpp"
#include "store/heap_copy.hpp"
#include "testing/simulated_disk.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace remanence::inspect::live {

inline constexpr const char* k_path = "dir/heap";
inline constexpr const char* k_copy = "dir/copy";

/// A program that writes to a heap, and what it committed.
class writer {
public:
    enum class checkpoints { when_asked_for, beside_commits };
    explicit writer(os::file_system& files, checkpoints how = checkpoints::when_asked_for) : files_(files), how_(how) {
        states_.emplace_back();
        open();
        blocks_.push_back(allocate(k_first_block_pages * k_page_bytes));
        set(0, 1);
        commit();
    }

    void open() {
        txn::engine_options options;
        options.reserve_bytes = 64 * MiB;
        options.chunk_bytes = 64 * KiB;
        if (how_ == checkpoints::beside_commits)
            options.log_limit_bytes = 8 * KiB;
        auto opened = txn::engine::open(files_, k_path, txn::open_mode::open_or_create, options, "abi");
        if (!opened)
            throw std::runtime_error(opened.why().message); // there is nothing that its methods could do without
        engine_ = std::move(*opened);
        if (how_ == checkpoints::beside_commits)
            engine_->let_checkpoints_be_carried_out([] { return true; });
    }
    /// Of a checkpoint beside commits: a page, or all of them.
    void step(std::uint64_t bytes = k_page_bytes) { EXPECT_TRUE(engine_->step_checkpoint(bytes)); }
    [[nodiscard]] bool is_in_checkpoint() const { return engine_->stats().checkpoint.total_bytes != 0; }
    /// A page of the first block gets a value.
    void set(std::uint64_t page, unsigned value) { put(blocks_[0] + page * k_page_bytes, value); }
    /// All of the first block changes, so that its chunks move.
    void rewrite(unsigned value) {
        std::byte* const block = engine_->memory().base() + blocks_[0];
        for (std::uint64_t page = 0; page < k_first_block_pages; ++page) {
            std::memset(block + page * k_page_bytes, static_cast<int>(value + page), k_page_bytes);
            set(page, value);
        }
    }
    void grow(unsigned value) {
        blocks_.push_back(allocate(70 * KiB));
        put(blocks_.back(), value);
    }
    /// Undoes the last grow().
    void shrink() {
        engine_->memory().deallocate(engine_->memory().base() + blocks_.back(), 70 * KiB, 16);
        next_.erase(blocks_.back());
        blocks_.pop_back();
    }
    bool commit() {
        states_.push_back(next_);
        if (!engine_->commit())
            return false;
        acknowledged_ = engine_->version();
        EXPECT_EQ(acknowledged_ + 1, states_.size());
        return true;
    }
    bool checkpoint() {
        const bool is_made = static_cast<bool>(engine_->checkpoint());
        note_what_was_given_back();
        return is_made;
    }
    bool close() {
        const bool closed = static_cast<bool>(engine_->close());
        note_what_was_given_back();
        engine_.reset();
        return closed;
    }
    /// As by a signal: the files stay as they are.
    void die() { engine_.reset(); }
    [[nodiscard]] bool is_open() const { return engine_ != nullptr; }
    [[nodiscard]] std::uint64_t checkpoints_made() const { return engine_->stats().checkpoints; }

    [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
    /// The last one that was begun.
    [[nodiscard]] std::uint64_t begun() const { return states_.size() - 1; }
    /// Byte by heap offset, as of a commit.
    [[nodiscard]] const std::map<std::uint64_t, unsigned>& state(std::uint64_t version) const {
        return states_[version];
    }
    [[nodiscard]] std::uint64_t block() const { return blocks_[0]; }

private:
    /// By a commit that changes nothing else.
    void note_what_was_given_back() {
        if (engine_->version() < states_.size())
            return;
        states_.push_back(states_.back());
        acknowledged_ = engine_->version();
        EXPECT_EQ(acknowledged_ + 1, states_.size());
    }
    std::uint64_t allocate(std::uint64_t bytes) {
        std::optional<unexpected> why;
        auto* block = static_cast<std::byte*>(engine_->memory().allocate(bytes, 16, why));
        EXPECT_NE(block, nullptr);
        return static_cast<std::uint64_t>(block - engine_->memory().base());
    }
    void put(std::uint64_t offset, unsigned value) {
        engine_->memory().base()[offset] = static_cast<std::byte>(value);
        next_[offset] = value % 256;
    }

    static constexpr std::uint64_t k_first_block_pages = 100;

    os::file_system& files_;
    checkpoints how_;
    std::unique_ptr<txn::engine> engine_;
    std::vector<std::uint64_t> blocks_;
    std::map<std::uint64_t, unsigned> next_;
    std::vector<std::map<std::uint64_t, unsigned>> states_;
    std::uint64_t acknowledged_ = 0;
};

inline result<void> copy_heap(os::file_system& files, std::uint64_t attempts = 50) {
    std::unique_ptr<store::copy_in_progress> copy;
    auto source = with_last_commit(files, k_path, attempts, {}, [&](inspection& heap) -> result<void> {
        if (!heap.problems().empty())
            return unexpected(heap.problems().front());
        if (auto header = heap.header(); !header) // what was looked at before must not be taken for what is copied
            return header.error();
        if (!copy) {
            auto begun = store::copy_in_progress::begin(files, k_copy, 0600);
            if (!begun)
                return begun.error();
            copy = std::move(*begun);
        }
        return copy->update(heap.store(), {});
    });
    if (!source)
        return source.error();
    if (!(*source)->problems().empty())
        return unexpected((*source)->problems().front());
    return copy->finish(store::existing::refused);
}

/// The copy is one commit, as a whole, and not an old one; which. It is removed.
inline std::uint64_t check_copy(simulation::simulated_disk& disk, const writer& program,
                                std::uint64_t acknowledged_before) {
    std::uint64_t version = 0;
    {
        auto heap = inspection::open(disk, k_copy, {});
        EXPECT_TRUE(heap) << heap.why().message;
        if (!heap)
            return 0;
        auto parts = (*heap)->check_all({});
        EXPECT_TRUE(parts) << parts.why().message;
        EXPECT_TRUE((*heap)->problems().empty()) << (*heap)->problems().front().message;
        EXPECT_TRUE((*heap)->store().is_clean());
        version = (*heap)->version();
        EXPECT_GE(version, acknowledged_before);
        EXPECT_LE(version, program.begun());
        if (version <= program.begun()) {
            for (const auto& [offset, value] : program.state(version)) {
                auto byte = (*heap)->at(offset, 1);
                EXPECT_TRUE(byte) << byte.why().message;
                if (byte) {
                    EXPECT_EQ(static_cast<unsigned>(**byte), value) << "at " << offset << " of commit " << version;
                }
            }
            for (const auto& [offset, value] : program.state(program.begun())) { // what came later is not there
                auto byte = (*heap)->at(offset, 1);
                if (!program.state(version).contains(offset) && (*heap)->contains(offset, 1)) {
                    EXPECT_TRUE(byte && **byte == std::byte{0});
                }
            }
        }
    }
    EXPECT_FALSE(*disk.exists(store::new_path(k_copy)));
    EXPECT_TRUE(disk.remove("test", k_copy));
    return version;
}

} // namespace remanence::inspect::live
