// A file that is written under another name, and renamed once it is complete and durable. A crash leaves the former
// file or the new one.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace remanence::detail {

class whole_file {
public:
    /// A file that a crash has left under the other name is removed.
    whole_file(os::file_system& files, std::string path, std::string unfinished)
        : files_(files), path_(std::move(path)), unfinished_(std::move(unfinished)) {}
    whole_file(const whole_file&) = delete;
    whole_file& operator=(const whole_file&) = delete;
    /// Removes an incomplete file.
    ~whole_file();

    /// Creates the file, with the permission bits of the one it will replace, if there is one. errc::in_use: another
    /// process writes it.
    result<void> begin();
    /// Appends text, which is written in large pieces.
    result<void> put(std::string_view text);
    /// Renames the file; durable once this returns. errc::exists: there is a file of that name, and it must not be
    /// replaced.
    result<void> finish(bool may_replace);

private:
    result<void> lock(os::file& unfinished);
    [[nodiscard]] result<void> written_by_another() const;
    result<void> write();
    result<void> take_mode(unsigned mode);

    os::file_system& files_;
    std::string path_;
    std::string unfinished_;
    std::unique_ptr<os::file> file_;
    std::string pending_;
    std::uint64_t end_ = 0;
};

} // namespace remanence::detail
