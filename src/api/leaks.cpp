// heap::leaks() and heap::collect(), which visit all objects that roots reach. A separate file, so that programs that
// do not call them do not link that code.

#include "api/leaks.hpp"

#include "api/heap_impl.hpp"
#include "api/heap_reading.hpp"
#include "api/leak_sums.hpp"
#include "api/raise.hpp"
#include "inspect/unreached_blocks.hpp"

#include <vector>

namespace remanence {

namespace {

inspect::unreached find_unreached(detail::heap_impl& impl) {
    types::memory_bytes bytes(impl.memory());
    auto left = inspect::unreached_blocks(detail::to_read(bytes, impl.memory()),
                                          inspect::sorted_blocks(detail::blocks_of(impl.memory())));
    if (!left)
        detail::raise(left.why());
    return std::move(*left);
}

leak_report report_of(const std::vector<heap_range>& left, detail::heap_impl& impl) {
    detail::leak_sums sums;
    for (const heap_range& each : left)
        detail::add_block(sums, each, impl);
    return sums.report();
}

} // namespace

void detail::add_block(leak_sums& to, const heap_range& block, heap_impl& impl) {
    to.add_block(block.bytes);
    if (impl.options.checks.leak_frames == 0)
        return;
    auto note = impl.memory().note_of(impl.memory().base() + block.offset);
    if (!note)
        note = {block.bytes, nullptr, {}};
    to.add_type(note->type, note->asked);
    to.add_place(std::move(note->calls), note->asked);
}

void detail::refuse_hidden_references(heap_impl& impl) {
    types::memory_bytes bytes(impl.memory());
    const auto found = inspect::what_hides_references(to_read(bytes, impl.memory()));
    if (!found)
        raise(found.why());
    if (*found)
        raise_uncertain(impl, **found);
}

void detail::raise_uncertain(heap_impl& impl, const std::string& what) {
    raise(errc::not_supported,
          "what no root reaches cannot be found for certain: " + what +
              ". Describe it (all members by REM_REFLECT, pointers with a type; in C by REM_DESCRIBE) and commit, or "
              "free the blocks yourself: leaks() lists them.",
          impl.memory().path());
}

leak_report heap::leaks() const {
    detail::heap_impl* const impl = detail::checked(impl_);
    const detail::read_section section(impl);
    const detail::whole_call reading(impl->calls);
    return report_of(find_unreached(*impl).blocks, *impl);
}

leak_report heap::collect() {
    {
        // Before the section, since a section that fails would also undo earlier changes.
        detail::heap_impl* const impl = detail::checked(impl_);
        const detail::read_section section(impl);
        detail::refuse_hidden_references(*impl);
    }
    std::string uncertain; // thrown behind the section, which would be rolled back otherwise
    leak_report freed = write([&] {
        detail::heap_impl& impl = *detail::checked(impl_);
        detail::refuse_hidden_references(impl); // another thread may have made a root
        const inspect::unreached found = find_unreached(impl);
        uncertain = found.uncertain;
        if (!uncertain.empty())
            return leak_report{};
        leak_report freed_now = report_of(found.blocks, impl);
        for (const heap_range& each : found.blocks)
            detail::check(impl.memory().deallocate(impl.memory().base() + each.offset));
        return freed_now;
    });
    if (!uncertain.empty())
        detail::raise_uncertain(*detail::checked(impl_), uncertain);
    return freed;
}

} // namespace remanence
