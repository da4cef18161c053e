// What the systems have in common: a list of characters that is made, changed, and kept in a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <unistd.h>

/// The character at first, and what a modification makes of it.
inline char first_character(std::uint64_t number) { return static_cast<char>('a' + number % 25); }
inline char next_character(char character) { return static_cast<char>(character + 1); }

class store {
public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    /// An empty list in memory.
    virtual void make() = 0;
    /// The list of the file.
    virtual void load() = 0;
    virtual void insert(std::uint64_t characters) = 0;
    virtual void modify() = 0;
    /// To the file, durably, and ends.
    virtual void write() = 0;
    /// Of all characters; after load().
    virtual std::uint64_t sum() = 0;
};

struct system_kind {
    std::string name;
    std::function<std::unique_ptr<store>(const std::filesystem::path& file)> open;
};

/// Loads and writes a whole list, by an archive or a stream.
class serialised_store : public store {
public:
    explicit serialised_store(std::filesystem::path file) : file_(std::move(file)) {}

    void make() override { list_.clear(); }
    void load() override {
        std::ifstream in(file_, std::ios::binary);
        list_.clear();
        read_from(in, list_);
        if (!in)
            throw std::runtime_error("cannot read " + file_.string());
    }
    void insert(std::uint64_t characters) override {
        for (std::uint64_t i = 0; i < characters; ++i)
            list_.push_back(first_character(i));
    }
    void modify() override {
        for (char& each : list_)
            each = next_character(each);
    }
    /// Into a new file, which is synced and takes the place of the old one.
    void write() override {
        const std::filesystem::path made = file_.string() + ".new";
        {
            std::ofstream out(made, std::ios::binary);
            write_to(out, list_);
            if (!out.flush())
                throw std::runtime_error("cannot write " + made.string());
        }
        sync(made, O_RDONLY);
        std::filesystem::rename(made, file_);
        sync(file_.parent_path(), O_RDONLY | O_DIRECTORY);
    }
    std::uint64_t sum() override {
        std::uint64_t all = 0;
        for (const char each : list_)
            all += static_cast<unsigned char>(each);
        return all;
    }

protected:
    virtual void read_from(std::istream& in, std::list<char>& into) = 0;
    virtual void write_to(std::ostream& out, const std::list<char>& from) = 0;

private:
    static void sync(const std::filesystem::path& path, int flags) {
        const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC);
        const bool done = descriptor >= 0 && ::fsync(descriptor) == 0;
        if (descriptor >= 0)
            ::close(descriptor);
        if (!done)
            throw std::runtime_error("cannot sync " + path.string());
    }

    std::filesystem::path file_;
    std::list<char> list_;
};

system_kind remanence_list_system();
system_kind remanence_vector_system();
system_kind streams_system();
system_kind boost_serialization_system();
