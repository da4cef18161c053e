// Makes the instructions that read and write marks. Depends on LLVM.
#pragma once

#include "llvm.hpp"

namespace remanence::softpm {

class shadow_builder {
public:
    explicit shadow_builder(llvm::Module& module);

    /// Returns the type of the marks of `words` words: a byte, or a vector of bytes.
    [[nodiscard]] llvm::Type* marks_type(unsigned words) const;
    /// Returns the same mark for all of them.
    [[nodiscard]] static llvm::Constant* all(llvm::Type* marks, mark value);
    /// Returns the address of the mark of a word; for a vector of addresses, a vector.
    llvm::Value* address(llvm::IRBuilder<>& at, llvm::Value* word) const;
    void put(llvm::IRBuilder<>& at, llvm::Value* word, llvm::Value* marks) const;
    llvm::Value* get(llvm::IRBuilder<>& at, llvm::Value* word, llvm::Type* marks) const;
    /// Returns the marks of integers of 8 bytes of unknown origin: `perhaps` if they lie in the window. `integers` is
    /// one integer, or a vector.
    llvm::Value* by_window(llvm::IRBuilder<>& at, llvm::Value* integers) const;
    /// Calls a function of the runtime that returns nothing.
    void call(llvm::IRBuilder<>& at, llvm::StringRef function, llvm::ArrayRef<llvm::Value*> arguments) const;
    /// Tells the optimizer, if it runs again, that this access touches only marks.
    void is_mark(llvm::Instruction* access) const;

    llvm::Type* const byte;
    llvm::Type* const word;
    llvm::PointerType* const pointer;

private:
    llvm::Module& module_;
    llvm::MDNode* kind_ = nullptr;
};

/// Returns how many words of 8 bytes the type fills; 0 if that is no whole number, or not known.
[[nodiscard]] unsigned words_of(llvm::Type* type, const llvm::DataLayout& layout);

} // namespace remanence::softpm
