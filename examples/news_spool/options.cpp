#include "options.hpp"

#include "article.hpp"

#include <algorithm>
#include <cctype>

namespace news {

const std::string_view k_usage = R"(usage:
  news_spool --spool DIR --port N [--bind ADDRESS] [option...]   serve clients until SIGTERM
  news_spool --spool DIR --new-group NAME DESCRIPTION            make a group
  news_spool --spool DIR --remove-group NAME                     remove a group with its articles
  news_spool --spool DIR --expire                                remove old articles now, not each hour only

The last three work while the server runs. Port 0 is any free port, which the server prints.

options of the server:
  --bind ADDRESS           numeric address to listen on (127.0.0.1)
  --clients-max N          more connections at once are refused (1000)
  --idle-seconds N         closes a connection that is silent for so long (600)
  --article-bytes-max N    refuses longer articles (1048576)
  --host NAME              the name in Path and Message-ID (localhost)
options of expiry, for groups that DIR/expire.conf does not name:
  --expire-days N          days that articles stay (0: for ever)
  --expire-keep N          newest articles of a group that stay longer (100)

signals: SIGHUP reads expire.conf again, SIGTERM ends when running commands have ended
)";

namespace {

void read_settings(arguments& line, options& chosen) {
    chosen.address = line.value("bind").value_or(chosen.address);
    chosen.clients_max = line.number("clients-max", 1, 100'000).value_or(chosen.clients_max);
    chosen.idle_max = std::chrono::seconds(line.number("idle-seconds", 1, 86'400).value_or(600));
    session_settings& session = chosen.session;
    session.article_bytes_max =
        line.number("article-bytes-max", 1024, std::uint64_t{1} << 30).value_or(session.article_bytes_max);
    session.host = line.value("host").value_or(session.host);
    const auto is_of_host = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    };
    if (session.host.empty() || session.host.size() > 100 || !std::ranges::all_of(session.host, is_of_host))
        throw usage_error("--host takes a host's name, not '" + session.host + "'");
    chosen.expiry.days = line.number("expire-days", 0, 36'500).value_or(chosen.expiry.days);
    chosen.expiry.keep = line.number("expire-keep", 0, 1'000'000'000).value_or(chosen.expiry.keep);
}

void read_task(arguments& line, options& chosen) {
    const std::optional<std::string> made = line.value("new-group");
    const std::optional<std::string> removed = line.value("remove-group");
    const bool expire = line.flag("expire");
    const std::optional<std::uint64_t> port = line.number("port", 0, 65'535);
    if (int{made.has_value()} + int{removed.has_value()} + int{expire} + int{port.has_value()} != 1)
        throw usage_error("one of --port, --new-group, --remove-group and --expire is needed");
    chosen.port = static_cast<std::uint16_t>(port.value_or(0));
    chosen.what = made      ? options::task::new_group
                  : removed ? options::task::remove_group
                  : expire  ? options::task::expire
                            : options::task::serve;
    chosen.group = made.value_or(removed.value_or(""));
}

} // namespace

options options_in(arguments& line) {
    options chosen;
    const std::optional<std::string> directory = line.value("spool");
    if (!directory)
        throw usage_error("--spool DIR is needed");
    chosen.directory = *directory;
    read_task(line, chosen);
    read_settings(line, chosen);
    const std::vector<std::string> rest = line.operands();
    const bool makes = chosen.what == options::task::new_group;
    if (rest.size() != (makes ? 1 : 0))
        throw usage_error(makes ? "--new-group NAME DESCRIPTION takes one description" : "there are words too many");
    if (makes) {
        chosen.description = rest[0];
        const auto is_control = [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; };
        if (chosen.description.size() > 300 || std::ranges::any_of(chosen.description, is_control))
            throw usage_error("a description is one line of at most 300 bytes");
    }
    if ((makes || chosen.what == options::task::remove_group) && !is_group_name(chosen.group))
        throw usage_error("'" + chosen.group + "' cannot be the name of a group");
    return chosen;
}

} // namespace news
