#include "other_purposes.hpp"

#include "api/relocation_part.hpp"
#include "copied_store.hpp"
#include "crash_states.hpp"
#include "engine_store.hpp"
#include "format/log_record.hpp"
#include "recover/history_of_heap.hpp"
#include "session.hpp"
#include "store/heap_creation.hpp"
#include "store/heap_file.hpp"
#include "testing/crash_walk.hpp"
#include "testing/simulated_disk.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace remanence::crash {

namespace {

const std::string k_heap = session::k_path;
const std::string k_log = remanence::store::log_path(k_heap);
const std::string k_history = remanence::store::history_path(k_heap);
const std::string k_copy = k_heap + "-copy";

txn::engine_options without_checkpoints() {
    auto options = small_heap_options();
    options.log_limit_bytes = 64 * MiB; // no checkpoint but those that are asked for
    return options;
}

void require(result<void> done, const std::string& what) {
    if (!done)
        throw violation(what + " failed: " + done.why().message);
}

/// A program with a heap on a disk that leaves out what is done at one call site.
class program {
public:
    explicit program(const std::string& dropped_site) { disk_.drop_at(dropped_site); }

    [[nodiscard]] result<void> try_open(const std::string& path = k_heap) {
        auto options = without_checkpoints();
        if (keeps_history_)
            options.history = {.steps_max = 1000};
        options.history_kept = keeps_history_;
        auto opened = engine(std::move(options))(disk_, path);
        if (!opened)
            return opened.error();
        heap_ = std::move(*opened);
        return {};
    }
    void keep_history() { keeps_history_ = true; }
    void name_no_history() { keeps_history_ = false; }
    [[nodiscard]] std::uint64_t undo_depth() const { return heap_->undo_depth(); }
    void open(const std::string& path = k_heap) { require(try_open(path), "open"); }
    [[nodiscard]] result<void> try_commit() { return heap_->commit(log::durability::durable); }
    void commit() { require(try_commit(), "commit"); }
    void checkpoint(const std::string& after) { require(heap_->checkpoint(), "checkpoint after " + after); }
    void close() {
        require(heap_->close(), "close");
        heap_.reset();
    }
    void die() { heap_.reset(); }
    void verify() {
        auto problems = heap_->verify();
        if (!problems)
            throw violation("verify failed: " + problems.why().message);
        if (!problems->empty())
            throw violation("verify finds " + problems->front());
    }

    /// A block of which nothing is touched yet.
    std::byte* allocate(std::uint64_t bytes) {
        auto* block = static_cast<std::byte*>(heap_->allocate(bytes));
        if (block == nullptr)
            throw violation("cannot allocate " + std::to_string(bytes) + " bytes");
        return block;
    }
    std::byte* add(std::uint64_t bytes) {
        std::byte* block = allocate(bytes);
        std::fill_n(block, bytes, std::byte{7});
        return block;
    }
    /// Chunks between its pieces are skipped: they need entries in the chunk map.
    std::byte* add_sparse(std::uint64_t bytes) {
        std::byte* block = allocate(bytes);
        for (std::uint64_t at = 0; at < bytes; at += 130 * KiB)
            block[at] = std::byte{7};
        return block;
    }
    simulation::simulated_disk& disk() { return disk_; }
    std::vector<std::string> names() {
        std::vector<std::string> found;
        for (const auto& [name, bytes] : disk_.files())
            found.push_back(name);
        return found;
    }

private:
    bool keeps_history_ = false;
    simulation::simulated_disk disk_;
    std::unique_ptr<store> heap_;
};

/// Of each page less than what makes chunks move: all of it goes into the log.
void fill_parts(std::byte* block, std::uint64_t bytes, int value) {
    for (std::uint64_t at = 0; at + k_page_bytes <= bytes; at += k_page_bytes)
        std::fill_n(block + at, 1600, static_cast<std::byte>(value));
}

// What a commit that is only copied was promised when it was made.

/// Little of each page changes, so often that the log grows.
void finish_points_on_full_disk(const std::string& dropped) {
    simulation::simulated_disk disk;
    disk.drop_at(dropped);
    disk.limit_space(GiB);
    auto opened = txn::engine::open(disk, k_heap, txn::open_mode::open_or_create, without_checkpoints(), "crash tests");
    if (!opened)
        throw violation("open failed: " + opened.why().message);
    txn::engine& heap = **opened;
    std::optional<failure> told;
    heap.copy_points_from(1);
    heap.let_checkpoints_be_carried_out([] { return true; });
    heap.let_points_be_told_of([&](std::uint64_t, const std::optional<failure>& why) { told = why; });
    constexpr std::uint64_t k_pages = 75;
    std::optional<unexpected> why;
    auto* const block = static_cast<std::byte*>(heap.memory().allocate(k_pages * k_page_bytes, 16, why));
    std::fill_n(block, k_pages * k_page_bytes, std::byte{7});
    require(heap.commit(), "commit");
    for (int value = 0; value < 1000; ++value) {
        for (std::uint64_t page = 0; page < k_pages; ++page)
            block[page * k_page_bytes] = static_cast<std::byte>(value);
        auto made = heap.make_commit({.fresh = txn::fresh_contents::in_log_if_few, .awaited = log::durability::none});
        if (!made)
            throw violation("a point failed: " + made.why().message);
        disk.limit_space(std::max(disk.space_used(), k_page_bytes));
        require(heap.finish_point(), "a point that is finished on a full disk");
        if (told)
            throw violation("a point that is finished on a full disk came to nothing: " + told->message);
        disk.limit_space(GiB);
    }
}

// Room is reserved before a commit writes anything (I5).

class program_on_full_disk : public program {
public:
    explicit program_on_full_disk(const std::string& dropped_site) : program(dropped_site) { make_room(); }

    void make_room() { disk().limit_space(GiB); }
    void take_all_room() { disk().limit_space(std::max(disk().space_used(), k_page_bytes)); }
    /// Tried with a page more each time, until there is enough; before that, it says so.
    template <class F>
    void with_least_room(const std::string& what, F&& attempt) {
        take_all_room();
        for (std::uint64_t room = std::max(disk().space_used(), k_page_bytes);; room += k_page_bytes) {
            disk().limit_space(room);
            auto done = attempt();
            if (done)
                break;
            if (done.why().code != errc::no_space)
                throw violation(what + " on a full disk: " + done.why().message);
        }
        take_all_room();
    }
    void commit_and_apply(const std::string& what) {
        with_least_room(what, [&] { return try_commit(); });
        checkpoint(what);
    }
};

void work_on_full_disk(const std::string& dropped) {
    program_on_full_disk at_work(dropped);
    at_work.with_least_room("creation", [&] { return at_work.try_open(); });
    std::byte* block = at_work.add(300 * KiB);
    at_work.commit_and_apply("fresh chunks");
    block[5000] = std::byte{1};
    at_work.commit_and_apply("a small commit");
    block[5000] = std::byte{2};
    at_work.commit_and_apply("another"); // to the other places of the checksums
    at_work.add_sparse(400 * KiB);
    at_work.commit_and_apply("a few skipped chunks");
    std::byte* sparse = at_work.add_sparse(13 * MiB);
    at_work.commit_and_apply("more skipped chunks than the chunk map's first place has entries for");
    at_work.close();
    at_work.make_room();
    require(copy_heap(at_work.disk(), k_heap, k_copy), "copy");
    at_work.open();
    sparse[20 * KiB] = std::byte{1};
    at_work.commit_and_apply("a page that was a hole");
    std::byte* rewritten = at_work.add(3 * MiB);
    at_work.commit_and_apply("more fresh chunks");
    fill_parts(rewritten, 3 * MiB, 8);
    at_work.commit_and_apply("a record longer than the log");
    std::fill_n(rewritten, 600 * KiB, std::byte{9});
    at_work.commit_and_apply("chunks that move");
    rewritten[100 * KiB] = std::byte{10};
    at_work.commit_and_apply("a small commit to one that has moved");
    block[5000] = std::byte{3};
    at_work.commit();
    at_work.die();
    require(at_work.try_open(), "recovery on a full disk");
    at_work.close();

    at_work.open(k_copy); // it has holes where nothing but zeros was: in the other place of the chunk map, for one
    at_work.add_sparse(400 * KiB);
    at_work.commit_and_apply("a commit to the copy");
    block[5000] = std::byte{4};
    at_work.commit_and_apply("another to the copy");
    at_work.close();
}

/// The history of each commit has its room before the commit is made.
void keep_history_on_full_disk(const std::string& dropped) {
    program_on_full_disk at_work(dropped);
    at_work.keep_history();
    at_work.with_least_room("creation", [&] { return at_work.try_open(); });
    std::byte* block = at_work.add(300 * KiB);
    at_work.commit_and_apply("fresh chunks");
    for (int i = 0; i < 12; i++) {
        fill_parts(block, 100 * KiB, i);
        at_work.commit_and_apply("a commit");
    }
    at_work.close();
}

/// Of chunks that move, and stay away.
void give_former_copies_back(const std::string& dropped) {
    program at_work(dropped);
    at_work.disk().limit_space(GiB); // so that it counts what is used
    at_work.open();
    std::byte* block = at_work.add(MiB);
    at_work.commit();
    at_work.close();
    const std::uint64_t before = at_work.disk().space_used();
    at_work.open();
    std::fill_n(block, MiB, std::byte{8});
    at_work.commit();
    at_work.close();
    if (at_work.disk().space_used() > before + 256 * KiB)
        throw violation("the copies that chunks left are still there");
}

// What failed leaves nothing behind, and nor does what is done.

void leave_only(program& at_work, const std::vector<std::string>& expected, const std::string& when) {
    for (const std::string& name : at_work.names())
        if (std::find(expected.begin(), expected.end(), name) == expected.end())
            throw violation(name + " is left " + when);
}

/// At each operation in turn, a program's creation, first commit or copy fails. All that it may be repeated after is gone.
void leave_nothing_behind(const std::string& dropped) {
    for (std::uint64_t n = 0;; n++) {
        program at_work(dropped);
        at_work.disk().fail_at(n, errc::io);
        auto created = at_work.try_open();
        if (at_work.disk().failure_is_ahead())
            break;
        if (!created)
            leave_only(at_work, {k_heap}, "when operation " + std::to_string(n) + " of creation failed");
    }
    for (std::uint64_t n = 0;; n++) {
        program at_work(dropped);
        at_work.open();
        at_work.add(100);
        at_work.disk().fail_at(n, errc::no_space);
        auto committed = at_work.try_commit();
        if (at_work.disk().failure_is_ahead())
            break;
        if (!committed && committed.why().code == errc::no_space)
            leave_only(at_work, {k_heap}, "when operation " + std::to_string(n) + " of the first commit failed");
    }
    for (std::uint64_t n = 0;; n++) {
        program at_work(dropped);
        at_work.keep_history();
        at_work.open();
        at_work.add(100);
        at_work.disk().fail_at(n, errc::no_space);
        auto committed = at_work.try_commit();
        if (at_work.disk().failure_is_ahead())
            break;
        if (!committed && committed.why().code == errc::no_space)
            leave_only(at_work, {k_heap, k_log, k_history},
                       "when operation " + std::to_string(n) + " of the first commit with a history failed");
    }
    program at_work(dropped);
    at_work.open();
    at_work.add(100);
    at_work.commit();
    at_work.close();
    leave_only(at_work, {k_heap}, "beside a closed heap");
    for (std::uint64_t n = 0;; n++) {
        at_work.disk().fail_at(n, errc::io);
        auto copied = copy_heap(at_work.disk(), k_heap, k_copy);
        const bool failed = !at_work.disk().failure_is_ahead();
        at_work.disk().work_again();
        if (!failed)
            break;
        if (!copied) // the last sync may have failed
            leave_only(at_work, {k_heap, k_copy}, "when operation " + std::to_string(n) + " of a copy failed");
        require(at_work.disk().remove("test: remove copy", k_copy), "remove");
    }
}

// A commit changes no metadata of the log: all but those that make the log longer overwrite what was written before.

void overwrite_what_was_written(const std::string& dropped) {
    program at_work(dropped);
    at_work.open();
    std::byte* block = at_work.add(3 * MiB);
    at_work.commit();
    fill_parts(block, 3 * MiB, 1);
    at_work.commit(); // makes the log longer
    const std::size_t before = at_work.disk().trace().size();
    fill_parts(block, 1400 * KiB, 2);
    at_work.commit();
    const auto& trace = at_work.disk().trace();
    for (std::size_t i = before; i < trace.size(); i++) {
        if (trace[i].where != std::string_view("log: record"))
            continue;
        // Writes of the log follow each other; so those before that reach into the record reach all of it, or to its end.
        std::uint64_t end = trace[i].offset;
        for (bool grown = true; grown;) {
            grown = false;
            for (std::size_t j = 0; j < i; j++) {
                const auto& earlier = trace[j];
                if (earlier.is_write() && earlier.inode == trace[i].inode && earlier.offset <= end &&
                    earlier.offset + earlier.bytes > end) {
                    end = earlier.offset + earlier.bytes;
                    grown = true;
                }
            }
        }
        if (end < trace[i].offset + trace[i].bytes)
            throw violation("a record is the first to be written to byte " + std::to_string(end) + " of the log");
        return;
    }
    throw violation("no record was written");
}

// A heap that was renamed takes its log along.

/// Beside the heap, or with its former name, whichever renamings of `pending` persisted.
void expect_log_to_follow(simulation::crash_walk& walk, simulation::simulated_disk& disk, const trace& operations,
                          const std::string& renamed, bool is_acknowledged) {
    std::vector<simulation::persisted_part> all;
    std::vector<std::size_t> renamings; // in `all`
    for (const std::uint32_t each : walk.pending()) {
        if (operations[each].what == simulation::disk_operation::kind::rename)
            renamings.push_back(all.size());
        all.push_back({.operation = each});
    }
    for (unsigned kept = 0; kept < 1U << renamings.size(); kept++) {
        auto parts = all;
        for (std::size_t i = renamings.size(); i-- > 0;) {
            if ((kept >> i & 1U) == 0)
                parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(renamings[i]));
        }
        walk.build(parts);
        const bool is_renamed = *disk.exists(renamed);
        const bool has_followed = *disk.exists(remanence::store::log_path(renamed));
        if (has_followed && !is_renamed)
            throw violation("the log went where the heap is not");
        if (is_acknowledged && !(is_renamed && has_followed))
            throw violation("a commit was acknowledged, and the log is not beside the heap");
    }
}

void take_log_along(const std::string& dropped) {
    const std::string renamed = "elsewhere/heap";
    program at_work(dropped);
    simulation::simulated_disk& disk = at_work.disk();
    const auto start = disk.now();
    at_work.open();
    at_work.add(100);
    at_work.commit();
    const std::size_t before = disk.trace().size();
    require(disk.rename_to_new("test: rename heap", k_heap, renamed), "rename");
    at_work.add(100);
    at_work.commit();
    at_work.die();
    const trace operations = disk.take_trace();
    disk.rewind(start);
    simulation::crash_walk walk(disk, operations);
    for (std::size_t position = before; position <= operations.size(); position++) {
        walk.advance_to(static_cast<std::uint32_t>(position));
        expect_log_to_follow(walk, disk, operations, renamed, position == operations.size());
    }
}

// The history's file follows the heap, and takes little room; what is in its place is kept.

void take_history_along(const std::string& dropped) {
    const std::string renamed = "elsewhere/heap";
    program at_work(dropped);
    simulation::simulated_disk& disk = at_work.disk();
    const auto start = disk.now();
    at_work.keep_history();
    at_work.open();
    for (int i = 0; i < 2; i++) {
        at_work.add(100);
        at_work.commit();
        if (i == 0)
            require(disk.rename_to_new("test: rename heap", k_heap, renamed), "rename");
    }
    at_work.die();
    const trace operations = disk.take_trace();
    disk.rewind(start);
    simulation::crash_walk walk(disk, operations);
    walk.advance_to(static_cast<std::uint32_t>(operations.size()));
    walk.build({}); // nothing persists but what is synced
    at_work.open(renamed);
    const std::uint64_t found = at_work.undo_depth();
    at_work.die();
    if (found != 2)
        throw violation("the history is not beside the renamed heap");
}

/// It is gone for good: a program that names no history writes to the heap.
void end_history(const std::string& dropped) {
    program at_work(dropped);
    simulation::simulated_disk& disk = at_work.disk();
    const auto start = disk.now();
    at_work.keep_history();
    at_work.open();
    at_work.add(100);
    at_work.commit();
    at_work.close();
    require(recover::change_history(disk, k_heap, {}), "end the history");
    if (*disk.exists(k_history))
        throw violation("an ended history is still there");
    const trace operations = disk.take_trace();
    disk.rewind(start);
    simulation::crash_walk walk(disk, operations);
    walk.advance_to(static_cast<std::uint32_t>(operations.size()));
    walk.build({}); // nothing persists but what is synced
    at_work.name_no_history();
    at_work.open();
    at_work.add(100);
    at_work.commit();
    at_work.die();
}

void cut_history_to_size(const std::string& dropped) {
    program at_work(dropped);
    at_work.keep_history();
    at_work.open();
    at_work.add(100);
    at_work.commit();
    at_work.close();
    auto file = at_work.disk().open(k_history, os::access::read_only);
    if (*(*file)->size() > 16 * KiB)
        throw violation("a history of one step takes more than 16 KiB");
}

/// Damage in the midst of it does not show before the steps are asked for.
void open_without_reading_history(const std::string& dropped) {
    program at_work(dropped);
    at_work.keep_history();
    at_work.open();
    for (int i = 0; i < 2; i++) {
        at_work.add(100);
        at_work.commit();
    }
    at_work.close();
    {
        auto file = at_work.disk().open(k_history, os::access::read_write);
        require((*file)->write("test: damage", 600, std::vector<std::byte>(8, std::byte{1})), "write");
    }
    at_work.open();
    if (at_work.undo_depth() != 2)
        throw violation("opening the heap has read its whole history");
}

void set_unfit_file_aside(const std::string& dropped) {
    program at_work(dropped);
    auto file = at_work.disk().open_or_create(k_history, 0666);
    require((*file)->write("test: file in the way", 0, std::vector<std::byte>(100, std::byte{1})), "write");
    at_work.keep_history();
    at_work.open();
    at_work.add(100);
    at_work.commit();
    at_work.close();
    if (!*at_work.disk().exists(k_history + "-unfit"))
        throw violation("the file that was in the history's place is gone");
}

// What a copy that was cut short has left is no part of the next one.

/// A copy is cut short at each operation in turn; the next one under that name is of a heap that holds zeros where it held
/// something.
void copy_where_one_was_cut_short(const std::string& dropped) {
    for (std::uint64_t n = 0;; n++) {
        program at_work(dropped);
        at_work.open();
        std::byte* block = at_work.add(300 * KiB);
        at_work.commit();
        at_work.close();
        at_work.disk().die_at(n);
        (void)copy_heap(at_work.disk(), k_heap, k_copy);
        const bool cut_short = !at_work.disk().failure_is_ahead();
        at_work.disk().work_again();
        if (!cut_short)
            return;
        at_work.open();
        std::fill_n(block, 200 * KiB, std::byte{0});
        at_work.commit();
        at_work.close();
        require(copy_heap(at_work.disk(), k_heap, k_copy, remanence::store::existing::replaced), "copy");
        at_work.open(k_copy);
        at_work.verify();
    }
}

void move_to_another_address(const std::string& dropped) {
    constexpr std::uintptr_t k_address = std::uintptr_t{0x2b00} << 32U;
    const std::string path = "/disk/moved";
    program at_work(dropped);
    at_work.open(path);
    at_work.add(100);
    at_work.commit();
    at_work.close();
    detail::relocate(at_work.disk(), path, k_address, {});
    auto moved = remanence::store::heap_file::open(at_work.disk(), path, os::access::read_only);
    if (!moved || (*moved)->super().base != k_address)
        throw violation("a heap that has moved is not at its new address");
}

template <void (*Try)(const std::string&)>
std::string broken_without(const std::string& call_site) {
    try {
        Try(call_site);
        return {};
    } catch (const violation& broken) {
        return broken.what();
    }
}

} // namespace

const std::map<std::string, purpose>& other_purposes() {
    static const purpose room{"a commit that has begun to write finds room, and so does the checkpoint after it",
                              broken_without<work_on_full_disk>};
    static const purpose promised_room{"a commit that is only copied finds room for a record of the usual size",
                                       broken_without<finish_points_on_full_disk>};
    static const purpose nothing_left{"a call that failed, or a heap that is closed, leaves no other files behind",
                                      broken_without<leave_nothing_behind>};
    static const purpose written_ahead{"a commit overwrites what was written before, and changes no metadata",
                                       broken_without<overwrite_what_was_written>};
    static const purpose log_follows{"a heap that was renamed takes its log along", broken_without<take_log_along>};
    static const purpose nothing_copied{"what an interrupted copy left is no part of the next one",
                                        broken_without<copy_where_one_was_cut_short>};
    static const purpose space{"the space of copies that chunks left goes back to the file system",
                               broken_without<give_former_copies_back>};
    static const purpose history_room{"a commit has its room in the history's file before it is made",
                                      broken_without<keep_history_on_full_disk>};
    static const purpose history_follows{"a heap that was renamed takes its history along",
                                         broken_without<take_history_along>};
    static const purpose history_ends{"a history that was ended is gone for good", broken_without<end_history>};
    static const purpose history_cut{"the history of a closed heap takes no room that was only reserved",
                                     broken_without<cut_history_to_size>};
    static const purpose history_unread{"a heap that was closed is opened without reading its history",
                                        broken_without<open_without_reading_history>};
    static const purpose unfit_kept{"a file that was in the history's place is set aside",
                                    broken_without<set_unfit_file_aside>};
    static const purpose moved{"a heap that has moved lies at its new address",
                               broken_without<move_to_another_address>};
    static const std::map<std::string, purpose> all = {
        {"branch: rename over", moved},
        {"history: reserve entries", history_room},
        {"history: rename after heap", history_follows},
        {"history: sync directory of renamed history", history_follows},
        {"history: remove ended history", history_ends},
        {"history: sync directory of ended history", history_ends},
        {"history: cut to size", history_cut},
        {"history: summary", history_unread},
        {"history: set aside unfit file", unfit_kept},
        {"history: remove failed file", nothing_left},
        {"store: reserve superblocks", room},
        {"store: reserve chunk map again", room},
        {"store: reserve pages", room},
        {"store: reserve checksums", room},
        {"store: reserve relocated extents", room},
        {"store: punch former copies", space},
        {"log: reserve segments", room},
        {"log: reserve segments early", promised_room},
        {"store: remove file not emptied", nothing_left},
        {"store: remove failed heap", nothing_left},
        {"store: remove failed copy", nothing_left},
        {"log: remove failed log", nothing_left},
        {"log: zeros of segments", written_ahead},
        {"store: sync directory of renamed heap", log_follows},
        {"log: rename after heap", log_follows},
        {"log: sync directory of renamed log", log_follows},
        {"store: empty new file", nothing_copied},
    };
    return all;
}

} // namespace remanence::crash
