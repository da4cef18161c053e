#pragma once

#include <remanence/containers/btree_map.hpp>
