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
#include <string_view>

namespace remanence::detail {

/// How a heap was opened.
struct opened_how {
    os::file_system& files;
    const txn::engine_options& options;
    std::string_view abi;
    const std::function<void(const progress&)>& on_progress;
};

struct relocation_part {
    /// Rewrites the pointers in a heap that is mapped elsewhere because its addresses are in use, and sets `heap` to it as
    /// it is mapped where they lead. Throws errc::base_taken, saying why, if that is not possible.
    void (*relocate)(const opened_how& how, std::unique_ptr<txn::engine>& heap);
};

/// As remanence::relocate(), with these files.
relocated relocate(os::file_system& files, const std::filesystem::path& path, std::uintptr_t base,
                   const std::function<void(const progress&)>& on_progress);

} // namespace remanence::detail
