// news_spool: a small news server (NNTP), whose articles survive whatever ends its processes.
#include "administration.hpp"
#include "expiry.hpp"
#include "options.hpp"
#include "server.hpp"
#include "spool.hpp"

#include <iostream>

namespace {

int run(arguments& line) {
    if (line.flag("help")) {
        std::cout << news::k_usage;
        return 0;
    }
    const news::options chosen = news::options_in(line);
    if (chosen.what == news::options::task::serve) {
        news::server(chosen).run();
        return 0;
    }
    news::spool articles(chosen.directory);
    switch (chosen.what) {
    case news::options::task::new_group:
        news::make_group(articles, chosen.group, chosen.description);
        break;
    case news::options::task::remove_group:
        if (!news::remove_group(articles, chosen.group))
            std::cerr << "news_spool: the group is removed; its file is still open, and goes at the next start\n";
        break;
    default:
        std::cout << news::expire(articles, news::expiry_rules(chosen.directory, chosen.expiry), news::now())
                  << " articles expired\n";
    }
    return 0;
}

} // namespace

int main(int count, char* words[]) { return run_demo("news_spool", count, words, run); }
