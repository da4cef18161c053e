#include "api/leak_part.hpp"

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "api/registry.hpp"
#include "os/backtrace.hpp"
#include "txn/block_notes.hpp"

#include <typeinfo>

namespace remanence::detail {

namespace {

void note_type(const void* object, const std::type_info& type) noexcept {
    if (heap_impl* const impl = registry::find(object))
        impl->memory().note_type(object, type);
}

void note_calls(const std::filesystem::path& path, const check_options& checks, txn::engine_options& internal) {
    if (checks.leak_frames == 0)
        return;
    if (checks.leak_frames > os::k_calls_noted_max)
        raise({errc::invalid_argument, "cannot open " + path.string() + ": options.checks.leak_frames is more than 32.",
               path.string()});
    internal.has.block_notes = txn::make_block_notes;
    internal.leak_frames = checks.leak_frames;
    note_type_of_object = note_type;
    notes_types = true;
}

} // namespace

constinit const leak_part k_leak_part{note_calls};

} // namespace remanence::detail
