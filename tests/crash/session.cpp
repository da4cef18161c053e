#include "session.hpp"

#include "api/whole_file.hpp"
#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "base/units.hpp"
#include "engine_store.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <utility>
#include <variant>
#include <vector>

namespace remanence::crash {

namespace {

void require(result<void> done, const char* what) {
    if (!done)
        throw operation_failed(std::string(what) + " failed: " + done.why().message + " (" + done.why().path + ")");
}

} // namespace

const std::shared_ptr<const content>& promise::content_of(std::uint64_t version) const {
    REM_CHECK(version >= acknowledged && version <= in_flight);
    if (version == acknowledged)
        return acknowledged_content;
    return version == in_flight ? in_flight_content : between[version - acknowledged - 1];
}

promise promise::with(const std::shared_ptr<const content>& next) const {
    promise more = *this;
    if (in_flight > acknowledged)
        more.between.push_back(in_flight_content);
    more.in_flight = in_flight + 1;
    more.in_flight_content = next;
    return more;
}

promise promise::without_changes_of(std::uint64_t version) const {
    promise other = *this;
    const auto& holds = content_of(version - 1);
    if (version == in_flight)
        other.in_flight_content = holds;
    else
        other.between[version - acknowledged - 1] = holds;
    return other;
}

promise promise::up_to(std::uint64_t version) const {
    promise less = *this;
    less.in_flight = version;
    less.in_flight_content = content_of(version);
    less.between.resize(version > acknowledged ? version - acknowledged - 1 : 0);
    return less;
}

promise promise::from(std::uint64_t version) const {
    if (version <= acknowledged)
        return *this;
    promise more = *this;
    more.created = true;
    more.acknowledged = version;
    more.acknowledged_content = content_of(version);
    const auto gone = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(version - acknowledged, between.size()));
    more.between.erase(more.between.begin(), more.between.begin() + gone);
    return more;
}

std::uint64_t promise::fingerprint() const {
    const auto of = [](const std::shared_ptr<const content>& each) { return each ? each->fingerprint() : 0; };
    std::vector<std::uint64_t> parts{created ? 1U : 0U, acknowledged, in_flight, of(acknowledged_content),
                                     of(in_flight_content)};
    for (const auto& each : between)
        parts.push_back(of(each));
    for (const auto& [path, each] : branches) {
        parts.push_back(checksum64(std::as_bytes(std::span(path))));
        parts.push_back(of(each.holds));
        parts.push_back(each.is_there ? 1U : 0U);
    }
    for (const auto& [path, all] : texts) {
        parts.push_back(checksum64(std::as_bytes(std::span(path))));
        for (const auto& each : all)
            parts.push_back(each ? checksum64(std::as_bytes(std::span(*each))) : 0);
    }
    return checksum64(std::as_bytes(std::span(parts)));
}

session::session(simulation::simulated_disk& disk, open_function open, history& past, std::uint64_t seed)
    : files_(disk),
      disk_(&disk),
      open_(std::move(open)),
      past_(past),
      random_(seed),
      branches_(past.back().branches),
      texts_(past.back().texts) {}

session::session(os::file_system& files, witness& told, open_function open, history& past, std::uint64_t seed)
    : files_(files),
      witness_(&told),
      open_(std::move(open)),
      past_(past),
      random_(seed),
      branches_(past.back().branches),
      texts_(past.back().texts) {}

void session::promised(promise made, os::call_site what) {
    made.branches = branches_;
    made.texts = texts_;
    past_.push_back(std::move(made));
    if (disk_ != nullptr)
        disk_->marker(what, past_.size() - 1);
    else
        witness_->promised(past_.back(), what);
}

void session::open() {
    const bool absent = !*files_.exists(k_path);
    if (absent && past_.back().created)
        throw violation("the heap is gone, although its creation was acknowledged");
    check_branches();
    check_texts();
    auto opened = with_room([&] { return open_(files_, k_path); });
    if (!opened)
        throw operation_failed("open failed: " + opened.why().message + " (" + opened.why().path + ")");
    adopt(std::move(*opened), absent);
}

void session::adopt(std::unique_ptr<store> opened, bool was_absent) {
    store_ = std::move(opened);
    store_->tell_of_failures([this](std::uint64_t failed) { came_to_nothing(failed); });
    const std::uint64_t version = store_->version();
    promise& allowed = past_.back();
    if (allowed.acknowledged_content == nullptr)
        allowed = {false, version, version, std::make_shared<content>(), std::make_shared<content>()};
    if (version < allowed.acknowledged)
        throw violation("acknowledged commit lost: found version " + std::to_string(version) + ", acknowledged was " +
                        std::to_string(allowed.acknowledged));
    if (version > allowed.in_flight)
        throw violation("found version " + std::to_string(version) +
                        ", which was never committed; the last one begun is " + std::to_string(allowed.in_flight));
    if (version < outlives_process_)
        throw violation("the process died, and version " + std::to_string(outlives_process_) +
                        " with it: found version " + std::to_string(version));
    committed_ = allowed.content_of(version);
    outlives_process_ = version;
    current_ = *committed_;
    kept_.clear();
    adopt_past();
    if (auto different = current_.difference(store_->base()))
        throw violation("version " + std::to_string(version) + " does not hold what was committed: " + *different);
    // One that a dead process left may vanish again until something is committed: only its creator was promised more.
    promise found = promise::of(version, committed_);
    found.created = was_absent || allowed.created;
    promised(std::move(found), "opened");
}

void session::adopt_past() {
    states_ = {committed_};
    state_ = 0;
    by_version_.clear();
    is_in_group_ = false;
    has_group_step_ = false;
    if (const auto way = store_->way(); !way.empty())
        by_version_[way[static_cast<std::size_t>(store_->undo_depth())]] = committed_;
    const known_past* const known = committed_->past();
    if (known == nullptr || known->steps.empty())
        return;
    if (const std::string found = store_->steps(); found != known->steps)
        throw violation("the history of version " + std::to_string(store_->version()) + " was\n" + known->steps +
                        "and is\n" + found);
    states_ = known->states;
    state_ = known->state;
    states_[state_] = committed_;
    for (const auto& [name, state] : known->kept)
        kept_[name] = state ? state : committed_;
    for (const auto& [version, state] : known->by_version)
        by_version_[version] = state ? state : committed_;
}

// Of the states that the session knows: what the store names in between ends the way.
void session::follow_limits() {
    const std::vector<std::uint64_t> way = store_->way();
    if (way.empty())
        return;
    const auto present = static_cast<std::size_t>(store_->undo_depth());
    by_version_[way[present]] = committed_;
    std::size_t first = present;
    while (first != 0 && by_version_.contains(way[first - 1]))
        --first;
    states_.clear();
    for (std::size_t i = first; i != way.size() && by_version_.contains(way[i]); ++i)
        states_.push_back(by_version_[way[i]]);
    state_ = present - first;
}

void session::note_past() {
    follow_limits();
    known_past known{store_->steps(), states_, state_, kept_, by_version_};
    known.states[state_].reset();
    for (auto& [name, state] : known.kept) {
        if (state == committed_)
            state.reset();
    }
    for (auto& [version, state] : known.by_version) {
        if (state == committed_)
            state.reset();
    }
    committed_->set_past(std::move(known));
}

void session::go_through_history() {
    if (store_->steps().empty())
        return;
    const std::uint64_t forth = std::min<std::uint64_t>(store_->redo_depth(), states_.size() - 1 - state_);
    if (forth != 0) {
        redo(forth);
        undo(forth);
    }
    const std::uint64_t back = std::min<std::uint64_t>(store_->undo_depth(), state_);
    for (std::uint64_t i = 0; i != back; i++)
        undo();
    if (back != 0)
        redo(back);
}

namespace {

/// The versions that undo() leads to, from the present one on, as store::steps() has told them.
std::vector<std::uint64_t> versions_back(const std::string& steps) {
    std::map<std::uint64_t, std::uint64_t> parents;
    std::uint64_t present = 0;
    std::istringstream lines(steps);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::uint64_t version = 0;
        std::uint64_t parent = 0;
        std::string after;
        if (!(words >> version >> after >> parent) || after != "after")
            continue;
        parents[version] = parent;
        if (line.ends_with('*'))
            present = version;
    }
    std::vector<std::uint64_t> found;
    for (; parents.contains(present); present = parents[present])
        found.push_back(present);
    return found;
}

} // namespace

void session::look_at_versions() {
    constexpr std::size_t k_seen_max = 3;
    const promise& allowed = past_.back();
    if (allowed.acknowledged_content == nullptr || !*files_.exists(k_path))
        return;
    std::shared_ptr<const content> last;
    const auto expect = [&](const std::optional<std::variant<std::uint64_t, std::string>>& version,
                            const std::shared_ptr<const content>& known) {
        const auto see = [&](const std::byte* base, std::uint64_t found) {
            if (!version)
                last = allowed.content_of(found);
            const content& expected = version ? *known : *last;
            if (auto different = expected.difference(base))
                throw violation("version " + std::to_string(found) +
                                ", opened read-only, is not what it was: " + *different);
        };
        const auto looked = look_at(files_, k_path, version, see);
        if (!looked && looked.why().code == errc::no_step &&
            looked.why().message.find(" has a call of ") != std::string::npos)
            return; // it is said instead what holds the bytes; only workloads that make calls have them
        if (!looked)
            throw violation("a version cannot be opened: " + looked.why().message);
    };
    if (allowed.acknowledged_content->past() == nullptr || allowed.acknowledged_content->past()->steps.empty())
        return;
    expect({}, nullptr);
    const known_past* const known = last->past();
    if (known == nullptr)
        return;
    const std::vector<std::uint64_t> back = versions_back(known->steps);
    for (std::size_t i = 0; i != std::min({back.size(), known->state + 1, k_seen_max}); ++i) {
        const auto& state = known->states[known->state - i];
        expect(back[i], state ? state : last);
    }
    for (const auto& [name, state] : known->kept)
        expect(name, state ? state : last);
}

template <class F>
result<void> session::begin_commit(const F& commit) {
    const std::uint64_t version = store_->version();
    auto next = std::make_shared<const content>(current_);
    promised(past_.back().with(next), "commit begins");
    REM_TRY(with_room(commit));
    if (store_->version() != version + 1)
        throw violation("a commit led from version " + std::to_string(version) + " to " +
                        std::to_string(store_->version()));
    committed_ = next;
    return {};
}

void session::add_state() {
    states_.resize(state_ + 1);
    if (has_group_step_) {
        states_[state_] = committed_;
        return;
    }
    states_.push_back(committed_);
    ++state_;
    has_group_step_ = is_in_group_;
}

result<void> session::do_go(std::ptrdiff_t distance, const std::function<result<void>()>& step) {
    const std::size_t to = state_ + static_cast<std::size_t>(distance);
    REM_CHECK(to < states_.size());
    const content before = std::exchange(current_, *states_[to]);
    auto done = begin_commit(step);
    if (!done) {
        current_ = before;
        return done;
    }
    state_ = to;
    note_past();
    if (auto different = current_.difference(store_->base()))
        throw violation("after an undo or redo " + *different);
    return all_is_durable({}, "undo or redo acknowledged");
}

result<void> session::do_undo(std::uint64_t steps) {
    return do_go(-static_cast<std::ptrdiff_t>(steps), [=, this] { return store_->undo(steps); });
}

result<void> session::do_redo(std::uint64_t steps) {
    return do_go(static_cast<std::ptrdiff_t>(steps), [=, this] { return store_->redo(steps); });
}

void session::undo(std::uint64_t steps) { require(do_undo(steps), "undo"); }

void session::redo(std::uint64_t steps) { require(do_redo(steps), "redo"); }

result<void> session::change_history(const std::function<result<void>()>& change) {
    if (store_->steps().empty())
        return change();
    const std::shared_ptr<const content> before = committed_;
    REM_TRY(begin_commit(change));
    std::ranges::replace(states_, before, committed_);
    for (auto& [name, state] : kept_) {
        if (state == before)
            state = committed_;
    }
    return all_is_durable({}, "change of the history acknowledged");
}

result<void> session::do_keep(const std::string& name) {
    REM_TRY(change_history([&] { return store_->keep(name); }));
    kept_[name] = committed_;
    note_past();
    return {};
}

void session::keep(const std::string& name) { require(do_keep(name), "keep"); }

result<void> session::do_restore(const std::string& name) {
    const std::shared_ptr<const content> to = kept_.at(name);
    const content before = std::exchange(current_, *to);
    auto done = begin_commit([&] { return store_->restore_kept(name); });
    if (!done) {
        current_ = before;
        return done;
    }
    const auto known = std::ranges::find(states_, to);
    state_ = static_cast<std::size_t>(known - states_.begin());
    if (known == states_.end()) {
        states_ = {to};
        state_ = 0;
    }
    states_[state_] = committed_;
    for (auto& [each, state] : kept_) {
        if (state == to)
            state = committed_;
    }
    note_past();
    if (auto different = current_.difference(store_->base()))
        throw violation("after restoring a version " + *different);
    return all_is_durable({}, "restoring acknowledged");
}

void session::restore(const std::string& name) { require(do_restore(name), "restore"); }

result<void> session::do_drop(const std::string& name) {
    REM_TRY(change_history([&] { return store_->drop(name); }));
    kept_.erase(name);
    note_past();
    return {};
}

void session::drop(const std::string& name) { require(do_drop(name), "drop"); }

result<void> session::do_squash(std::uint64_t steps) {
    REM_TRY(change_history([&] { return store_->squash(steps); }));
    const auto last = states_.begin() + static_cast<std::ptrdiff_t>(state_);
    states_.erase(last - static_cast<std::ptrdiff_t>(steps - 1), last);
    state_ -= static_cast<std::size_t>(steps - 1);
    note_past();
    return {};
}

void session::squash(std::uint64_t steps) { require(do_squash(steps), "squash"); }

void session::commit_migration() {
    require(store_->note_migration(), "migration");
    commit();
    if (store_->undo_depth() != 0)
        throw violation("an undo leads across a migration");
}

std::string session::branch_path(const std::string& name) { return std::string(k_path) + '-' + name; }

bool session::has_branch(const std::string& name) {
    const auto there = files_.exists(branch_path(name));
    return there && *there;
}

result<void> session::do_branch(const std::string& name) {
    const std::string path = branch_path(name);
    branches_[path] = {kept_.at(name), false};
    promised(past_.back(), "branch begins");
    REM_TRY(store_->branch(name, path));
    branches_[path].is_there = true;
    promised(past_.back(), "branch acknowledged");
    return {};
}

void session::branch(const std::string& name) { require(do_branch(name), "branch"); }

result<void> session::do_write_text(const std::string& name, const std::string& text, bool may_replace) {
    const std::string path = branch_path(name);
    auto& may_be = texts_[path];
    if (may_be.empty())
        may_be.emplace_back();
    may_be.emplace_back(text);
    promised(past_.back(), "text begins");
    const auto write = [&]() -> result<void> {
        detail::whole_file file(files_, path, path + "-unfinished");
        REM_TRY(file.begin());
        REM_TRY(file.put(text));
        return file.finish(may_replace);
    };
    REM_TRY(write());
    may_be = {text};
    promised(past_.back(), "text acknowledged");
    check_texts();
    return {};
}

void session::write_text(const std::string& name, const std::string& text, bool may_replace) {
    require(do_write_text(name, text, may_replace), "writing a file of text");
}

bool session::try_text(std::uint64_t n, cut how, const std::string& name, const std::string& text) {
    return attempt(n, how, "text", [&] { return do_write_text(name, text, true); });
}

void session::check_texts() {
    for (const auto& [path, may_be] : texts_) {
        std::optional<std::string> found;
        if (*files_.exists(path)) {
            const auto file = files_.open(path, os::access::read_only);
            found.emplace(static_cast<std::size_t>(*(*file)->size()), ' ');
            require((*file)->read(0, std::as_writable_bytes(std::span(*found))), "reading a file of text");
        }
        if (std::find(may_be.begin(), may_be.end(), found) == may_be.end())
            throw violation("a file of text is " +
                            (found ? "of " + std::to_string(found->size()) + " bytes, " : "gone, ") +
                            "and neither what was acknowledged, nor what was being written");
    }
}

void session::check_branches() {
    for (const auto& [path, each] : branches_) {
        if (!*files_.exists(path)) {
            if (each.is_there)
                throw violation("a branch is gone, although it was acknowledged");
            continue;
        }
        auto opened = open_(files_, path);
        if (!opened)
            throw operation_failed("open of a branch failed: " + opened.why().message);
        if (auto different = each.holds->difference((*opened)->base()))
            throw violation("a branch does not hold what its version did: " + *different);
    }
}

void session::begin_group() {
    store_->begin_group();
    is_in_group_ = true;
}

void session::end_group() {
    store_->end_group();
    is_in_group_ = false;
    has_group_step_ = false;
}

result<void> session::do_commit(log::durability how) {
    REM_TRY(begin_commit([&] { return store_->commit(how); }));
    add_state();
    note_past();
    if (how != log::durability::none)
        outlives_process_ = store_->version();
    return how == log::durability::durable ? all_is_durable({}, "commit acknowledged") : result<void>();
}

result<void> session::do_commit_async() {
    return begin_commit([&]() -> result<void> {
        auto version = store_->commit_async();
        if (!version)
            return version.error();
        if (*version != store_->version())
            throw violation("an asynchronous commit has another version than the store");
        return {};
    });
}

result<void> session::do_wait(std::uint64_t version) {
    REM_TRY(store_->await(version));
    outlives_process_ = std::max(outlives_process_, version);
    if (past_.back().acknowledged < version)
        promised(past_.back().from(version), "asynchronous commit acknowledged");
    return {};
}

result<void> session::all_is_durable(result<void> done, os::call_site what) {
    if (!done)
        return done;
    outlives_process_ = store_->version();
    if (past_.back().in_flight != past_.back().acknowledged)
        promised(promise::of(store_->version(), past_.back().content_of(store_->version())), what);
    return {};
}

void session::came_to_nothing(std::uint64_t version) {
    promised(past_.back().without_changes_of(version), "asynchronous commit comes to nothing");
}

bool session::commit_async_on_full_disk(std::uint64_t n, const std::function<void()>& change) {
    REM_CHECK(disk_ != nullptr);
    disk_->fail_at(n, errc::no_space);
    const auto commit = [&] {
        auto made = do_commit_async();
        if (!made && store_->health()) // refused: the next commit has its version
            promised(past_.back().up_to(store_->version()), "asynchronous commit refused");
    };
    commit();
    const std::uint64_t first = store_->version();
    if (store_->health()) {
        change();
        commit();
    }
    if (store_->health())
        (void)do_wait(first); // which may have come to nothing
    return make_room_again();
}

void session::commit(log::durability how) { require(do_commit(how), "commit"); }

result<void> session::do_sync() { return all_is_durable(store_->sync(), "sync acknowledged"); }

// What is given back, commits say that change nothing else. When none was made, its version is the next one's.
result<void> session::giving_back(const std::function<result<void>()>& step, int commits_max) {
    if (!store_->gives_back())
        return step();
    const promise before = past_.back();
    const std::uint64_t version = store_->version();
    for (int i = 0; i != commits_max; ++i)
        promised(past_.back().with(committed_), "may give chunks back");
    auto done = step();
    if (!done && store_->health() && store_->version() == version)
        promised(before, "nothing was given back");
    return done;
}

result<void> session::do_checkpoint() {
    return all_is_durable(giving_back([&] { return store_->checkpoint(); }, 1), "checkpoint acknowledged");
}

result<void> session::do_shrink() {
    return all_is_durable(giving_back([&] { return store_->shrink(); }, 2), "shrinking acknowledged");
}

result<void> session::do_close() {
    return all_is_durable(giving_back([&] { return store_->close(); }, 1), "close acknowledged");
}

std::uint64_t session::commit_async() {
    require(do_commit_async(), "asynchronous commit");
    return store_->version();
}

void session::wait(std::uint64_t version) { require(do_wait(version), "wait"); }

void session::sync() { require(do_sync(), "sync"); }

void session::sync_beside_failed() {
    auto done = do_sync();
    if (!done && done.why().code != errc::no_space)
        require(std::move(done), "sync");
}

void session::prepare_cut(std::uint64_t n, cut how) {
    REM_CHECK(disk_ != nullptr);
    if (how == cut::failure)
        disk_->fail_at(n, errc::io);
    else
        disk_->die_at(n);
}

bool session::finish_cut(cut how) {
    const bool done = disk_->failure_is_ahead();
    disk_->work_again();
    if (!done) {
        if (how == cut::failure)
            outlives_process_ = 0; // a cache goes back, or forgets, what it could not write
        die();
    }
    return done;
}

bool session::try_open(std::uint64_t n, cut how) {
    const bool absent = !*files_.exists(k_path);
    prepare_cut(n, how);
    auto opened = open_(files_, k_path);
    const bool done = finish_cut(how);
    if (opened)
        adopt(std::move(*opened), absent);
    else if (done)
        throw operation_failed("open failed: " + opened.why().message + " (" + opened.why().path + ")");
    if (!done)
        die();
    return done;
}

bool session::attempt(std::uint64_t n, cut how, const char* what, const std::function<result<void>()>& step) {
    prepare_cut(n, how);
    auto done = step();
    if (!done && disk_->failure_is_ahead())
        require(std::move(done), what);
    return finish_cut(how);
}

bool session::try_commit(std::uint64_t n, cut how, log::durability until) {
    return attempt(n, how, "commit", [&] { return do_commit(until); });
}

bool session::try_commit_async(std::uint64_t n, cut how) {
    return attempt(n, how, "asynchronous commit", [&] { return do_commit_async(); });
}

bool session::try_wait(std::uint64_t n, cut how, std::uint64_t version) {
    return attempt(n, how, "wait", [&] { return do_wait(version); });
}

bool session::try_sync(std::uint64_t n, cut how) {
    return attempt(n, how, "sync", [&] { return do_sync(); });
}

bool session::try_undo(std::uint64_t n, cut how, std::uint64_t steps) {
    return attempt(n, how, "undo", [&] { return do_undo(steps); });
}

bool session::try_redo(std::uint64_t n, cut how, std::uint64_t steps) {
    return attempt(n, how, "redo", [&] { return do_redo(steps); });
}

bool session::try_restore(std::uint64_t n, cut how, const std::string& name) {
    return attempt(n, how, "restore", [&] { return do_restore(name); });
}

bool session::try_keep(std::uint64_t n, cut how, const std::string& name) {
    return attempt(n, how, "keep", [&] { return do_keep(name); });
}

bool session::try_drop(std::uint64_t n, cut how, const std::string& name) {
    return attempt(n, how, "drop", [&] { return do_drop(name); });
}

bool session::try_squash(std::uint64_t n, cut how, std::uint64_t steps) {
    return attempt(n, how, "squash", [&] { return do_squash(steps); });
}

bool session::try_branch(std::uint64_t n, cut how, const std::string& name) {
    return attempt(n, how, "branch", [&] { return do_branch(name); });
}

bool session::undo_on_full_disk(std::uint64_t n) {
    REM_CHECK(disk_ != nullptr);
    disk_->fail_at(n, errc::no_space);
    if (!do_undo(1) && store_->health()) // refused: the next commit has its version
        promised(past_.back().up_to(store_->version()), "undo refused");
    if (store_->health()) {
        if (auto different = current_.difference(store_->base()))
            throw violation("after an undo on a full disk " + *different);
    }
    return make_room_again();
}

bool session::try_checkpoint(std::uint64_t n, cut how) {
    return attempt(n, how, "checkpoint", [&] { return do_checkpoint(); });
}

bool session::try_shrink(std::uint64_t n, cut how) {
    return attempt(n, how, "shrinking", [&] { return do_shrink(); });
}

bool session::try_close(std::uint64_t n, cut how) {
    const bool done = attempt(n, how, "close", [&] { return do_close(); });
    if (done)
        die(); // nothing is left to do
    return done;
}

bool session::try_changes(std::uint64_t n, cut how, const std::function<void()>& change) {
    prepare_cut(n, how);
    change();
    return finish_cut(how);
}

bool session::make_room_again() {
    const bool done = disk_->failure_is_ahead();
    disk_->work_again();
    if (!store_->health()) {
        outlives_process_ = 0;
        die();
    }
    return done;
}

bool session::change_on_full_disk(std::uint64_t n, const std::function<void()>& change) {
    REM_CHECK(disk_ != nullptr);
    disk_->fail_at(n, errc::no_space);
    change();
    return make_room_again();
}

void session::rollback() {
    require(store_->rollback(), "rollback");
    current_ = *committed_;
    if (auto different = current_.difference(store_->base()))
        throw violation("after a rollback " + *different);
}

void session::checkpoint() { require(do_checkpoint(), "checkpoint"); }

std::uint64_t session::shrink() {
    const std::uint64_t before = store_->version();
    require(do_shrink(), "shrinking");
    return store_->version() - before;
}

void session::close() {
    require(do_close(), "close");
    store_.reset();
    current_ = {};
}

void session::die() {
    store_.reset();
    current_ = {};
}

void session::verify() {
    auto problems = store_->verify();
    if (!problems)
        throw operation_failed("verify failed: " + problems.why().message);
    if (!problems->empty())
        throw violation("verify found " + std::to_string(problems->size()) + " problems, first: " + problems->front());
    std::vector<std::uint64_t> sizes(current_.has_root() ? 1 : 0, sizeof(list_root));
    for (const content::block& each : current_.blocks())
        sizes.push_back(each.bytes);
    if (!store_->has_allocated(sizes))
        throw violation("more or less is allocated than the blocks that the program has");
}

void session::expect_health() {
    if (store_)
        require(store_->health(), "what goes on by itself");
}

void session::write(std::uint64_t offset, std::span<const std::byte> bytes) {
    store_->declare(store_->base() + offset, bytes.size());
    std::copy(bytes.begin(), bytes.end(), store_->base() + offset);
    current_.write(offset, bytes);
}

std::uint64_t session::allocate(std::uint64_t bytes) {
    void* block = store_->allocate(bytes);
    if (block == nullptr)
        throw violation("cannot allocate " + std::to_string(bytes) + " bytes");
    const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(block) - store_->base());
    if (current_.overlaps(offset, bytes))
        throw violation("a new block of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                        " lies over one in use");
    return offset;
}

std::uint64_t session::first_offset() const { return current_.blocks().empty() ? 0 : current_.blocks().front().offset; }

void session::add_root() {
    const std::uint64_t offset = allocate(sizeof(list_root));
    current_.set_root(offset);
    write_object(offset, list_root{.magic = content::k_root_magic, .serial = 0, .count = 0, .first = 0, .scratch = {}});
}

void session::remove_root() {
    while (!current_.blocks().empty())
        remove_block(0);
    const std::uint64_t offset = current_.root();
    current_.erase_root();
    store_->deallocate(store_->base() + offset, sizeof(list_root));
}

void session::set_root_fields() {
    write_object(current_.root() + offsetof(list_root, count), std::uint64_t{current_.blocks().size()});
    write_object(current_.root() + offsetof(list_root, first), first_offset());
}

void session::link_block(content::block added) {
    current_.insert_front(added);
    set_root_fields();
}

void session::add_block_of(std::vector<std::byte> all) {
    const std::uint64_t offset = allocate(all.size());
    const list_block header{.next = first_offset(), .id = random_.next(), .bytes = all.size()};
    const auto raw = std::as_bytes(std::span(&header, 1));
    std::copy(raw.begin(), raw.end(), all.begin());
    write(offset, all);
    link_block({offset, all.size()});
}

void session::add_block(std::uint64_t bytes) {
    std::vector<std::byte> all(std::max<std::uint64_t>(bytes, sizeof(list_block)));
    random_.fill(all);
    add_block_of(std::move(all));
}

void session::add_zero_block(std::uint64_t bytes) { add_block_of(std::vector<std::byte>(bytes)); }

void session::add_sparse_block(std::uint64_t bytes, std::uint64_t every, std::uint64_t written) {
    const std::uint64_t offset = allocate(bytes);
    write_object(offset, list_block{.next = first_offset(), .id = random_.next(), .bytes = bytes});
    std::vector<std::byte> piece(written);
    for (std::uint64_t at = every; at + written <= bytes; at += every) {
        random_.fill(piece);
        write(offset + at, piece);
    }
    link_block({offset, bytes});
}

void session::move_block(std::size_t index) {
    const content::block from = current_.blocks()[index];
    const std::byte* const old = store_->base() + from.offset;
    const std::vector<std::byte> all(old, old + from.bytes);
    const std::uint64_t offset = allocate(from.bytes);
    store_->move(store_->base() + from.offset, store_->base() + offset, from.bytes);
    current_.write(offset, all);
    remove_block(index);
    write_object(offset, list_block{.next = first_offset(), .id = random_.next(), .bytes = from.bytes});
    link_block({offset, from.bytes});
}

void session::remove_block(std::size_t index) {
    const content::block gone = current_.blocks()[index];
    const std::uint64_t after =
        index + 1 < current_.blocks().size() ? current_.blocks()[index + 1].offset : std::uint64_t{0};
    if (index > 0)
        write_object(current_.blocks()[index - 1].offset + offsetof(list_block, next), after);
    current_.erase(index);
    set_root_fields();
    store_->deallocate(store_->base() + gone.offset, gone.bytes);
}

void session::remove_largest() {
    const auto& all = current_.blocks();
    const auto largest =
        std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    if (largest != all.end())
        remove_block(static_cast<std::size_t>(largest - all.begin()));
}

void session::poke(std::size_t index, std::uint64_t offset, std::uint64_t bytes) {
    const content::block& where = current_.blocks()[index];
    REM_CHECK(offset >= sizeof(list_block) && offset + bytes <= where.bytes); // else the workload is wrong
    std::vector<std::byte> fresh(bytes);
    random_.fill(fresh);
    write(where.offset + offset, fresh);
}

void session::poke(std::uint64_t bytes) {
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < current_.blocks().size(); i++) {
        if (current_.filled_bytes(i) >= sizeof(list_block) + bytes)
            candidates.push_back(i);
    }
    if (candidates.empty())
        return change_serial();
    const std::size_t index = candidates[random_.below(candidates.size())];
    const std::uint64_t room = current_.filled_bytes(index) - sizeof(list_block) - bytes;
    poke(index, sizeof(list_block) + random_.below(room + 1), bytes);
}

void session::flip(std::uint64_t bytes) {
    for (std::size_t i = 0; i < current_.blocks().size(); i++) {
        if (current_.filled_bytes(i) < sizeof(list_block) + bytes)
            continue;
        const std::uint64_t offset = current_.blocks()[i].offset + sizeof(list_block);
        require(store_->begin_flip(), "flip");
        std::vector<std::byte> turned(store_->base() + offset, store_->base() + offset + bytes);
        for (std::byte& each : turned)
            each = ~each;
        write(offset, turned);
        store_->end_flip(offset, bytes);
        return commit();
    }
    throw violation("no block is large enough"); // the workload is wrong
}

void session::change_serial() { write_object(current_.root() + offsetof(list_root, serial), random_.next()); }

void session::change_anything() {
    if (!current_.has_root())
        add_root();
    for (int i = 0; i < 2 && current_.blocks().size() > 3; i++)
        remove_block(current_.blocks().size() / 2);
    add_zero_block(20 * KiB);
    add_block(24 + random_.below(600));
    add_block(24 + random_.below(6000));
    change_serial();
}

} // namespace remanence::crash
