#include "store.hpp"

#include <remanence/remanence.h>

#include <stdexcept>

namespace {

void check(rem_status status) {
    if (status != REM_OK)
        throw std::runtime_error(rem_last_error()->message);
}

class remanence_store final : public block_store {
public:
    remanence_store(const std::filesystem::path& file, bool is_declared) : is_declared_(is_declared) {
        rem_options options{};
        options.size = sizeof options;
        check(rem_create(file.c_str(), &options, &heap_));
    }
    ~remanence_store() override { rem_close(heap_); }

    void begin() override { check(is_declared_ ? rem_write_begin_declared(heap_) : rem_write_begin(heap_)); }
    void* allocate(std::size_t bytes) override {
        void* const got = rem_alloc(heap_, bytes);
        if (got == nullptr)
            throw std::runtime_error(rem_last_error()->message);
        return got;
    }
    void free(void* block, std::size_t /*bytes*/) override { check(rem_free(block)); }
    void commit() override { check(rem_write_end(heap_)); }
    [[nodiscard]] std::span<const std::byte> memory() const override {
        rem_stats stats{};
        stats.size = sizeof stats;
        check(rem_get_stats(heap_, &stats));
        return {static_cast<const std::byte*>(rem_base(heap_)), stats.heap_bytes};
    }

private:
    rem_heap* heap_ = nullptr;
    bool is_declared_;
};

} // namespace

system_kind remanence_system() {
    return {"remanence", [](const std::filesystem::path& file, std::size_t) -> std::unique_ptr<block_store> {
                return std::make_unique<remanence_store>(file, false);
            }};
}

system_kind declared_system() {
    return {"declared", [](const std::filesystem::path& file, std::size_t) -> std::unique_ptr<block_store> {
                return std::make_unique<remanence_store>(file, true);
            }};
}
