// How an engine comes to be: the file created or found and recovered, its memory mapped, header and allocator validated
// (I7).

#include "txn/engine.hpp"

#include "recover/recovery.hpp"

#include <algorithm>
#include <utility>

namespace remanence::txn {

result<std::unique_ptr<engine>> engine::open(os::file_system& files, const std::string& path, open_mode mode,
                                             const engine_options& options, std::string_view abi) {
    auto started = std::chrono::steady_clock::now();
    std::unique_ptr<engine> opened(new engine(files, options));
    std::optional<os::reservation> place;
    REM_TRY(opened->open_store(path, mode, abi, place));
    opened->heap_name_ = path;
    REM_TRY(opened->open_memory(std::move(*place)));
    opened->stats_.open_time = std::chrono::steady_clock::now() - started;
    return opened;
}

result<void> engine::open_store(const std::string& path, open_mode mode, std::string_view abi,
                                std::optional<os::reservation>& place) {
    bool create = mode == open_mode::create;
    if (mode == open_mode::open_or_create) {
        auto present = files_.exists(path);
        if (!present)
            return present.error();
        create = !*present;
    }
    if (create) {
        if (options_.read_only)
            return fail(errc::not_found, "cannot open " + path + " read-only: there is no such file.", path);
        auto taken = options_.base != 0 ? os::reservation::at(options_.base, options_.reserve_bytes)
                                        : os::reservation::at_random(options_.reserve_bytes);
        if (!taken)
            return name_file("cannot map ", path, taken.why());
        place = std::move(*taken);
        auto base = reinterpret_cast<std::uint64_t>(place->base());
        auto made = store::heap_file::create(files_, path,
                                             {options_.chunk_bytes, base, abi, options_.mode, options_.application});
        if (made) {
            store_ = std::move(*made);
            return {};
        }
        // Another process may have been first; with open_or_create that is as good.
        if (made.why().code != errc::exists || mode == open_mode::create)
            return made.error();
        if (auto present = files_.exists(path); !present || !*present)
            return made.error(); // something else is in the way
        place.reset();
    }

    auto opened =
        store::heap_file::open(files_, path, options_.read_only ? os::access::read_only : os::access::read_write);
    if (!opened)
        return opened.error();
    store_ = std::move(*opened);
    REM_TRY(store_->check_application(options_.application, store::unstated::refused));
    if (store_->abi() != abi) {
        return fail(errc::abi_mismatch,
                    path + " was written with the ABI \"" + std::string(store_->abi()) + "\", this program has \"" +
                        std::string(abi) + "\". Build it with the same standard library and debug modes.",
                    path);
    }
    if (options_.read_only) {
        if (store_->is_clean()) {
            REM_TRY(recover::check_clean(files_, *store_));
        } else {
            return fail(errc::recovery_needed,
                        path + " was not closed cleanly. Open it for writing once, to recover it.", path);
        }
    } else {
        auto recovered = recover::recover(files_, *store_, [&](std::uint64_t done, std::uint64_t total) {
            if (options_.on_progress)
                options_.on_progress(engine_options::work::recovery, done, total);
        });
        if (!recovered)
            return recovered.error();
        stats_.recovered_commits = recovered->commits;
        stats_.recovered_bytes = recovered->bytes;
    }
    auto taken = reserve();
    if (!taken)
        return name_file("cannot map ", path, taken.why());
    place = std::move(*taken);
    return {};
}

result<os::reservation> engine::reserve() {
    const std::uint64_t base = store_->super().base;
    const std::uint64_t bytes = std::max(options_.reserve_bytes, store_->image_bytes());
    auto taken = options_.when_taken == when_base_taken::elsewhere ? os::reservation::at_or_elsewhere(base, bytes)
                                                                   : os::reservation::at(base, bytes);
    if (!taken)
        taken = os::reservation::at(base, store_->image_bytes() + store_->chunk_bytes()); // less will do
    if (!taken && taken.why().code == errc::base_taken && options_.when_taken == when_base_taken::look_elsewhere) {
        if (auto other = os::reservation::elsewhere(bytes)) {
            why_elsewhere_ = name_file("cannot map ", path(), taken.why()).why();
            return other;
        }
    }
    return taken;
}

result<void> engine::open_memory(os::reservation place) {
    version_ = store_->super().checkpoint_version;
    chain_ = store_->super().chain;
    auto mapped =
        view::memory_view::open(*store_, std::move(place),
                                {options_.tracker, options_.read_only, options_.core_dump, options_.report_stray_write,
                                 options_.scattered_max, options_.stretches_max, options_.read_ahead});
    if (!mapped && mapped.why().path.empty())
        return name_file("cannot open ", path(), mapped.why());
    if (!mapped)
        return mapped.error();
    view_ = std::move(*mapped);
    auto extend = [this](std::uint64_t end) -> result<std::uint64_t> {
        REM_TRY(view_->memory().make_accessible(end));
        has_grown_.store(true, std::memory_order_relaxed);
        return view_->memory().accessible_bytes();
    };
    if (store_->image_bytes() == 0) {
        REM_TRY(view_->memory().make_accessible(k_page_bytes));
        REM_TRY(format_header());
        has_other_changes_ = true;
    } else {
        REM_TRY(check_header());
    }
    // The limit is the allocator's own: the reservation grows while the addresses behind it are free.
    allocator_ = std::make_unique<alloc::block_allocator>(view_->base(), header().allocator, extend, k_heap_bytes_max,
                                                          view_->memory().accessible_bytes());
    return check_allocator();
}

result<void> engine::check_header() {
    const format::heap_header& h = header(); // I7
    const bool may_have_schema = (store_->super().features_ro_compat & format::k_feature_schema) != 0;
    if (h.magic == format::k_header_magic && h.version == format::k_header_version &&
        format::has_sound_schema(h, may_have_schema, store_->image_bytes()))
        return {};
    std::uint64_t at = store_->home_of(0);
    if (h.magic == format::k_header_magic && h.version != format::k_header_version) {
        return fail(errc::unsupported_format,
                    "the heap header in " + path() + " has version " + std::to_string(h.version) +
                        ", this release knows version " + std::to_string(format::k_header_version) +
                        ". Use the release that wrote it.",
                    path(), 0, at);
    }
    return fail(errc::corrupt,
                "the heap header in " + path() + " at byte " + std::to_string(at) +
                    " is damaged. Restore the heap from a copy.",
                path(), 0, at);
}

result<void> engine::format_header() {
    format::heap_header& h = header();
    h.magic = format::k_header_magic;
    h.version = format::k_header_version;
    alloc::block_allocator::format(h.allocator);
    if (options_.read_only)
        return os::protect_read_only(view_->base(), k_page_bytes);
    return {};
}

// I7. The allocator knows neither the file nor where in it the heap's memory lies.
result<void> engine::check_allocator() {
    auto sound = allocator_->check_state();
    if (sound || sound.why().code != errc::corrupt)
        return sound;
    const failure& why = sound.why();
    const bool is_in_file = why.offset < store_->image_bytes();
    const std::uint64_t at = is_in_file ? store_->home_of(why.offset) : error::k_no_offset;
    return fail(errc::corrupt,
                "the allocator's structures in " + path() + (is_in_file ? " at byte " + std::to_string(at) : "") +
                    " are damaged (" + why.message + "). Restore the heap from a copy.",
                path(), 0, at);
}

} // namespace remanence::txn
