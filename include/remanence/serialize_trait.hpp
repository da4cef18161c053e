#pragma once

#include <remanence/types/serialize_trait.hpp>
