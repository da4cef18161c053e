// Implements sharing: the writer lock, readers beside the writer, and following of other processes' commits.
#pragma once

#include "os/quick_mutex.hpp"
#include "txn/follower.hpp"
#include "txn/sharing.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace remanence::txn {

class shared_heap final : public sharing {
public:
    shared_heap(share::coordination& protocol, const sharing_needs& needs)
        : sharing(protocol), needs_(needs), follower_(protocol, needs.store, needs.view, needs.session) {}
    static std::unique_ptr<sharing> make(share::coordination& protocol, const sharing_needs& needs) {
        return std::make_unique<shared_heap>(protocol, needs);
    }

    result<bool> take_writer_lock(share::deadline until) override;
    result<bool> take_writer_lock_if_current() override;
    void release_writer_lock() noexcept override;
    [[nodiscard]] bool begin_read(std::uint64_t at_least) override;
    void end_read() noexcept override;
    result<void> let_checkpoint_pass() override;
    result<void> catch_up() override;

    void tell(history_follower& history) override { follower_.tell(history); }
    result<void> begin(const share::current_checkpoint& current) override { return follower_.begin(current); }
    [[nodiscard]] share::visible_commit state() const override { return follower_.state(); }
    result<void> follow_superblock() override { return follower_.follow_superblock(); }
    result<void> catch_up_alone() override { return follower_.catch_up_alone(); }
    void fall_out() noexcept override;

private:
    void tell_of_poison() noexcept;
    result<bool> follow_as_writer(bool takes_over);
    void give_up_writer_lock() noexcept;
    enum class before { reading, writing, taking_over };
    result<void> follow(before what);
    result<void> follow_locked(before what);
    result<void> follow_others(before what);
    result<void> refuse_stray_changes(const std::vector<heap_range>* where);
    result<bool> find_stray_changes(const std::vector<heap_range>* where);
    [[nodiscard]] bool is_image_newer() const;
    [[nodiscard]] bool is_reading();
    std::optional<std::uint64_t> read_on();

    const sharing_needs needs_;
    follower follower_;
    bool is_of_no_version_ = false; // parts of memory are of different versions
    os::quick_mutex reading_;       // guards readers_
    std::uint64_t readers_ = 0;     // number of threads in read sections
};

} // namespace remanence::txn
