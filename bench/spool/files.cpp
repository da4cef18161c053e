// Plain files, as the first news servers had them: a directory for each group, with a file for each article and one for the
// overview. A second name of the article's file, in the directory "ids", finds it by its message-id. Every file and directory
// that a post changes is synced before the post returns.
#include "store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& what) { throw std::system_error(errno, std::generic_category(), what.string()); }

class descriptor {
public:
    descriptor(const fs::path& path, int flags) : path_(path), number_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
        if (number_ < 0)
            fail(path);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { ::close(number_); }
    [[nodiscard]] int number() const { return number_; }
    void write(std::string_view bytes) const {
        if (::write(number_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
            fail(path_);
    }
    void sync() const {
        if (::fsync(number_) != 0)
            fail(path_);
    }

private:
    fs::path path_;
    int number_;
};

void sync_directory(const fs::path& directory) { descriptor(directory, O_RDONLY | O_DIRECTORY).sync(); }

std::string content_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in)
        fail(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

class files_store final : public store {
public:
    explicit files_store(const fs::path& directory) : directory_(directory) {
        fs::create_directories(directory / "ids");
    }

    void make_group(const std::string& name) override {
        fs::create_directory(directory_ / name);
        descriptor(directory_ / name / "last", O_WRONLY | O_CREAT).write("0");
        const descriptor overview(directory_ / name / "overview", O_WRONLY | O_CREAT);
    }
    void post(const news::article& what, unsigned process) override {
        const fs::path file = directory_ / ("new" + std::to_string(process));
        {
            const descriptor text(file, O_WRONLY | O_CREAT | O_TRUNC);
            text.write(what.text);
            text.sync();
        }
        link(file, directory_ / "ids" / what.message_id); // fails for a duplicate
        sync_directory(directory_ / "ids");
        for (const std::string& group : what.groups)
            add_to(directory_ / group, file, what.overview);
        fs::remove(file);
    }
    std::string read(std::string_view message_id) override { return content_of(directory_ / "ids" / message_id); }
    std::string overview(const std::string& group, std::size_t count) override {
        std::ifstream in(directory_ / group / "overview");
        std::string lines;
        for (std::string line; count != 0 && std::getline(in, line); --count)
            lines += line + '\n';
        return lines;
    }

private:
    static void link(const fs::path& from, const fs::path& to) {
        if (::link(from.c_str(), to.c_str()) != 0)
            fail(to);
    }
    /// The number needs no sync: after a crash the directory shows the last one.
    static void add_to(const fs::path& group, const fs::path& file, const std::string& overview) {
        const descriptor last(group / "last", O_RDWR);
        if (::flock(last.number(), LOCK_EX) != 0)
            fail(group);
        const std::string number = std::to_string(std::stoul(content_of(group / "last")) + 1);
        link(file, group / number);
        sync_directory(group);
        const descriptor lines(group / "overview", O_WRONLY | O_APPEND);
        lines.write(number + '\t' + overview + "\r\n");
        lines.sync();
        last.write(number);
    }

    fs::path directory_;
};

} // namespace

system_kind files_system() {
    return {"plain files", [](const fs::path& directory) { return std::make_unique<files_store>(directory); }};
}
