// The C++ library's containers, smart pointers and function objects, iterators, views and a suspended coroutine, kept. Compiled plainly it makes,
// prints, changes and prints. With -DKEPT its first process makes, takes a point, changes and kills itself; the next one prints, changes and prints
// the same.
#include <algorithm>
#include <any>
#include <array>
#include <coroutine>
#include <csignal>
#include <cstdio>
#include <deque>
#include <exception>
#include <forward_list>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#ifdef KEPT
#include <softpm.h>
#endif

namespace {

unsigned random_state = 1;
unsigned pick(unsigned below) {
    random_state = random_state * 1103515245U + 12345U;
    return (random_state >> 8U) % below;
}

std::string text(unsigned number) {
    return number % 3 == 0 ? std::to_string(number) : "a text that takes memory of its own " + std::to_string(number);
}

// Bases at several offsets, one of them virtual; functions by pointer to member.
struct named {
    explicit named(std::string given) : name(std::move(given)) {}
    named(const named&) = delete;
    named& operator=(const named&) = delete;
    virtual ~named() = default;
    [[nodiscard]] virtual std::string describe() const { return name; }
    std::string name;
};
struct counted : virtual named {
    explicit counted(long given) : named("counted"), count(given) {}
    [[nodiscard]] virtual long total() const { return count; }
    long count;
};
struct linked : virtual named {
    explicit linked(const named* given) : named("linked"), to(given) {}
    const named* to;
};
struct both final : counted, linked {
    both(const std::string& given, long number, const named* other) : named(given), counted(number), linked(other) {}
    [[nodiscard]] std::string describe() const override { return name + (to == nullptr ? "" : " to " + to->name); }
    [[nodiscard]] long total() const override { return count * 2; }
    [[nodiscard]] long half() const { return count / 2; }
};

// Stays suspended in a loop, with its locals in a frame on the heap.
struct generator {
    struct promise_type {
        long value = 0;
        generator get_return_object() { return generator(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(long given) {
            value = given;
            return {};
        }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    explicit generator(std::coroutine_handle<promise_type> given) : handle(given) {}
    long next() {
        handle.resume();
        return handle.promise().value;
    }
    std::coroutine_handle<promise_type> handle;
};
generator lengths(const std::vector<std::string>& of, std::string added) {
    for (std::size_t at = 0;; ++at) {
        const std::string& each = of[at % of.size()];
        co_yield static_cast<long>(each.size() + added.size());
        added += 'x';
    }
}

struct everything {
    std::vector<std::string> texts;
    std::map<std::string, std::vector<long>> by_text;
    std::multimap<long, std::string_view> views;
    std::set<std::pair<long, std::string>> pairs;
    std::unordered_map<std::string, long> hashed;
    std::unordered_multimap<long, const std::string*> many;
    std::unordered_set<const void*> addresses_as_values;
    std::deque<std::string> ends;
    std::list<std::string> chain;
    std::forward_list<std::string> forward;
    std::array<std::string, 5> row; // short ones lead into themselves
    std::vector<std::unique_ptr<named>> owned;
    std::vector<const counted*> middle;
    std::shared_ptr<both> shared;
    std::weak_ptr<both> weak;
    std::vector<std::shared_ptr<named>> aliases;
    std::optional<std::string> maybe;
    std::vector<std::variant<long, std::string, std::vector<std::string>, const std::string*>> variants;
    std::tuple<std::string, const char*, std::unique_ptr<std::string>> several;
    std::any any;
    std::function<std::string(long)> function;
    std::vector<std::function<long()>> functions;
    std::priority_queue<std::pair<long, std::string>> queue;
    std::map<std::string, std::vector<long>>::iterator place;
    std::list<std::string>::iterator link;
    std::deque<std::string>::iterator end_place;
    std::vector<std::string>::const_iterator text_place;
    long (counted::*virtual_member)() const = &counted::total;
    long (both::*plain_member)() const = &both::half;
    std::string named::* data_member = &named::name;
    std::vector<bool> bits;
    std::optional<generator> produced;

    void make() {
        for (unsigned i = 0; i < 60; ++i)
            texts.push_back(text(pick(500)));
        for (const std::string& each : texts) {
            by_text[each].push_back(static_cast<long>(each.size()));
            views.emplace(pick(20), each);
            pairs.emplace(pick(9), each);
            ++hashed[each];
            many.emplace(pick(10), &each);
            (pick(2) != 0 ? ends.insert(ends.begin(), each) : ends.insert(ends.end(), each));
            chain.push_back(each);
            forward.push_front(each);
            bits.push_back(pick(2) != 0);
        }
        for (std::string& each : row)
            each = text(pick(50) * 3);
        shared = std::make_shared<both>("shared", 7, nullptr);
        weak = shared;
        for (unsigned i = 0; i < 20; ++i) {
            auto made = std::make_unique<both>(text(i), i, owned.empty() ? nullptr : owned.back().get());
            middle.push_back(made.get());
            owned.push_back(std::move(made));
            if (i % 4 == 0)
                aliases.push_back(std::make_shared<both>(text(i + 1), i, shared.get()));
            if (i % 4 == 1)
                aliases.emplace_back(shared);
        }
        maybe = text(4);
        several = {text(5), "constant", std::make_unique<std::string>(text(7))};
        any = std::vector<std::string>{text(1), text(2)};
        function = [this, word = text(8), shared = shared](long n) {
            return word + shared->name + texts[static_cast<std::size_t>(n)];
        };
        for (unsigned i = 0; i < 5; ++i)
            functions.emplace_back([of = middle[i], factor = i] { return of->total() * factor; });
        change();
    }

    void change() {
        chain.sort();
        std::list<std::string> other{text(100), text(101), text(102)};
        chain.splice(std::next(chain.begin(), 5), other, std::next(other.begin()));
        other.sort();
        chain.merge(other);
        chain.reverse();
        link = std::next(chain.begin(), 3);
        forward.sort();
        forward.reverse();
        for (unsigned i = 0; i < 15; ++i) {
            by_text.erase(by_text.begin());
            by_text[text(pick(900))].assign(i, 3);
            hashed[text(pick(900))] += 2;
            ends.pop_front();
            ends.push_back(text(pick(900)));
            queue.emplace(pick(100), text(pick(100)));
            std::swap(owned[pick(20)], owned[pick(20)]);
            row[pick(5)].swap(row[pick(5)]);
        }
        hashed.rehash(hashed.size() * 3);
        place = std::next(by_text.begin(), 7);
        end_place = std::next(ends.begin(), 9);
        text_place = texts.cbegin() + 11;
        queue.pop();
        variants.clear();
        variants.emplace_back(5L);
        variants.emplace_back(text(6));
        variants.emplace_back(std::vector<std::string>{text(7), text(9)});
        variants.emplace_back(&texts[12]);
        std::rotate(variants.begin(), variants.begin() + pick(4), variants.end());
        std::rotate(middle.begin(), middle.begin() + 3, middle.end());
        try {
            middle.at(1000);
        } catch (const std::exception&) {
            maybe->append("!");
        }
        if (!produced)
            produced = lengths(texts, "begin");
        for (unsigned i = 0; i < 7; ++i)
            produced->next();
    }

    void print() {
        for (const auto& [key, value] : by_text)
            std::printf("%s:%zu ", key.c_str(), value.size());
        for (const auto& [key, value] : views)
            std::printf("%ld=%.*s ", key, static_cast<int>(value.size()), value.data());
        for (const auto& [key, value] : pairs)
            std::printf("(%ld %s) ", key, value.c_str());
        std::puts("");
        std::map<std::string, long> sorted(hashed.begin(), hashed.end());
        for (const auto& [key, value] : sorted)
            std::printf("%s:%ld/%ld ", key.c_str(), value, hashed.at(key));
        std::multiset<std::string> found;
        for (const auto& [key, value] : many)
            found.insert(std::to_string(key) + *value);
        for (const std::string& each : found)
            std::printf("%s ", each.c_str());
        std::puts("");
        for (const std::string& each : ends)
            std::printf("%s|", each.c_str());
        for (auto each = chain.rbegin(); each != chain.rend(); ++each)
            std::printf("%s|", each->c_str());
        for (const std::string& each : forward)
            std::printf("%s|", each.c_str());
        for (const std::string& each : row)
            std::printf("%s|", each.c_str());
        std::puts("");
        for (const auto& each : owned)
            std::printf("%s ", each->describe().c_str());
        for (const counted* each : middle)
            std::printf("%ld/%ld/%ld/%s ", each->total(), (each->*virtual_member)(),
                        (dynamic_cast<const both*>(each)->*plain_member)(), each->name.c_str());
        for (const auto& each : aliases)
            std::printf("%s(%ld) ", each->describe().c_str(), each.use_count());
        std::printf("%d %s %s %s %s\n", weak.lock() == shared, (*shared).*data_member == "shared" ? "yes" : "no",
                    maybe->c_str(), std::get<1>(several), std::get<2>(several)->c_str());
        std::printf("%s %s\n", std::any_cast<const std::vector<std::string>&>(any)[1].c_str(), function(3).c_str());
        for (const auto& each : functions)
            std::printf("%ld ", each());
        for (auto left = queue; !left.empty(); left.pop())
            std::printf("%ld/%s ", left.top().first, left.top().second.c_str());
        std::printf("%s %s %s %s\n", place->first.c_str(), link->c_str(), end_place->c_str(), text_place->c_str());
        for (const auto& each : variants) {
            if (const auto* const number = std::get_if<long>(&each))
                std::printf("%ld ", *number);
            else if (const auto* const word = std::get_if<std::string>(&each))
                std::printf("%s ", word->c_str());
            else if (const auto* const words = std::get_if<std::vector<std::string>>(&each))
                std::printf("%s+%s ", (*words)[0].c_str(), (*words)[1].c_str());
            else
                std::printf("%s ", std::get<const std::string*>(each)->c_str());
        }
        std::printf("%ld %zu\n", produced->handle.promise().value,
                    static_cast<std::size_t>(std::count(bits.begin(), bits.end(), true)));
    }
};

struct root {
    everything* all;
};

} // namespace

int main() {
#ifdef KEPT
    root* kept = nullptr;
    int id = pCRestoreAs(1, &kept);
    if (id < 0) {
        id = pCAlloc(1, sizeof *kept, reinterpret_cast<void**>(&kept));
        if (id < 0) {
            std::puts(pStatus());
            return 1;
        }
        kept->all = new everything;
        kept->all->make();
        if (pPoint(id) != 0 || pSync(id) != 0) {
            std::puts(pStatus());
            return 1;
        }
        std::printf("%p\n", static_cast<void*>(kept));
        std::fflush(stdout);
        kept->all->change(); // after the point: must not be there
        std::raise(SIGKILL);
    }
    std::fputs(pStatus(), stderr);
    everything* const all = kept->all;
#else
    auto* const all = new everything;
    all->make();
#endif
    all->print();
    random_state = 2; // in both cases
    all->change();
    all->print();
    return 0;
}
