// Precompiled for the test programs and what they run (remanence_compile_as_test), for speed alone: every test includes what it uses, which
// the debug preset checks by doing without.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>
