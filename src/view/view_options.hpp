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
    std::size_t scattered_max = 0;                            // as in engine_options, and so are these
    std::size_t stretches_max = 16;
    bool read_ahead = true;
};

} // namespace remanence::view
