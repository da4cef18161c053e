// load_volatile(): makes a volatile heap of the last commit of a heap file. The core of the volatile heap takes over the
// allocator's state and all blocks. The root directory and the schemas leave it: they become roots of the volatile heap.

#include "api/load_volatile.hpp"

#include "api/heap_origin.hpp"
#include "api/raise.hpp"
#include "api/registry.hpp"
#include "inspect/last_commit.hpp"
#include "inspect/row_forms.hpp"
#include "os/cancellation.hpp"
#include "os/memory.hpp"
#include "os/memory_limit.hpp"
#include "store/superblocks.hpp"
#include "txn/opening_steps.hpp"
#include "types/root_reader.hpp"
#include "types/schema_table.hpp"

#include <remanence/volatile_files.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace remanence::detail {

namespace {

constexpr std::uint64_t k_attempts = 100; // as for a copy: each attempt reads only what has changed since the last one

class loader {
public:
    loader(os::file_system& files, std::string path, const volatile_heap_options& options, std::string_view abi)
        : files_(files), path_(std::move(path)), options_(options), abi_(abi) {}

    /// Copies a commit. If it is called again, with a later commit, it reads only the pages that have changed.
    result<void> copy(inspect::inspection& now) {
        side_ = std::make_unique<volatile_file_side>();
        side_->has_base_of_file = true;
        state_.reset();
        own_blocks_.clear();
        REM_TRY(check(now));
        auto checked = now.check_structure();
        if (!checked)
            return checked.error();
        if (!now.problems().empty())
            return {};
        const store::heap_file& store = now.store();
        auto mode = now.store().file().permissions();
        if (!mode)
            return mode.error();
        side_->mode = *mode;
        side_->chunk_bytes = store.image().chunk_bytes();
        side_->application = store.application();
        side_->aligned_blocks = (now.super().features_ro_compat & format::k_feature_aligned_blocks) != 0;
        auto header = now.header();
        if (!header)
            return header.error();
        if (*header == nullptr) // nothing was ever committed
            return make_heap(now.super().base, k_page_bytes);
        if ((*header)->allocator.first_arena != 0)
            return refuse(
                "it has arenas, which a volatile heap cannot have. Destroy them, or open the file as a heap.");
        state_ = (*header)->allocator;
        REM_TRY(read_roots(now, **header));
        REM_TRY(make_heap(now.super().base, now.heap_bytes_end()));
        return copy_pages(now);
    }

    std::unique_ptr<volatile_heap_impl> finish() {
        if (state_) {
            if (auto adopted = made_->blocks.adopt(*state_); !adopted)
                raise(adopted.why().code, "cannot load " + path_ + ": " + adopted.why().message + '.', path_);
            for (const std::uint64_t offset : own_blocks_)
                free_own(made_->blocks.base() + offset);
        }
        for (auto& [name, root] : side_->roots)
            root.object = made_->blocks.base() + reinterpret_cast<std::uintptr_t>(root.object);
        made_->of_file = std::move(side_);
        return std::move(made_);
    }

private:
    [[nodiscard]] unexpected refuse(const std::string& why) const {
        return fail(errc::not_supported, "cannot load " + path_ + ": " + why, path_);
    }

    result<void> check(inspect::inspection& now) {
        const txn::engine_options any;
        REM_TRY(txn::check_is_ours(now.store(), {files_, path_, txn::open_mode::open_existing, any, abi_}));
        REM_TRY(store::check_may_be_written(now.super(), path_)); // what those features refer to would be lost
        if ((now.super().features_ro_compat & format::k_feature_red_zones) != 0)
            return refuse(
                "its blocks have red zones, which would be no part of a volatile heap. Open the file as a heap.");
        return refuse_more_than_memory(now.store().image());
    }

    result<void> refuse_more_than_memory(store::image& image) {
        std::uint64_t pages = 0;
        for (std::uint64_t page = 0; page < image.bytes() / k_page_bytes; ++page) {
            auto checksum = image.checksum_of(page);
            if (!checksum)
                return {}; // check_structure() will tell
            pages += *checksum != 0 ? 1U : 0U;
        }
        const std::uint64_t limit = os::memory_limit(files_);
        if (limit == 0 || pages * k_page_bytes <= limit)
            return {};
        return fail(errc::no_memory,
                    "cannot load " + path_ + ": it takes " + std::to_string(pages * k_page_bytes / MiB) +
                        " MiB of memory, and the process may use " + std::to_string(limit / MiB) +
                        ". Open the file as a heap, which need not fit into memory.",
                    path_);
    }

    result<void> read_roots(inspect::inspection& now, const format::heap_header& header) {
        auto schemas = types::read_schemas(now, path_, header.type_table);
        if (!schemas)
            return schemas.error();
        if (header.type_table != 0)
            own_blocks_.push_back(header.type_table);
        if (header.class_table != 0)
            own_blocks_.push_back(header.class_table);
        const types::root_reader reader(now, path_);
        auto directory = reader.directory(header.root_word);
        if (!directory)
            return directory.error();
        if (*directory == nullptr)
            return {};
        const format::root_directory& d = **directory;
        own_blocks_.push_back(header.root_word);
        own_blocks_.push_back(d.table);
        for (std::uint64_t i = 0; i < d.count; ++i) {
            auto entry = reader.entry(d, i);
            if (!entry)
                return entry.error();
            auto slot = now.at(d.table + i * sizeof(std::uint64_t), sizeof(std::uint64_t));
            if (!slot)
                return slot.error();
            std::uint64_t place = 0;
            std::memcpy(&place, *slot, sizeof place);
            own_blocks_.push_back(place);
            const auto described = types::type_description::decode(entry->description);
            if (described && inspect::have_vptrs(*described))
                return fail(errc::not_supported,
                            "cannot load " + path_ + " as a volatile heap: its root \"" + std::string(entry->name) +
                                "\" leads to objects with virtual functions. Open it as a heap.",
                            path_);
            add_root(*entry, *schemas);
        }
        return {};
    }

    void add_root(const types::root_entry_view& entry, const std::vector<types::stored_schema>& schemas) {
        type_fingerprint type;
        type.name = entry.type;
        type.hash = entry.fingerprint_hash;
        type.algorithm = entry.fingerprint_algorithm;
        type.size = entry.bytes;
        type.alignment = entry.alignment;
        type.description = entry.description;
        type.nameable = true;
        type.position_independent = entry.position_independent;
        if (const types::stored_schema* const schema = types::find_schema(schemas, type.hash, type.algorithm)) {
            type.schema = schema->encoded;
            type.shapes = schema->shapes;
            type.classes_hash = schema->classes_hash;
        }
        // an offset until finish()
        auto* const object = reinterpret_cast<void*>(entry.object); // NOLINT(performance-no-int-to-ptr)
        side_->roots.insert_or_assign(std::string(entry.name), volatile_root{std::move(type), object});
    }

    /// Makes the heap at this base with room for so many bytes, or keeps the one of an earlier attempt.
    result<void> make_heap(std::uint64_t base, std::uint64_t bytes) {
        auto* const where = reinterpret_cast<std::byte*>(base); // NOLINT(performance-no-int-to-ptr)
        if (!made_ || made_->blocks.base() != where || made_->blocks.reserved_bytes() < bytes) {
            made_.reset();
            held_.clear();
            volatile_heap_options options = options_;
            options.reserve_bytes = std::max(options.reserve_bytes, bytes);
            auto made = std::make_unique<volatile_heap_impl>(options);
            const int code = made->open(where);
            if (code == EEXIST)
                return base_taken(base, made->options.reserve_bytes);
            if (code != 0)
                raise_open_failure(code, options);
            made_ = std::move(made);
        }
        if (const int code = made_->blocks.make_room(bytes); code != 0)
            return fail(errc::no_memory,
                        "cannot load " + path_ + ": there is no memory for its " + std::to_string(bytes / MiB) +
                            " MiB: " + std::strerror(code) + ". Check the limits on memory (ulimit -d, ulimit -v).",
                        path_, code);
        return {};
    }

    [[nodiscard]] unexpected base_taken(std::uint64_t base, std::uint64_t bytes) const {
        const bool is_ours =
            volatile_heap::of(reinterpret_cast<void*>(base)) != nullptr; // NOLINT(performance-no-int-to-ptr)
        const std::string holder = is_ours ? "a volatile heap of this process" : os::mapping_at(base, bytes);
        return fail(errc::base_taken,
                    "cannot load " + path_ + ": its addresses are taken by " + (holder.empty() ? "(unknown)" : holder) +
                        ". Destroy or close the heap that lies there, or load the file before that mapping is made.",
                    path_, EEXIST);
    }

    result<void> copy_pages(inspect::inspection& now) {
        store::image& image = now.store().image();
        const std::uint64_t end = image.bytes() / k_page_bytes;
        held_.resize(std::max<std::size_t>(held_.size(), static_cast<std::size_t>(end)));
        for (std::uint64_t page = 1; page < held_.size();) { // the first page is not the volatile heap's
            std::uint64_t behind = page;
            std::vector<std::uint32_t> wanted;
            for (; behind < held_.size() && wanted.size() < k_pages_at_once; ++behind) {
                auto checksum = behind < end ? image.checksum_of(behind) : result<std::uint32_t>(0U);
                if (!checksum)
                    return checksum.error();
                if (held_[static_cast<std::size_t>(behind)] == *checksum)
                    break;
                wanted.push_back(*checksum);
            }
            if (!wanted.empty())
                REM_TRY(copy_run(now, page, wanted));
            page = std::max(behind, page + 1);
        }
        return {};
    }

    result<void> copy_run(inspect::inspection& now, std::uint64_t page, const std::vector<std::uint32_t>& wanted) {
        std::byte* const base = made_->blocks.base();
        const heap_range range{page * k_page_bytes, wanted.size() * k_page_bytes};
        // no page of the run is as it should be, whatever becomes of it
        std::fill_n(held_.begin() + static_cast<std::ptrdiff_t>(page), wanted.size(), k_unknown);
        REM_TRY(now.read(range, [&](std::uint64_t at, std::span<const std::byte> bytes) {
            std::memcpy(base + at, bytes.data(), bytes.size());
        }));
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (wanted[i] == 0)
                os::give_memory_back(base + range.offset + i * k_page_bytes, k_page_bytes);
        }
        std::ranges::copy(wanted, held_.begin() + static_cast<std::ptrdiff_t>(page));
        return {};
    }

    void free_own(const std::byte* block) {
        const auto found = made_->blocks.block_of(block);
        if (!found || found->start != block)
            raise(errc::corrupt,
                  "the root directory of " + path_ +
                      " is damaged: a part of it is no block. Restore the heap from a copy.",
                  path_);
        made_->blocks.free(found->start);
    }

    static constexpr std::size_t k_pages_at_once = MiB / k_page_bytes;
    static constexpr std::uint64_t k_unknown = ~std::uint64_t{0}; // no checksum of a page, which has 32 bits

    os::file_system& files_;
    const std::string path_;
    const volatile_heap_options& options_;
    const std::string_view abi_;
    std::unique_ptr<volatile_heap_impl> made_;
    std::unique_ptr<volatile_file_side> side_;
    std::optional<format::alloc_state> state_;
    std::vector<std::uint64_t> own_blocks_; // heap offsets of the root directory's blocks and of the schemas
    std::vector<std::uint64_t> held_;       // checksums of the pages in memory; 0 means zeros
};

/// Takes over a heap that load() has made.
class loaded_volatile_heap final : public volatile_heap {
public:
    loaded_volatile_heap(const volatile_heap_options& options, std::unique_ptr<volatile_heap_impl> made)
        : volatile_heap(options, std::move(made)) {}
};

} // namespace

std::unique_ptr<volatile_heap_impl> load(const std::filesystem::path& path, const volatile_heap_options& options,
                                         std::string_view abi) {
    refuse_in_new_scope("a volatile heap");
    check_options(options);
    if (options.red_zone_bytes != 0 || options.leak_frames != 0)
        raise(errc::invalid_argument,
              "cannot load " + path.string() +
                  " with red_zone_bytes or leak_frames: its blocks have no room for them. Leave them out.",
              path.string());
    const std::filesystem::path place = real_path(path);
    if (registry::holds(place))
        raise(errc::in_use, "cannot load " + place.string() + ": it is open in this process. Close it first.",
              place.string());
    const os::no_cancellation whole;
    os::file_system& files = os::posix_file_system();
    loader into(files, place.string(), options, abi);
    auto heap = inspect::with_last_commit(files, place.string(), k_attempts, {},
                                          [&](inspect::inspection& now) { return into.copy(now); });
    if (!heap)
        raise(heap.why());
    if (!(*heap)->problems().empty())
        raise((*heap)->problems().front());
    return into.finish();
}

std::unique_ptr<volatile_heap> load_volatile(const std::filesystem::path& path, const volatile_heap_options& options,
                                             std::string_view abi) {
    auto made = load(path, options, abi);
    return std::make_unique<loaded_volatile_heap>(options, std::move(made));
}

} // namespace remanence::detail
