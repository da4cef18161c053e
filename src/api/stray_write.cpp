// Reports a fault in memory of a heap before the process dies of it: a write outside of any write section, a write to a
// read-only heap, or a use after close().

#include "api/stray_write.hpp"

#include "api/heap_impl.hpp"
#include "api/registry.hpp"
#include "os/write_traps.hpp"
#include "types/root_owner.hpp"

namespace remanence::detail {

namespace {

using os::say;
using os::say_hexadecimal;

// Neither say_root() nor what report_stray_write() does before it is async-signal-safe. say_root() is called last,
// because it is the most likely to fail.
void say_root(heap_impl& impl, const void* address) {
    const alloc::block_allocator* blocks = impl.memory().quiet_allocator();
    if (blocks == nullptr) {
        say("It belongs to the allocator: memory was asked for, or freed.\n");
        return;
    }
    auto block = blocks->block_of(address);
    if (!block) {
        say("It lies in no block of memory that is in use.\n");
        return;
    }
    bool complete = true;
    auto root = types::find_owner(impl.memory(), *blocks, block->start, complete);
    const auto at = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) -
                                               static_cast<const std::byte*>(block->start));
    const std::string where = root       ? "below the root \"" + root->name + "\" of type " + root->type
                              : complete ? std::string("which no root reaches")
                                         : std::string("in a heap too large to tell the root");
    say(("It lies at byte " + std::to_string(at) + " of a block of " + std::to_string(block->bytes) + " bytes, " +
         where + ".\n")
            .c_str());
}

} // namespace

static void say_place(const char* what, const void* address, std::uint64_t base) {
    const auto where = reinterpret_cast<std::uint64_t>(address);
    say("remanence: ");
    say(what);
    say(" to ");
    say_hexadecimal(where);
    say(", offset ");
    say_hexadecimal(where - base);
}

void report_fault(const void* address, bool is_write) {
    if (const heap_impl* impl = registry::find(address)) {
        if (!is_write || !impl->options.read_only)
            return;
        say_place("a write", address, reinterpret_cast<std::uint64_t>(impl->memory().base()));
        say(" of the heap ");
        say(impl->origin.path.c_str());
        say(", which is open read-only. Open it without read_only to change it. The calls that led to it:\n");
        os::say_backtrace();
        return;
    }
    if (const registry::closed_range* was = registry::closed_at(address)) {
        say_place("an access", address, was->begin);
        say(" of where the heap ");
        say(was->path.data());
        say(" was until it was closed. What was committed is in the file. Pointers, references and iterators into a "
            "heap "
            "end with it: keep it open while they are used, or open it again and look up its roots. The calls that led "
            "to "
            "it:\n");
        os::say_backtrace();
    }
}

void report_stray_write(const void* address) {
    heap_impl* impl = registry::find(address);
    if (impl == nullptr)
        return;
    say_place("a write", address, reinterpret_cast<std::uint64_t>(impl->memory().base()));
    say(" of the heap ");
    say(impl->origin.path.c_str());
    say(", outside any write section. The process ends; what was committed is in the file. Put the change into "
        "write(), "
        "or open the heap without catch_stray_writes. The calls that led to it:\n");
    os::say_backtrace();
    say_root(*impl, address);
}

} // namespace remanence::detail
