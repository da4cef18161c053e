#include "session.hpp"

#include <array>
#include <ctime>
#include <random>

namespace news {

namespace {

constexpr std::size_t k_line_max = 65'536;
constexpr std::size_t k_skipped_max = 10; // so many articles of the largest size are read to the end of one too long

std::string date_of(std::time_t seconds) {
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 64> text;
    std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S +0000", &parts); // of the C locale
    return text.data();
}

} // namespace

/// Reads an article up to the line with a single dot. If it is not to be had, reads on to that line all the same, so that
/// the rest of the article is not taken for commands; but not for ever.
session::received session::receive_article(std::string& text) {
    received result = received::whole;
    std::string line;
    std::size_t bytes = 0;
    while (bytes <= k_skipped_max * settings_.article_bytes_max) {
        const connection::got got = client_.read_line(line, k_line_max, false);
        if (got == connection::got::too_long) {
            result = received::too_long;
            bytes += k_line_max;
            continue;
        }
        if (got != connection::got::line && got != connection::got::bare_line)
            return received::cut_off;
        bytes += line.size() + 2;
        // A line of an article ends with CRLF. If LF alone were an end, too, other servers would see other lines, and
        // a part of an article could pass for a command.
        if (got == connection::got::bare_line || line.find('\r') != line.npos)
            result = result == received::whole ? received::malformed : result;
        else if (line == ".")
            return result;
        if (bytes > settings_.article_bytes_max)
            result = received::too_long;
        if (result == received::whole)
            text.append(line, line.starts_with('.') ? 1 : 0).append("\r\n");
    }
    return received::cut_off;
}

void session::post(words) {
    client_.put_line("340 Send the article; end it with a line that is a single dot");
    client_.flush();
    std::string text;
    switch (receive_article(text)) {
    case received::whole:
        break;
    case received::too_long:
        client_.put_line("441 The article is too long");
        return;
    case received::malformed:
        client_.put_line("441 A line of the article does not end with CR LF");
        return;
    case received::cut_off:
        client_.put_line("400 The article does not end, goodbye");
        is_at_end_ = true;
        return;
    }
    try {
        const std::string unique = std::to_string(now()) + '.' + std::to_string(number_) + '.' +
                                   std::to_string(++posted_) + '.' + std::to_string(std::random_device()());
        const news::article made = make_article(text, {.message_id = '<' + unique + '@' + settings_.host + '>',
                                                       .date = date_of(now()),
                                                       .path = settings_.host + "!not-for-mail"});
        if (leaves_claim_) // of an earlier article; perhaps it is this one
            leaves_claim_ = !mend(spool_, [this](session_number each) { return each == number_; });
        const post_result result = news::post(spool_, made, number_, wishes::stop);
        leaves_claim_ = leaves_claim_ || result.leaves_claim;
        client_.put_line(result.posted ? "240 The article is posted: " + made.message_id : "441 " + result.reason);
    } catch (const refused& reason) {
        client_.put_line("441 " + std::string(reason.what()));
    }
}

} // namespace news
