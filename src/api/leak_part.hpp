// What check_options::leak_frames links into a program: the notes of where blocks are allocated, and of their types.
#pragma once

#include "txn/engine_options.hpp"

#include <remanence/heap_options.hpp>

#include <atomic>
#include <filesystem>
#include <typeinfo>

namespace remanence::detail {

struct leak_part {
    /// Makes the engine note as many calls as the options say. Throws errc::invalid_argument if they are too many.
    void (*note_calls)(const std::filesystem::path& path, const check_options& checks, txn::engine_options& internal);
};

/// Implements note_type().
inline constinit std::atomic<void (*)(const void* object, const std::type_info& type) noexcept> note_type_of_object =
    nullptr;

/// The part, if a C program searches for leaks anywhere; else null. Null before the program's statics are initialized.
inline constinit const leak_part* known_leak_part = nullptr;

} // namespace remanence::detail
