#include "types/function_index.hpp"

#include "base/checksum.hpp"
#include "os/loaded_modules.hpp"
#include "types/demangled.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace remanence::types {

namespace {

constexpr std::uint64_t k_seed = 0x66756e6374696f6e; // heaps have such numbers: it never changes

std::uint64_t number_of_name(std::string_view name) {
    const std::uint64_t hash = checksum64(std::as_bytes(std::span(name)), k_seed);
    return hash != 0 ? hash : 1; // 0 is no function
}

std::string in_hex(std::uint64_t number) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
    return "0x" + std::string(digits.data(), end);
}

/// FI4. g++ and clang have their own ways to write such names.
bool is_made_up(const std::string& mangled, const std::string& readable) {
    return mangled.find_first_of(".$") != mangled.npos || readable.find("{lambda(") != readable.npos ||
           readable.find("{unnamed type#") != readable.npos;
}

std::string_view name_of_file(std::string_view path) { return path.substr(path.rfind('/') + 1); }

constexpr const char* k_to_store = "cannot store a pointer to a function";
constexpr const char* k_to_call = "cannot find a stored function";

} // namespace

function_index::module::module(os::module_file of) : file(std::move(of)) {
    is_read = os::read_functions(file, [&](const os::module_function& each) {
        by_number.push_back({number_of_name(each.name), each.address, each.name_offset,
                             static_cast<std::uint32_t>(each.name_bytes), each.is_weak, each.is_import});
    });
    if (is_read) {
        auto read = os::read_links(file);
        is_read = read ? result<void>() : result<void>(read.error());
        if (read)
            links = std::move(*read);
    }
    const auto order = [](const function& each) { return std::pair(each.number, each.address); };
    std::ranges::sort(by_number, {}, order);
    const auto twice = std::ranges::unique(by_number, {}, order);
    by_number.erase(twice.begin(), twice.end());
    by_number.shrink_to_fit();
    by_address.resize(by_number.size());
    for (std::uint32_t i = 0; i != by_address.size(); ++i)
        by_address[i] = i;
    std::ranges::sort(by_address, {}, [&](std::uint32_t i) { return std::pair(by_number[i].address, i); });
}

void function_index::renew() {
    const std::uint64_t now = os::modules_generation();
    if (is_complete_ && now == generation_)
        return;
    std::vector<std::shared_ptr<module>> found;
    bool is_complete = true;
    for (os::module_file& each : os::find_module_files()) {
        const auto known =
            std::ranges::find_if(modules_, [&](const auto& one) { return one->is_read && one->file == each; });
        found.push_back(known != modules_.end() ? *known : std::make_shared<module>(std::move(each)));
        is_complete = is_complete && found.back()->is_read;
    }
    modules_ = std::move(found);
    find_permanent();
    is_complete_ = is_complete;
    generation_ = now;
}

/// Libraries are unloaded only if the program does not need them, directly or by others.
void function_index::find_permanent() {
    std::vector<const module*> left;
    for (const auto& each : modules_) {
        each->is_permanent = each->file.is_program;
        if (each->is_permanent)
            left.push_back(each.get());
    }
    while (!left.empty()) {
        const module& next = *left.back();
        left.pop_back();
        for (const std::string& needed : next.links.needed) {
            // The first one of this name: the loader has loaded it before all that are not needed.
            const auto found = std::ranges::find_if(modules_, [&](const auto& each) {
                return each->links.name == needed || name_of_file(each->file.path) == name_of_file(needed);
            });
            if (found != modules_.end() && !std::exchange((*found)->is_permanent, true))
                left.push_back(found->get());
        }
    }
}

std::vector<function_index::place> function_index::all_of(std::uint64_t number) const {
    std::vector<place> found;
    for (const auto& each : modules_) {
        for (const function& one : std::ranges::equal_range(each->by_number, number, {}, &function::number))
            found.push_back({each.get(), &one});
    }
    return found;
}

const function_index::module* function_index::module_around(std::uint64_t address) const {
    const auto found = std::ranges::find_if(
        modules_, [&](const auto& each) { return address >= each->file.begin && address < each->file.end; });
    return found == modules_.end() ? nullptr : found->get();
}

// FI2.
result<function_index::place> function_index::choose(const std::vector<place>& all, const char* purpose) const {
    const auto import = std::ranges::find_if(all, [](const place& each) { return each.what->is_import; });
    if (import != all.end())
        return *import;
    const place& first = all.front();
    const auto other =
        std::ranges::find_if(all, [&](const place& each) { return each.what->address != first.what->address; });
    if (other == all.end() || std::ranges::all_of(all, [](const place& each) { return each.what->is_weak; }))
        return first;
    auto name = os::read_name(first.in->file, first.what->name_offset, first.what->name_bytes);
    if (!name)
        return name.error();
    const std::string where = first.in == other->in ? " has several functions of this name"
                                                    : " and " + other->in->file.path + " both have one of this name";
    return fail(errc::not_supported,
                std::string(purpose) + ", " + detail::demangle(name->c_str()) + ": " + first.in->file.path + where +
                    ". Give each a name of its own: it must not be static, hidden or in an unnamed namespace.",
                first.in->file.path);
}

result<void> function_index::check_name(const place& of) const {
    auto name = os::read_name(of.in->file, of.what->name_offset, of.what->name_bytes);
    if (!name)
        return name.error();
    const std::string readable = detail::demangle(name->c_str());
    if (!is_made_up(*name, readable))
        return {};
    return fail(errc::not_supported,
                std::string(k_to_store) + ", " + readable + " of " + of.in->file.path +
                    ": the compiler has made up its name, as those of lambdas, and another build may give the name to "
                    "another function. Use a function that has a name.",
                of.in->file.path);
}

unexpected function_index::nameless(const module* in, std::uint64_t address) const {
    if (in == nullptr)
        return fail(errc::not_supported, std::string(k_to_store) +
                                             ": none of the program's files contains its address " + in_hex(address) +
                                             ". Store functions that are linked or loaded only.");
    if (!in->is_read) {
        failure why = in->is_read.why();
        why.message = std::string(k_to_store) + ": " + why.message;
        return unexpected(std::move(why));
    }
    return fail(errc::not_supported,
                std::string(k_to_store) + ": " + in->file.path + " has no name for it, at address " +
                    in_hex(address - in->file.base) +
                    ". Keep the file's symbols (do not strip it, and link it without -s), or link it with -rdynamic.",
                in->file.path);
}

// FI3.
result<function_index::answer> function_index::number_of(std::uint64_t address) const {
    const module* const in = module_around(address);
    if (in == nullptr)
        return nameless(in, address);
    const auto names = std::ranges::equal_range(in->by_address, address, {},
                                                [&](std::uint32_t i) { return in->by_number[i].address; });
    if (names.empty())
        return nameless(in, address);
    std::optional<unexpected> why;
    for (const std::uint32_t i : names) {
        const place each{in, &in->by_number[i]};
        auto chosen = choose(all_of(each.what->number), k_to_store);
        auto is_sound = chosen ? check_name(each) : result<void>(chosen.error());
        if (is_sound)
            return answer{each.what->number, in->is_permanent};
        why.emplace(is_sound.error());
    }
    return std::move(*why);
}

result<function_index::place> function_index::find(std::uint64_t number, const char* purpose) const {
    const std::vector<place> all = all_of(number);
    if (!all.empty())
        return choose(all, purpose);
    const auto unread = std::ranges::find_if(modules_, [](const auto& each) { return !each->is_read; });
    const std::string but = unread != modules_.end() ? " " + (*unread)->is_read.why().message : std::string();
    return fail(errc::not_supported, std::string(purpose) + ": the program has no function with the number " +
                                         in_hex(number) +
                                         ". Load the library that has it, or refer to the function in the program: "
                                         "linkers leave out what nothing refers to." +
                                         but);
}

result<function_index::answer> function_index::function_of(std::uint64_t number) const {
    auto is = find(number, k_to_call);
    if (!is)
        return is.error();
    return answer{is->what->address, is->in->is_permanent};
}

result<std::string> function_index::name_of(std::uint64_t number) const {
    auto is = find(number, k_to_call);
    if (!is)
        return is.error();
    return os::read_name(is->in->file, is->what->name_offset, is->what->name_bytes);
}

} // namespace remanence::types
