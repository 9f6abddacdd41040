#include "graph/emit/gluon_values.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <set>

#include "graph/emit/element_text.hpp"
#include "graph/emit/register_tile.hpp"
#include "graph/emit/warp_product.hpp"
#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Operand;
using meaning::Value;
using program::Refusal;
using program::Storage;

constexpr int kMostSteps = 100;  // through views; a circle of them ends

}  // namespace

std::string tile_name(std::int64_t m, std::int64_t n, int warps, int depth) {
  return "TILE_" + std::to_string(m) + "x" + std::to_string(n) +
         (warps == 4 ? "" : "_" + std::to_string(warps) + "W") +
         (depth == 0 ? "" : "_K" + std::to_string(depth));
}

std::string shared_layout_name(const std::vector<std::int64_t>& shape, const std::string& type,
                               bool columns_first) {
  std::string upper = type;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return "SMEM_" + std::to_string(shape[0]) + "x" + std::to_string(shape[1]) + "_" + upper +
         (columns_first ? "_COLUMNS" : "");
}

namespace {

/// Of a tile that no product has, of fewer rows or of another form than theirs, and no tensor
/// memory holds: neighbours of a row first; "" = it has extents that are no powers of two.
std::string small_tile_layout(std::int64_t m, std::int64_t n, int warps) {
  constexpr std::int64_t kTogether = 4, kThreads = 32;
  const auto power = [](std::int64_t x) { return x > 0 && (x & (x - 1)) == 0; };
  if (!power(m) || !power(n) || !power(warps)) return "";
  const std::int64_t across = std::clamp<std::int64_t>(n / kTogether, 1, kThreads);
  const std::int64_t each = std::min(kTogether, n / across), down = kThreads / across;
  const std::int64_t rows = std::clamp<std::int64_t>(m / down, 1, warps);
  const auto pair = [](std::int64_t a, std::int64_t b) {
    return "[" + std::to_string(a) + ", " + std::to_string(b) + "]";
  };
  return "gl.BlockedLayout(" + pair(1, each) + ", " + pair(down, across) + ", " +
         pair(rows, warps / rows) + ", [1, 0])";
}

}  // namespace

std::string tile_layout(Target target, std::int64_t m, std::int64_t n, int warps, int product_depth,
                        bool warp_products) {
  const auto text = [](std::int64_t x) { return std::to_string(x); };
  const std::optional<RegisterTile> tile = register_tile(target, m, n, warps);
  if (!tile && warp_products && m % kRowsOfWarpProduct == 0 && n % kColumnsOfWarpProduct == 0) {
    const std::int64_t down = std::min<std::int64_t>(warps, m / kRowsOfWarpProduct);
    return "gl.NVMMADistributedLayout(version=[2, 0], warps_per_cta=[" + text(down) + ", " +
           text(warps / down) + "], instr_shape=[16, 8])";
  }
  if (!tile) return small_tile_layout(m, n, warps);
  const std::int64_t across = tile->across;
  if (tile->form == RegisterTile::accumulators)
    return "gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[" + text(warps / across) +
           ", " + text(across) + "], instr_shape=[16, " + text(product_columns(*tile)) + ", " +
           text(product_depth == 0 ? 16 : product_depth) + "])";
  if (tile->form == RegisterTile::row)
    return "gl.BlockedLayout([1, " + text(n / across) + "], [32, 1], [4, " + text(across) +
           "], [0, 1])";
  const std::int64_t half = n / across / 2;
  std::string registers;
  for (std::int64_t column = 1; column < half; column *= 2)
    registers += (registers.empty() ? "[0, " : ", [0, ") + text(column) + "]";
  return "gl.DistributedLinearLayout(reg_bases=[" + registers +
         "], lane_bases=[[1, 0], [2, 0], [4, 0], [8, 0], [0, " + text(half) +
         "]], warp_bases=[[16, 0], [32, 0]" + (across == 2 ? ", [0, " + text(n / 2) + "]" : "") +
         "], block_bases=[], shape=[64, " + text(n) + "])";
}

std::string lone_vector_layout(std::int64_t length, int warps) {
  constexpr std::int64_t kTogether = 4;  // neighbours of a thread
  std::int64_t each = 1;
  while (each < kTogether && each * 2 * 32 * warps <= length) each *= 2;
  return "gl.BlockedLayout([" + std::to_string(each) + "], [32], [" + std::to_string(warps) +
         "], [0])";
}

std::string gluon_type(const std::string& type) {
  if (type == "f32") return "gl.float32";
  if (type == "f16") return "gl.float16";
  if (type == "bf16") return "gl.bfloat16";
  if (type == "f8") return "gl.float8e4nv";
  if (type == "f8e5m2") return "gl.float8e5";
  if (type == "i32") return "gl.int32";
  if (type == "i8") return "gl.int8";
  return "";
}

Source ValuePrinter::resolve(int op, const Operand& operand) const {
  const Source source = resolve(op, operand, 0, 0);
  if (source.kind != Source::registers || plan_.legal.target != Target::hopper ||
      plan_.legal.by_warps[at(op)])
    return source;
  const Value& user = plan_.meaning->values[at(plan_.links.result[at(op)])];
  if (user.function != Function::product || operand != user.operands[1] ||
      operand == user.operands[0])
    return source;
  return where_copied_from(op, source).value_or(source);
}

std::optional<Source> ValuePrinter::where_copied_from(int op, const Source& source) const {
  const meaning::Meaning& m = *plan_.meaning;
  const program::Program& p = *plan_.given;
  const std::vector<int>& chain = plan_.links.values[at(source.op)];
  const Value& copy = m.values[at(plan_.links.result[at(source.op)])];
  if (chain.size() != 1 || copy.function != Function::copy) return std::nullopt;
  const Operand& of = copy.operands[0];
  const int from = of.value >= 0 && m.in_loop(of.value) ? plan_.op_of(of.value) : -1;
  // (Of an iteration before it may be an initial value, which lies in registers alone.)
  if (from < 0 || from == source.op || source.distance + of.distance > 0 || of.transposed ||
      of.is_part())
    return std::nullopt;
  const Value& tile = m.values[at(of.value)];
  // (What is put in where nothing was loaded is in the registers alone.)
  if (tile.type != copy.type || tile.shape != copy.shape ||
      (tile.function == Function::load && plan_.by_elements(tile.tensor) &&
       element_copy(plan_, tile).fills))
    return std::nullopt;
  Source memory = source;
  memory.op = from;
  memory.kind = Source::memory;
  for (const int s : program::storages_read(p, op, from, memory.distance)) {
    if (p.storages[at(s)].kind != Storage::in_memory) continue;
    memory.storage = s;
    return memory;
  }
  return std::nullopt;
}

Source ValuePrinter::resolve(int op, const Operand& operand, int distance, int steps) const {
  const meaning::Meaning& m = *plan_.meaning;
  const program::Program& p = *plan_.given;
  const auto refuse = [&](const std::string& text) {
    throw Refusal{"operand", "an operand of " + p.ops[at(op)].id + " " + text};
  };
  Source source;
  source.distance = distance + operand.distance;
  source.transposed = operand.transposed;
  source.first_column = operand.first_column;
  source.columns = operand.columns;
  if (operand.value < 0) return source;
  if (!m.in_loop(operand.value)) {
    source.kind = Source::before;
    source.value = operand.value;
    return source;
  }
  const int from = plan_.op_of(operand.value);
  if (from == op && source.distance == 0) {
    source.kind = Source::chain;
    if (operand.transposed || operand.columns > 0) refuse("is a part of its own chain");
    return source;
  }
  if (from < 0) {
    const Value& view = m.values[at(operand.value)];
    if (view.shape.empty()) {
      // (Of an earlier iteration it may be its initial value.)
      if (source.distance > 0) refuse("is a number of an iteration before, which no op keeps");
      source.kind = Source::computed;
      source.value = operand.value;
      return source;
    }
    if (view.function != Function::copy && view.function != Function::transpose)
      refuse("is a view that computes");
    if (steps > kMostSteps || view.operands[0].value < 0) refuse("is a view of nothing");
    if (m.initial_of(operand.value) != nullptr) refuse("is a view with an initial value");
    if (view.type != m.values[at(view.operands[0].value)].type) refuse("is a view of another type");
    Source inner = resolve(op, view.operands[0], source.distance, steps + 1);
    const bool turned = view.function == Function::transpose;
    if (inner.kind == Source::chain) refuse("is a view of its own chain");
    if (source.columns > 0) {
      if (inner.columns > 0 || inner.transposed != turned) refuse("is a part of a turned part");
      if (inner.transposed != turned || turned || inner.transposed)
        refuse("is a part of a transposed tile");
      inner.first_column = source.first_column;
      inner.columns = source.columns;
    }
    inner.transposed = (inner.transposed != turned) != operand.transposed;
    return inner;
  }
  source.op = from;
  const std::vector<int> storages = program::storages_read(p, op, from, source.distance);
  // tcgen05.mma takes nothing from registers.
  const Value& user = m.values[at(plan_.links.result[at(op)])];
  const bool from_memory = plan_.legal.target == Target::blackwell &&
                           user.function == Function::product && !plan_.legal.by_warps[at(op)];
  for (const int s : storages)
    if (!from_memory && plan_.in_registers(s) && p.ops[at(from)].slot == slot_) {
      source.kind = Source::registers;
      source.storage = s;
      return source;
    }
  for (const int s : storages)
    if (p.storages[at(s)].kind == Storage::in_memory) {
      source.kind = Source::memory;
      source.storage = s;
      return source;
    }
  // A product on Blackwell whose slot has a copy in registers takes it from where that came from.
  if (from_memory && steps == 0)
    if (auto memory = where_copied_from(op, source)) return *memory;
  if (m.values[at(operand.value)].shape.empty()) refuse("is a number that another slot has");
  refuse("is in no register of the slot and in no memory");
  return source;
}

bool ValuePrinter::reaches_before(const Operand& operand) const {
  const meaning::Meaning& m = *plan_.meaning;
  const Operand* one = &operand;
  for (int steps = 0; steps < kMostSteps && one->value >= 0; ++steps) {
    if (one->value < m.loop_begin) return true;
    if (!m.in_loop(one->value) || plan_.op_of(one->value) >= 0) return false;
    if (m.values[at(one->value)].operands.empty()) return false;
    one = &m.values[at(one->value)].operands[0];
  }
  return false;
}

int ValuePrinter::depth_of(const meaning::Meaning& meaning, const Value& product) {
  const Value whole = with_whole_factors(meaning, product);
  const Operand& left = whole.operands[0];
  const meaning::NumberType* type =
      left.value < 0 ? nullptr : meaning::number_type(meaning.values[at(left.value)].type);
  constexpr int kBytes = 32;  // PTX ISA, wgmma.mma_async
  return type == nullptr ? kBytes / 2 : static_cast<int>(kBytes / type->bytes);
}

bool ValuePrinter::has_mixed_products(const Plan& plan) {
  const meaning::Meaning& m = *plan.meaning;
  if (plan.legal.target != Target::hopper) return false;
  std::set<int> depths;
  for (int v = 0; v < static_cast<int>(m.values.size()); ++v) {
    if (m.values[at(v)].function != Function::product) continue;
    const int op = m.in_loop(v) ? plan.op_of(v) : -1;
    if (op < 0 || !plan.legal.by_warps[at(op)]) depths.insert(depth_of(m, m.values[at(v)]));
  }
  return depths.size() > 1;
}

Layout ValuePrinter::layout_of(int value) const {
  return layout_of(value, 0);
}

Layout ValuePrinter::layout_of(int value, int steps) const {
  const meaning::Meaning& m = *plan_.meaning;
  const Value& one = m.values[at(value)];
  if (one.shape.empty()) return {};
  if (one.shape.size() == 2) {
    if (const Layout factor = as_right_factor(value); factor.kind != Layout::none) return factor;
    Layout tile{Layout::matrix, one.shape[0], one.shape[1]};
    if (mixed_ && one.function == Function::product && depth_of(m, one) != kUsualDepth)
      tile.depth = depth_of(m, one);
    return tile;
  }
  // A vector: of the rows or columns of the tile that it was made of, else of those of the one that
  // it is used with, else of the first one with as many rows.
  if (steps < kMostSteps)
    for (const Operand& operand : one.operands) {
      if (operand.value < 0 || operand.distance > 0 || operand.row >= 0) continue;
      const Layout from = layout_of(operand.value, steps + 1);
      if (from.kind == Layout::of_columns && from.columns == one.shape[0]) return from;
      if (from.kind == Layout::alone && from.rows == one.shape[0]) return from;
      if (from.kind == Layout::matrix && operand.transposed) {
        if (from.columns == one.shape[0]) return {Layout::of_columns, from.rows, from.columns};
        continue;
      }
      if ((from.kind == Layout::matrix || from.kind == Layout::of_rows) &&
          from.rows == one.shape[0])
        return {Layout::of_rows, from.rows, from.columns};
    }
  if (const Layout used = used_with(value); used.kind != Layout::none) return used;
  for (const Value& other : m.values)
    if (other.shape.size() == 2 && other.shape[0] == one.shape[0] && other.type == "f32")
      return {Layout::of_rows, other.shape[0], other.shape[1]};
  return {Layout::alone, one.shape[0], 1};
}

Layout ValuePrinter::used_with(int value) const {
  const meaning::Meaning& m = *plan_.meaning;
  // Vectors that are made of it, each once, the last found first.
  std::vector<int> open = {value};
  std::set<int> seen = {value};
  while (!open.empty()) {
    const int one = open.back();
    open.pop_back();
    const std::int64_t length = m.values[at(one)].shape[0];
    std::vector<int> vectors;
    for (int u = m.loop_begin; u < static_cast<int>(m.values.size()); ++u) {
      const Value& user = m.values[at(u)];
      for (const Operand& operand : user.operands) {
        if (operand.value != one || user.tensor >= 0) continue;
        if (user.shape.size() == 2 && operand.along_columns && user.shape[1] == length)
          return {Layout::of_columns, user.shape[0], user.shape[1]};
        if (user.shape.size() == 2 && !operand.along_columns && user.shape[0] == length)
          return {Layout::of_rows, user.shape[0], user.shape[1]};
        if (user.shape.size() == 1 && u > one && seen.insert(u).second) vectors.push_back(u);
      }
    }
    open.insert(open.end(), vectors.rbegin(), vectors.rend());
  }
  return {};
}

std::string ValuePrinter::text_of(const Layout& layout) const {
  const int warps = plan_.warps(slot_);
  if (layout.kind == Layout::alone) return lone_vector_layout(layout.rows, warps);
  // (A result in tensor memory, and what is made of it, has as many rows as a product has.)
  constexpr std::int64_t kRowsOfProducts = 64;
  const auto& values = plan_.meaning->values;
  const bool of_product = layout.rows >= kRowsOfProducts &&
                          !register_tile(plan_.legal.target, layout.rows, layout.columns, warps) &&
                          std::any_of(values.begin(), values.end(), [&](const Value& one) {
                            return one.function == Function::product && one.shape[0] == layout.rows;
                          });
  if (of_product || tile_layout(plan_.legal.target, layout.rows, layout.columns, warps).empty())
    throw Refusal{"op", "no register layout is known for a tile of " + std::to_string(layout.rows) +
                            " x " + std::to_string(layout.columns) + " on " +
                            std::to_string(warps) + " warps"};
  needs_.tiles.insert({layout.rows, layout.columns, warps, layout.depth});
  std::string name = tile_name(layout.rows, layout.columns, warps, layout.depth);
  if (layout.kind == Layout::right) return "gl.DotOperandLayout(1, " + name + ", 2)";
  if (layout.kind == Layout::of_rows) return "gl.SliceLayout(1, " + name + ")";
  if (layout.kind == Layout::of_columns) return "gl.SliceLayout(0, " + name + ")";
  return name;
}

Expression ValuePrinter::number(const Operand& operand) const {
  const auto& constants = plan_.meaning->constants;
  for (std::size_t k = 0; k < constants.size(); ++k)
    if (!operand.constant.empty() && constants[k].first == operand.constant)
      return {plan_.constant[k], {}, ""};
  return {number_text(operand.number), {}, ""};
}

std::string ValuePrinter::converted(const Expression& from, const Layout& to) const {
  if (from.layout == to || from.layout.kind == Layout::none) return from.text;
  if (to.kind == Layout::right && to.turned)
    return "gl.convert_layout(gl.permute(" + from.text + ", (1, 0)), " + text_of(to) + ")";
  return "gl.convert_layout(" + from.text + ", " + text_of(to) + ")";
}

std::string ValuePrinter::placed(const Value& value, std::size_t k, const Expression& one,
                                 const Layout& layout) const {
  if (one.layout.kind == Layout::none) return one.text;
  // (What is converted to be a factor of warps' products: as_right_factor().)
  if (one.layout.kind == Layout::matrix && layout.kind == Layout::right)
    return converted(one, layout);
  if (one.layout.kind == Layout::matrix && layout.kind != Layout::matrix)
    throw Refusal{"operand", value.id + " has a matrix as operand and is none"};
  if (one.layout.kind == Layout::matrix || layout.kind != Layout::matrix)
    return converted(one, layout);
  const bool along = !value.operands.empty() && value.operands[k].along_columns;
  const Layout part{along ? Layout::of_columns : Layout::of_rows, layout.rows, layout.columns};
  return converted(one, part) + (along ? "[None, :]" : "[:, None]");
}

Expression ValuePrinter::compared(const Value& value, const std::vector<Expression>& in,
                                  const Layout& layout) const {
  const auto refuse = [&](const std::string& what) {
    throw Refusal{"op", value.id + " compares " + what + ": no text is written for it"};
  };
  if (value.type != "i32") refuse("into another type than i32");
  // (An integer of the launch may be a constant of Python's.)
  const auto of_launch = [&](std::size_t k) {
    return in[k].type.empty() && !value.operands[k].constant.empty() && plan_.user != nullptr;
  };
  const bool numbers = in[0].type.empty() && in[1].type.empty();
  if (numbers && !of_launch(0) && !of_launch(1)) refuse("two numbers");
  const auto is_integer = [](const Expression& one) {
    return one.type == "i32" || one.type == "i8";
  };
  const bool integers = is_integer(in[0]) || is_integer(in[1]);
  std::array<std::string, 2> text;
  for (std::size_t k = 0; k < 2; ++k) {
    if (integers && !in[k].type.empty() && !is_integer(in[k]))
      refuse("numbers of types " + in[0].type + " and " + in[1].type);
    text[k] = placed(value, k, in[k], layout);
    if (in[k].type == "i8") text[k] += ".to(gl.int32)";
    if (!integers && !in[k].type.empty() && in[k].type != "f32") text[k] += ".to(gl.float32)";
    if ((!integers && !numbers) || !in[k].type.empty()) continue;
    if (of_launch(k)) {
      if (k == 0 || numbers) text[k] = "gl.to_tensor(" + text[k] + ")";
      continue;
    }
    // (A constant of the user's is of the type that it has there.)
    const auto number = whole_text(value.operands[k]);
    if (!number && integers) refuse("an integer with no whole number");
    if (number) text[k] = *number;
  }
  const char* sign = value.function == Function::greater    ? " > "
                     : value.function == Function::at_least ? " >= "
                     : value.function == Function::equal    ? " == "
                                                            : " != ";
  return {"(" + text[0] + sign + text[1] + ").to(gl.int32)", layout, value.type};
}

Expression ValuePrinter::evaluate(int v, const std::vector<Expression>& in, const Layout& layout,
                                  const std::string& iteration) const {
  const Value& value = plan_.meaning->values[at(v)];
  const std::string type = gluon_type(value.type);
  // (Arithmetic is in f32, which has not all integers: there are places, masks of 0 and 1, and
  // copies.)
  const bool exact = value.function == Function::places || meaning::is_comparison(value.function) ||
                     meaning::is_of_integers(value.function) ||
                     (value.function == Function::copy && in[0].type == value.type) ||
                     (value.function == Function::store && in[0].type == value.type) ||
                     meaning::gives_place(value.function) || value.function == Function::bits ||
                     ((meaning::reduces_rows(value.function) || meaning::runs(value.function)) &&
                      (in[0].type == "i32" || in[0].type == "i8")) ||
                     (value.function == Function::within &&
                      std::all_of(value.operands.begin(), value.operands.end(),
                                  [](const Operand& one) { return one.value < 0; }));
  // (What is always so is no choice.)
  if (value.function == Function::select && value.operands[0].value < 0 &&
      value.operands[0].constant.empty()) {
    const Expression& chosen = in[value.operands[0].number > 0 ? 1 : 2];
    if (chosen.type == value.type && chosen.layout.kind == layout.kind)
      return {converted(chosen, layout), layout, value.type};
  }
  if (value.function == Function::rearranged) return rearranged(value, in, layout);
  if (is_whole(value, in)) return whole(value, in, layout);
  if (type.empty() || ((value.type == "i32" || value.type == "i8") && !exact))
    throw Refusal{"type", value.id + " is of type " + value.type};
  // An operand as the function takes it: in f32, in the layout of the result.
  const auto x = [&](std::size_t k) {
    const bool real = in[k].type.empty() || in[k].type == "f32";
    return placed(value, k, in[k], layout) + (real ? "" : ".to(gl.float32)");
  };
  const auto result = [&](const std::string& text, bool atom = false) {
    if (value.type == "f32") return Expression{text, layout, value.type};
    return Expression{(atom ? text : "(" + text + ")") + ".to(" + type + ")", layout, value.type};
  };
  const auto as_asked = [&](const Expression& made) {
    return made.type == value.type ? made : result(made.text, true);
  };
  switch (value.function) {
    case Function::copy:
    case Function::store: {
      if (in[0].layout.kind == Layout::none && layout.kind != Layout::none) {
        if (in[0].type.empty() || in[0].type != value.type)
          throw Refusal{"op", value.id + " repeats a number"};
        return {repeated(in[0].text, value, layout), layout, value.type};
      }
      if (in[0].type == value.type) return {converted(in[0], layout), layout, value.type};
      // (What is written as a number has no type that could be changed.)
      return result(in[0].type.empty() ? "gl.to_tensor(" + x(0) + ")" : x(0), true);
    }
    case Function::add: return result(x(0) + " + " + x(1));
    case Function::sub: return result(x(0) + " - " + x(1));
    case Function::mul: return result(x(0) + " * " + x(1));
    case Function::div: return result(x(0) + " / " + x(1));
    case Function::mul_add: return result("gl.fma(" + x(0) + ", " + x(1) + ", " + x(2) + ")", true);
    case Function::mul_sub:
      return result("gl.fma(" + x(0) + ", " + x(1) + ", -(" + x(2) + "))", true);
    case Function::max: return result("gl.maximum(" + x(0) + ", " + x(1) + ")", true);
    case Function::exp2:
      return result("gl.exp2(" + x(0) + (in.size() == 2 ? " * " + x(1) : "") + ")", true);
    case Function::log2: return result("gl.log2(" + x(0) + ")", true);
    case Function::reciprocal: return result("1.0 / " + x(0));
    case Function::min: return result("gl.minimum(" + x(0) + ", " + x(1) + ")", true);
    case Function::abs:
    case Function::sqrt:
    case Function::rsqrt:
    case Function::log:
    case Function::sin:
    case Function::cos:
    case Function::erf:
    case Function::floor:
    case Function::ceil:
      return result("gl." + std::string(meaning::name_of(value.function)) + "(" + x(0) + ")", true);
    case Function::toward_zero:
      return result("gl.where(" + x(0) + " < 0.0, gl.ceil(" + x(0) + "), gl.floor(" + x(0) + "))",
                    true);
    case Function::select: {
      const std::string which = in[0].type == "i32" ? placed(value, 0, in[0], layout) : x(0);
      return result("gl.where(" + which + " > 0, " + x(1) + ", " + x(2) + ")", true);
    }
    case Function::greater:
    case Function::at_least:
    case Function::equal:
    case Function::not_equal: return compared(value, in, layout);
    case Function::row_max:
    case Function::row_min:
    case Function::row_product:
    case Function::row_sum: return as_asked(reduced(value, in[0], layout));
    case Function::place_of_max:
    case Function::place_of_min: return row_place(value, in[0], layout);
    case Function::histogram: {
      if (in[0].type != "i32" && in[0].type != "i8")
        throw Refusal{"type", value.id + " counts elements of type " + in[0].type};
      const std::string whole = in[0].text + (in[0].type == "i8" ? ".to(gl.int32)" : "");
      return {"gl.histogram(" + whole + ", " + std::to_string(value.shape[0]) +
                  ", layout=" + text_of(layout) + ")",
              layout, value.type};
    }
    case Function::running_max:
    case Function::running_min:
    case Function::running_product:
    case Function::running_sum: return as_asked(running(value, in[0], layout));
    case Function::bits:
      if (in[0].type != (value.type == "f32" ? "i32" : "f32"))
        throw Refusal{"type", value.id + " takes the bits of " + in[0].type};
      return {placed(value, 0, in[0], layout) + ".to(" + type + ", bitcast=True)", layout,
              value.type};
    case Function::lower:
    case Function::causal: {
      const Layout r{Layout::of_rows, layout.rows, layout.columns};
      const Layout c{Layout::of_columns, layout.rows, layout.columns};
      std::string row =
          "gl.arange(0, " + std::to_string(value.shape[0]) + ", layout=" + text_of(r) + ")";
      // The triangle is the same in every iteration.
      if (value.function == Function::lower && !iteration.empty()) {
        needs_.anew = true;
        row = "anew(" + row + ")";
      }
      row += "[:, None]";
      const std::string column = "gl.arange(0, " + std::to_string(value.shape[1]) +
                                 ", layout=" + text_of(c) + ")[None, :]";
      if (value.function == Function::lower)
        return result("gl.where(" + compared_columns(column, false, row, own_bits(value, layout)) +
                          ", " + x(0) + ", 0.0)",
                      true);
      const double first = value.operands[1].number, group = value.operands[2].number;
      std::string first_text = std::to_string(static_cast<int>(first));
      if (plan_.user != nullptr && !value.operands[1].constant.empty())
        first_text = number(value.operands[1]).text;
      if (iteration.empty() || value.operands[1].value >= 0 || value.operands[2].value >= 0 ||
          first != static_cast<double>(static_cast<int>(first)) || group < 1 ||
          group != static_cast<double>(static_cast<int>(group)))
        throw Refusal{"op", value.id + " is a causal mask of numbers that are not whole"};
      const std::string before = "(" + iteration + ") * " + std::to_string(value.shape[1]);
      const std::string limit =
          first_text + " + " + row +
          (group == 1 ? "" : " // " + std::to_string(static_cast<int>(group)));
      const std::int64_t own = own_bits(value, layout);
      const std::string seen = own == 0
                                   ? before + " + " + column + " <= " + limit
                                   : compared_columns(column, false, limit + " - " + before, own);
      return result("gl.where(" + seen + ", " + x(0) + ", float(\"-inf\"))", true);
    }
    case Function::within:
      // (One number everywhere.)
      if (value.operands[0] == value.operands[1] && value.operands[0].value < 0) {
        const bool integer = value.type == "i32" || value.type == "i8";
        const auto number = integer ? whole_text(value.operands[0]) : std::nullopt;
        if (integer && !number)
          throw Refusal{"op", value.id + " is one number everywhere, and no whole one"};
        return {repeated(number.value_or(number_text(value.operands[0].number)), value, layout),
                layout, value.type};
      }
      return result("gl.where(" + kept(value, layout, iteration) + ", " + x(0) + ", " + x(1) + ")",
                    true);
    case Function::places: return places(value, layout, iteration);
    case Function::int_add:
    case Function::int_sub:
    case Function::int_mul:
    case Function::int_div:
    case Function::int_rem:
    case Function::mul_high:
    case Function::bit_and:
    case Function::bit_or:
    case Function::bit_xor:
    case Function::shift_left:
    case Function::shift_right:
    case Function::shift_right_logical: return of_integers(value, in, layout);
    default:
      throw Refusal{"op",
                    value.id + " is a " + std::string(name_of(value.function)) + " in registers"};
  }
}

}  // namespace twill::emit
