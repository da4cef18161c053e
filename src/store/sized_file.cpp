#include "store/sized_file.hpp"

#include <string>

namespace remanence::store {

result<void> sized_file::check_reaches(std::uint64_t needed) const {
    if (bytes_ >= needed)
        return {};
    return fail(errc::truncated,
                path() + " ends at byte " + std::to_string(bytes_) + ", although it should have at least " +
                    std::to_string(needed) + " bytes. Restore it from a copy.",
                path(), 0, bytes_);
}

} // namespace remanence::store
