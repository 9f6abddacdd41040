#include "graph/emit/ttgir.hpp"

#include <algorithm>
#include <set>

#include "graph/emit/in_place.hpp"
#include "graph/emit/kernel_tree.hpp"
#include "graph/emit/ttgir_build.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

using program::Refusal;
using ws::Block;
using ws::Op;
using ws::Thing;
using ws::Type;

/// Statements, partitions and the file around them.
class TtgirWriter {
 public:
  /// `needed`: as the builder's.
  TtgirWriter(const GluonKernel& kernel, const KernelTree& tree, int trips,
              const std::vector<bool>* needed)
      : kernel_(kernel), tree_(tree), b_(module_, tree_, needed), trips_(trips) {}

  /// Of the ops without effect, in the order in which they are met, which ones somebody uses.
  std::vector<bool> needed() {
    write();
    const std::vector<bool> values = module_.needed();
    std::vector<bool> ops;
    for (const int v : b_.met()) ops.push_back(values[at(v)]);
    return ops;
  }

  std::string run() {
    write();
    const std::string attributes =
        "\"ttg.num-ctas\" = 1 : i32, \"ttg.num-warps\" = " +
        std::to_string(kernel_.launch.first.warps) +
        " : i32, ttg.target = \"cuda:" + (kernel_.target == Target::hopper ? "90" : "100") +
        "\", \"ttg.threads-per-warp\" = 32 : i32, \"ttng.two-ctas\" = false";
    return head() + module_.print("kernel", attributes);
  }

 private:
  void write() {
    const TreeFunction* main = tree_.function("kernel");
    if (main == nullptr) throw Refusal{"ttgir", "there is no kernel"};
    for (const Stmt& one : tree_.definitions) b_.define(one);
    for (const KernelArgument& one : kernel_.arguments) argument(one);
    b_.variables.set("TRIPS", Thing::make_whole(trips_));
    for (const std::string& one : main->parameters)
      if (b_.variables.find(one) == nullptr)
        throw Refusal{"ttgir", "nobody says of what type the argument " + one + " is"};
    statements(main->body);
  }

  // ---- the file

  std::string head() const {
    std::string text;
    const auto line = [&](const std::string& one) {
      text += one.empty() ? "//\n" : "// " + one + "\n";
    };
    for (std::size_t begin = 0; begin < kernel_.about.size();) {
      const std::size_t end = std::min(kernel_.about.find('\n', begin), kernel_.about.size());
      line(kernel_.about.substr(begin, end - begin));
      begin = end + 1;
    }
    line("TTGIR of Triton " + std::string(kTritonOfTtgir) +
         "; other versions have other text. Partitions, buffers and barriers are in place: from "
         "here");
    line(
        "Triton goes straight to LLVM, and none of its passes on TTGIR runs: "
        "triton.compile(\"FILE.ttgir\", target).");
    if (kernel_.depth > 0)
      line(trips_ >= 0
               ? "For n = " + std::to_string(trips_) + " iterations and no other number of them."
               : "For n >= " + std::to_string(kernel_.depth) +
                     " iterations and not for fewer: `twill emit --for-trips N` writes the kernel "
                     "for "
                     "N of them.");
    std::string list;
    for (const KernelArgument& one : kernel_.arguments)
      list += (list.empty() ? "" : ", ") + one.name;
    line("Arguments: " + list + "; a descriptor is followed by its shape and strides.");
    line(
        "This text is yours: Twill's license does not extend to what it writes, put it under any "
        "license you like.");
    return text;
  }

  void argument(const KernelArgument& one) {
    Block& root = module_.root();
    const auto add = [&](Type type, const std::string& name) {
      root.arguments.push_back(module_.value(std::move(type), name));
      module_[root.arguments.back()].divisor = one.divisor;
      return root.arguments.back();
    };
    const auto scalar = [](const std::string& element) {
      return Type{Type::scalar, element, {}, {}, {}};
    };
    if (one.type.empty())
      ws::no_text("an argument of which nobody says where it leads, " + one.name);
    if (one.kind != KernelArgument::descriptor) {
      const std::string element = one.kind == KernelArgument::pointer
                                      ? "!tt.ptr<" + element_name(one.type) + ">"
                                      : one.type;
      b_.variables.set(one.name, Thing::make_value(add(scalar(element), one.name)));
      return;
    }
    const Thing layout = b_.evaluate(
        Expr{Expr::call,
             "",
             {Expr{Expr::member,
                   "get_default_for",
                   {Expr{Expr::member, "NVMMASharedLayout", {Expr{Expr::name, "gl", {}, {}}}, {}}},
                   {}},
              shape_list(one.block),
              Expr{Expr::member, type_name(one.type), {Expr{Expr::name, "gl", {}, {}}}, {}}},
             {"", "", ""}});
    const std::string element = element_name(one.type);
    b_.variables.set(
        one.name, Thing::make_value(
                      add({Type::descriptor, element, one.block, one.block, layout.of}, one.name)));
    for (std::size_t d = 0; d < one.block.size(); ++d)
      add(scalar("i32"), one.name + ".shape." + std::to_string(d));
    for (std::size_t d = 0; d < one.block.size(); ++d)
      add(scalar("i64"), one.name + ".stride." + std::to_string(d));
  }

  static Expr shape_list(const std::vector<std::int64_t>& shape) {
    Expr list{Expr::list, "", {}, {}};
    for (const std::int64_t extent : shape)
      list.parts.push_back({Expr::whole, std::to_string(extent), {}, {}});
    return list;
  }
  /// What MLIR calls a type of numbers.
  static std::string element_name(const std::string& type) {
    return type == "f8" ? "f8E4M3FN" : type == "f8e5m2" ? "f8E5M2" : type;
  }
  static std::string type_name(const std::string& type) {
    if (type == "f16") return "float16";
    if (type == "bf16") return "bfloat16";
    if (type == "f32") return "float32";
    if (type == "f8") return "float8e4nv";
    if (type == "f8e5m2") return "float8e5";
    if (type == "i8") return "int8";
    throw Refusal{"ttgir", "a descriptor of elements of type " + type};
  }

  // ---- statements

  void statements(const std::vector<Stmt>& all) {
    for (const Stmt& one : all) statement(one);
  }

  void statement(const Stmt& one) {
    b_.comment(one.comment);
    switch (one.kind) {
      case Stmt::nothing:
        b_.comment("");
        if (!one.comment.empty()) b_.append(Op::remark).text = one.comment;
        break;
      case Stmt::assign: assign(one.targets, b_.evaluate(one.value)); break;
      case Stmt::add_to: {
        const Thing* old = b_.variables.find(one.targets[0]);
        if (old == nullptr) ws::no_text("an addition to a variable that is not there");
        const Thing before = *old;
        assign(one.targets, b_.add(before, b_.evaluate(one.value)));
        break;
      }
      case Stmt::expression:
        if (one.value.kind == Expr::call && ws::path_of(one.value.parts[0]) == "gl.warp_specialize")
          partitions(one.value);
        else if (const TreeFunction* slot = called(one.value))
          alone(*slot, one.value);
        else
          b_.evaluate(one.value);
        break;
      case Stmt::branch: branch(one); break;
      case Stmt::loop: loop(one); break;
      case Stmt::give_back: ws::no_text("a slot that gives something back");
    }
    b_.comment("");
  }

  void assign(const std::vector<std::string>& targets, const Thing& what) {
    if (targets.size() == 1) {
      b_.hint(what, targets[0]);
      b_.variables.set(targets[0], what);
      return;
    }
    if (what.kind != Thing::several || what.parts.size() != targets.size())
      ws::no_text("several variables of another number of results");
    for (std::size_t k = 0; k < targets.size(); ++k) {
      b_.hint(what.parts[k], targets[k]);
      b_.variables.set(targets[k], what.parts[k]);
    }
  }

  Block& inside(Op& op, bool isolated) const {
    op.blocks.push_back(std::make_unique<Block>());
    op.blocks.back()->parent = b_.here;
    op.blocks.back()->isolated = isolated;
    return *op.blocks.back();
  }

  /// Of the kernel itself: it goes on in a block of its own.
  void return_where(int condition) {
    if (b_.here != &module_.root()) ws::no_text("a return within a loop, a branch or a slot");
    const std::string returns = std::to_string(++blocks_), goes_on = std::to_string(++blocks_);
    Op& op = b_.append(Op::plain);
    op.text = "cf.cond_br $0, ^bb" + returns + ", ^bb" + goes_on + "\n  ^bb" + returns +
              ":\n    tt.return\n  ^bb" + goes_on + ":";
    op.operands = {condition};
  }

  void branch(const Stmt& one) {
    const Thing which = b_.evaluate(one.value);
    if (which.kind == Thing::truth) {
      statements(which.number != 0 ? one.body : one.orelse);
      return;
    }
    const int condition = b_.materialize(which);
    if (one.body.size() == 1 && one.body[0].kind == Stmt::give_back && one.orelse.empty()) {
      return_where(condition);
      return;
    }
    Op& op = b_.append(Op::branch, Op::acts, false);
    op.operands = {condition};
    const ws::Variables before = b_.variables;
    ws::Variables after[2];
    Block* const outside = b_.here;
    for (int side = 0; side < 2; ++side) {
      b_.here = outside;
      b_.here = &inside(op, false);
      b_.variables = before;
      statements(side == 0 ? one.body : one.orelse);
      after[side] = b_.variables;
    }
    // What both sides know of a variable is what is known behind them.
    b_.variables = {};
    for (const auto& [name, yes] : after[0].all()) {
      const Thing* no = after[1].find(name);
      if (no == nullptr) continue;
      if (same(yes, *no)) {
        b_.variables.set(name, yes);
        continue;
      }
      int made = -1;
      for (int side = 0; side < 2; ++side) {
        b_.here = op.blocks[at(side)].get();
        const int v = b_.materialize(side == 0 ? yes : *no);
        if (side == 0) made = module_.value(module_[v].type, name);
        if (module_[v].type.text() != module_[made].type.text())
          ws::no_text(name + " has different types on two sides");
        b_.here->yields.push_back(v);
      }
      op.results.push_back(made);
      b_.variables.set(name, Thing::make_value(made));
    }
    b_.here = outside;
    b_.leave(op);
  }

  static bool same(const Thing& a, const Thing& b) {
    if (a.kind != b.kind || a.number != b.number || a.size != b.size || a.id != b.id ||
        a.text != b.text || a.of != b.of || a.parts.size() != b.parts.size())
      return false;
    for (std::size_t k = 0; k < a.parts.size(); ++k)
      if (!same(a.parts[k], b.parts[k])) return false;
    return true;
  }

  static void assigned(const std::vector<Stmt>& all, std::set<std::string>& names) {
    for (const Stmt& one : all) {
      if (one.kind == Stmt::assign || one.kind == Stmt::add_to)
        names.insert(one.targets.begin(), one.targets.end());
      assigned(one.body, names);
      assigned(one.orelse, names);
    }
  }

  void loop(const Stmt& one) {
    const std::string of = one.value.kind == Expr::call ? ws::path_of(one.value.parts[0]) : "";
    std::vector<Thing> bounds;
    for (std::size_t k = 1; k < one.value.parts.size(); ++k)
      bounds.push_back(b_.evaluate(one.value.parts[k]));
    const auto is_whole = [](const Thing& bound) { return bound.kind == Thing::whole; };
    if (of == "gl.static_range" && std::all_of(bounds.begin(), bounds.end(), is_whole)) {
      if (bounds.size() == 1) bounds = {Thing::make_whole(0), bounds[0], Thing::make_whole(1)};
      if (bounds.size() != 3 || bounds[2].number < 1) ws::no_text("a loop over " + of);
      for (std::int64_t k = bounds[0].number; k < bounds[1].number; k += bounds[2].number) {
        b_.variables.set(one.targets[0], Thing::make_whole(k));
        statements(one.body);
      }
      return;
    }
    if (of != "range" || (bounds.size() != 1 && bounds.size() != 3))
      ws::no_text("a loop over " + of);
    if (bounds.size() == 1) bounds = {Thing::make_whole(0), bounds[0], Thing::make_whole(1)};
    std::set<std::string> names;
    assigned(one.body, names);
    std::vector<std::string> carried;
    std::vector<int> operands;
    for (const Thing& bound : bounds) operands.push_back(b_.materialize(bound));
    for (const auto& [name, thing] : b_.variables.all())
      if (names.contains(name)) carried.push_back(name);
    for (const std::string& name : carried)
      operands.push_back(b_.materialize(*b_.variables.find(name)));
    Op& op = b_.append(Op::loop, Op::acts, false);
    op.operands = operands;
    const ws::Variables before = b_.variables;
    Block* const outside = b_.here;
    Block& body = inside(op, false);
    b_.here = &body;
    body.arguments.push_back(module_.value({Type::scalar, "i32", {}, {}, {}}, one.targets[0]));
    b_.variables.set(one.targets[0], Thing::make_value(body.arguments[0]));
    for (std::size_t k = 0; k < carried.size(); ++k) {
      body.arguments.push_back(module_.value(module_[operands[k + 3]].type, carried[k]));
      b_.variables.set(carried[k], Thing::make_value(body.arguments.back()));
    }
    statements(one.body);
    for (std::size_t k = 0; k < carried.size(); ++k) {
      body.yields.push_back(b_.materialize(*b_.variables.find(carried[k])));
      if (module_[body.yields.back()].type.text() != module_[body.arguments[k + 1]].type.text())
        ws::no_text(carried[k] + " changes its type in a loop");
    }
    b_.here = outside;
    b_.leave(op);
    b_.variables = before;
    for (std::size_t k = 0; k < carried.size(); ++k) {
      op.results.push_back(module_.value(module_[operands[k + 3]].type, carried[k]));
      b_.variables.set(carried[k], Thing::make_value(op.results.back()));
    }
  }

  // ---- partitions

  void partitions(const Expr& call) {
    if (call.parts.size() != 4 || call.parts[1].kind != Expr::list || call.parts[1].parts.empty())
      ws::no_text("partitions of another form");
    const std::vector<Expr>& slots = call.parts[1].parts;
    Op& op = b_.append(Op::partitions);
    for (const Thing& one : b_.evaluate(call.parts[2]).parts)
      op.warps.push_back(static_cast<int>(one.number));
    for (const Thing& one : b_.evaluate(call.parts[3]).parts)
      op.registers.push_back(static_cast<int>(one.number));
    if (op.warps.size() + 1 != slots.size() || op.registers.size() != op.warps.size())
      ws::no_text("partitions without warps or registers");
    std::vector<std::vector<Thing>> passed;
    for (const Expr& one : slots) {
      if (one.kind != Expr::tuple || one.parts.size() != 2 || one.parts[1].kind != Expr::tuple)
        ws::no_text("partitions of another form");
      passed.push_back(b_.evaluate(one.parts[1]).parts);
    }
    // All that the others need comes in once, and all of them see it.
    for (std::size_t s = 1; s < slots.size(); ++s) {
      op.passed.emplace_back();
      for (const Thing& thing : passed[s]) {
        if (!captured(thing)) continue;
        auto place = std::find(op.operands.begin(), op.operands.end(), thing.id);
        if (place == op.operands.end()) place = op.operands.insert(place, thing.id);
        op.passed.back().push_back(static_cast<int>(place - op.operands.begin()));
      }
    }
    const ws::Variables before = b_.variables;
    Block* const outside = b_.here;
    for (std::size_t s = 0; s < slots.size(); ++s) {
      const TreeFunction* function = tree_.function(slots[s].parts[0].text);
      if (function == nullptr || function->parameters.size() != passed[s].size())
        ws::no_text("a slot with other arguments");
      b_.here = outside;
      Block& body = inside(op, s > 0);
      b_.here = &body;
      if (s > 0)
        for (const int v : op.operands)
          body.arguments.push_back(module_.value(module_[v].type, module_[v].hint));
      b_.variables = {};
      for (std::size_t k = 0; k < passed[s].size(); ++k) {
        Thing thing = passed[s][k];
        if (s > 0 && captured(thing)) {
          const auto place =
              std::find(op.operands.begin(), op.operands.end(), thing.id) - op.operands.begin();
          thing.id = body.arguments[static_cast<std::size_t>(place)];
        } else if (s > 0 && thing.kind == Thing::value) {
          thing.id = module_.constant(body, module_[thing.id].type, *module_[thing.id].constant);
        }
        b_.variables.set(function->parameters[k], thing);
      }
      b_.append(Op::remark).text = function->name;
      statements(function->body);
    }
    b_.here = outside;
    b_.variables = before;
  }

  /// The function of the tree that an expression calls; null where it does something else.
  const TreeFunction* called(const Expr& call) const {
    return call.kind == Expr::call ? tree_.function(ws::path_of(call.parts[0])) : nullptr;
  }

  /// A slot without others: in the kernel itself.
  void alone(const TreeFunction& slot, const Expr& call) {
    if (call.parts.size() != slot.parameters.size() + 1) ws::no_text("a slot with other arguments");
    const ws::Variables before = b_.variables;
    ws::Variables inside;
    for (std::size_t k = 0; k < slot.parameters.size(); ++k)
      inside.set(slot.parameters[k], b_.evaluate(call.parts[k + 1]));
    b_.variables = inside;
    b_.append(Op::remark).text = slot.name;
    statements(slot.body);
    b_.variables = before;
  }

  bool captured(const Thing& thing) const {
    return thing.kind == Thing::value && !module_[thing.id].constant;
  }

  const GluonKernel& kernel_;
  const KernelTree& tree_;
  ws::Module module_;
  ws::Builder b_;
  int trips_;
  int blocks_ = 0;  ///< of the kernel, behind its first one
};

/// Do its tiles that are stored to where they were loaded lie apart for some arguments alone?
bool asks_arguments(const program::Program& program, const meaning::UserKernel* user) {
  return user != nullptr && program.meaning && !asked_of_arguments(*program.meaning, *user).empty();
}

std::variant<GluonKernel, Refusal> written(std::variant<GluonKernel, Refusal> emitted, bool asks,
                                           int trips) {
  auto* kernel = std::get_if<GluonKernel>(&emitted);
  if (kernel == nullptr) return emitted;
  if (asks)
    return Refusal{"ttgir",
                   "its tiles that are stored to where they were loaded are apart for "
                   "some arguments alone, of which a host has to ask"};
  if (trips >= kernel->depth && trips >= 0)
    return Refusal{"trips", "a kernel of its own for " + std::to_string(trips) +
                                " iterations is for fewer than " + std::to_string(kernel->depth) +
                                " of them alone"};
  try {
    const KernelTree tree = read_kernel(kernel->code);
    const std::vector<bool> needed = TtgirWriter(*kernel, tree, trips, nullptr).needed();
    kernel->text = TtgirWriter(*kernel, tree, trips, &needed).run();
    return std::move(*kernel);
  } catch (const Refusal& no) {
    return no;
  }
}

}  // namespace

std::variant<GluonKernel, Refusal> emit_ttgir(const program::Program& program,
                                              const EmitOptions& options, int trips) {
  return written(emit_gluon(program, options), asks_arguments(program, options.user), trips);
}

std::variant<GluonKernel, Refusal> emit_ttgir(const std::vector<SequencePart>& parts,
                                              const EmitOptions& options, int trips) {
  const bool asks = std::any_of(parts.begin(), parts.end(), [](const SequencePart& one) {
    return asks_arguments(*one.program, one.user);
  });
  return written(emit_gluon(parts, options), asks, trips);
}

}  // namespace twill::emit
