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
    /// Above this many exceptions of the chunk map, commits that relocate chunks also bring scattered ones together.
    /// Exceptions cost mappings.
    std::size_t scattered_max = 1024;
    /// Above this many stored extents, gaps between them are mapped from holes of the file. A mapping for each extent
    /// would slow down opening.
    std::size_t stretches_max = 16;
    bool read_ahead = true; // as in heap_options
};

} // namespace remanence::view
