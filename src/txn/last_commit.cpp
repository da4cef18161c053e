#include "txn/last_commit.hpp"

#include "base/checksum.hpp"
#include "format/superblock.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace remanence::txn {

namespace {

/// Superblocks and log, as bytes: what shows that a heap moved on.
struct observation {
    std::uint64_t superblocks;
    std::optional<std::uint64_t> log;
    bool operator==(const observation&) const = default;
};

result<std::uint64_t> checksum_of(os::file_system& files, const std::string& path, std::uint64_t bytes_max) {
    auto file = files.open(path, os::access::read_only);
    if (!file)
        return file.error();
    auto size = (*file)->size();
    if (!size)
        return size.error();
    const std::uint64_t end = std::min(*size, bytes_max);
    std::uint64_t sum = *size;
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min(end, 256 * KiB)));
    for (std::uint64_t at = 0; at < end; at += piece.size()) {
        const auto part =
            std::span(piece).first(static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), end - at)));
        REM_TRY((*file)->read(at, part));
        sum = checksum64(part, sum);
    }
    return sum;
}

/// Nothing, when it could not be read: then it is just moving, or the next attempt tells why.
std::optional<observation> observe(os::file_system& files, const std::string& path) {
    auto superblocks = checksum_of(files, path, format::k_superblock_count * format::k_superblock_bytes);
    if (!superblocks)
        return {};
    auto log = checksum_of(files, store::log_path(path), ~std::uint64_t{0});
    if (!log && log.why().code != errc::not_found)
        return {};
    return observation{*superblocks, log ? std::optional(*log) : std::nullopt};
}

} // namespace

result<void> with_last_commit(os::file_system& files, const std::string& path, std::uint64_t attempts,
                              const inspection_progress& progress,
                              const std::function<result<void>(inspection&)>& use) {
    std::optional<observation> before;
    std::string last;
    for (std::uint64_t i = 0; i < attempts; ++i) {
        auto heap = inspection::open(files, path, progress);
        const bool is_live = !heap && heap.why().code == errc::in_use;
        if (is_live)
            heap = inspection::open_live(files, path, progress);
        auto done = heap ? use(**heap) : result<void>(heap.error());
        if (done || !is_live)
            return done;
        const errc code = done.why().code;
        const bool may_have_moved = is_damage(code) || (!heap && (code == errc::in_use || code == errc::not_found));
        if (!may_have_moved)
            return done;
        auto now = observe(files, path);
        if (now && before == now && code != errc::in_use)
            return done;
        before = now;
        last = done.why().message;
    }
    return fail(
        errc::in_use,
        path + " is open elsewhere and written to faster than it can be read: it changed during each of " +
            std::to_string(attempts) +
            " attempts. Try again when less is written, or close it first; if this stays the same, it is damage: " +
            last,
        path);
}

} // namespace remanence::txn
