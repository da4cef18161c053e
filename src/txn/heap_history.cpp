#include "txn/heap_history.hpp"

#include "history/step_loader.hpp"
#include "log/record.hpp"
#include "store/heap_creation.hpp"
#include "txn/bytes_before.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace remanence::txn {

namespace {

unexpected cannot_follow(const std::string& path, const std::string& why) {
    return fail(errc::corrupt,
                "the history of " + path + ", which other processes share, cannot be followed: " + why +
                    " Close the heap in all processes. A history that is damaged begins anew when it is opened next.",
                path);
}

} // namespace

heap_history::heap_history(const history::limits& most, std::uint64_t version, view::memory_view& view,
                           const std::string& path)
    : steps_(most, version), view_(view), path_(path) {}

result<void> heap_history::stage(const change::change_set& changes, history::step_kind kind) {
    steps_.discard_staged();
    auto before = is_call_enough(changes) ? result<history::delta>(history::delta(*call_))
                                          : bytes_before(view_, changes, step_bytes_max());
    if (!before)
        return before.error();
    // If the heap was renamed, the history may have to be written to a new file, which needs all steps.
    const bool moves = file_ && !file_->is_called(store::history_path(names_->heap()));
    if (moves || !steps_.has_room(before->bytes()))
        REM_TRY(have_all());
    const bool is_counted = kind != history::step_kind::hidden || steps_.is_in_group();
    if (is_counted && steps_.most().then == history::when_full::refuse && !steps_.has_room(before->bytes()))
        return full(*before);
    if (is_counted && before->bytes() > step_bytes_max())
        steps_.stage_nothing();
    else
        steps_.stage(std::move(*before), kind);
    return {};
}

// Fresh and relocated chunks have no ranges, so without the call all their bytes would be stored.
bool heap_history::is_call_enough(const change::change_set& changes) const {
    if (!call_ || steps_.has_kept())
        return false;
    const bool has_whole = !changes.fresh.empty() || !changes.relocated.empty();
    return has_whole || call_->bytes() < changes.changed_bytes();
}

// While states are kept, there is no limit for a step if the oldest steps may be removed: kept states need the bytes.
std::uint64_t heap_history::step_bytes_max() const {
    const history::limits& most = steps_.most();
    const bool has_limit = most.bytes_max != 0 && (most.then == history::when_full::refuse || !steps_.has_kept());
    return has_limit ? most.bytes_max : ~std::uint64_t{0};
}

unexpected heap_history::full(const history::delta& before) const {
    const history::limits& most = steps_.most();
    std::string why =
        before.bytes() > step_bytes_max()
            ? "it would keep more than the " + std::to_string(most.bytes_max) + " bytes that the history may have"
            : "it is full";
    return fail(
        errc::history_full,
        "the history of " + path_ + " has no room for this commit: " + why +
            ". Forget the history to make room, or open the heap with larger limits, or so that the oldest steps "
            "go.",
        path_);
}

void heap_history::accept(std::uint64_t version) noexcept { steps_.accept(version); }

result<void> heap_history::stage_since(const view::kept_pages& kept) {
    auto before = bytes_before(view_, kept);
    if (!before)
        return before.error();
    steps_.stage(std::move(*before), history::step_kind::hidden);
    return {};
}

void heap_history::begin_path(std::uint64_t state) {
    give_up();
    steps_.discard_staged();
    route_ = steps_.path_to(state);
    path_back_.reserve(route_.size());
    destination_ = state;
}

const history::procedure_call* heap_history::call_on_path() const {
    const auto found = std::ranges::find_if(route_, [](const auto& each) { return each.call() != nullptr; });
    return found == route_.end() ? nullptr : found->call();
}

result<void> heap_history::apply_next() {
    const history::delta& next = route_[path_back_.size()].bytes();
    for (const heap_range& pages : next.pages())
        REM_TRY(view_.declare(pages.offset, pages.bytes));
    path_back_.push_back(next.other_side(view_.base()));
    next.apply(view_.base());
    return {};
}

result<void> heap_history::hold_bytes_of_path(const change::change_set& changes) {
    if (!steps_.has_kept() || !is_path_one_call())
        return {};
    auto before = bytes_before(view_, changes, step_bytes_max());
    if (!before)
        return before.error();
    if (before->bytes() > step_bytes_max()) // bytes_before() has stopped, so these are not all bytes
        return full(*before);
    path_back_.front() = std::move(*before);
    return {};
}

result<void> heap_history::check_calls(bool can_be_made) const {
    const history::procedure_call* const call = call_on_path();
    if (call == nullptr)
        return {};
    if (!can_be_made)
        return fail(errc::no_procedure,
                    "a step of " + path_ + " is a call of the procedure \"" + call->name +
                        "\", and the heap was opened " +
                        (is_shared_ ? "to be shared, which makes no calls. Open it in one process alone, with those"
                                    : "without procedures. Open it with those") +
                        " that were called.",
                    path_);
    if (!steps_.has_kept() || is_path_one_call())
        return {};
    const bool is_one_step = route_.front().step() == route_.back().step();
    return fail(errc::no_step,
                "on the path through the history of " + path_ + " there is a call of the procedure \"" + call->name +
                    "\", and versions are kept, which must stay what they are. " +
                    (is_one_step ? "The step is a group, or was squashed, and has more than that call: drop the kept "
                                   "versions to pass it, or keep none before such a step is undone."
                                 : "Go one step at a time: then the history takes the bytes that the call, or its "
                                   "inverse, overwrites."),
                path_);
    return {};
}

// H1: for each part of the path, exchanges the delta for that of the other side, which is in path_back_.
void heap_history::check_out(std::uint64_t version) noexcept {
    steps_.go_over(route_, path_back_);
    give_up();
    steps_.check_out(destination_, version);
    steps_.accept(version); // H10: the hidden step that made roots again, if any
}

void heap_history::take_back() noexcept {
    for (auto each = path_back_.rbegin(); each != path_back_.rend(); ++each)
        each->apply(view_.base());
    give_up();
}

void heap_history::give_up() noexcept {
    route_.clear();
    path_back_.clear();
}

result<void> heap_history::keep(os::file_system& files, os::file& heap, const store::image& image,
                                const heap_names& names, const history::heap_uuid& uuid,
                                const history::commit_name& last, std::uint64_t rewritten_from, bool is_to_be_shared) {
    heap_ = &heap;
    image_ = &image;
    names_ = &names;
    file_.emplace(files, store::history_path(names.heap()), uuid, rewritten_from);
    if (!is_to_be_shared) { // a shared heap needs all steps at once
        auto all = file_->load_summary(last);
        if (!all)
            return all.error();
        if (*all) {
            steps_ = history::step_tree(steps_.most(), **all);
            has_all_ = false;
            return steps_.is_too_much() ? read_rest() : result<void>();
        }
    }
    auto loaded = file_->load(last, steps_.most(), image.bytes(), why_new_);
    if (!loaded)
        return loaded.error();
    if (*loaded)
        steps_ = std::move(**loaded);
    return {};
}

result<void> heap_history::read_rest() {
    auto loaded = file_->load_rest(steps_.most(), image_->bytes(), why_new_);
    if (!loaded)
        return loaded.error();
    history::step_tree all =
        *loaded ? std::move(**loaded) : history::step_tree(steps_.most(), file_->through().version);
    all.continue_group_of(steps_, loaded->has_value());
    steps_ = std::move(all);
    has_all_ = true;
    return {};
}

void heap_history::begin_description() {
    events_.clear();
    if (owes_session_)
        steps_.append_session(events_);
}

void heap_history::describe_commit() {
    begin_description();
    if (steps_.has_staged())
        steps_.append_staged(events_);
}

void heap_history::describe_checkout() {
    begin_description();
    history::step_tree::append_checkout(events_, destination_, path_back_);
    if (steps_.has_staged())
        steps_.append_staged(events_);
}

void heap_history::describe_forgetting() {
    begin_description();
    history::step_tree::append_forgetting(events_);
}

void heap_history::describe(const std::function<void(history::event_bytes&)>& change) {
    begin_description();
    change(events_);
}

result<void> heap_history::reserve_events(const history::commit_name& last,
                                          const std::function<result<void>()>& make_durable) {
    if (is_shared_) // the last process that closes the heap renames the file after it
        REM_TRY(file_->go_on_in_new());
    else
        file_->follow(store::history_path(names_->heap()));
    if (!file_->has_begun()) {
        REM_TRY(make_durable());
        auto mode = heap_->permissions();
        if (!mode)
            return mode.error();
        REM_TRY(file_->begin(steps_, last, *mode));
    }
    return file_->reserve(events_.size());
}

void heap_history::add_events(const history::commit_name& commit) noexcept {
    file_->add(commit, events_);
    owes_session_ = false;
}

result<void> heap_history::prepare_to_move() {
    return is_shared_ && file_->has_begun() ? file_->go_on_in_new() : result<void>();
}

result<bool> heap_history::move(bool is_clean) {
    if (!is_kept() || !file_->has_begun())
        return false;
    auto mode = heap_->permissions();
    if (!mode)
        return mode.error();
    if (is_shared_ && !is_clean) {
        if (file_->has_grown() && !differs_from_others())
            REM_TRY(file_->write_all(steps_, *mode, false));
        else
            REM_TRY(file_->write_appended());
    } else {
        const std::string path = store::history_path(names_->heap());
        const bool has_moved = !file_->is_called(path);
        const bool is_lost = !has_moved && file_->is_lost();
        if (has_moved || is_lost || file_->has_grown())
            REM_TRY(have_all());
        file_->follow(path);
        REM_TRY(file_->write_all(steps_, *mode, is_lost));
    }
    if (is_clean)
        REM_TRY(file_->end_with(steps_.sum()));
    return true;
}

result<void> heap_history::sync() { return file_->sync(); }

// Shared heaps.

result<void> heap_history::share(const history::commit_name& last) {
    is_shared_ = true;
    owes_session_ = false;
    if (file_->has_begun() && file_->has_limits())
        return {};
    auto mode = heap_->permissions();
    return mode ? file_->begin(steps_, last, *mode) : mode.error();
}

result<void> heap_history::join(os::file_system& files, os::file& heap, const heap_names& names,
                                const history::heap_uuid& uuid, const history::commit_name& at,
                                std::uint64_t heap_bytes, std::uint64_t rewritten_from) {
    heap_ = &heap;
    names_ = &names;
    is_shared_ = true;
    owes_session_ = false;
    file_.emplace(files, store::history_path(names.heap()), uuid, rewritten_from);
    std::string why;
    auto loaded = file_->load(at, std::nullopt, heap_bytes, why);
    if (!loaded)
        return loaded.error();
    if (!*loaded)
        return cannot_follow(path_, why);
    if (file_->through().version > at.version)
        REM_TRY(file_->sync_name());
    steps_ = std::move(**loaded);
    return {};
}

result<void> heap_history::follow(const recover::scanned_record& record) {
    const history::commit_name commit{record.version, record.checksum};
    const history::commit_name& known = file_->through();
    if (commit.version < known.version || commit == known)
        return {}; // the file was begun after this commit, so the steps include it
    const auto events = log::events_in(record.bytes);
    if (!events || commit.version != known.version + 1)
        return cannot_follow(path_, "commit " + std::to_string(commit.version) + " does not say what became of it.");
    REM_TRY(follow(commit, *events, record.image_bytes));
    file_->add_of_others(commit, *events);
    return {};
}

result<void> heap_history::follow(const history::commit_name& commit, std::span<const std::byte> events,
                                  std::uint64_t heap_bytes) {
    history::step_loader steps(heap_bytes, std::move(steps_));
    const struct returned {
        history::step_loader& from;
        history::step_tree& to;
        ~returned() { to = from.take(); }
    } at_end{steps, steps_};
    if (!steps.add(commit.version, events))
        return cannot_follow(path_, "what commit " + std::to_string(commit.version) + " did to it is not sound.");
    if (steps.has_lacked_memory())
        throw std::bad_alloc();
    return {};
}

result<void> heap_history::follow_passed(const history::commit_name& checkpoint, std::uint64_t heap_bytes) {
    if (file_->through().version >= checkpoint.version)
        return {};
    auto reached =
        file_->read_on(checkpoint, [&](const history::commit_name& commit, std::span<const std::byte> events) {
            return follow(commit, events, heap_bytes);
        });
    if (!reached)
        return reached.error();
    if (*reached)
        return {};
    // Another process has rewritten the file, which now begins with one of these commits.
    std::string why;
    auto loaded = file_->load(checkpoint, std::nullopt, heap_bytes, why);
    if (!loaded)
        return loaded.error();
    if (!*loaded)
        return cannot_follow(path_, why);
    (*loaded)->continue_group_of(steps_, true);
    steps_ = std::move(**loaded);
    return {};
}

void heap_history::note_checkpoint(std::uint64_t version) noexcept { file_->forget_pending(version); }

} // namespace remanence::txn
