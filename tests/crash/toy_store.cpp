#include "toy_store.hpp"

#include "base/assert.hpp"
#include "base/units.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace remanence::crash {

namespace {

constexpr std::uint64_t k_memory_bytes = 512 * KiB;
void* const k_base = reinterpret_cast<void*>(0x1200'0000'0000);

struct record_header {
    std::uint64_t version;
    std::uint64_t bytes;
    std::uint64_t sum;
};

std::uint64_t sum_of(std::span<const std::byte> bytes, std::uint64_t seed) {
    std::uint64_t h = seed ^ 0xcbf29ce484222325;
    for (const std::byte b : bytes)
        h = (h ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3;
    return h;
}

class toy_store final : public store {
public:
    toy_store(os::file_system& files, std::string path, toy_mistakes mistakes)
        : files_(files), path_(std::move(path)), mistakes_(mistakes) {
        void* got = ::mmap(k_base, k_memory_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        REM_CHECK(got == k_base);
        memory_ = static_cast<std::byte*>(got);
        *used() = sizeof(std::uint64_t);
    }
    ~toy_store() override { ::munmap(memory_, k_memory_bytes); }

    result<void> open() {
        auto there = files_.exists(path_);
        if (!there)
            return there.error();
        if (!*there)
            return create();
        auto opened = files_.open(path_, os::access::read_write);
        if (!opened)
            return opened.error();
        file_ = std::move(*opened);
        return recover();
    }

    result<void> commit(log::durability) override {
        const std::vector<std::byte> record = next_record();
        if (mistakes_.acknowledges_early) {
            REM_TRY(write_late());
            late_ = record;
        } else {
            REM_TRY(append(record));
        }
        version_++;
        committed_.assign(memory_, memory_ + *used());
        return {};
    }
    result<std::uint64_t> commit_async() override {
        REM_TRY(commit(log::durability::durable));
        return version_;
    }
    result<void> await(std::uint64_t /*version*/) override { return {}; }
    result<void> sync() override { return {}; }
    result<void> rollback() override {
        if (!mistakes_.forgets_rollback)
            restore();
        return {};
    }
    result<void> checkpoint() override { return {}; }
    result<void> close() override { return write_late(); }
    void* allocate(std::uint64_t bytes) override {
        if (*used() + bytes > k_memory_bytes)
            return nullptr;
        return memory_ + std::exchange(*used(), *used() + align_up(bytes, 8));
    }
    void deallocate(void*, std::uint64_t) override {}
    std::byte* base() override { return memory_; }
    std::uint64_t version() override { return version_; }
    result<std::vector<std::string>> verify() override { return std::vector<std::string>{}; }

private:
    std::uint64_t* used() { return reinterpret_cast<std::uint64_t*>(memory_); }

    void restore() { std::copy(committed_.begin(), committed_.end(), memory_); }

    std::vector<std::byte> next_record() {
        std::vector<std::byte> bytes(align_up(sizeof(record_header) + *used(), k_sector_bytes));
        const std::span memory(memory_, *used());
        const record_header header{.version = version_ + 1, .bytes = *used(), .sum = sum_of(memory, version_ + 1)};
        std::memcpy(bytes.data(), &header, sizeof header);
        std::copy(memory.begin(), memory.end(), bytes.begin() + sizeof header);
        return bytes;
    }

    result<void> append(const std::vector<std::byte>& record) {
        REM_TRY(file_->write(toy_sites::k_record, end_, record));
        REM_TRY(file_->sync(toy_sites::k_record));
        end_ += record.size();
        return {};
    }

    result<void> write_late() {
        if (late_.empty())
            return {};
        return append(std::exchange(late_, {}));
    }

    result<void> create() {
        const std::string fresh = path_ + "-new";
        if (auto left = files_.open(fresh, os::access::read_only))
            REM_TRY(files_.remove(toy_sites::k_new_file, fresh, **left));
        auto created = files_.open_or_create(fresh, 0600);
        if (!created)
            return created.error();
        file_ = std::move(*created);
        const std::vector<std::byte> record = next_record();
        REM_TRY(file_->write(toy_sites::k_new_file, 0, record));
        REM_TRY(file_->sync(toy_sites::k_new_file));
        end_ = record.size();
        version_ = 1;
        committed_.assign(memory_, memory_ + *used());
        REM_TRY(files_.rename_to_new(toy_sites::k_directory, fresh, path_));
        return files_.sync_directory(toy_sites::k_directory, path_);
    }

    result<void> recover() {
        auto size = file_->size();
        if (!size)
            return size.error();
        std::vector<std::byte> all(*size);
        REM_TRY(file_->read(0, all));
        record_header header{};
        while (all.size() - end_ >= sizeof header) {
            std::memcpy(&header, all.data() + end_, sizeof header);
            const std::uint64_t room = all.size() - end_ - sizeof header;
            if (header.bytes == 0 || (header.bytes > room && !mistakes_.no_checksum) || header.bytes > k_memory_bytes)
                break;
            if (header.version != version_ + 1 && !mistakes_.no_version_check)
                break;
            const std::span bytes = std::span(all).subspan(end_ + sizeof header, std::min(header.bytes, room));
            if (!mistakes_.no_checksum && header.sum != sum_of(bytes, header.version))
                break;
            committed_.assign(bytes.begin(), bytes.end());
            version_ = header.version;
            end_ = std::min<std::uint64_t>(all.size(), end_ + align_up(sizeof header + header.bytes, k_sector_bytes));
        }
        if (version_ == 0)
            return fail(errc::corrupt, "the toy has no valid record", path_);
        restore();
        if (!mistakes_.rewrites_to_recover)
            return {};
        all.resize(end_);
        REM_TRY(file_->resize(toy_sites::k_recovery, 0));
        REM_TRY(file_->write(toy_sites::k_recovery, 0, all));
        return file_->sync(toy_sites::k_recovery);
    }

    os::file_system& files_;
    std::string path_;
    toy_mistakes mistakes_;
    std::unique_ptr<os::file> file_;
    std::byte* memory_ = nullptr; // its first word: bytes in use
    std::vector<std::byte> committed_;
    std::vector<std::byte> late_;
    std::uint64_t end_ = 0;
    std::uint64_t version_ = 0;
};

} // namespace

open_function toy(toy_mistakes mistakes) {
    return [mistakes](os::file_system& files, const std::string& path) -> result<std::unique_ptr<store>> {
        auto opened = std::make_unique<toy_store>(files, path, mistakes);
        if (auto done = opened->open(); !done)
            return done.error();
        return std::unique_ptr<store>(std::move(opened));
    };
}

} // namespace remanence::crash
