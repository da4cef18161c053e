#include "heap_files.hpp"

#include "base/checksum.hpp"
#include "compat/golden.hpp"
#include "log_input.hpp"
#include "store/heap_file.hpp"
#include "support/sample_heap.hpp"
#include "txn/engine.hpp"
#include "types/root_directory.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace remanence::fuzz {

namespace {

result<std::unique_ptr<txn::engine>> open(os::file_system& files) {
    txn::engine_options options;
    options.reserve_bytes = 8 * MiB; // the sanitizer pays for reserved addresses, too
    options.tracker = track::tracker_choice::fallback;
    options.core_dump = true;
    return txn::engine::open(files, sample::k_path, txn::open_mode::open_existing, options, detail::k_abi);
}

/// Whether everything that can be checked is as it should be.
bool is_sound(txn::engine& opened) {
    auto report = opened.verify();
    require(static_cast<bool>(report), "verify() failed");
    const bool has_roots =
        static_cast<bool>(types::root_directory(opened.memory()).for_each([](const types::root_view&) {}));
    return has_roots && report->problems.empty();
}

result<void> use(txn::engine& opened) {
    std::optional<unexpected> why;
    for (const std::uint64_t bytes : {std::uint64_t{48}, 100 * KiB, 300 * KiB}) {
        auto* block = static_cast<std::byte*>(opened.memory().allocate(bytes, 16, why));
        if (block == nullptr)
            return std::move(*why);
        require(block >= opened.memory().base() &&
                    block + bytes <= opened.memory().base() + opened.memory().accessible_bytes(),
                "a block outside the heap");
        std::fill_n(block, std::min<std::uint64_t>(bytes, 5000), std::byte{1});
        block[bytes - 1] = std::byte{2}; // so that chunks of the largest one are skipped, and the map changes
    }
    REM_TRY(opened.commit());
    return opened.close();
}

} // namespace

void require(bool holds, const std::string& otherwise) {
    if (holds)
        return;
    std::fprintf(stderr, "fuzz: %s\n", otherwise.c_str());
    std::abort();
}

heap_files::heap_files(kind which) {
    const std::string name = which == kind::closed ? "closed" : "unapplied";
    const std::string from = std::string(GOLDEN_FILES) + "/format-" + std::to_string(format::k_format_version) + '/';
    heap_ = compat::read_compressed(from + name + ".rem.gz");
    const auto put = [&](const char* path, const std::vector<std::byte>& bytes) {
        auto file = std::move(*disk_.open_or_create(path, 0600));
        require(static_cast<bool>(file->write("fuzz", 0, bytes)), "cannot write the simulated file");
    };
    put(sample::k_path, heap_);
    if (which == kind::unapplied) {
        log_ = compat::read_compressed(from + name + ".rem-log.gz");
        put(sample::k_log_path, log_);
    }
    {
        auto opened = store::heap_file::open(disk_, sample::k_path, os::access::read_only);
        require(static_cast<bool>(opened), "the golden file does not open");
        super_ = (*opened)->super();
    }
    intact_ = disk_.now();
    auto opened = open(disk_);
    require(opened && is_sound(**opened), "the golden file is not sound");
}

void heap_files::write_heap(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    write(sample::k_path, offset, bytes);
}
void heap_files::write_log_input(std::span<const std::uint8_t> input, std::size_t far_bytes) {
    write(sample::k_log_path, 0, input.first(k_records));
    write(sample::k_log_path, format::k_log_header_bytes, input.subspan(k_records + far_bytes));
    if (far_bytes == 0)
        return;
    format::superblock super = super_;
    super.log_begin = format::k_log_header_bytes + 512 * KiB;
    const std::uint64_t place = super.sequence % 2;
    super.checksum = store::superblock_checksum(super, place);
    const auto bytes = std::span(reinterpret_cast<const std::uint8_t*>(&super), sizeof super);
    write_heap(place * format::k_superblock_bytes, bytes);
    write(sample::k_log_path, super.log_begin, input.subspan(k_records, far_bytes));
}

void heap_files::resize(const char* path, std::uint64_t bytes) {
    auto file = std::move(*disk_.open(path, os::access::read_write));
    require(static_cast<bool>(file->resize("fuzz", bytes)), "cannot resize the simulated file");
}

what_opened heap_files::open_and_check() {
    what_opened found;
    auto opened = open(disk_);
    if (!opened) {
        found.refused = opened.why();
        return found;
    }
    found.is_sound = is_sound(**opened);
    found.version = (*opened)->version();
    const std::uint64_t image_bytes = (*opened)->stats().committed_bytes;
    if (found.is_sound && image_bytes <= k_compared_bytes_max)
        found.checksum = checksum64({(*opened)->memory().base(), static_cast<std::size_t>(image_bytes)});
    return found;
}

void heap_files::write(const char* path, std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    auto file = std::move(*disk_.open(path, os::access::read_write));
    require(static_cast<bool>(file->write("fuzz", offset, std::as_bytes(bytes))), "cannot write the simulated file");
}

void heap_files::open_and_use() {
    auto opened = open(disk_);
    if (!opened) {
        require(!opened.why().message.empty(), "an error without a text");
        return;
    }
    auto engine = std::move(*opened);
    const bool was_sound = is_sound(*engine);
    const auto used = use(*engine);
    engine.reset();
    auto again = open(disk_);
    if (!was_sound || !used)
        return;
    require(static_cast<bool>(again),
            "a sound heap does not open after a commit: " + (again ? "" : again.why().message));
    require(is_sound(**again), "a sound heap is not sound after a commit");
}

} // namespace remanence::fuzz
