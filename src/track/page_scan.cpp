#include "track/page_scan.hpp"

#include "os/anonymous_memory.hpp"
#include "os/memory.hpp"
#include "track/paused_writes.hpp"
#include "track/private_copies.hpp"
#include "track/trap_tracker.hpp"
#include "track/write_protect_scanner.hpp"

#include <cerrno>
#include <utility>

namespace remanence::track {

namespace {

/// The fallback: reports a page at each collect(), from its first write until it is dropped.
class private_copy_scanner final : public page_scanner {
public:
    private_copy_scanner(std::byte* base, private_copies copies, os::fork_guard process)
        : base_(base), copies_(std::move(copies)), paused_(base, process) {}
    result<void> mapped(std::uint64_t, std::uint64_t, page_contents) override { return {}; }
    result<void> collect(std::uint64_t bytes, std::vector<page_run>& runs) override {
        return copies_.append({0, bytes}, runs);
    }
    result<void> make_private(page_run where) override { return os::make_private(base_ + where.offset, where.bytes); }
    result<void> move_pages(page_run from, std::uint64_t to) override {
        os::move_memory(base_ + from.offset, base_ + to, from.bytes);
        return {};
    }
    result<void> pause_writes(page_run where) override { return paused_.begin(where); }
    result<void> replace_paused(os::moving_mapping& by, std::uint64_t offset) override {
        return paused_.replace(by, offset);
    }
    result<void> let_writes_go_on() override { return paused_.end(); }
    [[nodiscard]] bool tells_rounds_apart() const override { return false; }
    [[nodiscard]] const char* name() const override { return "fallback"; }

private:
    std::byte* base_;
    private_copies copies_;
    paused_writes paused_;
};

unexpected no_scan_tier() {
    return fail(errc::not_supported,
                "the scan tracker does not work here: it needs Linux 6.7, and userfaultfd, which a seccomp profile may "
                "refuse. Use tracking::automatic, or unset REMANENCE_TRACKING.");
}

} // namespace

result<void> page_scanner::move_pages(page_run, std::uint64_t) {
    return fail(errc::not_supported, "this tracker moves no pages.");
}

std::optional<tracker_choice> tracker_named(std::string_view name) {
    static constexpr std::pair<std::string_view, tracker_choice> k_names[] = {{"automatic", tracker_choice::automatic},
                                                                              {"scan", tracker_choice::scan},
                                                                              {"trap", tracker_choice::trap},
                                                                              {"fallback", tracker_choice::fallback}};
    for (const auto& [known, choice] : k_names) {
        if (known == name)
            return choice;
    }
    return {};
}

result<std::unique_ptr<page_scanner>> make_page_scanner(std::byte* base, tracker_choice choice) {
    if (choice == tracker_choice::trap)
        return make_trap_tracker(base);
    const auto can_scan = choice != tracker_choice::fallback ? scan_tier_works() : result<bool>(false);
    if (!can_scan)
        return unexpected(can_scan.why());
    if (*can_scan) {
        auto made = make_write_protect_scanner(base);
        // EPERM and ENOSYS mean that a seccomp profile was installed after the test; then the scan tier counts as not
        // working. Any other error is returned.
        if (made || (made.why().os_error != EPERM && made.why().os_error != ENOSYS))
            return made;
    }
    if (choice == tracker_choice::scan)
        return no_scan_tier();
    auto copies = private_copies::create(base);
    if (!copies)
        return copies.error();
    auto process = os::fork_guard::create();
    if (!process)
        return process.error();
    return std::unique_ptr<page_scanner>(new private_copy_scanner(base, std::move(*copies), *process));
}

} // namespace remanence::track
