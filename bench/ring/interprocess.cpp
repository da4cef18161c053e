// Boost.Interprocess: nodes in a mapped file, linked by its offset pointers, which msync brings to the device.
#include "ring.hpp"

#include <boost/interprocess/managed_mapped_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

namespace {

namespace bip = boost::interprocess;

struct offset_node {
    bip::offset_ptr<offset_node> next;
    bip::offset_ptr<offset_node> previous;
    int value;
};

/// A mapped file does not grow: this is what 5 million nodes and its own bookkeeping need, and some more.
constexpr std::size_t k_file_bytes = k_nodes * (sizeof(offset_node) + 24) + (std::size_t{1} << 20);

class interprocess_ring final : public ring {
public:
    explicit interprocess_ring(const std::filesystem::path& file) : file_(file) {}

    void create() override {
        memory_.emplace(bip::create_only, file_.c_str(), k_file_bytes);
        auto& first = *memory_->construct<bip::offset_ptr<offset_node>>("ring")(nullptr);
        for (std::uint64_t i = 0; i < k_nodes; ++i) {
            auto* const node = static_cast<offset_node*>(memory_->allocate(sizeof(offset_node)));
            new (node) offset_node{nullptr, nullptr, static_cast<int>(i)};
            if (!first)
                first = node->next = node->previous = node;
            else
                link_before(first.get(), node);
        }
        is_changed_ = true;
    }

    void open() { memory_.emplace(bip::open_only, file_.c_str()); }

    std::uint64_t sum() override {
        return sum_of_ring(memory_->find<bip::offset_ptr<offset_node>>("ring").first->get());
    }

    void close() override {
        if (is_changed_) {
            memory_->flush(); // only begins to write
            sync_file();
        }
        memory_.reset();
    }

private:
    void sync_file() const {
        const int descriptor = ::open(file_.c_str(), O_RDWR | O_CLOEXEC);
        const bool is_durable = descriptor >= 0 && ::fsync(descriptor) == 0;
        const int why = errno;
        ::close(descriptor);
        if (!is_durable)
            throw std::system_error(why, std::generic_category(), "the ring's file");
    }

    std::filesystem::path file_;
    std::optional<bip::managed_mapped_file> memory_;
    bool is_changed_ = false;
};

} // namespace

system_kind interprocess_system() {
    return {"interprocess",
            [](const std::filesystem::path& file) -> std::unique_ptr<ring> {
                auto made = std::make_unique<interprocess_ring>(file);
                made->create();
                return made;
            },
            [](const std::filesystem::path& file) -> std::unique_ptr<ring> {
                auto opened = std::make_unique<interprocess_ring>(file);
                opened->open();
                return opened;
            }};
}
