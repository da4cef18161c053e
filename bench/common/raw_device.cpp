#include "harness.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <system_error>
#include <vector>

namespace bench {

namespace {

constexpr std::size_t k_write_bytes = 512;
constexpr std::uint64_t k_file_bytes = std::uint64_t{64} << 20;

void check(bool done) {
    if (!done)
        throw std::system_error(errno, std::generic_category(), "the device's file");
}

} // namespace

raw_device::raw_device(const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) {
        const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        check(made >= 0);
        const std::vector<char> zeros(std::size_t{1} << 20);
        for (std::uint64_t at = 0; at < k_file_bytes; at += zeros.size())
            check(::pwrite(made, zeros.data(), zeros.size(), static_cast<off_t>(at)) ==
                  static_cast<ssize_t>(zeros.size()));
        check(::fsync(made) == 0);
        ::close(made);
    }
    if (::posix_memalign(&block_, 4096, k_write_bytes) != 0)
        throw std::bad_alloc();
    std::memset(block_, 0, k_write_bytes);
    descriptor_ = ::open(file.c_str(), O_WRONLY | O_DIRECT | O_DSYNC | O_CLOEXEC);
    check(descriptor_ >= 0);
}

raw_device::~raw_device() {
    ::close(descriptor_);
    std::free(block_);
}

void warm_page_cache(const std::filesystem::path& directory) {
    std::vector<char> block(1 << 20);
    for (const auto& file : std::filesystem::recursive_directory_iterator(directory)) {
        std::ifstream in(file.path(), std::ios::binary);
        while (in.read(block.data(), static_cast<std::streamsize>(block.size())))
            ;
    }
}

void drop_from_page_cache(const std::filesystem::path& file) {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    check(descriptor >= 0);
    const bool dropped = ::fsync(descriptor) == 0 && ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) == 0;
    ::close(descriptor);
    check(dropped);
}

void raw_device::write(std::uint64_t content) {
    std::memcpy(block_, &content, sizeof content);
    check(::pwrite(descriptor_, block_, k_write_bytes, static_cast<off_t>(at_)) == static_cast<ssize_t>(k_write_bytes));
    at_ = (at_ + k_write_bytes) % k_file_bytes;
}

} // namespace bench
