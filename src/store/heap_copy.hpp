// The bytes of a heap file, in order, as a copy of it is to hold them. May use: base, os, format.
#pragma once

#include "base/result.hpp"
#include "store/heap_file.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace remanence::store {

/// Takes the next bytes: at most 1 MiB, each piece behind the one before.
using byte_sink = std::function<result<void>(std::span<const std::byte>)>;
/// Told of 0 bytes, too, before the first of them is written.
using copy_progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Hands over the whole file. Each page of the image is checked (errc::corrupt, with its place), and what was never
/// committed comes as zeros. Precondition: the heap is clean, and nobody writes to it. O(file).
result<void> copy_bytes(heap_file& heap, const byte_sink& sink, const copy_progress& progress);

/// Writes them to a new file NAME-new and syncs it; where it holds zeros it stays a hole. The file is locked as long as
/// it is open, and the caller gives it its name. errc::no_space and every other failure leave no file behind, but for an
/// empty one that could not be locked.
result<std::unique_ptr<os::file>> copy_to_new(heap_file& heap, os::file_system& files, const std::string& path,
                                              const copy_progress& progress);

} // namespace remanence::store
