// Objects with virtual functions whose classes say their members (REM_REFLECT): collection, relocation, dump, load and
// `rem get` know of which class each object is, whatever the pointer's type.
#include "fixture.hpp"

#include <remanence/inspect.hpp>
#include <remanence/look_inside.hpp>
#include <remanence/migrate.hpp>
#include <remanence/relocate.hpp>
#include <remanence/streams.hpp>
#include <remanence/types/reflect.hpp>
#include <remanence/versions.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace zoo {

namespace rem = remanence;

class creature {
public:
    creature() = default;
    creature(const creature&) = default;
    creature& operator=(const creature&) = default;
    virtual ~creature() = default;
    [[nodiscard]] virtual int legs() const = 0;
    creature* friend_ = nullptr;
    rem::string name;

private:
    REM_REFLECT((), friend_, name);
};
class swimmer {
public:
    swimmer() = default;
    swimmer(const swimmer&) = default;
    swimmer& operator=(const swimmer&) = default;
    virtual ~swimmer() = default;
    [[nodiscard]] virtual int depth() const { return depth_; }
    int depth_ = 3;

private:
    REM_REFLECT((), depth_);
};
class lion : public creature {
public:
    [[nodiscard]] int legs() const override { return 4; }
    int cubs = 2;

private:
    REM_REFLECT((creature), cubs);
};
class duck : public creature, public swimmer {
public:
    [[nodiscard]] int legs() const override { return 2; }
    [[nodiscard]] int depth() const override { return depth_ + 10; }
    rem::vector<int> eggs;
    lion* fears = nullptr;

private:
    REM_REFLECT((creature, swimmer), eggs, fears);
};
/// Does not say its members.
class shy : public creature {
public:
    [[nodiscard]] int legs() const override { return 0; }
    creature* hidden = nullptr;
};
/// Says its members, but has a virtual base, whose place only the whole object knows.
class floating : public virtual swimmer {
public:
    int weight = 5;

private:
    REM_REFLECT((), weight);
};

/// Points at others of its own class.
class kin {
public:
    kin() = default;
    kin(const kin&) = delete;
    kin& operator=(const kin&) = delete;
    virtual ~kin() = default;
    [[nodiscard]] virtual std::size_t count() const {
        std::size_t all = 1;
        for (const kin* const each : children)
            all += each->count();
        return all;
    }
    rem::vector<kin*> children;

private:
    REM_REFLECT((), children);
};

struct pen {
    rem::vector<lion> lions;
    rem::vector<creature*> all;
    rem::map<rem::string, swimmer*> swimmers;
};
struct pool {
    swimmer* one = nullptr;
};

} // namespace zoo

template <class T>
    requires std::derived_from<T, zoo::creature> || std::derived_from<T, zoo::swimmer> || std::derived_from<T, zoo::kin>
inline constexpr bool remanence::enable_persistable<T> = true;

namespace remanence::test {
namespace {

using namespace zoo;

/// What a pen holds, found by calls of virtual functions.
std::string told_pen(const pen& of) {
    std::ostringstream out;
    const auto tell = [&](const creature& each) {
        out << each.name << ' ' << each.legs();
        if (each.friend_ != nullptr)
            out << " with " << each.friend_->name << ' ' << each.friend_->legs();
        if (const auto* const one = dynamic_cast<const lion*>(&each))
            out << " cubs " << one->cubs;
        if (const auto* const one = dynamic_cast<const duck*>(&each)) {
            out << " eggs";
            for (const int egg : one->eggs)
                out << ' ' << egg;
            out << " fears " << (one->fears != nullptr ? one->fears->name : "nothing");
        }
        out << '\n';
    };
    for (const lion& each : of.lions)
        tell(each);
    for (const creature* const each : of.all)
        tell(*each);
    for (const auto& [name, each] : of.swimmers) {
        out << name << ' ' << each->depth() << ' ';
        tell(dynamic_cast<const creature&>(*each));
    }
    return out.str();
}

duck* new_duck(heap& h, const char* name, int eggs) {
    duck* const made = h.make<duck>();
    made->name = name;
    for (int i = 0; i != eggs; ++i)
        made->eggs.push_back(i);
    return made;
}

class described_classes : public testing::Test {
protected:
    /// Makes a heap with a root "pen", and returns what it holds.
    std::string make() {
        heap h = heap::create(path_, small_heap());
        fill(h);
        std::string told = told_pen(*h.find_root<pen>("pen"));
        base_ = h.base();
        h.close();
        return told;
    }
    static void fill(heap& h) {
        h.write([&] {
            auto& root = h.root<pen>("pen");
            root.lions.resize(3);
            root.lions[0].name = "a lion with a name that is too long for the object";
            root.lions[1].friend_ = &root.lions[0];
            duck* const donald = new_duck(h, "donald, whose name is too long for the object, too", 3);
            donald->fears = &root.lions[2];
            root.lions[2].name = "leo";
            root.all.push_back(donald);
            root.all.push_back(h.make<lion>());
            root.all.back()->friend_ = donald;
            root.all.push_back(&root.lions[1]);
            root.swimmers["donald"] = donald;
            root.swimmers["daisy"] = new_duck(h, "daisy", 40); // which only a base behind its beginning leads to
        });
    }

    temp_dir dir_;
    fs::path path_ = dir_ / "zoo.rem";
    void* base_ = nullptr;
};

TEST_F(described_classes, are_collected_when_no_base_leads_to_them) {
    heap h = heap::create(path_, small_heap());
    fill(h);
    auto& root = *h.find_root<pen>("pen");
    EXPECT_TRUE(h.leaks().clean());
    EXPECT_TRUE(h.collect().clean());
    const std::string before = told_pen(root);
    h.write([&] {
        (void)new_duck(h, "a duck that nobody knows, with a long name", 100);
        lion* const lost = h.make<lion>();
        lost->friend_ = h.make<lion>();
        lost->friend_->friend_ = lost;
    });
    EXPECT_EQ(h.collect().blocks, 5U); // the duck, its name and its eggs; two lions
    EXPECT_EQ(told_pen(root), before);
    h.write([&] { root.swimmers.clear(); });
    EXPECT_EQ(h.collect().blocks, 2U); // daisy and her eggs
    h.write([&] { root.all[1]->friend_ = nullptr; });
    EXPECT_TRUE(h.collect().clean());
    EXPECT_TRUE(h.leaks().clean());
    EXPECT_TRUE(h.verify().clean());
    h.write([&] { // the heap does not know yet of which class it is
        root.all.push_back(new_duck(h, "a duck of this very section, with a long name", 5));
        EXPECT_EQ(reason_of([&] { h.collect(); }), errc::not_supported);
        EXPECT_TRUE(h.leaks().clean());
    });
    EXPECT_EQ(static_cast<duck*>(root.all.back())->eggs.size(), 5U);
    EXPECT_TRUE(h.collect().clean());
    EXPECT_TRUE(h.verify().clean());
}

// A pointer of the program that nobody follows any more.
TEST_F(described_classes, are_collected_beside_pointers_to_destroyed_objects) {
    heap h = heap::create(path_, small_heap());
    fill(h);
    auto& root = *h.find_root<pen>("pen");
    h.write([&] {
        h.destroy(static_cast<lion*>(root.all[1]));
        (void)new_duck(h, "a duck that nobody knows, with a long name", 100);
    });
    EXPECT_EQ(h.collect().blocks, 3U); // the duck, its name and its eggs
    EXPECT_EQ(root.lions[1].friend_, &root.lions[0]);
    // What is there now is no such object.
    h.write([&] {
        for (int i = 0; i != 1000; ++i)
            h.make<std::array<std::uint64_t, sizeof(lion) / 8>>()->fill(1);
    });
    const auto why = error_of([&] { h.collect(); });
    ASSERT_TRUE(why);
    EXPECT_EQ(why->code, errc::not_supported);
    EXPECT_NE(why->what.find("or a pointer to a zoo::creature dangles"), std::string::npos) << why->what;
}

TEST_F(described_classes, that_lead_to_their_own_are_followed) {
    constexpr std::size_t k_each = 4;
    const auto grow = [&](heap& h, kin& from) {
        for (std::size_t i = 0; i != k_each; ++i)
            from.children.push_back(h.make<kin>());
    };
    {
        heap h = heap::create(path_, small_heap());
        h.write([&] {
            auto& root = h.root<kin>("kin");
            grow(h, root);
            for (kin* const each : root.children)
                grow(h, *each);
            (void)h.make<kin>(); // unreached
        });
        EXPECT_EQ(h.leaks().blocks, 1U);
        EXPECT_EQ(h.collect().blocks, 1U);
        EXPECT_EQ(h.find_root<kin>("kin")->count(), 1 + k_each + k_each * k_each);
        h.close();
    }
    (void)relocate(path_);
    std::string text;
    inspect::dump(path_, {}, [&](std::string_view more) { text += more; });
    heap h = heap::open_existing(path_, small_heap());
    EXPECT_EQ(h.find_root<kin>("kin")->count(), 1 + k_each + k_each * k_each);
    heap other = heap::create(dir_ / "other.rem", small_heap());
    std::istringstream from(text);
    EXPECT_EQ(load<>(other, from), 1U);
    EXPECT_EQ(other.find_root<kin>("kin")->count(), 1 + k_each + k_each * k_each);
}

TEST_F(described_classes, that_a_dump_lacks_are_refused) {
    make();
    std::string text;
    inspect::dump(path_, {}, [&](std::string_view more) { text += more; });
    const std::size_t line = text.find("{\"class\":");
    ASSERT_NE(line, std::string::npos);
    const std::size_t end = text.find('\n', line) + 1;
    const auto why_refused = [&](const std::string& edited) {
        heap h = heap::create(dir_ / "edited.rem", small_heap());
        std::istringstream from(edited);
        const auto why = error_of([&] { load<>(h, from); });
        EXPECT_TRUE(h.roots().empty());
        h.close();
        fs::remove(dir_ / "edited.rem");
        return why ? why->what : std::string("nothing");
    };
    EXPECT_NE(why_refused(text.substr(0, line) + text.substr(end)).find("\"class\""), std::string::npos);
    std::string moved = text;
    moved.replace(moved.find("\"position\":", line), 12, "\"position\":4");
    EXPECT_NE(why_refused(moved).find("class"), std::string::npos);
    std::string unknown = text;
    unknown.replace(unknown.find("\"schema\":", line), 10, "\"schema\":9");
    EXPECT_NE(why_refused(unknown).find("schema"), std::string::npos);
}

TEST_F(described_classes, move_with_their_vptrs) {
    const std::string before = make();
    for (const std::uintptr_t base : {std::uintptr_t{0}, std::uintptr_t{0x1234} << 32U, std::uintptr_t{0x2400} << 32U,
                                      reinterpret_cast<std::uintptr_t>(base_)}) {
        (void)relocate(path_, base);
        heap h = heap::open_existing(path_, small_heap());
        EXPECT_TRUE(base == 0 || h.base() == reinterpret_cast<void*>(base));
        EXPECT_EQ(told_pen(*h.find_root<pen>("pen")), before);
        EXPECT_TRUE(h.check_pointers().clean());
        h.write([&] { h.find_root<pen>("pen")->all.push_back(h.make<lion>()); });
        h.write([&] { h.find_root<pen>("pen")->all.pop_back(); });
        EXPECT_EQ(h.collect().blocks, 1U);
    }
}

TEST_F(described_classes, are_read_at_other_addresses) {
    const std::string before = make();
    inspect::copy(path_, dir_ / "copy.rem");
    const heap original = heap::open_existing(path_, small_heap());
    for (const relocation how : {relocation::automatic, relocation::guessed}) {
        heap_options options = small_heap();
        options.memory.when_taken = how;
        options.read_only = true;
        const heap copy = heap::open_existing(dir_ / "copy.rem", options);
        EXPECT_NE(copy.base(), original.base());
        EXPECT_EQ(told_pen(*copy.find_root<pen>("pen")), before);
        EXPECT_EQ(told_pen(*original.find_root<pen>("pen")), before);
    }
}

TEST_F(described_classes, are_dumped_and_loaded_by_their_own_class) {
    const std::string before = make();
    std::string text;
    inspect::dump(path_, {}, [&](std::string_view more) { text += more; });
    for (const bool by_type : {false, true}) {
        const fs::path other = dir_ / (by_type ? "typed.rem" : "other.rem");
        heap_options options = small_heap();
        options.memory.base = std::uintptr_t{0x1777} << 32U; // so that the vptrs differ
        {
            heap h = heap::create(other, options);
            std::istringstream from(text);
            EXPECT_EQ(by_type ? load<pen>(h, from) : load<>(h, from), 1U);
            EXPECT_EQ(told_pen(*h.find_root<pen>("pen")), before);
            EXPECT_TRUE(h.leaks().clean());
            h.write([&] { h.find_root<pen>("pen")->all.push_back(new_duck(h, "one more", 1)); });
            h.write([&] { h.find_root<pen>("pen")->all.pop_back(); });
            EXPECT_EQ(h.collect().blocks, 2U);
            h.close();
        }
        const heap h = heap::open_existing(other, options);
        EXPECT_EQ(told_pen(*h.find_root<pen>("pen")), before);
        std::string again;
        save(h, [&](std::string_view more) { again += more; });
        EXPECT_EQ(again.substr(again.find("{\"root\"")), text.substr(text.find("{\"root\"")).substr(0, again.size()));
    }
}

TEST_F(described_classes, are_found_by_paths) {
    make();
    EXPECT_EQ(inspect::get(path_, "pen.all[0].eggs[2]"), "2");
    EXPECT_EQ(inspect::get(path_, "pen.all[0].fears.zoo::creature.name"), "\"leo\"");
    EXPECT_EQ(inspect::get(path_, "pen.swimmers[\"daisy\"].zoo::creature.name"), "\"daisy\"");
    EXPECT_EQ(inspect::get(path_, "pen.all[1].cubs"), "2");
    EXPECT_EQ(inspect::get(path_, "pen.lions[0].cubs"), "2");
}

TEST_F(described_classes, are_declared_with_a_virtual_destructor) {
    make();
    const std::string text = inspect::schema(path_, inspect::schema_form::cpp);
    EXPECT_NE(text.find("struct lion : zoo::creature {\n    int cubs;"), std::string::npos) << text;
    EXPECT_NE(text.find("struct creature {\n    virtual ~creature() = default;"), std::string::npos) << text;
}

TEST_F(described_classes, that_hide_members_are_refused_by_name) {
    {
        heap h = heap::create(path_, small_heap());
        fill(h);
        h.write([&] { h.find_root<pen>("pen")->all.push_back(h.make<shy>()); });
        base_ = h.base();
        EXPECT_TRUE(h.leaks().clean());
        const auto why = error_of([&] { h.collect(); });
        ASSERT_TRUE(why);
        EXPECT_EQ(why->code, errc::not_supported);
        EXPECT_NE(why->what.find("zoo::shy"), std::string::npos) << why->what;
        h.write(
            [&] { static_cast<shy*>(h.find_root<pen>("pen")->all.back())->hidden = h.find_root<pen>("pen")->all[0]; });
        h.close();
    }
    const auto bytes = read_file(path_);
    for (const auto& act : std::vector<std::function<void()>>{
             [&] { inspect::dump(path_, {}, [](std::string_view) { FAIL(); }); },
             [&] { (void)relocate(path_); },
         }) {
        const auto why = error_of(act);
        ASSERT_TRUE(why);
        EXPECT_EQ(why->code, errc::not_supported) << why->what;
        EXPECT_NE(why->what.find("zoo::shy"), std::string::npos) << why->what;
    }
    EXPECT_TRUE(read_file(path_) == bytes);
}

TEST_F(described_classes, with_virtual_bases_are_refused_where_members_count) {
    heap h = heap::create(path_, small_heap());
    h.write([&] { h.root<pool>("pool").one = h.make<floating>(); });
    EXPECT_EQ(h.find_root<pool>("pool")->one->depth(), 3);
    EXPECT_EQ(reason_of([&] { h.collect(); }), errc::not_supported);
    EXPECT_TRUE(h.leaks().clean());
    h.close();
    EXPECT_EQ(reason_of([&] { (void)relocate(path_); }), errc::not_supported);
    EXPECT_EQ(reason_of([&] { inspect::dump(path_, {}, [](std::string_view) { FAIL(); }); }), errc::not_supported);
}

} // namespace
} // namespace remanence::test
