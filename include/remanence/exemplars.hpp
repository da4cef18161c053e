#pragma once

#include <remanence/types/exemplars.hpp>
