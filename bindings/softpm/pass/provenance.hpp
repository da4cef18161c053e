// Which marks a value brings with it, found by where it comes from. Depends on shadow_builder.
//
//   P1  A value loaded brings the marks of where it was loaded from; a pointer is one; constants, and what is computed by other means than
//       adding, masking and choosing, are data.
//   P2  What comes from a call or a parameter is of unknown origin: its value tells (shadow_builder::by_window).
#pragma once

#include "shadow_builder.hpp"

namespace remanence::softpm {

class provenance {
public:
    provenance(const shadow_builder& build, llvm::Function& function);

    /// Marks of a value that fills whole words, as instructions beside its definition; null when it fills none.
    llvm::Value* marks_of(llvm::Value* value);
    /// The value that was stored, where this is one loaded from a local variable that is stored to in one place: code that is not
    /// optimized keeps all its values so.
    llvm::Value* behind_local(llvm::Value* value) const;
    /// True if an address leads to a local variable that needs no marks: it never leaves the function, and is no source of a copy.
    bool is_local(llvm::Value* address);
    /// True if what it reads may be an argument that was passed on the stack, which nobody marked.
    [[nodiscard]] bool is_variadic() const { return is_variadic_; }
    static bool is_data(llvm::Value* marks);

private:
    llvm::Value* find(llvm::Value* value, unsigned depth);
    llvm::Value* of_instruction(llvm::Instruction* value, llvm::Type* marks, unsigned depth);
    llvm::Value* of_phi(llvm::PHINode* phi, llvm::Type* marks, unsigned depth);
    llvm::Value* of_choice(llvm::Instruction* value, llvm::Type* marks, unsigned depth);
    llvm::Value* of_insertion(llvm::Instruction* value, llvm::Type* marks, unsigned depth);
    llvm::Value* of_shuffle(llvm::ShuffleVectorInst* shuffle, llvm::Type* marks, unsigned depth);
    llvm::Value* of_call(llvm::Instruction* value, llvm::Type* marks);
    llvm::Value* of_load(llvm::LoadInst* load, llvm::Type* marks);
    llvm::Value* of_sum(llvm::Instruction* sum, unsigned depth);
    llvm::Value* of_parts(llvm::Instruction* value, llvm::Type* marks, unsigned depth);
    llvm::Value* of_unknown(llvm::Value* value, llvm::Type* marks);
    [[nodiscard]] bool has_elements_of_words(llvm::Type* vector) const;

    const shadow_builder& build_;
    llvm::Function& function_;
    const llvm::DataLayout& layout_;
    llvm::DominatorTree order_;
    bool is_variadic_ = false; // what it loads may be an argument, which nobody marked
    llvm::DenseMap<llvm::Value*, llvm::Value*> known_;
    llvm::DenseMap<const llvm::AllocaInst*, bool> locals_;
};

} // namespace remanence::softpm
