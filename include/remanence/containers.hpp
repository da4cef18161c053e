#pragma once

#include <remanence/containers/standard.hpp>
