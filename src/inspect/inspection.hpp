// A heap as of its last commit, to be looked at: nothing is written, nothing is mapped from the file, and damage is
// something to tell of, not the end.
//
// Recovery, when the heap needs one, takes place on files that keep their changes in memory (os/overlay_files.hpp). The
// heap's memory is not at its base address, but wherever there is room; it is read page by page as it is asked for, each
// page checked, so that a page that cannot be read is an error instead of a signal.
#pragma once

#include "alloc/block_allocator.hpp"
#include "alloc/occupancy.hpp"
#include "base/range.hpp"
#include "base/result.hpp"
#include "format/heap_header.hpp"
#include "history/delta.hpp"
#include "inspect/problems.hpp"
#include "log/record.hpp"
#include "os/memory.hpp"
#include "os/overlay_files.hpp"
#include "recover/recovery.hpp"
#include "store/heap_file.hpp"
#include "types/heap_bytes.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace remanence::inspect {

using inspection_progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct inspected_log {
    bool present = false;
    std::uint64_t file_bytes = 0;
    std::uint64_t commits = 0; // that the image lacks, and the log has
    std::uint64_t record_bytes = 0;
    log::record_totals totals{}; // of these commits
};

struct inspected_parts {
    std::uint64_t pages = 0;
    std::uint64_t blocks = 0;
    bool allocator = false; // whether it could be checked
};

/// Others may open the heap for writing, and write to it, while it lives. One thread at a time.
class inspection final : public types::heap_bytes {
public:
    /// Of a heap that nobody has open for writing; takes no lock. Fails when nothing can be said of the heap: errc::in_use
    /// when it is open for writing elsewhere, or was while it was read; not_found, not_a_heap, unsupported_format; corrupt or
    /// truncated when no superblock is left. Other damage goes to problems(); it is certain as long as is_unchanged().
    /// `files` must outlive the result. O(log).
    static result<std::unique_ptr<inspection>> open(os::file_system& files, const std::string& path,
                                                    const inspection_progress& progress);

    /// As open(), of a heap that somebody else is writing to: everything that its last commit names but
    /// the pages is read at once, and kept in memory. A page that was overwritten since is damage to whoever reads it, so
    /// misfits() are to be believed only as far as the writer did not cause them: see with_last_commit(). errc::in_use
    /// when it moved on already. O(log and checksum tables).
    static result<std::unique_ptr<inspection>> open_live(os::file_system& files, const std::string& path,
                                                         const inspection_progress& progress);

    /// Another look at the same picture: what it reads is of the same commit, whatever was written since, and it has memory and problems of
    /// its own. So the two may become two states.
    result<std::unique_ptr<inspection>> look_again();

    [[nodiscard]] bool is_live() const { return live_; }
    /// True if the superblocks are what they were when it was opened. Then all that was read of a heap that is not live was the
    /// last commit's: whoever opens it for writing makes another superblock durable before anything else that can be seen here.
    [[nodiscard]] result<bool> is_unchanged(os::file_system& files);
    /// The current superblock as the file has it.
    [[nodiscard]] const format::superblock& super() const { return super_; }
    [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }
    [[nodiscard]] const inspected_log& log() const { return log_; }
    /// Number of the last commit, or of the last one before the damage.
    [[nodiscard]] std::uint64_t version() const { return log_.commits + super_.checkpoint_version; }
    /// Version of the last record in the log that changes the page, or places its chunk; 0: there is none.
    [[nodiscard]] std::uint64_t last_change_of(std::uint64_t page) const;
    /// Where the other superblock lies, if it is damaged as a power loss damages one: beside a log. Then it is no problem:
    /// the current one counts, and the next open for writing mends the other.
    [[nodiscard]] std::optional<std::uint64_t> torn_superblock() const { return torn_superblock_; }
    /// The heap as a recovery would leave it.
    [[nodiscard]] store::heap_file& store() { return *store_; }
    [[nodiscard]] const std::string& path() const { return store_->path(); }
    /// As a recovery would leave them.
    [[nodiscard]] os::file_system& files() { return *files_; }
    /// What was found wrong so far.
    [[nodiscard]] const std::vector<problem>& problems() const { return problems_.all(); }
    /// Adds to them, once for each place in a file. Says whether it is new.
    bool note(const failure& damage) { return problems_.add(damage); }
    /// Bytes that are not what superblock, log and checksums say, as far as they were met: all else that is wrong is that
    /// bytes which fit contradict each other.
    [[nodiscard]] const std::vector<problem>& misfits() const { return misfits_.all(); }
    /// Adds to both.
    void note_misfit(const failure& damage, std::uint64_t bytes = 0);
    /// Forgets what was found wrong but for these problems, which others than the heap's writer caused.
    void keep_only(const std::vector<problem>& proven);
    /// True if all of it was checked that was to be: not so after keep_only().
    [[nodiscard]] bool is_all_checked() const { return all_checked_; }

    /// errc::corrupt when it cannot be read. Null: nothing was ever committed.
    result<const format::heap_header*> header();
    /// Hands over a range of the heap in pieces, each with its heap offset; keeps none of it in memory. errc::corrupt,
    /// with the place in the file, at the first page that is damaged.
    result<void> read(heap_range range, const std::function<void(std::uint64_t, std::span<const std::byte>)>& visit);
    /// Where a byte of the heap lies in the file; error::k_no_offset: nowhere that is known.
    [[nodiscard]] std::uint64_t file_offset(std::uint64_t heap_offset) const;
    /// The block that a heap offset lies in. Only after check_all(), and if that could check the allocator.
    [[nodiscard]] std::optional<heap_range> block_of(std::uint64_t offset) const;

    /// All of them, sorted. Likewise; empty if it could not.
    [[nodiscard]] std::vector<heap_range> blocks() const;

    /// From now on it is not the last commit, but what this leads to from there. Before anything else is asked. Throws std::bad_alloc.
    result<void> become(const history::delta& way);
    /// Memory up to there, if there is not so much: of zeros.
    result<void> make_memory(std::uint64_t bytes);

    /// Reads all pages, checksum tables and structures of the allocator, and compares; adds to problems(). O(heap).
    result<inspected_parts> check_all(const inspection_progress& progress);
    /// The same without the pages of everything but the allocator's structures. O(tables and those structures).
    result<inspected_parts> check_structure();

    /// How the allocator's memory is used. Nothing, and the damage added to problems(), when its structures cannot be read
    /// or do not fit. Reads them, and no other pages. O(heap / 4096).
    result<std::optional<alloc::occupancy>> survey_allocator();
    /// True if block_of() can tell.
    [[nodiscard]] bool knows_blocks() const { return allocator_ != nullptr; }
    /// End of the heap's memory: of the image, or of what the allocator has in use.
    [[nodiscard]] std::uint64_t heap_bytes_end() const { return accessible_; }

    [[nodiscard]] bool contains(std::uint64_t offset, std::uint64_t bytes) const override;
    result<std::byte*> at(std::uint64_t offset, std::uint64_t bytes) override;
    /// Reads the allocator's structures first, if nobody has. Damage of them goes to problems(), too.
    result<std::optional<heap_range>> block_around(std::uint64_t offset) override;
    [[nodiscard]] std::uint64_t block_bytes_for(std::uint64_t bytes, std::uint64_t alignment) const override;

private:
    explicit inspection(os::file_system& files) : files_(std::make_shared<os::overlay_files>(files)) {}
    /// Another look.
    inspection(const std::shared_ptr<os::overlay_files>& files, const std::shared_ptr<store::heap_file>& store)
        : files_(files), store_(store) {}
    static result<std::unique_ptr<inspection>> open_with(os::file_system& files, const std::string& path,
                                                         store::heap_file::locking lock,
                                                         const inspection_progress& progress);
    static result<std::unique_ptr<inspection>> open_unchanged(os::file_system& files, const std::string& path,
                                                              store::heap_file::locking lock,
                                                              const inspection_progress& progress);
    // The steps of open_with().

    result<void> open_store(const std::string& path, store::heap_file::locking lock);
    result<void> find_log();
    /// Damage of the superblock that does not rule is a problem, or what a power loss leaves: torn_superblock().
    void judge_other_superblock();
    result<void> recover_image(const inspection_progress& progress);
    result<void> expect_unchanged(os::file_system& files);
    result<void> check_allocator(inspected_parts& parts);
    result<void> try_to_check_allocator(inspected_parts& parts);
    /// The page at `page`, in memory.
    result<void> fetch(std::uint64_t page);
    /// Makes memory of what an allocator has given out: what nobody ever wrote to is not in the image, and zeros. What is wrong with the
    /// allocator, or is too much, others tell.
    void reach_used(std::uint64_t first_page, const format::alloc_state& state);
    result<void> read_metadata();
    template <class F>
    result<void> for_each_arena(const F& f);

    std::shared_ptr<os::overlay_files> files_;
    std::shared_ptr<store::heap_file> store_; // which refers to files_
    format::superblock super_{};
    std::uint64_t file_bytes_ = 0;
    inspected_log log_;
    std::vector<recover::last_change> changes_; // sorted by page
    recover::chunk_births births_;
    bool live_ = false;
    std::optional<std::uint64_t> other_superblock_damage_;
    std::optional<std::uint64_t> torn_superblock_;
    problem_list problems_;
    problem_list misfits_;
    bool all_checked_ = true;
    std::optional<os::reservation> place_;
    std::uint64_t accessible_ = 0;
    std::vector<bool> read_;        // pages of the image that are in memory
    bool is_another_state_ = false; // become() was called: memory is not what the file has
    std::vector<std::byte> piece_;  // scratch of read()
    std::unique_ptr<alloc::block_allocator> allocator_;
};

} // namespace remanence::inspect
