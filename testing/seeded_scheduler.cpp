#include "testing/seeded_scheduler.hpp"

#include "base/assert.hpp"
#include "base/range.hpp"

#include <semaphore.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <thread>

namespace remanence::simulation {

namespace {

// In a row, between two operations: many more than locks are taken there, each of which a few may wait for.
constexpr std::uint64_t k_waits_of_all = 20'000;

} // namespace

// It runs from its turn on until it passes that on.
struct seeded_scheduler::participant {
    explicit participant(seeded_scheduler& of) : owner(of) { ::sem_init(&turn, 0, 0); }
    ~participant() { ::sem_destroy(&turn); }
    participant(const participant&) = delete;
    participant& operator=(const participant&) = delete;

    void wait_for_turn() noexcept {
        while (::sem_wait(&turn) != 0 && errno == EINTR) {
        }
    }

    seeded_scheduler& owner;
    std::function<bool()> is_wanted{};
    std::function<void()> work{};
    std::uint64_t one_in = 1;
    const char* last_site = "its beginning";
    const char* waits_for = nullptr;
    bool is_under_way = false;
    bool ends = false;
    sem_t turn{}; // no lock of the standard library: those are what threads wait for
    std::thread thread{};
};

thread_local seeded_scheduler::participant* seeded_scheduler::this_thread = nullptr;

class seeded_scheduler::scheduled_file final : public os::file {
public:
    scheduled_file(seeded_scheduler& owner, std::unique_ptr<os::file> below)
        : owner_(owner), below_(std::move(below)) {}

    result<void> write(os::call_site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        owner_.come_to_operation(where);
        return below_->write(where, offset, bytes);
    }
    result<void> write_direct(os::call_site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        owner_.come_to_operation(where);
        return below_->write_direct(where, offset, bytes);
    }
    result<void> write_durable(os::call_site where, os::call_site durable, std::uint64_t offset,
                               std::span<const std::byte> bytes) override {
        owner_.come_to_operation(where);
        return below_->write_durable(where, durable, offset, bytes);
    }
    result<void> resize(os::call_site where, std::uint64_t bytes) override {
        owner_.come_to_operation(where);
        return below_->resize(where, bytes);
    }
    result<void> reserve(os::call_site where, std::uint64_t offset, std::uint64_t bytes) override {
        owner_.come_to_operation(where);
        return below_->reserve(where, offset, bytes);
    }
    result<void> punch(os::call_site where, std::uint64_t offset, std::uint64_t bytes,
                       os::unpunchable otherwise) override {
        owner_.come_to_operation(where);
        return below_->punch(where, offset, bytes, otherwise);
    }

    result<void> sync(os::call_site where) override {
        owner_.come_to_operation(where);
        return below_->sync(where);
    }
    void begin_sync(std::uint64_t offset, std::uint64_t bytes) override { below_->begin_sync(offset, bytes); }
    result<void> read(std::uint64_t offset, std::span<std::byte> into) override { return below_->read(offset, into); }
    void will_read(std::uint64_t offset, std::uint64_t bytes) override {
        owner_.come_to_operation("read ahead");
        below_->will_read(offset, bytes);
    }
    result<std::uint64_t> size() override { return below_->size(); }
    result<bool> is_hole(file_range range) override { return below_->is_hole(range); }
    result<bool> try_lock(os::lock_kind kind) override { return below_->try_lock(kind); }
    result<bool> is_locked_exclusively() override { return below_->is_locked_exclusively(); }
    result<void> map_private(void* where, std::size_t bytes, std::uint64_t offset, os::access protection) override {
        return below_->map_private(where, bytes, offset, protection);
    }
    result<std::unique_ptr<os::byte_locks>> open_locks() override { return below_->open_locks(); }
    result<std::shared_ptr<std::byte>> map_shared(std::size_t bytes, os::access protection) override {
        return below_->map_shared(bytes, protection);
    }
    result<os::file_identity> identity() override { return below_->identity(); }
    result<unsigned> permissions() override { return below_->permissions(); }
    result<bool> is_at(const std::string& path) override { return below_->is_at(path); }
    result<os::present_name> find_name() override { return below_->find_name(); }
    [[nodiscard]] const std::string& path() const override { return below_->path(); }

private:
    seeded_scheduler& owner_;
    std::unique_ptr<os::file> below_;
};

result<std::unique_ptr<os::file>> seeded_scheduler::wrap(result<std::unique_ptr<os::file>> opened) {
    if (!opened)
        return opened;
    return std::unique_ptr<os::file>(std::make_unique<scheduled_file>(*this, std::move(*opened)));
}

seeded_scheduler::seeded_scheduler(os::file_system& below) : below_(below) {}

seeded_scheduler::~seeded_scheduler() { end(); }

void seeded_scheduler::begin(std::uint64_t seed) {
    REM_CHECK(all_.empty() && this_thread == nullptr);
    seed_ = seed;
    dice_.seed(seed);
    all_.push_back(std::make_unique<participant>(*this));
    all_.front()->is_under_way = true;
    draw_rarity(0);
    this_thread = all_.front().get();
}

std::size_t seeded_scheduler::add(std::function<bool()> is_wanted, std::function<void()> work) {
    auto added = std::make_unique<participant>(*this);
    added->is_wanted = std::move(is_wanted);
    added->work = std::move(work);
    all_.push_back(std::move(added));
    draw_rarity(all_.size() - 1);
    return all_.size() - 1;
}

void seeded_scheduler::draw_rarity(std::size_t thread) {
    static constexpr std::uint64_t k_rarities[] = {1, 1, 2, 4, 16, 1000};
    all_[thread]->one_in = k_rarities[below(std::size(k_rarities))];
}

void seeded_scheduler::come_by() {
    static constexpr std::uint64_t k_times_alike = 4;
    for (std::size_t i = 0; i < all_.size(); i++) {
        if (below(k_times_alike) == 0)
            draw_rarity(i);
    }
    let_any_go_on();
}

void seeded_scheduler::end() {
    if (all_.empty())
        return;
    while (participant* const other = another_under_way())
        pass_to(*other);
    for (const auto& each : all_) {
        if (!each->thread.joinable())
            continue;
        each->ends = true;
        ::sem_post(&each->turn);
        each->thread.join();
    }
    all_.clear();
    this_thread = nullptr;
}

bool seeded_scheduler::let_others_go_on(const char* waits_for) noexcept {
    participant* const self = this_thread;
    participant* const other = self != nullptr ? self->owner.another_under_way() : nullptr;
    if (other == nullptr)
        return false;
    self->waits_for = waits_for;
    if (++self->owner.waits_ == k_waits_of_all)
        self->owner.tell_of_deadlock();
    self->owner.pass_to(*other);
    self->waits_for = nullptr;
    return true;
}

void seeded_scheduler::tell_of_deadlock() const noexcept {
    std::fprintf(stderr, "all scheduled threads wait for each other (seed %llu of the scheduler)\n",
                 static_cast<unsigned long long>(seed_));
    for (std::size_t i = 0; i < all_.size(); i++) {
        const participant& each = *all_[i];
        if (each.is_under_way)
            std::fprintf(stderr, "  thread %zu: %s, after \"%s\"\n", i,
                         each.waits_for != nullptr ? each.waits_for : "goes on", each.last_site);
    }
    std::abort();
}

void seeded_scheduler::come_to_operation(os::call_site where) {
    if (this_thread == nullptr || &this_thread->owner != this)
        return;
    this_thread->last_site = where.name();
    waits_ = 0;
    let_any_go_on();
}

/// Of the others: with something they are at, or with something new.
void seeded_scheduler::let_any_go_on() {
    const std::size_t first = below(all_.size());
    for (std::size_t i = 0; i < all_.size(); i++) {
        participant& other = *all_[(first + i) % all_.size()];
        if (&other == this_thread || below(other.one_in) != 0)
            continue;
        if (other.is_under_way || other.is_wanted())
            return pass_to(other);
    }
}

/// Returns when it is this thread's turn again.
void seeded_scheduler::pass_to(participant& next) noexcept {
    participant& self = *this_thread;
    next.is_under_way = true;
    if (&next != all_.front().get() && !next.thread.joinable())
        next.thread = std::thread([this, &next] { take_turns(next); });
    ::sem_post(&next.turn);
    self.wait_for_turn();
}

/// One of those that are at something; null: there is none.
seeded_scheduler::participant* seeded_scheduler::another_under_way() noexcept {
    const auto is_other = [](const auto& each) { return each->is_under_way && each.get() != this_thread; };
    const auto others = static_cast<std::uint64_t>(std::ranges::count_if(all_, is_other));
    if (others == 0)
        return nullptr;
    std::uint64_t left = below(others);
    return std::ranges::find_if(all_, [&](const auto& each) { return is_other(each) && left-- == 0; })->get();
}

void seeded_scheduler::take_turns(participant& self) {
    this_thread = &self;
    for (;;) {
        self.wait_for_turn();
        if (self.ends)
            return;
        self.work();
        self.is_under_way = false;
        waits_ = 0;
        ::sem_post(&another_under_way()->turn); // the thread that began is always
    }
}

} // namespace remanence::simulation
