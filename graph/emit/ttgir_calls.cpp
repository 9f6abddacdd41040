// Calls of an emitted kernel (ttgir_build.hpp): layouts, places in memory, barriers, copies,
// products.
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "graph/emit/ttgir_build.hpp"
#include "graph/index.hpp"
#include "graph/program/loop_view.hpp"

namespace twill::emit::ws {

namespace {

// Functions that call each other would never end.
constexpr int kDeepestCall = 8;

std::string list_text(const std::vector<std::int64_t>& all) {
  return "[" + shape_text(all, ", ") + "]";
}

LayoutRef layout_of(Layout::Kind kind, std::string text) {
  auto made = std::make_shared<Layout>();
  made->kind = kind;
  made->text = std::move(text);
  return made;
}

Thing thing_of(LayoutRef layout) {
  Thing made;
  made.kind = Thing::layout;
  made.of = std::move(layout);
  return made;
}

int bits_of(const std::string& element) {
  if (element == "f32") return 32;
  if (element == "f16" || element == "bf16") return 16;
  no_text("elements of type " + element);
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

}  // namespace

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

Op& Builder::append(Op::Kind kind) {
  here_->ops.push_back(std::make_unique<Op>());
  Op& op = *here_->ops.back();
  op.kind = kind;
  if (kind != Op::remark) op.comment = std::exchange(comment_, "");
  return op;
}

int Builder::pure(const std::string& text, const std::vector<int>& operands, const Type& type,
                  Op::Effect effect) {
  std::string key = text;
  for (const int operand : operands) key += " " + std::to_string(operand);
  const std::size_t met = met_.size();
  const bool shared = effect == Op::none && useful_ != nullptr && (*useful_)[met];
  if (effect == Op::none) met_.push_back(-1);
  if (shared)
    for (const Block* one = here_;; one = one->parent) {
      if (const auto found = one->known.find(key); found != one->known.end()) return found->second;
      if (one->isolated) break;
    }
  const int made = m_.value(type);
  Op& op = append(Op::plain);
  op.text = text;
  op.operands = operands;
  op.effect = effect;
  op.results = {made};
  if (effect == Op::none) met_[met] = made;
  if (shared) here_->known[key] = made;
  return made;
}

void Builder::act(const std::string& text, const std::vector<int>& operands) {
  Op& op = append(Op::plain);
  op.text = text;
  op.operands = operands;
  op.effect = Op::acts;
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
      if (const Thing* one = variables_.find(expression.text)) return *one;
      if (const Thing* one = definitions_.find(expression.text)) return *one;
      if (expression.text == "True" || expression.text == "False") {
        made.kind = Thing::truth;
        made.number = expression.text == "True";
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
      if (path == "gl.int32") made.text = "i32";
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
  std::swap(inner, variables_);
  Thing result;
  for (const Stmt& one : function.body) {
    if (one.kind == Stmt::nothing) continue;
    if (one.kind != Stmt::give_back) no_text("a function with statements, " + function.name);
    result = evaluate(one.value);
  }
  std::swap(inner, variables_);
  --calls_;
  return result;
}

bool Builder::value_call(const std::string& name, const Expr& call, Thing& made) {
  if (name == "gl.full")
    made = full(call);
  else if (name == "gl.arange")
    made = range(call);
  else if (name == "gl.max")
    made = reduced(call, "maxnumf");
  else if (name == "gl.sum")
    made = reduced(call, "addf");
  else if (name == "gl.maximum")
    made = largest(call, true);
  else if (name == "gl.minimum")
    made = largest(call, false);
  else if (name == "gl.exp2")
    made = elementwise("math.exp2", {needed(call, 0, "")});
  else if (name == "gl.log2")
    made = elementwise("math.log2", {needed(call, 0, "")});
  else if (name == "gl.fma") {
    const Thing a = needed(call, 0, ""), b = needed(call, 1, ""), c = needed(call, 2, "");
    made = elementwise("math.fma", {a, b, c});
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
    const std::int64_t bytes = shape[1] * shared.bits / 8;
    for (const int width : {128, 64, 32})
      if (shared.swizzle == 0 && bytes % width == 0 && shape[0] >= 8) shared.swizzle = width;
    shared.text = m_.alias(nvmma_text(shared.swizzle, false, shared.bits),
                           nvmma_name(shared.swizzle, false, shared.bits));
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

// ---- places in memory

Thing Builder::allocated(const Expr& call, bool on_tensor_memory) {
  const Thing element = needed(call, 0, ""), layout = needed(call, 2, "");
  const auto shape = wholes(needed(call, 1, ""));
  if (element.kind != Thing::element || layout.kind != Thing::layout)
    no_text("memory without a type or a layout");
  const Type type{on_tensor_memory ? Type::tensor_memory : Type::shared, element.text, shape, shape,
                  layout.of};
  const int made = m_.value(type);
  act(std::string(on_tensor_memory ? "ttng.tmem_alloc" : "ttg.local_alloc") + " : () -> " +
          type.text(),
      {});
  here_->ops.back()->results = {made};
  return Thing::make_value(made);
}

Thing Builder::index_of(const Thing& place, const Thing& index) {
  const Type of = type(place);
  if ((of.kind != Type::shared && of.kind != Type::tensor_memory) || of.shape.size() < 2)
    no_text("a copy of no ring");
  Type to = of;
  to.shape.erase(to.shape.begin());
  to.whole = to.shape;
  const int k = materialize(index);
  return Thing::make_value(
      pure("ttg.memdesc_index $0[$1] : " + of.text() + " -> " + to.text(), {place.id, k}, to));
}

Thing Builder::slice_of(const Thing& place, const Expr& call) {
  const Type of = type(place);
  const std::int64_t begin = whole_argument(call, 0, ""), count = whole_argument(call, 1, "");
  const bool said = argument(call, 2, "dim") != nullptr;
  if (of.shape.size() != 2 || (said && whole_argument(call, 2, "dim") != 1))
    no_text("a part along rows");
  if (begin < 0 || count <= 0 || begin + count > of.shape[1]) no_text("a part beyond the end");
  Type to = of;
  to.shape[1] = count;
  const std::string types = " : " + of.text() + " -> " + to.text();
  if (of.kind == Type::tensor_memory)
    return Thing::make_value(
        pure("ttng.tmem_subslice $0 {offset = " + std::to_string(begin) + " : i32}" + types,
             {place.id}, to));
  if (of.kind != Type::shared) no_text("a part of what is no place");
  return Thing::make_value(
      pure("ttg.memdesc_subslice $0[0, " + std::to_string(begin) + "]" + types, {place.id}, to));
}

Thing Builder::turned(const Thing& place) {
  const Type of = type(place);
  if (of.kind != Type::shared || of.layout->kind != Layout::shared || of.shape.size() != 2)
    no_text("the transpose of what is no tile in shared memory");
  Type to = of;
  std::swap(to.shape[0], to.shape[1]);
  std::swap(to.whole[to.whole.size() - 2], to.whole[to.whole.size() - 1]);
  Layout layout = *of.layout;
  layout.transposed = !layout.transposed;
  layout.text = m_.alias(nvmma_text(layout.swizzle, layout.transposed, layout.bits),
                         nvmma_name(layout.swizzle, layout.transposed, layout.bits));
  to.layout = std::make_shared<const Layout>(std::move(layout));
  return Thing::make_value(
      pure("ttg.memdesc_trans $0 {order = array<i32: 1, 0>} : " + of.text() + " -> " + to.text(),
           {place.id}, to));
}

Thing Builder::reinterpreted(const Thing& place, const Expr& call) {
  const Type of = type(place);
  const Thing element = needed(call, 0, ""), layout = needed(call, 2, "");
  const auto shape = wholes(needed(call, 1, ""));
  if (of.kind != Type::tensor_memory || element.kind != Thing::element ||
      layout.kind != Thing::layout)
    no_text("another view of what is not in tensor memory");
  const Type to{Type::tensor_memory, element.text, shape, shape, layout.of};
  if (to.text() == of.text()) return place;
  return Thing::make_value(
      pure("ttg.memdesc_reinterpret $0 : " + of.text() + " -> " + to.text(), {place.id}, to));
}

Thing Builder::method(const Expr& call) {
  const std::string& name = call.parts[0].text;
  const auto ready = ready_.find(call.parts[0].parts.data());
  const Thing self = ready != ready_.end() ? ready->second : evaluate(call.parts[0].parts[0]);
  const Type of = type(self);
  const bool place = of.kind == Type::shared || of.kind == Type::tensor_memory;
  if (name == "index" && place) return index_of(self, needed(call, 0, ""));
  if (name == "slice" && place) return slice_of(self, call);
  if (name == "permute" && place) {
    if (wholes(needed(call, 0, "")) != std::vector<std::int64_t>{1, 0})
      no_text("another order than the transpose");
    return turned(self);
  }
  if (name == "reinterpret") return reinterpreted(self, call);
  if (name == "to") {
    const Thing element = needed(call, 0, "");
    if (element.kind != Thing::element) no_text("a conversion to no type");
    return cast(self, element.text);
  }
  if (name == "load" && place) {
    const Thing layout = needed(call, 0, "");
    if (layout.kind != Thing::layout) no_text("a load without a layout");
    const Type to{Type::tensor, of.element, of.shape, of.shape, layout.of};
    return Thing::make_value(
        pure(std::string(of.kind == Type::shared ? "ttg.local_load" : "ttng.tmem_load") +
                 " $0 : " + of.text() + " -> " + to.text(),
             {self.id}, to, Op::reads));
  }
  if (name == "store" && place) {
    const Thing tile = needed(call, 0, "");
    const Type from = type(tile);
    if (from.shape != of.shape || from.element != of.element)
      no_text("a tile of another shape or type is stored");
    if (of.kind == Type::shared)
      act("ttg.local_store $0, $1 : " + from.text() + " -> " + of.text(), {tile.id, self.id});
    else
      act("ttng.tmem_store $0, $1, $2 : " + from.text() + " -> " + of.text(),
          {tile.id, self.id, truth(true)});
    return {};
  }
  no_text("the method " + name);
}

// ---- barriers

bool Builder::barrier_call(const std::string& name, const Expr& call, Thing& made) {
  if (name == "mbarrier.allocate_mbarrier") {
    std::vector<std::int64_t> shape{1};
    if (argument(call, 0, "batch") != nullptr)
      shape.insert(shape.begin(), whole_argument(call, 0, "batch"));
    const Type type{
        Type::shared, "i64", shape, shape,
        layout_of(
            Layout::plain_shared,
            m_.alias("#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>",
                     "vector"))};
    const int id = m_.value(type);
    act("ttg.local_alloc : () -> " + type.text(), {});
    here_->ops.back()->results = {id};
    made = Thing::make_value(id);
    return true;
  }
  if (name == "fence_async_shared") {
    act("ttng.fence_async_shared {bCluster = false}", {});
    return true;
  }
  const bool tensor_core = name == "tcgen05_commit";
  if (!tensor_core && !name.starts_with("mbarrier.")) return false;
  const Thing barrier = needed(call, 0, "");
  const Type of = type(barrier);
  if (of.kind != Type::shared || of.element != "i64" || of.shape.size() != 1)
    no_text("a barrier that is none");
  const std::string type_text = " : " + of.text();
  const auto count = [&] { return std::to_string(whole_argument(call, 1, "count")); };
  if (tensor_core) {
    act("ttng.tc_gen5_commit $0, $1" + type_text, {barrier.id, truth(true)});
  } else if (name == "mbarrier.init") {
    act("ttng.init_barrier $0, " + count() + type_text, {barrier.id});
  } else if (name == "mbarrier.arrive") {
    act("ttng.arrive_barrier $0, " + count() + ", $1" + type_text, {barrier.id, truth(true)});
  } else if (name == "mbarrier.expect") {
    const Thing bytes = needed(call, 1, "");
    if (bytes.kind != Thing::whole) no_text("a number of bytes that is computed");
    act("ttng.barrier_expect $0, " + std::to_string(bytes.number) + ", $1" + type_text,
        {barrier.id, truth(true)});
  } else if (name == "mbarrier.wait") {
    const int parity = materialize(needed(call, 1, ""));
    const int wait =
        argument(call, 2, "pred") != nullptr ? materialize(needed(call, 2, "pred")) : truth(true);
    act("ttng.wait_barrier $0, $1, $2" + type_text, {barrier.id, parity, wait});
  } else {
    return false;
  }
  return true;
}

// ---- copies

bool Builder::copy_call(const std::string& name, const Expr& call, Thing& made) {
  if (name == "gl.allocate_shared_memory" || name == "allocate_tensor_memory") {
    made = allocated(call, name == "allocate_tensor_memory");
    return true;
  }
  if (name == "gl.load") {
    const Thing where = needed(call, 0, "");
    const Type of = type(where);
    Type to = of;
    if (!of.pointer()) no_text("a load from no place");
    to.element = of.element.substr(8, of.element.size() - 9);
    made = Thing::make_value(pure("tt.load $0 : " + of.text(), {where.id}, to, Op::reads));
    return true;
  }
  if (name == "gl.store") {
    const Thing where = needed(call, 0, ""), what = needed(call, 1, "");
    const Type of = type(where), from = type(what);
    if (!of.pointer() || of.element != "!tt.ptr<" + from.element + ">" || of.shape != from.shape)
      no_text("a store to a place of another type");
    act("tt.store $0, $1 : " + of.text(), {where.id, what.id});
    return true;
  }
  if (name == "async_copy.async_load") {
    vector_copy(call);
    return true;
  }
  if (name == "async_copy.mbarrier_arrive") {
    const Thing barrier = needed(call, 0, ""), counts = needed(call, 1, "increment_count");
    if (counts.kind != Thing::truth || counts.number != 0) no_text("an arrival that is counted");
    act("ttng.async_copy_mbarrier_arrive $0 {noIncrement} : " + type(barrier).text(), {barrier.id});
    return true;
  }
  if (name == "tma.store_wait") {
    act("ttng.async_tma_store_wait {pendings = " + std::to_string(whole_argument(call, 0, "")) +
            " : i32, read_only}",
        {});
    return true;
  }
  const bool load = name == "tma.async_load", store = name == "tma.async_store",
             adds = name == "tma.async_atomic_add";
  if (!load && !store && !adds) return false;
  const Thing descriptor = needed(call, 0, ""), where = needed(call, 1, "");
  const Type of = type(descriptor);
  if (of.kind != Type::descriptor || where.kind != Thing::several ||
      where.parts.size() != of.shape.size())
    no_text("a bulk copy through no descriptor");
  std::vector<int> operands{descriptor.id};
  std::string list;
  for (const Thing& one : where.parts) {
    list += (list.empty() ? "$" : ", $") + std::to_string(operands.size());
    operands.push_back(materialize(one));
  }
  const auto next = [&](int operand) {
    operands.push_back(operand);
    return "$" + std::to_string(operands.size() - 1);
  };
  if (load) {
    const Thing barrier = needed(call, 2, ""), to = needed(call, 3, "");
    const std::string place = next(to.id), bar = next(barrier.id), always = next(truth(true));
    act("ttng.async_tma_copy_global_to_local $0[" + list + "] " + place + ", " + bar + ", " +
            always + " : " + of.text() + ", " + type(barrier).text() + " -> " + type(to).text(),
        operands);
  } else {
    const Thing from = needed(call, 2, "");
    const std::string place = next(from.id);
    if (store)
      act("ttng.async_tma_copy_local_to_global $0[" + list + "] " + place + " : " + of.text() +
              ", " + type(from).text(),
          operands);
    else
      act("ttng.async_tma_reduce add, $0[" + list + "] " + place + " : " + of.text() + ", " +
              type(from).text(),
          operands);
  }
  return true;
}

void Builder::vector_copy(const Expr& call) {
  const Thing to = needed(call, 0, ""), from = needed(call, 1, "");
  const Type place = type(to), of = type(from);
  if (place.kind != Type::shared || !of.pointer()) no_text("a copy between other places");
  std::string short_type = place.text();
  short_type.erase(0, std::string("!ttg.memdesc").size());
  const int token = m_.value({Type::scalar, "!ttg.async.token", {}, {}, {}}, "copied");
  act("ttg.async_copy_global_to_local $0, $1 : " + of.text() + " -> " + short_type,
      {from.id, to.id});
  here_->ops.back()->results = {token};
}

// ---- products

bool Builder::product_call(const std::string& name, const Expr& call, Thing& made) {
  if (name == "warpgroup_mma")
    made = wgmma(call);
  else if (name == "warpgroup_mma_wait")
    made = wgmma_wait(call);
  else if (name == "warpgroup_mma_init")
    made = needed(call, 0, "");
  else if (name == "tcgen05_mma")
    tcgen05(call);
  else
    return false;
  return true;
}

Thing Builder::wgmma(const Expr& call) {
  const Thing a = needed(call, 0, ""), b = needed(call, 1, ""), sum = needed(call, 2, "");
  const Expr* adds = argument(call, 3, "use_acc");
  const Thing async = needed(call, 9, "is_async");
  if (async.kind != Thing::truth || async.number == 0)
    no_text("a product that is waited for at once");
  const int use = adds != nullptr ? materialize(needed(call, 3, "use_acc")) : truth(true);
  const Type to = type(sum);
  Op& op = append(Op::plain);
  op.effect = Op::acts;
  op.text = "ttng.warp_group_dot $0, $1, $2, $3 {inputPrecision = 0 : i32, isAsync = true} : " +
            type(a).text() + " * " + type(b).text() + " -> " + to.text();
  op.operands = {a.id, b.id, sum.id, use};
  const int made = m_.value(to);
  op.results = {made};
  return Thing::make_value(made);
}

Thing Builder::wgmma_wait(const Expr& call) {
  const std::int64_t pending = whole_argument(call, 0, "");
  const Thing all = needed(call, 9, "deps");
  if (all.kind != Thing::several || all.parts.empty()) no_text("a wait for no product");
  std::string list, types;
  std::vector<int> operands, results;
  Thing made;
  made.kind = Thing::several;
  for (const Thing& one : all.parts) {
    const Type of = type(one);
    list += (list.empty() ? "$" : ", $") + std::to_string(operands.size());
    types += (types.empty() ? "" : ", ") + of.text();
    operands.push_back(one.id);
    results.push_back(m_.value(of));
    made.parts.push_back(Thing::make_value(results.back()));
  }
  act("ttng.warp_group_dot_wait " + list + " {pendings = " + std::to_string(pending) +
          " : i32} : " + types,
      operands);
  here_->ops.back()->results = results;
  return results.size() == 1 ? made.parts[0] : made;
}

void Builder::tcgen05(const Expr& call) {
  const Thing a = needed(call, 0, ""), b = needed(call, 1, ""), to = needed(call, 2, "");
  const Thing barriers = needed(call, 9, "mbarriers"), adds = needed(call, 3, "use_acc");
  if (barriers.kind != Thing::several || barriers.parts.empty())
    no_text("a product that tells no barrier of its end");
  const int use = materialize(adds);
  std::vector<int> operands{a.id, b.id, to.id, use, truth(true)};
  std::string list, types = type(a).text() + ", " + type(b).text() + ", " + type(to).text();
  for (const Thing& one : barriers.parts) {
    list += ", $" + std::to_string(operands.size()) + "[$4]";
    types += ", " + type(one).text();
    operands.push_back(one.id);
  }
  const int token = m_.value({Type::scalar, "!ttg.async.token", {}, {}, {}}, "issued");
  act("ttng.tc_gen5_mma $0, $1, $2[], $3, $4" + list + " {is_async} : " + types, operands);
  here_->ops.back()->results = {token};
}

}  // namespace twill::emit::ws
