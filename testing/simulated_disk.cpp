#include "testing/simulated_disk.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "base/range.hpp"
#include "testing/simulated_contents.hpp"
#include "testing/simulated_file.hpp"
#include "testing/simulated_inode.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

namespace remanence::simulation {

namespace {

using kind = disk_operation::kind;

constexpr std::uint64_t k_file_bytes_max = 64 * GiB; // of contents; a file may be longer, with a hole at its end

} // namespace

struct simulated_disk::change {
    enum class kind { content, entry, inode };
    struct extent {
        std::uint64_t offset;
        std::vector<std::byte> bytes;
    };
    kind what;
    std::uint32_t number; // of the inode; of an entry: the one it named before
    std::uint64_t size = 0;
    file_range zeroed{}; // made zero before `saved` is put back
    std::vector<extent> saved{};
    std::string path{};
    std::optional<block_set> blocks{};
};

simulated_disk::simulated_disk() = default;

simulated_disk::~simulated_disk() = default;

std::unique_ptr<simulated_contents> simulated_disk::new_contents() {
    if (pool_.empty())
        return std::make_unique<simulated_contents>();
    auto contents = std::move(pool_.back());
    pool_.pop_back();
    return contents;
}

std::uint32_t simulated_disk::find(const std::string& path) const {
    const auto entry = entries_.find(path);
    return entry == entries_.end() ? k_no_inode : entry->second;
}

simulated_disk::inode& simulated_disk::inode_of(std::uint32_t number) {
    if (number >= inodes_.size())
        inodes_.resize(number + std::size_t{1});
    if (!inodes_[number]) {
        inodes_[number] = std::make_unique<inode>(inode{.contents = new_contents()});
        changes_.push_back({.what = change::kind::inode, .number = number});
    }
    return *inodes_[number];
}

std::unique_ptr<os::file> simulated_disk::open_inode(std::uint32_t number, const std::string& path, os::access mode) {
    inode_of(number);
    return std::make_unique<simulated_file>(*this, number, path, mode);
}

result<std::unique_ptr<os::file>> simulated_disk::open(const std::string& path, os::access mode) {
    const std::scoped_lock guard(mutex_);
    const std::uint32_t number = find(path);
    if (number == k_no_inode)
        return fail(errc::not_found, "no such simulated file", path, ENOENT);
    return open_inode(number, path, mode);
}

result<std::unique_ptr<os::file>> simulated_disk::open_or_create(const std::string& path, unsigned) {
    const std::scoped_lock guard(mutex_);
    if (find(path) == k_no_inode)
        REM_TRY(record({.what = kind::create, .inode = static_cast<std::uint32_t>(inodes_.size()), .path = path}));
    return open_inode(find(path), path, os::access::read_write);
}

result<bool> simulated_disk::exists(const std::string& path) {
    const std::scoped_lock guard(mutex_);
    return find(path) != k_no_inode;
}

result<void> simulated_disk::rename_to_new(os::call_site where, const std::string& from, const std::string& to) {
    const std::scoped_lock guard(mutex_);
    const std::uint32_t number = find(from);
    if (number == k_no_inode)
        return fail(errc::not_found, "no simulated os::file to rename", from, ENOENT);
    if (find(to) != k_no_inode)
        return fail(errc::exists, "a simulated os::file has the new name already", to, EEXIST);
    return record({.what = kind::rename, .inode = number, .where = where, .path = from, .to = to});
}

result<void> simulated_disk::rename_over(os::call_site where, const std::string& from, const std::string& to) {
    const std::scoped_lock guard(mutex_);
    const std::uint32_t number = find(from);
    if (number == k_no_inode)
        return fail(errc::not_found, "no simulated os::file to rename", from, ENOENT);
    return record({.what = kind::rename, .inode = number, .where = where, .path = from, .to = to});
}

result<void> simulated_disk::remove(os::call_site where, const std::string& path, os::file& which) {
    auto named = which.is_at(path);
    if (!named)
        return named.error();
    return *named ? remove(where, path) : result<void>();
}

result<void> simulated_disk::remove(os::call_site where, const std::string& path) {
    const std::scoped_lock guard(mutex_);
    const std::uint32_t number = find(path);
    if (number == k_no_inode)
        return {};
    return record({.what = kind::remove, .inode = number, .where = where, .path = path});
}

result<void> simulated_disk::sync_directory(os::call_site where, const std::string& path) {
    const std::scoped_lock guard(mutex_);
    return record({.what = kind::sync_directory, .where = where, .path = std::string(directory_of(path))});
}

std::vector<disk_operation> simulated_disk::take_trace() { return std::exchange(trace_, {}); }

void simulated_disk::marker(os::call_site where, std::uint64_t value) {
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
    if (!dropped_site_.empty() && operation.where.name() == dropped_site_)
        return {};
    std::optional<errc> error;
    if (fail_in_ && (*fail_in_)-- == 0) {
        fail_in_.reset();
        error = fail_code_;
        dead_ = dies_;
    } else if (!has_space_for(operation)) {
        error = errc::no_space;
    } else if (operation.is_write() && (operation.offset > k_file_bytes_max || operation.bytes > k_file_bytes_max)) {
        error = errc::io; // a real file system has its limit, too
    }
    if (dead_)
        return fail(errc::io, "the process that asks has died, for the simulated disk", operation.path, EIO);
    operation.failed = error.has_value();
    if (operation.is_write())
        operation.grows = operation.offset + operation.bytes > inode_of(operation.inode).size;
    if (!error)
        perform(operation, persisted_part{.operation = 0});
    if (operation.what == kind::sync) {
        if (error && after_failed_sync_ == failed_sync::btrfs)
            forget_unsynced(operation.inode);
        all_is_durable(inode_of(operation.inode));
    }
    if (operation.what == kind::sync_written && !error && after_failed_sync_ == failed_sync::btrfs)
        inode_of(operation.inode).durable_writes.push_back(trace_[written_before(trace_, operation)]);
    trace_.push_back(std::move(operation));
    if (!error)
        return {};
    const disk_operation& failed = trace_.back();
    return fail(*error, "simulated failure of " + failed.describe(), failed.path,
                *error == errc::no_space ? ENOSPC : EIO, failed.offset);
}

void simulated_disk::apply(const disk_operation& operation, const persisted_part& part) {
    if (!operation.is_change())
        return;
    perform(operation, part);
    if (!operation.is_of_directory())
        all_is_durable(inode_of(operation.inode));
}

void simulated_disk::all_is_durable(inode& file) const {
    file.durable_changes = changes_.size();
    file.durable_writes.clear();
}

// S4 of Btrfs. That it was forgotten can be undone in turn.
void simulated_disk::forget_unsynced(std::uint32_t number) {
    inode& file = inode_of(number);
    const std::size_t end = changes_.size();
    save(number, {0, file.size});
    for (std::size_t i = end; i > file.durable_changes; i--) {
        const change& each = changes_[i - 1];
        if (each.what == change::kind::content && each.number == number)
            restore(each);
    }
    for (const disk_operation& each : std::exchange(file.durable_writes, {}))
        perform(each, persisted_part{.operation = 0});
}

void simulated_disk::rot(const std::string& path, std::uint64_t offset, std::byte mask) {
    const std::uint32_t number = find(path);
    REM_CHECK(number != k_no_inode && offset < inode_of(number).size);
    save(number, {offset, 1});
    std::byte byte{};
    inode_of(number).contents->read(offset, {&byte, 1});
    byte ^= mask;
    inode_of(number).fill(offset, {&byte, 1});
}

std::uint64_t simulated_disk::fingerprint() const {
    std::uint64_t print = 0;
    for (const auto& [path, number] : entries_) {
        const std::array<std::uint64_t, 3> file{print, inodes_[number]->size, inodes_[number]->contents->fingerprint()};
        print = checksum64(std::as_bytes(std::span(path)), checksum64(std::as_bytes(std::span(file))));
    }
    return print;
}

std::map<std::string, std::uint64_t> simulated_disk::files() const {
    std::map<std::string, std::uint64_t> found;
    for (const auto& [path, number] : entries_)
        found[path] = inodes_[number]->size;
    return found;
}

void simulated_disk::perform(const disk_operation& operation, const persisted_part& part) {
    const file_range range{operation.offset, operation.bytes};
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
        file.resize(operation.bytes);
        return;
    }
    case kind::reserve: {
        inode& file = inode_of(operation.inode);
        save(operation.inode, {operation.offset, 0});
        if (space_limit_ != 0)
            file.blocks.add(block_set::blocks_of(range));
        if (range.end() <= file.size)
            return;
        file.resize(range.end());
        return;
    }
    case kind::punch: {
        inode& file = inode_of(operation.inode);
        const std::uint64_t end = std::min(range.end(), file.size);
        if (range.offset >= end)
            return;
        save(operation.inode, {range.offset, end - range.offset});
        file.contents->zero({range.offset, end - range.offset});
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
    case kind::sync_written:
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
    save(operation.inode, has_data ? file_range{begin, end - begin} : file_range{});
    if (has_data && operation.data.empty()) {
        if (begin < file.size)
            file.contents->zero({begin, std::min(end, file.size) - begin});
        file.resize(size);
    } else if (has_data) {
        file.fill(begin, std::span(operation.data).subspan(begin - operation.offset, end - begin));
    } else {
        file.resize(size);
    }
    if (has_data && space_limit_ != 0)
        file.blocks.add(block_set::blocks_of({begin, end - begin}));
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

void simulated_disk::save(std::uint32_t number, file_range range) {
    const inode& file = inode_of(number);
    change saved{.what = change::kind::content, .number = number, .size = file.size};
    if (space_limit_ != 0)
        saved.blocks = file.blocks;
    const std::uint64_t end = std::min(range.end(), file.size);
    if (range.offset < end) {
        saved.zeroed = {range.offset, end - range.offset};
        for (const file_range& data : file.contents->data_within(saved.zeroed)) {
            saved.saved.push_back({data.offset, std::vector<std::byte>(data.bytes)});
            file.contents->read(data.offset, saved.saved.back().bytes);
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
    for (const auto& file : inodes_) {
        if (!file)
            continue;
        file->durable_changes = std::min(file->durable_changes, changes_.size());
        file->durable_writes.clear();
    }
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
        constexpr std::size_t k_pool_max = 64;
        if (pool_.size() < k_pool_max) {
            file->resize(0);
            pool_.push_back(std::move(file->contents));
        }
        file.reset();
        return;
    }
    restore(last);
}

void simulated_disk::restore(const change& saved) {
    inode& file = *inodes_[saved.number];
    file.resize(saved.size);
    file.contents->zero(saved.zeroed);
    for (const auto& extent : saved.saved)
        file.fill(extent.offset, extent.bytes);
    if (saved.blocks)
        file.blocks = *saved.blocks;
}

std::string simulated_disk::describe_files() const {
    const std::scoped_lock guard(mutex_);
    std::string text;
    for (const auto& [path, number] : entries_)
        text += path + " (inode " + std::to_string(number) + ", " + std::to_string(inodes_[number]->size) + " bytes)\n";
    return text;
}

} // namespace remanence::simulation
