#include "peers.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace bench {

void copy_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
    const int file = ::open(to.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0 || ::fsync(file) != 0)
        throw std::system_error(errno, std::generic_category(), to.string());
    ::close(file);
}

#ifndef BENCH_SQLITE
bool has_sqlite_session() { return false; }
void measure_sqlite_session(const std::filesystem::path&, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t) {}
#endif

} // namespace bench
