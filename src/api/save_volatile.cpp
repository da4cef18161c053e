// save_as(): makes a heap file of a volatile heap. The blocks are allocated in an ordinary heap, which has the volatile
// heap's base but is mapped elsewhere meanwhile, at the same distances from the base, and copied there.
//
// Every block of a volatile heap can be such a block: a slab has blocks of one size and begins at a multiple of 64 KiB.
// If that size is less than a page, the blocks are small ones of slabs of alloc::slabs, which are as long and lie at the
// same places; else they fill pages. Blocks that were loaded from a file are as they were there.

#include "api/save_volatile.hpp"

#include "api/heap_origin.hpp"
#include "api/raise.hpp"
#include "api/volatile_roots.hpp"
#include "api/whole_heap.hpp"
#include "base/checksum.hpp"
#include "os/cancellation.hpp"
#include "store/heap_creation.hpp"
#include "txn/engine.hpp"
#include "types/root_directory.hpp"
#include "types/schema_table.hpp"

#include <remanence/volatile_files.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace remanence::detail {

namespace {

constexpr std::uint64_t k_commit_bytes = 64 * MiB; // copied between two commits, which let memory go

std::string hexadecimal(const void* address) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "%p", address);
    return text.data();
}

/// Copies a block into memory of zeros. Does not write pages of zeros, so that these take neither memory nor disk.
void copy_block(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    static constexpr std::array<std::byte, k_page_bytes> k_zeros{};
    while (bytes != 0) {
        const std::uint64_t piece =
            std::min(bytes, k_page_bytes - reinterpret_cast<std::uintptr_t>(from) % k_page_bytes);
        if (piece < k_page_bytes || std::memcmp(from, k_zeros.data(), piece) != 0)
            std::memcpy(to, from, piece);
        to += piece;
        from += piece;
        bytes -= piece;
    }
}

/// A number that changes when blocks are allocated or freed.
class block_sum {
public:
    void add(const alloc::block& each) {
        const std::array<std::uint64_t, 3> words{sum_, reinterpret_cast<std::uint64_t>(each.start), each.bytes};
        sum_ = checksum64(std::as_bytes(std::span(words)));
    }
    friend bool operator==(const block_sum&, const block_sum&) = default;

private:
    std::uint64_t sum_ = 0;
};

class saving {
public:
    saving(const volatile_heap_impl& from, txn::engine& into) : from_(from), engine_(into), memory_(into.memory()) {}

    result<void> copy_blocks() {
        block_sum before;
        result<void> done;
        from_.blocks.for_each_block([&](const alloc::block& each) {
            before.add(each);
            if (done)
                done = copy(each);
        });
        if (!done)
            return done;
        block_sum after;
        from_.blocks.for_each_block([&](const alloc::block& each) { after.add(each); });
        if (before == after)
            return {};
        return fail(
            errc::in_use,
            "save_as: blocks of the volatile heap were allocated or freed meanwhile, so nothing was saved. Call "
            "it while no other thread uses the heap.");
    }

    result<void> add_roots() {
        types::root_directory directory(memory_);
        const std::vector<named_volatile_root> all = all_roots(from_);
        std::vector<const type_fingerprint*> described;
        for (const named_volatile_root& each : all) {
            const volatile_root& root = each.root;
            const auto block = from_.block_around(root.object);
            const auto* const object = static_cast<const std::byte*>(root.object);
            const bool is_whole =
                block && object + root.type.size <= static_cast<std::byte*>(block->start) + block->bytes;
            if (!is_whole)
                return fail(
                    errc::invalid_argument,
                    "save_as: the root \"" + each.name +
                        "\" of the volatile heap leads to no block that holds it: it was freed or made shorter. "
                        "Remove the root, or set it again.");
            REM_TRY(directory.add(each.name, root.type, place_of(root.object)));
            if (root.type.structure != nullptr || !root.type.schema.empty())
                described.push_back(&root.type);
        }
        return described.empty() ? result<void>() : types::store_schemas(memory_, described);
    }

private:
    [[nodiscard]] std::byte* place_of(const void* address) const {
        return memory_.base() + (static_cast<const std::byte*>(address) - from_.blocks.base());
    }

    result<void> copy(const alloc::block& each) {
        std::uint64_t used = each.bytes;  // by the program
        std::uint64_t whole = each.bytes; // of the block in the file
        if (from_.has_red_zone()) {
            const auto record = from_.record_at(each);
            if (!record)
                return fail(errc::corrupt, "save_as: the bytes behind the block at " + hexadecimal(each.start) +
                                               " were overwritten, so nothing was saved. verify() lists such blocks.");
            used = record->asked;
            // The blocks of one slab must be all small, or all fill pages.
            whole =
                is_aligned(each.bytes, k_page_bytes) ? align_up(std::max<std::uint64_t>(used, 1), k_page_bytes) : used;
        }
        std::byte* const place = place_of(each.start);
        if (!memory_.allocate_at(place, whole, alloc::k_granule_bytes))
            return why_not_at(each);
        copy_block(place, static_cast<const std::byte*>(each.start), used);
        copied_bytes_ += whole;
        if (copied_bytes_ < k_commit_bytes)
            return {};
        copied_bytes_ = 0;
        return engine_.commit();
    }

    unexpected why_not_at(const alloc::block& each) {
        const std::uint64_t end = memory_.offset_of(place_of(each.start)) + each.bytes;
        if (memory_.accessible_bytes() < end)
            return memory_.allocator().failure();
        return fail(errc::corrupt, "save_as: the volatile heap has a block at " + hexadecimal(each.start) +
                                       " where no heap file can have one. verify() says what is wrong.");
    }

    const volatile_heap_impl& from_;
    txn::engine& engine_;
    txn::heap_memory& memory_;
    std::uint64_t copied_bytes_ = 0;
};

/// Makes the file for a volatile heap, with all that is in it.
result<void> fill(os::file_system& files, const std::string& path, const volatile_heap_impl& from,
                  std::string_view abi) {
    const volatile_file_side by_default;
    const volatile_file_side& how = from.of_file ? *from.of_file : by_default;
    const auto made = store::create_empty(files, path,
                                          {.chunk_bytes = how.chunk_bytes,
                                           .base = reinterpret_cast<std::uint64_t>(from.blocks.base()),
                                           .abi = abi,
                                           .mode = how.mode,
                                           .application = how.application,
                                           .aligned_blocks = how.aligned_blocks,
                                           .longer_blocks = true});
    if (!made)
        return unexpected(made.why());
    txn::engine_options options;
    options.reserve_bytes = from.blocks.reserved_bytes();
    options.when_taken = txn::when_base_taken::elsewhere;
    auto engine = txn::engine::open(files, path, txn::open_mode::open_existing, options, abi);
    if (!engine)
        return engine.error();
    const auto save = [&]() -> result<void> {
        saving all(from, **engine);
        REM_TRY(all.copy_blocks());
        REM_TRY(all.add_roots());
        REM_TRY((*engine)->commit());
        return (*engine)->close();
    };
    auto saved = save();
    if (!saved && saved.why().code == errc::poisoned) // nothing failed before that, so a commit has lacked memory
        throw std::bad_alloc();
    return saved;
}

} // namespace

void save_as(const volatile_heap& from, const std::filesystem::path& path, std::string_view abi) {
    save_as(os::posix_file_system(), from, path, abi);
}

void save_as(os::file_system& files, const volatile_heap& from, const std::filesystem::path& path,
             std::string_view abi) {
    refuse_in_new_scope("a volatile heap");
    if (path.empty())
        raise(errc::invalid_argument, "save_as: the path of the new file is empty.");
    {
        const os::no_cancellation whole;
        const volatile_heap_impl& impl = impl_of(from);
        if (!os::are_far(impl.blocks.base()) && !(impl.of_file && impl.of_file->has_base_of_file))
            raise(errc::not_supported,
                  "save_as: the volatile heap lies among addresses that the system gives to other memory, where the "
                  "heap file could hardly be opened. Reserve less (reserve_bytes), have fewer volatile heaps, or check "
                  "the limit on address space (ulimit -v).");
        check(make_whole_heap(files, real_path(path).string(), "-save-unfinished",
                              [&](const std::string& building) { return fill(files, building, impl, abi); }));
    }
    os::end_if_cancelled();
}

} // namespace remanence::detail
