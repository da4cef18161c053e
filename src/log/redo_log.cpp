#include "log/redo_log.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "store/heap_creation.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace remanence::log {

namespace {

result<void> write_zeros(os::site where, os::file& file, std::uint64_t from, std::uint64_t to) {
    static const std::vector<std::byte> zeros(256 * KiB);
    while (from < to) {
        auto bytes = std::span(zeros).first(static_cast<std::size_t>(std::min<std::uint64_t>(zeros.size(), to - from)));
        REM_TRY(file.write(where, from, bytes));
        from += bytes.size();
    }
    return {};
}

} // namespace

result<std::unique_ptr<redo_log>> redo_log::create(os::file_system& files, const std::string& heap_path,
                                                   const uuid& heap, std::uint64_t epoch,
                                                   std::uint64_t superblock_sequence, unsigned mode) {
    const std::string path = store::log_path(heap_path);
    auto file = files.open_or_create(path, mode);
    if (!file)
        return file.error();
    const std::uint64_t size = format::k_log_header_bytes + format::k_log_segment_bytes;
    auto build = [&]() -> result<void> {
        REM_TRY((*file)->resize("log: empty", 0));
        format::log_header header{};
        header.magic = format::k_log_magic;
        header.format_version = 1;
        header.uuid = heap;
        header.epoch = epoch;
        header.superblock_sequence = superblock_sequence;
        header.checksum =
            checksum64(std::as_bytes(std::span(&header, 1)).first(offsetof(format::log_header, checksum)));
        REM_TRY((*file)->write("log: header", 0, std::as_bytes(std::span(&header, 1))));
        REM_TRY(write_zeros("log: zeros of first segment", **file, format::k_log_header_bytes, size));
        REM_TRY((*file)->sync("log: sync new log"));
        return files.sync_directory("log: sync directory of new log", path);
    };
    if (auto built = build(); !built) {
        (void)files.remove("log: remove failed log", path); // best effort: the error at hand is the one that counts
        return built.error();
    }
    return std::unique_ptr<redo_log>(new redo_log(std::move(*file), size));
}

result<void> redo_log::reserve(std::uint64_t record_bytes) {
    std::uint64_t end = end_ + record_bytes;
    if (end <= size_)
        return {};
    std::uint64_t grown =
        align_up(end - format::k_log_header_bytes, format::k_log_segment_bytes) + format::k_log_header_bytes;
    REM_TRY(file_->reserve("log: reserve segments", size_, grown - size_));
    // Written before use, so that later commits change no metadata; the record at hand writes its own part, and syncs
    // both.
    REM_TRY(write_zeros("log: zeros of segments", *file_, end, grown));
    size_ = grown;
    has_grown_ = true;
    return {};
}

result<void> redo_log::append(std::span<const std::byte> record) {
    REM_CHECK(end_ + record.size() <= size_);
    if (has_grown_) {
        REM_TRY(file_->write("log: first record in segment", end_, record));
        REM_TRY(file_->sync("log: sync segment"));
        has_grown_ = false;
    } else {
        REM_TRY(file_->write_durable("log: record", "log: sync record", end_, record));
    }
    end_ += record.size();
    return {};
}

} // namespace remanence::log
