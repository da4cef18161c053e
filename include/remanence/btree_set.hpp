#pragma once

#include <remanence/containers/btree_set.hpp>
