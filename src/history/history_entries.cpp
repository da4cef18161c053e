#include "history/history_entries.hpp"

#include "base/checksum.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace remanence::history {

using format::history_entry;
using format::history_header;

namespace {

constexpr std::uint64_t k_window_bytes = 1 * MiB;

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

std::uint64_t checksum_of(history_entry entry, std::span<const std::byte> events, std::uint64_t before) {
    entry.checksum = 0;
    return checksum64(events, checksum64(bytes_of(entry), before));
}

/// Reads a file from front to back, through a buffer.
class window {
public:
    window(os::file& file, std::uint64_t file_bytes) : file_(file), file_bytes_(file_bytes) {}
    /// Returns nothing if the file ends before these bytes do. Valid until the next call.
    result<std::optional<std::span<const std::byte>>> bytes_at(std::uint64_t offset, std::uint64_t bytes) {
        using found = std::optional<std::span<const std::byte>>;
        if (offset > file_bytes_ || bytes > file_bytes_ - offset)
            return found();
        if (offset < begin_ || offset + bytes > begin_ + read_.size()) {
            const std::uint64_t length = std::min(std::max(bytes, k_window_bytes), file_bytes_ - offset);
            read_.resize(static_cast<std::size_t>(length));
            begin_ = offset;
            if (auto done = file_.read(offset, read_); !done) {
                read_.clear();
                return done.error();
            }
        }
        return found(std::span<const std::byte>(read_).subspan(static_cast<std::size_t>(offset - begin_),
                                                               static_cast<std::size_t>(bytes)));
    }

private:
    os::file& file_;
    const std::uint64_t file_bytes_;
    std::uint64_t begin_ = 0;
    std::vector<std::byte> read_;
};

result<void> read_entries(window& all, std::uint64_t file_bytes, entry_end end, bool is_first, const entry_visitor& f) {
    for (;; is_first = false) {
        auto found = all.bytes_at(end.offset, sizeof(history_entry));
        if (!found)
            return found.error();
        if (!*found)
            return {};
        history_entry entry{};
        std::memcpy(&entry, (*found)->data(), sizeof entry);
        const bool follows = is_first || entry.version == end.commit.version + 1 ||
                             // The steps at the beginning of the file may be several entries of one version.
                             (entry.version == end.commit.version && entry.chain == end.commit.chain);
        if (entry.magic != format::k_entry_magic || !follows || entry.bytes > file_bytes)
            return {};
        auto events = all.bytes_at(end.offset + sizeof entry, align_up(entry.bytes, std::uint64_t{8}));
        if (!events)
            return events.error();
        if (!*events)
            return {};
        const auto sound = (*events)->first(static_cast<std::size_t>(entry.bytes));
        if (entry.checksum != checksum_of(entry, sound, end.checksum))
            return {};
        end = {{entry.version, entry.chain}, end.offset + entry_bytes(entry.bytes), entry.checksum};
        if (f(end, sound) == reading::is_done)
            return {};
    }
}

} // namespace

std::uint64_t entry_bytes(std::uint64_t bytes_of_events) {
    return sizeof(history_entry) + align_up(bytes_of_events, std::uint64_t{8});
}

history_header header_of(const heap_uuid& heap) {
    history_header header{};
    header.magic = format::k_history_magic;
    header.format_version = format::k_history_version;
    header.uuid = heap;
    header.checksum = checksum64(bytes_of(header).first(offsetof(history_header, checksum)));
    return header;
}

void append_entry(std::vector<std::byte>& into, const commit_name& commit, std::span<const std::byte> events,
                  entry_end& end) {
    history_entry entry{format::k_entry_magic, commit.version, commit.chain, events.size(), 0};
    entry.checksum = checksum_of(entry, events, end.checksum);
    const auto head = bytes_of(entry);
    into.insert(into.end(), head.begin(), head.end());
    into.insert(into.end(), events.begin(), events.end());
    into.resize(align_up(into.size(), std::size_t{8}));
    end = {commit, end.offset + entry_bytes(events.size()), entry.checksum};
}

result<bool> for_each_entry(os::file& file, const heap_uuid& heap, const entry_visitor& f) {
    auto size = file.size();
    if (!size)
        return size.error();
    window all(file, *size);
    auto head = all.bytes_at(0, sizeof(history_header));
    if (!head)
        return head.error();
    const history_header expected = header_of(heap);
    if (!*head || std::memcmp((*head)->data(), &expected, sizeof expected) != 0)
        return false;
    REM_TRY(read_entries(all, *size, {{}, format::k_history_header_bytes, expected.checksum}, true, f));
    return true;
}

result<void> for_each_entry_behind(os::file& file, const entry_end& from, const entry_visitor& f) {
    auto size = file.size();
    if (!size)
        return size.error();
    window all(file, *size);
    return read_entries(all, *size, from, false, f);
}

} // namespace remanence::history
