// Numbers: of the launch, from memory, of reductions, and what is computed of them
// (meaning_builder.hpp).
//
// Every slot computes such a number for itself; no node makes it. In the meaning it is a value that
// no op runs, a view that computes. One that is carried is kept from iteration to iteration,
// though, so somebody has to write it: the node of the reduction that it is made of computes it,
// too, where nobody else uses that reduction. Where none can, it has a node of its own
// (carried_numbers.hpp).
#include <algorithm>
#include <set>

#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/ttgir/meaning_builder.hpp"
#include "graph/ttgir/module_run.hpp"
#include "graph/ttgir/words.hpp"

namespace twill::ttgir {

using meaning::Index;
using meaning::Operand;

namespace {

constexpr std::size_t kMostNumbers = 10'000;  // of a loop

bool is_real(const Type* type) {
  const auto* number = type == nullptr ? nullptr : meaning::number_type(type->element);
  return number != nullptr && type->kind == TypeKind::scalar && number->precision > 0;
}

}  // namespace

MeaningBuilder::Seen MeaningBuilder::scalar(int user, int value, Where where, int distance) {
  const Value& v = m_.value(value);
  if (!is_tile(value, TypeKind::scalar)) refuse(user, "it repeats what is no number");
  if (v.op != kNone && m_.op(v.op).name == "arith.constant") return constant(user, value);
  const int k = indices_.argument(value);
  if (k >= 0 && type(value).element == "f32") {
    Seen seen;
    const int c = argument_constant(user, std::string(v.name), Index::make(Index::argument, k),
                                    kRealArgument);
    seen.operand.constant = out_.constants[at(c)].first;
    seen.operand.number = out_.constants[at(c)].second;
    return seen;
  }
  // An integer that the launch has, as a real number.
  if (v.op != kNone && m_.op(v.op).name == "arith.sitofp") {
    const auto index = indices_.of(m_.op(v.op).operands[0]);
    if (index && !meaning::depends_on(*index, Index::iteration)) {
      Seen seen;
      seen.operand = first_place(user, *index);
      return seen;
    }
  }
  if (is_integer(value)) {
    const auto index = indices_.of(value);
    // (What does not grow by a number in every iteration is computed, like data.)
    const bool grows = index && (sum_of(*index).per_iteration() || step_of(*index) ||
                                 v.op == kNone || !order_.contains(v.op));
    if (grows && !is_flags(value)) return place_number(user, value, *index, where, distance);
    if (const auto known = known_integer(value)) return number(user, static_cast<double>(*known));
    const auto word = v.op == kNone ? std::nullopt : word_left(m_, v.op);
    if (word && !word->sign) return scalar(user, word->value, where, distance);
  } else if (!is_real(m_.type_of(value)))
    refuse(user, "it repeats a number that is known at run time alone");
  if (v.op == kNone && v.block == body_ && v.index > 0)
    return carried(user, value, 0, -1, distance);
  if (v.op == loop_ && where == Where::after) return result_of_loop(user, value, 0);
  if (v.op == kNone && carried_around(value) != kNone) {
    Seen seen;
    seen.operand.value = handed_around(user, value, 0, -1);
    return seen;
  }
  if (v.op != kNone && order_.contains(v.op) && m_.op(v.op).results.size() > 1 &&
      class_of(m_.op(v.op)) == OpClass::reduction && !place_alone(v.op))
    return largest_or_place(user, value, distance);
  if (v.op != kNone && in_loop(v.op) && node(v.op, 0) == kNone && chooses_numbers(v.op))
    return number_of_branch(user, value, distance);
  if (v.op != kNone && in_loop(v.op) && (order_.contains(v.op) || number_branch_of(v.op) != kNone))
    return number_of_loop(user, v.op, distance);
  if (v.op == kNone || in_loop(v.op) || v.op == loop_)
    refuse(user, "it repeats a number that is known at run time alone");
  Seen seen;
  const OpClass c = class_of(m_.op(v.op));
  const auto& ops = m_.block(m_.op(loop_).block).ops;
  const auto here = std::find(ops.begin(), ops.end(), v.op);
  const bool behind = here != ops.end() && here > std::find(ops.begin(), ops.end(), loop_);
  if (c == OpClass::control)
    seen.operand.value = handed(user, value, 0, -1);
  else if (where == Where::after && behind && c != OpClass::load)
    seen.operand.value = kAfter + after(v.op, 0, -1);
  else
    seen.operand.value = before(v.op, 0, -1);
  return seen;
}

/// A real number that an op of the loop's body makes.
MeaningBuilder::Seen MeaningBuilder::number_of_loop(int user, int op, int distance) {
  Seen seen;
  seen.operand.distance = distance;
  const auto inside = absorbed_.into.find(op);
  if (inside != absorbed_.into.end() && absorbed_.behind.at(inside->second).back() == op) {
    seen.operand.value = kLoop + node(inside->second, 0);
    return seen;
  }
  const auto known = scalar_at_.find(op);
  if (known != scalar_at_.end()) {
    seen.operand.value = kScalar + known->second;
    return seen;
  }
  if (node(op, 0) != kNone) {
    if (copies_of(op) > 1) refuse(user, "it repeats a number of one sub-tile");
    seen.operand.value = kLoop + node(op, 0);
    return seen;
  }
  const OpClass c = class_of(m_.op(op));
  if (c == OpClass::control || m_.op(op).results.size() != 1)
    refuse(user, "it repeats a number that is known at run time alone");
  if (scalars_.size() >= kMostNumbers) refuse(op, "the loop computes with too many numbers");
  const int k = scalar_at_[op] = static_cast<int>(scalars_.size());
  scalars_.emplace_back();  // (one that is carried is used on the way to itself)
  const int result = m_.op(op).results[0];
  const std::string id = unique(std::string(m_.value(result).name));
  meaning::Value value;
  if (c == OpClass::load) {
    value.id = id;
    value.function = meaning::Function::load;
    value.type = type_name(op, result);
    const bool plain = masked_move(op, value, Where::loop, 0, -1);
    value.tensor = tensor(op, 0, 1, -1, value.type, value.shape, plain);
  } else {
    value = computed(op, id, Where::loop, 0, -1);
  }
  scalars_[at(k)] = std::move(value);
  seen.operand.value = kScalar + k;
  return seen;
}

/// Which reductions' nodes compute the numbers that the loop carries.
void MeaningBuilder::find_absorbed() {
  absorbed_ = absorbed_numbers(
      m_, body_, [this](int op) { return node(op, 0) != kNone; },
      [this](int op) { return copies_of(op) > 1; });
}

/// A reduction's node, with the ops behind it: steps of one op.
void MeaningBuilder::absorbing_node(std::size_t v) {
  const int reduction = k_.nodes[v].op;
  const std::string& id = k_.kernel.ops[v].id;
  const auto step = [&](int op, const std::string& name) {
    const int k = scalar_at_[op] = static_cast<int>(scalars_.size());
    scalars_.emplace_back();
    meaning::Value value = computed(op, unique(name), Where::loop, 0, -1);
    value.part_of = id;
    scalars_[at(k)] = std::move(value);
  };
  step(reduction, id + ".reduced");
  const std::vector<int>& behind = absorbed_.behind.at(reduction);
  for (const int op : behind) {
    if (op != behind.back())
      step(op, std::string(m_.value(m_.op(op).results[0]).name));
    else
      loop_values_[v] = computed(op, id, Where::loop, 0, -1);
  }
}

/// A number that is made of itself of the iteration before is kept by the node of its reduction, or
/// computed anew from what is loaded. `first`: of the values that no node makes.
void MeaningBuilder::refuse_unkept_numbers(const meaning::Meaning& meaning, int first) const {
  const int end = first + static_cast<int>(scalars_.size());
  const auto viewed = [&](int v) {
    return v >= first && v < end && meaning.values[at(v)].part_of.empty();
  };
  for (int v = first; v < end; ++v) {
    if (!viewed(v) || meaning.initial_of(v) == nullptr) continue;
    std::set<int> made_of;
    std::vector<int> open = {v};
    bool node = false;
    while (!open.empty()) {
      const int now = open.back();
      open.pop_back();
      for (const Operand& one : meaning.values[at(now)].operands) {
        if (one.value < 0 || !meaning.in_loop(one.value)) continue;
        node = node || !viewed(one.value);
        if (viewed(one.value) && made_of.insert(one.value).second) open.push_back(one.value);
      }
    }
    if (node && made_of.contains(v))
      refuse(loop_, meaning.values[at(v)].id +
                        " is carried and made of a reduction that is used otherwise, too");
  }
}

/// Reads something that may be left out: nothing is left of it where it is refused. false = so.
bool MeaningBuilder::tried(const std::function<void()>& read) {
  const std::size_t before = before_.size(), after = after_.size(), scalars = scalars_.size(),
                    tensors = out_.tensors.size(), numbers = numbers_.size();
  const auto initial = initial_;
  const std::string incomplete = kernel_.incomplete;
  try {
    read();
    return true;
  } catch (const NoMeaning& no) {
    not_read_ = no.why;
    std::erase_if(place_at_, [&](const auto& one) { return at(one.second) >= scalars; });
    std::erase_if(bits_at_, [&](const auto& one) { return at(one.second) >= scalars; });
    const auto forget = [](auto& known, std::size_t size) {
      std::erase_if(known, [&](const auto& one) { return at(one.second) >= size; });
    };
    before_.resize(before);
    after_.resize(after);
    scalars_.resize(scalars);
    out_.tensors.resize(tensors);
    kernel_.places.resize(tensors);
    tiles_.resize(tensors);
    out_.constants.resize(numbers);
    numbers_.resize(numbers);
    forget(before_at_, before);
    forget(handed_at_, before);
    forget(after_at_, after);
    forget(scalar_at_, scalars);
    forget(chosen_at_, scalars);
    initial_ = initial;
    kernel_.incomplete = incomplete;
    return false;
  }
}

}  // namespace twill::ttgir
