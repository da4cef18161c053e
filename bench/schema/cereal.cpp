// cereal's archives.
#include "archives.hpp"

#include <cereal/archives/binary.hpp>
#include <cereal/archives/json.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>

/// Found by cereal.
template <class Archive>
void serialize(Archive& archive, plain_address& of) {
    archive(of.street, of.city, of.phone);
}

namespace {

template <class Out, class In>
dump_system cereal_system(const std::string& name) {
    return {name, [](workload what, std::uint64_t numbers, const std::filesystem::path& file) {
                return run_archives(
                    what, numbers, file,
                    [](std::ostream& to, const auto& objects) {
                        Out archive(to);
                        archive(objects);
                    },
                    [](std::istream& from, auto& objects) {
                        In archive(from);
                        archive(objects);
                    });
            }};
}

} // namespace

dump_system cereal_binary_system() {
    return cereal_system<cereal::BinaryOutputArchive, cereal::BinaryInputArchive>("cereal binary");
}
dump_system cereal_json_system() {
    return cereal_system<cereal::JSONOutputArchive, cereal::JSONInputArchive>("cereal JSON");
}
