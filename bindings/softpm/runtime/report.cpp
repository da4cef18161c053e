#include "report.hpp"

#include "memory.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

namespace remanence::softpm {

namespace {

constexpr std::size_t k_groups_shown = 200;
constexpr std::size_t k_path_max = 100; // characters; the middle of a longer path is left out

/// Blocks of one size that are reached by the same offsets. A list or a tree is one group: if a block leads to one of
/// the same size as an earlier block on its path, both are in the same group, and the offset is added to `loops`.
struct group {
    const group* parent; // null if reached from the struct or a global
    std::string hop;     // the step from `parent`
    std::uint64_t block_bytes;
    bool is_guest;
    std::uint64_t blocks = 0;
    std::uint64_t lost = 0; // words in these blocks that are NULL after a restore
    std::map<std::uint64_t, std::map<std::pair<std::uint64_t, bool>, group*>> next; // by offset, size, is_guest
    std::vector<std::uint64_t> loops;
};

std::string path_of(const group& which) {
    std::string text = which.parent == nullptr ? which.hop : path_of(*which.parent) + " > " + which.hop;
    if (!which.loops.empty()) {
        text += " (on by";
        for (const std::uint64_t each : which.loops)
            text.append(" +").append(std::to_string(each));
        text += ")";
    }
    return text;
}

std::string shortened(const std::string& path) {
    constexpr const char* k_gap = " ... ";
    if (path.size() <= k_path_max)
        return path;
    return path.substr(0, k_path_max / 2) + k_gap + path.substr(path.size() - k_path_max / 2);
}

class walk {
public:
    walk(const content& of, const discovery& look, const modules& loaded) : of_(of), look_(look), loaded_(loaded) {}

    void run() {
        const block structure = of_.blocks.find(of_.address_at(of_.listed.structure));
        visit(structure, add(nullptr, "struct", structure.bytes, false));
        unsigned number = 0;
        for (const discovery::global& each : look_.globals) {
            ++number;
            if (each.variable != nullptr)
                visit({each.variable, each.bytes}, add(nullptr, "global " + std::to_string(number), each.bytes, false));
        }
        while (!found_.empty()) {
            const auto [which, in] = found_.front();
            found_.pop_front();
            follow(which, *in);
        }
    }

    [[nodiscard]] std::string table() const {
        std::string text;
        std::vector<const group*> all;
        std::uint64_t blocks = 0;
        std::uint64_t bytes = 0;
        for (const group& each : groups_) {
            all.push_back(&each);
            blocks += each.blocks;
            bytes += each.blocks * each.block_bytes;
        }
        std::ranges::stable_sort(all, std::greater<>{},
                                 [](const group* each) { return each->blocks * each->block_bytes; });
        text += "softpm report: " + std::to_string(blocks) + " blocks of " + std::to_string(bytes) +
                " bytes in all are kept; " + std::to_string(excluded_seen_.size()) +
                " blocks are excluded\n    blocks         bytes  of bytes  reached by\n";
        for (std::size_t i = 0; i < std::min(all.size(), k_groups_shown); ++i) {
            const group& each = *all[i];
            char counts[80];
            std::snprintf(counts, sizeof counts, "%10llu  %12llu  %8llu  ", number(each.blocks),
                          number(each.blocks * each.block_bytes), number(each.block_bytes));
            text += counts + shortened(path_of(each));
            if (each.is_guest)
                text += "; of other memory, copied by each point";
            if (each.lost != 0)
                text += "; " + std::to_string(each.lost) + " words in them are NULL after a restore";
            text += '\n';
        }
        if (all.size() > k_groups_shown)
            text += std::to_string(all.size() - k_groups_shown) + " more ways, each to fewer bytes\n";
        return text;
    }

private:
    static unsigned long long number(std::uint64_t value) { return value; }

    group* add(const group* parent, std::string hop, std::uint64_t bytes, bool is_guest) {
        groups_.push_back({parent, std::move(hop), bytes, is_guest, 0, 0, {}, {}});
        return &groups_.back();
    }

    void visit(const block& which, group* in) {
        if (which.begin == nullptr || !seen_.insert(which.begin).second)
            return;
        ++in->blocks;
        found_.emplace_back(which, in);
    }

    group* next(group& from, std::uint64_t offset, const block& to, bool is_guest) {
        group*& known = from.next[offset][{to.bytes, is_guest}];
        if (known != nullptr)
            return known;
        for (group* up = &from; up != nullptr && known == nullptr; up = const_cast<group*>(up->parent))
            if (up->parent != nullptr && up->block_bytes == to.bytes && up->is_guest == is_guest)
                known = up;
        if (known == nullptr)
            known = add(&from, std::string(1, '+').append(std::to_string(offset)), to.bytes, is_guest);
        else if (std::ranges::find(known->loops, offset) == known->loops.end())
            known->loops.push_back(offset);
        return known;
    }

    void follow(const block& which, group& in) {
        const std::uintptr_t begin = address_of(which.begin);
        for_each_marked(begin, which.bytes, [&](std::uintptr_t word) {
            const auto kind = static_cast<mark>(*marks_at(word));
            if (kind >= mark::mutex)
                return;
            const std::uint64_t value = *pointer_to<std::uint64_t>(word);
            const block to = look_.block_at(value);
            if (to.begin == nullptr) {
                if (!is_no_address(value) && !of_.is_inside(value) && loaded_.find(value) == nullptr &&
                    kind == mark::pointer && is_mapped(value))
                    ++in.lost;
                return;
            }
            if (of_.blocks.excluded().contains(to.begin)) {
                excluded_seen_.insert(to.begin);
                return;
            }
            visit(to, next(in, word - begin, to, !of_.blocks.contains(address_of(to.begin))));
        });
    }

    const content& of_;
    const discovery& look_;
    const modules& loaded_;
    std::deque<group> groups_;
    std::unordered_set<const std::byte*> seen_;
    std::unordered_set<const std::byte*> excluded_seen_;
    std::deque<std::pair<block, group*>> found_;
};

} // namespace

std::string report(const content& of, const discovery& look, const modules& loaded) {
    walk all(of, look, loaded);
    all.run();
    return all.table();
}

} // namespace remanence::softpm
