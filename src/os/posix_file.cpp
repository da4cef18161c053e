#include "os/posix_file.hpp"

#include "base/range.hpp"
#include "os/descriptor.hpp"
#include "os/lock_holders.hpp"
#include "os/posix_byte_locks.hpp"
#include "os/system_failure.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <linux/magic.h>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace remanence::os {

namespace {

constexpr std::uint64_t k_direct_alignment = 4 * KiB;

/// Returns the name of a file system if other machines may change its files, or if a program implements it; otherwise
/// an empty string. On such file systems locks and shared memory may not work.
std::string kind_if_reached_by_others(std::uint64_t magic) {
    constexpr std::pair<std::uint64_t, const char*> k_kinds[] = {
        {NFS_SUPER_MAGIC, "NFS"},     {SMB_SUPER_MAGIC, "SMB"},   {CIFS_SUPER_MAGIC, "SMB"}, {SMB2_SUPER_MAGIC, "SMB"},
        {V9FS_MAGIC, "9P"},           {FUSE_SUPER_MAGIC, "FUSE"}, {AFS_FS_MAGIC, "AFS"},     {AFS_SUPER_MAGIC, "AFS"},
        {CEPH_SUPER_MAGIC, "Ceph"},   {CODA_SUPER_MAGIC, "Coda"}, {0x0bd00bd0, "Lustre"},    {0x01161970, "GFS2"},
        {OCFS2_SUPER_MAGIC, "OCFS2"}, {0x47504653, "GPFS"},
    };
    const auto* const found = std::ranges::find(k_kinds, magic, [](const auto& kind) { return kind.first; });
    return found == std::end(k_kinds) ? "" : found->second;
}

class posix_file final : public file {
public:
    posix_file(int descriptor, const struct stat& which, std::string path)
        : descriptor_(descriptor), device_(which.st_dev), inode_(which.st_ino), path_(std::move(path)) {}
    ~posix_file() override {
        // The lock belongs to the open file description, which forked children share. So only the process that acquired
        // the lock releases it here.
        if (locked_by_ == ::getpid())
            (void)lock_as(F_UNLCK);
        for (const int each : {direct_, durable_})
            if (each >= 0)
                ::close(each);
        ::close(descriptor_); // an error here would lose nothing: every durable byte was synced before
    }

    result<void> read(std::uint64_t offset, std::span<std::byte> into) override {
        std::size_t done = 0;
        while (done < into.size()) {
            ssize_t n = ::pread(descriptor_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                return system_failure(errno, "cannot read", path_, offset + done);
            if (n == 0) {
                auto known = size();
                const std::uint64_t end = known ? std::min(*known, offset + done) : offset + done;
                return fail(errc::truncated,
                            "cannot read " + path_ + ": it ends at byte " + std::to_string(end) +
                                ", although more was written. Restore it from a copy.",
                            path_, 0, end);
            }
            done += static_cast<std::size_t>(n);
        }
        return {};
    }

    result<void> write(call_site, std::uint64_t offset, std::span<const std::byte> bytes) override {
        return write_with(descriptor_, offset, bytes);
    }

    result<void> write_direct(call_site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        if (direct_ == k_not_tried)
            direct_ = open_again(O_DIRECT);
        if (auto written = write_if_taken(direct_, offset, bytes))
            return std::move(*written);
        return write(where, offset, bytes);
    }

    result<void> write_durable(call_site where, call_site durable, std::uint64_t offset,
                               std::span<const std::byte> bytes) override {
        if (durable_ == k_not_tried)
            durable_ = open_again(O_DIRECT | O_DSYNC);
        if (auto written = write_if_taken(durable_, offset, bytes)) {
            if (*written || written->why().code == errc::no_space)
                return std::move(*written);
            return sync_failure("cannot write durably to", written->why().os_error);
        }
        REM_TRY(write(where, offset, bytes));
        return sync(durable);
    }

    result<void> sync(call_site) override {
        while (::fdatasync(descriptor_) != 0) {
            if (errno != EINTR)
                return sync_failure("cannot sync", errno);
        }
        return {};
    }

    [[nodiscard]] bool fills_holes_when_read() override {
        if (!is_in_tmpfs_) {
            struct statfs info{};
            is_in_tmpfs_ = ::fstatfs(descriptor_, &info) == 0 && info.f_type == TMPFS_MAGIC;
        }
        return *is_in_tmpfs_;
    }

    // Does not wait, so that sync() still reports the error of a failed write.
    void will_read(std::uint64_t offset, std::uint64_t bytes) override {
        ::posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
    }

    void begin_sync(std::uint64_t offset, std::uint64_t bytes) override {
        ::sync_file_range(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE);
    }

    result<std::uint64_t> size() override {
        struct stat info{};
        if (::fstat(descriptor_, &info) != 0)
            return system_failure(errno, "cannot inspect", path_);
        return static_cast<std::uint64_t>(info.st_size);
    }

    result<void> resize(call_site, std::uint64_t bytes) override {
        if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
            return system_failure(errno, "cannot resize", path_, bytes);
        return {};
    }

    result<void> reserve(call_site where, std::uint64_t offset, std::uint64_t bytes) override {
        auto before = size();
        if (!before)
            return before.error();
        auto reserved = reserve_space(where, offset, bytes);
        if (!reserved)
            (void)resize(where, *before); // best effort: ext4 has reserved as much space as was free
        return reserved;
    }

    result<void> punch(call_site where, std::uint64_t offset, std::uint64_t bytes, unpunchable otherwise) override {
        int flags = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
        int code = 0;
        do
            code = ::fallocate(descriptor_, flags, static_cast<off_t>(offset), static_cast<off_t>(bytes));
        while (code != 0 && errno == EINTR);
        if (code == 0)
            return {};
        if (errno != EOPNOTSUPP)
            return system_failure(errno, "cannot free space in", path_, offset);
        if (otherwise == unpunchable::stays)
            return {};
        auto end = size();
        if (!end)
            return end.error();
        return write_zeros(where, offset, std::min(*end, offset + bytes) - std::min(*end, offset));
    }

    result<bool> is_hole(file_range range) override {
        const off_t data = ::lseek(descriptor_, static_cast<off_t>(range.offset), SEEK_DATA);
        return data < 0 ? errno == ENXIO : static_cast<std::uint64_t>(data) >= range.end();
    }

    result<bool> try_lock(lock_kind kind) override {
        if (lock_as(kind == lock_kind::exclusive ? F_WRLCK : F_RDLCK) == 0) {
            if (kind == lock_kind::shared && locked_by_ != 0) { // downgrades: the lock may have been exclusive
                struct flock of_readers = lock_of(F_UNLCK, k_first_reader_lock, k_lock_offset - k_first_reader_lock);
                (void)::fcntl(descriptor_, F_OFD_SETLK, &of_readers);
            }
            locked_by_ = ::getpid();
            return true;
        }
        if (errno == EAGAIN || errno == EACCES)
            return false;
        return system_failure(errno, "cannot lock", path_);
    }

    result<bool> is_locked_exclusively() override {
        struct flock lock = lock_of(F_RDLCK, k_lock_offset, 1);
        if (::fcntl(descriptor_, F_OFD_GETLK, &lock) != 0)
            return system_failure(errno, "cannot query the lock of", path_);
        return lock.l_type != F_UNLCK;
    }

    result<void> map_private(void* where, std::size_t bytes, std::uint64_t offset, access protection) override {
        int rights = protection == access::read_write ? PROT_READ | PROT_WRITE : PROT_READ;
        // Without MAP_NORESERVE, accounting flags prevent the kernel from merging adjacent mappings.
        void* got = ::mmap(where, bytes, rights, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, descriptor_,
                           static_cast<off_t>(offset));
        if (got == MAP_FAILED)
            return system_failure(errno, "cannot map", path_, offset);
        return {};
    }

    result<std::unique_ptr<byte_locks>> open_locks() override {
        const int flags = ::fcntl(descriptor_, F_GETFL);
        if (flags < 0)
            return system_failure(errno, "cannot open once more", path_);
        const int rights = flags & O_ACCMODE;
        int again = open_file(path_of_descriptor().c_str(), rights);
        if (again < 0 && errno == ENOENT) // /proc is not mounted
            again = open_file(path_.c_str(), rights | O_NONBLOCK);
        if (again < 0)
            return system_failure(errno, "cannot open once more", path_);
        descriptor opened(again);
        struct stat info{};
        if (::fstat(opened.get(), &info) != 0)
            return system_failure(errno, "cannot inspect", path_);
        if (info.st_dev != device_ || info.st_ino != inode_)
            return fail(errc::unlinked, path_ + " was moved or removed while it was being opened. Try again.", path_);
        return posix_byte_locks(opened.release(), path_);
    }

    result<std::shared_ptr<std::byte>> map_shared(std::size_t bytes, access protection) override {
        const int rights = protection == access::read_write ? PROT_READ | PROT_WRITE : PROT_READ;
        void* const got = ::mmap(nullptr, bytes, rights, MAP_SHARED, descriptor_, 0);
        if (got == MAP_FAILED)
            return system_failure(errno, "cannot map", path_);
        if (::madvise(got, bytes, MADV_DONTFORK) != 0) {
            const int code = errno;
            ::munmap(got, bytes);
            return system_failure(code, "cannot keep from forked children the mapping of", path_);
        }
        (void)::madvise(got, bytes, MADV_DONTDUMP); // a hint
        return std::shared_ptr<std::byte>(static_cast<std::byte*>(got), [bytes, owner = ::getpid()](std::byte* begin) {
            if (::getpid() == owner) // in a child, something else may be mapped there
                ::munmap(begin, bytes);
        });
    }

    result<file_identity> identity() override {
        struct statfs info{};
        if (::fstatfs(descriptor_, &info) != 0)
            return system_failure(errno, "cannot inspect", path_);
        return file_identity{device_, inode_, kind_if_reached_by_others(static_cast<std::uint64_t>(info.f_type))};
    }

    result<unsigned> permissions() override {
        struct stat info{};
        if (::fstat(descriptor_, &info) != 0)
            return system_failure(errno, "cannot inspect", path_);
        return static_cast<unsigned>(info.st_mode & 0777U);
    }

    // Asks for nothing but the inode. If a program asks for the times of a file, file systems since Linux 6.13 give the
    // next write a time of its own, and ext4 without a journal then writes the inode with each durable write, which
    // takes half as long again. Commits ask before they write.
    result<bool> is_at(const std::string& path) override {
        struct statx named{};
        if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO, &named) == 0)
            return ::makedev(named.stx_dev_major, named.stx_dev_minor) == device_ && named.stx_ino == inode_;
        if (errno == ENOENT || errno == ENOTDIR)
            return false;
        struct stat known{};
        if (errno != EPERM || ::lstat(path.c_str(), &known) != 0) // EPERM: a sandbox that does not know statx()
            return system_failure(errno, "cannot inspect", path);
        return known.st_dev == device_ && known.st_ino == inode_;
    }

    result<present_name> find_name() override {
        if (auto there = is_at(path_); there && *there)
            return present_name{true, path_};
        struct stat info{};
        if (::fstat(descriptor_, &info) != 0)
            return system_failure(errno, "cannot inspect", path_);
        if (info.st_nlink == 0)
            return present_name{false, {}};
        std::error_code unknown;
        std::string renamed = std::filesystem::read_symlink(path_of_descriptor(), unknown).string();
        if (auto there = is_at(renamed); there && *there)
            return present_name{true, std::move(renamed)};
        return present_name{true, {}};
    }

    [[nodiscard]] const std::string& path() const override { return path_; }

private:
    // Returns errc::io for every reason, even a lack of space: it is unknown what reached the disk, so the caller must
    // not retry (I5).
    unexpected sync_failure(const std::string& operation, int code) const {
        return fail(
            errc::io,
            operation + " " + path_ + ": " + std::strerror(code) +
                ". Close the heap and open it again, then it is as of its last durable commit; see the system's "
                "log.",
            path_, code);
    }

    result<void> write_with(int descriptor, std::uint64_t offset, std::span<const std::byte> bytes) {
        std::size_t done = 0;
        while (done < bytes.size()) {
            ssize_t n =
                ::pwrite(descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                return system_failure(errno, "cannot write", path_, offset + done);
            done += static_cast<std::size_t>(n);
        }
        return {};
    }

    // Opens a second descriptor, since these flags belong to the open file description. Opens it through /proc, since
    // the name may have changed.
    int open_again(int flags) const { return open_file(path_of_descriptor().c_str(), O_WRONLY | flags); }
    [[nodiscard]] std::string path_of_descriptor() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

    static struct flock lock_of(int type, std::int64_t first, std::int64_t count) {
        struct flock lock{};
        lock.l_type = static_cast<short>(type);
        lock.l_whence = SEEK_SET;
        lock.l_start = first;
        lock.l_len = count;
        return lock;
    }
    int lock_as(int type) const {
        const std::int64_t first = type == F_RDLCK ? k_lock_offset : k_first_reader_lock;
        struct flock lock = lock_of(type, first, k_lock_offset + 1 - first);
        return ::fcntl(descriptor_, F_OFD_SETLK, &lock);
    }
    // Returns nothing if the file system does not support the flags of this descriptor, or refuses a write of these
    // blocks.
    std::optional<result<void>> write_if_taken(int& descriptor, std::uint64_t offset,
                                               std::span<const std::byte> bytes) {
        if (descriptor < 0)
            return {};
        auto written = write_with(descriptor, offset, bytes);
        if (written || written.why().os_error != EINVAL)
            return written;
        ::close(std::exchange(descriptor, k_refused));
        return {};
    }

    result<void> reserve_space(call_site where, std::uint64_t offset, std::uint64_t bytes) {
        int code = 0;
        do {
            code = ::fallocate(descriptor_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
        } while (code == EINTR);
        if (code == EOPNOTSUPP)
            return reserve_by_writing(where, offset, bytes);
        if (code != 0)
            return system_failure(code, "cannot reserve space in", path_, offset);
        return {};
    }

    // For file systems without fallocate: overwrites every block that may be a hole with its own contents.
    result<void> reserve_by_writing(call_site where, std::uint64_t offset, std::uint64_t bytes) {
        auto old_end = size();
        if (!old_end)
            return old_end.error();
        std::vector<std::byte> block(k_direct_alignment);
        for (std::uint64_t at = offset; at < offset + bytes; at += block.size()) {
            std::size_t length = static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), offset + bytes - at));
            std::fill(block.begin(), block.end(), std::byte{0});
            if (at < *old_end) {
                std::size_t present = static_cast<std::size_t>(std::min<std::uint64_t>(length, *old_end - at));
                REM_TRY(read(at, std::span(block).first(present)));
            }
            REM_TRY(write(where, at, std::span(block).first(length)));
        }
        return {};
    }

    result<void> write_zeros(call_site where, std::uint64_t offset, std::uint64_t bytes) {
        std::vector<std::byte> zeros(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, MiB)));
        for (std::uint64_t done = 0; done < bytes; done += zeros.size()) {
            std::size_t length = static_cast<std::size_t>(std::min<std::uint64_t>(zeros.size(), bytes - done));
            REM_TRY(write(where, offset + done, std::span(zeros).first(length)));
        }
        return {};
    }

    int descriptor_;
    dev_t device_;
    ino_t inode_;
    pid_t locked_by_ = 0; // 0: this object has not locked the file
    static constexpr int k_refused = -1;
    static constexpr int k_not_tried = -2;
    int direct_ = k_not_tried;        // O_DIRECT
    int durable_ = k_not_tried;       // O_DIRECT | O_DSYNC
    std::optional<bool> is_in_tmpfs_; // set at the first query
    std::string path_;
};

} // namespace

std::unique_ptr<file> posix_file_of(int descriptor, const struct stat& which, std::string path) {
    return std::make_unique<posix_file>(descriptor, which, std::move(path));
}

} // namespace remanence::os
