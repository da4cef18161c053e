#include "os/counting_files.hpp"

#include "base/range.hpp"

#include <utility>

namespace remanence::os {

class counting_files::counting_file final : public file {
public:
    counting_file(counting_files& counts, std::unique_ptr<file> below) : counts_(counts), below_(std::move(below)) {}

    result<void> write(call_site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        counts_.count_written(bytes.size());
        return below_->write(where, offset, bytes);
    }
    result<void> write_direct(call_site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        counts_.count_written(bytes.size());
        return below_->write_direct(where, offset, bytes);
    }
    result<void> write_durable(call_site where, call_site durable, std::uint64_t offset,
                               std::span<const std::byte> bytes) override {
        counts_.count_written(bytes.size());
        counts_.count_sync();
        return below_->write_durable(where, durable, offset, bytes);
    }
    result<void> sync(call_site where) override {
        counts_.count_sync();
        return below_->sync(where);
    }

    void will_read(std::uint64_t offset, std::uint64_t bytes) override { below_->will_read(offset, bytes); }
    void begin_sync(std::uint64_t offset, std::uint64_t bytes) override { below_->begin_sync(offset, bytes); }
    result<void> read(std::uint64_t offset, std::span<std::byte> into) override { return below_->read(offset, into); }
    result<std::uint64_t> size() override { return below_->size(); }
    result<void> resize(call_site where, std::uint64_t bytes) override { return below_->resize(where, bytes); }
    result<void> reserve(call_site where, std::uint64_t offset, std::uint64_t bytes) override {
        return below_->reserve(where, offset, bytes);
    }
    result<void> punch(call_site where, std::uint64_t offset, std::uint64_t bytes, unpunchable otherwise) override {
        return below_->punch(where, offset, bytes, otherwise);
    }
    [[nodiscard]] bool fills_holes_when_read() override { return below_->fills_holes_when_read(); }
    result<bool> is_hole(file_range range) override { return below_->is_hole(range); }
    result<bool> try_lock(lock_kind kind) override { return below_->try_lock(kind); }
    result<bool> is_locked_exclusively() override { return below_->is_locked_exclusively(); }
    result<void> map_private(void* where, std::size_t bytes, std::uint64_t offset, access protection) override {
        return below_->map_private(where, bytes, offset, protection);
    }
    result<std::unique_ptr<byte_locks>> open_locks() override { return below_->open_locks(); }
    result<std::shared_ptr<std::byte>> map_shared(std::size_t bytes, access protection) override {
        return below_->map_shared(bytes, protection);
    }
    result<file_identity> identity() override { return below_->identity(); }
    result<unsigned> permissions() override { return below_->permissions(); }
    result<bool> is_at(const std::string& path) override { return below_->is_at(path); }
    result<present_name> find_name() override { return below_->find_name(); }
    [[nodiscard]] const std::string& path() const override { return below_->path(); }

private:
    counting_files& counts_;
    std::unique_ptr<file> below_;
};

result<std::unique_ptr<file>> counting_files::open(const std::string& path, access mode) {
    auto opened = below_.open(path, mode);
    if (!opened)
        return opened.error();
    return std::unique_ptr<file>(std::make_unique<counting_file>(*this, std::move(*opened)));
}

result<std::unique_ptr<file>> counting_files::open_or_create(const std::string& path, unsigned mode) {
    auto opened = below_.open_or_create(path, mode);
    if (!opened)
        return opened.error();
    return std::unique_ptr<file>(std::make_unique<counting_file>(*this, std::move(*opened)));
}

} // namespace remanence::os
