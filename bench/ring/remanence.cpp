#include "ring.hpp"

#include <remanence/remanence.hpp>

namespace {

namespace rem = remanence;

class remanence_ring final : public ring {
public:
    explicit remanence_ring(rem::heap heap) : heap_(std::move(heap)) {}

    void create() override {
        auto& first = heap_.root<link_node*>("ring");
        for (std::uint64_t i = 0; i < k_nodes; ++i) {
            auto* const node = heap_.make<link_node>(nullptr, nullptr, static_cast<int>(i));
            if (first == nullptr)
                first = node->next = node->previous = node;
            else
                link_before(first, node);
        }
        is_changed_ = true;
    }

    std::uint64_t sum() override { return sum_of_ring(*heap_.find_root<link_node*>("ring")); }

    void close() override {
        if (is_changed_)
            heap_.commit();
        heap_.close();
    }

private:
    rem::heap heap_;
    bool is_changed_ = false;
};

} // namespace

system_kind remanence_system() {
    return {"remanence",
            [](const std::filesystem::path& file) -> std::unique_ptr<ring> {
                auto made = std::make_unique<remanence_ring>(rem::heap::create(file));
                made->create();
                return made;
            },
            [](const std::filesystem::path& file) -> std::unique_ptr<ring> {
                return std::make_unique<remanence_ring>(rem::heap::open_existing(file));
            }};
}
