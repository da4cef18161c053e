// What is known of the chunks that were spilled. May use: base.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace remanence::view {

class spilled_chunks {
public:
    using checksums = std::vector<std::uint32_t>; // one for each page as its home has it; 0: a hole

    [[nodiscard]] bool is_empty() const { return all_.empty(); }
    [[nodiscard]] const checksums* find(std::uint64_t chunk) const {
        const auto found = all_.find(chunk);
        return found == all_.end() ? nullptr : &found->second;
    }
    void insert(std::uint64_t chunk, const checksums& sums) { all_.emplace(chunk, sums); }
    void replace(std::uint64_t chunk, checksums&& sums) noexcept { all_.find(chunk)->second = std::move(sums); }
    void erase(std::uint64_t chunk) noexcept { all_.erase(chunk); }
    template <class P>
    void erase_if(const P& is_gone) noexcept {
        std::erase_if(all_, [&](const auto& each) { return is_gone(each.first); });
    }
    [[nodiscard]] const std::map<std::uint64_t, checksums>& all() const { return all_; }
    [[nodiscard]] std::vector<std::uint64_t> chunks() const {
        std::vector<std::uint64_t> found;
        for (const auto& [chunk, sums] : all_)
            found.push_back(chunk);
        return found;
    }

private:
    std::map<std::uint64_t, checksums> all_;
};

} // namespace remanence::view
