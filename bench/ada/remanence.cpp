// A list, or a vector, in a file of its own, by the same interface as the Ada paper's: bound to the file, and written at its close.
#include "store.hpp"

#include <remanence/remanence.hpp>

#include <optional>

namespace {

namespace rem = remanence;

template <class List>
class remanence_store final : public store {
public:
    explicit remanence_store(std::filesystem::path file) : path_(std::move(file)) {}

    void make() override { list_.emplace(path_); }
    void load() override { list_.emplace(path_); }
    void insert(std::uint64_t characters) override {
        for (std::uint64_t i = 0; i < characters; ++i)
            (*list_)->push_back(first_character(i));
    }
    void modify() override {
        for (char& each : **list_)
            each = next_character(each);
    }
    void write() override { list_->close(); }
    std::uint64_t sum() override {
        std::uint64_t all = 0;
        for (const char each : **list_)
            all += static_cast<unsigned char>(each);
        return all;
    }

private:
    std::filesystem::path path_;
    std::optional<rem::file_backed<List>> list_;
};

template <class List>
system_kind system_of(const char* name) {
    return {name, [](const std::filesystem::path& file) { return std::make_unique<remanence_store<List>>(file); }};
}

} // namespace

system_kind remanence_list_system() { return system_of<rem::list<char>>("rem::list"); }
system_kind remanence_vector_system() { return system_of<rem::vector<char>>("rem::vector"); }
