#pragma once

#include <remanence/containers/string_pi.hpp>
