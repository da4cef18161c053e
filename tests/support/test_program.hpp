// What test_program.cpp does in each test program, for those that have handlers of fatal signals themselves.
#pragma once

namespace remanence::test {

/// Writes the command that repeats the test that runs to standard error. A handler of a signal may call it.
void say_how_to_repeat() noexcept;

} // namespace remanence::test
