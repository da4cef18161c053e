#include "api/background_news.hpp"

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "os/blocked_signals.hpp"

#include <cerrno>
#include <optional>
#include <system_error>

namespace remanence::detail {

background_news::background_news(txn::sharing& of, std::uint64_t shown) : of_(of), shown_(shown) {
    if (!event_.valid())
        throw std::system_error(errno, std::generic_category());
    {
        const os::blocked_signals none;
        thread_ = std::thread([this] { run(); });
    }
    of_.tell_of_versions(this);
}

background_news::~background_news() {
    of_.tell_of_versions(nullptr);
    ends_ = true;
    of_.protocol().wake_waiting_for_commits();
    thread_.join();
}

// The event is set exactly while `newest` is greater than shown_, by whichever thread learns of one of them last.
void background_news::set_if_behind(std::uint64_t newest) noexcept {
    if (is_set_ == (newest > shown_))
        return;
    is_set_ = !is_set_;
    if (is_set_)
        event_.set();
    else
        event_.clear();
}

void background_news::shows(std::uint64_t version) noexcept {
    const std::scoped_lock alone(mutex_);
    shown_ = version;
    set_if_behind(of_.protocol().visible());
}

std::uint64_t background_news::look() noexcept {
    const std::scoped_lock alone(mutex_);
    const std::uint64_t newest = of_.protocol().visible();
    set_if_behind(newest);
    return newest;
}

void background_news::run() {
    while (!ends_)
        of_.protocol().wait_for_commit_after(look(), ends_);
}

} // namespace remanence::detail

namespace remanence {

int heap::poll_descriptor() const {
    detail::heap_impl* const impl = detail::checked(impl_);
    const std::string path = impl->origin.path.string();
    if (!impl->engine().is_shared())
        detail::raise(errc::invalid_argument,
                      "poll_descriptor: " + path +
                          " is open exclusively: no other process can commit. Open it with sharing::processes.",
                      path);
    const detail::read_section section(impl); // version() must be what memory shows
    return impl->threads.watch_commits([impl]() -> std::unique_ptr<detail::commit_poll> {
        try {
            return std::make_unique<detail::background_news>(*impl->engine().shared(), impl->engine().version());
        } catch (const std::system_error& why) {
            const bool lacks_descriptors = why.code().value() == EMFILE || why.code().value() == ENFILE;
            detail::raise({lacks_descriptors ? errc::no_space : errc::no_memory,
                           "poll_descriptor of " + impl->origin.path.string() +
                               " needs one descriptor and one thread, and the system refused: " + why.code().message() +
                               ".",
                           impl->origin.path.string(), why.code().value()});
        }
    });
}

} // namespace remanence
