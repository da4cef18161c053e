// Files of which one call fails, of whatever kind: reads and questions too, which the simulated disk answers always. For
// tests that fail the nth call, for every n, until a run succeeds. Or something else happens before each call.
#pragma once

#include "base/range.hpp"
#include "os/file.hpp"

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace remanence::test {

class failing_files final : public os::file_system {
public:
    explicit failing_files(os::file_system& below) : below_(below) {}

    /// The nth call from now (0: the next) fails with `code`, once.
    void fail_at(std::uint64_t n, errc code) {
        left_ = n;
        code_ = code;
        failed_.clear();
    }
    void work_again() { left_.reset(); }
    /// Is called before each call, with its name.
    void before_each(std::function<void(std::string_view)> happens) { before_each_ = std::move(happens); }
    /// Which call has failed since fail_at(); empty: none.
    [[nodiscard]] const std::string& failed() const { return failed_; }

    result<std::unique_ptr<os::file>> open(const std::string& path, os::access mode) override {
        return wrap("open", path, [&] { return below_.open(path, mode); });
    }
    result<std::unique_ptr<os::file>> open_or_create(const std::string& path, unsigned mode) override {
        return wrap("open_or_create", path, [&] { return below_.open_or_create(path, mode); });
    }
    result<bool> exists(const std::string& path) override {
        return call<bool>("exists", path, [&] { return below_.exists(path); });
    }
    result<bool> has_directory(const std::string& path) override {
        return call<bool>("has_directory", path, [&] { return below_.has_directory(path); });
    }
    result<void> rename_to_new(os::call_site where, const std::string& from, const std::string& to) override {
        return call<void>("rename_to_new", from, [&] { return below_.rename_to_new(where, from, to); });
    }
    result<void> rename_over(os::call_site where, const std::string& from, const std::string& to) override {
        return call<void>("rename_over", from, [&] { return below_.rename_over(where, from, to); });
    }
    result<void> remove(os::call_site where, const std::string& path, os::file& which) override {
        return call<void>("remove", path, [&] { return below_.remove(where, path, which); });
    }
    result<void> sync_directory(os::call_site where, const std::string& path) override {
        return call<void>("sync_directory", path, [&] { return below_.sync_directory(where, path); });
    }

private:
    class failing_file final : public os::file {
    public:
        failing_file(failing_files& owner, std::unique_ptr<os::file> below) : owner_(owner), below_(std::move(below)) {}
        result<void> read(std::uint64_t offset, std::span<std::byte> into) override {
            return call<void>("read", [&] { return below_->read(offset, into); });
        }
        result<void> write(os::call_site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
            return call<void>("write", [&] { return below_->write(where, offset, bytes); });
        }
        result<void> write_direct(os::call_site where, std::uint64_t offset,
                                  std::span<const std::byte> bytes) override {
            return call<void>("write_direct", [&] { return below_->write_direct(where, offset, bytes); });
        }
        result<void> write_durable(os::call_site where, os::call_site durable, std::uint64_t offset,
                                   std::span<const std::byte> bytes) override {
            return call<void>("write_durable", [&] { return below_->write_durable(where, durable, offset, bytes); });
        }
        result<void> sync(os::call_site where) override {
            return call<void>("sync", [&] { return below_->sync(where); });
        }
        void begin_sync(std::uint64_t offset, std::uint64_t bytes) override { below_->begin_sync(offset, bytes); }
        result<std::uint64_t> size() override {
            return call<std::uint64_t>("size", [&] { return below_->size(); });
        }
        result<void> resize(os::call_site where, std::uint64_t bytes) override {
            return call<void>("resize", [&] { return below_->resize(where, bytes); });
        }
        result<void> reserve(os::call_site where, std::uint64_t offset, std::uint64_t bytes) override {
            return call<void>("reserve", [&] { return below_->reserve(where, offset, bytes); });
        }
        result<void> punch(os::call_site where, std::uint64_t offset, std::uint64_t bytes,
                           os::unpunchable otherwise) override {
            return call<void>("punch", [&] { return below_->punch(where, offset, bytes, otherwise); });
        }
        result<bool> is_hole(file_range range) override {
            return call<bool>("is_hole", [&] { return below_->is_hole(range); });
        }
        result<bool> try_lock(os::lock_kind kind) override {
            return call<bool>("try_lock", [&] { return below_->try_lock(kind); });
        }
        result<bool> is_locked_exclusively() override {
            return call<bool>("is_locked_exclusively", [&] { return below_->is_locked_exclusively(); });
        }
        result<void> map_private(void* where, std::size_t bytes, std::uint64_t offset, os::access protection) override {
            return call<void>("map_private", [&] { return below_->map_private(where, bytes, offset, protection); });
        }
        result<std::unique_ptr<os::byte_locks>> open_locks() override {
            return call<std::unique_ptr<os::byte_locks>>("open_locks", [&] { return below_->open_locks(); });
        }
        result<std::shared_ptr<std::byte>> map_shared(std::size_t bytes, os::access protection) override {
            return call<std::shared_ptr<std::byte>>("map_shared",
                                                    [&] { return below_->map_shared(bytes, protection); });
        }
        result<os::file_identity> identity() override {
            return call<os::file_identity>("identity", [&] { return below_->identity(); });
        }
        result<unsigned> permissions() override {
            return call<unsigned>("permissions", [&] { return below_->permissions(); });
        }
        result<bool> is_at(const std::string& path) override {
            return call<bool>("is_at", [&] { return below_->is_at(path); });
        }
        result<os::present_name> find_name() override {
            return call<os::present_name>("find_name", [&] { return below_->find_name(); });
        }
        [[nodiscard]] const std::string& path() const override { return below_->path(); }

    private:
        template <class T, class F>
        result<T> call(const char* what, F&& perform) {
            return owner_.call<T>(what, path(), std::forward<F>(perform));
        }
        failing_files& owner_;
        std::unique_ptr<os::file> below_;
    };

    template <class T, class F>
    result<T> call(const char* what, const std::string& path, F&& perform) {
        if (before_each_)
            before_each_(what);
        if (!left_ || (*left_)-- != 0)
            return perform();
        left_.reset();
        failed_ = std::string(what) + " of " + path;
        return fail(code_, "the test lets this call fail: " + failed_, path, code_ == errc::no_space ? ENOSPC : EIO);
    }
    template <class F>
    result<std::unique_ptr<os::file>> wrap(const char* what, const std::string& path, F&& perform) {
        auto opened = call<std::unique_ptr<os::file>>(what, path, std::forward<F>(perform));
        if (!opened)
            return opened.error();
        return std::unique_ptr<os::file>(std::make_unique<failing_file>(*this, std::move(*opened)));
    }

    os::file_system& below_;
    std::function<void(std::string_view)> before_each_;
    std::optional<std::uint64_t> left_;
    errc code_ = errc::io;
    std::string failed_;
};

} // namespace remanence::test
