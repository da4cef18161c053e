// Objects of derived classes, serialised under the name with which their class was registered. For programs that own
// objects by pointers to a base class; the library itself registers no class. Depends on the standard library only.
#pragma once

#include <remanence/types/serialize_trait.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <utility>

namespace remanence {

namespace detail {

/// Throws errc::type_mismatch.
[[noreturn]] void refuse_unknown_class(std::string_view name, const std::type_info& base);
/// Throws errc::invalid_argument.
[[noreturn]] void refuse_unregistered_class(const std::type_info& type, const std::type_info& base);
[[noreturn]] void refuse_second_name(std::string_view name, const std::type_info& base);

/// The mutex of all tables of exemplars. fork() waits for it.
[[nodiscard]] std::mutex& using_exemplars() noexcept;

/// The classes derived from Base that fragile<std::unique_ptr<Base>> knows in this process. Any thread.
template <class Base>
class exemplar_table {
public:
    struct exemplar {
        std::string name;
        std::size_t (*size)(const Base&);
        void (*serialize)(const Base&, byte_writer&);
        std::unique_ptr<Base> (*deserialize)(byte_reader&);
    };

    static void add(const std::type_info& type, exemplar added) {
        const std::scoped_lock lock(using_exemplars());
        auto& [by_type, by_name] = all();
        const auto known = by_type.find(type);
        if (known != by_type.end() ? known->second.name != added.name : by_name.contains(added.name))
            refuse_second_name(added.name, typeid(Base));
        if (added.name.empty())
            refuse_to_serialize("a class is registered without a name");
        if (known != by_type.end())
            return;
        const exemplar& kept = by_type.emplace(type, std::move(added)).first->second;
        by_name.emplace(kept.name, &kept);
    }
    [[nodiscard]] static const exemplar& of(const Base& object) {
        const std::scoped_lock lock(using_exemplars());
        const auto& by_type = all().by_type;
        const auto known = by_type.find(typeid(object));
        if (known == by_type.end())
            refuse_unregistered_class(typeid(object), typeid(Base));
        return known->second;
    }
    [[nodiscard]] static const exemplar& named(std::string_view name) {
        const std::scoped_lock lock(using_exemplars());
        const auto& by_name = all().by_name;
        const auto known = by_name.find(name);
        if (known == by_name.end())
            refuse_unknown_class(name, typeid(Base));
        return *known->second;
    }

private:
    struct maps {
        std::map<std::type_index, exemplar> by_type;
        std::map<std::string, const exemplar*, std::less<>> by_name;
    };
    /// Called under the lock, so that no thread forks while the tables are made. They are never destroyed, as elements
    /// may be used until the process ends.
    static maps& all() {
        static auto* const made = new maps;
        return *made;
    }
};

} // namespace detail

/// Registers the class Derived under a name. The name is what is stored, so it must stay the same when the class is
/// renamed.
///
/// Each program must call it before it stores or reads the first such object. A second call with the same name has no
/// effect. Throws errc::invalid_argument if another class has that name, or the class has another name. Derived needs a
/// serialize_trait. Any thread.
template <class Base, class Derived>
    requires(std::is_polymorphic_v<Base> && std::is_base_of_v<Base, Derived>)
void register_exemplar(std::string name) { // NOLINT(performance-unnecessary-value-param): it is moved below
    static_assert(serializes<serialize_trait<Derived>, Derived>, "Remanence cannot serialise this class: specialise "
                                                                 "remanence::serialize_trait for it.");
    using trait = serialize_trait<Derived>;
    detail::exemplar_table<Base>::add(
        typeid(Derived),
        {.name = std::move(name),
         .size = [](const Base& object) -> std::size_t { return trait::size(static_cast<const Derived&>(object)); },
         .serialize = [](const Base& object,
                         byte_writer& out) { trait::serialize(static_cast<const Derived&>(object), out); },
         .deserialize = [](byte_reader& in) -> std::unique_ptr<Base> {
             return std::make_unique<Derived>(trait::deserialize(in));
         }});
}

/// Serialises an object through a pointer to its base class: the name of its class (empty for a null pointer), then
/// what the trait of that class writes. The class must be registered: see register_exemplar().
template <class Base>
    requires std::is_polymorphic_v<Base>
struct serialize_trait<std::unique_ptr<Base>> {
    static std::size_t size(const std::unique_ptr<Base>& value) {
        if (value == nullptr)
            return 1;
        const auto& known = detail::exemplar_table<Base>::of(*value);
        return detail::size_of_value(known.name) + known.size(*value);
    }
    static void serialize(const std::unique_ptr<Base>& value, byte_writer& out) {
        if (value == nullptr)
            return out.put_count(0);
        const detail::nesting level = out.enter();
        const auto& known = detail::exemplar_table<Base>::of(*value);
        detail::write_value(known.name, out);
        known.serialize(*value, out);
    }
    static std::unique_ptr<Base> deserialize(byte_reader& in) {
        const std::size_t length = in.take_count_of_things();
        if (length == 0)
            return nullptr;
        const detail::nesting level = in.enter();
        return detail::exemplar_table<Base>::named(in.take(length)).deserialize(in);
    }
};

} // namespace remanence
