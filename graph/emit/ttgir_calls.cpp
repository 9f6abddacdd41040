// Expressions of an emitted kernel (ttgir_build.hpp): functions, values and layouts. What acts on
// memory is in ttgir_actions.cpp.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "graph/emit/ttgir_build.hpp"
#include "graph/program/loop_view.hpp"

namespace twill::emit::ws {

namespace {

// Functions that call each other would never end.
constexpr int kDeepestCall = 8;

/// Functions of one number, and the ops that Triton makes of them.
constexpr std::string_view kOfOneNumber[][2] = {
    {"gl.exp2", "math.exp2"},   {"gl.log2", "math.log2"},   {"gl.log", "math.log"},
    {"gl.sqrt", "math.sqrt"},   {"gl.rsqrt", "math.rsqrt"}, {"gl.abs", "math.absf"},
    {"gl.sin", "math.sin"},     {"gl.cos", "math.cos"},     {"gl.erf", "math.erf"},
    {"gl.floor", "math.floor"}, {"gl.ceil", "math.ceil"}};

std::string list_text(const std::vector<std::int64_t>& all) {
  return "[" + shape_text(all, ", ") + "]";
}

Thing thing_of(LayoutRef layout) {
  Thing made;
  made.kind = Thing::layout;
  made.of = std::move(layout);
  return made;
}

int bits_of(const std::string& element) {
  if (element == "f32" || element == "i32") return 32;
  if (element == "f8E4M3FN" || element == "f8E5M2" || element == "i8") return 8;
  if (element == "f16" || element == "bf16") return 16;
  no_text("elements of type " + element);
}

/// Does what an op does leave global memory as it is? (Triton's own passes tell them apart, too.)
bool on_chip(const std::string& text) {
  static constexpr std::string_view kOnChip[] = {
      "ttg.local_alloc",     "ttg.local_store",         "ttg.async_copy_global_to_local",
      "ttng.arrive_barrier", "ttng.wait_barrier",       "ttng.async_copy_mbarrier_arrive",
      "ttng.barrier_expect", "ttng.fence_async_shared", "ttng.async_tma_copy_global_to_local"};
  return std::any_of(std::begin(kOnChip), std::end(kOnChip),
                     [&](std::string_view one) { return text.starts_with(one); });
}

}  // namespace

LayoutRef layout_of(Layout::Kind kind, std::string text) {
  auto made = std::make_shared<Layout>();
  made->kind = kind;
  made->text = std::move(text);
  return made;
}

std::string nvmma_text(int swizzle, bool transposed, int bits) {
  return "#ttg.nvmma_shared<{swizzlingByteWidth = " + std::to_string(swizzle) +
         ", transposed = " + (transposed ? "true" : "false") +
         ", elementBitWidth = " + std::to_string(bits) + "}>";
}

std::string nvmma_name(int swizzle, bool transposed, int bits) {
  return std::string("swizzled_") + std::to_string(swizzle) + "_" + std::to_string(bits) + "bit" +
         (transposed ? "_turned" : "");
}

void no_text(const std::string& what) {
  throw program::Refusal{"ttgir", what + ": no TTGIR is written for it yet"};
}

std::string path_of(const Expr& expression) {
  if (expression.kind == Expr::name) return expression.text;
  if (expression.kind != Expr::member) return "";
  const std::string base = path_of(expression.parts[0]);
  return base.empty() ? "" : base + "." + expression.text;
}

const Thing* Variables::find(const std::string& name) const {
  for (const auto& [one, thing] : all_)
    if (one == name) return &thing;
  return nullptr;
}

void Variables::set(const std::string& name, Thing thing) {
  for (auto& [one, old] : all_)
    if (one == name) {
      old = std::move(thing);
      return;
    }
  all_.emplace_back(name, std::move(thing));
}

// ---- ops

Op& Builder::append(Op::Kind kind, Op::Effect effect, bool stores) {
  here->ops.push_back(std::make_unique<Op>());
  Op& op = *here->ops.back();
  op.kind = kind;
  if (kind == Op::plain) op.effect = effect;
  if (kind != Op::remark && effect == Op::acts) {
    here->read.clear();
    if (stores) stored();
  }
  if (kind != Op::remark) op.comment = std::exchange(comment_, "");
  return op;
}

void Builder::stored() const {
  here->loaded.clear();
  here->stores = true;
}

void Builder::leave(const Op& op) const {
  if (std::any_of(op.blocks.begin(), op.blocks.end(),
                  [](const auto& inner) { return inner->stores; }))
    stored();
}

int Builder::pure(const std::string& text, const std::vector<int>& operands, const Type& type,
                  Op::Effect effect) {
  std::string key = text;
  for (const int operand : operands) key += " " + std::to_string(operand);
  const std::size_t met = met_.size();
  const bool shared = effect == Op::none && useful_ != nullptr && (*useful_)[met];
  if (effect == Op::none) met_.push_back(-1);
  // (Gluon's passes make one read of two, too.)
  std::map<std::string, int>& before = text.starts_with("tt.load") ? here->loaded : here->read;
  if (effect == Op::reads)
    if (const auto found = before.find(key); found != before.end()) return found->second;
  if (shared)
    for (const Block* one = here;; one = one->parent) {
      if (const auto found = one->known.find(key); found != one->known.end()) return found->second;
      if (one->isolated) break;
    }
  const int made = m_.value(type);
  Op& op = append(Op::plain, effect);
  op.text = text;
  op.operands = operands;
  op.results = {made};
  if (effect == Op::none) met_[met] = made;
  if (effect == Op::reads) before[key] = made;
  if (shared) here->known[key] = made;
  return made;
}

void Builder::act(const std::string& text, const std::vector<int>& operands) {
  Op& op = append(Op::plain, Op::acts, !on_chip(text));
  op.text = text;
  op.operands = operands;
}

void Builder::hint(const Thing& thing, const std::string& name) {
  if (thing.kind == Thing::value && m_[thing.id].hint.empty() && !m_[thing.id].constant)
    m_[thing.id].hint = name;
}

// ---- arguments of calls

const Expr* Builder::argument(const Expr& call, std::size_t position, const char* keyword) const {
  std::size_t seen = 0;
  for (std::size_t k = 1; k < call.parts.size(); ++k) {
    if (call.keywords[k].empty() ? seen++ == position : call.keywords[k] == keyword)
      return &call.parts[k];
  }
  return nullptr;
}

Thing Builder::needed(const Expr& call, std::size_t position, const char* keyword) {
  const Expr* found = argument(call, position, keyword);
  if (found == nullptr) no_text("a call of " + path_of(call.parts[0]) + " with too few arguments");
  const auto ready = ready_.find(found);
  return ready != ready_.end() ? ready->second : evaluate(*found);
}

std::int64_t Builder::whole_argument(const Expr& call, std::size_t position, const char* keyword) {
  const Thing one = needed(call, position, keyword);
  if (one.kind != Thing::whole)
    no_text("a call of " + path_of(call.parts[0]) + " whose number is computed");
  return one.number;
}

std::vector<std::int64_t> Builder::wholes(const Thing& list) const {
  if (list.kind != Thing::several) no_text("no list where a shape is needed");
  std::vector<std::int64_t> all;
  for (const Thing& one : list.parts) {
    if (one.kind != Thing::whole) no_text("a shape that is computed");
    all.push_back(one.number);
  }
  return all;
}

// ---- expressions

void Builder::define(const Stmt& definition) {
  const Expr& value = definition.value;
  if (value.kind != Expr::call || path_of(value.parts[0]) != "gl.constexpr" ||
      value.parts.size() != 2)
    no_text("the definition of " + definition.targets[0]);
  Thing made = evaluate(value.parts[1]);
  if (made.kind == Thing::layout && made.of->text.starts_with("#ttg.")) {
    Layout named = *made.of;
    std::string wish = definition.targets[0];
    std::transform(wish.begin(), wish.end(), wish.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    named.text = m_.alias(named.text, wish);
    made.of = std::make_shared<const Layout>(std::move(named));
  }
  definitions_.set(definition.targets[0], std::move(made));
}

Thing Builder::evaluate(const Expr& expression) {
  Thing made;
  switch (expression.kind) {
    case Expr::name: {
      if (const Thing* one = variables.find(expression.text)) return *one;
      if (const Thing* one = definitions_.find(expression.text)) return *one;
      if (expression.text == "True" || expression.text == "False") {
        made.kind = Thing::truth;
        made.number = expression.text == "True";
        return made;
      }
      if (tree_.function(expression.text) != nullptr) {  // handed to another one
        made.kind = Thing::quoted;
        made.text = expression.text;
        return made;
      }
      no_text("the name " + expression.text);
    }
    case Expr::whole: return Thing::make_whole(std::strtoll(expression.text.c_str(), nullptr, 10));
    case Expr::real:
      made.kind = Thing::real;
      made.size = std::strtod(expression.text.c_str(), nullptr);
      return made;
    case Expr::quoted:
      made.kind = Thing::quoted;
      made.text = expression.text;
      return made;
    case Expr::list:
    case Expr::tuple:
      made.kind = Thing::several;
      for (const Expr& one : expression.parts) made.parts.push_back(evaluate(one));
      return made;
    case Expr::binary: {
      const Thing left = evaluate(expression.parts[0]);
      return binary(expression.text, left, evaluate(expression.parts[1]));
    }
    case Expr::negated: return negated(evaluate(expression.parts[0]));
    case Expr::item: return widened(expression);
    case Expr::call: return call(expression);
    case Expr::member: {
      const std::string path = path_of(expression);
      made.kind = Thing::element;
      if (path == "gl.float32") made.text = "f32";
      if (path == "gl.float16") made.text = "f16";
      if (path == "gl.bfloat16") made.text = "bf16";
      if (path == "gl.float8e4nv") made.text = "f8E4M3FN";
      if (path == "gl.float8e5") made.text = "f8E5M2";
      if (path == "gl.int32") made.text = "i32";
      if (path == "gl.uint32") made.text = "u32";  // (MLIR has no such type: Type::without_sign)
      if (path == "gl.int8") made.text = "i8";
      if (path == "gl.int16") made.text = "i16";
      if (path == "gl.int64") made.text = "i64";
      if (!made.text.empty()) return made;
      if (expression.text == "nbytes_per_cta") {
        const Type& of = type(evaluate(expression.parts[0]));
        std::int64_t bytes = bits_of(of.element) / 8;
        for (const std::int64_t extent : of.shape) bytes *= extent;
        if (of.kind == Type::descriptor) return Thing::make_whole(bytes);
      }
      no_text("the member " + expression.text);
    }
  }
  no_text("an expression");
}

Thing Builder::call(const Expr& call) {
  const std::string path = path_of(call.parts[0]);
  Thing made;
  // In the order in which Triton evaluates them: what is called, keywords, the other arguments.
  const bool of_value =
      call.parts[0].kind == Expr::member && path_of(call.parts[0].parts[0]).empty();
  if (of_value) ready_[call.parts[0].parts.data()] = evaluate(call.parts[0].parts[0]);
  for (const bool keywords : {true, false})
    for (std::size_t k = 1; k < call.parts.size(); ++k)
      if (call.keywords[k].empty() != keywords) ready_[&call.parts[k]] = evaluate(call.parts[k]);
  if (const TreeFunction* function = tree_.function(path)) return function_call(*function, call);
  if (layout_call(path, call, made) || barrier_call(path, call, made) ||
      copy_call(path, call, made) || product_call(path, call, made) || value_call(path, call, made))
    return made;
  if (call.parts[0].kind == Expr::member) return method(call);
  no_text("a call of " + path);
}

Thing Builder::function_call(const TreeFunction& function, const Expr& call) {
  if (++calls_ > kDeepestCall) no_text("functions that call each other");
  Variables inner;
  for (std::size_t k = 0; k < function.parameters.size(); ++k)
    inner.set(function.parameters[k], needed(call, k, function.parameters[k].c_str()));
  std::swap(inner, variables);
  Thing result;
  for (const Stmt& one : function.body) {
    if (one.kind == Stmt::nothing) continue;
    if (one.kind != Stmt::give_back) no_text("a function with statements, " + function.name);
    result = evaluate(one.value);
  }
  std::swap(inner, variables);
  --calls_;
  return result;
}

bool Builder::value_call(const std::string& name, const Expr& call, Thing& made) {
  if (name == "gl.reshape" || name == "gl.join" || name == "gl.split") no_text("a reshaped tile");
  if (name == "gl.full")
    made = full(call);
  else if (name == "gl.arange")
    made = range(call);
  else if (name == "gl.histogram")
    made = histogram(call);
  else if (name == "gl.to_tensor")
    made = Thing::make_value(materialize(needed(call, 0, "")));
  else if (name == "gl.max")
    made = reduced(call, "maxnumf");
  else if (name == "gl.min")
    made = reduced(call, "minnumf");
  else if (name == "gl.sum")
    made = reduced(call, "addf");
  else if (name == "gl.reduce")
    made = reduced(call, "");
  else if (name == "gl.associative_scan")
    made = scanned(call);
  else if (name == "gl.maximum")
    made = largest(call, true);
  else if (name == "gl.minimum")
    made = largest(call, false);
  else if (const auto* one = std::find_if(std::begin(kOfOneNumber), std::end(kOfOneNumber),
                                          [&](const auto& of) { return of[0] == name; });
           one != std::end(kOfOneNumber))
    made = elementwise(std::string((*one)[1]), {needed(call, 0, "")});
  else if (name == "gl.fma") {
    const Thing a = needed(call, 0, ""), b = needed(call, 1, ""), c = needed(call, 2, "");
    made = elementwise("math.fma", {a, b, c});
  } else if (name == "gl.umulhi") {
    const Thing a = needed(call, 0, ""), b = needed(call, 1, "");
    made = elementwise("tt.mulhiui", {a, b});
  } else if (name == "gl.cast") {
    if (needed(call, 1, "").text != "i64") no_text("a cast to another type than i64");
    made = wide(needed(call, 0, ""));
  } else if (name == "gl.permute")
    made = transposed(call);
  else if (name == "gl.where")
    made = chosen(call);
  else if (name == "gl.inline_asm_elementwise")
    made = asm_elementwise(call);
  else if (name == "gl.convert_layout") {
    const Thing from = needed(call, 0, ""), to = needed(call, 1, "");
    if (to.kind != Thing::layout) no_text("a conversion to no layout");
    made = converted(from, to.of);
  } else if (name == "gl.program_id" || name == "gl.num_programs") {
    const std::int64_t axis = whole_argument(call, 0, "");
    if (axis < 0 || axis > 2) no_text("an axis of the grid");
    made = Thing::make_value(
        pure(std::string(name == "gl.program_id" ? "tt.get_program_id " : "tt.get_num_programs ") +
                 std::string(1, static_cast<char>('x' + axis)) + " : i32",
             {}, {Type::scalar, "i32", {}, {}, {}}));
  } else if (name == "float") {
    const Thing text = needed(call, 0, "");
    if (text.text != "-inf" && text.text != "inf") no_text("the number " + text.text);
    made.kind = Thing::real;
    made.size = std::strtod(text.text.c_str(), nullptr);
  } else {
    return false;
  }
  return true;
}

bool Builder::layout_call(const std::string& name, const Expr& call, Thing& made) {
  if (name == "gl.NVMMADistributedLayout") {
    const auto version = wholes(needed(call, 9, "version"));
    Layout mma;
    mma.warps = wholes(needed(call, 9, "warps_per_cta"));
    mma.instruction = wholes(needed(call, 9, "instr_shape"));
    mma.text = "#ttg.nvidia_mma<{versionMajor = " + std::to_string(version.at(0)) +
               ", versionMinor = " + std::to_string(version.at(1)) +
               ", warpsPerCTA = " + list_text(mma.warps) +
               ", instrShape = " + list_text(mma.instruction) + "}>";
    made = thing_of(std::make_shared<const Layout>(std::move(mma)));
  } else if (name == "gl.BlockedLayout") {
    static constexpr const char* kParts[] = {"sizePerThread", "threadsPerWarp", "warpsPerCTA",
                                             "order"};
    std::string text;
    for (std::size_t k = 0; k < 4; ++k)
      text += (k == 0 ? "" : ", ") + std::string(kParts[k]) + " = " +
              list_text(wholes(needed(call, k, "")));
    const std::string attribute = "#ttg.blocked<{" + text + "}>";
    const bool vector = wholes(needed(call, 3, "")).size() == 1;
    made =
        thing_of(layout_of(Layout::registers, vector ? m_.alias(attribute, "lanes") : attribute));
  } else if (name == "gl.DistributedLinearLayout") {
    const auto bases = [&](const char* keyword) {
      std::string text;
      for (const Thing& one : needed(call, 9, keyword).parts)
        text += (text.empty() ? "" : ", ") + list_text(wholes(one));
      return "[" + text + "]";
    };
    made = thing_of(layout_of(Layout::registers, "#ttg.linear<{register = " + bases("reg_bases") +
                                                     ", lane = " + bases("lane_bases") +
                                                     ", warp = " + bases("warp_bases") +
                                                     ", block = " + bases("block_bases") + "}>"));
  } else if (name == "gl.SliceLayout") {
    const Thing parent = needed(call, 1, "");
    if (parent.kind != Thing::layout) no_text("a part of no layout");
    Layout slice;
    slice.kind = Layout::slice;
    slice.dimension = static_cast<int>(whole_argument(call, 0, ""));
    slice.parent = parent.of;
    slice.text = "#ttg.slice<{dim = " + std::to_string(slice.dimension) +
                 ", parent = " + parent.of->text + "}>";
    made = thing_of(std::make_shared<const Layout>(std::move(slice)));
  } else if (name == "gl.DotOperandLayout") {
    const Thing parent = needed(call, 1, "");
    if (parent.kind != Thing::layout) no_text("a part of no layout");
    Layout dot;
    dot.kind = Layout::dot;
    dot.parent = parent.of;
    dot.text = "#ttg.dot_op<{opIdx = " + std::to_string(whole_argument(call, 0, "")) +
               ", parent = " + parent.of->text +
               ", kWidth = " + std::to_string(whole_argument(call, 2, "")) + "}>";
    made = thing_of(std::make_shared<const Layout>(std::move(dot)));
  } else if (name == "gl.NVMMASharedLayout.get_default_for") {
    const auto shape = wholes(needed(call, 0, ""));
    const Thing element = needed(call, 1, "");
    if (shape.size() != 2) no_text("a shared layout of other ranks than 2");
    Layout shared;
    shared.kind = Layout::shared;
    shared.bits = bits_of(element.text);
    if (argument(call, 9, "transposed") != nullptr)
      shared.transposed = needed(call, 9, "transposed").number != 0;
    const std::int64_t bytes = shape[shared.transposed ? 0 : 1] * shared.bits / 8;
    for (const int width : {128, 64, 32})
      if (shared.swizzle == 0 && bytes % width == 0 && shape[shared.transposed ? 1 : 0] >= 8)
        shared.swizzle = width;
    shared.text = m_.alias(nvmma_text(shared.swizzle, shared.transposed, shared.bits),
                           nvmma_name(shared.swizzle, shared.transposed, shared.bits));
    made = thing_of(std::make_shared<const Layout>(std::move(shared)));
  } else if (name == "gl.SwizzledSharedLayout") {
    made = thing_of(
        layout_of(Layout::plain_shared,
                  "#ttg.swizzled_shared<{vec = " + std::to_string(whole_argument(call, 0, "")) +
                      ", perPhase = " + std::to_string(whole_argument(call, 1, "")) +
                      ", maxPhase = " + std::to_string(whole_argument(call, 2, "")) +
                      ", order = " + list_text(wholes(needed(call, 3, ""))) + "}>"));
  } else if (name == "TensorMemoryLayout") {
    const auto block = wholes(needed(call, 0, ""));
    if (block.size() != 2) no_text("a layout of tensor memory");
    made = thing_of(layout_of(
        Layout::tensor_memory,
        m_.alias("#ttng.tensor_memory_encoding<blockM = " + std::to_string(block[0]) +
                     ", blockN = " + std::to_string(block[1]) +
                     ", colStride = " + std::to_string(whole_argument(call, 9, "col_stride")) + ">",
                 "columns_" + std::to_string(block[0]) + "x" + std::to_string(block[1]))));
  } else {
    return false;
  }
  return true;
}

}  // namespace twill::emit::ws
