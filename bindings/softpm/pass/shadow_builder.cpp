#include "shadow_builder.hpp"

namespace remanence::softpm {

shadow_builder::shadow_builder(llvm::Module& module)
    : byte(llvm::Type::getInt8Ty(module.getContext())),
      word(llvm::Type::getInt64Ty(module.getContext())),
      pointer(llvm::PointerType::get(module.getContext(), 0)),
      module_(module) {
    llvm::MDBuilder build(module.getContext());
    llvm::MDNode* const type =
        build.createTBAAScalarTypeNode("remanence mark", build.createTBAARoot("Simple C/C++ TBAA"));
    kind_ = build.createTBAAStructTagNode(type, type, 0);
}

llvm::Type* shadow_builder::marks_type(unsigned words) const {
    return words == 1 ? byte : static_cast<llvm::Type*>(llvm::FixedVectorType::get(byte, words));
}

llvm::Constant* shadow_builder::all(llvm::Type* marks, mark value) {
    return llvm::ConstantInt::get(marks, static_cast<std::uint64_t>(value));
}

llvm::Value* shadow_builder::address(llvm::IRBuilder<>& at, llvm::Value* of) const {
    llvm::Type* const integers = of->getType()->getWithNewType(word);
    llvm::Type* const pointers = of->getType()->getWithNewType(pointer);
    llvm::Value* const number = at.CreateLShr(at.CreatePtrToInt(of, integers), k_word_shift);
    return at.CreateIntToPtr(at.CreateAdd(number, llvm::ConstantInt::get(integers, k_shadow_offset)), pointers);
}

void shadow_builder::put(llvm::IRBuilder<>& at, llvm::Value* of, llvm::Value* marks) const {
    is_mark(at.CreateAlignedStore(marks, address(at, of), llvm::Align(1)));
}

llvm::Value* shadow_builder::get(llvm::IRBuilder<>& at, llvm::Value* of, llvm::Type* marks) const {
    llvm::LoadInst* const got = at.CreateAlignedLoad(marks, address(at, of), llvm::Align(1));
    is_mark(got);
    return got;
}

llvm::Value* shadow_builder::by_window(llvm::IRBuilder<>& at, llvm::Value* integers) const {
    llvm::Type* const type = integers->getType();
    llvm::Type* const marks = type->getWithNewType(byte);
    llvm::Value* const is_inside =
        at.CreateICmpEQ(at.CreateLShr(integers, k_window_shift), llvm::ConstantInt::get(type, k_window));
    return at.CreateSelect(is_inside, all(marks, mark::perhaps), all(marks, mark::data));
}

void shadow_builder::call(llvm::IRBuilder<>& at, llvm::StringRef function,
                          llvm::ArrayRef<llvm::Value*> arguments) const {
    llvm::SmallVector<llvm::Type*, 4> types;
    for (llvm::Value* each : arguments)
        types.push_back(each->getType());
    at.CreateCall(module_.getOrInsertFunction(function, llvm::FunctionType::get(at.getVoidTy(), types, false)),
                  arguments);
}

void shadow_builder::is_mark(llvm::Instruction* access) const {
    access->setMetadata(llvm::LLVMContext::MD_tbaa, kind_);
}

unsigned words_of(llvm::Type* type, const llvm::DataLayout& layout) {
    if (!type->isSized() || type->isScalableTy())
        return 0;
    const std::uint64_t bytes = layout.getTypeStoreSize(type);
    return bytes % k_word_bytes == 0 ? static_cast<unsigned>(bytes / k_word_bytes) : 0;
}

} // namespace remanence::softpm
