// Moves heaps to other addresses. A separate file, so that only programs that do so link it.
//
// The pointers are rewritten in memory that is mapped elsewhere meanwhile. For good, this happens in a copy of the file,
// which replaces the file once it is complete: so no crash leaves pointers for two addresses.

#include "api/relocation_part.hpp"

#include "api/heap_origin.hpp"
#include "api/heap_reading.hpp"
#include "api/raise.hpp"
#include "api/whole_heap.hpp"
#include "base/units.hpp"
#include "format/class_table.hpp"
#include "inspect/last_commit.hpp"
#include "inspect/pointer_places.hpp"
#include "os/cancellation.hpp"
#include "store/heap_copy.hpp"

#include <remanence/relocate.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace remanence::detail {

namespace {

constexpr std::uint64_t k_copy_attempts = 1000;             // as rem::inspect::copy()
constexpr std::uint64_t k_bytes_between_commits = 64 * MiB; // moved between two commits, which let memory go

using progress_listener = std::function<void(const progress&)>;

enum class rule { exact, guess };

/// Finds the pointers of an open heap that is not mapped where they lead.
result<inspect::pointer_places> find_pointers(txn::engine& engine, rule how) {
    types::memory_bytes bytes(engine.memory());
    inspect::heap_to_read view = to_read(bytes, engine.memory());
    view.base = engine.recorded_base();
    return how == rule::exact ? inspect::pointers_of(view, blocks_of(engine.memory()))
                              : inspect::words_like_pointers(view, blocks_of(engine.memory()));
}

std::uint64_t address_of(const txn::engine& engine) { return reinterpret_cast<std::uintptr_t>(engine.memory().base()); }

/// Reports at most as often as the work goes on by a MiB.
std::function<void(std::uint64_t)> told_to(const progress_listener& on_progress, std::uint64_t total) {
    return [&on_progress, total](std::uint64_t done) {
        if (on_progress)
            on_progress({progress::phase::relocation, std::min(done, total), total});
    };
}

result<void> copy(os::file_system& files, const std::string& from, const std::string& to) {
    std::unique_ptr<store::copy_in_progress> copy;
    auto heap = inspect::with_last_commit(files, from, k_copy_attempts, {}, [&](inspect::inspection& now) {
        return store::update_copy(copy, now.store(), files, to);
    });
    if (!heap)
        return heap.error();
    if (!(*heap)->problems().empty())
        return unexpected((*heap)->problems().front());
    return copy->finish(store::existing::refused);
}

/// Rewrites the pointers in a heap file that no other process knows.
result<void> move_pointers(os::file_system& files, const std::string& path, std::string_view abi,
                           const inspect::pointer_places& pointers, std::uint64_t old_base, std::uint64_t base,
                           const progress_listener& on_progress) {
    txn::engine_options options;
    options.reserve_bytes = 64 * MiB; // more if the heap needs it
    options.when_taken = txn::when_base_taken::elsewhere;
    auto engine = txn::engine::open(files, path, txn::open_mode::open_existing, options, abi);
    if (!engine)
        return engine.error();
    const auto told = told_to(on_progress, (*engine)->memory().accessible_bytes());
    result<void> committed;
    std::uint64_t next = k_bytes_between_commits;
    pointers.move((*engine)->memory().base(), old_base, base, [&](std::uint64_t done) {
        told(done);
        if (done < next || !committed)
            return;
        committed = (*engine)->commit();
        next = done + k_bytes_between_commits;
    });
    if (!committed)
        return committed;
    REM_TRY((*engine)->commit());
    return (*engine)->close();
}

result<void> record_base(os::file_system& files, const std::string& path, std::uint64_t base) {
    auto store = store::heap_file::open(files, path, os::access::read_write);
    return store ? (*store)->move_base(base) : store.error();
}

/// Returns the ABI of the program that made a heap.
std::string abi_of(os::file_system& files, const std::string& path) {
    std::string abi;
    auto heap = inspect::with_last_commit(files, path, k_copy_attempts, {}, [&](inspect::inspection& now) {
        abi = now.store().abi();
        return result<void>();
    });
    if (!heap)
        raise(heap.why());
    return abi;
}

struct moved {
    std::uint64_t base;
    std::uint64_t pointers;
};

/// Moves the file of a heap that is open for writing, in `heap`, by this process alone. Afterwards `path` is another
/// file, and `heap` is of none.
result<moved> move_file(os::file_system& files, const std::string& path, txn::engine& heap, std::string_view abi,
                        std::optional<std::uint64_t> wanted, const progress_listener& on_progress) {
    auto history = heap.recorded_history();
    if (!history)
        return history.error();
    if (*history)
        return fail(errc::not_supported,
                    path + " records a history, whose states have pointers for the old addresses. End the history "
                           "first (rem history --end), or open the heap where its addresses are free.",
                    path);
    const std::uint64_t old_base = heap.recorded_base();
    auto pointers = find_pointers(heap, rule::exact);
    if (!pointers)
        return pointers.error();
    moved done{0, pointers->count()};
    if (wanted) {
        done.base = *wanted;
    } else {
        auto free =
            os::reservation::at_random(std::max(heap.memory().reserved_bytes(), heap.memory().accessible_bytes()));
        if (!free)
            return free.error();
        done.base = reinterpret_cast<std::uintptr_t>(free->base());
    }
    REM_TRY(replace_whole_heap(files, path, "-moving", [&](const std::string& building) -> result<void> {
        REM_TRY(copy(files, path, building));
        REM_TRY(move_pointers(files, building, abi, *pointers, old_base, done.base, on_progress));
        return record_base(files, building, done.base);
    }));
    return done;
}

/// Rewrites the pointers in the memory of this process.
result<void> move_memory(const opened_how& how, txn::engine& heap, rule what_counts) {
    if (how.options.is_shared)
        return fail(
            errc::not_supported,
            "a reader of a shared heap cannot follow it at other addresses. Copy the heap and open the copy, or "
            "move it (rem relocate) when it is closed everywhere.");
    const std::uint64_t base = heap.recorded_base();
    auto pointers = find_pointers(heap, what_counts);
    if (!pointers)
        return pointers.error();
    const auto told = told_to(how.on_progress, heap.memory().accessible_bytes());
    return heap.rewrite_addresses([&](std::byte* memory) { pointers->move(memory, base, address_of(heap), told); });
}

result<void> move_for_good(const opened_how& how, std::unique_ptr<txn::engine>& heap) {
    if (how.options.is_shared)
        return fail(errc::not_supported,
                    "processes that share a heap all have it at one address. Move it (rem relocate) when it is closed "
                    "everywhere.");
    const std::string path = heap->memory().path();
    auto done = move_file(how.files, path, *heap, how.abi, {}, how.on_progress);
    if (!done)
        return done.error();
    heap.reset();
    txn::engine_options options = how.options;
    options.when_taken = txn::when_base_taken::fail;
    auto opened = txn::engine::open(how.files, path, txn::open_mode::open_existing, options, how.abi);
    if (!opened)
        return opened.error();
    heap = std::move(*opened);
    return {};
}

/// Throws the failure of a move, if it is one, as the reason why a heap cannot be opened.
void raise_if_failed(result<void> moved, const std::optional<failure>& why) {
    if (moved)
        return;
    if (moved.why().code != errc::not_supported)
        raise(moved.why());
    raise({why->code, why->message + " It cannot move: " + moved.why().message, why->path});
}

void relocate(const opened_how& how, std::unique_ptr<txn::engine>& heap) {
    const auto why = heap->why_elsewhere();
    raise_if_failed(how.options.read_only ? move_memory(how, *heap, rule::exact) : move_for_good(how, heap), why);
}

void guess(const opened_how& how, std::unique_ptr<txn::engine>& heap) {
    const auto why = heap->why_elsewhere();
    raise_if_failed(how.options.read_only
                        ? move_memory(how, *heap, rule::guess)
                        : fail(errc::not_supported,
                               "words that only look like pointers are not rewritten for good. Open it read_only."),
                    why);
}

} // namespace

constinit const relocation_part k_relocation_part{relocate};
constinit const relocation_part k_guessing_relocation_part{guess};

relocated relocate(os::file_system& files, const std::filesystem::path& path, std::uintptr_t base,
                   const progress_listener& on_progress) {
    if (base % os::k_base_alignment != 0 || base >= os::k_address_end / 2)
        raise(errc::invalid_argument, "relocate: the new address is no multiple of 1 GiB below 64 TiB.", path.string());
    if (base >= format::stalls_of(0) && base < format::stalls_of(os::k_address_end))
        raise(errc::invalid_argument,
              "relocate: at that address lies what heaps need for virtual functions. Take one below or behind it.",
              path.string());
    const std::string real = real_path(path).string();
    const os::no_cancellation whole;
    const std::string abi = abi_of(files, real);
    txn::engine_options options;
    options.reserve_bytes = 64 * MiB; // more if the heap needs it
    options.when_taken = txn::when_base_taken::elsewhere;
    auto engine = txn::engine::open(files, real, txn::open_mode::open_existing, options, abi);
    if (!engine)
        raise(engine.why());
    relocated done;
    done.base_before = (*engine)->recorded_base();
    auto moved = move_file(files, real, **engine, abi, base == 0 ? std::nullopt : std::optional(base), on_progress);
    if (!moved)
        raise(moved.why());
    done.base = moved->base;
    done.pointers = moved->pointers;
    return done;
}

} // namespace remanence::detail

namespace remanence {

relocated relocate(const std::filesystem::path& path, std::uintptr_t base,
                   const std::function<void(const progress&)>& on_progress) {
    return detail::relocate(os::posix_file_system(), path, base, on_progress);
}

} // namespace remanence
