#include "group_file.hpp"

#include <iterator>

namespace news {

namespace {

constexpr std::string_view k_root = "group";
constexpr std::size_t k_message_id_field = 3;

rem::heap_options options_of_group() {
    return {
        .access = rem::sharing::processes,
        .sharing = {.open_timeout = k_lock_wait},
        // Addresses for thousands of groups; the heap takes more when the group grows.
        .memory = {.reserve_bytes = std::uint64_t{1} << 30, .chunk_bytes = std::uint64_t{1} << 16},
        .checks = {.application = "news.group"},
    };
}

article_name name_of(article_number number, const stored_article& of) { return {number, message_id_in(of.overview)}; }

} // namespace

std::string message_id_in(std::string_view overview) {
    return std::string(split(overview, '\t').at(k_message_id_field));
}

void group_file::create(const std::filesystem::path& path) {
    rem::heap heap = rem::heap::create(path, options_of_group());
    static_cast<void>(heap.root<group_contents>(k_root));
    heap.close();
}

group_file::group_file(const std::filesystem::path& path)
    : heap_(rem::heap::open_existing(path, options_of_group())), contents_(&heap_.root<group_contents>(k_root)) {}

std::optional<std::vector<article_name>> group_file::names_if_unused(const std::filesystem::path& path) {
    rem::heap_options alone = options_of_group();
    alone.access = rem::sharing::exclusive;
    try {
        const rem::heap heap = rem::heap::open_existing(path, alone);
        std::vector<article_name> names;
        if (const auto* const contents = heap.find_root<group_contents>(k_root))
            for (const auto& [number, each] : contents->articles)
                names.push_back(name_of(number, each));
        return names;
    } catch (const rem::error& reason) {
        if (reason.reason() == rem::errc::in_use)
            return {};
        throw;
    }
}

watermarks group_file::marks_in_section() const {
    watermarks found{.low = contents_->last_number + 1, .high = contents_->last_number, .count = 0};
    if (!contents_->articles.empty()) {
        found.low = contents_->articles.begin()->first;
        found.count = contents_->articles.size();
    }
    return found;
}

watermarks group_file::marks() const {
    return heap_.read([&] { return marks_in_section(); });
}

std::optional<article_number> group_file::number_of(std::string_view message_id) const {
    return heap_.read([&]() -> std::optional<article_number> {
        const auto found = contents_->numbers.find(message_id);
        if (found == contents_->numbers.end())
            return {};
        return found->second;
    });
}

std::optional<article_copy> group_file::find(article_number number) const {
    return heap_.read([&]() -> std::optional<article_copy> {
        const auto found = contents_->articles.find(number);
        if (found == contents_->articles.end())
            return {};
        const stored_article& of = found->second;
        return article_copy{name_of(number, of), of.arrived, of.body_at, std::string(of.overview),
                            std::string(of.text)};
    });
}

std::optional<article_name> group_file::after(article_number number) const {
    return heap_.read([&]() -> std::optional<article_name> {
        const auto found = contents_->articles.upper_bound(number);
        if (found == contents_->articles.end())
            return {};
        return name_of(found->first, found->second);
    });
}

std::optional<article_name> group_file::before(article_number number) const {
    return heap_.read([&]() -> std::optional<article_name> {
        const auto found = contents_->articles.lower_bound(number);
        if (found == contents_->articles.begin())
            return {};
        const auto previous = std::prev(found);
        return name_of(previous->first, previous->second);
    });
}

std::optional<article_number> group_file::visit(article_number first, article_number last, const visitor& act) const {
    return heap_.read([&]() -> std::optional<article_number> {
        for (auto at = contents_->articles.lower_bound(first); at != contents_->articles.end(); ++at) {
            if (at->first > last)
                break;
            if (!act(at->first, at->second))
                return at->first + 1;
        }
        return {};
    });
}

std::optional<article_number> group_file::append(const article& what, std::int64_t arrived) {
    return append(what.message_id, what.overview, what.text, what.body_at, arrived);
}

std::optional<article_number> group_file::append(const article_copy& what) {
    return append(what.name.message_id, what.overview, what.text, what.body_at, what.arrived);
}

std::optional<article_number> group_file::append(std::string_view message_id, std::string_view overview,
                                                 std::string_view text, std::size_t body_at, std::int64_t arrived) {
    std::optional<article_number> number;
    write_within(heap_, rem::durability::durable, [&] {
        if (contents_->numbers.contains(message_id))
            return;
        number = ++contents_->last_number; // G1
        stored_article& kept = contents_->articles[*number];
        kept.arrived = arrived;
        kept.body_at = body_at;
        kept.overview = overview;
        kept.text = text;
        contents_->numbers.try_emplace(rem::string_pi(message_id), *number); // G2
    });
    return number;
}

void group_file::remove(std::span<const article_name> which) {
    write_within(heap_, rem::durability::durable, [&] {
        for (const article_name& each : which) {
            const auto found = contents_->numbers.find(each.message_id);
            if (found == contents_->numbers.end())
                continue;
            contents_->articles.erase(found->second);
            contents_->numbers.erase(found); // G2
        }
    });
}

} // namespace news
