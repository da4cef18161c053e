#include "txn/heap_history.hpp"

#include "base/checksum.hpp"
#include "base/units.hpp"
#include "store/heap_creation.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

namespace remanence::txn {

heap_history::heap_history(const history::limits& most, std::uint64_t version, view::memory_view& view,
                           const std::string& path)
    : steps_(most, version), view_(view), path_(path) {}

result<void> heap_history::stage(const change::change_set& changes, history::step_kind kind) {
    steps_.discard_staged();
    if (steps_.has_ended() && !steps_.has_kept())
        return {};
    auto before = is_call_enough(changes) ? result<history::delta>(history::delta(*call_)) : bytes_before(changes);
    if (!before)
        return before.error();
    const bool moves = file_ && !file_->is_called(store::history_path(names_->heap())); // perhaps without its file
    if (moves || !steps_.has_room(before->bytes()))
        REM_TRY(have_all());
    const bool is_counted = kind != history::step_kind::hidden || steps_.is_in_group();
    if (is_counted && steps_.most().then == history::when_full::refuse && !steps_.has_room(before->bytes()))
        return full(*before);
    if (is_counted && is_too_large(*before))
        steps_.stage_nothing();
    else
        steps_.stage(std::move(*before), kind);
    return {};
}

// Of new chunks, and of those that move, all bytes count: there are no ranges of them.
bool heap_history::is_call_enough(const change::change_set& changes) const {
    if (!call_ || steps_.has_kept())
        return false;
    const bool has_whole = !changes.fresh.empty() || !changes.moved.empty();
    return has_whole || call_->bytes() < changes.changed_bytes();
}

result<history::delta> heap_history::bytes_before(const change::change_set& changes) const {
    history::delta before;
    add_pages(changes, before);
    add_fresh(changes, before);
    REM_TRY(add_moved(changes, before));
    return before;
}

// What is added from here on would not be kept. Kept states need it whatever it takes.
bool heap_history::is_too_large(const history::delta& before) const {
    const history::limits& most = steps_.most();
    return most.bytes_max != 0 && before.bytes() > most.bytes_max &&
           (most.then == history::when_full::refuse || !steps_.has_kept());
}

static void add(heap_range range, const std::byte* content, history::delta& before) {
    if (is_all_zeros({content, static_cast<std::size_t>(range.bytes)}))
        before.add_zeros(range);
    else
        before.add(range, content);
}

static bool differ(const std::byte* one, const std::byte* other, std::size_t at) {
    return std::memcmp(one + at, other + at, sizeof(std::uint64_t)) != 0;
}

result<void> heap_history::stage_since(const view::kept_pages& kept) {
    history::delta before;
    REM_TRY(view_.for_each_changed_since(kept, [&](std::uint64_t page, const std::byte* was) {
        const std::byte* const is = view_.base() + page * k_page_bytes;
        constexpr auto k_bytes = static_cast<std::size_t>(k_page_bytes);
        for (std::size_t at = 0; at != k_bytes; at += sizeof(std::uint64_t)) {
            const std::size_t first = at;
            while (at != k_bytes && differ(is, was, at))
                at += sizeof(std::uint64_t);
            if (at != first)
                add({page * k_page_bytes + first, at - first}, was + first, before);
            if (at == k_bytes)
                break;
        }
    }));
    steps_.stage(std::move(before), history::step_kind::hidden);
    return {};
}

// R1: each has a twin since it was compared.
void heap_history::add_pages(const change::change_set& changes, history::delta& before) const {
    for (const change::changed_page& page : changes.pages) {
        const std::byte* const committed = view_.committed().copy(page.page);
        for (const format::change_range& range : changes.ranges_of(page))
            add({page.page * k_page_bytes + range.offset, range.bytes}, committed + range.offset, before);
        if (is_too_large(before))
            return;
    }
}

// Where nothing was ever committed zeros are. Pages without a checksum are zeros still, or among the changed ones.
void heap_history::add_fresh(const change::change_set& changes, history::delta& before) const {
    for (const change::whole_chunk& chunk : changes.fresh) {
        std::uint64_t page = chunk.chunk * chunk.checksums.size();
        for (const std::uint32_t checksum : chunk.checksums) {
            if (checksum != 0)
                before.add_zeros({page * k_page_bytes, k_page_bytes});
            ++page;
        }
        if (is_too_large(before))
            return;
    }
}

// Their former homes are the image until the commit is accepted.
result<void> heap_history::add_moved(const change::change_set& changes, history::delta& before) const {
    std::vector<std::byte> read(static_cast<std::size_t>(changes.moved.empty() ? 0 : k_page_bytes));
    for (const change::whole_chunk& chunk : changes.moved) {
        const heap_range all = view_.memory().range_of(chunk.chunk);
        const std::uint64_t end = std::min(all.end(), view_.memory().accessible_bytes());
        for (std::uint64_t at = all.offset; at < end && !is_too_large(before); at += k_page_bytes) {
            const std::byte* committed = view_.committed().copy(at / k_page_bytes);
            if (committed == nullptr) {
                REM_TRY(view_.committed().read_image({at, k_page_bytes}, nullptr, read.data()));
                committed = read.data();
            }
            if (std::memcmp(committed, view_.base() + at, static_cast<std::size_t>(k_page_bytes)) != 0)
                add({at, k_page_bytes}, committed, before);
        }
    }
    return {};
}

unexpected heap_history::full(const history::delta& before) const {
    const history::limits& most = steps_.most();
    std::string why = is_too_large(before) ? "it would keep more than the " + std::to_string(most.bytes_max) +
                                                 " bytes that the history may have"
                                           : "it is full";
    return fail(
        errc::history_full,
        "the history of " + path_ + " has no room for this commit: " + why +
            ". Forget the history to make room, or open the heap with larger limits, or so that the oldest steps "
            "go.",
        path_);
}

void heap_history::discard_staged() noexcept { steps_.discard_staged(); }

void heap_history::accept(std::uint64_t version) noexcept { steps_.accept(version); }

result<void> heap_history::check_may_go() const {
    if (steps_.is_in_group())
        return fail(errc::section_open,
                    "a group of steps of " + path_ +
                        " is open, so no step can be undone or redone. End the group first.",
                    path_);
    if (steps_.has_ended())
        return fail(errc::no_step,
                    "the history of " + path_ +
                        " has ended, since it came to its limits: no step can be undone or redone. Open the heap again "
                        "to begin another one, with larger limits, or so that the oldest steps go.",
                    path_);
    return {};
}

static std::string counted(std::uint64_t steps) {
    return steps == 1 ? "one step of " : std::to_string(steps) + " steps of ";
}

result<std::uint64_t> heap_history::after_undo(std::uint64_t steps) const {
    REM_TRY(check_may_go());
    const std::uint64_t possible = steps_.undo_depth();
    if (steps <= possible)
        return steps_.before_present(steps);
    return fail(errc::no_step,
                counted(steps) + path_ + " cannot be undone: its history leads back " + std::to_string(possible) +
                    (steps_.has_migrations() ? ", and never across a migration. A version from before it that is "
                                               "kept can be restored."
                                             : "."),
                path_);
}

result<std::uint64_t> heap_history::after_redo(std::uint64_t steps) const {
    REM_TRY(check_may_go());
    const std::uint64_t possible = steps_.redo_depth();
    if (steps <= possible)
        return steps_.after_present(steps);
    std::string message = counted(steps) + path_ + " cannot be redone: ";
    const auto left = possible == 0 ? steps_.left_branch() : std::nullopt;
    if (left)
        message += "a commit after an undo began another branch. What was undone is still there: go to version " +
                   std::to_string(*left) + ".";
    else
        message += std::to_string(possible) + (possible == 1 ? " was undone." : " were undone.");
    return fail(errc::no_step, std::move(message), path_);
}

result<std::uint64_t> heap_history::state_of(std::uint64_t version) const {
    REM_TRY(check_may_go());
    const auto found = steps_.find(version);
    if (!found)
        return history::no_version(steps_, where_steps_lie(), version, path_);
    if (steps_.is_across_migration(*found))
        return fail(errc::no_step,
                    "no step leads to version " + std::to_string(version) + " of " + path_ +
                        ": a migration lies between, so its objects are of other types. " +
                        (steps_.name_of_kept(*found).empty() ? "Restore a version that is kept there first."
                                                             : "It is kept, so it can be restored."),
                    path_);
    return *found;
}

void heap_history::begin_way(std::uint64_t state) {
    give_up();
    steps_.discard_staged();
    way_ = steps_.way_to(state);
    way_back_.reserve(way_.size());
    destination_ = state;
}

const history::procedure_call* heap_history::call_on_way() const {
    const auto found = std::ranges::find_if(way_, [](const auto& each) { return each.call() != nullptr; });
    return found == way_.end() ? nullptr : found->call();
}

result<void> heap_history::apply_next() {
    const history::delta& next = way_[way_back_.size()].bytes();
    for (const heap_range& pages : next.pages())
        REM_TRY(view_.announce(pages.offset, pages.bytes));
    way_back_.push_back(next.other_side(view_.base()));
    next.apply(view_.base());
    return {};
}

result<void> heap_history::hold_bytes_of_way(const change::change_set& changes) {
    if (!steps_.has_kept() || !is_way_one_call())
        return {};
    auto before = bytes_before(changes);
    if (!before)
        return before.error();
    if (is_too_large(*before)) // and not whole
        return full(*before);
    way_back_.front() = std::move(*before);
    return {};
}

result<void> heap_history::check_calls(bool can_be_made) const {
    const history::procedure_call* const call = call_on_way();
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
    if (!steps_.has_kept() || is_way_one_call())
        return {};
    const bool is_one_step = way_.front().step() == way_.back().step();
    return fail(errc::no_step,
                "on the way through the history of " + path_ + " there is a call of the procedure \"" + call->name +
                    "\", and versions are kept, which must stay what they are. " +
                    (is_one_step ? "The step is a group, or was squashed, and has more than that call: drop the kept "
                                   "versions to pass it, or keep none before such a step is undone."
                                 : "Go one step at a time: then the history takes the bytes that the call, or its "
                                   "inverse, overwrites."),
                path_);
    return {};
}

// H1
void heap_history::arrive(std::uint64_t version) noexcept {
    steps_.go_over(way_, way_back_);
    give_up();
    steps_.arrive(destination_, version);
    steps_.accept(version); // H10: roots that were kept
}

void heap_history::take_back() noexcept {
    for (auto each = way_back_.rbegin(); each != way_back_.rend(); ++each)
        each->apply(view_.base());
    give_up();
}

void heap_history::give_up() noexcept {
    way_.clear();
    way_back_.clear();
}

result<void> heap_history::keep(os::file_system& files, os::file& heap, const store::image& image,
                                const heap_names& names, const history::heap_uuid& uuid,
                                const history::commit_name& last, std::uint64_t rewritten_from, bool is_to_be_shared) {
    heap_ = &heap;
    image_ = &image;
    names_ = &names;
    file_.emplace(files, store::history_path(names.heap()), uuid, rewritten_from);
    if (!is_to_be_shared) { // else all of it is needed at once
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

void heap_history::describe_arrival() {
    begin_description();
    history::step_tree::append_arrival(events_, destination_, way_back_);
    if (steps_.has_staged())
        steps_.append_staged(events_);
}

void heap_history::describe_forgetting() {
    begin_description();
    history::step_tree::append_forgetting(events_);
}

result<void> heap_history::reserve_events(const history::commit_name& last,
                                          const std::function<result<void>()>& make_durable) {
    if (is_shared_) // whoever is the last brings it to the heap's name
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

} // namespace remanence::txn
