#include "support/seed.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <string>

namespace remanence::test {

namespace {

std::optional<unsigned> given_seed() {
    const char* const text = std::getenv("REMANENCE_SEED");
    if (text == nullptr)
        return {};
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(text, &end, 10);
    if (end == text || *end != '\0' || std::to_string(number) != text) {
        std::cerr << "REMANENCE_SEED must be a decimal number, and is \"" << text << "\"\n";
        std::exit(2);
    }
    return static_cast<unsigned>(number ^ (number >> 32));
}

struct seeds {
    std::optional<unsigned> given = given_seed();
    unsigned of_this_run = given ? *given : std::random_device{}();
    std::atomic<bool> is_usual_taken = false; // in this test
    bool is_usual_taken_by_all = false;       // before the first test
    bool is_first_test = true;
};

seeds& the_seeds() {
    static seeds all;
    return all;
}

} // namespace

void draw_another_seed() {
    if (!the_seeds().given)
        the_seeds().of_this_run = std::random_device{}();
}

unsigned random_seed() { return the_seeds().of_this_run; }

std::uint64_t seed_or(std::uint64_t usual) {
    seeds& all = the_seeds();
    if (!all.given) {
        all.is_usual_taken = true;
        return usual;
    }
    std::seed_seq both{std::uint64_t{*all.given}, usual};
    unsigned made = 0;
    both.generate(&made, &made + 1);
    return made;
}

void begin_test_with_seeds() {
    seeds& all = the_seeds();
    if (all.is_first_test)
        all.is_usual_taken_by_all = all.is_usual_taken;
    all.is_first_test = false;
    all.is_usual_taken = all.is_usual_taken_by_all;
}

bool is_repeated_by_seed() { return !the_seeds().is_usual_taken; }

} // namespace remanence::test
