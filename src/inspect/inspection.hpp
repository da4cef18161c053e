// A heap as of its last commit, for inspection. The file is neither written nor mapped. Damage is reported and does not
// stop the inspection.
//
// If the heap needs recovery, recovery runs on files that keep their changes in memory (os/overlay_files.hpp). The
// heap's memory lies anywhere, not at its base address. Each page is read and checked when it is first needed, so an
// unreadable page is an error instead of a signal.
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
    std::uint64_t commits = 0; // number of commits that are in the log and not in the image
    std::uint64_t record_bytes = 0;
    log::record_totals totals{}; // of these commits
};

struct inspected_parts {
    std::uint64_t pages = 0;
    std::uint64_t blocks = 0;
    bool allocator = false; // whether the allocator could be checked
};

/// While an inspection exists, other processes may open the heap for writing, and write to it. An inspection must be
/// used by one thread at a time.
class inspection final : public types::heap_bytes {
public:
    /// Opens a heap that no process has open for writing; acquires no lock. Fails if nothing can be said of the heap:
    /// errc::in_use if another process has it open for writing, or had while it was read; not_found, not_a_heap,
    /// unsupported_format; corrupt or truncated if no superblock can be read. Adds other damage to problems(); that is
    /// certainly damage as long as is_unchanged(). `files` must outlive the result. O(log).
    static result<std::unique_ptr<inspection>> open(os::file_system& files, const std::string& path,
                                                    const inspection_progress& progress);

    /// Opens a heap that another process is writing to. Reads at once everything that the last commit names, except
    /// pages, and stores it in memory. A page that the writer has overwritten since then looks damaged. So misfits()
    /// may list pages that only the writer has changed; with_last_commit() tells them apart. errc::in_use if the writer
    /// has already committed again. O(log and checksum tables).
    static result<std::unique_ptr<inspection>> open_live(os::file_system& files, const std::string& path,
                                                         const inspection_progress& progress);

    /// Returns a second inspection of the same commit, whatever was written since. It has memory and problems of its
    /// own, so become() may change one of the two to another state.
    result<std::unique_ptr<inspection>> look_again();

    [[nodiscard]] bool is_live() const { return live_; }
    /// True if the superblocks are the same as when the heap was opened. Then everything that was read of a heap that
    /// is not live belongs to the last commit, because a process that opens the heap for writing makes another
    /// superblock durable before it changes anything else that is read here.
    [[nodiscard]] result<bool> is_unchanged(os::file_system& files);
    /// Returns the current superblock as it is in the file.
    [[nodiscard]] const format::superblock& super() const { return super_; }
    [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }
    [[nodiscard]] const inspected_log& log() const { return log_; }
    /// Returns the number of the last commit, or, if the log is damaged, of the last one before the damage.
    [[nodiscard]] std::uint64_t version() const { return log_.commits + super_.checkpoint_version; }
    /// Returns the version of the last record in the log that changes the page or places its chunk; 0 if there is none.
    [[nodiscard]] std::uint64_t last_change_of(std::uint64_t page) const;
    /// Returns the offset of the other superblock if a power loss may have torn it, that is, if there is also a log.
    /// This is no problem: the current superblock is valid, and the next open for writing repairs the other one.
    [[nodiscard]] std::optional<std::uint64_t> torn_superblock() const { return torn_superblock_; }
    /// Returns the heap as recovery would leave it.
    [[nodiscard]] store::heap_file& store() { return *store_; }
    [[nodiscard]] const std::string& path() const { return store_->path(); }
    /// Returns the files as recovery would leave them.
    [[nodiscard]] os::file_system& files() { return *files_; }
    [[nodiscard]] const std::vector<problem>& problems() const { return problems_.all(); }
    /// Adds a problem, unless one at the same place is listed. Returns true if it was added.
    bool note(const failure& damage) { return problems_.add(damage); }
    /// Returns the places found so far whose bytes contradict superblock, log or checksums. Any other problem is a
    /// contradiction between bytes whose checksums are right.
    [[nodiscard]] const std::vector<problem>& misfits() const { return misfits_.all(); }
    /// Adds to problems() and misfits().
    void note_misfit(const failure& damage, std::uint64_t bytes = 0);
    /// Removes all problems but these, which the heap's writer did not cause.
    void keep_only(const std::vector<problem>& proven);
    /// True if every check was made; false after keep_only().
    [[nodiscard]] bool is_all_checked() const { return all_checked_; }

    /// Returns the header; null if nothing was ever committed. errc::corrupt if the header cannot be read.
    result<const format::heap_header*> header();
    /// Passes a range of the heap in pieces, each with its heap offset; stores none of it. errc::corrupt, with the
    /// place in the file, at the first damaged page.
    result<void> read(heap_range range, const std::function<void(std::uint64_t, std::span<const std::byte>)>& visit);
    /// Returns the file offset of a byte of the heap; error::k_no_offset if the byte has none, or if it is not known.
    [[nodiscard]] std::uint64_t file_offset(std::uint64_t heap_offset) const;
    /// Returns the block that contains a heap offset. Precondition: knows_blocks().
    [[nodiscard]] std::optional<heap_range> block_of(std::uint64_t offset) const;

    /// Returns all blocks, sorted; empty if check_all() could not check the allocator.
    [[nodiscard]] std::vector<heap_range> blocks() const;

    /// Changes the inspection from the last commit to the state to which this delta leads. Must be called before any
    /// other function. Throws std::bad_alloc.
    result<void> become(const history::delta& way);
    /// Enlarges memory to this size, if it is smaller; the new part is zero.
    result<void> make_memory(std::uint64_t bytes);

    /// Reads all pages, checksum tables and structures of the allocator, and checks that they agree. Adds
    /// contradictions to problems(). O(heap).
    result<inspected_parts> check_all(const inspection_progress& progress);
    /// Does the same, but reads only those pages that contain the allocator's structures. O(tables and those
    /// structures).
    result<inspected_parts> check_structure();

    /// Returns how the allocator's memory is used. If the allocator's structures cannot be read or contradict each
    /// other, returns nothing, and adds that to problems(). Reads no other pages. O(heap / 4096).
    result<std::optional<alloc::occupancy>> survey_allocator();
    /// True after a call of check_all() that could check the allocator; then block_of() can answer.
    [[nodiscard]] bool knows_blocks() const { return allocator_ != nullptr; }
    /// Returns the end of the heap's memory: that of the image, or of the memory that the allocator uses, if it is
    /// larger.
    [[nodiscard]] std::uint64_t heap_bytes_end() const { return accessible_; }

    [[nodiscard]] bool contains(std::uint64_t offset, std::uint64_t bytes) const override;
    result<std::byte*> at(std::uint64_t offset, std::uint64_t bytes) override;
    /// Reads the allocator's structures first, if they have not been read. Adds damage of these to problems(), too.
    result<std::optional<heap_range>> block_around(std::uint64_t offset) override;
    [[nodiscard]] std::uint64_t block_bytes_for(std::uint64_t bytes, std::uint64_t alignment) const override;

private:
    explicit inspection(os::file_system& files) : files_(std::make_shared<os::overlay_files>(files)) {}
    /// Used by look_again().
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
    /// Decides whether damage of the superblock that is not current is a problem, or may come from a power loss:
    /// torn_superblock().
    void judge_other_superblock();
    result<void> recover_image(const inspection_progress& progress);
    result<void> expect_unchanged(os::file_system& files);
    result<void> check_allocator(inspected_parts& parts);
    result<void> try_to_check_allocator(inspected_parts& parts);
    result<void> fetch(std::uint64_t page);
    /// Enlarges memory to the pages that an allocator has used. Pages that were never written are zero, and not in the
    /// image. If the allocator is damaged or claims too much, other checks report that.
    void reach_used(std::uint64_t first_page, const format::alloc_state& state);
    result<void> read_metadata();
    template <class F>
    result<void> for_each_arena(const F& f);

    std::shared_ptr<os::overlay_files> files_;
    std::shared_ptr<store::heap_file> store_; // refers to files_
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
    std::vector<bool> read_;        // for each page of the image, whether it is in memory
    bool is_another_state_ = false; // become() was called, so memory differs from the file
    std::vector<std::byte> piece_;  // buffer of read()
    std::unique_ptr<alloc::block_allocator> allocator_;
};

} // namespace remanence::inspect
