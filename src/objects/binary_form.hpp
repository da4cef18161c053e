// The binary form of a dump: each line of the portable form becomes one item of a CBOR sequence (RFC 8949, RFC 8742).
// docs/reference/dump.md describes the mapping. Encoding and then decoding a line yields the same bytes.
#pragma once

#include "base/result.hpp"
#include "objects/buffered_input.hpp"
#include "objects/json_document.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::objects {

/// A dump in the binary form begins with these bytes, the tag that marks CBOR.
inline constexpr std::string_view k_binary_mark = "\xd9\xd9\xf7";

class binary_writer {
public:
    /// Encodes whole lines, and appends their items to `out`. errc::invalid_argument if a line does not belong to the
    /// portable form.
    result<void> put(std::string& out, std::string_view lines);

private:
    void put_part(std::string& out, std::uint32_t& index);

    json_document document_;
    bool has_begun_ = false;
};

class binary_reader {
public:
    explicit binary_reader(buffered_input& input) : input_(input) {}

    /// Decodes the next item into `line`, without a line end. Returns false at the end of input. errc::invalid_argument
    /// if the input is not CBOR, or not of this form.
    result<bool> next(std::string& line);

private:
    /// A list or an object some of whose items are still to come.
    struct open_item {
        bool is_object;
        std::uint64_t parts; // in an object, names and values count separately
        std::uint64_t done = 0;
    };
    struct head {
        unsigned kind;
        unsigned info;
        std::uint64_t value;
    };
    result<head> next_head();
    result<void> put_separator(std::string& line, const head& item);
    result<void> put_item(std::string& line, const head& item);
    void end_item(std::string& line, bool has_opened);
    result<void> put_bytes(std::string& line, std::uint64_t count);
    result<void> put_number(std::string& line);
    result<void> put_simple(std::string& line, const head& item);

    buffered_input& input_;
    std::vector<open_item> open_;
    std::string text_;
};

} // namespace remanence::objects
