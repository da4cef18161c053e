#include "os/seeded_scheduler.hpp"

#include <algorithm>
#include <iterator>

namespace remanence::os {

class seeded_scheduler::scheduled_file final : public file {
public:
    scheduled_file(seeded_scheduler& owner, std::unique_ptr<file> below) : owner_(owner), below_(std::move(below)) {}

    result<void> write(site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        owner_.come_to(where);
        return below_->write(where, offset, bytes);
    }
    result<void> write_direct(site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        owner_.come_to(where);
        return below_->write_direct(where, offset, bytes);
    }
    result<void> write_durable(site where, site durable, std::uint64_t offset,
                               std::span<const std::byte> bytes) override {
        owner_.come_to(where);
        return below_->write_durable(where, durable, offset, bytes);
    }
    result<void> resize(site where, std::uint64_t bytes) override {
        owner_.come_to(where);
        return below_->resize(where, bytes);
    }
    result<void> reserve(site where, std::uint64_t offset, std::uint64_t bytes) override {
        owner_.come_to(where);
        return below_->reserve(where, offset, bytes);
    }
    result<void> punch(site where, std::uint64_t offset, std::uint64_t bytes, unpunchable otherwise) override {
        owner_.come_to(where);
        return below_->punch(where, offset, bytes, otherwise);
    }

    result<void> sync(site where) override { return below_->sync(where); }
    void begin_sync(std::uint64_t offset, std::uint64_t bytes) override { below_->begin_sync(offset, bytes); }
    result<void> read(std::uint64_t offset, std::span<std::byte> into) override { return below_->read(offset, into); }
    result<std::uint64_t> size() override { return below_->size(); }
    result<bool> is_hole(byte_range range) override { return below_->is_hole(range); }
    result<bool> try_lock(lock_kind kind) override { return below_->try_lock(kind); }
    void unlock() override { below_->unlock(); }
    result<void> map_private(void* where, std::size_t bytes, std::uint64_t offset, access protection) override {
        return below_->map_private(where, bytes, offset, protection);
    }
    result<unsigned> permissions() override { return below_->permissions(); }
    result<bool> is_at(const std::string& path) override { return below_->is_at(path); }
    [[nodiscard]] const std::string& path() const override { return below_->path(); }

private:
    seeded_scheduler& owner_;
    std::unique_ptr<file> below_;
};

result<std::unique_ptr<file>> seeded_scheduler::wrap(result<std::unique_ptr<file>> opened) {
    if (!opened)
        return opened;
    return std::unique_ptr<file>(std::make_unique<scheduled_file>(*this, std::move(*opened)));
}

void seeded_scheduler::schedule(std::uint64_t seed, std::function<void()> step, std::vector<std::string_view> own) {
    dice_.seed(seed);
    step_ = std::move(step);
    own_ = std::move(own);
    begin_run();
}

void seeded_scheduler::begin_run() {
    static constexpr std::uint64_t k_rarities[] = {1, 1, 2, 4, 16, 1000};
    one_in_ = k_rarities[below(std::size(k_rarities))];
}

void seeded_scheduler::come_by() {
    if (!step_ || is_at_it_ || below(one_in_) != 0)
        return;
    is_at_it_ = true;
    step_();
    is_at_it_ = false;
}

void seeded_scheduler::come_to(site where) {
    if (std::ranges::find(own_, std::string_view(where)) == own_.end())
        come_by();
}

} // namespace remanence::os
