// Precompiled header for the files of api and capi that are compiled for size. It only saves time, like
// base/precompiled.hpp for all others: it includes what most of these files include. They may include any layer, so it
// shows them nothing that they may not see.
#pragma once

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "base/precompiled.hpp"

#include <remanence/remanence.hpp>
