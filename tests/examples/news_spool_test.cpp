// The parts of examples/news_spool: articles, groups, what mends articles that were posted by halves, and expiry.
#include "../../examples/news_spool/administration.hpp"
#include "../../examples/news_spool/article.hpp"
#include "../../examples/news_spool/expiry.hpp"
#include "../../examples/news_spool/posting.hpp"
#include "../../examples/news_spool/session.hpp"
#include "../../examples/news_spool/spool.hpp"

#include "support/temp_dir.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace remanence::test {
namespace {

using news::article;
using news::spool;

constexpr std::int64_t k_day = 86'400;
const news::posting_defaults k_added{.message_id = "<made@here>", .date = "now", .path = "here!not-for-mail"};

std::string header(std::string_view more = "") {
    return "From: me\r\nSubject: words\r\nNewsgroups: b.b, a.a,b.b\r\n" + std::string(more);
}

std::string why_refused(const std::string& text) {
    try {
        static_cast<void>(news::make_article(text, k_added));
    } catch (const news::refused& reason) {
        return reason.what();
    }
    return "";
}

TEST(news_article, gets_the_fields_that_it_lacks) {
    const article made = news::make_article(header() + "\r\nHello.\r\n", k_added);
    EXPECT_EQ(made.text,
              "Path: here!not-for-mail\r\nMessage-ID: <made@here>\r\nDate: now\r\n" + header() + "\r\nHello.\r\n");
    EXPECT_EQ(made.text.substr(made.body_at), "Hello.\r\n");
    EXPECT_EQ(made.message_id, "<made@here>");
    EXPECT_EQ(made.groups, (std::vector<std::string>{"a.a", "b.b"}));
    EXPECT_EQ(made.overview, "words\tme\tnow\t<made@here>\t\t" + std::to_string(made.text.size()) + "\t1");
}

TEST(news_article, keeps_the_fields_that_it_has) {
    const std::string text =
        header("message-id:<a@b>\r\nDate: then\r\nPath: x\r\nReferences: <1@x>\r\n\t<2@x>\r\n") + "\r\n";
    const article made = news::make_article(text, k_added);
    EXPECT_EQ(made.text, text);
    EXPECT_EQ(made.overview, "words\tme\tthen\t<a@b>\t<1@x> <2@x>\t" + std::to_string(text.size()) + "\t0");
    EXPECT_EQ(news::field_of(made.text, "REFERENCES"), "<1@x> <2@x>");
    EXPECT_EQ(news::field_of(made.text, "Xref"), std::nullopt);
}

TEST(news_article, is_refused_with_the_reason) {
    EXPECT_EQ(why_refused(header() + "\r\n"), "");
    EXPECT_EQ(why_refused("Subject: s\r\nNewsgroups: a\r\n\r\nx\r\n"), "The field From is missing");
    EXPECT_EQ(why_refused("From: f\r\nSubject:\r\nNewsgroups: a\r\n\r\nx\r\n"), "The field Subject is missing");
    EXPECT_EQ(why_refused("From: f\r\nSubject: s\r\n\r\nNewsgroups: a\r\n"), "The field Newsgroups is missing");
    EXPECT_EQ(why_refused(header("from: you\r\n") + "\r\n"), "The field From stands twice");
    EXPECT_EQ(why_refused(header("no field\r\n") + "\r\n"), "A line of the header is not a field");
    EXPECT_EQ(why_refused(header(": empty\r\n") + "\r\n"), "A line of the header is not a field");
    EXPECT_EQ(why_refused(header("Message-ID: <a b@c>\r\n") + "\r\n"), "The field Message-ID is malformed");
    EXPECT_EQ(why_refused(header("Message-ID: <@c>\r\n") + "\r\n"), "The field Message-ID is malformed");
    EXPECT_EQ(why_refused(header("Message-ID: a@c\r\n") + "\r\n"), "The field Message-ID is malformed");
    EXPECT_EQ(why_refused(header()), "No empty line ends the header");
    EXPECT_EQ(why_refused(header() + "\r\na" + std::string(1, '\0') + "\r\n"), "The article has a NUL byte");
    EXPECT_EQ(why_refused("From: f\r\nSubject: s\r\nNewsgroups: ../x\r\n\r\n"),
              "The field Newsgroups has a name that no group can have");
    EXPECT_NE(why_refused(""), "");
}

TEST(news_article, names_of_groups_can_be_names_of_files) {
    for (const std::string_view good : {"a", "comp.lang.c++", "x-1.y_2"})
        EXPECT_TRUE(news::is_group_name(good)) << good;
    for (const std::string& bad : {std::string(), std::string("."), std::string("a..b"), std::string("a/b"),
                                   std::string(".a"), std::string("a."), std::string("a*"), std::string(201, 'a')})
        EXPECT_FALSE(news::is_group_name(bad)) << bad;
}

TEST(news_wildmat, is_decided_by_its_last_pattern_that_fits) {
    EXPECT_TRUE(news::matches("*", "a.b"));
    EXPECT_TRUE(news::matches("a.*", "a.b"));
    EXPECT_FALSE(news::matches("a.*", "ab"));
    EXPECT_TRUE(news::matches("?.b", "a.b"));
    EXPECT_FALSE(news::matches("?.b", "aa.b"));
    EXPECT_TRUE(news::matches("*b*d", "abcbd"));
    EXPECT_FALSE(news::matches("a.*,!a.b", "a.b"));
    EXPECT_TRUE(news::matches("a.*,!a.b*,a.bc", "a.bc"));
    EXPECT_FALSE(news::matches("", "a"));
}

class news_spool : public testing::Test {
protected:
    news_spool() {
        news::make_group(spool_, "a.a", "one");
        news::make_group(spool_, "b.b", "another");
    }
    static article made(const std::string& message_id) {
        return news::make_article(header("Message-ID: " + message_id + "\r\n") + "\r\nbody of " + message_id + "\r\n",
                                  k_added);
    }
    news::post_result posted(const std::string& message_id, news::session_number by = 1) {
        return news::post(spool_, made(message_id), by, [] { return true; });
    }
    /// In how many of the two groups the article is.
    int places_of(const std::string& message_id) {
        return int{spool_.open("a.a")->number_of(message_id).has_value()} +
               int{spool_.open("b.b")->number_of(message_id).has_value()};
    }
    bool mend_all() {
        return news::mend(spool_, [](news::session_number) { return true; });
    }
    void fill(std::string_view group, int count, std::int64_t arrived) {
        for (int i = 0; i < count; ++i) {
            const article one =
                made("<" + std::to_string(i) + '.' + std::to_string(arrived) + '@' + std::string(group) + ">");
            static_cast<void>(spool_.index().claim(one.message_id, {std::string(group)}, 1));
            static_cast<void>(spool_.open(group)->append(one, arrived));
            spool_.index().settle(one.message_id, {});
        }
    }
    void write_rules(std::string_view text) const { std::ofstream(dir_ / "expire.conf") << text; }
    std::uint64_t expire(std::int64_t now, const news::expiry_rule& rule = {.groups = "*", .days = 10, .keep = 4}) {
        return news::expire(spool_, news::expiry_rules(dir_.path(), rule), now);
    }

    temp_dir dir_ = temp_dir::in_memory();
    spool spool_{dir_.path()};
};

TEST_F(news_spool, an_article_is_in_all_its_groups_once) {
    EXPECT_TRUE(posted("<1@x>").posted);
    EXPECT_EQ(places_of("<1@x>"), 2);
    EXPECT_FALSE(posted("<1@x>").posted);
    EXPECT_EQ(spool_.open("a.a")->marks().count, 1U);
    EXPECT_TRUE(spool_.index().claims().empty());
    EXPECT_EQ(spool_.index().find("b.b")->marks.high, 1U);
}

TEST_F(news_spool, a_claim_of_a_session_that_died_before_the_first_append_is_forgotten) {
    const article one = made("<1@x>");
    EXPECT_EQ(spool_.index().claim(one.message_id, one.groups, 7), news::claim_result::claimed);
    EXPECT_NE(posted("<1@x>").reason.find("try again"), std::string::npos); // the other session may live
    EXPECT_TRUE(news::mend(spool_, [](news::session_number which) { return which != 7; }));
    EXPECT_EQ(spool_.index().claims().size(), 1U);
    EXPECT_TRUE(mend_all());
    EXPECT_TRUE(spool_.index().claims().empty());
    EXPECT_EQ(places_of("<1@x>"), 0);
    EXPECT_TRUE(posted("<1@x>").posted);
}

TEST_F(news_spool, a_crosspost_that_one_group_has_is_completed) {
    const article one = made("<1@x>");
    EXPECT_EQ(spool_.index().claim(one.message_id, one.groups, 7), news::claim_result::claimed);
    spool_.open("b.b")->append(one, 1000);
    EXPECT_TRUE(mend_all());
    EXPECT_EQ(places_of("<1@x>"), 2);
    const auto copy = spool_.open("a.a")->find(1);
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->text, one.text);
    EXPECT_EQ(copy->arrived, 1000);
    EXPECT_TRUE(spool_.index().claims().empty());
    EXPECT_EQ(spool_.index().find("a.a")->marks.high, 1U);
    EXPECT_TRUE(mend_all()); // changes nothing
    EXPECT_EQ(spool_.open("a.a")->marks().count, 1U);
}

TEST_F(news_spool, an_undo_that_was_begun_is_completed) {
    const article one = made("<1@x>");
    EXPECT_EQ(spool_.index().claim(one.message_id, one.groups, 7), news::claim_result::claimed);
    spool_.open("a.a")->append(one, 1000);
    spool_.index().begin_undo(one.message_id);
    EXPECT_TRUE(mend_all());
    EXPECT_EQ(places_of("<1@x>"), 0);
    EXPECT_TRUE(spool_.index().places("<1@x>").empty());
    EXPECT_TRUE(posted("<1@x>").posted);
    EXPECT_TRUE(spool_.open("a.a")->find(2)); // number 1 is not given again
}

/// Another process that has a group's file open, in a write section or not, until it is released.
class other_process {
public:
    other_process(const std::filesystem::path& file, bool writes) {
        if (::pipe(ready_.data()) + ::pipe(release_.data()) != 0)
            throw std::system_error(errno, std::generic_category(), "pipe");
        child_ = ::fork();
        if (child_ != 0) {
            ::close(std::exchange(ready_[1], -1)); // so that a child that has failed is noticed
            char byte = 0;
            if (::read(ready_[0], &byte, 1) != 1)
                throw std::runtime_error("the other process has failed");
            return;
        }
        try {
            heap held = heap::open_existing(file, {.access = sharing::processes});
            if (writes)
                held.write([&] { wait(); });
            else
                wait();
            held.close();
        } catch (const error& reason) {
            std::cerr << reason.what() << '\n';
            std::_Exit(1);
        }
        std::_Exit(0);
    }
    other_process(const other_process&) = delete;
    other_process& operator=(const other_process&) = delete;
    ~other_process() {
        for (const int each : {ready_[0], ready_[1], release_[0], release_[1]})
            ::close(each);
    }
    /// Returns the process's exit status.
    int release() {
        const char byte = 0;
        int status = -1;
        EXPECT_EQ(::write(release_[1], &byte, 1), 1);
        EXPECT_EQ(::waitpid(child_, &status, 0), child_);
        return status;
    }

private:
    void wait() {
        char byte = 0;
        if (::write(ready_[1], &byte, 1) != 1 || ::read(release_[0], &byte, 1) != 1)
            std::_Exit(1);
    }

    std::array<int, 2> ready_{};
    std::array<int, 2> release_{};
    pid_t child_ = -1;
};

TEST_F(news_spool, a_group_that_is_held_delays_a_post_but_not_for_ever) {
    other_process holder(spool_.file_of("b.b"), true);
    const news::post_result result = posted("<1@x>");
    EXPECT_FALSE(result.posted);
    EXPECT_TRUE(result.leaves_claim);
    EXPECT_EQ(places_of("<1@x>"), 0) << "readers wait for nobody";
    EXPECT_EQ(holder.release(), 0);
    EXPECT_TRUE(mend_all());
    EXPECT_EQ(places_of("<1@x>"), 0);
    EXPECT_TRUE(posted("<1@x>").posted);
}

TEST_F(news_spool, a_removed_group_takes_its_message_ids_along) {
    EXPECT_TRUE(posted("<1@x>").posted);
    spool_.close_all(); // a child cannot open what its parent had open
    other_process reader(spool_.file_of("a.a"), false);
    EXPECT_TRUE(spool_.index().remove("a.a"));
    EXPECT_EQ(spool_.open("a.a"), nullptr);
    news::sweep(spool_);
    EXPECT_THROW(news::make_group(spool_, "a.a", "too early"), std::runtime_error);
    EXPECT_EQ(reader.release(), 0);
    news::sweep(spool_);
    EXPECT_FALSE(std::filesystem::exists(spool_.file_of("a.a")));
    EXPECT_EQ(spool_.index().places("<1@x>"), (std::vector<std::string>{"b.b"}));
    news::make_group(spool_, "a.a", "a new one");
    EXPECT_EQ(spool_.open("a.a")->marks().count, 0U);
    EXPECT_THROW(news::make_group(spool_, "a.a", "twice"), std::runtime_error);
    spool_.close_all();
    EXPECT_TRUE(news::remove_group(spool_, "a.a"));
    EXPECT_THROW(news::remove_group(spool_, "a.a"), std::runtime_error);
}

TEST_F(news_spool, old_articles_expire_but_the_newest_stay) {
    fill("a.a", 4, 0);
    fill("a.a", 8, 20 * k_day);
    fill("b.b", 4, 0);
    EXPECT_EQ(expire(5 * k_day), 0U);
    EXPECT_EQ(expire(11 * k_day), 3U); // a quarter in one run
    EXPECT_EQ(expire(11 * k_day), 1U);
    EXPECT_EQ(expire(11 * k_day), 0U);
    EXPECT_EQ(spool_.open("a.a")->marks().low, 5U);
    EXPECT_EQ(spool_.index().find("a.a")->marks.low, 5U);
    EXPECT_EQ(spool_.open("b.b")->marks().count, 4U);
    EXPECT_TRUE(spool_.index().places("<0.0@a.a>").empty());
    EXPECT_FALSE(spool_.index().places("<0.0@b.b>").empty());
}

TEST_F(news_spool, a_clock_that_jumps_does_not_empty_a_group) {
    fill("a.a", 40, 100 * k_day);
    EXPECT_EQ(expire(0), 0U);                // set back to 1970
    EXPECT_EQ(expire(100'000 * k_day), 10U); // far ahead: a quarter in one run
    for (int run = 0; run < 100; ++run)
        expire(100'000 * k_day);
    EXPECT_EQ(spool_.open("a.a")->marks().count, 4U);
    EXPECT_EQ(spool_.open("a.a")->marks().low, 37U);
}

TEST_F(news_spool, rules_are_read_from_a_file) {
    const news::expiry_rule otherwise{.groups = "*", .days = 1, .keep = 2};
    EXPECT_EQ(news::expiry_rules(dir_.path(), otherwise).of("a.a").days, 1U);
    write_rules("# comment\n\n* 30\na.* 20 7 # more\na.a 0\n");
    const news::expiry_rules rules(dir_.path(), otherwise);
    EXPECT_EQ(rules.of("b.b").days, 30U);
    EXPECT_EQ(rules.of("b.b").keep, 100U);
    EXPECT_EQ(rules.of("a.b").days, 20U);
    EXPECT_EQ(rules.of("a.b").keep, 7U);
    EXPECT_EQ(rules.of("a.a").days, 0U);
    for (const std::string_view wrong : {"a\n", "a x\n", "a 1 x\n", "a -1\n", "a 1 2 3\n", "a 99999999999\n"}) {
        write_rules(wrong);
        EXPECT_THROW(news::expiry_rules(dir_.path(), otherwise), std::runtime_error) << wrong;
    }
}

TEST_F(news_spool, a_spool_that_is_served_has_one_server) {
    {
        const news::server_lock lock(dir_.path());
        const pid_t child = ::fork();
        if (child == 0)
            std::_Exit(news::server_lock::holder(dir_.path()) == ::getppid() ? 0 : 1);
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(news::server_lock::holder(dir_.path()), 0);
}

} // namespace
} // namespace remanence::test
