// NAME-shm: the memory that processes share, as a file beside the heap.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "share/coordination.hpp"
#include "share/layout.hpp"
#include "share/shared_memory_policy.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace remanence::share {

inline constexpr std::uint64_t k_magic = 0x6d68'732d'6d65'7278; // "xrem-shm"
inline constexpr std::uint64_t k_protocol = 1;

/// Written when the file is created. Identifies the heap that the file belongs to.
struct coordination_header {
    enum state : std::uint64_t { building = 0, ready = 1, gone = 2 };

    std::uint64_t magic;
    std::uint64_t protocol;
    std::uint64_t bytes;
    std::uint64_t device; // of the heap's file
    std::uint64_t inode;
    std::array<std::uint8_t, 16> boot;
    std::atomic<std::uint64_t> state;
    heap_identity heap; // set once ready
};
static_assert(sizeof(coordination_header) == 104);

/// Words for processes that wait. They are hints: if one is wrong, only time is lost.
struct coordination_waiting {
    std::atomic<std::uint32_t> turns; // counts how often the writer lock was acquired or released
    std::atomic<std::uint32_t> writer_lock_is_wanted;
    alignas(64) std::atomic<std::uint32_t> versions; // counts published commits
    std::atomic<std::uint32_t> version_is_wanted;
};

struct coordination_memory {
    coordination_header header;
    alignas(64) control<shared_memory_policy> words;
    alignas(64) coordination_waiting waiting;
    alignas(4096) slot<shared_memory_policy> slots[k_slots];
};
static_assert(sizeof(slot<shared_memory_policy>) == 128);
static_assert(offsetof(coordination_memory, slots) == 4096 && sizeof(coordination_memory) == 4096 + 128 * k_slots);

/// The `Policy::place` of attachment.hpp.
class coordination_file {
public:
    coordination_file(os::file_system& files, const std::string& heap_path, unsigned mode, os::file_identity heap,
                      const std::array<std::uint8_t, 16>& boot)
        : files_(files),
          heap_path_(heap_path),
          path_(heap_path + "-shm"),
          mode_(mode),
          heap_(std::move(heap)),
          boot_(boot) {}

    /// Removes a coordination file of that name, if there is one. errc::exists for a file that never was a
    /// coordination file.
    result<void> remove_old();
    /// Creates the file and reserves its space, since a write to mapped memory cannot report that the disk is full.
    result<void> create();
    /// Maps the file. Returns false if there is none, or if it belongs to another heap, to an earlier boot of the
    /// machine, or to processes that are gone. errc::unsupported_format if processes of another release use the file.
    /// access::read_only is for processes that do not attach.
    result<bool> open(os::access how = os::access::read_write);
    /// Returns a slot that looks free. Trying the lock of each slot in turn is slow if there are many processes.
    [[nodiscard]] std::size_t slot_to_try_first() const;
    void set_ready();
    result<void> remove();
    /// True if the file that open() mapped still has its name.
    result<bool> is_at_its_name() { return file_->is_at(path_); }

    [[nodiscard]] coordination_memory& memory() const { return *reinterpret_cast<coordination_memory*>(mapped_.get()); }
    [[nodiscard]] const std::string& path() const { return path_; }
    /// Describes the process of that slot.
    [[nodiscard]] participant who(std::size_t slot, std::uint64_t thread, std::uint64_t since) const;

private:
    result<void> map(os::file& file, std::size_t bytes, os::access how = os::access::read_write);
    [[nodiscard]] result<void> check_protocol() const;

    os::file_system& files_;
    std::string heap_path_;
    std::string path_;
    unsigned mode_;
    os::file_identity heap_;
    std::array<std::uint8_t, 16> boot_;
    std::unique_ptr<os::file> file_;
    std::shared_ptr<std::byte> mapped_;
};

} // namespace remanence::share
