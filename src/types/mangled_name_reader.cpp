// Tells if other programs can name a type. Reads mangled names by the grammar of the Itanium C++ ABI (section 5.1).
#include <remanence/types/detail/fingerprint.hpp>

#include "types/demangled.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace remanence::detail {

namespace {

/// Reads the mangled name of a type up to the first part that no other program can name.
///
/// It must follow the grammar instead of looking for letters: a 'Z' may also be a character of an identifier. It does
/// not follow expressions in template arguments.
class mangled_name_reader {
public:
    explicit mangled_name_reader(std::string_view mangled) : rest_(mangled) {}

    enum class verdict { nameable, unnameable, not_understood };

    verdict read() {
        if (type() && rest_.empty())
            return verdict::nameable;
        return unnameable_ ? verdict::unnameable : verdict::not_understood;
    }

private:
    // Each function returns false if the reading ends, because a part cannot be named or is of a form that this class
    // does not read.

    bool type() { // NOLINT(misc-no-recursion): types nest
        for (;;) {
            if (rest_.empty())
                return false;
            const char first = rest_.front();
            if (std::string_view("rVKPROCG").find(first) != std::string_view::npos) { // qualifiers, *, &, &&
                skip(1);
            } else if (first == 'U') { // vendor qualifier
                skip(1);
                if (!source_name())
                    return false;
                if (starts_with('I') && !template_arguments())
                    return false;
            } else {
                return unqualified_type(first);
            }
        }
    }

    bool unqualified_type(char first) {
        if (is_digit(first))
            return name();
        switch (first) {
        case 'N':
            return nested_name();
        case 'S':
            return name();
        case 'Z':
            return not_nameable(); // local to a function
        case 'A':
            return array_type();
        case 'M':
            skip(1);
            return type() && type();
        case 'F':
            return function_type();
        case 'D':
            return type_of_two_letters();
        case 'T':
            return elaborated_type();
        case 'u':
            skip(1);
            return source_name() && (!starts_with('I') || template_arguments());
        default:
            if (std::string_view("vwbcahstijlmxynofdegz").find(first) == std::string_view::npos)
                return false;
            skip(1);
            return true;
        }
    }

    /// Reads <unscoped-name> or <substitution>, with template arguments.
    bool name() {
        if (starts_with('S')) {
            skip(1);
            if (starts_with('t')) { // std::
                skip(1);
                if (!unqualified_name())
                    return false;
            } else if (!substitution()) {
                return false;
            }
        } else if (!unqualified_name()) {
            return false;
        }
        return !starts_with('I') || template_arguments();
    }

    bool nested_name() {
        skip(1);
        while (!rest_.empty() && std::string_view("rVKRO").find(rest_.front()) != std::string_view::npos)
            skip(1);
        while (!starts_with('E')) {
            if (rest_.empty())
                return false;
            if (starts_with('I')) {
                if (!template_arguments())
                    return false;
            } else if (starts_with('S')) {
                skip(1);
                if (starts_with('t')) {
                    skip(1);
                } else if (!substitution()) {
                    return false;
                }
            } else if (starts_with('T')) {
                if (!template_parameter())
                    return false;
            } else if (!unqualified_name()) {
                return false;
            }
        }
        skip(1);
        return true;
    }

    bool unqualified_name() {
        if (rest_.starts_with("Ul") || rest_.starts_with("Ut"))
            return not_nameable(); // closure, unnamed type
        if (starts_with('L'))
            skip(1); // internal linkage
        if (!source_name())
            return false;
        while (starts_with('B')) { // ABI tags
            skip(1);
            if (!source_name())
                return false;
        }
        return true;
    }

    bool source_name() {
        const std::optional<std::size_t> length = number();
        if (!length || *length == 0 || *length > rest_.size())
            return false;
        const std::string_view identifier = rest_.substr(0, *length);
        if (identifier.starts_with("_GLOBAL__N") || identifier.starts_with("_GLOBAL_.N") ||
            identifier.starts_with("_GLOBAL_$N")) {
            return not_nameable(); // anonymous namespace
        }
        if (identifier.starts_with("$_") || identifier.starts_with("._anon")) { // clang's and g++'s unnamed types
            return not_nameable();
        }
        skip(*length);
        return true;
    }

    /// Reads what follows the S: one of the abbreviations, or [0-9A-Z]* _
    bool substitution() {
        if (rest_.empty())
            return false;
        if (std::string_view("absiod").find(rest_.front()) != std::string_view::npos) {
            skip(1);
            return true;
        }
        while (!rest_.empty() && (is_digit(rest_.front()) || (rest_.front() >= 'A' && rest_.front() <= 'Z')))
            skip(1);
        return take('_');
    }

    bool template_parameter() {
        skip(1);
        (void)number();
        return take('_');
    }

    bool template_arguments() { // NOLINT(misc-no-recursion)
        skip(1);
        while (!starts_with('E')) {
            if (!template_argument())
                return false;
        }
        skip(1);
        return true;
    }

    bool template_argument() { // NOLINT(misc-no-recursion)
        if (starts_with('J'))
            return template_arguments(); // an argument pack has the same form
        if (starts_with('L'))
            return literal();
        return type();
    }

    /// Reads L <type> <value> E
    bool literal() {
        skip(1);
        if (starts_with('_') || !type())
            return false;                        // the address of an object or function
        const std::size_t end = rest_.find('E'); // values are digits, lower-case hexadecimal ones, n and _
        if (end == std::string_view::npos)
            return false;
        skip(end + 1);
        return true;
    }

    bool array_type() {
        skip(1);
        (void)number();
        return take('_') && type();
    }

    bool function_type() { // NOLINT(misc-no-recursion)
        skip(1);
        if (starts_with('Y'))
            skip(1); // extern "C"
        while (!starts_with('E')) {
            if (rest_.starts_with("RE") || rest_.starts_with("OE")) { // & or && at the end
                skip(1);
                break;
            }
            if (!type())
                return false;
        }
        skip(1);
        return true;
    }

    bool type_of_two_letters() {
        if (rest_.size() < 2)
            return false;
        const char second = rest_[1];
        skip(2);
        if (std::string_view("defhiusacn").find(second) != std::string_view::npos)
            return true;
        switch (second) {
        case 'o':
        case 'x':
        case 'p':
            return type(); // noexcept or transaction-safe function, pack
        case 'v':          // vector
        case 'F':          // _FloatN
        case 'B': {        // _BitInt(N)
            if (!number())
                return false;
            if (second == 'F' && starts_with('b'))
                return skip(1), true;
            return take('_') && (second != 'v' || type());
        }
        default:
            return false;
        }
    }

    bool elaborated_type() {
        if (rest_.size() > 1 && std::string_view("sue").find(rest_[1]) != std::string_view::npos) {
            skip(2);
            return name();
        }
        return template_parameter();
    }

    std::optional<std::size_t> number() {
        if (rest_.empty() || !is_digit(rest_.front()))
            return std::nullopt;
        std::size_t value = 0;
        while (!rest_.empty() && is_digit(rest_.front())) {
            value = value * 10 + static_cast<std::size_t>(rest_.front() - '0');
            if (value > (std::size_t{1} << 32))
                return std::nullopt;
            skip(1);
        }
        return value;
    }

    bool not_nameable() {
        unnameable_ = true;
        return false;
    }
    [[nodiscard]] bool starts_with(char character) const { return !rest_.empty() && rest_.front() == character; }
    bool take(char character) {
        if (!starts_with(character))
            return false;
        skip(1);
        return true;
    }
    void skip(std::size_t count) { rest_.remove_prefix(count); }
    static bool is_digit(char character) { return character >= '0' && character <= '9'; }

    std::string_view rest_;
    bool unnameable_ = false;
};

} // namespace

bool is_nameable(const char* mangled) {
    using verdict = mangled_name_reader::verdict;
    const verdict found = mangled_name_reader(mangled).read();
    if (found != verdict::not_understood)
        return found == verdict::nameable;
    // There is an expression among the template arguments. The demangler's words for unnamed types are unmistakable,
    // except for types local to a function; these look like "f()::name".
    const std::string name = demangle(mangled);
    return name.find("(anonymous namespace)") == std::string::npos && name.find("{lambda") == std::string::npos &&
           name.find("{unnamed") == std::string::npos && name.find("'lambda") == std::string::npos &&
           name.find("'unnamed") == std::string::npos && name.find(")::") == std::string::npos;
}

} // namespace remanence::detail
