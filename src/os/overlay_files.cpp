#include "os/overlay_files.hpp"

#include "os/memory.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

namespace remanence::os {

namespace {

using page_bytes = std::array<std::byte, k_page_bytes>;

unexpected makes_no_files(const std::string& path) {
    return fail(errc::not_supported, "cannot create " + path + ": these files are only looked at.", path);
}

class overlay_file final : public file {
public:
    overlay_file(std::unique_ptr<file> below, std::uint64_t bytes)
        : below_(std::move(below)), size_(bytes), visible_(bytes) {}

    result<void> read(std::uint64_t offset, std::span<std::byte> into) override {
        if (offset > size_ || into.size() > size_ - offset) {
            return fail(errc::truncated,
                        "cannot read " + path() + ": it ends at byte " + std::to_string(size_) +
                            ", although more was written. Restore it from a copy.",
                        path(), 0, size_);
        }
        const auto shown =
            static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), std::max(visible_, offset) - offset));
        if (shown != 0)
            REM_TRY(below_->read(offset, into.first(shown)));
        std::fill(into.begin() + static_cast<std::ptrdiff_t>(shown), into.end(), std::byte{0});
        for (auto hole = first_hole(offset); hole != holes_.end() && hole->first < offset + into.size(); ++hole) {
            const std::uint64_t from = std::max(hole->first, offset);
            const std::uint64_t to = std::min(hole->second, offset + into.size());
            std::fill_n(into.begin() + static_cast<std::ptrdiff_t>(from - offset), to - from, std::byte{0});
        }
        for (std::uint64_t done = 0; done < into.size() && !pages_.empty();) {
            const std::uint64_t in_page = (offset + done) % k_page_bytes;
            const std::uint64_t count = std::min(k_page_bytes - in_page, into.size() - done);
            if (auto found = pages_.find((offset + done) / k_page_bytes); found != pages_.end())
                std::memcpy(into.data() + done, found->second->data() + in_page, static_cast<std::size_t>(count));
            done += count;
        }
        return {};
    }

    result<void> write(call_site, std::uint64_t offset, std::span<const std::byte> bytes) override {
        for (std::uint64_t done = 0; done < bytes.size();) {
            const std::uint64_t at = offset + done;
            const std::uint64_t in_page = at % k_page_bytes;
            const std::uint64_t count = std::min<std::uint64_t>(k_page_bytes - in_page, bytes.size() - done);
            auto page = writable(at / k_page_bytes, count == k_page_bytes);
            if (!page)
                return page.error();
            std::memcpy((*page)->data() + in_page, bytes.data() + done, static_cast<std::size_t>(count));
            done += count;
        }
        if (!bytes.empty())
            size_ = std::max(size_, offset + bytes.size());
        return {};
    }
    result<void> write_direct(call_site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        return write(where, offset, bytes);
    }
    result<void> write_durable(call_site where, call_site, std::uint64_t offset,
                               std::span<const std::byte> bytes) override {
        return write(where, offset, bytes);
    }
    result<void> sync(call_site) override { return {}; }
    void begin_sync(std::uint64_t, std::uint64_t) override {}

    result<std::uint64_t> size() override { return size_; }
    result<void> resize(call_site where, std::uint64_t bytes) override {
        if (bytes < size_)
            // If the file grows again, what was cut off must read as zeros.
            REM_TRY(punch(where, bytes, size_ - bytes, unpunchable::is_zeroed));
        visible_ = std::min(visible_, bytes);
        size_ = bytes;
        return {};
    }
    result<void> reserve(call_site, std::uint64_t offset, std::uint64_t bytes) override {
        size_ = std::max(size_, offset + bytes);
        return {};
    }
    result<void> punch(call_site where, std::uint64_t offset, std::uint64_t bytes, unpunchable) override {
        const std::uint64_t end = std::min(offset + bytes, size_);
        if (offset >= end)
            return {};
        // Writes zeros to the partial pages at both ends; the whole pages between them become a hole.
        static const page_bytes zeros{};
        const std::uint64_t from = std::min(align_up(offset, k_page_bytes), end);
        const std::uint64_t to = std::max(align_down(end, k_page_bytes), from);
        REM_TRY(write(where, offset, std::span(zeros).first(static_cast<std::size_t>(from - offset))));
        REM_TRY(write(where, to, std::span(zeros).first(static_cast<std::size_t>(end - to))));
        if (from == to)
            return {};
        std::erase_if(pages_, [&](const auto& entry) {
            return entry.first >= from / k_page_bytes && entry.first < to / k_page_bytes;
        });
        add_hole(from, to);
        return {};
    }

    result<bool> try_lock(lock_kind) override {
        auto locked = below_->try_lock(lock_kind::shared); // O1
        if (locked && *locked)
            REM_TRY(note_size_now());
        return locked;
    }
    result<bool> is_locked_exclusively() override {
        auto locked = below_->is_locked_exclusively();
        if (locked && !*locked)
            REM_TRY(note_size_now());
        return locked;
    }
    // Maps the file below wherever it is unchanged, so that its pages are shared with all processes that map it.
    result<void> map_private(void* where, std::size_t bytes, std::uint64_t offset, access protection) override {
        auto* const base = static_cast<std::byte*>(where);
        const std::uint64_t end = offset + bytes;
        const std::uint64_t shown = std::clamp(align_up(visible_, k_page_bytes), offset, end);
        if (shown != offset)
            REM_TRY(below_->map_private(base, static_cast<std::size_t>(shown - offset), offset, access::read_write));
        if (shown != end)
            REM_TRY(map_anonymous(base + (shown - offset), end - shown));
        for (auto hole = first_hole(offset); hole != holes_.end(); ++hole) {
            const std::uint64_t from = std::max(hole->first, offset);
            if (from >= shown)
                break;
            REM_TRY(map_anonymous(base + (from - offset), std::min(hole->second, shown) - from));
        }
        if (const std::uint64_t cut = visible_ % k_page_bytes; cut != 0 && visible_ > offset && visible_ < end)
            std::memset(base + (visible_ - offset), 0, static_cast<std::size_t>(k_page_bytes - cut));
        for (const auto& [page, content] : pages_) {
            const std::uint64_t at = page * k_page_bytes;
            if (at >= offset && at < end)
                std::memcpy(base + (at - offset), content->data(), content->size());
        }
        return protection == access::read_only ? protect_read_only(base, bytes) : result<void>();
    }
    result<std::unique_ptr<byte_locks>> open_locks() override { return below_->open_locks(); }
    result<std::shared_ptr<std::byte>> map_shared(std::size_t, access) override {
        return fail(errc::not_supported, "cannot share " + path() + ": its changes are in memory only.", path());
    }
    result<file_identity> identity() override { return below_->identity(); }
    result<unsigned> permissions() override { return below_->permissions(); }
    result<bool> is_at(const std::string& path) override { return below_->is_at(path); }
    result<present_name> find_name() override { return below_->find_name(); }
    [[nodiscard]] const std::string& path() const override { return below_->path(); }

private:
    /// Reads the size again, since a process that had the lock may have extended the file after it was opened.
    result<void> note_size_now() {
        if (!pages_.empty() || !holes_.empty())
            return {};
        auto size = below_->size();
        if (!size)
            return size.error();
        size_ = visible_ = *size;
        return {};
    }
    /// Returns the page in memory. Its present content is read from below unless `all` of it is about to be
    /// overwritten.
    result<page_bytes*> writable(std::uint64_t page, bool all) {
        if (auto found = pages_.find(page); found != pages_.end())
            return found->second.get();
        auto fresh = std::make_unique<page_bytes>();
        const std::uint64_t begin = page * k_page_bytes;
        if (!all && begin < size_)
            REM_TRY(read(begin, std::span(*fresh).first(
                                    static_cast<std::size_t>(std::min<std::uint64_t>(k_page_bytes, size_ - begin)))));
        return pages_.emplace(page, std::move(fresh)).first->second.get();
    }

    std::map<std::uint64_t, std::uint64_t>::iterator first_hole(std::uint64_t offset) {
        auto after = holes_.upper_bound(offset);
        return after != holes_.begin() && std::prev(after)->second > offset ? std::prev(after) : after;
    }
    void add_hole(std::uint64_t from, std::uint64_t to) {
        for (auto other = first_hole(from); other != holes_.end() && other->first < to;) {
            from = std::min(from, other->first);
            to = std::max(to, other->second);
            other = holes_.erase(other);
        }
        holes_.emplace(from, to);
    }

    std::unique_ptr<file> below_;
    std::uint64_t size_;
    std::uint64_t visible_; // of the file below; what lies behind was cut off, or never existed
    std::unordered_map<std::uint64_t, std::unique_ptr<page_bytes>> pages_; // written pages; they hide holes
    std::map<std::uint64_t, std::uint64_t> holes_;                         // punched whole pages: begin to end
};

} // namespace

result<std::unique_ptr<file>> overlay_files::open(const std::string& path, access) {
    if (removed_.contains(path))
        return fail(errc::not_found, "cannot open " + path + ": it was removed.", path);
    auto below = below_.open(path, access::read_only); // O1
    if (!below)
        return below.error();
    auto size = (*below)->size();
    if (!size)
        return size.error();
    return std::unique_ptr<file>(std::make_unique<overlay_file>(std::move(*below), *size));
}

result<std::unique_ptr<file>> overlay_files::open_or_create(const std::string& path, unsigned) {
    return makes_no_files(path);
}

result<bool> overlay_files::exists(const std::string& path) {
    if (removed_.contains(path))
        return false;
    return below_.exists(path);
}

result<void> overlay_files::rename_to_new(call_site, const std::string&, const std::string& to) {
    return makes_no_files(to);
}

result<void> overlay_files::rename_over(call_site, const std::string&, const std::string& to) {
    return makes_no_files(to);
}

result<void> overlay_files::remove(call_site, const std::string& path, file& which) {
    auto named = which.is_at(path);
    if (!named)
        return named.error();
    if (*named)
        removed_.insert(path);
    return {};
}

result<void> overlay_files::sync_directory(call_site, const std::string&) { return {}; }

} // namespace remanence::os
