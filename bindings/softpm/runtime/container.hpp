// One container: a heap with an arena in it. Depends on discovery, restorer, the library's public headers, and of its inner ones on
// `written_pages` of the engine (src/txn), which tells what a point has to look at.
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
    /// Of its file, in the directory of the attributes.
    static std::filesystem::path path_of(int magic, const cattr& how);
    /// A new one, with a struct of so many zero bytes, durable. Throws container_exists when there is one already, and what
    /// heap::open() throws.
    static std::unique_ptr<container> create(int magic, std::uint64_t bytes, const cattr& how);
    /// Of an earlier process. `bytes`: of its struct, if the program knows. Throws std::runtime_error: there is none, or it is refused.
    static std::unique_ptr<container> restore(int magic, std::optional<std::uint64_t> bytes, const cattr& how);
    /// As restore(), but with what keep_version() kept under this number. The container's file has it from the next point on.
    static std::unique_ptr<container> restore_version(int magic, int version, const cattr& how);
    container(const container&) = delete;
    container& operator=(const container&) = delete;
    /// Discards what no point has taken.
    ~container();

    [[nodiscard]] void* structure() const;
    /// pPoint(). Throws what commits throw, std::bad_alloc; the file then stays as it was.
    void point();
    void sync();
    void exclude(void* pointer);
    void add_global(void* variable, std::uint64_t bytes);
    /// pVersion(): a point, of which a file of its own is made, durable. Returns its number. O(memory in use).
    int keep_version();
    /// pReport().
    [[nodiscard]] std::string report();
    /// pCDelete(), after the container has ended: versions, too. Throws std::runtime_error in a child of fork().
    void remove_files_at_end();

    [[nodiscard]] std::uint64_t lost_count() const { return lost_count_; }
    [[nodiscard]] const std::vector<lost_pointer>& lost() const { return lost_; }
    /// Else of a parent of this one.
    [[nodiscard]] bool is_of_this_process() const;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    cattr attributes;

private:
    container(int magic, std::filesystem::path path, const cattr& how);
    void lay_out(std::uint64_t bytes);
    /// Makes directory and tables; in a write section.
    void lay_out_tables();
    /// None: no point was taken yet. Throws std::runtime_error: it is one of another version of softpm.
    void find_directory();
    void open_and_check();
    void finish_restore();
    void take_from(container& other);
    void drop_old_versions(int newest) const;
    [[nodiscard]] std::filesystem::path path_of_version(int version) const;
    /// In order.
    [[nodiscard]] std::vector<int> versions() const;
    /// The parts, when the directory has them.
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
