#include "windowed_store.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "base/page_aligned.hpp"
#include "base/units.hpp"
#include "recover/recovery.hpp"
#include "store/heap_file.hpp"
#include "store/heap_verification.hpp"
#include "view/diff.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace remanence::crash {

namespace {

constexpr std::uint64_t k_chunk_bytes = 64 * KiB;
constexpr std::uint64_t k_windowed_bytes = 8 * k_chunk_bytes;
constexpr std::uint64_t k_window_bytes = 6 * KiB; // from which on a checkpoint begins
constexpr int k_pages_applied = 2;                // with each commit
void* const k_windowed_base = reinterpret_cast<void*>(0x1280'0000'0000);

class windowed_store final : public store {
public:
    windowed_store(os::file_system& files, std::string path, windowed_mistakes mistakes)
        : files_(files), path_(std::move(path)), mistakes_(mistakes), committed_(k_windowed_bytes) {
        void* got = ::mmap(k_windowed_base, k_windowed_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        REM_CHECK(got == k_windowed_base);
        memory_ = static_cast<std::byte*>(got);
    }
    ~windowed_store() override { ::munmap(memory_, k_windowed_bytes); }

    result<void> open() {
        auto there = files_.exists(path_);
        if (!there)
            return there.error();
        const auto base = reinterpret_cast<std::uint64_t>(k_windowed_base);
        auto opened = *there
                          ? remanence::store::heap_file::open(files_, path_, os::access::read_write)
                          : remanence::store::heap_file::create(files_, path_, {k_chunk_bytes, base, "windowed", 0600});
        if (!opened)
            return opened.error();
        store_ = std::move(*opened);
        if (auto recovered = recover::recover(files_, *store_, {}, nullptr); !recovered)
            return recovered.error();
        version_ = store_->super().checkpoint_version;
        chain_ = store_->super().chain;
        if (store_->image().bytes() != 0)
            REM_TRY(store_->image().read_pages(0, committed_));
        restore();
        if (version_ == 0) {
            *used() = sizeof(std::uint64_t);
            for (std::uint64_t end = k_chunk_bytes; end <= k_windowed_bytes; end += k_chunk_bytes)
                memory_[end - 1] = std::byte{1}; // so that there is something in each chunk
        }
        return {};
    }

    result<void> commit(log::durability how) override {
        REM_TRY(submit());
        REM_TRY(log_->await(version_, how));
        return go_on_with_checkpoint();
    }
    result<std::uint64_t> commit_async() override {
        REM_TRY(submit());
        return version_;
    }
    result<void> await(std::uint64_t version) override { return log_->await(version, log::durability::durable); }

    result<void> sync() override { return log_ ? log_->await(version_, log::durability::durable) : result<void>(); }
    result<void> rollback() override {
        restore();
        return {};
    }
    result<void> checkpoint() override { return log_ ? checkpoint_all(false) : result<void>(); }
    result<void> close() override {
        if (!log_)
            return {};
        REM_TRY(checkpoint_all(true));
        return recover::remove_log(files_, log_->file().path(), log_->file());
    }
    void* allocate(std::uint64_t bytes) override {
        if (*used() + bytes >= k_windowed_bytes)
            return nullptr;
        return memory_ + std::exchange(*used(), *used() + align_up(bytes, 8));
    }
    void deallocate(void*, std::uint64_t) override {}
    std::byte* base() override { return memory_; }
    std::uint64_t version() override { return version_; }
    result<std::vector<std::string>> verify() override {
        std::vector<std::string> problems;
        auto verified = remanence::store::verify(
            *store_, [&](const remanence::store::damage& each) { problems.push_back(each.what); },
            [](std::uint64_t, std::uint64_t) {});
        if (!verified)
            return verified.error();
        return problems;
    }

private:
    std::uint64_t* used() { return reinterpret_cast<std::uint64_t*>(memory_); }
    void restore() { std::copy(committed_.begin(), committed_.end(), memory_); }

    result<void> begin_session() {
        REM_TRY(store_->supers().confirm());
        REM_TRY(store_->unused().discard_unstored());
        REM_TRY(store_->room().add_regions(k_windowed_bytes));
        if (version_ == 0)
            REM_TRY(files_.sync_directory("test: sync directory before first log", path_));
        const auto& super = store_->super();
        auto session = store_->next_session();
        if (!session)
            return session.error();
        auto log = log::redo_log::create(files_, remanence::store::log_path(path_), super.uuid, *session,
                                         super.sequence + 1, 0600, version_);
        if (!log)
            return log.error();
        REM_TRY(store_->writer().publish({version_, chain_, *session, false, format::k_log_header_bytes}));
        log_ = std::move(*log);
        return {};
    }

    result<void> submit() {
        log::record_builder record;
        std::vector<std::vector<std::uint32_t>> fresh;
        std::uint64_t image_bytes = store_->image().bytes();
        if (image_bytes == 0) {
            REM_TRY(begin_session());
            REM_TRY(place_all(record, fresh));
            image_bytes = k_windowed_bytes;
        } else if (!log_) {
            REM_TRY(begin_session());
        }
        if (fresh.empty())
            add_changes(record);
        if (!log_->has_room(record.record_bytes()))
            REM_TRY(end_checkpoint());
        REM_TRY(log_->reserve(record.record_bytes()));
        const auto& super = store_->super();
        record.finish({super.session, super.epoch, version_ + 1, chain_, log_->durable_through()}, image_bytes);
        log_->append(record.take());
        ++version_;
        chain_ = record.checksum();
        for (std::size_t chunk = 0; chunk < fresh.size(); ++chunk)
            store_->whole_chunks().accept_fresh(chunk, std::move(fresh[chunk]), version_);
        std::copy_n(memory_, k_windowed_bytes, committed_.begin());
        return {};
    }

    result<void> place_all(log::record_builder& record, std::vector<std::vector<std::uint32_t>>& fresh) {
        for (std::uint64_t chunk = 0; chunk < k_windowed_bytes / k_chunk_bytes; ++chunk) {
            auto& sums = fresh.emplace_back();
            for (std::uint64_t page = chunk * store_->image().chunk_pages();
                 page < (chunk + 1) * store_->image().chunk_pages(); ++page)
                sums.push_back(page_checksum({memory_ + page * k_page_bytes, k_page_bytes}));
            REM_TRY(store_->whole_chunks().write_fresh(
                chunk * store_->image().chunk_pages(),
                {memory_ + chunk * k_chunk_bytes, static_cast<std::size_t>(k_chunk_bytes)}));
            record.add_chunk(chunk, false, sums);
        }
        return store_->whole_chunks().sync();
    }

    void add_changes(log::record_builder& record) {
        for (std::uint64_t page = 0; page < k_windowed_bytes / k_page_bytes; ++page) {
            const std::byte* const now = memory_ + page * k_page_bytes;
            std::vector<format::change_range> ranges;
            view::diff_pages(committed_.data() + page * k_page_bytes, now, ranges);
            if (ranges.empty())
                continue;
            record.add_page(page, page_checksum({now, k_page_bytes}), ranges, now);
            changed_.insert(page);
        }
    }

    /// Of what was committed up to its mark.
    struct begun_checkpoint {
        std::uint64_t version;
        std::uint64_t chain;
        std::uint64_t mark;
        page_aligned_bytes memory;
        std::set<std::uint64_t> pages;
    };

    result<void> go_on_with_checkpoint() {
        if (begun_ && begun_->pages.empty())
            return end_checkpoint();
        if (begun_)
            return apply(k_pages_applied);
        if (log_->used_bytes() < k_window_bytes)
            return {};
        auto mark = log_->mark();
        if (!mark)
            return mark.error();
        begun_ = begun_checkpoint{version_, chain_, *mark, committed_, std::exchange(changed_, {})};
        if (mistakes_.releases_at_mark)
            log_->release(*mark);
        return {};
    }

    result<void> apply(std::uint64_t pages) {
        for (; pages > 0 && !begun_->pages.empty(); --pages) {
            const std::uint64_t page = begun_->pages.extract(begun_->pages.begin()).value();
            const std::byte* const bytes = begun_->memory.data() + page * k_page_bytes;
            const remanence::store::applied_page applied{page, bytes, page_checksum({bytes, k_page_bytes})};
            REM_TRY(store_->writer().apply({&applied, 1}));
        }
        return {};
    }

    result<void> end_checkpoint() {
        REM_TRY(apply(begun_->pages.size()));
        const std::uint64_t log_begin = mistakes_.names_logs_beginning ? format::k_log_header_bytes : begun_->mark;
        REM_TRY(store_->writer().publish({begun_->version, begun_->chain, store_->session(), false, log_begin}));
        log_->release(begun_->mark);
        begun_.reset();
        return {};
    }

    result<void> checkpoint_all(bool clean) {
        REM_TRY(sync());
        if (begun_)
            changed_.merge(begun_->pages);
        begun_ = begun_checkpoint{version_, chain_, 0, committed_, std::exchange(changed_, {})};
        REM_TRY(apply(begun_->pages.size()));
        REM_TRY(store_->writer().publish({version_, chain_, store_->session(), clean, format::k_log_header_bytes}));
        log_->restart();
        begun_.reset();
        return {};
    }

    os::file_system& files_;
    std::string path_;
    windowed_mistakes mistakes_;
    std::unique_ptr<remanence::store::heap_file> store_;
    std::unique_ptr<log::redo_log> log_; // from the first commit on
    std::byte* memory_ = nullptr;        // its first word: bytes in use
    page_aligned_bytes committed_;
    std::set<std::uint64_t> changed_; // pages, since the last mark
    std::optional<begun_checkpoint> begun_;
    std::uint64_t version_ = 0;
    std::uint64_t chain_ = 0;
};

} // namespace

open_function windowed(windowed_mistakes mistakes) {
    return [mistakes](os::file_system& files, const std::string& path) -> result<std::unique_ptr<store>> {
        auto opened = std::make_unique<windowed_store>(files, path, mistakes);
        if (auto done = opened->open(); !done)
            return done.error();
        return std::unique_ptr<store>(std::move(opened));
    };
}

} // namespace remanence::crash
