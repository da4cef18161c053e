#include <remanence/error.hpp>

#include "base/error_sentence.hpp"
#include "base/undying.hpp"

#include <utility>

namespace remanence {

const char* sentence_of(errc code) noexcept {
    switch (code) {
    case errc::not_a_heap:
        return "not a heap file";
    case errc::truncated:
        return "the file is truncated";
    case errc::unsupported_format:
        return "the file needs another release, or an upgrade";
    case errc::abi_mismatch:
        return "the file was written with another ABI";
    case errc::type_mismatch:
        return "the root is stored as another type";
    case errc::corrupt:
        return "the file is damaged";
    case errc::log_missing:
        return "the redo log is missing";
    case errc::log_foreign:
        return "the redo log belongs to another heap";
    case errc::base_taken:
        return "the base address is taken";
    case errc::permission_denied:
        return "permission denied";
    case errc::read_only_file_system:
        return "the file system is read-only";
    case errc::not_found:
        return "no such file or directory";
    case errc::no_space:
        return "no space left";
    case errc::in_use:
        return "the heap is in use";
    case errc::closed:
        return "the heap is closed";
    case errc::exhausted:
        return "the heap's address range is used up";
    case errc::poisoned:
        return "an earlier write failed";
    case errc::exists:
        return "the file exists";
    case errc::section_open:
        return "a section is open";
    case errc::section_conflict:
        return "sections or locks conflict";
    case errc::read_only:
        return "the heap is open read-only";
    case errc::not_supported:
        return "not supported";
    case errc::invalid_argument:
        return "invalid argument";
    case errc::io:
        return "input/output error";
    case errc::unnameable_type:
        return "the type has no name that another program could know";
    case errc::foreign_pointer:
        return "a pointer leaves the heap";
    case errc::recovery_needed:
        return "the heap must be recovered first";
    case errc::rolled_back:
        return "the section was rolled back";
    case errc::undeclared_change:
        return "a declared section changed what it did not declare";
    case errc::unlinked:
        return "the file has lost its name";
    case errc::wrong_application:
        return "the heap is another application's";
    case errc::readers_behind:
        return "readers of old versions are in the way";
    case errc::outside_section:
        return "memory was changed outside a write section";
    case errc::no_step:
        return "the history does not lead there";
    case errc::history_full:
        return "the history is full";
    case errc::uncommitted:
        return "there are changes that are not committed";
    case errc::no_procedure:
        return "the procedure is not there, or cannot be undone";
    case errc::limit_reached:
        return "the call has taken as many steps as it may";
    case errc::no_memory:
        return "the process has no memory left";
    }
    return "unknown error";
}

namespace {

class category final : public std::error_category {
    [[nodiscard]] const char* name() const noexcept override { return "remanence"; }
    [[nodiscard]] std::string message(int value) const override { return sentence_of(static_cast<errc>(value)); }
};

constinit const undying<category> k_category;

} // namespace

const std::error_category& error_category() noexcept { return k_category.value; }

std::error_code make_error_code(errc code) noexcept { return {static_cast<int>(code), error_category()}; }

error::error(errc code, const std::string& message, std::string path, int os_error, std::uint64_t offset)
    : std::system_error(make_error_code(code), message),
      message_(message),
      path_(std::move(path)),
      os_error_(os_error),
      offset_(offset) {}

} // namespace remanence
