// The files of another file system, with somebody told of each operation that changes them, before and after it.
#pragma once

#include "os/file.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace remanence::test {

class operation_observer {
public:
    operation_observer() = default;
    operation_observer(const operation_observer&) = delete;
    operation_observer& operator=(const operation_observer&) = delete;
    virtual ~operation_observer() = default;
    virtual void begins(os::call_site where) noexcept = 0;
    virtual void ends(os::call_site where) noexcept = 0;
};

class observed_file final : public os::file {
public:
    observed_file(std::unique_ptr<os::file> below, operation_observer& observer)
        : below_(std::move(below)), observer_(observer) {}

    result<void> read(std::uint64_t offset, std::span<std::byte> into) override { return below_->read(offset, into); }
    result<void> write(os::call_site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        return observed(where, [&] { return below_->write(where, offset, bytes); });
    }
    result<void> write_direct(os::call_site where, std::uint64_t offset, std::span<const std::byte> bytes) override {
        return observed(where, [&] { return below_->write_direct(where, offset, bytes); });
    }
    result<void> write_durable(os::call_site where, os::call_site durable, std::uint64_t offset,
                               std::span<const std::byte> bytes) override {
        return observed(where, [&] { return below_->write_durable(where, durable, offset, bytes); });
    }
    result<void> sync(os::call_site where) override {
        return observed(where, [&] { return below_->sync(where); });
    }
    void begin_sync(std::uint64_t offset, std::uint64_t bytes) override { below_->begin_sync(offset, bytes); }
    result<std::uint64_t> size() override { return below_->size(); }
    result<void> resize(os::call_site where, std::uint64_t bytes) override {
        return observed(where, [&] { return below_->resize(where, bytes); });
    }
    result<void> reserve(os::call_site where, std::uint64_t offset, std::uint64_t bytes) override {
        return observed(where, [&] { return below_->reserve(where, offset, bytes); });
    }
    result<void> punch(os::call_site where, std::uint64_t offset, std::uint64_t bytes,
                       os::unpunchable otherwise) override {
        return observed(where, [&] { return below_->punch(where, offset, bytes, otherwise); });
    }
    result<bool> try_lock(os::lock_kind kind) override { return below_->try_lock(kind); }
    result<bool> is_locked_exclusively() override { return below_->is_locked_exclusively(); }
    result<void> map_private(void* where, std::size_t bytes, std::uint64_t offset, os::access protection) override {
        return below_->map_private(where, bytes, offset, protection);
    }
    result<std::unique_ptr<os::byte_locks>> open_locks() override { return below_->open_locks(); }
    result<std::shared_ptr<std::byte>> map_shared(std::size_t bytes, os::access protection) override {
        return below_->map_shared(bytes, protection);
    }
    result<os::file_identity> identity() override { return below_->identity(); }
    result<unsigned> permissions() override { return below_->permissions(); }
    result<bool> is_at(const std::string& path) override { return below_->is_at(path); }
    result<os::present_name> find_name() override { return below_->find_name(); }
    [[nodiscard]] const std::string& path() const override { return below_->path(); }

private:
    template <class F>
    result<void> observed(os::call_site where, F&& f) {
        observer_.begins(where);
        auto done = f();
        observer_.ends(where);
        return done;
    }
    std::unique_ptr<os::file> below_;
    operation_observer& observer_;
};

class observed_file_system final : public os::file_system {
public:
    /// Both must outlive it.
    observed_file_system(os::file_system& below, operation_observer& observer) : below_(below), observer_(observer) {}

    result<std::unique_ptr<os::file>> open(const std::string& path, os::access mode) override {
        return wrap(below_.open(path, mode));
    }
    result<std::unique_ptr<os::file>> open_or_create(const std::string& path, unsigned mode) override {
        return wrap(below_.open_or_create(path, mode));
    }
    result<bool> exists(const std::string& path) override { return below_.exists(path); }
    result<bool> has_directory(const std::string& path) override { return below_.has_directory(path); }
    result<void> rename_to_new(os::call_site where, const std::string& from, const std::string& to) override {
        observer_.begins(where);
        auto done = below_.rename_to_new(where, from, to);
        observer_.ends(where);
        return done;
    }
    result<void> rename_over(os::call_site where, const std::string& from, const std::string& to) override {
        observer_.begins(where);
        auto done = below_.rename_over(where, from, to);
        observer_.ends(where);
        return done;
    }
    result<void> remove(os::call_site where, const std::string& path, os::file& which) override {
        observer_.begins(where);
        auto done = below_.remove(where, path, which);
        observer_.ends(where);
        return done;
    }
    result<void> sync_directory(os::call_site where, const std::string& path) override {
        observer_.begins(where);
        auto done = below_.sync_directory(where, path);
        observer_.ends(where);
        return done;
    }

private:
    result<std::unique_ptr<os::file>> wrap(result<std::unique_ptr<os::file>> opened) {
        if (!opened)
            return opened.error();
        return std::unique_ptr<os::file>(std::make_unique<observed_file>(std::move(*opened), observer_));
    }
    os::file_system& below_;
    operation_observer& observer_;
};

} // namespace remanence::test
