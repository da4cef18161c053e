// A std::list, by Boost.Serialization's binary archive.
#include "store.hpp"

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/list.hpp>

namespace {

class boost_store final : public serialised_store {
public:
    using serialised_store::serialised_store;

private:
    void read_from(std::istream& in, std::list<char>& into) override { boost::archive::binary_iarchive(in) >> into; }
    void write_to(std::ostream& out, const std::list<char>& from) override {
        boost::archive::binary_oarchive(out) << from;
    }
};

} // namespace

system_kind boost_serialization_system() {
    return {"std::list, Boost.Serialization",
            [](const std::filesystem::path& file) { return std::make_unique<boost_store>(file); }};
}
