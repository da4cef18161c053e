#include "types/function_index.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>

#include <dlfcn.h>

extern "C" int function_index_test_function(int n);
int function_index_test_function(int n) { return n; }

namespace remanence::types {
namespace {

std::uint64_t address_of(auto* function) { return std::bit_cast<std::uint64_t>(function); }

int of_this_program(int n) { return n + 1; }

/// A library that the program does not need, and a function of it.
constexpr const char* k_library = "libresolv.so.2";
constexpr const char* k_function = "ns_initparse";

} // namespace

TEST(function_index, finds_functions_of_the_program_and_of_libraries_that_it_needs) {
    function_index index;
    index.renew();
    for (const std::uint64_t each :
         {address_of(&of_this_program), address_of(&std::set_terminate), address_of(&::ldiv)}) {
        const auto number = index.number_of(each);
        ASSERT_TRUE(number) << number.why().message;
        EXPECT_TRUE(number->is_permanent);
        const auto function = index.function_of(number->value);
        ASSERT_TRUE(function) << function.why().message;
        EXPECT_EQ(function->value, each);
        EXPECT_TRUE(function->is_permanent);
    }
    auto name = index.name_of(index.number_of(address_of(&of_this_program))->value);
    ASSERT_TRUE(name);
    EXPECT_NE(name->find("of_this_program"), std::string::npos) << *name;
}

TEST(function_index, finds_functions_of_other_libraries_while_they_are_loaded) {
    function_index index;
    index.renew();
    void* const library = ::dlopen(k_library, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    const auto address = reinterpret_cast<std::uint64_t>(::dlsym(library, k_function));
    ASSERT_NE(address, 0U);
    const std::uint64_t before = index.generation();
    EXPECT_FALSE(index.number_of(address));
    index.renew();
    EXPECT_NE(index.generation(), before);
    const auto number = index.number_of(address);
    ASSERT_TRUE(number) << number.why().message;
    EXPECT_FALSE(number->is_permanent);
    EXPECT_EQ(index.function_of(number->value)->value, address);
    EXPECT_FALSE(index.function_of(number->value)->is_permanent);
    ::dlclose(library);
    index.renew();
    EXPECT_FALSE(index.function_of(number->value));
    EXPECT_TRUE(index.number_of(address_of(&of_this_program)));
}

// Heaps hold these numbers.
TEST(function_index, numbers_never_change) {
    function_index index;
    index.renew();
    EXPECT_EQ(index.number_of(address_of(&function_index_test_function))->value, 7812257854451309451U);
}

} // namespace remanence::types
