// Structs whose members' names are asked for, under options that keep the compiler from knowing that addresses are not null.

#include <remanence/remanence.hpp>
#include <remanence/types/reflect.hpp>

namespace rem = remanence;

struct address {
    rem::string street;
    rem::string city;
    int zip;
};
struct with_bits {
    unsigned first : 4;
    unsigned second : 4;
    int third;
};

rem::multimap<rem::string, address>& book_of(rem::heap& heap) {
    return heap.root<rem::multimap<rem::string, address>>("book");
}
static_assert(rem::reflect<address>.member_count == 3 && rem::reflect<with_bits>.kind == rem::type_kind_of::members);
static_assert(rem::reflect<rem::string>.kind == rem::type_kind_of::container);
with_bits& bits_of(rem::heap& heap) { return heap.root<with_bits>("bits"); }
