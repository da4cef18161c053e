// What the crash tests test: something that keeps memory in files, opened through a function. The engine is one
// (engine_store.hpp), the toy that shows what the harness catches another (toy_store.hpp).
#pragma once

#include "base/result.hpp"
#include "log/redo_log.hpp"
#include "os/file.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace remanence::crash {

/// Destroyed without close(), it behaves as if the process had died.
class store {
public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    virtual result<void> commit(log::durability how) = 0;
    /// The commit is durable when await() of its version returns, if not before.
    virtual result<std::uint64_t> commit_async() = 0;
    virtual result<void> await(std::uint64_t version) = 0;
    /// From now on `failed` hears of asynchronous commits whose version is that of a commit without changes, since there was no room
    /// for theirs. await() says so, too.
    virtual void tell_of_failures(std::function<void(std::uint64_t version)> /*failed*/) {}
    /// Everything committed becomes durable.
    virtual result<void> sync() = 0;
    virtual result<void> rollback() = 0;
    // Of a store with a history.
    virtual result<void> undo(std::uint64_t /*steps*/) { return fail(errc::not_supported, "there is no history"); }
    virtual result<void> redo(std::uint64_t /*steps*/) { return fail(errc::not_supported, "there is no history"); }
    /// The last commit is kept by this name; memory becomes what it was then; it is kept no longer.
    virtual result<void> keep(const std::string& /*name*/) { return fail(errc::not_supported, "there is no history"); }
    virtual result<void> restore_kept(const std::string& /*name*/) {
        return fail(errc::not_supported, "there is no history");
    }
    virtual result<void> drop(const std::string& /*name*/) { return fail(errc::not_supported, "there is no history"); }
    virtual result<void> squash(std::uint64_t /*steps*/) { return fail(errc::not_supported, "there is no history"); }
    /// What is committed next is a migration: no step leads across it.
    virtual result<void> note_migration() { return fail(errc::not_supported, "there is no history"); }
    /// A store of its own, of what is kept by this name.
    virtual result<void> branch(const std::string& /*name*/, const std::string& /*path*/) {
        return fail(errc::not_supported, "there is no history");
    }
    /// What is changed until end_flip() is that the bits of these bytes are turned, which is to be committed at once, and which a history
    /// may hold as that.
    virtual result<void> begin_flip() { return fail(errc::not_supported, "there is no history"); }
    virtual void end_flip(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {}
    /// What is committed until the end is one step.
    virtual void begin_group() {}
    virtual void end_group() {}
    /// All steps of a history that is kept over sessions, in words; empty: there is none such.
    virtual std::string steps() { return {}; }
    /// The states that undo() and redo() lead through, from the oldest to the one where redo() ends, by version; limits may have let
    /// states between them go. Empty: there is no history.
    virtual std::vector<std::uint64_t> way() { return {}; }
    /// How far undo() and redo() can go.
    virtual std::uint64_t undo_depth() { return 0; }
    virtual std::uint64_t redo_depth() { return 0; }
    /// Whether checkpoint() and close() may make a commit that changes nothing, to say what they give back.
    [[nodiscard]] virtual bool gives_back() const { return false; }
    virtual result<void> checkpoint() = 0;
    /// A checkpoint after which the files are as short as they can be.
    virtual result<void> shrink() { return checkpoint(); }
    virtual result<void> close() = 0;
    virtual void* allocate(std::uint64_t bytes) = 0;
    virtual void deallocate(void* block, std::uint64_t bytes) = 0;
    /// The bytes of one block become those of another.
    virtual void move(std::byte* from, std::byte* to, std::uint64_t bytes) {
        declare(to, bytes);
        std::copy(from, from + bytes, to);
    }
    /// These bytes will be written.
    virtual void declare(const std::byte* /*first*/, std::uint64_t /*bytes*/) {}
    virtual std::byte* base() = 0;
    virtual std::uint64_t version() = 0;
    /// Whether something has failed that nobody was told of.
    virtual result<void> health() { return {}; }
    /// There are blocks that are not the program's.
    virtual void expect_other_blocks() {}
    /// Whether as many bytes are allocated as blocks of these sizes take, if that can be told.
    [[nodiscard]] virtual bool has_allocated(std::span<const std::uint64_t> /*sizes*/) { return true; }
    /// The problems that a full check finds.
    virtual result<std::vector<std::string>> verify() = 0;
};

/// Opens, or creates what is not there, and recovers.
using open_function = std::function<result<std::unique_ptr<store>>(os::file_system& files, const std::string& path)>;

} // namespace remanence::crash
