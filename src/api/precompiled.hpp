// Precompiled header for the files of api and capi that are compiled for size; all others use base/precompiled.hpp. It
// only saves time. It includes what most of these files include, and nothing that they may not use, since they may use
// any layer.
#pragma once

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "base/precompiled.hpp"

#include <remanence/remanence.hpp>
