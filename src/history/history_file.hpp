// The file NAME-history while its heap is open: loads it, begins it, appends to it, and rewrites it when it has grown.
//
// H5, H6, H8: README.md.
#pragma once

#include "base/result.hpp"
#include "history/history_entries.hpp"
#include "history/step_tree.hpp"
#include "os/file.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace remanence::history {

class step_loader;

class history_file {
public:
    /// `path` is that of the history. Touches no file. The file is not rewritten while it is smaller than
    /// `rewritten_from`.
    history_file(os::file_system& files, std::string path, const heap_uuid& heap, std::uint64_t rewritten_from)
        : files_(files), path_(std::move(path)), heap_(heap), rewritten_from_(rewritten_from) {}

    /// Loads the steps that led to the commit `last`, for a session with the limits `most`. Returns none if the file
    /// lacks these steps: then `why` is set to the reason, as a sentence, and the file is not touched before begin().
    /// Fails if the file cannot be read. Throws std::bad_alloc.
    /// A process that joins others passes no limits, since those in the file apply. If the other processes began the
    /// file later than `last`, returns the steps at the beginning of the file.
    result<std::optional<step_tree>> load(const commit_name& last, const std::optional<limits>& most,
                                          std::uint64_t heap_bytes, std::string& why);
    /// If the file ends with a summary for this commit, returns it: then has_begun() is true, and load_rest() loads
    /// the steps. Otherwise returns nothing and touches no file: then call load(). Fails if the file cannot be read.
    result<std::optional<summary>> load_summary(const commit_name& last);
    /// Loads the steps that led to the last commit, with these limits. Precondition: has_begun(). Returns none if the
    /// contents of the file are not whole: then `why` is set, and has_begun() is false. Otherwise as load().
    result<std::optional<step_tree>> load_rest(const limits& most, std::uint64_t heap_bytes, std::string& why);
    [[nodiscard]] bool is_called(const std::string& path) const { return path == path_; }
    [[nodiscard]] bool has_begun() const { return file_ != nullptr; }
    /// True if the file's limits are those that this process applies. Then every process that reads the file gets the
    /// same steps.
    [[nodiscard]] bool has_limits() const { return has_limits_; }
    /// Writes a new file with all these steps, which led to this durable commit. Durable once this returns. If a file
    /// that was not loaded has the name, sets that file aside. errc::no_space changes nothing.
    result<void> begin(const step_tree& steps, const commit_name& last, unsigned mode);

    // For the next commit. Precondition: has_begun().

    /// Reserves memory and file space for the events of a commit. errc::no_space and std::bad_alloc change nothing.
    result<void> reserve(std::size_t event_bytes);
    /// Adds the events of the commit once its record is in the log. Precondition: reserve() has succeeded for them.
    void add(const commit_name& commit, std::span<const std::byte> events) noexcept;

    // For a heap that several processes share. All processes write the same bytes to the same places of the file, so
    // it does not matter which of them writes, or if several do. No process rewrites the file while others may write to
    // it.

    /// Returns the last commit whose events this process knows.
    [[nodiscard]] const commit_name& through() const { return end_.commit; }
    /// Adds the next commit, which another process made. Throws std::bad_alloc.
    void add_of_others(const commit_name& commit, std::span<const std::byte> events);
    /// Drops the pending entries up to this version, which another process's checkpoint has made durable.
    void forget_pending(std::uint64_t through) noexcept;
    /// Reads the next entries of the file, up to this commit, which another process's checkpoint covers. Calls `f`
    /// with the events of each commit. Returns false if the file has no entry for this commit. Throws std::bad_alloc.
    using events_visitor = std::function<result<void>(const commit_name&, std::span<const std::byte> events)>;
    result<bool> read_on(const commit_name& to, const events_visitor& f);
    /// If another process has rewritten the file, changes to the new one. Keeps the old file open if anything else has
    /// the name. Precondition: this process knows all commits, and no other process writes to the file meanwhile.
    /// Throws std::bad_alloc. O(1), or O(history) if the file has changed.
    result<void> go_on_in_new();
    /// Makes the file's name durable. The process that created the file may have died before it did that.
    result<void> sync_name() { return files_.sync_directory("history: sync directory of new file", path_); }
    /// Writes the pending entries as write_all() does, but never rewrites the file.
    result<void> write_appended();

    /// Writes all pending entries to the file. Writes a new file instead if the file is much larger than the steps
    /// need, is lost, or could not be renamed after the heap. Precondition: the file was loaded or begun before, all
    /// commits are durable, and `steps` is the tree after the last commit. Throws std::bad_alloc.
    result<void> write_all(const step_tree& steps, unsigned mode, bool is_lost);
    /// True if the file no longer has its name. Then write_all() writes a new one, for which it needs all steps.
    [[nodiscard]] bool is_lost() const;
    /// True if the file is so long that write_all() may rewrite it, for which it needs all steps.
    [[nodiscard]] bool has_grown() const { return end_.offset >= rewritten_at_; }
    /// Returns a sentence that tells why the file was begun anew while the heap was open; empty if it was not.
    [[nodiscard]] const std::string& what_happened() const { return what_happened_; }
    /// Makes the last write_all() durable. From any thread, but not at the same time as write_all().
    result<void> sync() { return synced_->sync("history: sync entries"); }
    /// Cuts off the reserved space, and appends the summary of the steps. Call it between write_all() and sync().
    result<void> end_with(const summary& all);
    /// Renames the file to `path`, after its heap was renamed. If that fails, has_begun() is false, so that a new file
    /// is begun at `path`, and what_happened() says why.
    void follow(const std::string& path);

private:
    /// True if all entries are sound, those in the file and the pending ones.
    result<bool> read_all(step_loader& steps);
    /// Calls f(commit, events) with each pending entry.
    template <class F>
    void for_each_pending(const F& f) const;
    /// True if the pending entries follow this commit, or one of them belongs to it.
    [[nodiscard]] bool is_before_or_in_pending(const commit_name& commit) const;
    result<void> write_pending();
    result<void> write_or_begin(const step_tree& steps, unsigned mode, bool is_lost);
    struct made_file {
        std::unique_ptr<os::file> file;
        entry_end end{};
        std::uint64_t reserved_end = 0;
    };
    /// begin() in two parts. If make() fails, this object is unchanged, and its file can still be used.
    result<made_file> make(const step_tree& steps, const commit_name& last, unsigned mode) const;
    result<void> go_on_in(made_file made);
    result<std::unique_ptr<os::file>> open_new(const std::string& building, unsigned mode) const;
    result<void> fill(os::file& file, const step_tree& steps, const commit_name& last, entry_end& end) const;
    result<void> rename_into_place(const std::string& building) const;

    os::file_system& files_;
    std::string path_;
    const heap_uuid heap_;
    const std::uint64_t rewritten_from_;
    std::shared_ptr<os::file> file_;   // null: not begun
    std::shared_ptr<os::file> synced_; // file_ at the last write_all(), for sync() in another thread
    entry_end end_{};                  // of the last entry, pending or in the file
    std::vector<std::byte> pending_;   // the last entries, not in the file yet
    commit_name before_pending_{};     // the last commit in the file
    std::uint64_t reserved_end_ = 0;
    std::uint64_t rewritten_at_ = 0; // the length at which the file is rewritten
    bool is_in_the_way_ = false;     // another file has the name
    bool has_limits_ = false;
    std::string what_happened_;
};

} // namespace remanence::history
