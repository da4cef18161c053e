// The device itself: one write of 512 bytes for each transaction, O_DIRECT and O_DSYNC, one after the other into a file
// that was written before. Only one thread writes at a time.
#include "store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <system_error>

namespace {

constexpr std::size_t k_bytes = 512;
constexpr off_t k_file_bytes = off_t{64} << 20;

class device_store final : public store {
public:
    explicit device_store(const settings& chosen) : path_(chosen.directory / "device") {
        if (::posix_memalign(&block_, 4096, k_bytes) != 0)
            throw std::bad_alloc();
        descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_DSYNC | O_CLOEXEC, 0666);
        check(descriptor_ >= 0);
    }
    ~device_store() override {
        if (descriptor_ >= 0)
            ::close(descriptor_);
        std::free(block_);
    }

    void fill() override {
        const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
        check(descriptor >= 0);
        const std::vector<char> zeros(1 << 20);
        for (off_t at = 0; at < k_file_bytes; at += static_cast<off_t>(zeros.size()))
            check(::pwrite(descriptor, zeros.data(), zeros.size(), at) == static_cast<ssize_t>(zeros.size()));
        check(::fsync(descriptor) == 0);
        ::close(descriptor);
    }
    void update(unsigned /*thread*/, const keys& which) override {
        const std::scoped_lock turn(turn_);
        *static_cast<keys*>(block_) = which;
        check(::pwrite(descriptor_, block_, k_bytes, at_) == static_cast<ssize_t>(k_bytes));
        at_ = (at_ + static_cast<off_t>(k_bytes)) % k_file_bytes;
        updates_ += k_updates;
    }
    std::uint64_t sum() override { return updates_; }
    void close() override {}

private:
    static void check(bool done) {
        if (!done)
            throw std::system_error(errno, std::generic_category(), "the device's file");
    }

    std::filesystem::path path_;
    void* block_ = nullptr;
    int descriptor_ = -1;
    off_t at_ = 0;
    std::uint64_t updates_ = 0;
    std::mutex turn_;
};

} // namespace

system_kind device_system() {
    const auto open = [](const settings& chosen) { return std::make_unique<device_store>(chosen); };
    return {.name = "device", .open = open, .family = "device", .has_lazy = false};
}
