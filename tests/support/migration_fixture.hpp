// A heap whose roots are migrated.
#pragma once

#include "support/temp_dir.hpp"

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace remanence::test {

class migrated_heap : public testing::Test {
protected:
    temp_dir directory_ = temp_dir::in_memory();
    heap heap_ = heap::create(directory_ / "h");

    void reopen() {
        heap_.close();
        heap_ = heap::open_existing(directory_ / "h");
    }
    /// The message of a migration that is refused for this reason; it must leave the heap as it was. "migrated": it is not refused.
    template <class T>
    std::string refused(std::string_view name, errc code, const migration_options& how = {}) {
        const auto version = heap_.version();
        const auto allocated = heap_.stats().allocated_bytes;
        try {
            (void)migrate<T>(heap_, name, how);
        } catch (const error& stop) {
            EXPECT_EQ(stop.reason(), code) << stop.what();
            EXPECT_EQ(heap_.version(), version);
            EXPECT_EQ(heap_.stats().allocated_bytes, allocated);
            EXPECT_TRUE(heap_.verify().clean());
            return stop.what();
        }
        return "migrated";
    }
};

} // namespace remanence::test
