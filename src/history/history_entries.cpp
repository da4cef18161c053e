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
// Events may contain what looks like the beginning of an entry. If a file has more of that, it was made so: then all
// entries are read from the front.
constexpr int k_unsound_max = 8;

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

std::uint64_t checksum_of(history_entry entry, std::span<const std::byte> events, std::uint64_t before) {
    entry.checksum = 0;
    return checksum64(events, checksum64(bytes_of(entry), before));
}

// The steps at the beginning of the file may be several entries of one version.
bool follows(const history_entry& entry, const commit_name& before) {
    return entry.version == before.version + 1 || (entry.version == before.version && entry.chain == before.chain);
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
        if (entry.magic != format::k_entry_magic || (!is_first && !follows(entry, end.commit)) ||
            entry.bytes > file_bytes)
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

/// Finds entries from the end of a file to the front. An entry does not say where the one before it begins. But that
/// entry begins with the magic number, ends where the later entry begins, and its checksum seeds the later one's.
class backward_search {
public:
    /// `bytes` is the end of the file, and begins at a multiple of 8. `seed`, of the entry that begins there, is none
    /// unless that is the file's first entry.
    backward_search(std::span<const std::byte> bytes, std::optional<std::uint64_t> seed) : bytes_(bytes), seed_(seed) {
        for (std::size_t at = 0; at + sizeof(history_entry) <= bytes.size(); at += sizeof(std::uint64_t)) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes.data() + at, sizeof word);
            if (word == format::k_entry_magic)
                begins_.push_back(at);
        }
    }
    /// Returns how many places may be the beginning of an entry. They are numbered in the order of the file.
    [[nodiscard]] std::size_t places() const { return begins_.size(); }
    /// Returns the header there; nothing if no entry of its size fits.
    [[nodiscard]] std::optional<history_entry> header_at(std::size_t place) const {
        history_entry header{};
        std::memcpy(&header, bytes_.data() + begins_[place], sizeof header);
        const std::uint64_t left = bytes_.size() - begins_[place] - sizeof header;
        return align_up(std::min(header.bytes, left + 1), std::uint64_t{8}) <= left ? std::optional(header)
                                                                                    : std::nullopt;
    }
    /// Returns the entries up to the one there, oldest first. An entry is left out if the one before it is not found,
    /// since then its checksum cannot be verified.
    [[nodiscard]] std::vector<last_entries::entry> up_to(std::size_t place) const {
        std::vector<last_entries::entry> found;
        history_entry entry = *header_at(place);
        std::uint64_t at = begins_[place];
        for (int unsound = 0; place-- > 0 && unsound != k_unsound_max;) {
            const auto before = header_at(place);
            if (!before || begins_[place] + entry_bytes(before->bytes) != at ||
                !follows(entry, {before->version, before->chain}))
                continue;
            if (entry.checksum != checksum_of(entry, events_of(entry, at), before->checksum)) {
                ++unsound;
                continue;
            }
            found.push_back({{entry.version, entry.chain}, events_of(entry, at)});
            entry = *before;
            at = begins_[place];
        }
        if (at == 0 && seed_ && entry.checksum == checksum_of(entry, events_of(entry, at), *seed_))
            found.push_back({{entry.version, entry.chain}, events_of(entry, at)});
        std::ranges::reverse(found);
        return found;
    }

private:
    [[nodiscard]] std::span<const std::byte> events_of(const history_entry& entry, std::uint64_t at) const {
        return bytes_.subspan(static_cast<std::size_t>(at) + sizeof entry, static_cast<std::size_t>(entry.bytes));
    }

    std::span<const std::byte> bytes_;
    std::optional<std::uint64_t> seed_;
    std::vector<std::size_t> begins_;
};

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

result<last_entries> read_last_entries(os::file& file, const heap_uuid& heap, std::uint64_t bytes,
                                       const std::function<bool(const commit_name&)>& is_known) {
    last_entries found;
    auto size = file.size();
    if (!size)
        return size.error();
    if (*size < format::k_history_header_bytes)
        return found;
    history_header header{};
    const history_header expected = header_of(heap);
    REM_TRY(file.read(0, std::as_writable_bytes(std::span(&header, 1))));
    if (std::memcmp(&header, &expected, sizeof expected) != 0)
        return found;
    const std::uint64_t entries = *size - format::k_history_header_bytes;
    const std::uint64_t begin = align_up(*size - std::min(bytes, entries), std::uint64_t{8});
    found.bytes.resize(static_cast<std::size_t>(*size - begin));
    REM_TRY(file.read(begin, found.bytes));
    const bool is_whole = begin == format::k_history_header_bytes;
    const backward_search search(found.bytes, is_whole ? std::optional(header.checksum) : std::nullopt);
    int unsound = 0;
    for (std::size_t place = search.places(); place-- > 0 && found.all.empty() && unsound != k_unsound_max;) {
        const auto last = search.header_at(place);
        if (!last || !is_known({last->version, last->chain}))
            continue;
        found.all = search.up_to(place);
        ++unsound;
    }
    return found;
}

} // namespace remanence::history
