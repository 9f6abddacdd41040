// What an operand is: through views, loop variables and what hands values on (meaning_builder.hpp).
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/meaning_builder.hpp"
#include "graph/ttgir/module_run.hpp"

namespace twill::ttgir {

using meaning::Index;
using meaning::Operand;

namespace {

constexpr int kMostSourceSteps = 1'000'000;
constexpr std::size_t kFirstCarried = 3;  // of an scf.for's operands

/// A number as MLIR writes it: 1.5e+00, 2, or the bits of one of `bits` bits.
std::optional<double> number_in(std::string_view text, int bits) {
  if (text.starts_with("0x")) {
    std::uint64_t raw = 0;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), raw, 16);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    if (bits == 32) return std::bit_cast<float>(static_cast<std::uint32_t>(raw));
    if (bits == 64) return std::bit_cast<double>(raw);
    return std::nullopt;
  }
  const std::string copy(text);
  char* end = nullptr;
  const double x = std::strtod(copy.c_str(), &end);
  if (copy.empty() || end != copy.c_str() + copy.size() || !std::isfinite(x)) return std::nullopt;
  return x;
}

std::optional<double> half_in(std::string_view text, const std::string& type) {
  if (!text.starts_with("0x") || text.size() > 6) return std::nullopt;
  std::uint32_t raw = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), raw, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  const std::uint8_t bytes[2] = {static_cast<std::uint8_t>(raw & 255),
                                 static_cast<std::uint8_t>(raw >> 8)};
  return meaning::decode(*meaning::number_type(type), bytes);
}

}  // namespace

MeaningBuilder::Seen MeaningBuilder::number(int op, double x) const {
  if (std::isnan(x)) refuse(op, "it uses a number that is none");
  Seen seen;
  seen.operand.number = x;
  return seen;
}

MeaningBuilder::Seen MeaningBuilder::constant(int op, int value) const {
  const Operation& made = m_.op(m_.value(value).op);
  std::string_view text = made.literal;
  if (text.starts_with("dense<") && text.ends_with('>')) text = text.substr(6, text.size() - 7);
  const std::string& element = type(value).element;
  if (element == "i1" && (text == "true" || text == "false"))
    return number(op, text == "true" ? 1 : 0);
  std::optional<double> x;
  if (element == "f16" || element == "bf16") x = half_in(text, element);
  if (!x && !(text.starts_with("0x") && (element == "f16" || element == "bf16")))
    x = number_in(text, type(value).bits);
  if (!x || meaning::number_type(element) == nullptr)
    refuse(op, "its constant " + std::string(made.literal.substr(0, 40)) + " is not read");
  return number(op, meaning::rounded(*meaning::number_type(element), *x));
}

MeaningBuilder::Seen MeaningBuilder::source(int user, int value, Where where, int copy,
                                            int dimension, int distance) {
  if (++steps_ > kMostSourceSteps) refuse(loop_, "its values go through too many steps");
  if (distance > kMaxDistance) refuse(user, "it reads too many iterations back");
  const Value& v = m_.value(value);
  if (const auto first = through_.find(value); first != through_.end())
    return source(user, first->second, Where::before, copy, dimension);
  if (v.op == kNone) {
    if (v.block == body_ && v.index > 0) return carried(user, value, copy, dimension, distance);
    if (is_tile(value, TypeKind::scalar) &&
        (v.block == body_ || indices_.argument(value) >= 0 || carried_around(value) != kNone))
      return scalar(user, value, where, distance);
    if (carried_around(value) != kNone) {
      Seen seen;
      seen.operand.value = handed_around(user, value, copy, dimension);
      seen.vector = out_.tensors[at(before_[at(seen.operand.value)].tensor)].shape.size() == 1;
      if (seen.vector && type(value).shape.size() == 2)
        seen.axis = type(value).shape[0] == 1 ? 1 : 0;
      return seen;
    }
    refuse(user, "it uses %" + std::string(v.name) + ", which no op makes");
  }
  if (v.op == loop_) {
    if (where != Where::after) refuse(user, "it uses a result of the loop");
    return result_of_loop(user, value, copy);
  }
  return of_op(user, value, where, copy, dimension, distance);
}

MeaningBuilder::Seen MeaningBuilder::of_op(int user, int value, Where where, int copy,
                                           int dimension, int distance, bool kept) {
  const int index = m_.value(value).op;
  const Operation& op = m_.op(index);
  const OpClass c = class_of(op);
  if (op.name == "arith.constant") return constant(user, value);
  if (op.operands.empty() && (op.name == "tt.splat" || c == OpClass::view))
    refuse(index, "it shows nothing: an operand is missing");
  if (op.name == "tt.splat") return scalar(user, op.operands[0], where, distance);
  if (is_tile(value, TypeKind::scalar)) return scalar(user, value, where, distance);
  if (c == OpClass::transparent && op.results.size() == op.operands.size())
    return source(user, op.operands[at(m_.value(value).index)], where, copy, dimension, distance);
  const bool inside = in_loop(index);
  if (inside && order_.find(index) == order_.end()) {
    if (const auto made = branch_at_.find(value); made != branch_at_.end()) return made->second;
    if (c != OpClass::view || !in_branch_.contains(index))
      refuse(user, "it uses what a branch or an inner loop makes");
  }
  // An allocation of a tile that is made here is that tile, unless somebody writes into it.
  const bool allocates = c == OpClass::local_alloc || c == OpClass::tmem_alloc;
  if (is_tile(value, TypeKind::memdesc) && (allocates || c == OpClass::view) &&
      !(c == OpClass::view && op.name == "tt.trans")) {
    const int root = buffer(user, value);
    bool written = false;
    for (int other = 0; other < static_cast<int>(m_.ops.size()) && !written; ++other)
      if (other != m_.value(root).op) written = write_by(other, root).has_value();
    if (written || !allocates || m_.op(m_.value(root).op).operands.empty()) {
      if (allocates) return contents(user, root, where, copy, dimension, distance);
      return view(op, source(user, op.operands[0], where, copy,
                             dimension_before_view(index, dimension), distance));
    }
  }
  // A tile from before the loop is the same tile in a buffer.
  if (allocates && !inside) return source(user, op.operands[0], where, copy, dimension);
  if (inside && takes_bits(index)) return bits_for(user, index, where, copy, dimension, distance);
  if (c == OpClass::view && !takes_bits(index)) {
    if (keeps_matrix(op)) return source(user, op.operands[0], where, copy, dimension, distance);
    if (reshapes(op)) return reshaped(user, value, where, copy, distance);
    return view(op, source(user, op.operands[0], where, copy,
                           dimension_before_view(index, dimension), distance));
  }
  if (!kept && reduces_to_vector(value) && shape(index, value, -1).size() > 1)
    return reshaped(user, value, where, copy, distance);
  if (inside) {
    const int made = node(index, copy);
    if (made == kNone)
      refuse(user, "it uses %" + std::string(m_.value(value).name) +
                       ", which every slot computes for itself");
    if (k_.kernel.ops[at(made)].alias_of && !op.operands.empty()) {
      const Seen seen = source(user, op.operands[0], where, copy,
                               dimension_before_view(index, dimension), distance);
      return allocates ? in_its_buffer(seen) : seen;
    }
    const bool place = c == OpClass::reduction && place_alone(index);
    if (c == OpClass::reduction && op.results.size() > 1 && !place)
      return largest_or_place(user, value, distance);
    if (m_.value(value).index != 0 && !place) refuse(user, "it uses a second result");
    Seen seen;
    seen.operand.value = kLoop + made;
    seen.operand.distance = distance;
    seen.vector = shape(index, value, split_.of(value)).size() == 1;
    const std::vector<std::int64_t>& extents = type(value).shape;
    if (seen.vector && extents.size() == 2) seen.axis = extents[0] == 1 ? 1 : 0;
    return seen;
  }
  if (where == Where::after && c != OpClass::load) {
    const auto& ops = m_.block(m_.op(loop_).block).ops;
    const auto loop = std::find(ops.begin(), ops.end(), loop_);
    if (std::find(loop, ops.end(), index) != ops.end() || branch_behind(index) != kNone) {
      Seen seen;
      seen.operand.value = kAfter + after(index, copy, dimension);
      const std::vector<std::int64_t> extents = shape(index, value, dimension);
      seen.vector = extents.size() == 1;
      if (seen.vector && type(value).shape.size() == 2)
        seen.axis = type(value).shape[0] == 1 ? 1 : 0;
      return seen;
    }
  }
  Seen seen;
  seen.operand.value =
      c == OpClass::control ? handed(user, value, copy, dimension) : before(index, copy, dimension);
  const std::vector<std::int64_t> extents = shape(index, value, dimension);
  seen.vector = extents.size() == 1;
  if (seen.vector && type(value).shape.size() == 2) seen.axis = type(value).shape[0] == 1 ? 1 : 0;
  return seen;
}

/// Who names the buffer that a load fills sees the tile there, not in registers that other users
/// read it into.
MeaningBuilder::Seen MeaningBuilder::in_its_buffer(Seen seen) const {
  if (seen.operand.value < kLoop || seen.operand.value >= kAfter) return seen;
  const std::size_t v = at(seen.operand.value - kLoop);
  if (v >= k_.nodes.size() || k_.nodes[v].part != "read") return seen;
  seen.operand.value = kLoop + node_.at({k_.nodes[v].op, k_.nodes[v].copy, ""});
  return seen;
}

/// Of what a view shows, the dimension that its own is.
int MeaningBuilder::dimension_before_view(int index, int dimension) const {
  const Operation& op = m_.op(index);
  if (dimension < 0) return -1;
  if (op.name == "tt.expand_dims") {
    const int axis = axis_of(m_, op);
    return dimension == axis ? -1 : dimension > axis ? dimension - 1 : dimension;
  }
  if (op.name == "tt.trans" || op.name == "ttg.memdesc_trans") return 1 - dimension;
  if (op.name == "tt.broadcast" && type(op.operands[0]).shape[at(dimension)] == 1) return -1;
  return dimension;
}

MeaningBuilder::Seen MeaningBuilder::view(const Operation& op, Seen seen) const {
  const int index = static_cast<int>(&op - m_.ops.data());
  if (op.name == "tt.trans" || op.name == "ttg.memdesc_trans") {
    if (!is_transposition(m_.attribute(op, "order")))
      refuse(index, "it permutes in a way that is not read");
    if (seen.vector)
      seen.axis = 1 - seen.axis;
    else if (seen.operand.value >= 0)
      seen.operand.transposed = !seen.operand.transposed;
    return seen;
  }
  if (op.name == "tt.expand_dims") {
    if (seen.vector && type(op.operands[0]).shape.size() == 1)
      seen.axis = axis_of(m_, op) == 0 ? 1 : 0;
    return seen;
  }
  if (op.name == "ttg.memdesc_reshape" && keeps_matrix(op)) return seen;
  if (op.name == "tt.broadcast" || class_of(op) == OpClass::tmem_load ||
      class_of(op) == OpClass::local_load)
    return seen;
  if (op.name == "ttg.memdesc_index" && op.operands.size() > 1 &&
      constant_integer(m_, op.operands[1]) && type(op.operands[0]).shape.front() == 1)
    return seen;
  refuse(index, "the part or the form of a tile that it shows is not read");
}

/// A loop variable: what was yielded for it in the iteration before.
MeaningBuilder::Seen MeaningBuilder::carried(int user, int value, int copy, int dimension,
                                             int distance) {
  const std::size_t k = at(m_.value(value).index) - 1;
  const Operation &yield = m_.op(m_.block(body_).ops.back()), &loop = m_.op(loop_);
  if (yield.name != "scf.yield" || k >= yield.operands.size() ||
      k + kFirstCarried >= loop.operands.size())
    refuse(user, "it is not known what is carried");
  const int next = yield.operands[k], first = loop.operands[k + kFirstCarried];
  if (next == value) return source(user, first, Where::before, copy, dimension);
  Seen last = source(user, next, Where::loop, copy, split_.of(next), distance + 1);
  note_initial(user, last, source(user, first, Where::before, copy, split_.of(value)), user);
  return last;
}

MeaningBuilder::Seen MeaningBuilder::result_of_loop(int user, int value, int copy) {
  const std::size_t k = at(m_.value(value).index);
  const Operation &yield = m_.op(m_.block(body_).ops.back()), &loop = m_.op(loop_);
  if (yield.name != "scf.yield" || k >= yield.operands.size() ||
      k + kFirstCarried >= loop.operands.size())
    refuse(user, "it is not known what the loop results in");
  const int last_value = yield.operands[k];
  Seen last = source(user, last_value, Where::loop, copy, split_.of(last_value));
  if (last.operand.value >= kLoop && last.operand.distance > 0)
    refuse(user, "it uses what an iteration before the last one made");
  note_initial(
      user, last,
      source(user, loop.operands[k + kFirstCarried], Where::before, copy, split_.of(last_value)),
      user);
  return last;
}

/// All iterations before the first one are said to have made `first`.
void MeaningBuilder::note_initial(int user, const Seen& last, const Seen& first, int op) {
  if (last.operand.value < kLoop) {
    // The same in all iterations: so it must have been before them.
    if (!(last.operand == first.operand))
      refuse(user, "it uses a loop variable that changes once, after the first iteration");
    return;
  }
  if (last.operand.transposed || last.operand.is_part() || first.operand.transposed ||
      first.operand.is_part())
    refuse(user, "a transposed tile or a part of one is carried");
  Operand what = first.operand;
  what.distance = 0;
  const auto [found, fresh] = initial_.emplace(last.operand.value, First{what, op});
  if (!fresh && !(found->second.what == what))
    refuse(user, "what it reads is carried under several names, which begin with different values");
}

int MeaningBuilder::argument_constant(int op, const std::string& wish, const Index& index,
                                      double x) {
  for (std::size_t c = 0; c < numbers_.size(); ++c)
    if (numbers_[c] == index) return static_cast<int>(c);
  if (numbers_.size() >= 1'000) refuse(op, "too many numbers come from arguments");
  numbers_.push_back(index);
  out_.constants.emplace_back(unique(wish), x);
  return static_cast<int>(numbers_.size()) - 1;
}

/// What an index is in the first iteration: a number, or a constant of its own where it depends on
/// the launch.
Operand MeaningBuilder::first_place(int op, const Index& index) {
  const Index first = at_iteration(index, 0);
  const meaning::Sum sum = sum_of(first);
  Operand place;
  if (sum.terms.empty()) {
    place.number = static_cast<double>(sum.rest);
  } else {
    const int c = argument_constant(op, "first", first, 0);
    place.constant = out_.constants[at(c)].first;
    place.number = out_.constants[at(c)].second;
  }
  return place;
}

}  // namespace twill::ttgir
