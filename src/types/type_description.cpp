#include "types/type_description.hpp"

#include <bit>
#include <utility>

namespace remanence::types {

namespace {

constexpr unsigned k_bits_per_byte = 7; // the encoding of numbers is LEB128

bool has_name(type_kind kind) { return kind != type_kind::pointer && kind != type_kind::array; }
bool has_size(type_kind kind) { return kind == type_kind::object || kind == type_kind::members; }
bool has_members(type_kind kind) { return kind == type_kind::members || kind == type_kind::serialised; }

/// Appends a number. No byte of a description is 0, so no word of it looks like an address to the pointer check
/// (types/pointer_check.hpp).
void put(std::string& out, std::uint64_t value) {
    for (++value; value >= 0x80; value >>= k_bits_per_byte)
        out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
}

/// Maps small numbers of either sign to small unsigned ones, which take few bytes.
std::uint64_t zigzag(std::uint64_t number) { return (number << 1) ^ (0 - (number >> 63)); }
std::uint64_t from_zigzag(std::uint64_t number) { return (number >> 1) ^ (0 - (number & 1)); }

void put(std::string& out, std::string_view text) {
    put(out, text.size());
    out += text;
}

/// Appends the part of a row that only a schema has.
void put_shape(std::string& out, const type_row& row) {
    out += static_cast<char>(row.shape);
    if (row.shape == detail::shape_kind::none)
        return;
    put(out, row.numbers.size());
    for (const std::uint64_t number : row.numbers)
        put(out, zigzag(number));
    put(out, row.labels.size());
    for (const std::string& label : row.labels)
        put(out, label);
    put(out, row.fields.size());
    for (const type_part& field : row.fields) {
        put(out, field.name);
        put(out, field.offset ? *field.offset + 1 : 0);
        put(out, field.type);
    }
}

void put(std::string& out, const type_row& row) {
    out += static_cast<char>(row.kind);
    if (has_name(row.kind))
        put(out, row.name);
    if (has_size(row.kind)) {
        put(out, row.size);
        put(out, row.alignment);
        put(out, row.number);
        put(out, row.note);
    }
    if (row.kind == type_kind::array)
        put(out, row.extent);
    if (has_size(row.kind) || row.kind == type_kind::serialised)
        put(out, row.parts.size());
    for (const type_part& part : row.parts) {
        if (has_members(row.kind))
            put(out, part.name);
        if (row.kind == type_kind::members)
            put(out, part.offset ? *part.offset + 1 : 0);
        put(out, part.type);
    }
}

/// Reads the output of put(). After a failure it yields zeros and empty texts.
class description_reader {
public:
    explicit description_reader(std::string_view bytes) : rest_(bytes) {}

    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] bool at_end() const { return rest_.empty(); }

    std::uint64_t number() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += k_bits_per_byte) {
            if (rest_.empty() || shift > 63)
                return fail(), 0;
            const auto byte = static_cast<unsigned char>(take(1).front());
            if (shift == 63 && byte > 1)
                return fail(), 0;
            value |= std::uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80)
                return value != 0 ? value - 1 : (fail(), 0);
        }
    }
    std::string text() {
        const std::uint64_t length = number();
        return length > rest_.size() ? (fail(), std::string()) : std::string(take(length));
    }
    /// Reads a count of things, each of which takes at least one byte.
    std::uint64_t count() {
        const std::uint64_t value = number();
        return value > rest_.size() ? (fail(), 0) : value;
    }

    type_row row(std::uint64_t index, std::uint64_t rows) {
        type_row read;
        if (rest_.empty() || std::string_view("n&*[oms").find(rest_.front()) == std::string_view::npos)
            return fail(), read;
        read.kind = static_cast<type_kind>(take(1).front());
        if (has_name(read.kind))
            read.name = text();
        if (has_size(read.kind)) {
            read.size = number();
            read.alignment = number();
            read.number = number();
            read.note = text();
            if (!std::has_single_bit(read.alignment))
                fail();
        }
        const bool refers_back = !has_name(read.kind);
        if (read.kind == type_kind::array)
            read.extent = number();
        std::uint64_t parts = refers_back ? 1 : 0;
        if (has_size(read.kind) || read.kind == type_kind::serialised)
            parts = count();
        for (; parts != 0 && !failed_; --parts) {
            type_part part;
            if (has_members(read.kind))
                part.name = text();
            if (read.kind == type_kind::members) {
                if (const std::uint64_t offset = number(); offset != 0)
                    part.offset = offset - 1;
                if (part.offset && *part.offset > read.size)
                    fail();
            }
            const std::uint64_t type = number();
            if (type >= (refers_back ? index : rows)) // so that chains of pointers and arrays end
                fail();
            part.type = static_cast<std::uint32_t>(type);
            read.parts.push_back(std::move(part));
        }
        return read;
    }

    void shape(type_row& read, std::uint64_t rows) {
        if (rest_.empty() || k_shape_kinds.find(rest_.front()) == std::string_view::npos)
            return fail();
        read.shape = static_cast<detail::shape_kind>(take(1).front());
        if (read.shape == detail::shape_kind::none)
            return;
        for (std::uint64_t left = count(); left != 0 && !failed_; --left)
            read.numbers.push_back(from_zigzag(number()));
        for (std::uint64_t left = count(); left != 0 && !failed_; --left)
            read.labels.push_back(text());
        for (std::uint64_t left = count(); left != 0 && !failed_; --left) {
            type_part field;
            field.name = text();
            if (const std::uint64_t offset = number(); offset != 0)
                field.offset = offset - 1;
            const std::uint64_t type = number();
            if (type >= rows)
                fail();
            field.type = static_cast<std::uint32_t>(type);
            read.fields.push_back(std::move(field));
        }
    }

private:
    static constexpr std::string_view k_shape_kinds = "-iufbcer=aowtTvVdlsmhBHgxpqF";

    std::string_view take(std::size_t count) {
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }
    void fail() {
        failed_ = true;
        rest_ = {};
    }

    std::string_view rest_;
    bool failed_ = false;
};

} // namespace

std::string type_description::encode(row_contents contents) const {
    std::string out;
    put(out, rows.size());
    put(out, root);
    for (const type_row& row : rows) {
        put(out, row);
        if (contents == row_contents::schema)
            put_shape(out, row);
    }
    return out;
}

std::optional<type_description> type_description::decode(std::string_view bytes, row_contents contents) {
    description_reader in(bytes);
    type_description read;
    const std::uint64_t count = in.count();
    const std::uint64_t root = in.number();
    if (root >= count)
        return std::nullopt;
    read.root = static_cast<std::uint32_t>(root);
    while (read.rows.size() != count && !in.failed()) {
        read.rows.push_back(in.row(read.rows.size(), count));
        if (contents == row_contents::schema)
            in.shape(read.rows.back(), count);
    }
    if (in.failed() || !in.at_end())
        return std::nullopt;
    return read;
}

std::string type_description::name_of(std::uint32_t row) const {
    std::string declarator;
    for (; !has_name(rows[row].kind); row = rows[row].parts.front().type) {
        const type_row& part = rows[row];
        if (part.kind == type_kind::array) {
            declarator += '[';
            if (part.extent != 0)
                declarator += std::to_string(part.extent);
            declarator += ']';
        } else if (rows[part.parts.front().type].kind == type_kind::array) {
            declarator.insert(0, 1, '*').insert(0, 1, '(') += ')';
        } else {
            declarator.insert(0, 1, '*');
        }
    }
    return rows[row].name + (rows[row].kind == type_kind::reference ? "&" : "") + declarator;
}

std::string type_description::text() const {
    std::string out;
    for (const type_row& row : rows) {
        if (!has_size(row.kind) && row.kind != type_kind::serialised)
            continue;
        if (!out.empty())
            out += '\n';
        out += row.name;
        if (row.kind == type_kind::serialised)
            out += " serialised";
        else
            out += ' ' + std::to_string(row.size) + '/' + std::to_string(row.alignment);
        if (row.number != 0)
            out += " layout number " + std::to_string(row.number);
        for (std::size_t i = 0; i < row.parts.size(); ++i) {
            const type_part& part = row.parts[i];
            out += i != 0 ? ", " : has_members(row.kind) ? " {" : " <";
            if (part.offset)
                out += std::to_string(*part.offset) + ' ';
            out += name_of(part.type);
            if (!part.name.empty())
                out += ' ' + part.name;
        }
        if (!row.parts.empty())
            out += has_members(row.kind) ? '}' : '>';
        out += row.note;
    }
    return out;
}

} // namespace remanence::types
