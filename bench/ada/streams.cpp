// A std::list, written as its size and its characters, by a std::ofstream.
#include "store.hpp"

namespace {

class streams_store final : public serialised_store {
public:
    using serialised_store::serialised_store;

private:
    void read_from(std::istream& in, std::list<char>& into) override {
        std::uint64_t size = 0;
        in.read(reinterpret_cast<char*>(&size), sizeof size);
        for (std::uint64_t i = 0; i < size && in; ++i)
            into.push_back(static_cast<char>(in.get()));
    }
    void write_to(std::ostream& out, const std::list<char>& from) override {
        const std::uint64_t size = from.size();
        out.write(reinterpret_cast<const char*>(&size), sizeof size);
        for (const char each : from)
            out.put(each);
    }
};

} // namespace

system_kind streams_system() {
    return {"std::list, streams",
            [](const std::filesystem::path& file) { return std::make_unique<streams_store>(file); }};
}
