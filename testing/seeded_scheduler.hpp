// Background threads in tests: threads of which one runs at a time, and files between an engine and a disk. Before an operation of
// a file, or where a thread has to wait for another, the dice say who goes on. The same seed gives the same order.
//
// Waiting means a lock, std::atomic::wait(), os::turn or a sleep. The program that is tested has these call let_others_go_on()
// (tests/crash/scheduled_waits.cpp), since nobody who is waited for goes on meanwhile.
#pragma once

#include "os/file.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace remanence::simulation {

class seeded_scheduler final : public os::file_system {
public:
    explicit seeded_scheduler(os::file_system& below);
    ~seeded_scheduler() override;

    /// Before any thread is added, by the one that the others go on beside.
    void begin(std::uint64_t seed);
    /// Another thread. Wherever somebody else is about to change or sync a file it may begin with `work`, as long as `is_wanted`
    /// says so; it may be at that while the others go on. `is_wanted` must wait for nobody. Returns its number.
    std::size_t add(std::function<bool()> is_wanted, std::function<void()> work);
    /// How often its turn comes is drawn anew: at each operation of the others, or almost never.
    void draw_rarity(std::size_t thread);
    /// It may be the turn of others now; sometimes rarities are drawn anew. For the thread that began.
    void come_by();
    /// The other threads get done with what they are at, and end. Likewise.
    void end();
    /// For how much a thread does.
    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return dice_() % n; }

    /// For a thread that cannot go on before another one does: whether one did. If not, it is none of a scheduler, or all others
    /// have nothing to do. When all wait for each other the process is aborted, and each said to wait for what it has said, a
    /// string literal.
    static bool let_others_go_on(const char* waits_for) noexcept;

    result<std::unique_ptr<os::file>> open(const std::string& path, os::access mode) override {
        return wrap(below_.open(path, mode));
    }
    result<std::unique_ptr<os::file>> open_or_create(const std::string& path, unsigned mode) override {
        return wrap(below_.open_or_create(path, mode));
    }
    result<bool> exists(const std::string& path) override { return below_.exists(path); }
    result<bool> has_directory(const std::string& path) override { return below_.has_directory(path); }
    result<void> rename_to_new(os::call_site where, const std::string& from, const std::string& to) override {
        return below_.rename_to_new(where, from, to);
    }
    result<void> rename_over(os::call_site where, const std::string& from, const std::string& to) override {
        return below_.rename_over(where, from, to);
    }
    result<void> remove(os::call_site where, const std::string& path, os::file& which) override {
        return below_.remove(where, path, which);
    }
    result<void> sync_directory(os::call_site where, const std::string& path) override {
        return below_.sync_directory(where, path);
    }

private:
    class scheduled_file;
    struct participant;
    result<std::unique_ptr<os::file>> wrap(result<std::unique_ptr<os::file>> opened);
    void come_to_operation(os::call_site where);
    void let_any_go_on();
    [[noreturn]] void tell_of_deadlock() const noexcept;
    void pass_to(participant& next) noexcept;
    participant* another_under_way() noexcept;
    void take_turns(participant& self);

    os::file_system& below_;
    std::uint64_t seed_ = 0;
    std::mt19937_64 dice_;
    std::uint64_t waits_ = 0;                       // since somebody came to an operation, or got done
    std::vector<std::unique_ptr<participant>> all_; // the thread that began comes first
    static thread_local participant* this_thread;   // of one scheduler at a time
};

} // namespace remanence::simulation
