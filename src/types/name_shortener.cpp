// Makes the names of types readable: demangles them, and omits default template arguments.
#include <remanence/types/detail/fingerprint.hpp>

#include "types/demangled.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::detail {

namespace {

/// Shortens a demangled name, which it reads as alternating pieces: plain text, and the printed arguments of a
/// template.
class name_shortener {
public:
    explicit name_shortener(std::string_view demangled) : rest_(demangled) {}

    /// Returns the shortened name; nothing if the name cannot be parsed (an operator< or > in an expression, for
    /// example).
    std::optional<std::string> run() {
        std::string result = type("");
        if (failed_ || !rest_.empty())
            return std::nullopt;
        return result;
    }

private:
    /// Reads up to one of the characters in `ends` that lies outside all brackets. Does not consume that character.
    std::string type(std::string_view ends) { // NOLINT(misc-no-recursion): types nest
        std::string result;
        while (!rest_.empty() && !failed_ && ends.find(rest_.front()) == std::string_view::npos) {
            const char next = rest_.front();
            rest_.remove_prefix(1);
            if (next == '<') {
                template_arguments(result);
            } else if (next == '(') {
                result += '(';
                result += type(")");
                if (rest_.empty())
                    failed_ = true;
                else
                    rest_.remove_prefix(1), result += ')';
            } else if (next == '>' || next == ')') {
                failed_ = true;
            } else {
                result += next;
                strip_inline_namespace(result);
            }
        }
        while (!result.empty() && result.back() == ' ')
            result.pop_back();
        result.erase(0, std::min(result.find_first_not_of(' '), result.size()));
        return result;
    }

    /// Reads arguments and their '>' and appends them to `result`, which ends in the template's name.
    void template_arguments(std::string& result) { // NOLINT(misc-no-recursion)
        std::vector<std::string> arguments;
        for (;;) {
            arguments.push_back(type(",>"));
            if (failed_ || rest_.empty()) {
                failed_ = true;
                return;
            }
            const char end = rest_.front();
            rest_.remove_prefix(1);
            if (end == '>')
                break;
        }
        const std::size_t start = result.find_last_of(" (&*,") + 1; // npos + 1 is 0
        std::string name = result.substr(start);
        result.resize(start);
        leave_out_defaults(name, arguments);
        result += name;
        if (arguments.empty() || name == "rem::string" || name == "std::string")
            return;
        result += '<';
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            if (i != 0)
                result += ", ";
            result += arguments[i];
        }
        result += '>';
    }

    static void strip_inline_namespace(std::string& text) {
        constexpr std::array<std::pair<std::string_view, std::string_view>, 4> spellings{{
            {"std::__cxx11::", "std::"},
            {"std::__1::", "std::"},
            {"std::__8::", "std::"},
            {"remanence::", "rem::"},
        }};
        for (const auto& [from, to] : spellings) {
            if (!text.ends_with(from))
                continue;
            const std::size_t start = text.size() - from.size();
            if (start != 0 && (text[start - 1] == ':' || is_identifier(text[start - 1])))
                continue;
            text.replace(start, from.size(), to);
        }
    }

    static bool is_identifier(char c) {
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }

    /// Drops the arguments that are the defaults of our alias (then `std::` becomes `rem::`) or of the std template.
    static void leave_out_defaults(std::string& name, std::vector<std::string>& arguments) {
        if (name.starts_with("rem::btree_"))
            return leave_out_defaults_of_btree(name, arguments);
        if (name.starts_with("rem::basic_") && arguments.back() == "rem::allocator<char>") { // string_pi, packed_map
            name.erase(name.find("basic_"), 6);
            arguments.clear();
            return;
        }
        if (name == "rem::hash_map" || name == "rem::hash_set")
            return leave_out_defaults_of_hash(name, arguments);
        if (name == "rem::vector_pi")
            return drop_last(arguments, 2, "rem::allocator<" + arguments.front() + ">");
        if (!name.starts_with("std::"))
            return;
        const std::string_view bare = std::string_view(name).substr(5);
        if (bare == "basic_string")
            return shorten_string(name, arguments);
        if (bare == "unique_ptr") {
            return drop_last(arguments, 2, "std::default_delete<" + arguments.front() + ">");
        }
        const bool sequence = bare == "vector" || bare == "deque" || bare == "list" || bare == "forward_list";
        const bool set = bare.ends_with("set") && bare != "bitset";
        const bool map = bare.ends_with("map");
        if (!sequence && !set && !map)
            return;

        const std::string value =
            map && arguments.size() > 1 ? "std::pair<" + arguments[0] + " const, " + arguments[1] + ">" : arguments[0];
        const bool ours = arguments.back() == "rem::allocator<" + value + ">";
        if (!ours && arguments.back() != "std::allocator<" + value + ">")
            return;
        arguments.pop_back();
        if (ours)
            name.replace(0, 3, "rem");

        const std::size_t keyed = sequence ? 0 : map ? 2 : 1; // arguments that have no default
        if (sequence)
            return;
        const std::string of_key = "<" + arguments[0] + ">";
        const std::string_view anything = ours ? std::string_view("<void>") : std::string_view(of_key);
        if (name.starts_with("rem::unordered_") || name.starts_with("std::unordered_")) {
            drop_last(arguments, keyed + 2, "std::equal_to" + std::string(anything));
            drop_last(arguments, keyed + 1, (ours ? "rem::hash" : "std::hash") + of_key);
        } else {
            drop_last(arguments, keyed + 1, "std::less" + std::string(anything));
        }
    }

    static void leave_out_defaults_of_btree(const std::string& name, std::vector<std::string>& arguments) {
        const std::size_t keyed = name.ends_with("map") ? 2 : 1;
        if (arguments.size() != keyed + 3)
            return;
        const std::string value =
            keyed == 2 ? "std::pair<" + arguments[0] + " const, " + arguments[1] + ">" : arguments[0];
        drop_last(arguments, keyed + 3, "0ul");
        drop_last(arguments, keyed + 2, "rem::allocator<" + value + ">");
        drop_last(arguments, keyed + 1, "std::less<void>");
    }

    static void leave_out_defaults_of_hash(const std::string& name, std::vector<std::string>& arguments) {
        const std::size_t keyed = name.ends_with("map") ? 2 : 1;
        if (arguments.size() != keyed + 3)
            return;
        const std::string value =
            keyed == 2 ? "std::pair<" + arguments[0] + " const, " + arguments[1] + ">" : arguments[0];
        drop_last(arguments, keyed + 3, "rem::allocator<" + value + ">");
        drop_last(arguments, keyed + 2, "std::equal_to<void>");
        drop_last(arguments, keyed + 1, "rem::seeded_hash<" + arguments[0] + ">");
    }

    static void shorten_string(std::string& name, const std::vector<std::string>& arguments) {
        if (arguments.size() != 3 || arguments[0] != "char" || arguments[1] != "std::char_traits<char>")
            return;
        if (arguments[2] == "rem::allocator<char>")
            name = "rem::string";
        if (arguments[2] == "std::allocator<char>")
            name = "std::string";
    }

    static void drop_last(std::vector<std::string>& arguments, std::size_t count, std::string_view value) {
        if (arguments.size() == count && arguments.back() == value)
            arguments.pop_back();
    }

    std::string_view rest_;
    bool failed_ = false;
};

} // namespace

std::string readable_name(const char* mangled) {
    std::string full = demangle(mangled);
    std::optional<std::string> shortened = name_shortener(full).run();
    return shortened ? *std::move(shortened) : full;
}

} // namespace remanence::detail
