// Articles as clients post and read them (RFC 5536): what is checked, what is added, and what the overview shows. Depends
// on the standard library only.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace news {

/// The article cannot be posted. what() says why, for the client.
class refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct article {
    std::string message_id;
    std::vector<std::string> groups; ///< those of the field Newsgroups, each once, in alphabetical order
    std::string text;                ///< header, empty line and body; each line ends with CRLF
    std::size_t body_at = 0;         ///< where the body begins in `text`
    std::string overview;            ///< the fields of LIST OVERVIEW.FMT, separated by tabs, without the number
};

/// What the server adds to an article that lacks it.
struct posting_defaults {
    std::string message_id;
    std::string date;
    std::string path;
};

/// At most this many groups can be named in one article.
inline constexpr std::size_t k_groups_max = 20;

/// Checks what a client posted, whose lines end with CRLF, and adds the fields that are missing. Errors: refused.
article make_article(std::string_view posted, const posting_defaults& add);

/// Returns the value of a field in the header that begins `text`, on one line; nothing when there is no such field.
std::optional<std::string> field_of(std::string_view text, std::string_view name);

bool is_message_id(std::string_view text);
/// True for names that can be file names, too: components of letters, digits, '+', '-' and '_', joined by single dots.
bool is_group_name(std::string_view text);
bool equal_but_for_case(std::string_view a, std::string_view b);
/// Splits at each `separator`; parts may be empty.
std::vector<std::string_view> split(std::string_view text, char separator);

} // namespace news
