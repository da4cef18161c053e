// heap::check_pointers(), which visits all objects that roots reach, by their schemas. A separate file, so that
// programs that do not call it do not link that code.

#include "api/heap_impl.hpp"
#include "api/registry.hpp"
#include "types/pointer_check.hpp"
#include "types/schema_reader.hpp"

#include <utility>

namespace remanence {

pointer_report heap::check_pointers() const {
    detail::heap_impl* const impl = detail::checked(impl_);
    const detail::read_section section(impl);
    const detail::whole_call reading(impl->calls);
    types::pointer_survey found = impl->memory().with_allocator([&](const alloc::block_allocator& blocks) {
        return types::survey_pointers(impl->memory(), blocks, detail::registry::path_at, types::k_schema_reader,
                                      [classes = impl->virtuals.load()](std::uint64_t value) {
                                          return classes != nullptr && classes->is_vtable(value);
                                      });
    });
    pointer_report report;
    report.blocks_checked = found.blocks;
    report.pointers_found = found.found;
    for (types::foreign_pointer& each : found.first)
        report.pointers.push_back({std::move(each.root), std::move(each.type), each.offset, std::move(each.what)});
    return report;
}

} // namespace remanence
