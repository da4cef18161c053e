#include "provenance.hpp"

namespace remanence::softpm {

namespace {

using llvm::dyn_cast;
using llvm::Instruction;
using llvm::isa;
using llvm::Type;
using llvm::Value;

constexpr unsigned k_depth_max = 24;
constexpr unsigned k_look_through = 12;
constexpr unsigned k_word_bits = 64;

llvm::IRBuilder<> after(Instruction* definition) {
    return llvm::IRBuilder<>(&**definition->getInsertionPointAfterDef());
}

/// If a value is shifted by whole words, returns the value before the shift, and the number of words. Otherwise returns
/// the value itself, and 0.
std::pair<Value*, unsigned> without_shift(Value* value, unsigned opcode) {
    const auto* shift = dyn_cast<llvm::BinaryOperator>(value);
    const auto* by = shift == nullptr ? nullptr : dyn_cast<llvm::ConstantInt>(shift->getOperand(1));
    if (by == nullptr || shift->getOpcode() != opcode || by->getValue().getActiveBits() > 32 ||
        by->getZExtValue() % k_word_bits != 0)
        return {value, 0};
    return {shift->getOperand(0), static_cast<unsigned>(by->getZExtValue() / k_word_bits)};
}

/// True if the variable is the source of a block copy, or is passed to a call, which may read it.
bool is_read_elsewhere(const llvm::AllocaInst* local) {
    llvm::SmallVector<const Value*, 16> todo{local};
    llvm::SmallPtrSet<const Value*, 16> seen;
    while (!todo.empty()) {
        const Value* const address = todo.pop_back_val();
        if (!seen.insert(address).second)
            continue;
        for (const llvm::User* user : address->users()) {
            if (const auto* copy = dyn_cast<llvm::MemTransferInst>(user)) {
                if (copy->getRawSource() == address)
                    return true;
            } else if (isa<llvm::GetElementPtrInst, llvm::PHINode, llvm::SelectInst>(user)) {
                todo.push_back(user);
            } else if (isa<llvm::CallBase>(user) && !isa<llvm::IntrinsicInst>(user)) {
                return true;
            }
        }
    }
    return false;
}

} // namespace

provenance::provenance(const shadow_builder& build, llvm::Function& function)
    : build_(build), function_(function), layout_(function.getDataLayout()), order_(function) {
    for (const Instruction& each : llvm::instructions(function))
        if (const auto* intrinsic = dyn_cast<llvm::IntrinsicInst>(&each))
            is_variadic_ |= intrinsic->getIntrinsicID() == llvm::Intrinsic::vastart;
}

bool provenance::is_data(Value* marks) {
    const auto* constant = dyn_cast<llvm::Constant>(marks);
    return constant != nullptr && constant->isNullValue();
}

bool provenance::is_local(Value* address) {
    const auto* local = dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(address, k_look_through));
    if (local == nullptr)
        return false;
    const auto found = locals_.find(local);
    if (found != locals_.end())
        return found->second;
    const bool is_one = !llvm::PointerMayBeCaptured(local, true, true) && !is_read_elsewhere(local);
    return locals_[local] = is_one;
}

Value* provenance::behind_local(Value* value) const {
    for (;;) {
        auto* const load = dyn_cast<llvm::LoadInst>(value);
        auto* const local = load == nullptr ? nullptr : dyn_cast<llvm::AllocaInst>(load->getPointerOperand());
        if (local == nullptr)
            return value;
        llvm::StoreInst* only = nullptr;
        for (llvm::User* user : local->users()) {
            auto* const store = dyn_cast<llvm::StoreInst>(user);
            const bool is_other_use = store == nullptr ? !isa<llvm::LoadInst>(user) : store->getValueOperand() == local;
            if (is_other_use || (store != nullptr && only != nullptr))
                return value;
            only = store != nullptr ? store : only;
        }
        if (only == nullptr || only->getValueOperand()->getType() != load->getType() || !order_.dominates(only, load))
            return value;
        value = only->getValueOperand();
    }
}

bool provenance::has_elements_of_words(Type* vector) const {
    return layout_.getTypeStoreSize(vector->getScalarType()) == k_word_bytes;
}

Value* provenance::marks_of(Value* value) {
    return words_of(value->getType(), layout_) == 0 ? nullptr : find(value, 0);
}

Value* provenance::find(Value* value, unsigned depth) {
    value = behind_local(value);
    const auto found = known_.find(value);
    if (found != known_.end())
        return found->second;
    Type* const marks = build_.marks_type(words_of(value->getType(), layout_));
    if (value->getType()->isPtrOrPtrVectorTy())
        return shadow_builder::all(marks, isa<llvm::ConstantPointerNull>(value) ? mark::data : mark::pointer);
    if (const auto* constant = dyn_cast<llvm::ConstantExpr>(value))
        return shadow_builder::all(marks,
                                   constant->getOpcode() == Instruction::PtrToInt ? mark::from_pointer : mark::data);
    if (isa<llvm::Constant>(value))
        return shadow_builder::all(marks, mark::data);
    auto* const instruction = dyn_cast<Instruction>(value);
    if (instruction == nullptr || depth > k_depth_max)
        return of_unknown(value, marks);
    Value* const made = of_instruction(instruction, marks, depth + 1);
    return known_[value] = made;
}

Value* provenance::of_instruction(Instruction* value, Type* marks, unsigned depth) {
    switch (value->getOpcode()) {
    case Instruction::PtrToInt:
        return shadow_builder::all(marks, mark::from_pointer);
    case Instruction::Load:
        return of_load(llvm::cast<llvm::LoadInst>(value), marks);
    case Instruction::PHI:
        return of_phi(llvm::cast<llvm::PHINode>(value), marks, depth);
    case Instruction::Select:
        return of_choice(value, marks, depth);
    case Instruction::Freeze:
        return find(value->getOperand(0), depth);
    case Instruction::BitCast:
        return words_of(value->getOperand(0)->getType(), layout_) == 0 ? shadow_builder::all(marks, mark::data)
                                                                       : find(value->getOperand(0), depth);
    case Instruction::Add:
    case Instruction::Or:
    case Instruction::And:
    case Instruction::Xor:
    case Instruction::Sub:
        return value->getType()->getScalarSizeInBits() == 64 ? of_sum(value, depth) : of_parts(value, marks, depth);
    case Instruction::ZExt:
    case Instruction::Shl:
    case Instruction::Trunc:
        return of_parts(value, marks, depth);
    case Instruction::InsertElement:
        return of_insertion(value, marks, depth);
    case Instruction::ShuffleVector:
        return of_shuffle(llvm::cast<llvm::ShuffleVectorInst>(value), marks, depth);
    case Instruction::Call:
        return of_call(value, marks);
    case Instruction::Invoke:
    case Instruction::ExtractValue:
    case Instruction::ExtractElement:
    case Instruction::AtomicRMW:
    case Instruction::AtomicCmpXchg:
        return of_unknown(value, marks);
    default: // shifts, products, and conversions of shorter numbers
        return shadow_builder::all(marks, mark::data);
    }
}

Value* provenance::of_phi(llvm::PHINode* phi, Type* marks, unsigned depth) {
    llvm::IRBuilder<> at(phi);
    llvm::PHINode* const made = at.CreatePHI(marks, phi->getNumIncomingValues());
    known_[phi] = made; // entered before the operands are visited, because one of them may be computed from this value
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
        made->addIncoming(find(phi->getIncomingValue(i), depth), phi->getIncomingBlock(i));
    return made;
}

Value* provenance::of_choice(Instruction* value, Type* marks, unsigned depth) {
    Value* const yes = find(value->getOperand(1), depth);
    Value* const no = find(value->getOperand(2), depth);
    if (yes == no)
        return yes;
    if (value->getOperand(0)->getType()->isVectorTy() &&
        (!has_elements_of_words(value->getType()) || !marks->isVectorTy()))
        return of_unknown(value, marks);
    auto at = after(value);
    return at.CreateSelect(value->getOperand(0), yes, no);
}

Value* provenance::of_insertion(Instruction* value, Type* marks, unsigned depth) {
    if (!has_elements_of_words(value->getType()))
        return shadow_builder::all(marks, mark::data);
    Value* const vector = find(value->getOperand(0), depth);
    Value* const element = find(value->getOperand(1), depth);
    auto at = after(value);
    return vector->getType()->isVectorTy() ? at.CreateInsertElement(vector, element, value->getOperand(2)) : element;
}

Value* provenance::of_shuffle(llvm::ShuffleVectorInst* shuffle, Type* marks, unsigned depth) {
    Value* const first = has_elements_of_words(shuffle->getType()) ? find(shuffle->getOperand(0), depth) : nullptr;
    if (first == nullptr || !first->getType()->isVectorTy() || !marks->isVectorTy())
        return of_unknown(shuffle, marks);
    Value* const second = find(shuffle->getOperand(1), depth);
    auto at = after(shuffle);
    return at.CreateShuffleVector(first, second, shuffle->getShuffleMask());
}

/// A masked load of words has the marks of these words; the result of another call is of unknown origin.
Value* provenance::of_call(Instruction* value, Type* marks) {
    if (const auto* intrinsic = dyn_cast<llvm::IntrinsicInst>(value);
        intrinsic != nullptr && intrinsic->getIntrinsicID() == llvm::Intrinsic::masked_load &&
        has_elements_of_words(value->getType()) && marks->isVectorTy()) {
        auto at = after(value);
        return at.CreateMaskedLoad(marks, build_.address(at, intrinsic->getArgOperand(0)), llvm::Align(1),
                                   intrinsic->getArgOperand(2), llvm::Constant::getNullValue(marks));
    }
    return of_unknown(value, marks);
}

Value* provenance::of_load(llvm::LoadInst* load, Type* marks) {
    if (is_local(load->getPointerOperand()))
        return of_unknown(load, marks);
    Value* const by_value = is_variadic_ ? of_unknown(load, marks) : nullptr;
    llvm::IRBuilder<> at(by_value != nullptr && isa<Instruction>(by_value)
                             ? llvm::cast<Instruction>(by_value)->getNextNode()
                             : load->getNextNode());
    Value* const there = build_.get(at, load->getPointerOperand(), marks);
    if (by_value == nullptr)
        return there;
    return at.CreateSelect(at.CreateICmpEQ(there, shadow_builder::all(marks, mark::data)), by_value, there);
}

// A pointer plus a number is a pointer, in either order. The difference of two pointers is a number.
Value* provenance::of_sum(Instruction* sum, unsigned depth) {
    Value* const left = find(sum->getOperand(0), depth);
    Value* const right = find(sum->getOperand(1), depth);
    if (is_data(right))
        return left;
    Type* const marks = left->getType();
    Value* const data = shadow_builder::all(marks, mark::data);
    if (sum->getOpcode() == Instruction::Sub) {
        if (is_data(left))
            return data;
        auto at = after(sum);
        return at.CreateSelect(at.CreateICmpEQ(right, data), left, data);
    }
    if (is_data(left))
        return right;
    auto at = after(sum);
    return at.CreateSelect(at.CreateICmpEQ(left, data), right, left);
}

// Integers of 128 bits and more: composing them of words, or extracting words, preserves marks. After any other
// operation, the origin is unknown.
Value* provenance::of_parts(Instruction* value, Type* marks, unsigned depth) {
    Type* const type = value->getType();
    const auto is_wide = [](const Type* of) { return of->isIntegerTy() && of->getIntegerBitWidth() > k_word_bits; };
    Value* const first = value->getOperand(0);
    if (!is_wide(type)) {
        if (value->getOpcode() != Instruction::Trunc || !type->isIntegerTy(k_word_bits) || !is_wide(first->getType()))
            return shadow_builder::all(marks, mark::data);
        const auto [whole, words] = without_shift(first, Instruction::LShr);
        Value* const of_whole = words_of(whole->getType(), layout_) > words ? find(whole, depth) : nullptr;
        if (of_whole == nullptr)
            return of_unknown(value, marks);
        auto at = after(value);
        return at.CreateExtractElement(of_whole, words);
    }
    switch (value->getOpcode()) {
    case Instruction::ZExt:
        if (first->getType()->isIntegerTy(k_word_bits)) {
            auto at = after(value);
            return at.CreateInsertElement(shadow_builder::all(marks, mark::data), find(first, depth), std::uint64_t{0});
        }
        break;
    case Instruction::Shl:
        if (const auto [whole, words] = without_shift(value, Instruction::Shl); words != 0) {
            Value* const of_whole = find(whole, depth);
            const auto count = static_cast<int>(words_of(type, layout_));
            llvm::SmallVector<int, 8> order; // an index into the second operand selects data
            for (int i = 0; i < count; ++i)
                order.push_back(i < static_cast<int>(words) ? count : i - static_cast<int>(words));
            auto at = after(value);
            return at.CreateShuffleVector(of_whole, shadow_builder::all(marks, mark::data), order);
        }
        break;
    case Instruction::Or: {
        Value* const left = find(first, depth);
        Value* const right = find(value->getOperand(1), depth);
        auto at = after(value);
        return at.CreateSelect(at.CreateICmpEQ(left, shadow_builder::all(marks, mark::data)), right, left);
    }
    default:
        break;
    }
    return of_unknown(value, marks);
}

Value* provenance::of_unknown(Value* value, Type* marks) {
    const auto found = known_.find(value);
    if (found != known_.end())
        return found->second;
    const bool is_integer = value->getType()->isIntOrIntVectorTy();
    if (!is_integer || value->getType()->isIntegerTy(1))
        return known_[value] = shadow_builder::all(marks, mark::data);
    Instruction* const definition = dyn_cast<Instruction>(value);
    llvm::IRBuilder<> at = definition != nullptr ? after(definition)
                                                 : llvm::IRBuilder<>(&*function_.getEntryBlock().getFirstInsertionPt());
    const unsigned words = words_of(value->getType(), layout_);
    Type* const integers = words == 1 ? build_.word : llvm::FixedVectorType::get(build_.word, words);
    return known_[value] = build_.by_window(at, at.CreateBitCast(value, integers));
}

} // namespace remanence::softpm
