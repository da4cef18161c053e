// Roots that another process has a reference to: no undo of this one takes them away.

#include "process/other_process.hpp"

#include <string>

namespace remanence::test {
namespace {
namespace roots_of_processes {

using notes = vector<string>;

heap_options shared_with_history() {
    heap_options options = shared_heap();
    options.history = {.steps_max = 1000, .kept_over_sessions = true};
    return options;
}

void undo_all(heap& h) {
    while (h.undo_depth() != 0)
        h.undo();
}

void expect(bool what, const char* why) {
    if (!what)
        throw std::runtime_error(why);
}

TEST(roots_of_other_processes, are_no_steps_when_they_are_made_empty) {
    const temp_dir dir;
    const fs::path path = dir / "h";
    enum : int { filled, undone };
    signals told;
    other_process other([&] {
        heap h = heap::open(path, shared_with_history());
        auto& all = h.root<notes>("notes");
        h.write([&] {
            for (int i = 0; i < 100; ++i)
                all.emplace_back("a long text that needs a block " + std::to_string(i));
        });
        told.set(filled);
        told.wait(undone);
        expect(h.read([&] { return all.empty() && h.find_root<notes>("notes") == &all; }),
               "the root is not there, empty");
        h.write([&] { all.emplace_back("one more text that needs a block"); });
        expect(h.read([&] { return h.find_root<notes>("notes")->size(); }) == 1, "what was committed is lost");
        h.close();
    });
    told.wait(filled);
    {
        heap h = heap::open(path, shared_with_history());
        EXPECT_EQ(h.undo_depth(), 1U);
        undo_all(h); // this one has never asked for the root
        h.close();
    }
    told.set(undone);
    EXPECT_EQ(other.wait(), 0);
    heap h = heap::open(path, shared_with_history());
    EXPECT_EQ(h.read([&] { return h.find_root<notes>("notes")->size(); }), 1U);
    EXPECT_TRUE(h.verify().clean());
    h.close();
}

TEST(roots_of_other_processes, stop_an_undo_of_a_process_that_cannot_make_them) {
    const temp_dir dir;
    const fs::path path = dir / "h";
    heap h = heap::open(path, shared_with_history());
    int& number = h.root<int>("number");
    h.write([&] { number = 1; });
    enum : int { made, refused };
    signals told;
    other_process other(h, [&] {
        heap beside = heap::open(path, shared_with_history());
        auto& all = beside.root<notes>("notes");
        beside.write([&] { all.emplace_back("a long text that needs a block"); });
        told.set(made);
        told.wait(refused);
        beside.write([&] { all.emplace_back("another long text that needs a block"); });
        expect(beside.read([&] { return all.size(); }) == 1, "the root does not hold what it is to hold");
        beside.close();
    });
    told.wait(made);
    h.undo();
    const auto stopped = error_of([&] { h.undo(); });
    EXPECT_TRUE(is_error(stopped, errc::in_use, path, "\"notes\""));
    EXPECT_TRUE(is_error(stopped, errc::in_use, path, "another process, " + std::to_string(other.id()) + " ("));
    EXPECT_EQ(h.read([&] { return number; }), 1);
    EXPECT_EQ(h.undo_depth(), 1U);
    told.set(refused);
    EXPECT_EQ(other.wait(), 0);
    undo_all(h); // nobody else has the heap any more
    EXPECT_EQ(h.read([&] { return number; }), 0);
    EXPECT_TRUE(h.verify().clean());
    h.close();
}

TEST(roots_of_other_processes, that_both_have_stay_empty_where_they_were_made_later) {
    const temp_dir dir;
    const fs::path path = dir / "h";
    heap h = heap::open(path, shared_with_history());
    int& number = h.root<int>("number");
    h.write([&] { number = 1; });
    enum : int { made, undone };
    signals told;
    other_process other(h, [&] {
        heap beside = heap::open(path, shared_with_history());
        auto& all = beside.root<notes>("notes");
        beside.write([&] { all.emplace_back("a long text that needs a block"); });
        told.set(made);
        told.wait(undone);
        expect(beside.read([&] { return all.empty(); }), "the root is not empty");
        expect(beside.undo_depth() == 0 && beside.redo_depth() == 2, "the depths are not those of the other process");
        beside.redo(2);
        expect(beside.read([&] { return all.size(); }) == 1, "what was redone is not there");
        beside.close();
    });
    told.wait(made);
    const auto* const all = h.read([&] { return h.find_root<notes>("notes"); });
    undo_all(h);
    EXPECT_EQ(h.read([&] { return h.find_root<notes>("notes"); }), all);
    EXPECT_EQ(h.read([&] { return number; }), 0);
    told.set(undone);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_EQ(h.read([&] { return number; }), 1);
    EXPECT_EQ(h.read([&] { return all->size(); }), 1U);
    EXPECT_TRUE(h.verify().clean());
    h.close();
}

} // namespace roots_of_processes
} // namespace
} // namespace remanence::test
