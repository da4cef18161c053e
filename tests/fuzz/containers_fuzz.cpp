// Input: operations of four bytes: what is done to which container, two numbers, and one that makes a text. A B-tree, a hash
// table, a packed map, a vector and a string in one heap do it, with commits, rollbacks and reopenings, and their std models; after each the two
// hold the same, and the containers' structure is whole. Other kinds of containers: own_containers_fuzz.cpp, guests_fuzz.cpp.
#include "heap_files.hpp"

#include "support/btree_inspector.hpp"
#include "support/hash_inspector.hpp"
#include "support/temp_dir.hpp"
#include "support/trusting_survey.hpp"

#include <remanence/remanence.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace remanence;
using remanence::fuzz::require;

namespace {

constexpr std::size_t k_operations_max = 400; // an input's

struct operation {
    std::uint8_t what, a, b, text_seed;

    [[nodiscard]] std::string text() const {
        return std::string(text_seed % 64U, static_cast<char>('a' + text_seed % 26));
    }
};

using tree = btree_map<std::uint16_t, string_pi, std::less<>, allocator<std::pair<const std::uint16_t, string_pi>>, 1>;
using table = hash_map<string_pi, std::uint32_t>;

struct models {
    std::map<std::uint16_t, std::string> tree;
    std::map<std::string, std::uint32_t> table;
    std::multimap<std::string, std::string> packed;
    std::vector<std::string> vector;
    std::string text;
};

class subject {
public:
    subject() : book_(heap::open(directory_ / "book.rem")) {}

    void run(const std::uint8_t* data, std::size_t bytes) {
        begin();
        const std::size_t count = std::min(bytes / sizeof(operation), k_operations_max);
        for (std::size_t i = 0; i != count; ++i) {
            const std::uint8_t* const at = data + i * sizeof(operation);
            step({at[0], at[1], at[2], at[3]});
        }
        end();
    }

private:
    void begin() {
        book_.write([this] { find(); });
        now_ = committed_ = {};
        if (!empty_bytes_)
            empty_bytes_ = book_.stats().allocated_bytes;
        require(book_.stats().allocated_bytes == *empty_bytes_, "memory has leaked");
    }
    /// Makes what is not there.
    void find() {
        tree_ = &book_.root<tree>("tree");
        table_ = &book_.root<table>("table");
        packed_ = &book_.root<packed_multimap>("packed");
        vector_ = &book_.root<vector_pi<string_pi>>("vector");
        text_ = &book_.root<string_pi>("text");
    }
    void end() {
        require(book_.check_pointers().clean(), "a pointer leads out of the heap");
        book_.remove_root<tree>("tree");
        book_.remove_root<table>("table");
        book_.remove_root<packed_multimap>("packed");
        book_.remove_root<vector_pi<string_pi>>("vector");
        book_.remove_root<string_pi>("text");
    }

    void step(const operation& o) {
        switch (o.what % 9) {
        case 0:
        case 1:
            change_tree(o);
            break;
        case 2:
        case 3:
            change_table(o);
            break;
        case 4:
        case 5:
            change_vector(o);
            break;
        case 6:
            change_text(o);
            break;
        case 7:
            change_packed(o);
            break;
        default:
            if (o.a % 2 == 0) {
                book_.commit();
                committed_ = now_;
            } else if (o.b % 16 == 0) { // what is not committed is gone
                reopen();
                now_ = committed_;
            } else {
                book_.rollback();
                now_ = committed_;
            }
            break;
        }
        compare();
    }

    void reopen() {
        book_.close();
        book_ = heap::open(directory_ / "book.rem");
        find();
    }

    void change_tree(const operation& o) {
        const auto key = static_cast<std::uint16_t>(o.a % 128U);
        const auto to = static_cast<std::uint16_t>(key + o.b % 16U);
        switch (o.what / 8 % 8) {
        case 0:
        case 1:
            require(tree_->try_emplace(key, o.text()).second == now_.tree.try_emplace(key, o.text()).second,
                    "btree_map::try_emplace");
            break;
        case 2:
            (*tree_)[key] = o.text();
            now_.tree[key] = o.text();
            break;
        case 3:
            require(tree_->erase(key) == now_.tree.erase(key), "btree_map::erase");
            break;
        case 4:
            tree_->erase(tree_->lower_bound(key), tree_->lower_bound(to));
            now_.tree.erase(now_.tree.lower_bound(key), now_.tree.lower_bound(to));
            break;
        case 5: { // ascending, behind all or between
            const auto hint = tree_->upper_bound(to);
            tree_->emplace_hint(hint, to, o.text());
            now_.tree.emplace(to, o.text());
            break;
        }
        case 6: {
            auto node = tree_->extract(key);
            require(node.empty() == now_.tree.extract(key).empty(), "btree_map::extract");
            if (!node.empty()) {
                now_.tree.try_emplace(key, std::string(node.mapped()));
                tree_->insert(std::move(node));
            }
            break;
        }
        default:
            if (o.b % 16 == 0) {
                tree_->clear();
                now_.tree.clear();
            } else {
                const auto is_odd = [](const auto& each) { return each.first % 2 != 0; };
                require(erase_if(*tree_, is_odd) == std::erase_if(now_.tree, is_odd), "erase_if of a btree_map");
            }
            break;
        }
    }

    void change_table(const operation& o) {
        const std::string key = std::to_string(o.a) + (o.a % 3 == 0 ? " that does not lie in the string itself" : "");
        switch (o.what / 8 % 8) {
        case 0:
        case 1:
        case 2:
            require(table_->try_emplace(string_pi(key), o.b).second == now_.table.try_emplace(key, o.b).second,
                    "hash_map::try_emplace");
            break;
        case 3:
        case 4: {
            const auto found = table_->find(std::string_view(key));
            require((found == table_->end()) == (now_.table.erase(key) == 0), "hash_map::find");
            if (found != table_->end())
                table_->erase(found);
            break;
        }
        case 5:
            table_->insert_or_assign(string_pi(key), o.b);
            now_.table.insert_or_assign(key, o.b);
            break;
        case 6:
            table_->rehash(o.b);
            break;
        default:
            if (o.b % 16 == 0) {
                table_->clear();
                now_.table.clear();
            }
            break;
        }
    }

    void change_packed(const operation& o) {
        const std::string key = std::to_string(o.a % 32U);
        std::string value;
        for (unsigned i = 0; i != 1U + o.b % 32U; ++i) // of up to 2 KiB
            value += o.text();
        const auto here = packed_->find(key);
        const auto there = now_.packed.lower_bound(key);
        const bool is_there = there != now_.packed.end() && there->first == key;
        require(is_there == (here != packed_->end()), "packed_multimap::find");
        switch (o.what / 8 % 8) {
        case 0:
        case 1:
        case 2:
            packed_->emplace(key, value);
            now_.packed.emplace(key, value);
            break;
        case 3:
            if (is_there) {
                packed_->assign(here, value);
                there->second = value;
            }
            break;
        case 4:
            if (is_there) {
                packed_->erase(here);
                now_.packed.erase(there);
            }
            break;
        case 5:
            require(packed_->erase(key) == now_.packed.erase(key), "packed_multimap::erase");
            break;
        case 6: {
            std::vector<std::pair<std::string, std::string>> some;
            for (unsigned i = o.b % 100U; i != 0; --i)
                some.emplace_back(std::to_string(i * o.a % 128U), o.text());
            packed_->insert(some.begin(), some.end());
            now_.packed.insert(some.begin(), some.end());
            break;
        }
        default:
            packed_->erase(packed_->lower_bound(key), packed_->upper_bound(key + "5"));
            now_.packed.erase(now_.packed.lower_bound(key), now_.packed.upper_bound(key + "5"));
            break;
        }
    }

    void change_vector(const operation& o) {
        const std::size_t at = o.a % (now_.vector.size() + 1);
        const std::size_t to = std::min(now_.vector.size(), at + o.b % 8U);
        const auto here = [at](auto& all) { return all.begin() + static_cast<std::ptrdiff_t>(at); };
        const auto there = [to](auto& all) { return all.begin() + static_cast<std::ptrdiff_t>(to); };
        switch (o.what / 8 % 8) {
        case 0:
        case 1:
            vector_->emplace_back(o.text());
            now_.vector.emplace_back(o.text());
            break;
        case 2:
            vector_->emplace(here(*vector_), o.text());
            now_.vector.emplace(here(now_.vector), o.text());
            break;
        case 3:
            vector_->erase(here(*vector_), there(*vector_));
            now_.vector.erase(here(now_.vector), there(now_.vector));
            break;
        case 4:
            vector_->insert(here(*vector_), o.b % 8U, string_pi(o.text()));
            now_.vector.insert(here(now_.vector), o.b % 8U, o.text());
            break;
        case 5:
            vector_->resize(o.b % 64U);
            now_.vector.resize(o.b % 64U);
            break;
        case 6:
            vector_->shrink_to_fit();
            break;
        default: // one of its own elements
            if (at != now_.vector.size()) {
                vector_->insert(vector_->begin(), (*vector_)[at]);
                now_.vector.insert(now_.vector.begin(), std::string(now_.vector[at]));
            }
            break;
        }
    }

    void change_text(const operation& o) {
        const std::size_t at = o.a % (now_.text.size() + 1);
        switch (o.what / 8 % 8) {
        case 0:
            *text_ += o.text();
            now_.text += o.text();
            break;
        case 1:
            text_->insert(at, o.text());
            now_.text.insert(at, o.text());
            break;
        case 2:
            text_->erase(at, o.b);
            now_.text.erase(at, o.b);
            break;
        case 3:
            text_->replace(at, o.b, o.text());
            now_.text.replace(at, o.b, o.text());
            break;
        case 4:
            text_->resize(o.b, 'r');
            now_.text.resize(o.b, 'r');
            break;
        case 5:
            text_->push_back('p');
            now_.text.push_back('p');
            break;
        case 6:
            require(text_->find(o.text()) == now_.text.find(o.text()), "string_pi::find");
            break;
        default:
            text_->shrink_to_fit();
            break;
        }
    }

    void compare() const {
        require(std::equal(tree_->begin(), tree_->end(), now_.tree.begin(), now_.tree.end(),
                           [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }),
                "the btree_map differs");
        const std::string tree_fault = detail::btree_inspector::fault(*tree_);
        require(tree_fault.empty(), tree_fault);
        require(table_->size() == now_.table.size(), "the hash_map's size differs");
        for (const auto& [key, number] : *table_) {
            const auto found = now_.table.find(std::string(key));
            require(found != now_.table.end() && found->second == number, "the hash_map differs");
        }
        const std::string table_fault = detail::hash_inspector::fault(*table_);
        require(table_fault.empty(), table_fault);
        require(std::equal(packed_->begin(), packed_->end(), now_.packed.begin(), now_.packed.end(),
                           [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }),
                "the packed_multimap differs");
        detail::trusting_survey survey;
        const detail::structure_result packed_fault = detail::check_structure(*packed_, survey);
        require(!packed_fault, packed_fault ? packed_fault->what : "");
        require(std::equal(vector_->begin(), vector_->end(), now_.vector.begin(), now_.vector.end()),
                "the vector_pi differs");
        require(*text_ == now_.text, "the string_pi differs");
    }

    test::temp_dir directory_ = test::temp_dir::in_memory();
    heap book_;
    std::optional<std::uint64_t> empty_bytes_;
    tree* tree_ = nullptr;
    table* table_ = nullptr;
    packed_multimap* packed_ = nullptr;
    vector_pi<string_pi>* vector_ = nullptr;
    string_pi* text_ = nullptr;
    models now_;
    models committed_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
    static subject all;
    all.run(data, bytes);
    return 0;
}
