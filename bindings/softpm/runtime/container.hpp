// One container: a heap with an arena in it. Depends on discovery, restorer and the library's public headers; of its
// inner headers only on `written_pages` of the engine (src/txn), which tells a point which pages to read.
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
    /// Returns the path of its file, in the directory of the attributes.
    static std::filesystem::path path_of(int magic, const cattr& how);
    /// Creates a container with a struct of so many zero bytes, durable. Throws container_exists if there is one
    /// already, and the exceptions of heap::open().
    static std::unique_ptr<container> create(int magic, std::uint64_t bytes, const cattr& how);
    /// Restores the container of an earlier process. `bytes`: the size of its struct, if the program knows it. Throws
    /// std::runtime_error if there is none, or it is refused.
    static std::unique_ptr<container> restore(int magic, std::optional<std::uint64_t> bytes, const cattr& how);
    /// Does the same as restore(), but with the state that keep_version() kept under this number. The container's file
    /// gets it with the next point.
    static std::unique_ptr<container> restore_version(int magic, int version, const cattr& how);
    container(const container&) = delete;
    container& operator=(const container&) = delete;
    /// Discards changes since the last point.
    ~container();

    [[nodiscard]] void* structure() const;
    /// Implements pPoint(). Throws the exceptions of commits, std::bad_alloc; then the file stays unchanged.
    void point();
    void sync();
    void exclude(void* pointer);
    void add_global(void* variable, std::uint64_t bytes);
    /// Implements pVersion(): makes a point, and a durable file of its own for it. Returns the file's number. O(memory
    /// in use).
    int keep_version();
    /// Implements pReport().
    [[nodiscard]] std::string report();
    /// Implements pCDelete(): removes the files, including versions, after the container has ended. Throws
    /// std::runtime_error in a child of fork().
    void remove_files_at_end();

    [[nodiscard]] std::uint64_t lost_count() const { return lost_count_; }
    [[nodiscard]] const std::vector<lost_pointer>& lost() const { return lost_; }
    /// False if the container belongs to a parent of this process.
    [[nodiscard]] bool is_of_this_process() const;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    cattr attributes;

private:
    container(int magic, std::filesystem::path path, const cattr& how);
    void lay_out(std::uint64_t bytes);
    /// Makes directory and tables; to be called in a write section.
    void lay_out_tables();
    /// Finds the directory; there is none if no point was taken yet. Throws std::runtime_error if it is one of another
    /// version of softpm.
    void find_directory();
    void open_and_check();
    void finish_restore();
    void take_from(container& other);
    void drop_old_versions(int newest) const;
    [[nodiscard]] std::filesystem::path path_of_version(int version) const;
    /// Returns the versions in ascending order.
    [[nodiscard]] std::vector<int> versions() const;
    /// Finds the parts, when the directory has them.
    void look_up();
    void check_directory() const;
    void check_process() const;
    [[nodiscard]] content parts();
    void look_at_written_pages();
    void refresh_modules();

    int magic_;
    std::filesystem::path path_;
    std::string directory_; // of the attributes
    int process_;
    std::optional<heap> heap_;
    directory* listed_ = nullptr;
    std::optional<arena> blocks_;
    std::optional<modules> loaded_;
    std::uint64_t loads_ = 0; // when `loaded_` was made
    std::optional<discovery> look_;
    std::optional<commit_ticket> last_point_;
    std::vector<lost_pointer> lost_; // by the restore
    std::uint64_t lost_count_ = 0;
    bool is_removed_ = false;
};

} // namespace remanence::softpm
