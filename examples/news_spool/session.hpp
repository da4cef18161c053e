// One client's conversation with the server: a subset of NNTP (RFC 3977). Depends on connection.hpp, posting.hpp and
// spool.hpp.
#pragma once

#include "connection.hpp"
#include "posting.hpp"
#include "spool.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace news {

struct session_settings {
    std::string host = "localhost"; ///< for Path and Message-ID
    std::size_t article_bytes_max = std::size_t{1} << 20;
};

class session {
public:
    session(connection& client, spool& articles, const session_settings& chosen, session_number number);

    /// Talks to the client until it quits, is gone or is idle for too long, or the process is to stop. Returns false if
    /// a claim is left, which the server must mend.
    bool run();

private:
    using words = std::span<const std::string_view>;
    struct command {
        std::string_view name;
        void (session::*act)(words);
        std::size_t words_min; ///< behind the name
        std::size_t words_max;
        std::string_view help;
    };
    static std::span<const command> commands();

    // session.cpp: one command after the other
    bool serve_one();
    void dispatch(words line);
    void run_guarded(const command& which, words rest);
    void capabilities(words rest);
    void mode(words rest);
    void date(words rest);
    void help(words rest);
    void quit(words rest);

    // session_groups.cpp: groups, and the place in them
    void group(words rest);
    void listgroup(words rest);
    void next(words rest);
    void last(words rest);
    void list(words rest);
    void newgroups(words rest);
    group_file* select(std::string_view name);
    void step(bool forwards);

    // session_articles.cpp: articles and what is shown of them
    void article(words rest);
    void head(words rest);
    void body(words rest);
    void stat(words rest);
    void over(words rest);
    void hdr(words rest);
    void xhdr(words rest);
    enum class part { all, head, body, nothing };
    void send(words rest, part which);
    void send_fields(words rest, std::string_view reply);
    std::optional<article_copy> find_by_id(std::string_view message_id);
    std::optional<article_copy> find(words rest);
    using line_of = std::function<std::string(article_number, std::string_view overview, std::string_view header)>;
    void send_lines(words range, std::string_view reply, const line_of& make);

    // session_post.cpp
    void post(words rest);
    enum class received { whole, too_long, malformed, cut_off };
    received receive_article(std::string& text);

    // Both reply if there is nothing to return.
    group_file* current_group();
    struct number_range {
        article_number first;
        article_number last;
    };
    std::optional<number_range> range_in(std::string_view text);

    connection& client_;
    spool& spool_;
    const session_settings& settings_;
    session_number number_;
    std::string group_; ///< selected; empty: none
    std::optional<article_number> current_;
    bool is_at_end_ = false;
    bool leaves_claim_ = false;
    std::uint64_t posted_ = 0;
};

bool matches(std::string_view wildmat, std::string_view text); ///< RFC 3977, 4

} // namespace news
