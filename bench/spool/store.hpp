// What the systems have in common: the articles of a news server, which several processes post and read.
#pragma once

#include <article.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

/// A process opens one for itself, and calls it from one thread. All functions throw when they fail.
class store {
public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    virtual void make_group(const std::string& name) = 0;
    /// Posts an article to its groups. Durable when it returns. A message-id that was posted before is refused.
    virtual void post(const news::article& what, unsigned process) = 0;
    /// Returns the text of an article.
    virtual std::string read(std::string_view message_id) = 0;
    /// Returns the overview of up to `count` articles of a group, from the first one on.
    virtual std::string overview(const std::string& group, std::size_t count) = 0;
};

struct system_kind {
    std::string name;
    std::function<std::unique_ptr<store>(const std::filesystem::path& directory)> open;
};

// One per source file.
system_kind remanence_system();
system_kind files_system();
system_kind lmdb_system();
