// An entry of Remanence's own containers: its strings have room for 23 characters in place.
#pragma once

#include <remanence/remanence.hpp>

struct compact_address {
    remanence::string_pi street, city, phone;
};
