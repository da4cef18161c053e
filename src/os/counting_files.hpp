// Counts, for statistics, what is written to the files of another file system.
#pragma once

#include "os/file.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace remanence::os {

class counting_files final : public file_system {
public:
    /// `below` must outlive this object, which must outlive the files that it opens.
    explicit counting_files(file_system& below) : below_(below) {}

    /// Returns the bytes passed to write(), write_direct() and write_durable() so far, including calls that failed.
    [[nodiscard]] std::uint64_t written_bytes() const { return written_bytes_.load(std::memory_order_relaxed); }
    /// Returns how many calls have waited for the device: syncs of files and directories, durable writes.
    [[nodiscard]] std::uint64_t syncs() const { return syncs_.load(std::memory_order_relaxed); }

    result<std::unique_ptr<file>> open(const std::string& path, access mode) override;
    result<std::unique_ptr<file>> open_or_create(const std::string& path, unsigned mode) override;
    result<bool> exists(const std::string& path) override { return below_.exists(path); }
    result<bool> has_directory(const std::string& path) override { return below_.has_directory(path); }
    result<void> rename_to_new(call_site where, const std::string& from, const std::string& to) override {
        return below_.rename_to_new(where, from, to);
    }
    result<void> rename_over(call_site where, const std::string& from, const std::string& to) override {
        return below_.rename_over(where, from, to);
    }
    result<void> remove(call_site where, const std::string& path, file& which) override {
        return below_.remove(where, path, which);
    }
    result<void> sync_directory(call_site where, const std::string& path) override {
        count_sync();
        return below_.sync_directory(where, path);
    }

private:
    class counting_file;
    void count_written(std::uint64_t bytes) { written_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
    void count_sync() { syncs_.fetch_add(1, std::memory_order_relaxed); }

    file_system& below_;
    std::atomic<std::uint64_t> written_bytes_ = 0;
    std::atomic<std::uint64_t> syncs_ = 0;
};

} // namespace remanence::os
