// The compiler pass for clang 19 (-fpass-plugin): marks the words in which a program stores pointers. Depends on LLVM
// only; it knows the runtime's functions only by name. It runs after the optimizer, so that it marks the final code.
#include "marker.hpp"
#include "renamed_functions.hpp"

namespace remanence::softpm {

namespace {

using llvm::dyn_cast;
using llvm::Type;

constexpr int k_constructor_priority = 102; // runs before constructors of programs, which may change the variables

/// Collects the offsets of all pointers in an initializer.
void find_pointers(const llvm::Constant* of, std::uint64_t offset, const llvm::DataLayout& layout,
                   llvm::SmallVectorImpl<std::uint64_t>& into) {
    Type* const type = of->getType();
    const auto* expression = dyn_cast<llvm::ConstantExpr>(of);
    if (type->isPointerTy() ? !of->isNullValue() : expression != nullptr && type->isIntegerTy(64)) {
        into.push_back(offset);
    } else if (const auto* structure = dyn_cast<llvm::ConstantStruct>(of)) {
        const auto* places = layout.getStructLayout(structure->getType());
        for (unsigned i = 0; i < structure->getNumOperands(); ++i)
            find_pointers(structure->getOperand(i), offset + places->getElementOffset(i), layout, into);
    } else if (llvm::isa<llvm::ConstantArray, llvm::ConstantVector>(of)) {
        for (unsigned i = 0; i < of->getNumOperands(); ++i) {
            const auto* element = llvm::cast<llvm::Constant>(of->getOperand(i));
            find_pointers(element, offset + i * layout.getTypeAllocSize(element->getType()), layout, into);
        }
    }
}

/// Returns those words of the module's variables that hold a pointer before the program runs.
llvm::SmallVector<llvm::Constant*, 64> initial_pointers(llvm::Module& module) {
    llvm::SmallVector<llvm::Constant*, 64> found;
    Type* const word = Type::getInt64Ty(module.getContext());
    for (llvm::GlobalVariable& each : module.globals()) {
        if (!each.hasInitializer() || each.hasAvailableExternallyLinkage() || each.isThreadLocal() ||
            each.getName().starts_with("llvm.") || each.getSection().starts_with("llvm."))
            continue;
        llvm::SmallVector<std::uint64_t, 16> offsets;
        find_pointers(each.getInitializer(), 0, module.getDataLayout(), offsets);
        for (std::uint64_t offset : offsets)
            if (offset % k_word_bytes == 0)
                found.push_back(llvm::ConstantExpr::getGetElementPtr(Type::getInt8Ty(module.getContext()), &each,
                                                                     llvm::ConstantInt::get(word, offset)));
    }
    return found;
}

void mark_initialisers(llvm::Module& module) {
    const auto words = initial_pointers(module);
    if (words.empty())
        return;
    llvm::LLVMContext& context = module.getContext();
    const shadow_builder build(module);
    auto* const type = llvm::ArrayType::get(build.pointer, words.size());
    auto* const table = new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::PrivateLinkage,
                                                 llvm::ConstantArray::get(type, words), "softpm_initial_pointers");
    auto* const constructor =
        llvm::Function::Create(llvm::FunctionType::get(Type::getVoidTy(context), false),
                               llvm::GlobalValue::InternalLinkage, "softpm_mark_initialisers", module);
    llvm::IRBuilder<> at(llvm::BasicBlock::Create(context, "", constructor));
    build.call(at, "softpm_mark_words", {table, at.getInt64(words.size())});
    at.CreateRetVoid();
    llvm::appendToGlobalCtors(module, constructor, k_constructor_priority);
}

void rename_functions(llvm::Module& module) {
    for (const renamed_function& each : k_renamed_functions) {
        llvm::Function* const old = module.getFunction(each.from);
        if (old == nullptr || !old->isDeclaration())
            continue;
        llvm::AttributeList attributes =
            old->getAttributes().removeFnAttribute(module.getContext(), llvm::Attribute::Memory);
        old->replaceAllUsesWith(module.getOrInsertFunction(each.to, old->getFunctionType(), attributes).getCallee());
    }
}

struct pointer_marks : llvm::PassInfoMixin<pointer_marks> {
    // Functions that are not optimized store pointers, too, so the pass must run on them.
    static bool isRequired() { return true; }

    llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& /*analyses*/) {
        rename_functions(module);
        const shadow_builder build(module);
        for (llvm::Function& each : module)
            if (!each.isDeclaration() && !each.hasAvailableExternallyLinkage() &&
                !each.hasFnAttribute(llvm::Attribute::Naked))
                marker(build, each).run();
        mark_initialisers(module);
        return llvm::PreservedAnalyses::none();
    }
};

void add_to(llvm::PassBuilder& builder) {
    builder.registerOptimizerLastEPCallback(
        [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(pointer_marks()); });
}

} // namespace

} // namespace remanence::softpm

extern "C" [[gnu::weak, gnu::visibility("default")]] llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "remanence-softpm", "1", remanence::softpm::add_to};
}
