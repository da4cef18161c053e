// A directory that lasts as long as a test. Standard library and POSIX only.
#pragma once

#include <stdlib.h> // mkdtemp is POSIX's, not <cstdlib>'s

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace remanence::test {

/// Creates an empty directory under TMPDIR (else where the system keeps temporary files) and
/// removes it with all that is in it. Owned by one object; the names never collide, whichever
/// threads or processes create them.
class temp_dir {
public:
    temp_dir() : temp_dir(std::filesystem::temp_directory_path()) {}
    /// Where syncs cost nothing, if there is such a place: for tests that have nothing to do with the disk itself.
    static temp_dir in_memory() {
        constexpr const char* k_shared_memory = "/dev/shm";
        if (::access(k_shared_memory, W_OK) == 0)
            return temp_dir(k_shared_memory);
        return {};
    }
    ~temp_dir() {
        std::error_code ignored; // a test may have removed it already, or its permissions
        std::filesystem::remove_all(path_, ignored);
    }
    temp_dir(const temp_dir&) = delete;
    temp_dir& operator=(const temp_dir&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

private:
    explicit temp_dir(const std::filesystem::path& parent) {
        std::string name = (parent / "remanence-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::system_error(errno, std::generic_category(), "mkdtemp " + name);
        path_ = name;
    }

    std::filesystem::path path_;
};

} // namespace remanence::test
