// Finds the marks of a value from its origin. Depends on shadow_builder.
//
//   P1  A loaded value has the marks of the place it was loaded from. A pointer is marked as one. Constants are data,
//       and so are results of all operations except adding, masking and choosing.
//   P2  Results of calls and parameters are of unknown origin: their value decides (shadow_builder::by_window).
#pragma once

#include "shadow_builder.hpp"

namespace remanence::softpm {

class provenance {
public:
    provenance(const shadow_builder& build, llvm::Function& function);

    /// Returns the marks of a value that fills whole words, as instructions beside its definition; null if it does not.
    llvm::Value* marks_of(llvm::Value* value);
    /// If `value` was loaded from a local variable that is stored to in only one place, returns the stored value. Code
    /// that is not optimized keeps all values in such variables.
    llvm::Value* behind_local(llvm::Value* value) const;
    /// True if an address leads to a local variable that needs no marks: it never leaves the function, and is never
    /// copied from.
    bool is_local(llvm::Value* address);
    /// True if a load may read an argument on the stack, which has no marks.
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
    bool is_variadic_ = false; // its loads may read arguments, which have no marks
    llvm::DenseMap<llvm::Value*, llvm::Value*> known_;
    llvm::DenseMap<const llvm::AllocaInst*, bool> locals_;
};

} // namespace remanence::softpm
