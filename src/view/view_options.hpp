// How a view is to be opened.
#pragma once

#include "track/page_scan.hpp"

#include <cstddef>

namespace remanence::view {

struct view_options {
    track::tracker_choice tracker = track::tracker_choice::automatic;
    bool read_only = false;
    bool core_dump = false;
    track::stray_write_reporter report_stray_write = nullptr; // trap tracker only
    /// Exceptions of the chunk map, each of which costs mappings, before commits that move chunks bring others together.
    std::size_t scattered_max = 1024;
    /// Of stored chunks, before gaps between them are mapped from holes of the file: each costs opening a mapping.
    std::size_t stretches_max = 16;
    bool read_ahead = true; // as in heap_options
};

} // namespace remanence::view
