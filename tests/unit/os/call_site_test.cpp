// Whatever changes a file or a directory asks for the name of its call site first: without one there is no such function.
// That a name must be there when the program is compiled, and not empty, is for tests/sites.
#include "os/file.hpp"

#include <gtest/gtest.h>

namespace remanence::os {
namespace {

using byte_span = std::span<const std::byte>;

// clang-format off
template <class F> concept writes_unnamed = requires(F& f, byte_span b) { f.write(0, b); };
template <class F> concept writes_directly_unnamed = requires(F& f, byte_span b) { f.write_direct(0, b); };
template <class F> concept writes_durably_unnamed =
    requires(F& f, byte_span b) { f.write_durable(0, b); } || requires(F& f, byte_span b) { f.write_durable("test", 0, b); };
template <class F> concept syncs_unnamed = requires(F& f) { f.sync(); };
template <class F> concept resizes_unnamed = requires(F& f) { f.resize(std::uint64_t{1}); };
template <class F> concept reserves_unnamed = requires(F& f) { f.reserve(0, 1); };
template <class F> concept punches_unnamed = requires(F& f) { f.punch(0, 1); };
template <class F> concept renames_unnamed = requires(F& f, std::string s) { f.rename_to_new(s, s); };
template <class F> concept renames_over_unnamed = requires(F& f, std::string s) { f.rename_over(s, s); };
template <class F> concept removes_unnamed = requires(F& f, std::string s, file& g) { f.remove(s, g); };
template <class F> concept syncs_directories_unnamed = requires(F& f, std::string s) { f.sync_directory(s); };

template <class F> concept changes_named = requires(F& f, byte_span b) {
    f.write("test", 0, b); f.write_direct("test", 0, b); f.write_durable("test", "test", 0, b); f.sync("test");
    f.resize("test", 1); f.reserve("test", 0, 1); f.punch("test", 0, 1);
};
template <class F> concept changes_directories_named = requires(F& f, std::string s, file& g) {
    f.rename_to_new("test", s, s); f.rename_over("test", s, s); f.remove("test", s, g); f.sync_directory("test", s);
};
// clang-format on

TEST(call_site, is_asked_for_by_whatever_changes_something) {
    static_assert(changes_named<file> && changes_directories_named<file_system>);
    static_assert(!writes_unnamed<file> && !writes_directly_unnamed<file> && !writes_durably_unnamed<file> &&
                  !syncs_unnamed<file> && !resizes_unnamed<file> && !reserves_unnamed<file> && !punches_unnamed<file>);
    static_assert(!renames_unnamed<file_system> && !renames_over_unnamed<file_system> &&
                  !removes_unnamed<file_system> && !syncs_directories_unnamed<file_system>);
    constexpr call_site named("log: record");
    EXPECT_EQ(std::string_view(named), "log: record");
}

} // namespace
} // namespace remanence::os
