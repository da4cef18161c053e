// Precompiled header of the layers, only for speed. Every file still includes what it uses; the debug preset checks
// this by building without this header. It includes only the standard library, so that no layer sees another one
// through it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
