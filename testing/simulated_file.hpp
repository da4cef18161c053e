// An open file of a simulated disk: a handle on an inode. Private to that disk.
#pragma once

#include "base/range.hpp"
#include "testing/simulated_disk.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace remanence::simulation {

class simulated_file final : public os::file {
public:
    simulated_file(simulated_disk& disk, std::uint32_t number, std::string path, os::access mode);
    ~simulated_file() override;

    result<void> read(std::uint64_t offset, std::span<std::byte> into) override;
    result<void> write(os::call_site where, std::uint64_t offset, std::span<const std::byte> bytes) override;
    result<void> write_direct(os::call_site where, std::uint64_t offset, std::span<const std::byte> bytes) override;
    result<void> write_durable(os::call_site where, os::call_site durable, std::uint64_t offset,
                               std::span<const std::byte> bytes) override;
    result<void> sync(os::call_site where) override;
    void begin_sync(std::uint64_t, std::uint64_t) override {} // any write may get to the disk at any time
    result<std::uint64_t> size() override;
    result<void> resize(os::call_site where, std::uint64_t bytes) override;
    result<void> reserve(os::call_site where, std::uint64_t offset, std::uint64_t bytes) override;
    result<void> punch(os::call_site where, std::uint64_t offset, std::uint64_t bytes,
                       os::unpunchable otherwise) override;
    result<bool> is_hole(file_range range) override;
    result<bool> try_lock(os::lock_kind wanted) override;
    result<bool> is_locked_exclusively() override;
    result<void> map_private(void* where, std::size_t bytes, std::uint64_t offset, os::access protection) override;
    [[nodiscard]] const std::string& path() const override { return path_; }
    result<std::unique_ptr<os::byte_locks>> open_locks() override;
    result<std::shared_ptr<std::byte>> map_shared(std::size_t bytes, os::access protection) override;
    result<os::file_identity> identity() override {
        return os::file_identity{.device = 1, .inode = number_, .reached_by = disk_.reached_by_};
    }
    result<unsigned> permissions() override { return 0666U; }
    result<bool> is_at(const std::string& path) override;
    result<os::present_name> find_name() override;

private:
    class locks;
    simulated_disk::inode& inode();
    result<void> record(disk_operation operation);

    simulated_disk& disk_;
    std::uint32_t number_;
    std::string path_;
    os::access mode_;
};

} // namespace remanence::simulation
