// Names, structures and hashes of types. Reads mangled names by the grammar of the Itanium C++ ABI (section 5.1).
#include <remanence/types/detail/fingerprint.hpp>

#include "base/checksum.hpp"
#include "types/type_description.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace remanence::detail {

namespace {

constexpr std::uint64_t k_structure_seed = 0x7374727563747572; // "structur": hashes of structures only

/// Reads the mangled name of a type up to the first part that no other program can name.
///
/// It must follow the grammar, not look for letters: a 'Z' may also be a character of an identifier. Expressions in
/// template arguments are the only thing not followed.
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
    // Each returns false when the reading ends here: something unnameable was found, or something not understood.

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

    /// <unscoped-name> or <substitution>, with template arguments.
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

    /// After the S: one of the abbreviations, or [0-9A-Z]* _
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

    /// L <type> <value> E
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

struct free_deleter {
    void operator()(char* text) const noexcept { std::free(text); } // NOLINT(cppcoreguidelines-no-malloc)
};

std::string demangle(const char* mangled) {
    int status = 0;
    const std::unique_ptr<char, free_deleter> text(abi::__cxa_demangle(mangled, nullptr, nullptr, &status));
    return status == 0 && text ? std::string(text.get()) : std::string(mangled);
}

/// Text of a demangled name as alternating pieces: plain text, and the printed arguments of a template.
class name_shortener {
public:
    explicit name_shortener(std::string_view demangled) : rest_(demangled) {}

    /// The shortened name; nothing when it cannot be followed (an operator< or > in an expression, for example).
    std::optional<std::string> run() {
        std::string result = type("");
        if (failed_ || !rest_.empty())
            return std::nullopt;
        return result;
    }

private:
    /// Reads up to one of the characters in `ends`, which is not taken, outside all brackets.
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

bool is_nameable(const char* mangled) {
    using verdict = mangled_name_reader::verdict;
    const verdict found = mangled_name_reader(mangled).read();
    if (found != verdict::not_understood)
        return found == verdict::nameable;
    // An expression among the template arguments. The demangler's words for what has no name are unmistakable, but for
    // types local to a function; these look like "f()::name".
    const std::string name = demangle(mangled);
    return name.find("(anonymous namespace)") == std::string::npos && name.find("{lambda") == std::string::npos &&
           name.find("{unnamed") == std::string::npos && name.find("'lambda") == std::string::npos &&
           name.find("'unnamed") == std::string::npos && name.find(")::") == std::string::npos;
}

structure_writer::structure_writer() = default;
structure_writer::~structure_writer() = default;

std::uint32_t structure_writer::write(write_type type) {
    type(*this);
    return last_;
}

/// Types that consist of others and are told by these, not by name: one row for those that are alike.
std::uint32_t structure_writer::intern(types::type_row row) {
    const auto known = std::find(rows_.begin(), rows_.end(), row);
    last_ = static_cast<std::uint32_t>(known - rows_.begin());
    if (known == rows_.end())
        rows_.push_back(std::move(row));
    return last_;
}

void structure_writer::plain(const std::type_info& type) {
    text_1_ += type.name();
    intern({.kind = types::type_kind::plain, .name = type.name()});
}

void structure_writer::reference(const std::type_info& type) {
    text_1_ += '&';
    text_1_ += type.name();
    intern({.kind = types::type_kind::reference, .name = type.name()});
}

void structure_writer::pointer(write_type pointee) {
    text_1_ += '*';
    intern({.kind = types::type_kind::pointer, .parts = {{.type = write(pointee)}}});
}

void structure_writer::array(std::size_t extent, write_type element) {
    text_1_ += extent == 0 ? "[] " : '[' + std::to_string(extent) + "] ";
    intern({.kind = types::type_kind::array, .extent = extent, .parts = {{.type = write(element)}}});
}

void structure_writer::object(const std::type_info& type, std::size_t size, std::size_t alignment,
                              std::uint32_t layout_number, write_type contents) {
    text_1_ += type.name();
    const auto known = std::find_if(rows_.begin(), rows_.end(), [&](const types::type_row& row) {
        return (row.kind == types::type_kind::object || row.kind == types::type_kind::members) &&
               row.name == type.name();
    });
    const auto index = static_cast<std::uint32_t>(known - rows_.begin());
    if (known == rows_.end()) {
        text_1_ += ' ' + std::to_string(size) + '/' + std::to_string(alignment);
        rows_.push_back({.kind = types::type_kind::object,
                         .name = type.name(),
                         .size = size,
                         .alignment = alignment,
                         .number = layout_number});
        if (contents != nullptr) {
            const std::uint32_t outer = std::exchange(open_, index);
            contents(*this);
            open_ = outer;
        }
    }
    last_ = index;
}

/// `into` must not be in rows_, which may move. `open` and `next` are what algorithm 1 wrote before the first, and before others.
void structure_writer::take(const member_table& members, std::string_view open, std::string_view next,
                            types::type_row& into) {
    std::uint32_t name_begin = 0;
    for (std::size_t i = 0; i != members.count; ++i) {
        types::type_part part;
        if (members.names != nullptr) {
            part.name.assign(members.names + name_begin, members.names + members.ends[i]);
            name_begin = members.ends[i];
        }
        text_1_ += i == 0 ? open : next;
        part.type = write(members.types[i]);
        into.parts.push_back(std::move(part));
    }
}

/// Calls `found` with the number and the offset of each member that has one.
template <class Found>
static void for_each_offset(const member_table& members, const Found& found) {
    if (members.locate == nullptr)
        return;
    constexpr std::uintptr_t k_place = std::uintptr_t{1} << 32; // aligned for anything; nothing is read there
    std::vector<const volatile void*> addresses(members.count);
    members.locate(k_place, addresses.data());
    for (std::size_t i = 0; i != members.count; ++i) {
        if (addresses[i] != nullptr)
            found(i, reinterpret_cast<std::uintptr_t>(addresses[i]) - k_place);
    }
}

static void locate(const member_table& members, std::vector<types::type_part>& parts) {
    for_each_offset(members, [&](std::size_t i, std::uint64_t offset) { parts[i].offset = offset; });
}

/// Of each bit-field whose place shows: its number among the members, its first bit from the object's beginning, and how many it has.
static std::vector<std::uint64_t> bits_of(const member_table& members, const std::vector<types::type_part>& parts,
                                          std::uint64_t object_bytes) {
    std::vector<std::uint64_t> numbers;
    std::size_t bit_field = 0;
    for (std::size_t i = 0; members.fill_bits != nullptr && i != parts.size(); ++i) {
        if (parts[i].offset)
            continue;
        std::vector<std::byte> image(object_bytes);
        members.fill_bits(image.data(), bit_field++);
        const auto is_one = [&](std::uint64_t bit) {
            return bit / 8 < object_bytes && (std::to_integer<unsigned>(image[bit / 8]) >> bit % 8 & 1U) != 0;
        };
        std::uint64_t first = 0;
        while (first / 8 != object_bytes && !is_one(first))
            ++first;
        std::uint64_t count = 0;
        while (is_one(first + count))
            ++count;
        if (count != 0)
            numbers.insert(numbers.end(), {i, first, count});
    }
    return numbers;
}

void structure_writer::shape(const type_shape& shape) {
    types::type_row& row = rows_[last_];
    if (row.shape != shape_kind::none)
        return;
    row.shape = shape.kind;
    shapes_.push_back({last_, &shape});
}

static void fill(const type_shape& shape, types::type_row& row) {
    if (shape.kind == shape_kind::members) // its numbers are those of its bit-fields
        return;
    row.numbers.assign(shape.numbers, shape.numbers + shape.count);
    std::uint32_t begin = 0;
    for (std::size_t i = 0; shape.labels != nullptr && i != shape.count; ++i) {
        row.labels.emplace_back(shape.labels + begin, shape.labels + shape.label_ends[i]);
        begin = shape.label_ends[i];
    }
}

void structure_writer::members(const member_table& members) {
    types::type_row taken;
    take(members, " {", ", ", taken);
    text_1_ += '}';
    locate(members, taken.parts);
    rows_[open_].kind = types::type_kind::members;
    rows_[open_].parts = std::move(taken.parts);
}

void structure_writer::serialised(const std::type_info& type, const member_table& members) {
    types::type_row row{.kind = types::type_kind::serialised, .name = type.name()};
    text_1_ += type.name();
    text_1_ += " {";
    take(members, " ", " ", row);
    text_1_ += " }";
    intern(std::move(row));
}

void structure_writer::list(std::string_view open, const write_type* types, std::size_t count, std::string_view close) {
    std::string_view separator = open;
    for (std::size_t i = 0; i != count; ++i) {
        if (types[i] == nullptr)
            continue;
        text_1_ += separator;
        separator = ", ";
        const std::uint32_t type = write(types[i]);
        rows_[open_].parts.push_back({.type = type});
    }
    if (separator != open)
        text_1_ += close;
}

void structure_writer::text(std::string_view text) {
    text_1_ += text;
    rows_[open_].note += text;
}

/// Of names, places and values, which are what a change shows in; FNV-1a, never 0 unless there is nothing.
template <class Rows>
static std::uint32_t hash_of_classes(const Rows& shapes) {
    std::uint32_t hash = 0;
    const auto add = [&](std::uint64_t value) {
        constexpr std::uint32_t k_prime = 16777619;
        for (unsigned shift = 0; shift != 64; shift += 8)
            hash = (hash ^ static_cast<std::uint32_t>((value >> shift) & 0xff)) * k_prime;
    };
    for (const auto& each : shapes) {
        const member_table* const members = each.shape->members;
        const bool is_enumeration = each.shape->kind == shape_kind::enumeration;
        if (!is_enumeration && (members == nullptr || !members->is_own))
            continue;
        if (hash == 0)
            hash = 2166136261;
        if (is_enumeration) {
            const std::size_t count = each.shape->count;
            const std::uint32_t bytes = count == 0 ? 0 : each.shape->label_ends[count - 1];
            for (std::uint32_t i = 0; i != bytes; ++i)
                add(static_cast<unsigned char>(each.shape->labels[i]));
            for (std::size_t i = 0; i != count; ++i)
                add(each.shape->numbers[i]);
            continue;
        }
        const std::uint32_t bytes = members->count == 0 ? 0 : members->ends[members->count - 1];
        for (std::uint32_t i = 0; i != bytes; ++i)
            add(static_cast<unsigned char>(members->names[i]));
        for_each_offset(*members, [&](std::size_t i, std::uint64_t offset) { add(i << 32 ^ offset); });
    }
    return hash;
}

type_fingerprint structure_writer::finish(const std::type_info& type, std::size_t size, std::size_t alignment) && {
    types::type_description described{rows_, last_};
    type_fingerprint result;
    const std::string hashed = described.encode();
    result.hash = checksum64(std::as_bytes(std::span(hashed)), k_structure_seed);
    result.hash_1 = checksum64(std::as_bytes(std::span(text_1_)), k_structure_seed);
    for (types::type_row& row : described.rows) {
        if (!row.name.empty())
            row.name = readable_name(row.name.c_str());
        if (row.number != 0 && result.numbered.empty()) {
            result.numbered = row.name;
            result.layout_number = row.number;
        }
    }
    result.name = readable_name(type.name());
    result.size = size;
    result.alignment = alignment;
    result.nameable = is_nameable(type.name());
    result.description = described.encode();
    if (result.description.size() > types::k_description_bytes_max)
        result.description.clear();
    result.shapes = static_cast<std::uint32_t>(shapes_.size());
    take_members_of_classes();
    result.classes_hash = hash_of_classes(shapes_);
    return result;
}

/// Of those that say them: their types may be met here for the first time.
void structure_writer::take_members_of_classes() {
    for (std::size_t i = 0; i != shapes_.size(); ++i) { // grows
        const row_with_shape each = shapes_[i];
        if (each.shape->members == nullptr)
            continue;
        types::type_row taken;
        open_ = each.row;
        take(*each.shape->members, {}, {}, taken);
        locate(*each.shape->members, taken.parts);
        types::type_row& row = rows_[each.row];
        row.numbers = bits_of(*each.shape->members, taken.parts, row.size);
        row.fields = std::move(taken.parts);
    }
}

std::string structure_writer::schema() && {
    const std::uint32_t root = last_;
    take_members_of_classes();
    for (const row_with_shape& each : shapes_)
        fill(*each.shape, rows_[each.row]);
    types::type_description described{std::move(rows_), root};
    for (types::type_row& row : described.rows) {
        if (!row.name.empty())
            row.name = readable_name(row.name.c_str());
    }
    std::string encoded = described.encode(types::row_contents::schema);
    if (encoded.size() > types::k_schema_bytes_max)
        encoded.clear();
    return encoded;
}

} // namespace remanence::detail
