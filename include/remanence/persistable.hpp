#pragma once

#include <remanence/types/persistable.hpp>
