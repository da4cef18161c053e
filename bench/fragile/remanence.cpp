// Remanence: a B-tree of fragile elements. What the section at the end commits is not measured.
#include "store.hpp"

namespace {

namespace rem = remanence;

using table = rem::btree_map<std::uint64_t, rem::fragile<person>>;

class remanence_store final : public store {
public:
    explicit remanence_store(const std::filesystem::path& directory)
        : heap_(rem::heap::open(directory / "people.rem")), table_(heap_.root<table>("people")) {}

    void fill(std::uint64_t people) override {
        heap_.write([&] {
            for (std::uint64_t i = 0; i < people; ++i)
                table_.emplace_hint(table_.end(), i, person_of(i));
        });
    }
    std::size_t read(const std::vector<std::uint64_t>& numbers) override {
        const table& people = table_;
        std::size_t bytes = 0;
        for (const std::uint64_t number : numbers) {
            const person copy = *people.find(number)->second;
            bytes += copy.name.size() + copy.city.size();
        }
        return bytes;
    }
    std::size_t touch(const std::vector<std::uint64_t>& numbers) override {
        std::size_t bytes = 0;
        for (const std::uint64_t number : numbers) {
            const auto reference = *table_.find(number)->second;
            bytes += reference->name.size() + reference->city.size();
        }
        return bytes;
    }
    void change(const std::vector<std::uint64_t>& numbers) override {
        for (const std::uint64_t number : numbers)
            table_.find(number)->second->phones.emplace_back("+49 30 901820");
    }

private:
    rem::heap heap_;
    table& table_;
};

} // namespace

system_kind remanence_system() {
    return {"remanence",
            [](const std::filesystem::path& directory) { return std::make_unique<remanence_store>(directory); }};
}
