// Precompiled for what is compiled for size of the layers api and capi, for speed alone, as base/precompiled.hpp is for all others: what
// most of their files include. They may include any layer, so nothing is seen through it that they may not see.
#pragma once

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "base/precompiled.hpp"

#include <remanence/remanence.hpp>
