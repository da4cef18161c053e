// A directory for the time that a demo runs. Depends on the standard library and POSIX.
#pragma once

#include <stdlib.h> // NOLINT(modernize-deprecated-headers): mkdtemp

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

/// Made below the system's directory for such, and removed with all that is in it.
class temporary_directory {
public:
    explicit temporary_directory(const std::string& name) {
        std::string path = (std::filesystem::temp_directory_path() / (name + ".XXXXXX")).string();
        if (::mkdtemp(path.data()) == nullptr)
            throw std::system_error(errno, std::generic_category(), path);
        path_ = path;
    }
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;
    ~temporary_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};
