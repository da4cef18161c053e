// The steps of sections.hpp, run through all their orders: what must hold in each state of a tiny heap, and that it is noticed when
// something is left out.
//
// Within the bounds of `make test` all explorations together have 1,924,803 states, no violation; 29 ways to weaken the protocol are each noticed.
#include "unit/share/tiny_participants.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <span>
#include <string>

namespace remanence::share::tiny {
namespace {

exploration::outcome explore(const bounds& given, std::size_t limit = ~std::size_t{0}) {
    model explored(given);
    return exploration::explore(explored, limit);
}
std::string way_of(const exploration::outcome& found) {
    std::string text = found.violation + "\n";
    for (const std::string& each : found.way)
        text += "  " + each + "\n";
    return text;
}

struct claim {
    const char* name;
    bounds within;
};

void expect_no_violation(std::span<const claim> claims) {
    for (const claim& each : claims) {
        const exploration::outcome found = explore(each.within);
        EXPECT_TRUE(found.is_complete) << way_of(found);
        EXPECT_EQ(found.violation, "") << each.name << ": " << way_of(found);
        std::cout << each.name << ": " << found.states << " states, " << found.steps << " steps\n";
    }
}

TEST(sections_exploration_no_sanitizer, no_order_of_steps_and_deaths_breaks_a_promise) {
    const claim claims[] = {
        {"1 reader, 2 versions, 1 death", {.versions = 2}},
        {"2 readers, 1 version", {.versions = 1, .readers = 2, .deaths = 0}},
        {"2 writers, 2 versions, 1 death", {.versions = 2, .readers = 0, .writers = 2}},
        {"batches, 1 reader, 3 versions", {.deaths = 0, .batches = true}},
        {"lazy commits, 1 reader, 2 versions", {.versions = 2, .deaths = 0, .lazy = true}},
        {"copies for checkpoints, 1 reader, 2 versions", {.versions = 2, .deaths = 0, .copies_for_checkpoints = true}},
        {"superblocks of regions, 1 reader, 1 version", {.versions = 1, .deaths = 0, .superblocks_of_regions = true}},
        {"1 guest, 2 versions", {.versions = 2, .deaths = 0, .guests = true}},
    };
    expect_no_violation(claims);
}

// Minutes, and gigabytes of memory: `make soak` sets it.
TEST(sections_exploration_no_sanitizer, nor_in_larger_bounds) {
    if (std::getenv("REMANENCE_EXPLORE_MORE") == nullptr)
        GTEST_SKIP() << "REMANENCE_EXPLORE_MORE is not set";
    const claim claims[] = {
        {"1 reader, 3 versions, 1 death", {}},
        {"1 reader, 2 versions, 2 deaths", {.versions = 2, .deaths = 2}},
        {"2 readers, 2 versions, 1 death", {.versions = 2, .readers = 2}},
        {"2 writers, 1 reader, 2 versions, 1 death", {.versions = 2, .writers = 2}},
        {"1 guest, 3 versions, 1 death", {.guests = true}},
        {"2 guests, 2 versions, 1 death", {.versions = 2, .readers = 2, .guests = true}},
        {"batches, 1 reader, 3 versions, 1 death", {.batches = true}},
        {"lazy commits, 1 reader, 3 versions, 1 death", {.lazy = true}},
        {"copies for checkpoints, 1 reader, 3 versions, 1 death", {.copies_for_checkpoints = true}},
        {"superblocks of regions, 1 reader, 2 versions, 1 death", {.versions = 2, .superblocks_of_regions = true}},
    };
    expect_no_violation(claims);
}

struct weakening {
    const char* name;
    bounds within;
    const char* noticed;
};

TEST(sections_exploration_no_sanitizer, whatever_is_left_out_is_noticed) {
    const char* const k_passed = "the image has passed the version that a reader pinned";
    const char* const k_no_record = "a record that a reader needs is not there";
    const char* const k_other_map = "a reader finds another map than its superblock names";
    const char* const k_not_its_version = "a reader in its section does not see its version";
    const weakening all[] = {
        {"the target is not looked at after the pin",
         {.wrong = fault::no_recheck_after_pin, .log_slots = 3, .deaths = 0},
         k_passed},
        {"the pin becomes visible after that look",
         {.wrong = fault::pin_without_fence, .log_slots = 3, .deaths = 0},
         k_passed},
        {"checkpoints do not look at pins", {.wrong = fault::apply_past_pins, .log_slots = 3, .deaths = 0}, k_passed},
        {"releases do not look at holds", {.wrong = fault::release_below_holds, .deaths = 0}, k_no_record},
        {"nothing is held", {.wrong = fault::no_hold, .deaths = 0}, k_no_record},
        {"the superblock is not looked at again after the hold",
         {.wrong = fault::no_reread_after_hold, .deaths = 0},
         k_no_record},
        {"the target is not looked at after a guest's pin",
         {.wrong = fault::no_recheck_after_pin, .log_slots = 3, .deaths = 0, .guests = true},
         k_passed},
        {"checkpoints do not look at guests' pins",
         {.wrong = fault::apply_past_pins, .log_slots = 3, .deaths = 0, .guests = true},
         k_passed},
        {"releases do not look at guests' holds",
         {.wrong = fault::release_below_holds, .deaths = 0, .guests = true},
         k_no_record},
        {"guests hold nothing", {.wrong = fault::no_hold, .deaths = 0, .guests = true}, k_no_record},
        {"the superblock is not looked at again after a guest's hold",
         {.wrong = fault::no_reread_after_hold, .deaths = 0, .guests = true},
         k_no_record},
        {"the next checkpoint does not wait for the release",
         {.wrong = fault::next_checkpoint_below_holds, .versions = 1, .superblocks_of_regions = true},
         k_other_map},
        {"pins of the dead count",
         {.wrong = fault::pins_of_dead_count, .versions = 2, .restarts = 0},
         "somebody waits for what will never be"},
        {"the log is overwritten by the current checkpoint",
         {.wrong = fault::room_by_current_checkpoint, .deaths = 0},
         k_no_record},
        {"commits are seen before they are durable",
         {.wrong = fault::published_before_written, .has_checkpointer = false},
         "recovery: a version that a reader saw vanishes"},
        {"lazy commits are seen before they are written",
         {.wrong = fault::published_before_written, .has_checkpointer = false, .lazy = true},
         "recovery: a version that a reader saw vanishes"},
        {"a copy is reused before its checkpoint",
         {.wrong = fault::copy_reused_early, .deaths = 0, .has_checkpointer = false, .kinds = {2}},
         k_not_its_version},
        {"lazy commits are applied before they are durable",
         {.wrong = fault::apply_before_durable, .readers = 0, .deaths = 0, .lazy = true},
         "recovery: yields no committed version"},
        {"a superblock before what it names",
         {.wrong = fault::superblock_before_pages, .readers = 0, .deaths = 0},
         "recovery: the map is not the superblock's"},
        {"a release before its superblock is durable",
         {.wrong = fault::release_before_superblock, .readers = 0, .deaths = 0},
         "recovery: an acknowledged commit is lost"},
        {"the superblock as memory says",
         {.wrong = fault::checkpointer_trusts_memory, .log_slots = 3, .readers = 0, .kinds = {2, 3, 0, 1}},
         "recovery: yields no committed version"},
        {"a dead one's superblock is not made durable",
         {.wrong = fault::checkpointer_does_not_confirm, .readers = 0},
         "recovery: an acknowledged commit is lost"},
        {"copies are dropped by what is declared",
         {.wrong = fault::copies_dropped_by_target, .deaths = 0},
         k_not_its_version},
        {"a view that checkpoints have passed goes on",
         {.wrong = fault::no_return_to_the_image, .deaths = 0},
         k_no_record},
        {"a pin is raised without copies",
         {.wrong = fault::pin_raised_without_copies, .log_slots = 3, .deaths = 0, .copies_for_checkpoints = true},
         k_not_its_version},
    };
    for (const weakening& each : all) {
        const exploration::outcome found = explore(each.within);
        EXPECT_EQ(found.violation, each.noticed) << each.name << ": " << way_of(found);
        std::cout << each.name << ": " << found.states << " states\n";
    }
}

} // namespace
} // namespace remanence::share::tiny
