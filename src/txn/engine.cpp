#include "txn/engine.hpp"

#include "base/range_list.hpp"
#include "txn/undo_manager.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace remanence::txn {

engine::engine(const engine_options& options, std::unique_ptr<os::counting_files> files, opened_heap heap)
    : options_(options),
      files_(std::move(files)),
      heap_(std::move(heap)),
      health_(heap_.store->path(), options.read_only),
      names_(*files_, *heap_.store, health_),
      session_(*files_, *heap_.store, names_, health_),
      budget_(*files_, heap_.store->copies(), *heap_.view, options_),
      space_(*heap_.store, *heap_.view, health_),
      checkpoints_(heap_.store->writer(), heap_.store->copies(), heap_.store->room(), *heap_.view, session_, budget_,
                   space_, health_, options_),
      spiller_(locks_, heap_.store->image(), heap_.store->room(), *heap_.view, budget_, checkpoints_, space_, health_,
               options_),
      memory_(locks_, *heap_.store, *heap_.view, spiller_, options_),
      savepoints_(locks_, *heap_.view, memory_, spiller_, health_),
      committer_(*heap_.store, *heap_.view, session_, names_, budget_, checkpoints_, space_, spiller_, memory_, health_,
                 options_),
      point_(*heap_.view, session_, names_, budget_, checkpoints_, space_, memory_, committer_, health_, options_),
      transactions_(locks_, *heap_.store, *heap_.view, session_, checkpoints_, space_, memory_, savepoints_, committer_,
                    point_, health_) {}

result<std::unique_ptr<engine>> engine::open(os::file_system& files, const std::string& path, open_mode mode,
                                             const engine_options& options, std::string_view abi) {
    const auto started = std::chrono::steady_clock::now();
    auto counting = std::make_unique<os::counting_files>(files);
    auto heap = open_heap({*counting, path, mode, options, abi});
    if (!heap)
        return heap.error();
    engine_options settled = options;
    if (heap->history) {
        settled.history = heap->history;
        settled.history_kept = true;
    }
    std::unique_ptr<engine> opened(new engine(settled, std::move(counting), std::move(*heap)));
    const std::optional<shared_access>& shared = opened->heap_.shared;
    REM_TRY(!shared                                             ? opened->begin_alone()
            : shared->role == share::coordination::role::joined ? opened->join()
                                                                : opened->begin_to_share());
    if (settled.has.memory_limiter != nullptr)
        opened->limit_memory_by(*settled.has.memory_limiter);
    opened->open_time_ = std::chrono::steady_clock::now() - started;
    return opened;
}

result<void> engine::begin_alone() {
    if (options_.version) {
        auto mapped = options_.has.map_version(*files_, *heap_.store, *heap_.view, options_);
        if (!mapped)
            return mapped.error();
        seen_version_ = *mapped;
    }
    REM_TRY(memory_.begin());
    return options_.history ? begin_history(history_begins::alone) : result<void>();
}

result<bool> engine::holds_changes() {
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(health_.usable());
    REM_TRY(point_.finish());
    const std::lock_guard allocation(locks_.allocation);
    memory_.allocator().flush();
    return heap_.view->collector().holds_changes(memory_.unused_pages());
}

void engine::let_next_commit_be_hidden() {
    const std::lock_guard alone(locks_.at_store);
    savepoints_.note_step(history::step_kind::hidden);
}

result<void> engine::commit(const commit_order& order) {
    auto version = make_commit(order);
    if (!version)
        return version.error();
    return is_shared() ? publish(order.awaited) : await(*version, order.awaited);
}

result<std::uint64_t> engine::make_commit(const commit_order& order) {
    std::unique_lock alone(locks_.at_store, std::try_to_lock);
    if (!alone.owns_lock()) {
        const bool is_for_point = is_point_in_flight(session_.promised());
        const auto begun = std::chrono::steady_clock::now();
        const std::lock_guard turn(locks_.turn);
        alone.lock();
        if (is_for_point)
            point_.note_wait(std::chrono::steady_clock::now() - begun);
    }
    if (history_ != nullptr)
        REM_TRY(history_->may_commit());
    return transactions_.repeat_with_room([&] { return try_to_commit(order); });
}

result<std::uint64_t> engine::try_to_commit(const commit_order& order) {
    REM_TRY(transactions_.begin(order.awaited));
    const std::lock_guard allocation(locks_.allocation);
    REM_TRY(transactions_.make_room_in_memory());
    auto scope = transactions_.gather(order.scope);
    if (!scope)
        return scope.error();
    if (order.awaited == log::durability::none) {
        auto copied = transactions_.try_to_copy(*scope);
        if (!copied)
            return copied.error();
        if (*copied)
            return **copied;
    }
    auto commit = transactions_.prepare(*scope, order.fresh);
    if (!commit)
        return commit.error();
    if (commit->record) {
        if (history_ != nullptr)
            REM_TRY(history_->prepare(*commit)); // a lack of memory here, or before, changes nothing
        REM_TRY(transactions_.write(*commit));
        if (history_ != nullptr)
            history_->accept();
    }
    return transactions_.conclude(*commit, order.awaited);
}

result<void> engine::await(std::uint64_t version, log::durability how) {
    if (is_point_in_flight(version)) {
        if (how == log::durability::none)
            return {};
        REM_TRY(finish_points(version));
    }
    return session_.await(version, how);
}

// Releases at_store after each step, so that others wait for one step only. Without it, asks the kernel to read what the
// next steps need, and for the memory of the next point.
result<void> engine::finish_points(std::uint64_t through) {
    view::before_image_memory::block spare;
    for (bool is_announced = false;; is_announced = true) {
        std::vector<file_range> next;
        bool needs_spare = false;
        {
            std::unique_lock turn(locks_.turn);
            const std::lock_guard alone(locks_.at_store);
            turn.unlock();
            if (!point_.is_in_flight() || session_.version() >= through)
                return {};
            if (spare.pages != 0)
                point_.add_spare(std::exchange(spare, {}));
            needs_spare = point_.needs_spare();
            if (is_announced)
                REM_TRY(point_.step());
            if (session_.version() < through)
                next = point_.places_of_next_steps();
        }
        if (needs_spare)
            spare = view::before_image_memory::make_spare();
        for (const file_range& place : next)
            heap_.store->file().will_read(place.offset, place.bytes);
    }
}

result<void> engine::sync() {
    if (options_.read_only)
        return {};
    REM_TRY(health_.usable());
    if (!session_.has_begun())
        return {};
    REM_TRY(finish_point());
    {
        const std::lock_guard alone(locks_.at_store);
        REM_TRY(names_.find());
    }
    REM_TRY(await(session_.appended_through(), log::durability::durable));
    return find_failed_point();
}

result<void> engine::find_failed_point() {
    REM_TRY(finish_point());
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(health_.usable());
    REM_TRY(point_.finish());
    return tell_of_failed_point();
}

result<void> engine::tell_of_failed_point() const {
    if (!point_.has_failed())
        return {};
    if (!point_.why())
        throw std::bad_alloc();
    return unexpected(*point_.why());
}

std::uint64_t engine::version() const {
    if (seen_version_)
        return *seen_version_;
    return session_.has_begun() && is_poisoned() ? std::min(session_.promised(), session_.durable_through())
                                                 : session_.promised();
}

result<void> engine::look_at_changes(const change_listener& seen) {
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(health_.usable());
    REM_TRY(point_.finish());
    const std::lock_guard allocation(locks_.allocation);
    memory_.allocator().flush();
    auto changes = heap_.view->collector().uncommitted(memory_.unused_pages());
    if (!changes)
        return changes.error();
    transactions_.tell(seen, *changes);
    return {};
}

result<std::vector<heap_range>> engine::written_pages() {
    if (options_.read_only)
        return std::vector<heap_range>();
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(point_.finish());
    const std::lock_guard allocation(locks_.allocation);
    auto pages = heap_.view->collector().written();
    if (!pages)
        return pages;
    for (const std::uint64_t chunk : spilled_chunks())
        pages->push_back({chunk * memory_.chunk_bytes(), memory_.chunk_bytes()});
    sort_and_merge(*pages);
    return pages;
}

result<void> engine::rollback(const change_listener& lost) {
    const std::lock_guard alone(locks_.at_store);
    if (history_ != nullptr)
        history_->note_rollback();
    return transactions_.roll_back(lost);
}

result<void> engine::checkpoint() {
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(health_.usable());
    if (!session_.has_begun())
        return {};
    REM_TRY(point_.finish());
    REM_TRY(names_.find());
    return health_.poisoning_without_memory([&]() -> result<void> {
        REM_TRY(checkpoints_.finish());
        {
            const std::lock_guard allocation(locks_.allocation);
            // I8: in a shared heap nothing is given back here, since the checkpoint that must follow may have to wait
            // for readers; in a heap with a history neither, since an undo may need the bytes in the chunks; nor while a
            // past state of memory is read (past_memory.hpp).
            if (!is_shared() && !has_history() && !memory_.keeps_unused())
                REM_TRY(space_.give_back_unused_if_committed(memory_.allocator(), session_));
        }
        if (session_.log().used_bytes() == 0 && !space_.owes_discard())
            return {};
        REM_TRY(checkpoints_.make_one());
        return space_.discard_owed();
    });
}

result<void> engine::close() {
    const std::lock_guard alone(locks_.at_store);
    return is_shared() ? close_shared() : close_alone();
}

result<void> engine::close_alone() {
    if (is_poisoned())
        return health_.usable();
    REM_TRY(point_.finish());
    REM_TRY(close_finished());
    return tell_of_failed_point();
}

result<void> engine::close_finished() {
    if (!heap_.view->spiller().spilled().is_empty())
        REM_TRY(rollback());
    return session_.has_begun() ? health_.poisoning_without_memory([&] { return close_session(); })
                                : close_without_log();
}

// Uncommitted changes are lost. The last process that closes the heap removes log and coordination file.
result<void> engine::close_shared() {
    if (options_.read_only)
        return {}; // the processes that write to the heap close it, or the next one that opens it recovers it
    auto found = health_.usable();
    if (found)
        found = session_.await(session_.version(), log::durability::durable);
    if (found)
        found = checkpoints_.carry_out(); // if it fails, another process finishes the checkpoint
    auto is_last = sharing_->protocol().detach(std::chrono::steady_clock::now() + options_.open_timeout);
    if (!is_last)
        return is_last.error();
    if (!*is_last || is_poisoned())
        return health_.usable();
    REM_TRY(rollback());
    checkpoints_.adopt_if_done();
    auto followed = health_.poisoning_without_memory([&] { return sharing_->catch_up_alone(); });
    if (!followed)
        return health_.poison(followed.error());
    {
        const std::lock_guard allocation(locks_.allocation);
        REM_TRY(memory_.restored());
    }
    heap_.store->unused().keep_length(false);
    space_.owe_discard();
    return close_alone();
}

// Nothing was committed, so only spills can have changed the file.
result<void> engine::close_without_log() {
    if (!options_.read_only)
        REM_TRY(names_.check_is_linked());
    if (spiller_.spilled_bytes() == 0)
        return {};
    return health_.poisoning_without_memory([&] { return space_.discard_owed(); });
}

result<void> engine::close_session() {
    auto found = names_.find();
    if (is_poisoned())
        return found;
    if (!found && !names_.check_is_linked())
        return names_.leave_unlinked(found.error());
    REM_TRY(checkpoints_.finish());
    const bool is_needed = has_history() && history_->is_kept(); // an undo in a later session may need unused chunks
    const bool has_unused = !is_needed && [&] {
        const std::lock_guard allocation(locks_.allocation);
        return !space_.unused_chunks(memory_.allocator()).empty();
    }();
    if (has_unused) {
        REM_TRY(rollback()); // uncommitted changes may have allocated blocks in these chunks, or freed blocks in others
        const std::lock_guard allocation(locks_.allocation);
        REM_TRY(space_.give_back_unused(memory_.allocator(), session_));
    }
    space_.return_map();
    REM_TRY(checkpoints_.apply_at_close());
    // If the log cannot be removed, nothing is lost: the heap file has all commits, and the next open removes the log.
    if (auto removed = names_.remove_log(); !removed) {
        auto poisoned = health_.poison(unexpected(removed.why()));
        return removed.why().code == errc::no_space ? result<void>(std::move(poisoned)) : std::move(removed);
    }
    if (heap_.store->where().has_copies_b()) {
        heap_.store->copies().retired().note_all_unmapped();
        space_.owe_discard(); // retired copies may be at the end of the file, which can then be cut off
    }
    REM_TRY(space_.remove_regions());
    REM_TRY(space_.discard_owed());
    return found ? result<void>() : names_.tell_what_is_left(found.error());
}

std::uint64_t engine::budget_to_watch() const {
    const std::lock_guard alone(locks_.at_store);
    const std::lock_guard allocation(locks_.allocation);
    return budget_.limit_to_watch();
}

bool engine::spill_excess() noexcept {
    const std::unique_lock allocation(locks_.allocation, std::try_to_lock); // if it fails, another thread may check
    return allocation.owns_lock() && spiller_.spill_excess();
}

result<verification> engine::verify() {
    const std::lock_guard alone(locks_.at_store);
    if (is_shared() && options_.read_only)
        return fail(errc::not_supported,
                    path() + " is open read-only beside others that write to it. Verify it by rem verify, or by "
                             "remanence::inspect::verify().",
                    path());
    REM_TRY(health_.had_memory()); // otherwise the tables in memory may lack parts of the last commit
    REM_TRY(point_.finish());
    REM_TRY(checkpoints_.carry_out()); // otherwise some pages do not match the tables yet
    if (is_shared()) {
        std::optional<result<verification>> found;
        REM_TRY(checkpoints_.beside_no_other([&]() -> result<void> {
            found = txn::verify(*heap_.store, session_, memory_, options_);
            return {};
        }));
        return std::move(*found);
    }
    if (heap_.store->writer().is_ahead_of_file() && !checkpoints_.is_under_way())
        REM_TRY(health_.usable()); // a checkpoint has failed, so pages do not match the tables
    return txn::verify(*heap_.store, session_, memory_, options_);
}

void engine::limit_memory_by(const memory_limiter_part& part) {
    const std::lock_guard alone(locks_.at_store);
    if (limits_ != nullptr)
        return;
    limits_ = part.make(
        {locks_, health_, heap_.store->image(), *heap_.view, memory_, checkpoints_, options_.resident_limit_bytes});
    limiter_.store(limits_.get(), std::memory_order_release);
}

engine_stats engine::stats() const {
    memory_limiter* const limits = limiter();
    const memory_limiter::usage resident = limits != nullptr ? limits->resident() : memory_limiter::usage{};
    const std::lock_guard alone(locks_.at_store);
    const commit_totals& commits = committer_.totals();
    engine_stats stats;
    stats.commits = commits.commits;
    stats.checkpoints = checkpoints_.count();
    stats.changed_bytes = commits.changed_bytes;
    stats.logged_bytes = commits.logged_bytes;
    stats.image_bytes = commits.image_bytes + checkpoints_.image_bytes();
    stats.spilled_bytes = spiller_.spilled_bytes();
    stats.written_bytes = files_->written_bytes();
    stats.syncs = files_->syncs();
    stats.log_limit_bytes = budget_.log_limit_bytes();
    stats.checkpoint_waits = checkpoints_.held_up();
    stats.log_used_bytes = session_.has_begun() ? session_.log().used_bytes() : 0;
    stats.before_image_bytes = heap_.view->committed().before_image_bytes();
    stats.unmapped_bytes = heap_.view->memory().unmapped_bytes();
    stats.committed_bytes = heap_.store->image().bytes();
    stats.allocated_bytes =
        memory_.with_allocator([](const alloc::block_allocator& blocks) { return blocks.allocated_bytes(); });
    stats.resident_bytes = resident.resident_bytes;
    stats.dirty_bytes = resident.dirty_bytes;
    stats.evicted_bytes = limits != nullptr ? limits->evicted_bytes() : 0;
    stats.checkpoint = checkpoints_.under_way();
    stats.recovered_commits = heap_.recovered.commits;
    stats.recovered_bytes = heap_.recovered.bytes;
    stats.point_wait = point_.wait();
    stats.open_time = open_time_;
    stats.tracker = heap_.view->tracker_name();
    return stats;
}

// The first commit of an empty heap writes the heap's header. It is made before the history begins, so that no undo can
// remove the header.
result<void> engine::begin_history(history_begins how) {
    if (how != history_begins::joining && heap_.store->image().bytes() == 0)
        REM_TRY(commit());
    auto begun =
        options_.has.history->begin({options_, *files_, locks_, health_, names_, session_, *heap_.store, *heap_.view,
                                     checkpoints_, spiller_, memory_, savepoints_, committer_, transactions_},
                                    how);
    if (!begun)
        return begun.error();
    history_ = std::move(*begun);
    return {};
}

result<void> engine::become(const history::delta& way) {
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(health_.usable());
    {
        const std::lock_guard allocation(locks_.allocation);
        for (const heap_range& pages : way.pages()) {
            if (pages.end() > memory_.accessible_bytes())
                REM_TRY(heap_.view->memory().make_accessible(pages.end()));
            REM_TRY(heap_.view->declare(pages.offset, pages.bytes));
        }
        way.apply(heap_.view->base());
    }
    memory_.keep_unused(true); // so that the old content of free pages is committed, too
    auto made = [&]() -> result<std::uint64_t> {
        {
            const std::lock_guard allocation(locks_.allocation);
            REM_TRY(memory_.changed_under_allocator());
        }
        return make_commit();
    }();
    memory_.keep_unused(false);
    if (!made)
        return made.error();
    return session_.has_begun() ? session_.await(*made, log::durability::durable) : result<void>();
}

result<void> engine::rewrite_addresses(const std::function<void(std::byte*)>& change) {
    view::mapped_memory& memory = heap_.view->memory();
    REM_TRY(memory.allow_writes_to_all(true));
    change(memory.base());
    heap_.why_elsewhere.reset();
    return memory.allow_writes_to_all(false);
}

// The first process of a shared heap begins the session at once, so that others find a log when they join. If the heap
// is empty, it also makes the first commit, which writes the heap's header.
result<void> engine::begin_to_share() {
    REM_TRY(memory_.begin());
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(heap_.store->room().reserve_places());
    REM_TRY(session_.prepare());
    REM_TRY(session_.begin(log::log_lock::alone));
    REM_TRY(session_.share());
    if (heap_.store->image().bytes() == 0) {
        auto made = try_to_commit({});
        if (!made)
            return made.error();
        REM_TRY(session_.await(*made, log::durability::durable));
    }
    std::unique_ptr<sharing> shared = make_sharing();
    if (options_.history) {
        REM_TRY(begin_history(history_begins::to_be_shared));
        shared->tell(history_->follower());
    }
    const format::superblock& super = heap_.store->super();
    REM_TRY(heap_.shared->others->become_ready(identity_of(*heap_.store), shared->state(),
                                               {super.sequence, super.checkpoint_version, super.log_begin}));
    begin_sharing(std::move(shared));
    return {};
}

std::unique_ptr<sharing> engine::make_sharing() {
    return options_.has.sharing->make(
        *heap_.shared->others, {locks_, health_, session_, *heap_.store, *heap_.view, memory_, space_, checkpoints_});
}

void engine::begin_sharing(std::unique_ptr<sharing> shared) {
    sharing_ = std::move(shared);
    checkpoints_.share_with(*sharing_);
    transactions_.share_with(*sharing_);
}

result<void> engine::join() {
    REM_TRY(session_.join(options_.read_only ? os::access::read_only : os::access::read_write));
    begin_sharing(make_sharing());
    if (options_.history) {
        REM_TRY(begin_history(history_begins::joining));
        sharing_->tell(history_->follower());
    }
    auto followed = sharing_->begin(*heap_.shared->current);
    sharing_->protocol().let_go();
    sharing_->protocol().unpin();
    return followed ? memory_.begin() : std::move(followed);
}

result<void> engine::publish(log::durability how) {
    REM_TRY(session_.await(session_.version(), how == log::durability::none ? log::durability::lazy : how));
    const std::lock_guard alone(locks_.at_store);
    if (session_.version() == sharing_->protocol().visible())
        return {};
    const std::lock_guard allocation(locks_.allocation);
    return transactions_.publish(how, has_history() && history_->differs_from_others());
}

} // namespace remanence::txn
