// A file that is written under another name, and renamed once it is complete and durable. So after a crash the former
// file or the new one is there.
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
    /// If a crash has left a file under the other name, begin() removes it.
    whole_file(os::file_system& files, std::string path, std::string unfinished)
        : files_(files), path_(std::move(path)), unfinished_(std::move(unfinished)) {}
    whole_file(const whole_file&) = delete;
    whole_file& operator=(const whole_file&) = delete;
    /// Removes the file if it is incomplete.
    ~whole_file();

    /// Creates the file, with the permissions of the file that it will replace, if there is one. errc::in_use: another
    /// process is writing it.
    result<void> begin();
    /// Appends text. Collects it, and writes it in large pieces.
    result<void> put(std::string_view text);
    /// Renames the file. It is durable once this returns. errc::exists: a file of that name exists, and must not be
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
