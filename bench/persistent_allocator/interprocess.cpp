// Boost.Interprocess: its rbtree_best_fit over a mapped file. A commit is a sync of the mapping; a crash in between leaves neither the
// state before nor the one after it.
#include "store.hpp"

#include <boost/interprocess/managed_mapped_file.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <system_error>

namespace {

namespace bip = boost::interprocess;

class interprocess_store final : public block_store {
public:
    interprocess_store(const std::filesystem::path& file, std::size_t bytes)
        : memory_(bip::create_only, file.c_str(), bytes) {}

    void begin() override {}
    void* allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
    void free(void* block, std::size_t /*bytes*/) override { memory_.deallocate(block); }
    void commit() override {
        if (::msync(memory_.get_address(), memory_.get_size(), MS_SYNC) != 0)
            throw std::system_error(errno, std::generic_category(), "msync");
    }
    [[nodiscard]] std::span<const std::byte> memory() const override {
        return {static_cast<const std::byte*>(memory_.get_address()), memory_.get_size()};
    }

private:
    bip::managed_mapped_file memory_;
};

} // namespace

system_kind interprocess_system() {
    return {"interprocess", [](const std::filesystem::path& file, std::size_t bytes) -> std::unique_ptr<block_store> {
                return std::make_unique<interprocess_store>(file, bytes);
            }};
}
