#include "address_data.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <stdexcept>

namespace address_data {

namespace {

constexpr std::size_t k_distinct_names = 59840;
constexpr std::size_t k_drawn_names = 88557;

constexpr std::array<std::string_view, 40> k_streets = {"Art of Programming",
                                                        "Washington",
                                                        "Lakeview",
                                                        "Chestnut Hill",
                                                        "Old Mill",
                                                        "Martin Luther King",
                                                        "Riverside",
                                                        "Maple Grove",
                                                        "Sycamore",
                                                        "Pleasant View",
                                                        "Church",
                                                        "Highland Park",
                                                        "Orchard",
                                                        "Cedar Ridge",
                                                        "Fairground",
                                                        "Stonebridge",
                                                        "Meadow Brook",
                                                        "Railroad",
                                                        "Sunset Hills",
                                                        "Franklin",
                                                        "Cherry Tree",
                                                        "Lincoln",
                                                        "Country Club",
                                                        "Willow Creek",
                                                        "Harbor View",
                                                        "Jefferson",
                                                        "Spring Lake",
                                                        "University",
                                                        "Blacksmith",
                                                        "Magnolia",
                                                        "Quarry",
                                                        "Union",
                                                        "Prospect",
                                                        "Hickory Hollow",
                                                        "Mountain View",
                                                        "Fox Run",
                                                        "Lighthouse",
                                                        "Cottonwood",
                                                        "Heritage",
                                                        "Commercial"};

constexpr std::array<std::string_view, 10> k_street_kinds = {"Street", "Avenue", "Road",  "Boulevard", "Lane",
                                                             "Drive",  "Court",  "Place", "Terrace",   "Parkway"};

constexpr std::array<std::string_view, 5> k_directions = {"", "North ", "South ", "East ", "West "};

constexpr std::array<std::string_view, 50> k_cities = {
    "Montgomery, AL",      "Anchorage, AK",        "Scottsdale, AZ",     "Little Rock, AR", "San Francisco, CA",
    "Sacramento, CA",      "Colorado Springs, CO", "Bridgeport, CT",     "Wilmington, DE",  "Jacksonville, FL",
    "Fort Lauderdale, FL", "Atlanta, GA",          "Honolulu, HI",       "Boise, ID",       "Chicago, IL",
    "Springfield, IL",     "Indianapolis, IN",     "Cedar Rapids, IA",   "Wichita, KS",     "Louisville, KY",
    "Baton Rouge, LA",     "Portland, ME",         "Baltimore, MD",      "Cambridge, MA",   "Grand Rapids, MI",
    "Minneapolis, MN",     "Jackson, MS",          "Kansas City, MO",    "Billings, MT",    "Omaha, NE",
    "Las Vegas, NV",       "Manchester, NH",       "Jersey City, NJ",    "Albuquerque, NM", "New York, NY",
    "Rochester, NY",       "Charlotte, NC",        "Bismarck, ND",       "Cincinnati, OH",  "Oklahoma City, OK",
    "Portland, OR",        "Philadelphia, PA",     "Providence, RI",     "Charleston, SC",  "Sioux Falls, SD",
    "Nashville, TN",       "San Antonio, TX",      "Salt Lake City, UT", "Burlington, VT",  "Milwaukee, WI"};

struct surnames {
    std::vector<std::string> names;
    std::vector<std::uint64_t> shares; ///< in thousandths of a per cent
};

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error("the family names in " ADDRESS_DATA_FILE ": " + what);
}

struct gz_closer {
    void operator()(gzFile file) const noexcept { gzclose(file); }
};

std::string read_compressed() {
    const std::unique_ptr<gzFile_s, gz_closer> file(gzopen(ADDRESS_DATA_FILE, "rb"));
    if (file == nullptr)
        fail("cannot be opened");
    std::string text;
    std::array<char, 1 << 16> block;
    for (;;) {
        const int count = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()));
        if (count < 0)
            fail("cannot be decompressed");
        if (count == 0)
            return text;
        text.append(block.data(), static_cast<std::size_t>(count));
    }
}

/// "1.006" is 1006. By digits, since what floating point would give is not the same everywhere.
std::uint64_t thousandths(std::string_view share) {
    std::uint64_t value = 0;
    for (const char c : share) {
        if (c == '.')
            continue;
        if (c < '0' || c > '9')
            fail("a share is not a number");
        value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return value;
}

surnames read_surnames() {
    const std::string text = read_compressed();
    surnames result;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line(text.data() + begin, end - begin);
        const std::size_t tab = line.find('\t');
        if (tab == std::string_view::npos || tab == 0)
            fail("a line is not a name and a share");
        result.names.emplace_back(line.substr(0, tab));
        result.shares.push_back(thousandths(line.substr(tab + 1)));
        begin = end + 1;
    }
    if (result.names.size() < k_distinct_names)
        fail("there are too few");
    return result;
}

/// Appends the numbers of `count` names, drawn in proportion to their shares.
void draw(const std::vector<std::uint64_t>& shares, std::size_t count, random_numbers& random,
          std::vector<std::uint32_t>& drawn) {
    std::vector<std::uint64_t> sums(shares.size());
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < shares.size(); ++i)
        sums[i] = (sum += shares[i]);
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = std::upper_bound(sums.begin(), sums.end(), random.below(sum));
        drawn.push_back(static_cast<std::uint32_t>(at - sums.begin()));
    }
}

template <std::size_t N>
std::string_view pick(const std::array<std::string_view, N>& from, random_numbers& random) {
    return from[static_cast<std::size_t>(random.below(N))];
}

/// Decimal, with leading zeros.
void append_digits(std::string& text, std::uint64_t number, std::size_t width) {
    const std::string digits = std::to_string(number);
    text.append(width > digits.size() ? width - digits.size() : 0, '0').append(digits);
}

std::string make_street(random_numbers& random) {
    std::string street = std::to_string(1 + random.below(9999));
    street += ' ';
    street.append(pick(k_directions, random)).append(pick(k_streets, random));
    street += ' ';
    street.append(pick(k_street_kinds, random));
    if (random.below(5) < 2) {
        street.append(", Apt ").append(std::to_string(1 + random.below(400)));
        street += static_cast<char>('A' + random.below(6));
    }
    return street;
}

std::string make_city(random_numbers& random) {
    std::string city(pick(k_cities, random));
    city += ' ';
    append_digits(city, 1000 + random.below(98000), 5);
    return city;
}

/// "+1 (650) 555-0100"; the seven digits run through all ten million before one comes again.
std::string make_phone(std::uint64_t seed, std::size_t index, random_numbers& random) {
    constexpr std::uint64_t k_numbers = 10'000'000;
    constexpr std::uint64_t k_stride = 7'368'787; // has no divisor in common with k_numbers
    const std::uint64_t number = (index % k_numbers * k_stride + seed % k_numbers) % k_numbers;
    std::string phone = "+1 (";
    append_digits(phone, 201 + random.below(788), 3);
    phone += ") ";
    append_digits(phone, number / 10000, 3);
    phone += '-';
    append_digits(phone, number % 10000, 4);
    return phone;
}

} // namespace

source::source(selection which, std::uint64_t seed) : seed_(seed) {
    surnames all = read_surnames();
    random_numbers random(seed);
    for (std::uint32_t i = 0; i < k_distinct_names; ++i)
        order_.push_back(i);
    if (which == selection::duplicates)
        draw(all.shares, k_drawn_names, random, order_);
    shuffle(order_, random);
    names_ = std::move(all.names);
}

entry source::operator[](std::size_t index) const {
    // The seed and the index are mixed apart from each other, else entry i + 1 would begin within entry i's numbers.
    random_numbers of_entry(random_numbers(seed_).next() ^ (index * 0xd1b54a32d192ed03U));
    entry made;
    made.name = name(index);
    made.street = make_street(of_entry);
    made.city = make_city(of_entry);
    made.phone = make_phone(seed_, index, of_entry);
    return made;
}

} // namespace address_data
