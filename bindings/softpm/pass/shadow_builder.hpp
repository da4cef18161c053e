// Makes instructions that read and write marks. Depends on LLVM.
#pragma once

#include "llvm.hpp"

namespace remanence::softpm {

class shadow_builder {
public:
    explicit shadow_builder(llvm::Module& module);

    /// Returns the type for the marks of so many words: a byte, or a vector of bytes.
    [[nodiscard]] llvm::Type* marks_type(unsigned words) const;
    /// Returns a constant in which all marks have this value.
    [[nodiscard]] static llvm::Constant* all(llvm::Type* marks, mark value);
    /// Returns the address of a word's mark; for a vector of addresses, a vector.
    llvm::Value* address(llvm::IRBuilder<>& at, llvm::Value* word) const;
    void put(llvm::IRBuilder<>& at, llvm::Value* word, llvm::Value* marks) const;
    llvm::Value* get(llvm::IRBuilder<>& at, llvm::Value* word, llvm::Type* marks) const;
    /// Returns the marks of 8-byte integers whose origin is unknown: `perhaps` if the integer lies in the window.
    /// `integers` is one integer, or a vector.
    llvm::Value* by_window(llvm::IRBuilder<>& at, llvm::Value* integers) const;
    /// Calls a function of the runtime that has no result.
    void call(llvm::IRBuilder<>& at, llvm::StringRef function, llvm::ArrayRef<llvm::Value*> arguments) const;
    /// Tells the optimizer, if it runs again, that this access reads or writes only marks.
    void is_mark(llvm::Instruction* access) const;

    llvm::Type* const byte;
    llvm::Type* const word;
    llvm::PointerType* const pointer;

private:
    llvm::Module& module_;
    llvm::MDNode* kind_ = nullptr;
};

/// Returns how many words of 8 bytes a type fills; 0 if it does not fill whole words, or if the number is not known.
[[nodiscard]] unsigned words_of(llvm::Type* type, const llvm::DataLayout& layout);

} // namespace remanence::softpm
