#pragma once

#include <remanence/containers/vector_pi.hpp>
