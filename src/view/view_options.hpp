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
    /// If the chunk map has more exceptions than this, commits that relocate chunks also move scattered chunks back to
    /// copy A. Exceptions add mappings.
    std::size_t scattered_max = 1024;
    /// If there are more stored extents than this, gaps between them are mapped from holes of the file, since a mapping
    /// for each extent would slow down opening.
    std::size_t stretches_max = 16;
    bool read_ahead = true; // as in heap_options
};

} // namespace remanence::view
