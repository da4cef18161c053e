#include "stepping_files.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace remanence::crash {

class stepping_files::stepping_file final : public os::file {
public:
    stepping_file(stepping_files& owner, std::unique_ptr<os::file> below) : owner_(owner), below_(std::move(below)) {}

    result<void> write(os::site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        owner_.come_to(where);
        return below_->write(where, offset, bytes);
    }
    result<void> write_direct(os::site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        owner_.come_to(where);
        return below_->write_direct(where, offset, bytes);
    }
    result<void> write_durable(os::site where, os::site durable, std::uint64_t offset,
                               std::span<const std::byte> bytes) override {
        owner_.come_to(where);
        return below_->write_durable(where, durable, offset, bytes);
    }
    result<void> resize(os::site where, std::uint64_t bytes) override {
        owner_.come_to(where);
        return below_->resize(where, bytes);
    }
    result<void> reserve(os::site where, std::uint64_t offset, std::uint64_t bytes) override {
        owner_.come_to(where);
        return below_->reserve(where, offset, bytes);
    }
    result<void> punch(os::site where, std::uint64_t offset, std::uint64_t bytes, os::unpunchable otherwise) override {
        owner_.come_to(where);
        return below_->punch(where, offset, bytes, otherwise);
    }

    result<void> sync(os::site where) override { return below_->sync(where); }
    void begin_sync(std::uint64_t offset, std::uint64_t bytes) override { below_->begin_sync(offset, bytes); }
    result<void> read(std::uint64_t offset, std::span<std::byte> into) override { return below_->read(offset, into); }
    result<std::uint64_t> size() override { return below_->size(); }
    result<bool> try_lock(os::lock_kind kind) override { return below_->try_lock(kind); }
    void unlock() override { below_->unlock(); }
    result<void> map_private(void* where, std::size_t bytes, std::uint64_t offset, os::access protection) override {
        return below_->map_private(where, bytes, offset, protection);
    }
    result<unsigned> permissions() override { return below_->permissions(); }
    result<bool> is_at(const std::string& path) override { return below_->is_at(path); }
    [[nodiscard]] const std::string& path() const override { return below_->path(); }

private:
    stepping_files& owner_;
    std::unique_ptr<os::file> below_;
};

result<std::unique_ptr<os::file>> stepping_files::wrap(result<std::unique_ptr<os::file>> opened) {
    if (!opened)
        return opened;
    return std::unique_ptr<os::file>(std::make_unique<stepping_file>(*this, std::move(*opened)));
}

void stepping_files::come_to(os::site where) {
    static constexpr std::array<std::string_view, 4> k_of_checkpoints = {"store: fold", "store: checksum table",
                                                                         "store: chunk map", "store: superblock"};
    if (before_each_ && std::ranges::find(k_of_checkpoints, std::string_view(where)) == k_of_checkpoints.end())
        before_each_();
}

} // namespace remanence::crash
