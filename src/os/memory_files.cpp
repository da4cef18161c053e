#include "os/memory_files.hpp"

#include "os/limits.hpp"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace remanence::os {

namespace {

unexpected not_in_memory(const std::string& path) {
    return fail(errc::not_supported, "cannot change " + path + ": it is open for looking only.", path);
}

/// Returns an error that is about the copy in memory, not about the file whose name the copy has.
unexpected memory_failure(const std::string& operation, const std::string& path, int code,
                          std::uint64_t offset = error::k_no_offset) {
    const auto met = limit_met(code == ENOSPC ? ENOMEM : code); // the copy is in memory, so no space means no memory
    return fail(met ? met->code : errc::io,
                operation + " a copy of " + path + " in memory: " + std::strerror(code) + ". " +
                    std::string(met ? met->advice : "The system refuses; see its log."),
                path, code, offset);
}

/// Locks of a file that nobody else can open.
class no_locks final : public byte_locks {
public:
    result<bool> try_lock(std::uint64_t /*byte*/, lock_kind /*kind*/) override { return true; }
    result<bool> lock(std::uint64_t /*byte*/, lock_kind /*kind*/, deadline /*until*/) override { return true; }
    void unlock(std::uint64_t /*first*/, std::uint64_t /*count*/) noexcept override {}
    result<std::optional<std::uint64_t>> locked_by_others(std::uint64_t /*first*/, std::uint64_t /*count*/) override {
        return std::optional<std::uint64_t>();
    }
};

class memory_file final : public file {
public:
    memory_file(std::shared_ptr<const descriptor> content, std::string path)
        : content_(std::move(content)), path_(std::move(path)) {}

    result<void> read(std::uint64_t offset, std::span<std::byte> into) override {
        while (!into.empty()) {
            const ssize_t n = ::pread(content_->get(), into.data(), into.size(), static_cast<off_t>(offset));
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                return memory_failure("cannot read", path_, errno, offset);
            if (n == 0)
                return fail(errc::truncated,
                            "cannot read a copy of " + path_ + " in memory: it ends at byte " + std::to_string(offset) +
                                ".",
                            path_, 0, offset);
            into = into.subspan(static_cast<std::size_t>(n));
            offset += static_cast<std::uint64_t>(n);
        }
        return {};
    }
    result<void> write(call_site /*where*/, std::uint64_t offset, std::span<const std::byte> bytes) override {
        while (!bytes.empty()) {
            const ssize_t n = ::pwrite(content_->get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                return memory_failure("cannot make", path_, errno, offset);
            bytes = bytes.subspan(static_cast<std::size_t>(n));
            offset += static_cast<std::uint64_t>(n);
        }
        return {};
    }
    result<void> write_direct(call_site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        return write(where, offset, bytes);
    }
    result<void> write_durable(call_site where, call_site /*durable*/, std::uint64_t offset,
                               std::span<const std::byte> bytes) override {
        return write(where, offset, bytes);
    }
    result<void> sync(call_site /*where*/) override { return {}; }
    void begin_sync(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) override {}

    result<std::uint64_t> size() override {
        struct stat info{};
        if (::fstat(content_->get(), &info) != 0)
            return memory_failure("cannot inspect", path_, errno);
        return static_cast<std::uint64_t>(info.st_size);
    }
    result<void> resize(call_site /*where*/, std::uint64_t bytes) override {
        if (::ftruncate(content_->get(), static_cast<off_t>(bytes)) != 0)
            return memory_failure("cannot make", path_, errno, bytes);
        return {};
    }
    // The functions below do only what read-only openings need.
    result<void> reserve(call_site /*where*/, std::uint64_t /*offset*/, std::uint64_t /*bytes*/) override {
        return not_in_memory(path_);
    }
    result<void> punch(call_site /*where*/, std::uint64_t /*offset*/, std::uint64_t /*bytes*/,
                       unpunchable /*otherwise*/) override {
        return not_in_memory(path_);
    }
    [[nodiscard]] bool fills_holes_when_read() override { return true; }
    result<bool> try_lock(lock_kind /*kind*/) override { return true; } // nobody else can open the file
    result<bool> is_locked_exclusively() override { return false; }

    result<void> map_private(void* where, std::size_t bytes, std::uint64_t offset, access protection) override {
        const int rights = protection == access::read_write ? PROT_READ | PROT_WRITE : PROT_READ;
        if (::mmap(where, bytes, rights, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, content_->get(),
                   static_cast<off_t>(offset)) == MAP_FAILED)
            return memory_failure("cannot map", path_, errno, offset);
        return {};
    }
    result<std::unique_ptr<byte_locks>> open_locks() override { return std::unique_ptr<byte_locks>(new no_locks); }
    result<std::shared_ptr<std::byte>> map_shared(std::size_t /*bytes*/, access /*protection*/) override {
        return not_in_memory(path_);
    }
    result<file_identity> identity() override {
        struct stat info{};
        if (::fstat(content_->get(), &info) != 0)
            return memory_failure("cannot inspect", path_, errno);
        return file_identity{info.st_dev, info.st_ino, {}};
    }
    result<unsigned> permissions() override { return 0600U; }
    result<bool> is_at(const std::string& path) override { return path == path_; }
    result<present_name> find_name() override { return present_name{true, path_}; }
    [[nodiscard]] const std::string& path() const override { return path_; }

private:
    std::shared_ptr<const descriptor> content_;
    std::string path_;
};

} // namespace

result<std::unique_ptr<memory_files>> memory_files::create(std::string path) {
    auto content = std::make_shared<const descriptor>(
        open_above_standard([] { return ::memfd_create("remanence-copy", MFD_CLOEXEC); }));
    if (!content->valid())
        return memory_failure("cannot begin", path, errno);
    return std::unique_ptr<memory_files>(new memory_files(std::move(path), std::move(content)));
}

result<std::unique_ptr<file>> memory_files::open(const std::string& path, access /*mode*/) {
    if (path != path_)
        return fail(errc::not_found, path + " is not in memory.", path, ENOENT);
    return std::unique_ptr<file>(std::make_unique<memory_file>(content_, path));
}

result<std::unique_ptr<file>> memory_files::open_or_create(const std::string& path, unsigned /*mode*/) {
    return not_in_memory(path);
}

result<void> memory_files::rename_to_new(call_site /*where*/, const std::string& /*from*/, const std::string& to) {
    return not_in_memory(to);
}

result<void> memory_files::rename_over(call_site /*where*/, const std::string& /*from*/, const std::string& to) {
    return not_in_memory(to);
}

result<void> memory_files::remove(call_site /*where*/, const std::string& path, file& /*which*/) {
    return not_in_memory(path);
}

} // namespace remanence::os
