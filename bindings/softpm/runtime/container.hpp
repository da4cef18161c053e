// One container: a heap that contains an arena. Depends on discovery, restorer and the library's public headers; of the
// library's inner headers, only on the engine's `written_pages` (src/txn), which tells a point which pages to read.
#pragma once

#include "discovery.hpp"

#include "softpm.h"

#include <remanence/heap.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace remanence::softpm {

class container_exists : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class container {
public:
    /// Returns the path of the container's file, which lies in the directory that the attributes name.
    static std::filesystem::path path_of(int magic, const cattr& how);
    /// Creates a container with a struct of so many zero bytes. It is durable once this returns. Throws
    /// container_exists if there is one already, and the exceptions of heap::open().
    static std::unique_ptr<container> create(int magic, std::uint64_t bytes, const cattr& how);
    /// Restores the container of an earlier process. `bytes` is the size of the container's struct, if the program
    /// knows it. Throws std::runtime_error if there is no container, or it cannot be restored.
    static std::unique_ptr<container> restore(int magic, std::optional<std::uint64_t> bytes, const cattr& how);
    /// Does the same as restore(), but with the state that keep_version() stored under this number. The next point
    /// writes that state to the container's file.
    static std::unique_ptr<container> restore_version(int magic, int version, const cattr& how);
    container(const container&) = delete;
    container& operator=(const container&) = delete;
    /// Discards all changes since the last point.
    ~container();

    [[nodiscard]] void* structure() const;
    /// Implements pPoint(). Throws the exceptions of commits, and std::bad_alloc. Then the file does not change.
    void point();
    void sync();
    void exclude(void* pointer);
    void add_global(void* variable, std::uint64_t bytes);
    /// Implements pVersion(): takes a point, and copies it to a durable file of its own. Returns the version's number.
    /// O(memory in use).
    int keep_version();
    /// Implements pReport().
    [[nodiscard]] std::string report();
    /// Implements pCDelete(): when the container ends, its files are removed, versions included. Throws
    /// std::runtime_error in a child of fork().
    void remove_files_at_end();

    [[nodiscard]] std::uint64_t lost_count() const { return lost_count_; }
    [[nodiscard]] const std::vector<lost_pointer>& lost() const { return lost_; }
    /// False in a child of fork(), if its parent made the container.
    [[nodiscard]] bool is_of_this_process() const;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    cattr attributes;

private:
    container(int magic, std::filesystem::path path, const cattr& how);
    void lay_out(std::uint64_t bytes);
    /// Makes the directory and the tables. Must be called in a write section.
    void lay_out_tables();
    /// Looks for the directory; there is none if no point was ever taken. Throws std::runtime_error if the directory is
    /// that of another version of softpm.
    void find_directory();
    void open_and_check();
    void finish_restore();
    void take_from(container& other);
    void drop_old_versions(int newest) const;
    [[nodiscard]] std::filesystem::path path_of_version(int version) const;
    /// Returns the numbers of all versions, in ascending order.
    [[nodiscard]] std::vector<int> versions() const;
    /// Sets the members that refer to parts of the heap. Precondition: there is a directory.
    void look_up();
    void check_directory() const;
    void check_process() const;
    [[nodiscard]] content parts();
    void look_at_written_pages();
    void refresh_modules();

    int magic_;
    std::filesystem::path path_;
    std::string directory_; // the directory in the attributes
    int process_;
    std::optional<heap> heap_;
    directory* listed_ = nullptr;
    std::optional<arena> blocks_;
    std::optional<modules> loaded_;
    std::uint64_t loads_ = 0; // value of loads_so_far() when `loaded_` was made
    std::optional<discovery> look_;
    std::optional<commit_ticket> last_point_;
    std::vector<lost_pointer> lost_; // found by the restore
    std::uint64_t lost_count_ = 0;
    bool is_removed_ = false;
};

} // namespace remanence::softpm
