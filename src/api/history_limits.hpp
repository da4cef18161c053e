// Converts the program's limits of a history to those of the engine.
#pragma once

#include <remanence/history_options.hpp>

#include "history/step_tree.hpp"

namespace remanence::detail {

inline history::when_full as_internal(history_options::when_full then) {
    switch (then) {
    case history_options::when_full::refuse:
        return history::when_full::refuse;
    case history_options::when_full::oldest_go:
        break;
    }
    return history::when_full::oldest_go;
}

inline history_options::when_full as_public(history::when_full then) {
    switch (then) {
    case history::when_full::refuse:
        return history_options::when_full::refuse;
    case history::when_full::oldest_go:
        break;
    }
    return history_options::when_full::oldest_go;
}

/// Limits that the program does not give have defaults.
inline history::limits limits_of(const history_options& given) {
    history::limits most{given.bytes_max, given.steps_max, as_internal(given.then)};
    if (most.bytes_max == 0 && most.steps_max == 0)
        most.bytes_max = history_options::k_bytes_max_by_default;
    return most;
}

} // namespace remanence::detail
