// Remanence: a heap that processes share; commits are durable, or lazy.
#include "store.hpp"

#include <remanence/remanence.hpp>

namespace {

namespace rem = remanence;

class remanence_store final : public store {
public:
    remanence_store(const std::filesystem::path& directory, rem::durability how)
        : heap_(rem::heap::open(directory / "record.rem", {.access = rem::sharing::processes, .commits = how})),
          record_(heap_.root<record>("record")) {}
    void change() override {
        heap_.write([&] { add_one(record_); });
    }
    record look() override {
        return heap_.read([&] { return record_; });
    }

private:
    rem::heap heap_;
    record& record_;
};

} // namespace

system_kind remanence_system() {
    return {"Remanence", [](const std::filesystem::path& directory, bool is_durable) {
                return std::make_unique<remanence_store>(directory,
                                                         is_durable ? rem::durability::durable : rem::durability::lazy);
            }};
}
