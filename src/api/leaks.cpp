// heap::leaks(), which visits all objects that roots reach. A separate file, so that programs that do not call it do
// not link that code.

#include "api/heap_impl.hpp"
#include "api/leak_sums.hpp"
#include "api/raise.hpp"
#include "inspect/unreached_blocks.hpp"
#include "types/root_directory.hpp"

#include <vector>

namespace remanence {

leak_report heap::leaks() const {
    detail::heap_impl* const impl = detail::checked(impl_);
    const detail::read_section section(impl);
    const detail::whole_call reading(impl->calls);
    txn::heap_memory& memory = impl->memory();
    auto blocks = memory.with_allocator([&](const alloc::block_allocator& from) {
        std::vector<heap_range> all;
        from.for_each_block([&](alloc::block each) { all.push_back({memory.offset_of(each.start), each.bytes}); });
        return all;
    });
    types::memory_bytes bytes(memory);
    const inspect::heap_to_read view{bytes,
                                     memory.path(),
                                     reinterpret_cast<std::uintptr_t>(memory.base()),
                                     memory.accessible_bytes(),
                                     impl->engine().version(),
                                     &memory.header()};
    const auto left = inspect::unreached_blocks(view, std::move(blocks));
    if (!left)
        detail::raise(left.why());
    const bool notes_places = impl->options.checks.leak_frames != 0;
    detail::leak_sums sums;
    for (const heap_range& each : *left) {
        sums.add_block(each.bytes);
        if (!notes_places)
            continue;
        auto note = memory.note_of(memory.base() + each.offset);
        if (!note)
            note = {each.bytes, nullptr, {}};
        sums.add_type(note->type, note->asked);
        sums.add_place(std::move(note->calls), note->asked);
    }
    return sums.report();
}

} // namespace remanence
