// What memory_options::when_taken links into a program: heaps move to other addresses.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "txn/engine.hpp"

#include <remanence/relocate.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace remanence::detail {

/// A heap that is mapped elsewhere because its addresses are in use.
struct mapped_elsewhere {
    os::file_system& files;
    const std::string& path;
    const txn::engine_options& options;
    std::string_view abi;
    const std::function<void(const progress&)>& on_progress;
    std::unique_ptr<txn::engine> engine;
};

struct relocation_part {
    /// Returns the heap with its pointers rewritten, mapped where they lead. The failure says why that is not possible;
    /// then nothing has changed, and `heap.engine` may be null.
    result<std::unique_ptr<txn::engine>> (*relocate)(mapped_elsewhere& heap);
};

/// As remanence::relocate(), with these files.
relocated relocate(os::file_system& files, const std::filesystem::path& path, std::uintptr_t base,
                   const std::function<void(const progress&)>& on_progress);

} // namespace remanence::detail
