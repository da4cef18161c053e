// The table of examples/cache: in memory, in a heap with points, and in one with a declared section for each operation.
#include "store.hpp"

#include "../../examples/cache/lru_table.hpp"

#include <remanence/remanence.hpp>

#include <limits>

namespace {

namespace rem = remanence;
using examples::lru_table;

constexpr std::int64_t k_never = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t k_all = std::numeric_limits<std::size_t>::max();

void get_from(lru_table& table, std::string_view key) {
    const rem::string_pi* const value = table.get(key, 0);
    if (value == nullptr)
        throw std::runtime_error("an entry is missing");
    check_value(key, *value);
}

/// The same table in ordinary memory.
class no_persistence final : public store {
public:
    void get(std::string_view key) override { get_from(table_, key); }
    void set(std::string_view key, std::string_view value) override { table_.set(key, value, k_never, k_all); }
    void point() override {}
    void close() override {}

private:
    lru_table table_;
};

class with_points final : public store {
public:
    explicit with_points(const std::filesystem::path& directory)
        : heap_(rem::heap::create(directory / "cache.rem")), table_(heap_.root<lru_table>("table")) {}
    void get(std::string_view key) override { get_from(table_, key); }
    void set(std::string_view key, std::string_view value) override { table_.set(key, value, k_never, k_all); }
    void point() override { static_cast<void>(heap_.commit_async()); }
    void close() override {
        heap_.commit();
        heap_.close();
    }

private:
    rem::heap heap_;
    lru_table& table_;
};

class with_sections final : public store {
public:
    explicit with_sections(const std::filesystem::path& directory)
        : heap_(rem::heap::create(directory / "cache.rem")), table_(heap_.root<lru_table>("table")) {}
    void get(std::string_view key) override {
        heap_.write(rem::declared, rem::durability::lazy, [&] { get_from(table_, key); });
    }
    void set(std::string_view key, std::string_view value) override {
        heap_.write(rem::declared, rem::durability::lazy, [&] { table_.set(key, value, k_never, k_all); });
    }
    void point() override { heap_.sync(); }
    void close() override { heap_.close(); }

private:
    rem::heap heap_;
    lru_table& table_;
};

template <class Store>
system_kind system_of(const std::string& name, bool has_sections) {
    return {
        .name = name,
        .open = [](const std::filesystem::path& in) -> std::unique_ptr<store> { return std::make_unique<Store>(in); },
        .has_sections = has_sections};
}

} // namespace

std::vector<system_kind> remanence_systems() {
    const auto in_memory = [](const std::filesystem::path&) -> std::unique_ptr<store> {
        return std::make_unique<no_persistence>();
    };
    return {system_kind{.name = "no persistence", .open = in_memory, .has_points = false, .has_sections = true},
            system_of<with_points>("remanence", false), system_of<with_sections>("remanence, declared", true)};
}
