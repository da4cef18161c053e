// A naive store: each commit appends the whole memory, with a checksum, to one file. It is right as it stands, and can
// be made wrong in known ways, so that the harness can show that it notices.
#pragma once

#include "store.hpp"

namespace remanence::crash {

struct toy_mistakes {
    bool no_checksum = false;         // takes a torn record for a whole one
    bool no_version_check = false;    // believes stale records behind the last one
    bool rewrites_to_recover = false; // empties the file and writes it anew: wrong only when cut short in turn
    bool acknowledges_early = false;  // commit() returns before its record is written
    bool forgets_rollback = false;
};

namespace toy_sites {
inline constexpr const char* k_new_file = "toy: new file";
inline constexpr const char* k_directory = "toy: directory";
inline constexpr const char* k_record = "toy: record";
inline constexpr const char* k_recovery = "toy: recovery";
} // namespace toy_sites

open_function toy(toy_mistakes mistakes = {});

} // namespace remanence::crash
