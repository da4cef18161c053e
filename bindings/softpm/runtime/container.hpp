// One container: a heap with an arena in it. Depends on discovery, restorer, the library's public headers, and of its inner ones on
// `written_pages` of the engine (src/txn), which tells what a point has to look at.
#pragma once

#include "discovery.hpp"

#include "softpm.h"

#include <remanence/heap.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace remanence::softpm {

class container {
public:
    /// A new one, with a struct of so many zero bytes, durable. Throws std::runtime_error when there is one already, and what
    /// heap::open() throws.
    static std::unique_ptr<container> create(int magic, std::uint64_t bytes, const cattr& how);
    /// Of an earlier process. `bytes`: of its struct, if the program knows. Throws std::runtime_error: there is none, or it is refused.
    static std::unique_ptr<container> restore(int magic, std::optional<std::uint64_t> bytes, const cattr& how);
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
    /// pCDelete(), after the container has ended.
    static void remove_files(const std::filesystem::path& path);

    [[nodiscard]] std::uint64_t lost_count() const { return lost_count_; }
    [[nodiscard]] const std::vector<lost_pointer>& lost() const { return lost_; }
    [[nodiscard]] int magic() const { return magic_; }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    cattr attributes;

private:
    container(int magic, std::filesystem::path path, const cattr& how);
    void lay_out(std::uint64_t bytes);
    /// The parts, when the directory has them.
    void look_up();
    void check_directory() const;
    void check_process() const;
    [[nodiscard]] content parts();
    void look_at_written_pages();
    void refresh_modules();

    int magic_;
    std::filesystem::path path_;
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
};

} // namespace remanence::softpm
