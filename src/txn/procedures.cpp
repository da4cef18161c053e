// Calls that the history holds in place of bytes. Apart from heap_history.cpp, so that their code is in programs that hand over
// procedures, and in no others.
//
// A procedure is the program's own code, which allocates, locks and throws as it likes: it runs as in any write section, and the engine
// holds none of its locks meanwhile. Whatever fails on the way, memory becomes what the last commit left.

#include "txn/engine.hpp"
#include "txn/heap_history.hpp"

#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace remanence::txn {

void heap_memory::watch_allocator() {
    allocator().flush();
    has_allocator_changed_ = false;
    allocator_->set_listener([this](std::uint64_t, std::uint64_t) { has_allocator_changed_ = true; });
}

bool heap_memory::stop_watching_allocator() {
    allocator().flush();
    allocator_->set_listener({});
    return has_allocator_changed_;
}

void engine::let_procedures_be_run(procedure_runner by) {
    const std::lock_guard alone(locks_.at_store);
    run_procedure_ = std::move(by);
}

engine::call_watch engine::watch_call() {
    const std::lock_guard allocation(locks_.allocation);
    memory_.watch_allocator();
    return {session_.version(), rollbacks_, true};
}

std::string_view engine::why_not(const call_watch& watched) {
    const std::lock_guard allocation(locks_.allocation);
    const bool has_allocated = memory_.stop_watching_allocator();
    if (session_.version() != watched.version)
        return "it committed";
    if (rollbacks_ != watched.rollbacks)
        return "it rolled back";
    if (has_allocated)
        return "it allocated or freed memory of the heap";
    return {};
}

result<void> engine::begin_call() {
    const std::lock_guard alone(locks_.at_store);
    if (!has_history() || is_shared())
        return {};
    REM_TRY(health_.usable());
    bool is_alone = false;
    {
        const std::lock_guard allocation(locks_.allocation);
        memory_.allocator().flush();
        auto changed = heap_.view->collector().holds_changes(memory_.unused_pages());
        if (!changed)
            return changed.error();
        is_alone = !*changed;
    }
    call_ = watch_call();
    call_->is_alone = is_alone;
    return {};
}

void engine::end_call(std::optional<history::procedure_call> call) {
    const std::lock_guard alone(locks_.at_store);
    if (!call_)
        return;
    const call_watch watched = *std::exchange(call_, std::nullopt);
    if (why_not(watched).empty() && watched.is_alone)
        history_->note_call(std::move(call));
}

void engine::forget_call() noexcept {
    const std::lock_guard alone(locks_.at_store);
    if (call_)
        (void)why_not(*std::exchange(call_, std::nullopt));
    if (has_history())
        history_->note_call(std::nullopt);
}

result<std::uint64_t> engine::go_by_calls(store_lock& alone, log::durability awaited) {
    const auto give_up = [&]() -> result<void> {
        history_->give_up();
        return is_poisoned() ? result<void>() : roll_back_locked({});
    };
    try {
        auto passed = pass_calls(alone);
        if (passed)
            passed = keep_roots(alone);
        auto made = passed ? arrive(awaited) : result<std::uint64_t>(passed.error());
        if (!made)
            REM_TRY(give_up());
        return made;
    } catch (...) { // a lack of memory, or what the program's own code has thrown
        REM_TRY(give_up());
        throw;
    }
}

result<void> engine::pass_calls(store_lock& alone) {
    while (history_->has_next()) {
        if (history_->next_call() != nullptr)
            REM_TRY(pass_call(alone));
        const std::lock_guard allocation(locks_.allocation);
        REM_TRY(history_->apply_next());
        REM_TRY(memory_.changed_under_allocator());
    }
    return {};
}

result<void> engine::pass_call(store_lock& alone) {
    const history::procedure_call& call = *history_->next_call();
    const bool leads_back = history_->next_leads_back();
    const call_watch watched = watch_call();
    auto ran = [&] {
        const struct running {
            engine& here;
            store_lock& held;
            running(engine& of, store_lock& by) : here(of), held(by) {
                here.is_passing_call_ = true;
                held.unlock();
            }
            ~running() {
                held.lock();
                here.is_passing_call_ = false;
            }
        } meanwhile(*this, alone);
        return run_procedure_(call, leads_back);
    }();
    const std::string_view why = why_not(watched);
    if (!ran || why.empty())
        return ran;
    return fail(errc::no_procedure,
                "the " + std::string(leads_back ? "inverse of the " : "") + "procedure \"" + call.name +
                    "\" cannot be a step of the history of " + path() + ", since " + std::string(why) +
                    ". It must change bytes of blocks that are there, and nothing else.",
                path());
}

// It would make durable what is half undone.
unexpected engine::refuse_to_commit_way() const {
    return fail(errc::section_open,
                "a procedure, or its inverse, was called by an undo or redo of " + path() +
                    ", and has committed. The undo commits by itself. Leave that to it.",
                path());
}

} // namespace remanence::txn
