#include "store/superblock_pair.hpp"

#include "base/assert.hpp"
#include "store/publication.hpp"

#include <span>

namespace remanence::store {

using format::superblock;

// The superblock that was read may be in the page cache only: its writer may have died before a sync, or the sync may
// have failed, after which the kernel counts the pages as clean (I5). So it is written again, not just synced.
result<void> superblock_pair::confirm() {
    if (confirmed_)
        return {};
    REM_TRY(file_.write("store: confirm superblock", current_.sequence % 2 * format::k_superblock_bytes,
                        std::as_bytes(std::span(&current_, 1))));
    REM_TRY(syncs_.sync("store: sync confirmed superblock"));
    confirmed_ = true;
    return {};
}

result<superblock> superblock_pair::sealed(superblock next) const {
    ++next.sequence;
    const std::uint64_t place = next.sequence % 2;
    if (!has_sound_numbers(next)) {
        return fail(errc::corrupt,
                    "the superblock of " + file_.path() +
                        " has impossible numbers, so that none can follow it. Restore the heap from a copy.",
                    file_.path(), 0, (1 - place) * format::k_superblock_bytes);
    }
    next.checksum = superblock_checksum(next, place);
    return next;
}

result<void> superblock_pair::write(const superblock& next) {
    REM_CHECK(!is_publishing_);
    REM_TRY(confirm());
    auto ready = sealed(next);
    if (!ready)
        return ready.error();
    REM_TRY(write_superblock(file_, syncs_, *ready));
    current_ = *ready;
    return {};
}

void superblock_pair::adopt(const superblock& published) {
    REM_CHECK(is_publishing_);
    is_publishing_ = false;
    current_ = published;
}

} // namespace remanence::store
