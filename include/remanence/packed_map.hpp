#pragma once

#include <remanence/containers/packed_map.hpp>
