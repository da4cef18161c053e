// Collections in steps. A separate file, so that programs that do not use them do not link that code.
//
//  CS1  What no root reached when the collection began is freed, unless it was freed since: a program cannot get at it
//       but by a variable of its own, which it promised not to have. So what it does meanwhile cannot make it reached.
//  CS2  The walk over objects is that of heap::collect(). It reads past_memory, on a thread of its own, which runs only
//       while step() waits for it, in a read section.
//  CS3  If past_memory becomes invalid, nothing that was found is used.

#include <remanence/collector.hpp>

#include "alloc/red_zones.hpp"
#include "api/heap_impl.hpp"
#include "api/leak_sums.hpp"
#include "api/leaks.hpp"
#include "api/raise.hpp"
#include "base/units.hpp"
#include "inspect/sorted_blocks.hpp"
#include "inspect/unreached_blocks.hpp"
#include "os/memory.hpp"
#include "os/stepped_work.hpp"
#include "txn/past_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remanence::detail {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::uint64_t k_reads_per_look = 32; // at the clock
constexpr std::uint64_t k_reads_of_piece = 8;  // a piece of the list of blocks takes as long
constexpr std::size_t k_frees_per_look = 256;

/// Thrown within the work if it must end.
struct ended {};

/// Interrupts the work when the time of a step is over.
class pace {
public:
    /// Called by the thread of step() before the work goes on.
    void begin_step(os::stepped_work& work, clock::time_point until) {
        work_ = &work;
        until_ = until;
        done_ = 0;
    }
    void note(std::uint64_t reads) { done_ += reads; }
    /// Waits for the next step if this one has read enough. Returns false if the work must end.
    [[nodiscard]] bool go_on(std::uint64_t reads) {
        note(reads);
        if (done_ < k_reads_per_look)
            return true;
        done_ = 0;
        if (clock::now() < until_)
            return true;
        ++pauses_;
        return work_->pause();
    }
    [[nodiscard]] const std::uint64_t& pauses() const { return pauses_; }

private:
    os::stepped_work* work_ = nullptr;
    clock::time_point until_;
    std::uint64_t done_ = 0;
    std::uint64_t pauses_ = 0;
};

/// The heap as it was, for the walk. at() may wait for the next step.
class past_bytes final : public types::heap_bytes {
public:
    past_bytes(txn::past_memory& past, const txn::heap_memory& memory, const inspect::sorted_blocks& blocks, pace& by)
        : past_(past), memory_(memory), blocks_(blocks), pace_(by), has_red_zones_(memory.has_red_zones()) {}

    [[nodiscard]] bool contains(std::uint64_t offset, std::uint64_t bytes) const override {
        return bytes <= past_.bytes() && offset <= past_.bytes() - bytes;
    }
    result<std::byte*> at(std::uint64_t offset, std::uint64_t bytes) override {
        // Before the walk asks for a block, it reads the roots, and keeps addresses meanwhile.
        if (has_asked_for_block_ && !pace_.go_on(1 + bytes / k_page_bytes))
            return fail(errc::closed, "the collection has ended before it was done.");
        return past_.at(offset, bytes);
    }
    result<std::optional<heap_range>> block_around(std::uint64_t offset) override {
        pace_.note(1);
        has_asked_for_block_ = true;
        const std::size_t index = blocks_.index_of(offset);
        if (index == inspect::sorted_blocks::k_none)
            return std::optional<heap_range>();
        heap_range block = blocks_[index];
        if (has_red_zones_) {
            auto bytes = past_.at(block.offset, block.bytes);
            if (!bytes)
                return bytes.error();
            block.bytes = alloc::bytes_without_red_zone(*bytes, block.bytes);
        }
        return std::optional(block);
    }
    [[nodiscard]] std::uint64_t block_bytes_for(std::uint64_t bytes, std::uint64_t alignment) const override {
        return memory_.block_bytes_for(bytes, alignment);
    }

private:
    txn::past_memory& past_;
    const txn::heap_memory& memory_;
    const inspect::sorted_blocks& blocks_;
    pace& pace_;
    const bool has_red_zones_;
    bool has_asked_for_block_ = false;
};

/// Looks for blocks that no root reached at the time of the constructor, step by step.
class unreached_search {
public:
    /// Precondition: that of engine::keep_past(). Throws.
    explicit unreached_search(heap_impl& impl)
        : engine_(impl.engine()), path_(impl.engine().path()), guard_(guard()), past_(past_of(impl)) {
        try {
            work_ = std::make_unique<os::stepped_work>([this, &impl] { search(impl.memory()); });
        } catch (...) {
            engine_.end_past(past_);
            throw;
        }
    }
    unreached_search(const unreached_search&) = delete;
    unreached_search& operator=(const unreached_search&) = delete;
    ~unreached_search() {
        if (!guard_.same_process())
            (void)work_.release(); // a forked child has no such thread
    }
    /// Must be called before the destructor, unless the engine is gone.
    void end() noexcept {
        work_.reset();
        engine_.end_past(past_);
    }

    /// The caller is in a read section. Returns true if all are found.
    [[nodiscard]] bool step(clock::time_point until) {
        auto written = engine_.written_pages();
        if (!written)
            raise(written.why());
        past_.note_written(*written);
        pace_.begin_step(*work_, until);
        if (!work_->run())
            return false;
        engine_.forget_past_pages(past_);
        if (!*found_)
            raise(found_->why());
        return true;
    }
    [[nodiscard]] const txn::past_memory& past() const { return past_; }
    /// Precondition: step() has returned true.
    [[nodiscard]] const inspect::unreached& found() const { return **found_; }

private:
    /// The work. If it must end, it touches nothing of the heap any longer, which may be gone.
    void search(const txn::heap_memory& memory) {
        const auto base = reinterpret_cast<std::uintptr_t>(memory.base());
        const auto go_on = [this] {
            if (!pace_.go_on(k_reads_of_piece))
                throw ended();
        };
        std::vector<heap_range> all;
        try {
            auto listed = past_.for_each_block(go_on, [&](heap_range each) { all.push_back(each); });
            if (!listed) {
                found_.emplace(listed.error());
                return;
            }
        } catch (const ended&) {
            return;
        }
        blocks_.emplace(std::move(all));
        bytes_.emplace(past_, memory, *blocks_, pace_);
        found_.emplace(inspect::unreached_blocks(
            {*bytes_, path_, base, past_.bytes(), 0, &past_.header(), &pace_.pauses()}, *blocks_));
    }
    static txn::past_memory& past_of(heap_impl& impl) {
        auto made = impl.engine().keep_past();
        if (!made)
            raise(made.why());
        return **made;
    }
    static os::fork_guard guard() {
        auto made = os::fork_guard::create();
        if (!made)
            raise(made.why());
        return *made;
    }

    txn::engine& engine_;
    const std::string path_;
    const os::fork_guard guard_;
    txn::past_memory& past_;
    pace pace_;
    std::optional<inspect::sorted_blocks> blocks_;
    std::optional<past_bytes> bytes_;
    std::optional<result<inspect::unreached>> found_;
    std::unique_ptr<os::stepped_work> work_; // last, since its thread uses the other members
};

} // namespace

class incremental_collection {
public:
    explicit incremental_collection(std::weak_ptr<heap_impl*> of) : heap_(std::move(of)) {}
    incremental_collection(const incremental_collection&) = delete;
    incremental_collection& operator=(const incremental_collection&) = delete;
    ~incremental_collection() {
        if (const auto alive = heap_.lock(); alive && (*alive)->origin.same_process())
            end();
    }

    bool step(std::chrono::nanoseconds budget) {
        const clock::time_point now = clock::now();
        const clock::time_point until =
            budget < clock::time_point::max() - now ? now + budget : clock::time_point::max();
        if (is_done_)
            return true;
        heap_impl& impl = open_heap();
        if (search_ && !search_->past().is_valid())
            end(); // CS3
        try {
            if (!search_)
                begin(impl);
            is_done_ = (is_found_ || find(impl, until)) && free(impl, until);
        } catch (...) {
            end();
            throw;
        }
        if (is_done_)
            end();
        return is_done_;
    }
    [[nodiscard]] leak_report freed() const { return freed_.report(); }

private:
    heap_impl& open_heap() {
        const auto alive = heap_.lock();
        if (!alive)
            raise(errc::closed, "the heap was closed before its collection was done.");
        heap_impl& impl = **alive;
        impl.origin.check_process();
        impl.check_not_ending();
        const std::string& path = impl.engine().path();
        if (impl.sections.is_in_any())
            raise(errc::section_open,
                  "a step of a collection of " + path + " was asked for in a section. Call it outside, or collect().",
                  path);
        if (impl.engine().is_shared())
            raise(errc::not_supported,
                  path +
                      " is open to be shared, and what other processes free is not known here in time. Call collect() "
                      "instead, or open the heap without sharing::processes.",
                  path);
        return impl;
    }

    void begin(heap_impl& impl) {
        std::optional<heap_commits::in_flight> commit;
        std::exception_ptr failed;
        exclusively(&impl, [&] {
            refuse_hidden_references(impl);
            check(impl.foreign.refuse_their_memory(impl.memory()));
            commit = impl.commits.make(txn::commit_scope::everything, impl.options.commits);
            try {
                search_.emplace(impl);
            } catch (...) { // after await(), which must follow make()
                failed = std::current_exception();
            }
        });
        impl.commits.await(*commit);
        if (failed)
            std::rethrow_exception(failed);
        is_found_ = false;
        freed_until_ = 0;
    }

    bool find(heap_impl& impl, clock::time_point until) {
        const read_section section(&impl);
        const whole_call reading(impl.calls);
        is_found_ = search_->past().is_valid() && search_->step(until);
        if (is_found_ && !search_->found().uncertain.empty())
            raise_uncertain(impl, search_->found().uncertain);
        return is_found_;
    }

    /// Frees what was found, or a part of it; returns true if it is all.
    bool free(heap_impl& impl, clock::time_point until) {
        const std::vector<heap_range>& found = search_->found().blocks;
        if (freed_until_ == found.size())
            return true;
        const bool is_at_once = impl.engine().has_history();
        heap* const handle = impl.handle();
        if (handle == nullptr)
            raise(errc::closed, "the heap was closed before its collection was done.");
        leak_sums freed = freed_;
        std::size_t next = freed_until_;
        handle->write([&] {
            if (!search_->past().is_valid()) // another thread has called undo()
                return;
            for (; next != found.size(); ++next) {
                if (!is_at_once && next != freed_until_ && next % k_frees_per_look == 0 && clock::now() >= until)
                    return;
                if (search_->past().was_freed(found[next].offset))
                    continue;
                add_block(freed, found[next], impl);
                check(impl.memory().deallocate(impl.memory().base() + found[next].offset));
            }
        });
        freed_ = std::move(freed);
        freed_until_ = next;
        return freed_until_ == found.size();
    }

    void end() noexcept {
        if (search_)
            search_->end();
        search_.reset();
        is_found_ = false;
    }

    const std::weak_ptr<heap_impl*> heap_;
    std::optional<unreached_search> search_; // none: not begun, or done
    bool is_found_ = false;
    std::size_t freed_until_ = 0; // of what was found
    leak_sums freed_;
    bool is_done_ = false;
};

} // namespace remanence::detail

namespace remanence {

collector::collector(heap& of) {
    detail::heap_impl& impl = detail::impl_of(of);
    std::weak_ptr<detail::heap_impl*> watched;
    detail::exclusively(&impl, [&] { watched = impl.watch(); });
    state_ = std::make_unique<detail::incremental_collection>(std::move(watched));
}

collector::~collector() = default;

bool collector::step(std::chrono::nanoseconds budget) { return state_->step(budget); }

leak_report collector::freed() const { return state_->freed(); }

} // namespace remanence
