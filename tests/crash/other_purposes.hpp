// What some steps of store and log are for, although no power loss needs them: promises of another kind, each tried on a
// simulated disk.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace remanence::crash {

struct purpose {
    std::string_view promise;
    /// How the promise was broken on a disk that leaves out what is done at this call site; empty: it was kept.
    std::string (*broken_without)(const std::string& call_site);
};

/// By the names of the call sites.
const std::map<std::string, purpose>& other_purposes();

} // namespace remanence::crash
