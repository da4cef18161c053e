// libpmemobj: a transaction for each interval. On a file system without persistent memory it syncs by msync() itself.
#include "store.hpp"

#include <libpmemobj.h>

#include <stdexcept>

namespace {

void check(bool done) {
    if (!done)
        throw std::runtime_error(::pmemobj_errormsg());
}

class pmemobj_store final : public block_store {
public:
    pmemobj_store(const std::filesystem::path& file, std::size_t bytes)
        : pool_(::pmemobj_create(file.c_str(), "churn", bytes, 0600)), bytes_(bytes) {
        check(pool_ != nullptr);
    }
    ~pmemobj_store() override { ::pmemobj_close(pool_); }

    void begin() override { check(::pmemobj_tx_begin(pool_, nullptr, TX_PARAM_NONE) == 0); }
    void* allocate(std::size_t bytes) override {
        const PMEMoid got = ::pmemobj_tx_alloc(bytes, 1);
        check(got.off != 0);
        return ::pmemobj_direct(got);
    }
    void free(void* block, std::size_t /*bytes*/) override { check(::pmemobj_tx_free(::pmemobj_oid(block)) == 0); }
    void commit() override {
        ::pmemobj_tx_commit();
        check(::pmemobj_tx_end() == 0);
    }
    [[nodiscard]] std::span<const std::byte> memory() const override {
        return {reinterpret_cast<const std::byte*>(pool_), bytes_};
    }

private:
    PMEMobjpool* pool_;
    std::size_t bytes_;
};

} // namespace

system_kind pmemobj_system() {
    return {"pmemobj", [](const std::filesystem::path& file, std::size_t bytes) -> std::unique_ptr<block_store> {
                return std::make_unique<pmemobj_store>(file, bytes);
            }};
}
