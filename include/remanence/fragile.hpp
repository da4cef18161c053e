#pragma once

#include <remanence/types/fragile.hpp>
