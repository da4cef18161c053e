// Store and log without an engine: each commit is a record, and checkpoints are made little by little, while more is
// committed. What is found after a power loss depends on where the log's window begins.
#pragma once

#include "store.hpp"

namespace remanence::crash {

struct windowed_mistakes {
    bool names_logs_beginning = false; // as the place where the window begins, wherever it is
    bool releases_at_mark = false;     // before the superblock is durable
};

open_function windowed(windowed_mistakes mistakes = {});

} // namespace remanence::crash
