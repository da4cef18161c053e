// Shows leaked blocks to C programs.
#pragma once

#include <remanence/heap_reports.hpp>
#include <remanence/remanence.h>

#include <string>
#include <vector>

namespace remanence::capi {

/// Calls f with a rem_leaks that is valid during the call.
template <class F>
void show_leaks(const leak_report& left, const F& f) {
    std::vector<rem_leak_class> classes;
    for (const size_class& each : left.classes)
        classes.push_back({each.block_bytes, each.blocks});
    std::vector<std::vector<const char*>> calls;
    std::vector<rem_leak_place> places;
    for (const leak_report::place& each : left.places) {
        std::vector<const char*>& texts = calls.emplace_back();
        for (const std::string& call : each.calls)
            texts.push_back(call.c_str());
        places.push_back({texts.data(), texts.size(), each.blocks, each.requested_bytes});
    }
    const rem_leaks shown{left.blocks, left.bytes, classes.data(), classes.size(), places.data(), places.size()};
    f(&shown);
}

} // namespace remanence::capi
