#include "session.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <utility>

namespace remanence::crash {

namespace {

void require(result<void> done, const char* what) {
    if (!done)
        throw violation(std::string(what) + " failed: " + done.why().message + " (" + done.why().path + ")");
}

} // namespace

session::session(os::simulated_disk& disk, open_function open, history& past, std::uint64_t seed)
    : disk_(disk), open_(std::move(open)), past_(past), random_(seed) {}

void session::promised(promise made, const char* what) {
    past_.promises.push_back(made);
    disk_.marker(what, past_.promises.size() - 1);
}

void session::open() {
    REM_CHECK(!past_.promises.empty());
    const promise before = past_.promises.back();
    const bool absent = !*disk_.exists(k_path);
    if (absent && before.created)
        throw violation("the heap is gone, although its creation was acknowledged");
    auto opened = open_(disk_, k_path);
    if (!opened)
        throw violation("open failed: " + opened.why().message + " (" + opened.why().path + ")");
    store_ = std::move(*opened);
    const std::uint64_t version = store_->version();
    if (past_.versions.empty())
        past_.versions[version] = std::make_shared<content>(); // creation makes it, empty
    if (!before.created)
        past_.promises.front().in_flight = past_.promises.front().acknowledged = past_.versions.begin()->first;

    const promise allowed = before.created ? before : past_.promises.front();
    if (version < allowed.acknowledged)
        throw violation("acknowledged commit lost: found version " + std::to_string(version) + ", acknowledged was " +
                        std::to_string(allowed.acknowledged));
    const auto found = past_.versions.find(version);
    if (version > allowed.in_flight || found == past_.versions.end())
        throw violation("found version " + std::to_string(version) +
                        ", which was never committed; the last one begun is " + std::to_string(allowed.in_flight));
    if (auto different = found->second->difference(store_->base()))
        throw violation("version " + std::to_string(version) + " does not hold what was committed: " + *different);
    committed_ = current_ = *found->second;
    promised({.created = true, .acknowledged = version, .in_flight = version}, "opened");
}

void session::commit() {
    const std::uint64_t version = store_->version();
    promised({.created = true, .acknowledged = version, .in_flight = version + 1}, "commit begins");
    past_.versions[version + 1] = std::make_shared<const content>(current_);
    require(store_->commit(), "commit");
    if (store_->version() != version + 1)
        throw violation("a commit led from version " + std::to_string(version) + " to " +
                        std::to_string(store_->version()));
    committed_ = current_;
    promised({.created = true, .acknowledged = version + 1, .in_flight = version + 1}, "commit acknowledged");
}

void session::rollback() {
    require(store_->rollback(), "rollback");
    current_ = committed_;
    if (auto different = current_.difference(store_->base()))
        throw violation("after a rollback " + *different);
}

void session::checkpoint() { require(store_->checkpoint(), "checkpoint"); }

void session::close() {
    require(store_->close(), "close");
    store_.reset();
    current_ = committed_;
}

void session::die() {
    store_.reset();
    current_ = committed_;
}

void session::verify() {
    auto problems = store_->verify();
    if (!problems)
        throw violation("verify failed: " + problems.why().message);
    if (!problems->empty())
        throw violation("verify found " + std::to_string(problems->size()) + " problems, first: " + problems->front());
}

void session::write(std::uint64_t offset, std::span<const std::byte> bytes) {
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

list_block* session::address_of(std::size_t index) {
    return reinterpret_cast<list_block*>(store_->base() + current_.blocks()[index].offset);
}

void session::add_root() {
    const std::uint64_t offset = allocate(sizeof(list_root));
    current_.set_root(offset);
    write_object(offset,
                 list_root{.magic = content::k_root_magic, .serial = 0, .count = 0, .first = nullptr, .scratch = {}});
}

void session::set_root_fields() {
    write_object(current_.root() + offsetof(list_root, count), std::uint64_t{current_.blocks().size()});
    list_block* first = current_.blocks().empty() ? nullptr : address_of(0);
    write_object(current_.root() + offsetof(list_root, first), first);
}

void session::link_block(content::block added) {
    current_.insert_front(added);
    set_root_fields();
}

void session::add_block(std::uint64_t bytes) {
    bytes = std::max<std::uint64_t>(bytes, sizeof(list_block));
    const std::uint64_t offset = allocate(bytes);
    std::vector<std::byte> all(bytes);
    random_.fill(all);
    const list_block header{
        .next = current_.blocks().empty() ? nullptr : address_of(0), .id = random_.next(), .bytes = bytes};
    const auto raw = std::as_bytes(std::span(&header, 1));
    std::copy(raw.begin(), raw.end(), all.begin());
    write(offset, all);
    link_block({offset, bytes});
}

void session::add_sparse_block(std::uint64_t bytes, std::uint64_t every, std::uint64_t written) {
    const std::uint64_t offset = allocate(bytes);
    write_object(
        offset,
        list_block{.next = current_.blocks().empty() ? nullptr : address_of(0), .id = random_.next(), .bytes = bytes});
    std::vector<std::byte> piece(written);
    for (std::uint64_t at = every; at + written <= bytes; at += every) {
        random_.fill(piece);
        write(offset + at, piece);
    }
    link_block({offset, bytes});
}

void session::remove_block(std::size_t index) {
    const content::block gone = current_.blocks()[index];
    list_block* after = address_of(index)->next;
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
    std::vector<std::byte> fresh(bytes);
    random_.fill(fresh);
    write(current_.blocks()[index].offset + offset, fresh);
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

void session::change_serial() { write_object(current_.root() + offsetof(list_root, serial), random_.next()); }

void session::change_anything() {
    if (!current_.has_root())
        add_root();
    if (current_.blocks().size() > 2)
        remove_block(current_.blocks().size() / 2);
    add_block(24 + random_.below(600));
    add_block(24 + random_.below(6000));
    change_serial();
}

} // namespace remanence::crash
