// A newsgroup: a heap of its own, which processes share. Depends on Remanence and the standard library.
//
// G1: a number is given to one article only, even if that article is removed.
// G2: `articles` and `numbers` have the same articles.
#pragma once

#include "article.hpp"
#include "section.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace news {

using article_number = std::uint64_t;

// What lies in the heap. It holds no addresses, so that many groups can be open at once, each wherever there is room.
struct stored_article {
    std::int64_t arrived = 0; ///< seconds since 1970, by this server's clock
    std::uint64_t body_at = 0;
    rem::string_pi overview;
    rem::string_pi text;
};
struct group_contents {
    article_number last_number = 0; ///< the last that was given
    rem::btree_map<article_number, stored_article> articles;
    rem::btree_map<rem::string_pi, article_number> numbers; ///< by message-id
};

static_assert(rem::position_independent<group_contents>);

/// The articles of a group, as GROUP reports them. An empty group has a `low` that is one above `high`.
struct watermarks {
    article_number low = 1;
    article_number high = 0;
    std::uint64_t count = 0;
};

/// An article's number and message-id.
struct article_name {
    article_number number = 0;
    std::string message_id;
};

/// A copy of an article.
struct article_copy {
    article_name name;
    std::int64_t arrived = 0;
    std::size_t body_at = 0;
    std::string overview;
    std::string text;
};

/// An open group. Each call is one section, and sees what other processes have committed before it. Errors of all:
/// remanence::error; of those that change the group, busy.
class group_file {
public:
    /// Makes the file of a new, empty group. Durable once this returns.
    static void create(const std::filesystem::path& path);
    /// Opens the file. Errors: errc::not_found when the group was removed.
    explicit group_file(const std::filesystem::path& path);

    /// Returns the articles of a group's file that no other process has open; nothing if one has.
    static std::optional<std::vector<article_name>> names_if_unused(const std::filesystem::path& path);

    [[nodiscard]] watermarks marks() const;
    [[nodiscard]] std::optional<article_number> number_of(std::string_view message_id) const;
    [[nodiscard]] std::optional<article_copy> find(article_number number) const;
    /// Returns the first article with a number above `number`, or the last one below it.
    [[nodiscard]] std::optional<article_name> after(article_number number) const;
    [[nodiscard]] std::optional<article_name> before(article_number number) const;

    /// Calls `act` for at least one of the articles with numbers from `first` to `last`, in order, until it returns
    /// false. Returns the number from which to go on, or nothing at the end. `act` runs in a read section, so it must
    /// not wait for a client: other processes' checkpoints would have to copy what the section still reads.
    using visitor = std::function<bool(article_number, const stored_article&)>;
    std::optional<article_number> visit(article_number first, article_number last, const visitor& act) const;

    /// Adds an article and returns its number; nothing if the group has one with this message-id. Durable once this
    /// returns.
    std::optional<article_number> append(const article& what, std::int64_t arrived);
    std::optional<article_number> append(const article_copy& what);
    /// Removes articles; those that are not there do not matter. Durable once this returns.
    void remove(std::span<const article_name> which);

private:
    std::optional<article_number> append(std::string_view message_id, std::string_view overview, std::string_view text,
                                         std::size_t body_at, std::int64_t arrived);
    [[nodiscard]] watermarks marks_in_section() const;

    rem::heap heap_;
    group_contents* contents_;
};

/// Returns the message-id in an overview, of which it is the fourth field.
std::string message_id_in(std::string_view overview);

} // namespace news
