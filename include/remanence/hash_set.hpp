#pragma once

#include <remanence/containers/hash_set.hpp>
