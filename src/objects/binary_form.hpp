// The binary form of a dump: each line of the portable form becomes one item of a CBOR sequence (RFC 8949, RFC 8742).
// docs/reference/dump.md describes the mapping. Encoding and then decoding a line yields the same bytes.
#pragma once

#include "base/result.hpp"
#include "objects/buffered_input.hpp"
#include "objects/json_document.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::objects {

/// A dump in the binary form begins with these bytes, the tag that marks CBOR.
inline constexpr std::string_view k_binary_mark = "\xd9\xd9\xf7";

namespace cbor {

// The kinds of CBOR items, and those of the last kind, with the numbers of RFC 8949.
inline constexpr unsigned k_unsigned = 0;
inline constexpr unsigned k_negative = 1;
inline constexpr unsigned k_bytes = 2;
inline constexpr unsigned k_text = 3;
inline constexpr unsigned k_list = 4;
inline constexpr unsigned k_object = 5;
inline constexpr unsigned k_tag = 6;
inline constexpr unsigned k_simple = 7;
inline constexpr unsigned k_false = 20;
inline constexpr unsigned k_true = 21;
inline constexpr unsigned k_null = 22;
inline constexpr unsigned k_float = 26;
inline constexpr unsigned k_double = 27;

} // namespace cbor

struct item_head {
    unsigned kind;
    unsigned info;
    std::uint64_t value;
};
void put_item_head(std::string& out, unsigned kind, std::uint64_t value);
/// Removes a head from the beginning of `from`. Returns nothing if there is no whole head that this form has.
std::optional<item_head> take_item_head(std::string_view& from);
/// Returns the size of the item at the beginning of `bytes`; nothing if no whole item is there. Does not check whether
/// the item is one of this form.
std::optional<std::size_t> size_of_item(std::string_view bytes);

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
    result<item_head> next_head();
    result<void> put_separator(std::string& line, const item_head& item);
    result<void> put_item(std::string& line, const item_head& item);
    void end_item(std::string& line, bool has_opened);
    result<void> put_bytes(std::string& line, std::uint64_t count);
    result<void> put_number(std::string& line);
    result<void> put_simple(std::string& line, const item_head& item);

    buffered_input& input_;
    std::vector<open_item> open_;
    std::string text_;
};

/// Decodes items that are in memory already.
class item_decoder {
public:
    /// Returns the line, valid until the next call. The errors are those of binary_reader.
    result<std::string_view> decode(std::string_view item);

private:
    std::string_view rest_;
    read_bytes read_ = [this](char* into, std::size_t bytes) {
        const std::size_t count = rest_.copy(into, bytes);
        rest_.remove_prefix(count);
        return count;
    };
    buffered_input input_{read_};
    binary_reader reader_{input_};
    std::string line_;
};

} // namespace remanence::objects
