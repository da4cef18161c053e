#pragma once

#include <remanence/types/layout_number.hpp>
