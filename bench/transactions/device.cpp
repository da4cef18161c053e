// The device itself: one durable write for each transaction, and nothing else. One thread writes at a time.
#include "store.hpp"

#include <harness.hpp>

#include <mutex>

namespace {

class device_store final : public store {
public:
    explicit device_store(const settings& chosen) : file_(chosen.directory / "device") {}

    void fill() override {}
    void update(unsigned /*thread*/, const keys& which) override {
        const std::scoped_lock turn(turn_);
        file_.write(which[0]);
        updates_ += k_updates;
    }
    std::uint64_t sum() override { return updates_; }
    void close() override {}

private:
    bench::raw_device file_;
    std::uint64_t updates_ = 0;
    std::mutex turn_;
};

} // namespace

system_kind device_system() {
    const auto open = [](const settings& chosen) { return std::make_unique<device_store>(chosen); };
    return {.name = "device", .open = open, .family = "device", .has_lazy = false};
}
