// T1 Every writable page is listed in opened_, unless all_open_ is set; then private_copies finds the written pages.
// T2 The handler allocates nothing. It waits only for the holder of lock_, a thread that accesses no tracked
//    memory and blocks signals.
// T3 No paused page becomes writable before let_writes_go_on(), even if a thread traps at the page beside it.
#include "track/trap_tracker.hpp"

#include "base/range_list.hpp"
#include "os/memory.hpp"
#include "os/write_traps.hpp"
#include "track/paused_writes.hpp"
#include "track/private_copies.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <sched.h>
#include <span>
#include <sys/mman.h>
#include <tuple>
#include <utility>

namespace remanence::track {

namespace {

constexpr std::uint64_t k_pages_max = k_heap_bytes_max / k_page_bytes;
constexpr std::uint64_t k_unit_pages = 2 * MiB / k_page_bytes; // a huge page
// Each opened page may become a mapping of its own and add another behind it, and a process may have 65,530. This
// number of traps also takes as long as scanning several GiB.
constexpr std::size_t k_opened_max = 16'384;
constexpr std::size_t k_kept_max = 1024; // 4 MiB
constexpr std::uint64_t k_opened_ahead_max = 64;
constexpr std::uint32_t k_not_kept = ~std::uint32_t{0};

// Another thread may be waiting in a trap to write this page. The thread sanitizer regards such a write as done and
// would report a race, so it must not see this read or a call of memcpy.
[[gnu::no_sanitize_thread]] void copy_page(std::byte* into, const std::byte* page) noexcept {
    const auto* from = reinterpret_cast<const volatile std::uint64_t*>(page);
    auto* to = reinterpret_cast<std::uint64_t*>(into);
    for (std::size_t i = 0; i < k_page_bytes / sizeof(std::uint64_t); ++i)
        to[i] = from[i];
}

/// Zero-filled memory that belongs to the tracker.
class private_area {
public:
    static result<private_area> create(std::uint64_t bytes, int protection) {
        void* got = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got == MAP_FAILED)
            return tracker_failure("cannot map its own memory");
        return private_area(static_cast<std::byte*>(got), bytes);
    }
    private_area(private_area&& other) noexcept
        : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    private_area& operator=(private_area&&) = delete;
    ~private_area() {
        if (base_ != nullptr)
            ::munmap(base_, bytes_);
    }
    [[nodiscard]] std::byte* base() const { return base_; }

private:
    private_area(std::byte* base, std::uint64_t bytes) : base_(base), bytes_(bytes) {}
    std::byte* base_;
    std::uint64_t bytes_;
};

/// A lock that a signal handler may acquire: its holder blocks signals.
class spin_lock {
public:
    class guard {
    public:
        explicit guard(spin_lock& lock) : lock_(lock) {
            sigset_t all;
            ::sigfillset(&all);
            ::sigdelset(&all, SIGBUS); // reading a kept page may fail; then the process must end
            ::pthread_sigmask(SIG_BLOCK, &all, &before_);
            while (lock_.taken_.test_and_set(std::memory_order_acquire))
                ::sched_yield();
        }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;
        ~guard() {
            lock_.taken_.clear(std::memory_order_release);
            ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        }

    private:
        spin_lock& lock_;
        sigset_t before_{};
    };

private:
    std::atomic_flag taken_;
};

class trap_tracker final : public page_scanner, private os::write_trap {
public:
    static result<std::unique_ptr<page_scanner>> create(std::byte* base) {
        if (kernel_page_bytes() != k_page_bytes)
            return fail(errc::not_supported, "the trap tracker needs pages of 4 KiB. Use tracking::automatic.");
        auto copies = private_copies::create(base);
        if (!copies)
            return copies.error();
        auto process = os::fork_guard::create();
        if (!process)
            return process.error();
        auto states = private_area::create(k_pages_max, PROT_NONE);
        if (!states)
            return states.error();
        auto room = private_area::create(k_kept_max * k_page_bytes + k_opened_max * sizeof(opened_pages),
                                         PROT_READ | PROT_WRITE);
        if (!room)
            return room.error();
        REM_TRY(os::put_write_traps_in_front());
        return std::unique_ptr<page_scanner>(
            new trap_tracker(base, std::move(*copies), *process, std::move(*states), std::move(*room)));
    }
    ~trap_tracker() override { os::set_write_trap(base_, accessible_, nullptr); }

    result<void> mapped(std::uint64_t offset, std::uint64_t bytes, page_contents contents) override {
        const std::uint64_t end = offset + bytes;
        if (end > k_heap_bytes_max)
            return fail(errc::exhausted, "the trap tracker follows the first 16 TiB of a heap only.");
        REM_TRY(make_states(end / k_page_bytes));
        if (contents == page_contents::file) {
            std::vector<page_run> copies;
            REM_TRY(copies_.append({offset, k_page_bytes}, copies));
            if (copies.empty())
                REM_TRY(prepare(base_ + offset));
        }
        const spin_lock::guard guard(lock_);
        for (std::uint64_t page = offset / k_page_bytes; page < end / k_page_bytes; ++page)
            state(page) = contents == page_contents::file ? page_state::clean : page_state::untouched;
        if (end > accessible_) {
            accessible_ = end;
            os::set_write_trap(base_, end, this);
        }
        if (!all_open_ && !protect({offset, bytes}, PROT_READ))
            all_open_ = true; // T1
        return {};
    }

    result<void> collect(std::uint64_t bytes, std::vector<page_run>& runs) override {
        if (all_open_)
            return copies_.append({0, bytes}, runs);
        auto opened = opened_now();
        std::sort(opened.begin(), opened.end(), [](const opened_pages& a, const opened_pages& b) {
            return std::tie(a.first, a.kept) < std::tie(b.first, b.kept);
        });
        for (const opened_pages& o : opened) {
            if (o.count == 1) {
                append_run(runs, o.first * k_page_bytes, k_page_bytes);
            } else { // of pages opened together, private copies tell which were written
                REM_TRY(copies_.append({o.first * k_page_bytes, std::uint64_t{o.count} * k_page_bytes}, runs));
            }
        }
        return {};
    }

    void watch() override {
        const spin_lock::guard guard(lock_);
        if (all_open_ || opened_count_ != 0)
            all_open_ = !protect(all_open_ ? page_run{0, accessible_} : opened_span(), PROT_READ); // T1
        mark_opened(page_state::clean);
        opened_count_ = 0;
        kept_count_ = 0;
    }

    [[nodiscard]] const std::byte* old_bytes(std::uint64_t offset) const override {
        const std::uint64_t page = offset / k_page_bytes;
        const auto opened = opened_now();
        const auto found =
            std::lower_bound(opened.begin(), opened.end(), page,
                             [](const opened_pages& o, std::uint64_t wanted) { return o.first < wanted; });
        return found != opened.end() && found->first == page && found->kept != k_not_kept ? kept_bytes(found->kept)
                                                                                          : nullptr;
    }

    result<void> declare(std::uint64_t offset, std::uint64_t bytes) override {
        const std::uint64_t end = std::min(divide_up(offset + bytes, k_page_bytes), accessible_ / k_page_bytes);
        REM_TRY(os::put_write_traps_in_front());
        const spin_lock::guard guard(lock_);
        if (report_ != nullptr && !writes_allowed_)
            return fail(errc::section_conflict, "it was called outside any write section. Call it within one.");
        return open_for_system_call(offset / k_page_bytes, end);
    }

    result<void> make_private(page_run where) override {
        const spin_lock::guard guard(lock_);
        REM_TRY(open_for_system_call(where.offset / k_page_bytes, where.end() / k_page_bytes));
        auto made = os::make_private(base_ + where.offset, where.bytes);
        if (report_ != nullptr && !writes_allowed_)
            close_opened();
        return made;
    }

    void allow_writes(bool allowed) override {
        if (allowed)
            (void)os::put_write_traps_in_front(); // it has succeeded before; if it fails now, a write ends the process
        if (report_ == nullptr)
            return;
        const spin_lock::guard guard(lock_);
        writes_allowed_ = allowed;
        if (!allowed)
            close_opened();
    }

    bool report_stray_writes(stray_write_reporter report) override {
        report_ = report;
        return true;
    }

    result<void> pause_writes(page_run where) override {
        REM_TRY(os::put_write_traps_in_front());
        const spin_lock::guard guard(lock_);
        if (!protect(where, PROT_READ))
            return tracker_failure("cannot protect pages");
        paused_at_ = where;
        paused_.begin(base_ + where.offset, where.bytes); // a trapped thread waits for lock_, then until the pause ends
        return {};
    }

    result<void> replace_paused(os::moving_mapping& by, std::uint64_t offset) override {
        REM_TRY(prepare(by.base()));
        const spin_lock::guard guard(lock_);
        if (!all_open_ && ::mprotect(by.base(), by.bytes(), PROT_READ) != 0)
            return tracker_failure("cannot protect pages");
        REM_TRY(by.move_to(base_ + offset));
        // Entries that extend beyond this range stay listed: private copies tell which of their pages were written.
        const std::uint64_t begin = offset / k_page_bytes;
        const std::uint64_t end = (offset + by.bytes()) / k_page_bytes;
        auto opened = opened_now();
        opened_count_ = static_cast<std::size_t>(
            std::remove_if(opened.begin(), opened.end(),
                           [&](const opened_pages& o) { return o.first >= begin && o.first + o.count <= end; }) -
            opened.begin());
        for (std::uint64_t page = begin; page < end; ++page)
            state(page) = page_state::clean;
        return {};
    }

    result<void> let_writes_go_on() override {
        const spin_lock::guard guard(lock_);
        const bool opened = open_again(paused_at_);
        paused_at_ = {};
        paused_.end();
        return opened ? result<void>() : tracker_failure("cannot open pages again");
    }

    [[nodiscard]] const char* name() const override { return "trap"; }

private:
    enum class page_state : std::uint8_t {
        clean,     // protected; holds committed content
        untouched, // protected; anonymous memory that was never written, which is opened together with its neighbours
        closed,    // protected; written in this round, and listed
        open,      // writable, and listed
    };
    struct opened_pages {
        std::uint64_t first;
        std::uint32_t count;
        std::uint32_t kept; // index of the saved copy of the first page, or k_not_kept
    };

    trap_tracker(std::byte* base, private_copies copies, os::fork_guard process, private_area states, private_area room)
        : base_(base),
          copies_(std::move(copies)),
          process_(process),
          states_(std::move(states)),
          room_(std::move(room)),
          opened_(reinterpret_cast<opened_pages*>(room_.base() + k_kept_max * k_page_bytes)) {}

    // Protecting pages splits a mapping. The kernel can merge the pieces again only if the mapping had private pages
    // before it was split. So one page is made private, without reading it first, since the kernel would then map those
    // around it, too. It is dropped again, since a search for private pages would report it.
    static result<void> prepare(std::byte* mapping) {
        REM_TRY(os::make_private(mapping, k_page_bytes));
        return os::drop_pages(mapping, k_page_bytes);
    }

    bool on_write(std::byte* address) noexcept override {
        const auto offset = static_cast<std::uint64_t>(address - base_);
        if (address < base_ || offset >= accessible_)
            return false;
        const std::uint64_t page = offset / k_page_bytes;
        if (!process_.same_process()) // a forked child, whose copy of the memory stays protected
            return protect({page * k_page_bytes, k_page_bytes}, PROT_READ | PROT_WRITE);
        for (;;) {
            paused_.wait_while_it_contains(address);
            const spin_lock::guard guard(lock_);
            if (paused_.contains(address))
                continue;
            if (report_ == nullptr || writes_allowed_)
                return open_at_trap(page);
            break;
        }
        report_(address);
        return false;
    }

    // T2
    bool open_at_trap(std::uint64_t page) noexcept {
        switch (state(page)) {
        case page_state::open: // another thread has opened it
            return all_open_ ? open_everything() : protect({page * k_page_bytes, k_page_bytes}, PROT_READ | PROT_WRITE);
        case page_state::untouched:
            return open(untouched_around(page));
        case page_state::clean:
            if (const opened_pages next = clean_behind_opened(page); next.count > 1)
                return open(next);
            if (kept_count_ < k_kept_max) {
                copy_page(kept_bytes(kept_count_), base_ + page * k_page_bytes);
                return open({page, 1, kept_count_++});
            }
            break;
        case page_state::closed:
            break;
        }
        return open({page, 1, k_not_kept});
    }

    bool open(opened_pages pages) noexcept {
        if (all_open_ || opened_count_ == k_opened_max ||
            !protect({pages.first * k_page_bytes, std::uint64_t{pages.count} * k_page_bytes}, PROT_READ | PROT_WRITE))
            return open_everything();
        opened_[opened_count_++] = pages;
        for (std::uint64_t page = pages.first; page < pages.first + pages.count; ++page)
            state(page) = page_state::open;
        return true;
    }

    result<void> open_for_system_call(std::uint64_t page, std::uint64_t end) {
        while (page < end) {
            std::uint64_t behind = page + 1;
            if (is_closed(page)) {
                const std::uint64_t first = state(page) == page_state::untouched ? untouched_around(page).first : page;
                while (behind < end && is_closed(behind))
                    ++behind;
                if (state(behind - 1) == page_state::untouched) {
                    const opened_pages last = untouched_around(behind - 1);
                    behind = last.first + last.count;
                }
                if (!open({first, static_cast<std::uint32_t>(behind - first), k_not_kept}))
                    return tracker_failure("cannot open pages for a system call");
            }
            page = behind;
        }
        return {};
    }

    // Protects all open pages again; they stay listed.
    void close_opened() {
        if (!all_open_ && opened_count_ == 0)
            return;
        if (!protect(all_open_ ? page_run{0, accessible_} : opened_span(), PROT_READ))
            all_open_ = true; // T1
        mark_opened(page_state::closed);
    }

    // Called after too many traps or mappings: makes everything writable as one mapping again, without traps until
    // watch(). Paused pages become writable in let_writes_go_on().
    bool open_everything() noexcept {
        all_open_ = (protect({0, paused_at_.offset}, PROT_READ | PROT_WRITE) &&
                     protect({paused_at_.end(), accessible_ - paused_at_.end()}, PROT_READ | PROT_WRITE)) ||
                    all_open_; // T1
        if (all_open_)
            return true;
        os::say("remanence: a page of a heap cannot be opened for writing (out of memory, or of mappings: "
                "vm.max_map_count). The process ends; what was committed is in the file.\n");
        return false;
    }

    /// False for paused pages, whose writers must trap.
    [[nodiscard]] bool may_open_with_others(std::uint64_t page, page_state known) const noexcept {
        const std::uint64_t at = page * k_page_bytes;
        return state(page) == known && (at < paused_at_.offset || at >= paused_at_.end());
    }

    [[nodiscard]] opened_pages untouched_around(std::uint64_t page) const noexcept {
        const std::uint64_t begin = page / k_unit_pages * k_unit_pages;
        const std::uint64_t end = std::min(begin + k_unit_pages, accessible_ / k_page_bytes);
        std::uint64_t first = page;
        while (first > begin && may_open_with_others(first - 1, page_state::untouched))
            --first;
        std::uint64_t behind = page + 1;
        while (behind < end && may_open_with_others(behind, page_state::untouched))
            ++behind;
        return {first, static_cast<std::uint32_t>(behind - first), k_not_kept};
    }

    /// Returns `page` and clean pages behind it, in total as many as are open before it, so that a thread that writes
    /// pages in order traps less and less often.
    [[nodiscard]] opened_pages clean_behind_opened(std::uint64_t page) const noexcept {
        std::uint64_t before = 0;
        while (before < std::min(page, k_opened_ahead_max) && state(page - before - 1) == page_state::open)
            ++before;
        const std::uint64_t end = std::min(page + std::max<std::uint64_t>(before, 1), accessible_ / k_page_bytes);
        std::uint64_t behind = page + 1;
        while (behind < end && may_open_with_others(behind, page_state::clean))
            ++behind;
        return {page, static_cast<std::uint32_t>(behind - page), k_not_kept};
    }

    [[nodiscard]] bool is_closed(std::uint64_t page) const { return state(page) != page_state::open; }

    [[nodiscard]] page_run opened_span() const {
        std::uint64_t first = ~std::uint64_t{0};
        std::uint64_t end = 0;
        for (const opened_pages& o : opened_now()) {
            first = std::min<std::uint64_t>(first, o.first);
            end = std::max<std::uint64_t>(end, o.first + o.count);
        }
        return {first * k_page_bytes, (end - first) * k_page_bytes};
    }

    /// Makes the pages that are listed as open writable again.
    [[nodiscard]] bool open_again(page_run where) const {
        const std::uint64_t end = where.end() / k_page_bytes;
        const auto is_open = [&](std::uint64_t page) { return all_open_ || state(page) == page_state::open; };
        for (std::uint64_t page = where.offset / k_page_bytes; page < end;) {
            const std::uint64_t first = page;
            while (page < end && is_open(page) == is_open(first))
                ++page;
            if (is_open(first) &&
                !protect({first * k_page_bytes, (page - first) * k_page_bytes}, PROT_READ | PROT_WRITE))
                return false;
        }
        return true;
    }

    void mark_opened(page_state becomes) {
        for (const opened_pages& o : opened_now()) {
            for (std::uint64_t page = o.first; page < o.first + o.count; ++page)
                state(page) = becomes;
        }
    }

    // If the pages have this protection already, the system call only looks up their mapping.
    [[nodiscard]] bool protect(page_run where, int protection) const noexcept {
        return ::mprotect(base_ + where.offset, where.bytes, protection) == 0;
    }

    result<void> make_states(std::uint64_t pages) {
        const std::uint64_t wanted = align_up(pages, k_page_bytes);
        if (wanted > states_made_) {
            if (::mprotect(states_.base() + states_made_, wanted - states_made_, PROT_READ | PROT_WRITE) != 0)
                return tracker_failure("no memory for its own records");
            states_made_ = wanted;
        }
        return {};
    }

    [[nodiscard]] page_state& state(std::uint64_t page) const noexcept {
        return reinterpret_cast<page_state*>(states_.base())[page];
    }
    [[nodiscard]] std::byte* kept_bytes(std::uint64_t index) const noexcept {
        return room_.base() + index * k_page_bytes;
    }
    [[nodiscard]] std::span<opened_pages> opened_now() const { return {opened_, opened_count_}; }

    std::byte* base_;
    private_copies copies_;
    os::fork_guard process_;
    private_area states_; // a page_state for each page
    private_area room_;   // copies of pages, then opened_
    std::uint64_t states_made_ = 0;

    spin_lock lock_; // guards the members below while a thread may be writing
    std::atomic<std::uint64_t> accessible_ = 0;
    opened_pages* opened_;
    std::size_t opened_count_ = 0;
    std::uint32_t kept_count_ = 0;
    bool all_open_ = false;
    bool writes_allowed_ = true;
    stray_write_reporter report_ = nullptr;
    page_run paused_at_{}; // empty: nothing is paused
    paused_range paused_;  // also read without lock_
};

} // namespace

result<std::unique_ptr<page_scanner>> make_trap_tracker(std::byte* base) { return trap_tracker::create(base); }

} // namespace remanence::track
