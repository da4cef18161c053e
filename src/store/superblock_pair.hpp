// The two superblocks of an open heap: the current one, and the place that the next one is written to.
//
// I3 is kept here: the other one stays valid while one is written, so the current one is made durable first (confirm()),
// and no two of them are on their way at the same time. Under the lock of the store, but for what publication does.
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
    /// File and syncs must outlive it.
    superblock_pair(os::file& file, sticky_sync& syncs, const current_superblock& current)
        : file_(file), syncs_(syncs), current_(current.super), other_damage_(current.other_damage) {}

    /// The one that rules; always at the same address.
    [[nodiscard]] const format::superblock& current() const { return current_; }
    [[nodiscard]] bool is_clean() const { return (current_.flags & format::k_flag_clean) != 0; }
    /// Of the heap file.
    [[nodiscard]] const std::string& path() const { return file_.path(); }
    /// Where in the file the one lies that was damaged when the heap was opened.
    [[nodiscard]] std::optional<std::uint64_t> other_damage() const { return other_damage_; }

    /// Makes sure that the superblock as it was read, and all that was written before it, is durable: to be called before
    /// anything is done that relies on it. Does nothing after the first time.
    result<void> confirm();
    /// This process has made it durable.
    void note_confirmed() { confirmed_ = true; }
    [[nodiscard]] bool is_confirmed() const { return confirmed_; }

    /// Gives `next` the next sequence number, and seals it; errc::corrupt when there is none.
    [[nodiscard]] result<format::superblock> sealed(format::superblock next) const;
    /// Writes one that names nothing new that exists, and makes it rule. Precondition: none is on its way.
    result<void> write(const format::superblock& next);

    /// A publication that will write one was composed, until it is adopted or given up.
    void begin_publication() { is_publishing_ = true; }
    /// It is durable, and rules.
    void adopt(const format::superblock& published);
    void give_up_publication() { is_publishing_ = false; }
    /// Another process has made it durable, and it rules. Precondition: no publication is on its way here.
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
