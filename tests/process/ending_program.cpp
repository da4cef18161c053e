// Moves money between two accounts and meets an end half way: see ending_cases.hpp. Usage: FILE HOLDER WAY ENDING.

#include "ending_cases.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>

namespace remanence::test {
namespace {

/// As many programs have it: destroyed when main() has returned, or in exit().
std::optional<file_backed<ledger>> file;
std::optional<heap> store;
// What threads use after that.
ledger* accounts = nullptr;
std::string_view ending;
std::atomic<std::uint64_t> rounds = 0; // of a section that goes on writing
std::atomic<bool> is_half_done = false;
std::atomic<bool> is_destroyed = false;

void destroy() {
    file.reset();
    store.reset();
}

/// At the very end, a section that goes on writing has to do so for a while.
struct last_static {
    ~last_static() {
        if (ending != "main_returns" && ending != "exit_in_another_thread")
            return;
        for (const std::uint64_t before = rounds; rounds < before + 1000;)
            std::this_thread::yield();
    }
};

void go_on_writing() {
    accounts->notes["a round"] = static_cast<long>(rounds);
    accounts->alice -= 1;
    accounts->notes.erase("a round");
    accounts->alice += 1;
    ++rounds;
}

void meet_the_end() {
    is_half_done = true;
    is_half_done.notify_all();
    if (ending.starts_with("exception"))
        throw std::runtime_error("half way");
    if (ending == "exit")
        std::exit(k_exited);
    if (ending == "exit_in_handler") {
        std::signal(SIGTERM, [](int) { std::exit(k_exited_in_handler); });
        std::raise(SIGTERM);
    }
    if (ending == "quick_exit")
        std::quick_exit(k_exited_quickly);
    if (ending == "_exit")
        ::_exit(k_exited_at_once);
    if (ending == "abort")
        std::abort();
    if (ending == "killed")
        std::raise(SIGKILL);
    if (ending == "exit_in_another_thread")
        std::thread([] { std::exit(k_exited_in_another_thread); }).detach();
    if (ending == "destroyed_meanwhile") {
        std::thread([] {
            destroy();
            is_destroyed = true;
        }).detach();
    }
    while (!is_destroyed)
        go_on_writing();
}

void transfer(long amount, bool whole) {
    heap_of(accounts)->touch(
        accounts, sizeof *accounts); // for declared sections, and for later, too: the handle may be gone then
    accounts->alice -= amount;
    if (!whole) {
        accounts->notes["half"] = amount;
        meet_the_end();
        accounts->notes.erase("half");
    }
    accounts->bob += amount;
}

void transfer_whole() { transfer(k_whole, true); }
void transfer_in_parts() { transfer(k_part, false); }

} // namespace

/// Does it in the program's own part of root() and remove_root().
struct hook {
    hook() {
        if (is_armed)
            transfer_in_parts();
    }
    hook(const hook&) = delete;
    hook& operator=(const hook&) = delete;
    ~hook() noexcept(false) {
        if (is_armed)
            transfer_in_parts();
    }
    int unused = 0;
    static inline bool is_armed = false;
};

} // namespace remanence::test

template <>
inline constexpr bool remanence::enable_persistable<remanence::test::hook> = true;

namespace remanence::test {
namespace {

template <class Holder>
void run_section(Holder& holder, std::string_view way) {
    if (way == "write") {
        holder.write(transfer_in_parts);
    } else if (way == "write_lazy") {
        holder.write(durability::lazy, transfer_in_parts);
    } else if (way == "write_declared") {
        holder.write(declared, transfer_in_parts);
    } else if (way == "write_declared_lazy") {
        holder.write(declared, durability::lazy, transfer_in_parts);
    } else if (way == "write_async") {
        holder.write_async(transfer_in_parts).wait();
    } else if (way == "write_async_declared") {
        holder.write_async(declared, transfer_in_parts).wait();
    } else if (way == "write_in_write") {
        holder.write([&] { holder.write(transfer_in_parts); });
    } else if (way == "declared_in_write") {
        holder.write([&] { holder.write(declared, transfer_in_parts); });
    } else if (way == "write_in_declared") {
        holder.write(declared, [&] { holder.write(transfer_in_parts); });
    } else if (way == "read_in_write") {
        holder.write([&] { holder.read(transfer_in_parts); });
    } else if (way == "commit_inside") {
        holder.write([&] {
            transfer_whole();
            holder.commit();
            transfer_in_parts();
        });
    } else if (way == "commit_async_inside") {
        holder.write([&] {
            transfer_whole();
            (void)holder.commit_async();
            transfer_in_parts();
        });
    } else if (way == "rollback_inside") {
        holder.write([&] {
            transfer_whole();
            holder.rollback();
            transfer_in_parts();
        });
    } else if (way == "read") {
        accounts->alice -= k_part;
        holder.read(meet_the_end);
        accounts->bob += k_part;
    }
}

void run_section_of_heap(std::string_view way) {
    if (way == "lock") {
        const std::unique_lock lock(*store);
        transfer_in_parts();
        store->commit();
    } else if (way == "try_lock") {
        const std::unique_lock lock(*store, std::try_to_lock);
        transfer_in_parts();
        store->commit();
    } else if (way == "constructor_of_root") {
        hook::is_armed = true;
        store->root<hook>("hook");
    } else if (way == "destructor_of_removed_root") {
        store->root<hook>("hook");
        hook::is_armed = true;
        store->remove_root<hook>("hook");
    } else {
        run_section(*store, way);
    }
}

void open(const char* path, std::string_view holder) {
    if (holder == "file_backed") {
        file.emplace(path);
        accounts = &**file;
    } else {
        store.emplace(heap::open(path, {.commit_at_close = holder == "commit_at_close"}));
        accounts = &store->root<ledger>(k_ledger_root);
    }
    const auto deposit = [] { accounts->alice = k_deposit; };
    file ? file->write(deposit) : store->write(deposit);
}

void work(std::string_view way) {
    struct end_of_scope {
        ~end_of_scope() {
            if (ending == "exception_passes")
                destroy();
        }
    };
    try {
        const end_of_scope scope;
        if (file)
            run_section(*file, way);
        else
            run_section_of_heap(way);
    } catch (const std::runtime_error&) { // NOLINT(bugprone-empty-catch): it has done its work
    }
}

} // namespace
} // namespace remanence::test

int main(int argc, char** argv) {
    using namespace remanence::test;
    if (argc != 5)
        return 1;
    static const last_static last; // made before the heap, so destroyed after it
    ending = argv[4];
    open(argv[1], argv[2]);
    const std::string_view way = argv[3];
    if (ending != "main_returns") {
        work(way);
        return 0;
    }
    std::thread([way] { work(way); }).detach();
    is_half_done.wait(false);
    return 0;
}
