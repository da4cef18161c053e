// usage: PROGRAM write|read HEAP, PROGRAM lacks HEAP LIBRARY..., PROGRAM replaced HEAP LIBRARY OTHER,
// PROGRAM twins
#include "handlers.hpp"

#include <remanence/remanence.hpp>

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <iostream>
#include <stdexcept>
#include <string>

namespace rem = remanence;

namespace app {

using callback = rem::function_pointer<int(int)>;

struct callbacks {
    rem::map<rem::string, callback> by_name;
    rem::vector<callback> all;
};

static int twin(int n) { return n; } // handlers.cpp has another one

} // namespace app

namespace {

using app::callback;
using app::callbacks;

void expect(bool is_so, const char* what) {
    if (!is_so)
        throw std::runtime_error(std::string("it is wrong that ") + what);
}

int unnamed_namespace(int n) { return n + 9; }

void write(const char* path) {
    rem::heap heap = rem::heap::create(path);
    auto& to = heap.root<callbacks>("callbacks");
    heap.write([&] {
        to.by_name["opened"] = app::opened;
        to.by_name["count"] = &app::counter::count;
        to.by_name["on_key"] = on_key;
        to.by_name["hidden"] = app::hidden_one();
        to.by_name["own"] = app::own_one();
        to.by_name["other"] = app::other;
        to.by_name["same as other"] = app::same_as_other;
        to.by_name["unnamed namespace"] = unnamed_namespace;
        to.by_name["half"] = app::half;
        to.by_name["plus"] = app::plus<30>;
#ifndef HANDLERS_WITHOUT_CLOSED
        to.by_name["closed"] = app::closed;
#endif
        for (const auto& [name, each] : to.by_name)
            to.all.push_back(each);
    });
    heap.close();
}

/// Calls all but closed().
void call_all(const callbacks& from) {
    const auto& named = from.by_name;
    expect(named.at("opened")(100) == 101, "opened() is called");
    expect(named.at("count")(100) == 103, "count() is called");
    expect(named.at("on_key")(100) == 104, "on_key() is called");
    expect(named.at("hidden")(100) == 105, "a hidden function is called");
    expect(named.at("own")(100) == 106, "a static function is called");
    expect(named.at("other")(100) == 108, "other() is called");
    expect(named.at("same as other")(100) == 108, "same_as_other() is called");
    expect(named.at("unnamed namespace")(100) == 109, "a function in an unnamed namespace is called");
    expect(named.at("half")(100) == 50, "an inline function is called");
    expect(named.at("half") == app::half && named.at("half") == app::half_of_own(), "each copy is the same function");
    expect(named.at("plus")(100) == 130, "an instance of a template is called");
    expect(named.at("opened") == app::opened && named.at("opened") == callback(app::opened), "it equals opened()");
    expect(named.at("opened").get() == app::opened, "it has the address of opened()");
    expect(named.at("own") == app::own_one() && named.at("own") != app::hidden_one(), "it equals a static function");
    expect(named.at("count") != app::opened, "it differs from opened()");
    expect(named.at("own").name() == "app::own(int)", "the name is told");
    std::size_t i = 0;
    for (const auto& [name, each] : named)
        expect(each == from.all.at(i++), "equal ones are equal");
}

void read(const char* path) {
    rem::heap heap = rem::heap::open_existing(path);
    const auto& from = heap.root<callbacks>("callbacks");
    for (int i = 0; i != 2; ++i)
        call_all(from);
#ifndef HANDLERS_WITHOUT_CLOSED
    expect(from.by_name.at("closed")(100) == 102, "closed() is called");
    expect(from.by_name.at("closed") == app::closed, "it equals closed()");
#endif
    heap.close();
}

void expect_lacking(const callback& what) {
    try {
        what(1);
    } catch (const rem::error& e) {
        expect(e.reason() == rem::errc::not_supported, "the program lacks the function");
        return;
    }
    throw std::runtime_error("a function that the program lacks was called");
}

/// Loads each library, and unloads it again.
void lacks(const char* path, char** library) {
    rem::heap heap = rem::heap::open_existing(path);
    const auto& from = heap.root<callbacks>("callbacks");
    const callback& closed = from.by_name.at("closed");
    for (; *library != nullptr; ++library) {
        expect_lacking(closed);
        call_all(from);
        void* const loaded = ::dlopen(*library, RTLD_NOW | RTLD_LOCAL);
        if (loaded == nullptr)
            throw std::runtime_error(::dlerror());
        for (int i = 0; i != 2; ++i)
            expect(closed(100) == 102, "closed() is called once its library is loaded");
        const auto function = reinterpret_cast<handler>(::dlsym(loaded, "_ZN3app6closedEi"));
        expect(closed == function && closed == callback(function), "it equals closed()");
        ::dlclose(loaded);
    }
    expect_lacking(closed);
    call_all(from);
    heap.close();
}

/// Calls a function of a library whose file was replaced by another one after it was loaded.
void replaced(const char* path, char** library) {
    rem::heap heap = rem::heap::open_existing(path);
    if (::dlopen(library[0], RTLD_NOW | RTLD_LOCAL) == nullptr || std::rename(library[1], library[0]) != 0)
        throw std::runtime_error("the library cannot be loaded, or not be replaced");
    heap.root<callbacks>("callbacks").by_name.at("closed")(1);
}

/// Prints why functions are refused.
void twins() {
    for (const handler each : {static_cast<handler>(app::twin), app::own_twin()}) {
        try {
            const callback made = each;
            throw std::runtime_error("a function with two meanings was accepted: " + made.name());
        } catch (const rem::error& e) {
            std::cout << e.what() << '\n';
        }
    }
}

} // namespace

int main(int count, char** words) {
    try {
        if (count >= 3 && std::strcmp(words[1], "write") == 0)
            write(words[2]);
        else if (count >= 3 && std::strcmp(words[1], "read") == 0)
            read(words[2]);
        else if (count >= 3 && std::strcmp(words[1], "lacks") == 0)
            lacks(words[2], words + 3);
        else if (count == 5 && std::strcmp(words[1], "replaced") == 0)
            replaced(words[2], words + 3);
        else if (count == 2 && std::strcmp(words[1], "twins") == 0)
            twins();
        else
            return 2;
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
    return 0;
}
