// Calls procedures, and their inverses when steps are undone. A separate file, so that only programs that add
// procedures link it.

#include "api/heap_impl.hpp"
#include "api/history_calls.hpp"
#include "api/procedure_table.hpp"
#include "api/raise.hpp"
#include "history/delta.hpp"

#include <remanence/procedures.hpp>

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace remanence::detail {

namespace {

struct procedure {
    procedure_set::function call;
    procedure_set::function inverse;
};

class named_procedures final : public procedure_table, public std::enable_shared_from_this<named_procedures> {
public:
    std::map<std::string, procedure, std::less<>> all;

    void serve(heap_impl& heap) const override;
};

/// Returns null if there is no procedure of that name.
const procedure* find_procedure(const heap_impl& heap, std::string_view name) {
    const auto* const table = static_cast<const named_procedures*>(heap.options.procedures.table().get());
    if (table == nullptr)
        return nullptr;
    const auto found = table->all.find(name);
    return found == table->all.end() ? nullptr : &found->second;
}

result<void> unknown_procedure(const heap_impl& heap, const std::string& what, std::string_view name) {
    return fail(errc::no_procedure,
                what + " the procedure \"" + std::string(name) + "\" is not known to this program, which has " +
                    heap.origin.path.string() +
                    " open. Open the heap with it: by heap_options::procedures, or by "
                    "rem_open_with_procedures() of C.",
                heap.origin.path.string());
}

/// Runs the procedures of the steps that lead to another state.
class procedures_on_path final : public procedure_service {
public:
    explicit procedures_on_path(heap_impl& of) : of_(of) {}

    result<void> run(const history::procedure_call& call, bool leads_back) {
        const procedure* const found = find_procedure(of_, call.name);
        if (found == nullptr)
            return unknown_procedure(of_, "a step cannot be undone or redone:", call.name);
        if (leads_back && !found->inverse)
            return unknown_procedure(of_, "a step cannot be undone: an inverse of", call.name);
        has_run_ = true;
        try {
            of_.forget_outside();
            heap& here = *of_.handle();
            here.write([&] { (leads_back ? found->inverse : found->call)(here, call.parameters); });
        } catch (...) {
            thrown_ = std::current_exception();
            return fail(errc::no_procedure, "the procedure has thrown.");
        }
        return {};
    }

    void begin() noexcept override {
        has_run_ = false;
        thrown_ = nullptr;
    }

    void recover() override {
        if (!has_run_)
            return;
        const std::exception_ptr thrown = std::exchange(thrown_, nullptr);
        if (!of_.engine().is_poisoned())
            of_.roll_back();
        if (thrown)
            std::rethrow_exception(thrown);
    }

private:
    heap_impl& of_;
    bool has_run_ = false;
    std::exception_ptr thrown_;
};

void named_procedures::serve(heap_impl& heap) const {
    auto service = std::make_unique<procedures_on_path>(heap);
    if (heap.engine().has_history())
        undo_of(heap).let_procedures_be_run(
            [runs = service.get()](const history::procedure_call& call, bool leads_back) {
                return runs->run(call, leads_back);
            });
    heap.procedures = std::move(service);
}

[[noreturn]] void refuse_to_add(std::string_view name, const char* why) {
    raise(errc::invalid_argument, "the procedure \"" + std::string(name) + "\" cannot be added: " + why, {});
}

/// Forgets a recorded procedure call when the section of the call ends, so that no other commit stores it.
struct noted_call {
    heap_impl& of;
    ~noted_call() {
        if (of.engine().has_history())
            undo_of(of).forget_call();
    }
};

} // namespace

void refuse_parameters(std::size_t bytes, std::size_t expected) {
    raise(errc::invalid_argument,
          "a procedure that takes " + std::to_string(expected) + " bytes of parameters was called with " +
              std::to_string(bytes) + ". Call it with the type that it was added with.",
          {});
}

} // namespace remanence::detail

namespace remanence {

void procedure_set::add(std::string_view name, function procedure, function inverse) {
    if (name.empty() || !procedure)
        detail::refuse_to_add(name, "it needs a name and a function.");
    const auto next = std::make_shared<detail::named_procedures>();
    if (table_)
        next->all = static_cast<const detail::named_procedures&>(*table_).all;
    if (!next->all.try_emplace(std::string(name), detail::procedure{std::move(procedure), std::move(inverse)}).second)
        detail::refuse_to_add(name, "there is one of this name.");
    table_ = next;
}

void heap::call(std::string_view name, std::span<const std::byte> parameters) {
    detail::heap_impl* const impl = detail::checked(impl_);
    const std::string path = impl->origin.path.string();
    if (impl->sections.is_in_any())
        detail::raise(errc::section_open,
                      "a procedure of " + path +
                          " was called in a section. Call it outside of sections: it runs in one of its own.",
                      path);
    const detail::procedure* const found = detail::find_procedure(*impl, name);
    if (found == nullptr)
        detail::check(detail::unknown_procedure(*impl, "nothing was called:", name));
    std::optional<history::procedure_call> call;
    if (found->inverse)
        call = {std::string(name), {parameters.begin(), parameters.end()}};
    const detail::noted_call meanwhile{*impl};
    write([&] {
        if (!impl->engine().has_history()) {
            found->call(*this, parameters);
            return;
        }
        detail::check(detail::undo_of(*impl).begin_call());
        found->call(*this, parameters);
        detail::undo_of(*impl).end_call(std::move(call));
    });
}

} // namespace remanence
