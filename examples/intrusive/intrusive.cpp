// intrusive: Boost.Intrusive with plain pointers, in a heap. Tasks lie in a list, in the order in which they came, and in a
// set, by name; both are only hooks in the tasks, and a header of each that lies in the heap, too. Hooks hold plain pointers, so the heap
// must be mapped where it was created.
//
// safe_link asserts that an object is in no container when it is destroyed: erase it first, then destroy() it. normal_link should do, too,
// without that check, and auto_unlink writes to its neighbours in destructors; neither is tested here. Nothing is declared: in
// declared sections the program must touch() the neighbours. Hooks hide their members, so the classes that have them are vouched for
// (enable_persistable), and so is the class with the headers.
#include <remanence/remanence.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>

#include <exception>
#include <iostream>
#include <string_view>

namespace rem = remanence;
namespace intrusive = boost::intrusive;

namespace tasks {

using list_hook = intrusive::list_member_hook<intrusive::link_mode<intrusive::safe_link>>;
using set_hook = intrusive::set_member_hook<intrusive::link_mode<intrusive::safe_link>>;

struct task {
    using allocator_type = rem::allocator<char>; // so that make() passes the heap's
    task(std::string_view called, const allocator_type& alloc) : name(called, alloc) {}

    rem::string name;
    list_hook in_order;
    set_hook by_name;
};

struct name_of {
    using type = std::string_view;
    type operator()(const task& of) const { return of.name; }
};
using task_list = intrusive::list<task, intrusive::member_hook<task, list_hook, &task::in_order>>;
using task_set =
    intrusive::set<task, intrusive::member_hook<task, set_hook, &task::by_name>, intrusive::key_of_value<name_of>>;

struct all_tasks {
    using allocator_type = rem::allocator<char>;
    explicit all_tasks(const allocator_type& /*unused*/) {}

    task_list in_order;
    task_set by_name;
};

} // namespace tasks

// Their pointers lead to hooks and headers, all of which lie in the heap.
template <>
inline constexpr bool remanence::enable_persistable<tasks::task> = true;
template <>
inline constexpr bool remanence::enable_persistable<tasks::all_tasks> = true;

namespace {

using tasks::all_tasks;
using tasks::task;

/// Adds the task, or, if there is one of that name, finishes it.
void toggle(rem::heap& heap, all_tasks& all, std::string_view name) {
    const auto found = all.by_name.find(name);
    if (found == all.by_name.end()) {
        task* const added = heap.make<task>(name);
        all.in_order.push_back(*added);
        all.by_name.insert(*added);
    } else {
        task& done = *found;
        all.by_name.erase(found);
        all.in_order.erase(all.in_order.iterator_to(done));
        heap.destroy(&done);
    }
}

void run(const char* file, int count, char* names[]) {
    rem::heap heap = rem::heap::open(file);
    auto& all = heap.root<all_tasks>("tasks");
    heap.write([&] {
        for (int i = 0; i != count; ++i)
            toggle(heap, all, names[i]);
    });
    for (const task& each : all.in_order)
        std::cout << each.name << '\n';
    std::cout << "by name:";
    for (const task& each : all.by_name)
        std::cout << ' ' << each.name;
    std::cout << '\n';
    if (!heap.check_pointers().clean())
        std::cerr << "a pointer leaves the heap\n";
    heap.close();
}

} // namespace

int main(int count, char* words[]) {
    if (count < 2) {
        std::cerr << "usage: intrusive FILE [NAME…]\n";
        return 2;
    }
    try {
        run(words[1], count - 2, words + 2);
        return 0;
    } catch (const std::exception& reason) {
        std::cerr << "intrusive: " << reason.what() << '\n';
        return 1;
    }
}
