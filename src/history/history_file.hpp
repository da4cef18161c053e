// The file NAME-history while its heap is open: loaded, begun, appended to, and made anew when it has grown.
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

/// The file while its heap is open.
class history_file {
public:
    /// `path`: of the history. Nothing is touched. `rewritten_from`: the file is not made anew while it is smaller.
    history_file(os::file_system& files, std::string path, const heap_uuid& heap, std::uint64_t rewritten_from)
        : files_(files), path_(std::move(path)), heap_(heap), rewritten_from_(rewritten_from) {}

    /// Returns the steps that led to this commit, with these limits, from the file; none: `why` has the reason in a sentence, and
    /// the file is not touched before begin(). Fails when the file cannot be read. Throws std::bad_alloc. Without limits: for a process
    /// that joins the session of others, whose limits hold. If they began the file later, the steps are those of its beginning.
    result<std::optional<step_tree>> load(const commit_name& last, const std::optional<limits>& most,
                                          std::uint64_t heap_bytes, std::string& why);
    /// What the steps that led to this commit are in all, if the file ends with that: then it has begun, and load_rest() has the steps.
    /// Nothing: load() tells, and the file is not touched. Fails when the file cannot be read.
    result<std::optional<summary>> load_summary(const commit_name& last);
    /// The steps that led to the last commit, of a file that has begun, with these limits. None: what it had is not whole, `why` says
    /// so, and the file is as one that was not loaded. Otherwise as load().
    result<std::optional<step_tree>> load_rest(const limits& most, std::uint64_t heap_bytes, std::string& why);
    [[nodiscard]] bool is_called(const std::string& path) const { return path == path_; }
    [[nodiscard]] bool has_begun() const { return file_ != nullptr; }
    /// Whether the file says that the limits hold with which the steps are kept, so that whoever reads it comes to the same ones.
    [[nodiscard]] bool has_limits() const { return has_limits_; }
    /// Makes the file anew, with all these steps, which led to this durable commit. Durable once this returns. What is in its
    /// place, and was not loaded, is set aside. errc::no_space leaves all as it was.
    result<void> begin(const step_tree& steps, const commit_name& last, unsigned mode);

    // Of the next commit; has_begun().

    /// Takes memory and room in the file for the events of a commit. errc::no_space leaves all as it was; throws std::bad_alloc, likewise.
    result<void> reserve(std::size_t event_bytes);
    /// The commit is made. Precondition: reserve() had room for these events.
    void add(const commit_name& commit, std::span<const std::byte> events) noexcept;

    // Of a heap that several processes share. All write the same bytes to the same places, so that it does not matter who does, or who
    // has done so already. Nobody makes the file anew meanwhile.

    /// The last commit that this process knows the events of.
    [[nodiscard]] const commit_name& through() const { return end_.commit; }
    /// Another process has made the next commit. Throws std::bad_alloc.
    void add_of_others(const commit_name& commit, std::span<const std::byte> events);
    /// The entries up to this version are durable: another process's checkpoint covers them.
    void forget_pending(std::uint64_t through) noexcept;
    /// Goes on to this commit, which another process's checkpoint covers, by the entries in the file; calls `f` with the events of each.
    /// False: the file does not lead there. Throws std::bad_alloc.
    using events_visitor = std::function<result<void>(const commit_name&, std::span<const std::byte> events)>;
    result<bool> read_on(const commit_name& to, const events_visitor& f);
    /// If another process has made the file anew, this one goes on in that. Where something else is at the name, it goes on in its own.
    /// Precondition: this process knows all commits, and no other writes to the file meanwhile. Throws std::bad_alloc. O(1), or O(history).
    result<void> go_on_in_new();
    /// The file keeps its name, though who has made it may have died before that was durable.
    result<void> sync_name() { return files_.sync_directory("history: sync directory of new file", path_); }
    /// As write_all(), and the file stays.
    result<void> write_appended();

    /// Hands everything to the file, which is made anew if it has become much larger than the steps need, is lost, or could not follow the
    /// heap. Precondition: it was begun once, all commits are durable, and `steps` are those after the last one. Throws std::bad_alloc.
    result<void> write_all(const step_tree& steps, unsigned mode, bool is_lost);
    /// Whether it is not at its name any more. write_all() makes it anew then, and needs all steps.
    [[nodiscard]] bool is_lost() const;
    /// Whether write_all() may make it anew for its length, and so needs all steps.
    [[nodiscard]] bool has_grown() const { return end_.offset >= rewritten_at_; }
    /// What became of it since it was begun, in a sentence, if all steps are there all the same; empty: nothing.
    [[nodiscard]] const std::string& what_happened() const { return what_happened_; }
    /// Makes durable what the last write_all() wrote. From any thread, but not beside write_all().
    result<void> sync() { return synced_->sync("history: sync entries"); }
    /// Cuts off what was reserved, and writes what the steps are in all. Between write_all() and sync().
    result<void> end_with(const summary& all);
    /// The heap has another name now, and the file follows it. If it cannot, it has to begin there, and what_happened() says so.
    void follow(const std::string& path);

private:
    /// Whether all entries are sound: those in the file, and those that are not there yet.
    result<bool> read_all(step_loader& steps);
    /// Calls f(commit, events) with each pending entry.
    template <class F>
    void for_each_pending(const F& f) const;
    /// Whether the pending entries go on behind this commit, or one of them is of it.
    [[nodiscard]] bool is_before_or_in_pending(const commit_name& commit) const;
    result<void> write_pending();
    result<void> write_or_begin(const step_tree& steps, unsigned mode, bool is_lost);
    struct made_file {
        std::unique_ptr<os::file> file;
        entry_end end{};
        std::uint64_t reserved_end = 0;
    };
    /// begin() in two parts. A failure of the first one leaves this file as it was, so that it can go on.
    result<made_file> make(const step_tree& steps, const commit_name& last, unsigned mode) const;
    result<void> go_on_in(made_file made);
    result<std::unique_ptr<os::file>> open_new(const std::string& building, unsigned mode) const;
    result<void> fill(os::file& file, const step_tree& steps, const commit_name& last, entry_end& end) const;
    result<void> rename_into_place(const std::string& building) const;

    os::file_system& files_;
    std::string path_;
    const heap_uuid heap_;
    const std::uint64_t rewritten_from_;
    std::shared_ptr<os::file> file_;   // none: it was not begun
    std::shared_ptr<os::file> synced_; // as of the last write_all(), for another thread
    entry_end end_{};                  // of all entries, pending ones included
    std::vector<std::byte> pending_;   // the last entries, which are not in the file
    commit_name before_pending_{};     // of the last one that is
    std::uint64_t reserved_end_ = 0;
    std::uint64_t rewritten_at_ = 0; // when the file is so long
    bool is_in_the_way_ = false;     // another file has the name
    bool has_limits_ = false;
    std::string what_happened_;
};

} // namespace remanence::history
