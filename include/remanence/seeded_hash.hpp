#pragma once

#include <remanence/containers/seeded_hash.hpp>
