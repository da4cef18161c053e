#include "os/simulated_disk.hpp"

#include "base/assert.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

namespace remanence::os {

namespace {

using kind = disk_operation::kind;

constexpr std::uint64_t k_copied_whole_bytes_max =
    64 * KiB; // longer ranges are searched for holes before they are saved

std::string_view directory_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

const char* name_of(kind what) {
    switch (what) {
    case kind::write:
        return "write";
    case kind::write_direct:
        return "write_direct";
    case kind::resize:
        return "resize";
    case kind::reserve:
        return "reserve";
    case kind::punch:
        return "punch";
    case kind::sync:
        return "sync";
    case kind::create:
        return "create";
    case kind::rename:
        return "rename";
    case kind::remove:
        return "remove";
    case kind::sync_directory:
        return "sync_directory";
    case kind::marker:
        return "marker";
    }
    return "?";
}

off_t file_offset(std::uint64_t offset) { return static_cast<off_t>(offset); }

// The host's own failures (no memory, no descriptors) end the test: they are not what it simulates.
void fill(int memfd, std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::pwrite(memfd, bytes.data(), bytes.size(), file_offset(offset));
        if (n < 0 && errno == EINTR)
            continue;
        REM_CHECK(n > 0);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
}

void fetch(int memfd, std::uint64_t offset, std::span<std::byte> into) {
    while (!into.empty()) {
        const ssize_t n = ::pread(memfd, into.data(), into.size(), file_offset(offset));
        if (n < 0 && errno == EINTR)
            continue;
        REM_CHECK(n > 0);
        into = into.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
}

void zero(int memfd, byte_range range) {
    if (range.bytes == 0)
        return;
    REM_CHECK(::fallocate(memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, file_offset(range.offset),
                          file_offset(range.bytes)) == 0);
}

bool all_zero(std::span<const std::byte> bytes) {
    return bytes.empty() ||
           (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// Zeros are many, where files are prepared for use, and are not worth memory.
std::vector<std::byte> data_of(std::span<const std::byte> bytes) {
    if (all_zero(bytes))
        return {};
    return {bytes.begin(), bytes.end()};
}

void set_size(int memfd, std::uint64_t bytes) { REM_CHECK(::ftruncate(memfd, file_offset(bytes)) == 0); }

// Blocks of a file that take up space: disjoint ranges, never adjacent.
class block_set {
public:
    static byte_range blocks_of(byte_range range) {
        const std::uint64_t begin = align_down(range.offset, k_page_bytes);
        return {begin, align_up(range.end(), k_page_bytes) - begin};
    }
    void add(byte_range range) {
        if (range.bytes == 0)
            return;
        remove(range);
        std::uint64_t begin = range.offset;
        std::uint64_t end = range.end();
        if (const auto next = ends_.find(end); next != ends_.end()) {
            end = next->second;
            ends_.erase(next);
        }
        if (const auto after = ends_.lower_bound(begin); after != ends_.begin()) {
            if (const auto before = std::prev(after); before->second == begin)
                begin = before->first;
        }
        ends_[begin] = end;
        bytes_ += range.bytes;
    }
    void remove(byte_range range) {
        auto it = ends_.upper_bound(range.offset);
        if (it != ends_.begin())
            --it;
        while (it != ends_.end() && it->first < range.end()) {
            const auto [begin, end] = *it;
            const std::uint64_t cut_begin = std::max(begin, range.offset);
            const std::uint64_t cut_end = std::min(end, range.end());
            if (cut_begin >= cut_end) {
                ++it;
                continue;
            }
            it = ends_.erase(it);
            if (begin < cut_begin)
                ends_[begin] = cut_begin;
            if (cut_end < end)
                it = ends_.emplace(cut_end, end).first;
            bytes_ -= cut_end - cut_begin;
        }
    }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

private:
    std::map<std::uint64_t, std::uint64_t> ends_; // begin → end
    std::uint64_t bytes_ = 0;
};

} // namespace

std::uint32_t disk_operation::sectors() const {
    if (!is_write() || bytes == 0)
        return 0;
    return static_cast<std::uint32_t>((offset + bytes - 1) / k_sector_bytes - offset / k_sector_bytes + 1);
}

std::string disk_operation::describe() const {
    std::string text = name_of(what);
    if (failed)
        text += " (failed)";
    if (*where != '\0')
        text += std::string(" \"") + where + '"';
    if (!path.empty())
        text += ' ' + path;
    if (!to.empty())
        text += " to " + to;
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, " inode %u [%llu, +%llu)", inode, static_cast<unsigned long long>(offset),
                  static_cast<unsigned long long>(bytes));
    return text + numbers;
}

struct simulated_disk::inode {
    int memfd;
    std::uint64_t size = 0;
    std::size_t open_count = 0;
    std::size_t shared_locks = 0;
    bool exclusive_lock = false;
    block_set blocks{}; // kept only when space is limited
};

struct simulated_disk::change {
    enum class kind { content, entry, inode };
    struct extent {
        std::uint64_t offset;
        std::vector<std::byte> bytes;
    };
    kind what;
    std::uint32_t number; // of the inode; of an entry: the one it named before
    std::uint64_t size = 0;
    byte_range zeroed{}; // made zero before `saved` is put back
    std::vector<extent> saved{};
    std::string path{};
    std::optional<block_set> blocks{};
};

/// An open file: a handle on an inode.
class simulated_file final : public file {
public:
    simulated_file(simulated_disk& disk, std::uint32_t number, std::string path, access mode)
        : disk_(disk), number_(number), path_(std::move(path)), mode_(mode) {
        inode().open_count++;
        disk_.open_files_++;
    }
    ~simulated_file() override {
        const std::scoped_lock guard(disk_.mutex_);
        release();
        inode().open_count--;
        disk_.open_files_--;
    }

    result<void> read(std::uint64_t offset, std::span<std::byte> into) override {
        const std::scoped_lock guard(disk_.mutex_);
        if (offset > inode().size || into.size() > inode().size - offset)
            return fail(errc::truncated, "the simulated file ends before what is read", path_, 0, offset);
        fetch(inode().memfd, offset, into);
        return {};
    }
    result<void> write(site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        return record(
            {.what = kind::write, .where = where, .offset = offset, .bytes = bytes.size(), .data = data_of(bytes)});
    }
    result<void> write_direct(site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        REM_CHECK(is_aligned(offset, k_page_bytes) && is_aligned(bytes.size(), k_page_bytes));
        REM_CHECK(is_aligned(reinterpret_cast<std::uintptr_t>(bytes.data()), k_page_bytes));
        return record({.what = kind::write_direct,
                       .where = where,
                       .offset = offset,
                       .bytes = bytes.size(),
                       .data = data_of(bytes)});
    }
    result<void> sync(site where) override { return record({.what = kind::sync, .where = where}); }
    result<std::uint64_t> size() override {
        const std::scoped_lock guard(disk_.mutex_);
        return inode().size;
    }
    result<void> resize(site where, std::uint64_t bytes) override {
        return record({.what = kind::resize, .where = where, .bytes = bytes});
    }
    result<void> reserve(site where, std::uint64_t offset, std::uint64_t bytes) override {
        return record({.what = kind::reserve, .where = where, .offset = offset, .bytes = bytes});
    }
    result<void> punch(site where, std::uint64_t offset, std::uint64_t bytes) override {
        return record({.what = kind::punch, .where = where, .offset = offset, .bytes = bytes});
    }

    result<bool> try_lock(lock_kind wanted) override {
        const std::scoped_lock guard(disk_.mutex_);
        auto& locked = inode();
        const std::size_t shared_by_others = locked.shared_locks - (held_ == lock_kind::shared ? 1 : 0);
        const bool exclusive_by_others = locked.exclusive_lock && held_ != lock_kind::exclusive;
        if (exclusive_by_others || (wanted == lock_kind::exclusive && shared_by_others > 0))
            return false;
        release();
        held_ = wanted;
        if (wanted == lock_kind::shared)
            locked.shared_locks++;
        else
            locked.exclusive_lock = true;
        return true;
    }
    void unlock() override {
        const std::scoped_lock guard(disk_.mutex_);
        release();
    }

    result<void> map_private(void* where, std::size_t bytes, std::uint64_t offset, access protection) override {
        const int rights = protection == access::read_write ? PROT_READ | PROT_WRITE : PROT_READ;
        const void* got =
            ::mmap(where, bytes, rights, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, inode().memfd, file_offset(offset));
        if (got == MAP_FAILED)
            return fail(errc::io, "cannot map the simulated file", path_, errno, offset);
        return {};
    }

    [[nodiscard]] const std::string& path() const override { return path_; }
    result<unsigned> permissions() override { return 0666U; }
    result<bool> is_at(const std::string& path) override {
        const std::scoped_lock guard(disk_.mutex_);
        return disk_.find(path) == number_;
    }

private:
    simulated_disk::inode& inode() { return *disk_.inodes_[number_]; }
    result<void> record(disk_operation operation) {
        const std::scoped_lock guard(disk_.mutex_);
        if (mode_ == access::read_only && !operation.is_sync())
            return fail(errc::permission_denied, "the simulated file is open for reading only", path_, EBADF);
        operation.inode = number_;
        if (auto done = disk_.record(std::move(operation)); !done) {
            unexpected why = done.error();
            why.why().path = path_;
            return why;
        }
        return {};
    }
    void release() {
        if (held_ == lock_kind::shared)
            inode().shared_locks--;
        if (held_ == lock_kind::exclusive)
            inode().exclusive_lock = false;
        held_.reset();
    }

    simulated_disk& disk_;
    std::uint32_t number_;
    std::string path_;
    access mode_;
    std::optional<lock_kind> held_;
};

simulated_disk::simulated_disk() = default;

simulated_disk::~simulated_disk() {
    for (const auto& file : inodes_)
        if (file)
            ::close(file->memfd);
    for (const int memfd : memfd_pool_)
        ::close(memfd);
}

int simulated_disk::new_memfd() {
    if (!memfd_pool_.empty()) {
        const int memfd = memfd_pool_.back();
        memfd_pool_.pop_back();
        return memfd;
    }
    const int memfd = ::memfd_create("simulated disk", MFD_CLOEXEC);
    REM_CHECK(memfd >= 0);
    return memfd;
}

std::uint32_t simulated_disk::find(const std::string& path) const {
    const auto entry = entries_.find(path);
    return entry == entries_.end() ? k_no_inode : entry->second;
}

simulated_disk::inode& simulated_disk::inode_of(std::uint32_t number) {
    if (number >= inodes_.size())
        inodes_.resize(number + std::size_t{1});
    if (!inodes_[number]) {
        inodes_[number] = std::make_unique<inode>(inode{.memfd = new_memfd()});
        changes_.push_back({.what = change::kind::inode, .number = number});
    }
    return *inodes_[number];
}

std::unique_ptr<file> simulated_disk::open_inode(std::uint32_t number, const std::string& path, access mode) {
    inode_of(number);
    return std::make_unique<simulated_file>(*this, number, path, mode);
}

result<std::unique_ptr<file>> simulated_disk::open(const std::string& path, access mode) {
    const std::scoped_lock guard(mutex_);
    const std::uint32_t number = find(path);
    if (number == k_no_inode)
        return fail(errc::not_found, "no such simulated file", path, ENOENT);
    return open_inode(number, path, mode);
}

result<std::unique_ptr<file>> simulated_disk::open_or_create(const std::string& path, unsigned) {
    const std::scoped_lock guard(mutex_);
    if (find(path) == k_no_inode)
        REM_TRY(record({.what = kind::create, .inode = static_cast<std::uint32_t>(inodes_.size()), .path = path}));
    return open_inode(find(path), path, access::read_write);
}

result<bool> simulated_disk::exists(const std::string& path) {
    const std::scoped_lock guard(mutex_);
    return find(path) != k_no_inode;
}

result<void> simulated_disk::rename_to_new(site where, const std::string& from, const std::string& to) {
    const std::scoped_lock guard(mutex_);
    const std::uint32_t number = find(from);
    if (number == k_no_inode)
        return fail(errc::not_found, "no simulated file to rename", from, ENOENT);
    if (find(to) != k_no_inode)
        return fail(errc::exists, "a simulated file has the new name already", to, EEXIST);
    return record({.what = kind::rename, .inode = number, .where = where, .path = from, .to = to});
}

result<void> simulated_disk::remove(site where, const std::string& path) {
    const std::scoped_lock guard(mutex_);
    const std::uint32_t number = find(path);
    if (number == k_no_inode)
        return {};
    return record({.what = kind::remove, .inode = number, .where = where, .path = path});
}

result<void> simulated_disk::sync_directory(site where, const std::string& path) {
    const std::scoped_lock guard(mutex_);
    return record({.what = kind::sync_directory, .where = where, .path = std::string(directory_of(path))});
}

std::vector<disk_operation> simulated_disk::take_trace() { return std::exchange(trace_, {}); }

void simulated_disk::marker(site where, std::uint64_t value) {
    const std::scoped_lock guard(mutex_);
    trace_.push_back({.what = kind::marker, .where = where, .bytes = value});
}

void simulated_disk::fail_at(std::uint64_t n, errc code) {
    work_again();
    fail_in_ = n;
    fail_code_ = code;
}

void simulated_disk::die_at(std::uint64_t n) {
    work_again();
    fail_in_ = n;
    dies_ = true;
}

void simulated_disk::work_again() {
    fail_in_.reset();
    fail_code_ = errc::io;
    dies_ = false;
    dead_ = false;
}

std::uint64_t simulated_disk::space_used() const {
    std::vector<bool> linked(inodes_.size());
    for (const auto& [path, number] : entries_)
        if (number < linked.size())
            linked[number] = true;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < inodes_.size(); i++)
        if (inodes_[i] && (linked[i] || inodes_[i]->open_count > 0))
            bytes += inodes_[i]->blocks.bytes();
    return bytes;
}

bool simulated_disk::has_space_for(const disk_operation& operation) {
    if (space_limit_ == 0 || operation.bytes == 0)
        return true;
    if (!operation.is_write() && operation.what != kind::reserve)
        return true;
    const block_set& blocks = inode_of(operation.inode).blocks;
    block_set grown = blocks;
    grown.add(block_set::blocks_of({operation.offset, operation.bytes}));
    return space_used() + grown.bytes() - blocks.bytes() <= space_limit_;
}

result<void> simulated_disk::record(disk_operation operation) {
    if (operation.is_sync() && operation.where == dropped_site_)
        return {};
    std::optional<errc> error;
    if (fail_in_ && (*fail_in_)-- == 0) {
        fail_in_.reset();
        error = fail_code_;
        dead_ = dies_;
    } else if (!has_space_for(operation)) {
        error = errc::no_space;
    }
    if (dead_)
        return fail(errc::io, "the process that asks has died, for the simulated disk", operation.path, EIO);
    operation.failed = error.has_value();
    if (!error)
        perform(operation, persisted_part{.operation = 0});
    trace_.push_back(std::move(operation));
    if (!error)
        return {};
    const disk_operation& failed = trace_.back();
    return fail(*error, "simulated failure of " + failed.describe(), failed.path,
                *error == errc::no_space ? ENOSPC : EIO, failed.offset);
}

void simulated_disk::apply(const disk_operation& operation, const persisted_part& part) {
    if (operation.is_change())
        perform(operation, part);
}

void simulated_disk::perform(const disk_operation& operation, const persisted_part& part) {
    const byte_range range{operation.offset, operation.bytes};
    switch (operation.what) {
    case kind::write:
    case kind::write_direct:
        return perform_write(operation, part);
    case kind::resize: {
        inode& file = inode_of(operation.inode);
        const std::uint64_t cut = file.size > operation.bytes ? file.size - operation.bytes : 0;
        save(operation.inode, {operation.bytes, cut});
        if (space_limit_ != 0 && cut != 0) {
            const std::uint64_t kept = align_up(operation.bytes, k_page_bytes);
            file.blocks.remove({kept, ~std::uint64_t{0} - kept});
        }
        set_size(file.memfd, operation.bytes);
        file.size = operation.bytes;
        return;
    }
    case kind::reserve: {
        inode& file = inode_of(operation.inode);
        save(operation.inode, {operation.offset, 0});
        if (space_limit_ != 0)
            file.blocks.add(block_set::blocks_of(range));
        if (range.end() <= file.size)
            return;
        set_size(file.memfd, range.end());
        file.size = range.end();
        return;
    }
    case kind::punch: {
        inode& file = inode_of(operation.inode);
        const std::uint64_t end = std::min(range.end(), file.size);
        if (range.offset >= end)
            return;
        save(operation.inode, {range.offset, end - range.offset});
        zero(file.memfd, {range.offset, end - range.offset});
        const std::uint64_t first_whole = align_up(range.offset, k_page_bytes);
        if (const std::uint64_t last = align_down(range.end(), k_page_bytes); space_limit_ != 0 && first_whole < last)
            file.blocks.remove({first_whole, last - first_whole});
        return;
    }
    case kind::create:
        set_entry(operation.path, operation.inode);
        return;
    case kind::rename:
        // S3: persists although the creation of the old name, or a later one under that name, did not.
        if (find(operation.path) == operation.inode)
            set_entry(operation.path, k_no_inode);
        set_entry(operation.to, operation.inode);
        return;
    case kind::remove:
        set_entry(operation.path, k_no_inode);
        return;
    case kind::sync:
    case kind::sync_directory:
    case kind::marker:
        return;
    }
}

void simulated_disk::perform_write(const disk_operation& operation, const persisted_part& part) {
    inode& file = inode_of(operation.inode);
    const std::uint64_t whole_end = operation.offset + operation.bytes;
    const std::uint64_t first_sector = operation.offset / k_sector_bytes;
    const std::uint64_t begin = std::max(operation.offset, (first_sector + part.sectors_begin) * k_sector_bytes);
    std::uint64_t end = std::min(whole_end, (first_sector + part.sectors_end) * k_sector_bytes);
    if (!part.size)
        end = std::min(end, file.size);
    const bool has_data = part.data && begin < end;
    std::uint64_t size = has_data ? std::max(file.size, end) : file.size;
    if (!part.data && part.size)
        size = std::max(size, whole_end);
    if (!has_data && size == file.size)
        return;
    save(operation.inode, has_data ? byte_range{begin, end - begin} : byte_range{});
    if (has_data && operation.data.empty()) {
        if (begin < file.size)
            zero(file.memfd, {begin, std::min(end, file.size) - begin});
        if (size != file.size)
            set_size(file.memfd, size);
    } else if (has_data) {
        fill(file.memfd, begin, std::span(operation.data).subspan(begin - operation.offset, end - begin));
    } else {
        set_size(file.memfd, size);
    }
    if (has_data && space_limit_ != 0)
        file.blocks.add(block_set::blocks_of({begin, end - begin}));
    file.size = size;
}

void simulated_disk::set_entry(const std::string& path, std::uint32_t number) {
    changes_.push_back({.what = change::kind::entry, .number = find(path), .path = path});
    if (number == k_no_inode) {
        entries_.erase(path);
        return;
    }
    inode_of(number);
    entries_[path] = number;
}

void simulated_disk::save(std::uint32_t number, byte_range range) {
    const inode& file = inode_of(number);
    change saved{.what = change::kind::content, .number = number, .size = file.size};
    if (space_limit_ != 0)
        saved.blocks = file.blocks;
    const std::uint64_t end = std::min(range.end(), file.size);
    const auto keep = [&](std::uint64_t from, std::uint64_t to) {
        saved.saved.push_back({from, std::vector<std::byte>(to - from)});
        fetch(file.memfd, from, saved.saved.back().bytes);
    };
    if (range.offset < end && end - range.offset <= k_copied_whole_bytes_max) {
        keep(range.offset, end);
    } else if (range.offset < end) {
        saved.zeroed = {range.offset, end - range.offset};
        for (off_t at = file_offset(range.offset); at < file_offset(end);) {
            const off_t data = ::lseek(file.memfd, at, SEEK_DATA);
            if (data < 0 || data >= file_offset(end))
                break;
            at = std::min(::lseek(file.memfd, data, SEEK_HOLE), file_offset(end));
            REM_CHECK(at > data);
            keep(static_cast<std::uint64_t>(data), static_cast<std::uint64_t>(at));
        }
    }
    changes_.push_back(std::move(saved));
}

simulated_disk::savepoint simulated_disk::now() const { return {changes_.size(), inodes_.size(), trace_.size()}; }

void simulated_disk::rewind(const savepoint& to) {
    REM_CHECK(open_files_ == 0);
    REM_CHECK(to.changes <= changes_.size());
    while (changes_.size() > to.changes) {
        undo(changes_.back());
        changes_.pop_back();
    }
    inodes_.resize(to.inodes);
    if (trace_.size() > to.trace)
        trace_.resize(to.trace);
}

void simulated_disk::undo(change& last) {
    if (last.what == change::kind::entry) {
        if (last.number == k_no_inode)
            entries_.erase(last.path);
        else
            entries_[last.path] = last.number;
        return;
    }
    std::unique_ptr<inode>& file = inodes_[last.number];
    if (last.what == change::kind::inode) {
        if (memfd_pool_.size() < 64) {
            set_size(file->memfd, 0);
            memfd_pool_.push_back(file->memfd);
        } else {
            ::close(file->memfd);
        }
        file.reset();
        return;
    }
    if (file->size != last.size)
        set_size(file->memfd, last.size);
    file->size = last.size;
    zero(file->memfd, last.zeroed);
    for (const auto& extent : last.saved)
        fill(file->memfd, extent.offset, extent.bytes);
    if (last.blocks)
        file->blocks = std::move(*last.blocks);
}

std::string simulated_disk::describe_files() const {
    const std::scoped_lock guard(mutex_);
    std::string text;
    for (const auto& [path, number] : entries_)
        text += path + " (inode " + std::to_string(number) + ", " + std::to_string(inodes_[number]->size) + " bytes)\n";
    return text;
}

crash_walk::crash_walk(simulated_disk& disk, std::span<const disk_operation> trace)
    : disk_(disk), trace_(trace), start_(disk.now()) {}

crash_walk::~crash_walk() { disk_.rewind(start_); }

void crash_walk::advance_to(std::uint32_t position) {
    REM_CHECK(position >= position_ && position <= trace_.size());
    while (position_ < position)
        advance();
}

void crash_walk::advance() {
    const disk_operation& done = trace_[position_];
    if (done.is_change())
        pending_.push_back(position_);
    position_++;
    if (!done.is_sync())
        return;

    const auto covers = [&](std::uint32_t index) {
        const disk_operation& earlier = trace_[index];
        const bool of_directory =
            earlier.what == kind::create || earlier.what == kind::rename || earlier.what == kind::remove;
        if (done.what == kind::sync)
            return !of_directory && earlier.inode == done.inode;                                          // S1
        return of_directory && directory_of(earlier.to.empty() ? earlier.path : earlier.to) == done.path; // S2
    };
    if (std::none_of(pending_.begin(), pending_.end(), covers))
        return;
    if (done.failed) {
        for (const std::uint32_t index : pending_)
            if (covers(index) && done.what == kind::sync)
                orphans_.push_back(index); // S4
        return;
    }
    drop_built(0);
    std::vector<std::uint32_t> left;
    for (const std::uint32_t index : pending_) {
        if (!covers(index))
            left.push_back(index);
        else if (std::find(orphans_.begin(), orphans_.end(), index) == orphans_.end())
            disk_.apply(trace_[index]);
    }
    pending_ = std::move(left);
}

void crash_walk::drop_built(std::size_t parts_kept) {
    if (parts_kept >= built_.size())
        return;
    disk_.rewind(built_[parts_kept].before);
    built_.erase(built_.begin() + static_cast<std::ptrdiff_t>(parts_kept), built_.end());
}

void crash_walk::build(std::span<const persisted_part> parts) {
    std::size_t same = 0;
    while (same < parts.size() && same < built_.size() && parts[same] == built_[same].part)
        same++;
    drop_built(same);
    for (const persisted_part& part : parts.subspan(same)) {
        built_.push_back({part, disk_.now()});
        disk_.apply(trace_[part.operation], part);
    }
}

void crash_walk::build_prefix(std::uint32_t sectors_of_last) {
    scratch_.clear();
    for (const std::uint32_t index : pending_)
        scratch_.push_back({.operation = index});
    if (!scratch_.empty())
        scratch_.back().sectors_end = sectors_of_last;
    build(scratch_);
}

} // namespace remanence::os
