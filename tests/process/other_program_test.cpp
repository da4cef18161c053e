// A heap written by one program and used by another, whose code lies elsewhere: nothing in a heap may depend on where.
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <sys/wait.h>

namespace {

struct outcome {
    int status = -1;
    std::uint64_t text = 0; ///< address of a function both programs have
    std::uint64_t heap = 0;
};

outcome run(const std::string& program, const std::string& heap, int stage) {
    outcome result;
    const std::string command = "'" + program + "' '" + heap + "' " + std::to_string(stage);
    FILE* output = ::popen(command.c_str(), "r"); // NOLINT(cert-env33-c): the command is the test's own
    if (output == nullptr)
        return result;
    if (std::fscanf(output, "%lu %lu", &result.text, &result.heap) != 2)
        result = {}; // NOLINT(cert-err34-c): checked
    const int status = ::pclose(output);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
}

/// Type of an ELF file: 3 (ET_DYN) for what can be loaded anywhere.
int elf_type(const std::string& program) {
    std::ifstream file(program, std::ios::binary);
    std::array<char, 18> head{};
    file.read(head.data(), head.size());
    return file ? head[16] : -1;
}

int address_randomization() {
    std::ifstream file("/proc/sys/kernel/randomize_va_space");
    int mode = -1;
    file >> mode;
    return mode;
}

} // namespace

TEST(other_program, a_second_program_with_its_code_elsewhere_uses_what_the_first_wrote) {
    constexpr int k_position_independent = 3;
    ASSERT_EQ(elf_type(SHELF_WRITER), k_position_independent);
    ASSERT_EQ(elf_type(SHELF_READER), k_position_independent);
    std::cout << "address space randomization: " << address_randomization() << '\n';

    const remanence::test::temp_dir dir;
    const std::string heap = (dir / "shelves.rem").string();
    const outcome first = run(SHELF_WRITER, heap, 0);
    ASSERT_EQ(first.status, 0);
    const outcome second = run(SHELF_READER, heap, 1);
    ASSERT_EQ(second.status, 0);
    EXPECT_NE(first.text, second.text);
    const outcome third = run(SHELF_WRITER, heap, 2);
    ASSERT_EQ(third.status, 0) << "the writer does not find what the reader changed";
    EXPECT_NE(second.text, third.text);
    const outcome fourth = run(SHELF_READER, heap, 3); // ends like a crash
    ASSERT_EQ(fourth.status, 0);
    EXPECT_NE(third.text, fourth.text);
    const outcome fifth = run(SHELF_WRITER, heap, 4);
    ASSERT_EQ(fifth.status, 0);

    for (const outcome& run : {first, second, third, fourth, fifth})
        EXPECT_EQ(run.heap, first.heap);
    std::cout << std::hex << "code at " << first.text << " and " << second.text << ", heap at " << first.heap
              << std::dec << '\n';
    if (address_randomization() > 0) {
        EXPECT_NE(first.text, third.text) << "the same program, yet in another place each time";
    }
}
