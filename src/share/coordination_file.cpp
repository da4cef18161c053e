#include "share/coordination_file.hpp"

#include <chrono>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

namespace remanence::share {

result<void> coordination_file::remove_old() {
    auto there = files_.exists(path_);
    if (!there)
        return there.error();
    if (!*there)
        return {};
    auto old = files_.open_or_create(path_, mode_); // does not follow symbolic links
    if (!old)
        return old.error();
    auto bytes = (*old)->size();
    if (!bytes)
        return bytes.error();
    // The magic number is zero if the creator died early, or if the machine crashed before the contents reached the
    // disk.
    std::uint64_t magic = 0;
    if (*bytes >= sizeof magic)
        REM_TRY((*old)->read(0, std::as_writable_bytes(std::span(&magic, 1))));
    if (magic != k_magic && (magic != 0 || (*bytes > 0 && *bytes < sizeof magic)))
        return fail(errc::exists,
                    path_ + " is in the way: the processes that share a heap need a file of this name, and this one is "
                            "something else. Move it away.",
                    path_);
    return files_.remove("share: remove an old coordination file", path_, **old);
}

result<void> coordination_file::create() {
    auto made = files_.open_or_create(path_, mode_);
    if (!made)
        return made.error();
    auto reserved = (*made)->reserve("share: reserve the coordination file", 0, sizeof(coordination_memory));
    if (reserved)
        reserved = map(**made, sizeof(coordination_memory));
    if (!reserved) {
        (void)files_.remove("share: remove what could not be made", path_, **made); // best effort
        return reserved;
    }
    file_ = std::move(*made);
    // All other fields are zero at first, and a reserved file reads as zeros. So the 512 KiB need not be written.
    coordination_header& fresh = memory().header;
    fresh.magic = k_magic;
    fresh.protocol = k_protocol;
    fresh.bytes = sizeof(coordination_memory);
    fresh.device = heap_.device;
    fresh.inode = heap_.inode;
    fresh.boot = boot_;
    return {};
}

result<bool> coordination_file::open(os::access how) {
    auto there = files_.exists(path_);
    if (!there)
        return there.error();
    if (!*there)
        return false;
    auto opened = how == os::access::read_only ? files_.open(path_, how)
                                               : files_.open_or_create(path_, mode_); // does not follow symbolic links
    if (!opened && opened.why().code == errc::not_found)                              // removed since exists()
        return false;
    if (!opened)
        return opened.error();
    auto is_itself = (*opened)->is_at(path_); // false for the target of a symbolic link
    if (!is_itself)
        return is_itself.error();
    if (!*is_itself)
        return false;
    auto bytes = (*opened)->size();
    if (!bytes)
        return bytes.error();
    if (*bytes < sizeof(coordination_header))
        return false;
    const bool is_whole = *bytes >= sizeof(coordination_memory);
    mapped_.reset();
    REM_TRY(map(**opened, is_whole ? sizeof(coordination_memory) : sizeof(coordination_header), how));
    const coordination_header& header = memory().header;
    if (header.magic != k_magic || header.boot != boot_ || header.device != heap_.device ||
        header.inode != heap_.inode || header.state.load(std::memory_order_acquire) != coordination_header::ready)
        return false;
    REM_TRY(check_protocol());
    if (!is_whole || header.bytes != sizeof(coordination_memory))
        return false;
    file_ = std::move(*opened);
    return true;
}

result<void> coordination_file::check_protocol() const {
    const std::uint64_t protocol = memory().header.protocol;
    if (protocol == k_protocol)
        return {};
    return fail(errc::unsupported_format,
                path_ + ": processes of another release share this heap (protocol " + std::to_string(protocol) +
                    "; this one has " + std::to_string(k_protocol) + "). Use one release in all of them.",
                path_);
}

std::size_t coordination_file::slot_to_try_first() const {
    std::size_t index = 0;
    while (index + 1 < k_slots && memory().slots[index].process.load(std::memory_order_relaxed) != 0)
        ++index;
    return index;
}

void coordination_file::set_ready() {
    memory().header.state.store(coordination_header::ready, std::memory_order_release);
}

result<void> coordination_file::remove() {
    memory().header.state.store(coordination_header::gone, std::memory_order_release);
    return files_.remove("share: remove the coordination file", path_, *file_);
}

participant coordination_file::who(std::size_t index, std::uint64_t thread, std::uint64_t since) const {
    const auto& one = memory().slots[index];
    char name[sizeof one.program + 1] = {};
    for (std::size_t i = 0; i < std::size(one.program); ++i) {
        const std::uint64_t word = one.program[i].load(std::memory_order_relaxed);
        std::memcpy(name + i * sizeof word, &word, sizeof word);
    }
    return {.process = static_cast<int>(one.process.load(std::memory_order_relaxed)),
            .thread = static_cast<int>(thread),
            .since = std::chrono::system_clock::time_point(
                std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::nanoseconds(since))),
            .program = name};
}

result<void> coordination_file::map(os::file& file, std::size_t bytes, os::access how) {
    auto mapped = file.map_shared(bytes, how);
    if (!mapped)
        return mapped.error();
    mapped_ = std::move(*mapped);
    return {};
}

} // namespace remanence::share
