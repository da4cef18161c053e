// Files between an engine and a disk, before whose operations something else happens: a step of a checkpoint, as if another
// thread had come first.
#pragma once

#include "os/file.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace remanence::crash {

class stepping_files final : public os::file_system {
public:
    explicit stepping_files(os::file_system& below) : below_(below) {}

    /// Is called before each write, reservation, resize and punch, but for those that a checkpoint's steps make. A sync is
    /// none of these: the store lets no other thread sync the heap file meanwhile.
    void before_each(std::function<void()> happens) { before_each_ = std::move(happens); }

    result<std::unique_ptr<os::file>> open(const std::string& path, os::access mode) override {
        return wrap(below_.open(path, mode));
    }
    result<std::unique_ptr<os::file>> open_or_create(const std::string& path, unsigned mode) override {
        return wrap(below_.open_or_create(path, mode));
    }
    result<bool> exists(const std::string& path) override { return below_.exists(path); }
    result<void> rename_to_new(os::site where, const std::string& from, const std::string& to) override {
        return below_.rename_to_new(where, from, to);
    }
    result<void> rename_over(os::site where, const std::string& from, const std::string& to) override {
        return below_.rename_over(where, from, to);
    }
    result<void> remove(os::site where, const std::string& path) override { return below_.remove(where, path); }
    result<void> sync_directory(os::site where, const std::string& path) override {
        return below_.sync_directory(where, path);
    }

private:
    class stepping_file;
    result<std::unique_ptr<os::file>> wrap(result<std::unique_ptr<os::file>> opened);
    void come_to(os::site where);

    os::file_system& below_;
    std::function<void()> before_each_;
};

} // namespace remanence::crash
