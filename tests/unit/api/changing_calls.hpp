// The calls of the C++ interface that change a heap, for tests of those that may not: each is errc::read_only there.
#pragma once

#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>

#include <chrono>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace remanence::test {

struct changing_call {
    std::string name;
    std::function<void()> call;
};

/// `known`: a root that the heap has, of that type; "nothing" is a procedure that its options name, or may.
template <class Root>
std::vector<changing_call> changing_calls(heap& h, std::string known) {
    return {
        {"write", [&] { h.write([] {}); }},
        {"lock", [&] { h.lock(); }},
        {"try_lock", [&] { (void)h.try_lock(); }},
        {"try_lock_for", [&] { (void)h.try_lock_for(std::chrono::milliseconds(1)); }},
        {"commit", [&] { h.commit(); }},
        {"commit_async", [&] { (void)h.commit_async(); }},
        {"checkpoint", [&] { h.checkpoint(); }},
        {"make", [&] { (void)h.make<int>(); }},
        {"root", [&] { (void)h.root<int>("a root that is not there"); }},
        {"remove_root", [&, known] { (void)h.remove_root<Root>(known); }},
        {"load",
         [&] {
             std::istringstream dump("{\"remanence_dump\":1,\"commit\":1}\n{\"end\":true,\"lines\":1}\n");
             (void)remanence::load(h, dump);
         }},
        {"undo", [&] { h.undo(); }},
        {"redo", [&] { h.redo(); }},
        {"go_to", [&] { h.go_to(1); }},
        {"forget_history", [&] { h.forget_history(); }},
        {"squash", [&] { h.squash(2); }},
        {"keep", [&] { (void)h.keep("a name"); }},
        {"restore", [&] { h.restore(1); }},
        {"restore by name", [&] { h.restore("a name"); }},
        {"drop", [&] { h.drop(1); }},
        {"drop by name", [&] { h.drop("a name"); }},
        {"call", [&] { h.call("nothing"); }},
    };
}

} // namespace remanence::test
