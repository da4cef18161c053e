// A background thread's place in tests: files between an engine and a disk, before whose operations a step of its work
// happens when the dice say so, as if that thread had come first. The same seed gives the same order.
#pragma once

#include "os/file.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::os {

class seeded_scheduler final : public file_system {
public:
    explicit seeded_scheduler(file_system& below) : below_(below) {}

    /// From now on `step` may happen before each write, reservation, resize and punch, but for those at the sites that are
    /// its `own`. A sync is none of these: the store lets no other thread sync the heap file meanwhile.
    void schedule(std::uint64_t seed, std::function<void()> step, std::vector<std::string_view> own);
    /// How often it happens is drawn anew: at each of them, or almost never.
    void begin_run();
    /// It may happen now.
    void come_by();
    /// For how much a step does.
    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return dice_() % n; }

    result<std::unique_ptr<file>> open(const std::string& path, access mode) override {
        return wrap(below_.open(path, mode));
    }
    result<std::unique_ptr<file>> open_or_create(const std::string& path, unsigned mode) override {
        return wrap(below_.open_or_create(path, mode));
    }
    result<bool> exists(const std::string& path) override { return below_.exists(path); }
    result<void> rename_to_new(site where, const std::string& from, const std::string& to) override {
        return below_.rename_to_new(where, from, to);
    }
    result<void> rename_over(site where, const std::string& from, const std::string& to) override {
        return below_.rename_over(where, from, to);
    }
    result<void> remove(site where, const std::string& path) override { return below_.remove(where, path); }
    result<void> sync_directory(site where, const std::string& path) override {
        return below_.sync_directory(where, path);
    }

private:
    class scheduled_file;
    result<std::unique_ptr<file>> wrap(result<std::unique_ptr<file>> opened);
    void come_to(site where);

    file_system& below_;
    std::mt19937_64 dice_;
    std::function<void()> step_;
    std::vector<std::string_view> own_;
    std::uint64_t one_in_ = 1;
    bool is_at_it_ = false;
};

} // namespace remanence::os
