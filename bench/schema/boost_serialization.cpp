// Boost.Serialization's archives.
#include "archives.hpp"

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/archive/text_iarchive.hpp>
#include <boost/archive/text_oarchive.hpp>
#include <boost/serialization/map.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>

/// Found by Boost.
template <class Archive>
void serialize(Archive& archive, plain_address& of, unsigned /*version*/) {
    archive & of.street & of.city & of.phone;
}

namespace {

template <class Out, class In>
dump_system boost_system(const std::string& name) {
    return {name, [](workload what, std::uint64_t numbers, const std::filesystem::path& file) {
                return run_archives(
                    what, numbers, file,
                    [](std::ostream& to, const auto& objects) {
                        Out archive(to);
                        archive << objects;
                    },
                    [](std::istream& from, auto& objects) {
                        In archive(from);
                        archive >> objects;
                    });
            }};
}

} // namespace

dump_system boost_binary_system() {
    return boost_system<boost::archive::binary_oarchive, boost::archive::binary_iarchive>("Boost binary");
}
dump_system boost_text_system() {
    return boost_system<boost::archive::text_oarchive, boost::archive::text_iarchive>("Boost text");
}
