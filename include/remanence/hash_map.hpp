#pragma once

#include <remanence/containers/hash_map.hpp>
