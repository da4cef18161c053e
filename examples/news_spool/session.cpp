#include "session.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <exception>
#include <iostream>
#include <string>

namespace news {

namespace {

constexpr std::size_t k_command_max = 510; // RFC 3977, 3.1, without the end of the line

std::vector<std::string_view> words_in(std::string_view line) {
    std::vector<std::string_view> found;
    for (std::size_t at = line.find_first_not_of(" \t"); at != line.npos; at = line.find_first_not_of(" \t", at)) {
        const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
        found.push_back(line.substr(at, end - at));
        at = end;
    }
    return found;
}

} // namespace

std::span<const session::command> session::commands() {
    static constexpr std::size_t k_any = 16;
    static constexpr std::array all{
        command{"ARTICLE", &session::article, 0, 1, "[message-id|number]"},
        command{"BODY", &session::body, 0, 1, "[message-id|number]"},
        command{"CAPABILITIES", &session::capabilities, 0, 1, ""},
        command{"DATE", &session::date, 0, 0, ""},
        command{"GROUP", &session::group, 1, 1, "group"},
        command{"HDR", &session::hdr, 1, 2, "field [message-id|range]"},
        command{"HEAD", &session::head, 0, 1, "[message-id|number]"},
        command{"HELP", &session::help, 0, 0, ""},
        command{"LAST", &session::last, 0, 0, ""},
        command{"LIST", &session::list, 0, 2, "[ACTIVE [wildmat]|NEWSGROUPS [wildmat]|OVERVIEW.FMT|HEADERS]"},
        command{"LISTGROUP", &session::listgroup, 0, 2, "[group [range]]"},
        command{"MODE", &session::mode, 1, k_any, "READER"},
        command{"NEWGROUPS", &session::newgroups, 2, 3, "date time [GMT]"},
        command{"NEXT", &session::next, 0, 0, ""},
        command{"OVER", &session::over, 0, 1, "[message-id|range]"},
        command{"POST", &session::post, 0, 0, ""},
        command{"QUIT", &session::quit, 0, 0, ""},
        command{"STAT", &session::stat, 0, 1, "[message-id|number]"},
        command{"XHDR", &session::xhdr, 1, 2, "field [message-id|range]"},
        command{"XOVER", &session::over, 0, 1, "[range]"},
    };
    return all;
}

session::session(connection& client, spool& articles, const session_settings& chosen, session_number number)
    : client_(client), spool_(articles), settings_(chosen), number_(number) {}

bool session::run() {
    try {
        client_.put_line("200 news_spool is ready, posting is allowed");
        client_.flush();
        while (!is_at_end_ && serve_one())
            client_.flush();
        client_.flush();
    } catch (const client_gone&) { // NOLINT(bugprone-empty-catch): nobody is there to be told
    }
    return !leaves_claim_;
}

bool session::serve_one() {
    std::string line;
    switch (client_.read_line(line, k_command_max, true)) {
    case connection::got::line:
    case connection::got::bare_line: // people type commands with LF alone
        dispatch(words_in(line));
        return true;
    case connection::got::too_long:
        client_.put_line("500 The line is too long, goodbye");
        return false;
    case connection::got::nothing:
        client_.put_line("400 You were idle for too long, goodbye");
        return false;
    case connection::got::signal:
        if (wishes::stop()) {
            client_.put_line("400 The server is going down, goodbye");
            return false;
        }
        if (wishes::take_look_again())
            spool_.close_removed();
        return true;
    case connection::got::end:
        break;
    }
    return false;
}

void session::dispatch(words line) {
    const auto is_meant = [&](const command& each) { return !line.empty() && equal_but_for_case(each.name, line[0]); };
    const auto found = std::ranges::find_if(commands(), is_meant);
    if (found == commands().end())
        client_.put_line("500 There is no such command");
    else if (line.size() - 1 < found->words_min || line.size() - 1 > found->words_max)
        client_.put_line("501 Usage: " + std::string(found->name) + " " + std::string(found->help));
    else
        run_guarded(*found, line.subspan(1));
}

/// A command that fails is answered, and the session goes on; unless part of another answer was sent already.
void session::run_guarded(const command& which, words rest) {
    std::string answer;
    try {
        (this->*which.act)(rest);
        return;
    } catch (const client_gone&) {
        throw;
    } catch (const busy& reason) {
        std::cerr << "news_spool: " << reason.what() << '\n';
        answer = "403 The spool is busy, try again later";
    } catch (const std::exception& reason) {
        std::cerr << "news_spool: " << which.name << ": " << reason.what() << '\n';
        answer = "403 The spool cannot be read now, try again later";
        spool_.close_all(); // a file that has failed is opened again
    }
    if (!client_.drop_unsent())
        throw client_gone("an answer was cut off");
    client_.put_line(answer);
}

void session::capabilities(words) {
    for (const std::string_view line : {"101 Capabilities:", "VERSION 2", "IMPLEMENTATION news_spool", "READER", "POST",
                                        "OVER MSGID", "HDR", "LIST ACTIVE NEWSGROUPS OVERVIEW.FMT HEADERS", "."})
        client_.put_line(line);
}

void session::mode(words rest) {
    client_.put_line(equal_but_for_case(rest[0], "READER") ? "200 Posting is allowed" : "501 Usage: MODE READER");
}

void session::date(words) {
    const std::time_t seconds = now();
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 32> text;
    std::strftime(text.data(), text.size(), "%Y%m%d%H%M%S", &parts);
    client_.put_line("111 " + std::string(text.data()));
}

void session::help(words) {
    client_.put_line("100 The commands are:");
    for (const command& each : commands())
        client_.put_line("  " + std::string(each.name) + " " + std::string(each.help));
    client_.put_line(".");
}

void session::quit(words) {
    client_.put_line("205 Goodbye");
    is_at_end_ = true;
}

group_file* session::current_group() {
    if (group_.empty()) {
        client_.put_line("412 No group is selected");
        return nullptr;
    }
    group_file* const found = spool_.open(group_);
    if (found == nullptr) {
        client_.put_line("411 The group " + group_ + " was removed");
        group_.clear();
        current_.reset();
    }
    return found;
}

} // namespace news
