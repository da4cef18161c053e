#include "api/root_checks.hpp"

#include "alloc/block_allocator.hpp"

#include <cstddef>
#include <utility>

namespace remanence::detail {

namespace {

class survey final : public block_survey {
public:
    explicit survey(const alloc::block_allocator& blocks) : blocks_(blocks) {}
    [[nodiscard]] bool is_block(const void* first, std::size_t bytes) const override {
        const auto found = blocks_.block_of(first);
        return found && found->start == first && found->bytes >= bytes;
    }

private:
    const alloc::block_allocator& blocks_;
};

} // namespace

void root_checks::know(std::string_view name, std::uint64_t fingerprint_hash, root_check check) {
    if (check == nullptr)
        return;
    const std::scoped_lock lock(guards_all_);
    if (const auto found = all_.find(name); found != all_.end())
        found->second = {fingerprint_hash, fingerprint_hash, check};
    else
        all_.emplace(name, known{fingerprint_hash, fingerprint_hash, check});
}

void root_checks::know_outdated(std::string_view name, std::uint64_t fingerprint_hash) {
    const std::scoped_lock lock(guards_all_);
    if (const auto found = all_.find(name); found != all_.end())
        found->second.outdated_hash = fingerprint_hash;
}

std::optional<std::string> root_checks::fault_in(const types::root_view& root, const txn::heap_memory& memory) const {
    root_check check = nullptr;
    {
        const std::scoped_lock lock(guards_all_);
        const auto found = all_.find(root.name);
        if (found == all_.end() || (found->second.fingerprint_hash != root.fingerprint_hash &&
                                    found->second.outdated_hash != root.fingerprint_hash))
            return {};
        check = found->second.check;
    }
    structure_result fault = memory.with_allocator([&](const alloc::block_allocator& blocks) {
        survey asked(blocks);
        return check(root.object, asked);
    });
    if (!fault)
        return {};
    const std::uint64_t offset =
        reinterpret_cast<std::uintptr_t>(fault->where) - reinterpret_cast<std::uintptr_t>(memory.base());
    return "the root \"" + std::string(root.name) + "\" (" + std::string(root.type) + ") has, at offset " +
           std::to_string(offset) + " of the heap, " + fault->what + ". A program has overwritten it.";
}

} // namespace remanence::detail
