#include "testing/simulated_file.hpp"

#include "base/assert.hpp"
#include "base/range.hpp"
#include "os/lock_holders.hpp"
#include "testing/simulated_inode.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace remanence::simulation {

namespace {

using kind = disk_operation::kind;

bool all_zero(std::span<const std::byte> bytes) {
    static constexpr std::byte k_zeros[4096] = {}; // stays in the nearest cache
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), sizeof k_zeros)))
        if (std::memcmp(bytes.data(), k_zeros, std::min(bytes.size(), sizeof k_zeros)) != 0)
            return false;
    return true;
}

// Zeros are many, where files are prepared for use, and are not worth memory.
std::vector<std::byte> data_of(std::span<const std::byte> bytes) {
    if (all_zero(bytes))
        return {};
    return {bytes.begin(), bytes.end()};
}

} // namespace

simulated_file::simulated_file(simulated_disk& disk, std::uint32_t number, std::string path, os::access mode)
    : disk_(disk), number_(number), path_(std::move(path)), mode_(mode) {
    inode().open_count++;
    disk_.open_files_++;
}

simulated_file::~simulated_file() {
    const std::scoped_lock guard(disk_.mutex_);
    inode().locks.unlock_all(this);
    inode().open_count--;
    disk_.open_files_--;
}

result<void> simulated_file::read(std::uint64_t offset, std::span<std::byte> into) {
    const std::scoped_lock guard(disk_.mutex_);
    if (offset > inode().size || into.size() > inode().size - offset)
        return fail(errc::truncated, "the simulated os::file ends before what is read", path_, 0, offset);
    inode().contents->read(offset, into);
    return {};
}

result<void> simulated_file::write(os::call_site where, std::uint64_t offset, std::span<const std::byte> bytes) {
    return record(
        {.what = kind::write, .where = where, .offset = offset, .bytes = bytes.size(), .data = data_of(bytes)});
}

result<void> simulated_file::write_direct(os::call_site where, std::uint64_t offset, std::span<const std::byte> bytes) {
    REM_CHECK(is_aligned(offset, k_page_bytes) && is_aligned(bytes.size(), k_page_bytes));
    REM_CHECK(is_aligned(reinterpret_cast<std::uintptr_t>(bytes.data()), k_page_bytes));
    return record(
        {.what = kind::write_direct, .where = where, .offset = offset, .bytes = bytes.size(), .data = data_of(bytes)});
}

// Two operations, so that a power loss may come between them and tear the write.
result<void> simulated_file::write_durable(os::call_site where, os::call_site durable, std::uint64_t offset,
                                           std::span<const std::byte> bytes) {
    REM_CHECK(is_aligned(offset, k_sector_bytes) && is_aligned(bytes.size(), k_sector_bytes));
    REM_CHECK(is_aligned(reinterpret_cast<std::uintptr_t>(bytes.data()), k_page_bytes));
    if (!disk_.takes_durable_writes()) {
        REM_TRY(write(where, offset, bytes));
        return sync(durable);
    }
    REM_TRY(record(
        {.what = kind::write_direct, .where = where, .offset = offset, .bytes = bytes.size(), .data = data_of(bytes)}));
    return record({.what = kind::sync_written, .where = durable, .offset = offset, .bytes = bytes.size()});
}

result<void> simulated_file::sync(os::call_site where) { return record({.what = kind::sync, .where = where}); }

result<std::uint64_t> simulated_file::size() {
    const std::scoped_lock guard(disk_.mutex_);
    return inode().size;
}

result<void> simulated_file::resize(os::call_site where, std::uint64_t bytes) {
    return record({.what = kind::resize, .where = where, .bytes = bytes});
}

result<void> simulated_file::reserve(os::call_site where, std::uint64_t offset, std::uint64_t bytes) {
    return record({.what = kind::reserve, .where = where, .offset = offset, .bytes = bytes});
}

result<void> simulated_file::punch(os::call_site where, std::uint64_t offset, std::uint64_t bytes, os::unpunchable) {
    return record({.what = kind::punch, .where = where, .offset = offset, .bytes = bytes});
}

result<bool> simulated_file::is_hole(file_range range) {
    const std::scoped_lock guard(disk_.mutex_);
    return inode().contents->data_within(range).empty();
}

result<bool> simulated_file::try_lock(os::lock_kind wanted) {
    const std::scoped_lock guard(disk_.mutex_);
    return inode().locks.try_lock(os::k_lock_offset, wanted, this);
}

result<bool> simulated_file::is_locked_exclusively() {
    const std::scoped_lock guard(disk_.mutex_);
    return inode().locks.is_locked_exclusively_by_others(os::k_lock_offset, this);
}

/// Keeps the file open, as a descriptor does.
class simulated_file::locks final : public os::byte_locks {
public:
    explicit locks(std::unique_ptr<simulated_file> opening) : opening_(std::move(opening)) {}
    result<bool> try_lock(std::uint64_t byte, os::lock_kind kind) override {
        const std::scoped_lock guard(opening_->disk_.mutex_);
        return opening_->inode().locks.try_lock(byte, kind, opening_.get());
    }
    result<bool> lock(std::uint64_t byte, os::lock_kind kind, os::deadline until) override {
        while (!*try_lock(byte, kind)) {
            if (until && std::chrono::steady_clock::now() >= *until)
                return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return true;
    }
    void unlock(std::uint64_t first, std::uint64_t count) noexcept override {
        const std::scoped_lock guard(opening_->disk_.mutex_);
        opening_->inode().locks.unlock(first, count, opening_.get());
    }
    result<std::optional<std::uint64_t>> locked_by_others(std::uint64_t first, std::uint64_t count) override {
        const std::scoped_lock guard(opening_->disk_.mutex_);
        return opening_->inode().locks.locked_by_others(first, count, opening_.get());
    }

private:
    std::unique_ptr<simulated_file> opening_;
};

result<std::unique_ptr<os::byte_locks>> simulated_file::open_locks() {
    const std::scoped_lock guard(disk_.mutex_);
    return std::unique_ptr<os::byte_locks>(
        std::make_unique<locks>(std::make_unique<simulated_file>(disk_, number_, path_, mode_)));
}

result<std::shared_ptr<std::byte>> simulated_file::map_shared(std::size_t bytes, os::access /*protection*/) {
    const std::scoped_lock guard(disk_.mutex_);
    if (bytes > inode().size)
        return fail(errc::io, "the simulated os::file would be mapped beyond its end", path_);
    auto& memory = inode().shared_memory;
    if (!memory) {
        auto* const fresh = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{k_page_bytes}));
        std::memset(fresh, 0, bytes);
        memory = std::shared_ptr<std::byte>(
            fresh, [](std::byte* begin) { ::operator delete(begin, std::align_val_t{k_page_bytes}); });
    }
    return memory;
}

result<void> simulated_file::map_private(void* where, std::size_t bytes, std::uint64_t offset, os::access protection) {
    const int rights = protection == os::access::read_write ? PROT_READ | PROT_WRITE : PROT_READ;
    if (!disk_.allows_mappings_)
        return fail(errc::io, "the simulated os::file cannot be mapped", path_, ENOMEM, offset);
    // Memory behind the end of a file kills who touches it; here it would read as zeros.
    if (offset + bytes > align_up(inode().size, k_page_bytes))
        return fail(errc::io, "the simulated os::file would be mapped beyond its end", path_, 0, offset);
    const void* got = ::mmap(where, bytes, rights, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                             inode().contents->descriptor(offset + bytes), static_cast<off_t>(offset));
    if (got == MAP_FAILED)
        return fail(errc::io, "cannot map the simulated file", path_, errno, offset);
    return {};
}

result<bool> simulated_file::is_at(const std::string& path) {
    const std::scoped_lock guard(disk_.mutex_);
    return disk_.find(path) == number_;
}

result<os::present_name> simulated_file::find_name() {
    const std::scoped_lock guard(disk_.mutex_);
    if (disk_.find(path_) == number_)
        return os::present_name{true, path_};
    for (const auto& [path, number] : disk_.entries_)
        if (number == number_)
            return os::present_name{true, path};
    return os::present_name{false, {}};
}

simulated_disk::inode& simulated_file::inode() { return *disk_.inodes_[number_]; }

result<void> simulated_file::record(disk_operation operation) {
    const std::scoped_lock guard(disk_.mutex_);
    if (mode_ == os::access::read_only && !operation.is_sync())
        return fail(errc::permission_denied, "the simulated os::file is open for reading only", path_, EBADF);
    operation.inode = number_;
    if (auto done = disk_.record(std::move(operation)); !done) {
        unexpected why = done.error();
        why.why().path = path_;
        return why;
    }
    return {};
}

} // namespace remanence::simulation
