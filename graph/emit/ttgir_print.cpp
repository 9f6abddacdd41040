// TTGIR text of ttgir_ir.hpp: what nobody needs is left out, names are made.
#include <algorithm>
#include <set>

#include "graph/emit/ttgir_ir.hpp"
#include "graph/index.hpp"

namespace twill::emit::ws {

std::string shape_text(const std::vector<std::int64_t>& shape, const char* between) {
  std::string text;
  for (const std::int64_t extent : shape)
    text += (text.empty() ? "" : between) + std::to_string(extent);
  return text;
}

std::string Type::text() const {
  const std::string elements = shape_text(shape, "x") + "x" + element;
  const std::string part = whole == shape ? "" : ", " + shape_text(whole, "x");
  switch (kind) {
    case scalar: return element;
    case tensor: return "tensor<" + elements + ", " + layout->text + ">";
    case shared:
      return "!ttg.memdesc<" + elements + ", " + layout->text + ", #smem, mutable" + part + ">";
    case tensor_memory:
      return "!ttg.memdesc<" + elements + ", " + layout->text + ", #ttng.tensor_memory, mutable" +
             part + ">";
    case descriptor: return "!tt.tensordesc<" + elements + ", " + layout->text + ">";
  }
  return "";
}

// (The number may be one of another value: `values_` grows here.)
int Module::constant(Block& where, const Type& type, std::string number) {
  Block* home = &where;
  while (!home->isolated) home = home->parent;
  const auto [found, fresh] = home->constants.try_emplace(type.text() + " " + number, -1);
  if (fresh) {
    found->second = value(type);
    (*this)[found->second].constant = std::move(number);
    home->constant_order.push_back(found->second);
  }
  return found->second;
}

std::string Module::alias(const std::string& attribute, const std::string& wish) {
  for (const auto& [name, text] : aliases_)
    if (text == attribute) return "#" + name;
  std::string name = wish;
  const auto taken = [&] {
    return std::any_of(aliases_.begin(), aliases_.end(),
                       [&](const auto& one) { return one.first == name; });
  };
  for (int k = 1; taken(); ++k) name = wish + "_" + std::to_string(k);
  aliases_.emplace_back(name, attribute);
  return "#" + name;
}

class Printer {
 public:
  explicit Printer(Module& module) : m_(module), needed_(module.values_.size(), false) {
    definitions_.resize(m_.values_.size());
    names_.resize(m_.values_.size());
  }

  std::vector<bool> mark() {
    index(m_.root_);
    while (!work_.empty()) {
      const int v = work_.back();
      work_.pop_back();
      follow(v);
    }
    return needed_;
  }

  std::string run(const std::string& name, const std::string& attributes) {
    mark();
    std::string list;
    for (const int a : m_.root_.arguments)
      list +=
          (list.empty() ? "" : ", ") + named(a, m_[a].hint) + ": " + m_[a].type.text() +
          (m_[a].divisor > 1 ? " {tt.divisibility = " + std::to_string(m_[a].divisor) + " : i32}"
                             : "");
    line(1, "tt.func public @" + name + "(" + list + ") attributes {noinline = false} {");
    block(2, m_.root_);
    line(2, "tt.return");
    line(1, "}");
    const std::string body = std::move(text_);
    std::string head;
    for (const auto& [alias, attribute] : m_.aliases_)
      if (uses(body, "#" + alias)) head += "#" + alias + " = " + attribute + "\n";
    return head + "#smem = #ttg.shared_memory\nmodule attributes {" + attributes + "} {\n" + body +
           "}\n";
  }

 private:
  /// Where a value is made: a result, or an argument of an op's block.
  struct Definition {
    const Op* op = nullptr;
    bool argument = false;
    std::size_t index = 0;
  };

  static bool uses(const std::string& text, const std::string& name) {
    const auto word = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    for (std::size_t k = text.find(name); k != std::string::npos; k = text.find(name, k + 1))
      if (k + name.size() == text.size() || !word(text[k + name.size()])) return true;
    return false;
  }

  // ---- what is needed

  void need(int v) {
    if (v < 0 || needed_[at(v)]) return;
    needed_[at(v)] = true;
    work_.push_back(v);
  }

  void index(const Block& block) {
    for (const auto& op : block.ops) {
      for (std::size_t k = 0; k < op->results.size(); ++k)
        definitions_[at(op->results[k])] = {op.get(), false, k};
      for (const auto& inner : op->blocks) {
        for (std::size_t k = 0; k < inner->arguments.size(); ++k)
          definitions_[at(inner->arguments[k])] = {op.get(), true, k};
        index(*inner);
      }
      if (op->kind == Op::plain && op->effect == Op::acts)
        for (const int v : op->operands) need(v);
      if (acts(*op)) need_control(*op);
    }
  }

  /// Does an op do something beside its results, it or what is in it?
  static bool acts(const Op& op) {
    if (op.kind == Op::plain) return op.effect == Op::acts;
    return std::any_of(op.blocks.begin(), op.blocks.end(), [](const auto& inner) {
      return std::any_of(inner->ops.begin(), inner->ops.end(),
                         [](const auto& one) { return acts(*one); });
    });
  }

  /// What decides how often a loop runs and which side of a branch does.
  void need_control(const Op& op) {
    const std::size_t count = op.kind == Op::loop ? 3 : op.kind == Op::branch ? 1 : 0;
    for (std::size_t k = 0; k < count; ++k) need(op.operands[k]);
  }

  void follow(int v) {
    const Definition& made = definitions_[at(v)];
    if (made.op == nullptr) return;
    const Op& op = *made.op;
    switch (op.kind) {
      case Op::plain:
        for (const int operand : op.operands) need(operand);
        break;
      case Op::loop:
        if (!made.argument || made.index > 0)
          carried(op, made.argument ? made.index - 1 : made.index);
        break;
      case Op::branch:
        need_control(op);
        for (const auto& inner : op.blocks) need(inner->yields[made.index]);
        break;
      case Op::partitions: need(op.operands[made.index]); break;
      case Op::remark: break;
    }
  }

  void carried(const Op& op, std::size_t k) {
    need_control(op);
    need(op.operands[k + 3]);
    need(op.blocks[0]->yields[k]);
  }

  bool keeps(const Op& loop, std::size_t k) const {
    return needed_[at(loop.results[k])] || needed_[at(loop.blocks[0]->arguments[k + 1])];
  }

  /// What the partitions see, in the order in which they first use it.
  std::vector<std::size_t> captured(const Op& op) const {
    std::vector<std::size_t> all;
    for (std::size_t b = 1; b < op.blocks.size(); ++b)
      for (const int place : op.passed[b - 1]) {
        const auto k = at(place);
        if (needed_[at(op.blocks[b]->arguments[k])] &&
            std::find(all.begin(), all.end(), k) == all.end())
          all.push_back(k);
      }
    return all;
  }

  /// Is an op left out: does it do nothing, and nobody needs its results? (What it carries of its
  /// own from iteration to iteration nobody needs then, either.)
  bool idle(const Op& op) const {
    return op.kind != Op::remark && !acts(op) &&
           std::none_of(op.results.begin(), op.results.end(),
                        [&](int v) { return needed_[at(v)]; });
  }

  /// Does a block do nothing?
  bool empty(const Block& block) const {
    return std::all_of(block.ops.begin(), block.ops.end(),
                       [&](const auto& op) { return op->kind == Op::remark || idle(*op); });
  }

  // ---- text

  void line(int depth, const std::string& text) {
    text_ += std::string(2 * at(depth), ' ') + text + "\n";
  }

  std::string fresh(const std::string& wish) {
    std::string name = wish;
    for (int k = next_[wish]; !taken_.insert(name).second; ++k) {
      name = wish + "_" + std::to_string(k);
      next_[wish] = k;
    }
    return "%" + name;
  }
  const std::string& named(int v, const std::string& wish) {
    if (names_[at(v)].empty()) names_[at(v)] = fresh(wish.empty() ? "v" : wish);
    return names_[at(v)];
  }

  std::string filled(const Op& op) const {
    std::string text;
    for (std::size_t k = 0; k < op.text.size(); ++k) {
      if (op.text[k] != '$' || k + 1 == op.text.size() || op.text[k + 1] < '0' ||
          op.text[k + 1] > '9') {
        text += op.text[k];
        if (op.text.compare(k, 2, "$$") == 0) ++k;
        continue;
      }
      std::size_t operand = 0;
      while (k + 1 < op.text.size() && op.text[k + 1] >= '0' && op.text[k + 1] <= '9')
        operand = 10 * operand + static_cast<std::size_t>(op.text[++k] - '0');
      text += names_[at(op.operands[operand])];
    }
    return text;
  }

  std::string results(const Op& op, const std::vector<int>& kept) {
    if (kept.empty()) return "";
    if (kept.size() == 1) return named(kept[0], m_[kept[0]].hint) + " = ";
    const std::string name = fresh(op.kind == Op::loop ? "after" : "both");
    for (std::size_t k = 0; k < kept.size(); ++k)
      names_[at(kept[k])] = name + "#" + std::to_string(k);
    return name + ":" + std::to_string(kept.size()) + " = ";
  }

  std::string list(const std::vector<int>& values, bool types) const {
    std::string text;
    for (const int v : values)
      text += (text.empty() ? "" : ", ") + (types ? m_[v].type.text() : names_[at(v)]);
    return text;
  }

  void block(int depth, const Block& block) {
    if (block.isolated)
      for (const int v : block.constant_order)
        if (needed_[at(v)]) constant(depth, v);
    for (const auto& op : block.ops) statement(depth, *op);
  }

  void constant(int depth, int v) {
    const Value& one = m_[v];
    const std::string& number = *one.constant;
    if (one.type.kind == Type::tensor) {
      line(depth, named(v, "all") + " = arith.constant dense<" + number + "> : " + one.type.text());
    } else if (one.type.element == "i1") {
      line(depth, named(v, number) + " = arith.constant " + number);
    } else {
      const std::string wish = one.type.floating()       ? "number"
                               : number.starts_with('-') ? "minus_" + number.substr(1)
                                                         : "c" + number;
      line(depth, named(v, wish) + " = arith.constant " + number + " : " + one.type.element);
    }
  }

  void statement(int depth, const Op& op) {
    if (op.kind != Op::partitions && idle(op)) return;
    switch (op.kind) {
      case Op::remark: line(depth, "// " + op.text); break;
      case Op::loop: loop(depth, op); break;
      case Op::branch: branch(depth, op); break;
      case Op::partitions: partitions(depth, op); break;
      case Op::plain:
        if (!op.comment.empty()) line(depth, "// " + op.comment);
        // (Operands are named before results.)
        std::string text = filled(op);
        for (std::size_t k = text.find('\n'); k != std::string::npos; k = text.find('\n', k + 1))
          text.insert(k + 1, std::string(2 * at(depth), ' '));
        line(depth, results(op, op.results) + text);
        break;
    }
  }

  void loop(int depth, const Op& op) {
    const Block& inner = *op.blocks[0];
    std::string first, types;
    std::vector<int> kept, yields;
    const std::string bounds = names_[at(op.operands[0])] + " to " + names_[at(op.operands[1])] +
                               " step " + names_[at(op.operands[2])];
    const std::string variable = named(inner.arguments[0], m_[inner.arguments[0]].hint);
    for (std::size_t k = 0; k < op.results.size(); ++k) {
      if (!keeps(op, k)) continue;
      const int argument = inner.arguments[k + 1];
      first += (first.empty() ? "" : ", ") + named(argument, m_[argument].hint) + " = " +
               names_[at(op.operands[k + 3])];
      types += (types.empty() ? "" : ", ") + m_[argument].type.text();
      kept.push_back(op.results[k]);
      yields.push_back(inner.yields[k]);
    }
    if (!op.comment.empty()) line(depth, "// " + op.comment);
    line(depth, results(op, kept) + "scf.for " + variable + " = " + bounds +
                    (kept.empty() ? "" : " iter_args(" + first + ") -> (" + types + ")") +
                    " : i32 {");
    block(depth + 1, inner);
    if (!kept.empty())
      line(depth + 1, "scf.yield " + list(yields, false) + " : " + list(yields, true));
    line(depth, "}");
  }

  void branch(int depth, const Op& op) {
    std::vector<std::size_t> kept;
    std::vector<int> values;
    for (std::size_t k = 0; k < op.results.size(); ++k)
      if (needed_[at(op.results[k])]) {
        kept.push_back(k);
        values.push_back(op.results[k]);
      }
    if (!op.comment.empty()) line(depth, "// " + op.comment);
    const std::string condition = names_[at(op.operands[0])];
    line(depth, results(op, values) + "scf.if " + condition +
                    (values.empty() ? "" : " -> (" + list(values, true) + ")") + " {");
    for (std::size_t b = 0; b < 2; ++b) {
      if (b == 1) line(depth, "} else {");
      block(depth + 1, *op.blocks[b]);
      std::vector<int> yields;
      for (const std::size_t k : kept) yields.push_back(op.blocks[b]->yields[k]);
      if (!yields.empty())
        line(depth + 1, "scf.yield " + list(yields, false) + " : " + list(yields, true));
    }
    line(depth, "}");
  }

  void partitions(int depth, const Op& op) {
    // Where none has something to do, as without iterations, there are none.
    if (std::all_of(op.blocks.begin(), op.blocks.end(),
                    [&](const auto& one) { return empty(*one); })) {
      block(depth, *op.blocks[0]);
      return;
    }
    const std::vector<std::size_t> kept = captured(op);
    std::vector<int> values;
    for (const std::size_t k : kept) values.push_back(op.operands[k]);
    line(depth, "ttg.warp_specialize(" + list(values, false) +
                    ") attributes {requestedRegisters = array<i32: " + numbers(op.registers) +
                    ">}");
    line(depth, "default {");
    block(depth + 1, *op.blocks[0]);
    line(depth + 1, "ttg.warp_yield");
    line(depth, "}");
    for (std::size_t b = 1; b < op.blocks.size(); ++b) {
      const Block& inner = *op.blocks[b];
      std::string arguments;
      for (const std::size_t k : kept)
        arguments += (arguments.empty() ? "" : ", ") +
                     named(inner.arguments[k], m_[inner.arguments[k]].hint) + ": " +
                     m_[inner.arguments[k]].type.text();
      line(depth, "partition" + std::to_string(b - 1) + "(" + arguments + ") num_warps(" +
                      std::to_string(op.warps[b - 1]) + ") {");
      block(depth + 1, inner);
      line(depth + 1, "ttg.warp_return");
      line(depth, b + 1 < op.blocks.size() ? "}" : "} : (" + list(values, true) + ") -> ()");
    }
  }

  static std::string numbers(const std::vector<int>& all) {
    std::string text;
    for (const int one : all) text += (text.empty() ? "" : ", ") + std::to_string(one);
    return text;
  }

  Module& m_;
  std::vector<bool> needed_;
  std::vector<int> work_;
  std::vector<Definition> definitions_;
  std::vector<std::string> names_;
  std::set<std::string> taken_{"left", "right", "joined"};  ///< (those of reductions)
  std::map<std::string, int> next_;
  std::string text_;
};

std::vector<bool> Module::needed() {
  return Printer(*this).mark();
}

std::string Module::print(const std::string& name, const std::string& attributes) {
  return Printer(*this).run(name, attributes);
}

}  // namespace twill::emit::ws
