// A command line of operands and --options, as the tool and the demo need it. Depends on the standard library only.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// The person typed something that cannot be meant.
class usage_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Each call takes what it asks for out of the line; what nobody asked for is found by operands().
class arguments {
public:
    arguments(int count, const char* const words[]);

    /// Whether `--name` is there.
    bool flag(std::string_view name);
    /// The V of `--name V` or `--name=V`.
    std::optional<std::string> value(std::string_view name);
    /// The same as a number in [least, most].
    std::optional<std::uint64_t> number(std::string_view name, std::uint64_t least, std::uint64_t most);
    /// The words that are no options; all of those after `--`.
    std::vector<std::string> operands();
    /// The only operand, if there is one: a file that is to be made.
    std::optional<std::string> new_file();

private:
    std::vector<std::string> options_; ///< up to `--`
    std::vector<std::string> literal_; ///< after it
};

/// What main() of a demo returns: 2 for an error in the command line, 1 for any other, else what `run` returns. Says what is wrong on
/// standard error.
int run_demo(std::string_view program, int count, const char* const words[], int (*run)(arguments& line));
