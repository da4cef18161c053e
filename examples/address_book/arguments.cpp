#include "arguments.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <filesystem>
#include <iostream>
#include <iterator>

arguments::arguments(int count, const char* const words[]) : options_(words + 1, words + count) {
    const auto end = std::find(options_.begin(), options_.end(), "--");
    if (end == options_.end())
        return;
    literal_.assign(std::next(end), options_.end());
    options_.erase(end, options_.end());
}

bool arguments::flag(std::string_view name) { return std::erase(options_, "--" + std::string(name)) > 0; }

std::optional<std::string> arguments::value(std::string_view name) {
    const std::string option = "--" + std::string(name);
    std::optional<std::string> result;
    for (auto word = options_.begin(); word != options_.end();) {
        if (word->starts_with(option + "=")) {
            result = word->substr(option.size() + 1);
            word = options_.erase(word);
        } else if (*word == option) {
            if (std::next(word) == options_.end())
                throw usage_error(option + " needs a value");
            result = *std::next(word);
            word = options_.erase(word, word + 2);
        } else {
            ++word;
        }
    }
    return result;
}

std::optional<std::uint64_t> arguments::number(std::string_view name, std::uint64_t least, std::uint64_t most) {
    const std::optional<std::string> text = value(name);
    if (!text)
        return {};
    std::uint64_t result = 0;
    const char* const end = text->data() + text->size();
    const auto parsed = std::from_chars(text->data(), end, result);
    if (parsed.ec != std::errc{} || parsed.ptr != end || result < least || result > most)
        throw usage_error("--" + std::string(name) + " takes a number from " + std::to_string(least) + " to " +
                          std::to_string(most) + ", not '" + *text + "'");
    return result;
}

std::vector<std::string> arguments::operands() {
    for (const std::string& word : options_)
        if (word.starts_with("-") && word.size() > 1)
            throw usage_error("unknown option " + word);
    options_.insert(options_.end(), literal_.begin(), literal_.end());
    literal_.clear();
    return options_;
}

std::optional<std::string> arguments::new_file() {
    const std::vector<std::string> files = operands();
    if (files.size() > 1)
        throw usage_error("one FILE is enough");
    if (files.empty())
        return {};
    if (std::filesystem::exists(files[0]))
        throw usage_error(files[0] + " exists already; give a new FILE");
    return files[0];
}

int run_demo(std::string_view program, int count, const char* const words[], int (*run)(arguments& line)) {
    try {
        arguments line(count, words);
        return run(line);
    } catch (const usage_error& reason) {
        std::cerr << program << ": " << reason.what() << '\n' << program << " --help tells more\n";
        return 2;
    } catch (const std::exception& reason) {
        std::cerr << program << ": " << reason.what() << '\n';
        return 1;
    }
}
