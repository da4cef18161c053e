// The two superblocks of an open heap: the current one, and the place for the next one.
//
// I3 is enforced here: the current superblock stays valid while the other one is written. So the current one is made
// durable first (confirm()), and only one superblock is written at a time. Protected by the lock of the store, except
// for what a publication does.
#pragma once

#include "base/result.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"
#include "store/sticky_sync.hpp"
#include "store/superblocks.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace remanence::store {

class superblock_pair {
public:
    /// File and syncs must outlive this object.
    superblock_pair(os::file& file, sticky_sync& syncs, const current_superblock& current)
        : file_(file), syncs_(syncs), current_(current.super), other_damage_(current.other_damage) {}

    /// Returns the current superblock. The reference stays valid when another one becomes current.
    [[nodiscard]] const format::superblock& current() const { return current_; }
    [[nodiscard]] bool is_clean() const { return (current_.flags & format::k_flag_clean) != 0; }
    /// Returns the path of the heap file.
    [[nodiscard]] const std::string& path() const { return file_.path(); }
    /// Returns where in the file the other superblock lies, if it was damaged when the heap was opened.
    [[nodiscard]] std::optional<std::uint64_t> other_damage() const { return other_damage_; }

    /// Makes sure that the superblock, as it was read, and everything written before it are durable. Must be called
    /// before anything relies on that. Does nothing after the first success.
    result<void> confirm();
    /// Notes that this process has made the current superblock durable.
    void note_confirmed() { confirmed_ = true; }
    [[nodiscard]] bool is_confirmed() const { return confirmed_; }

    /// Returns `next` with the next sequence number and its checksum. errc::corrupt if its numbers are out of bounds.
    [[nodiscard]] result<format::superblock> sealed(format::superblock next) const;
    /// Writes a superblock that names no new contents, syncs it, and makes it current. Precondition: no publication is
    /// under way.
    result<void> write(const format::superblock& next);

    /// Notes that a publication was composed. Until adopt() or give_up_publication() no other superblock may be
    /// written.
    void begin_publication() { is_publishing_ = true; }
    /// Notes that this superblock is durable, and makes it current.
    void adopt(const format::superblock& published);
    void give_up_publication() { is_publishing_ = false; }
    /// Notes that another process has made this superblock durable and current. Precondition: this process has no
    /// publication under way.
    void follow(const current_superblock& published) {
        current_ = published.super;
        other_damage_ = published.other_damage;
        confirmed_ = false;
    }
    [[nodiscard]] bool is_publishing() const { return is_publishing_; }

private:
    os::file& file_;
    sticky_sync& syncs_;
    format::superblock current_;
    std::optional<std::uint64_t> other_damage_;
    bool confirmed_ = false; // current_ is known to be durable
    bool is_publishing_ = false;
};

} // namespace remanence::store
