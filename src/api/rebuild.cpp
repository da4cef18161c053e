// heap::rebuild(): ends the heap as a crash would, and opens it again behind the same handle. A separate file, so that
// programs that do not call it do not link it.

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "api/version_opening.hpp"

#include <utility>

namespace remanence {

void heap::rebuild(std::string_view abi) {
    detail::heap_impl* const impl = detail::checked(impl_);
    const os::no_cancellation whole;
    const detail::heap_origin origin = impl->origin;
    const std::string path = origin.path.string();
    if (impl->engine().is_shared())
        detail::raise(errc::invalid_argument,
                      path + " is shared by processes, and cannot be rebuilt. Close it and open it again.", path);
    if (impl->engine().is_elsewhere())
        detail::raise(errc::invalid_argument,
                      path +
                          " is not where it was created, and cannot be rebuilt: its objects would move. Close it and "
                          "open it again.",
                      path);
    auto is_there = impl->engine().is_at(impl->engine().path());
    if (!is_there)
        detail::raise(is_there.why());
    if (!*is_there)
        detail::raise(
            errc::unlinked,
            path + " cannot be rebuilt: another file has its name, or none. Give the heap's file its name again.",
            path);
    const heap_options options = impl->options;
    if (options.version || !options.kept_version.empty()) // another process may have dropped the version meanwhile
        detail::check(
            detail::part_for_version(options)->find(*origin.files, detail::real_path(origin.path).string(), options));
    // the new heap must go on holding the roots to which the program has references
    const auto known = impl->held ? impl->held->all_known() : detail::held_roots::known_roots();
    const txn::parts has = impl->engine().has();
    detail::heap_impl::drop(impl_);
    *this = heap(*origin.files, origin.path, options, detail::opening::open_existing, abi, has);
    if (impl_->held)
        impl_->held->know_all(known);
}

} // namespace remanence
