#include "graph/ttgir/result_types.hpp"

#include <algorithm>
#include <string>

#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/type.hpp"

namespace twill::ttgir {
namespace {

constexpr std::string_view kToken = "!ttg.async.token";

/// A type with its element replaced: "tensor<128x64xf32, #l>" -> "tensor<128x64xi1, #l>".
int with_element(Module& module, int type, std::string_view element,
                 const std::function<int(std::string_view)>& intern) {
  const std::string_view text =
      resolve_alias(module.types[static_cast<std::size_t>(type)].text, module);
  if (!text.starts_with("tensor<")) return intern(element);
  // The shape: digits and x; then the element up to a comma or the closing bracket.
  std::size_t begin = 7;
  while (begin < text.size() && ((text[begin] >= '0' && text[begin] <= '9') || text[begin] == 'x'))
    ++begin;
  std::size_t end = begin;
  int depth = 0;
  while (end < text.size() && !(depth == 0 && (text[end] == ',' || text[end] == '>'))) {
    depth += text[end] == '<' ? 1 : text[end] == '>' ? -1 : 0;
    ++end;
  }
  std::string made(text.substr(0, begin));
  made += element;
  made += text.substr(end);
  return intern(*module.made.insert(std::move(made)).first);
}

/// What a tensor of pointers points to: "tensor<128x!tt.ptr<f16>, #l>" -> "f16".
std::string_view pointee(std::string_view text) {
  const std::size_t at = text.find("!tt.ptr<");
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + 8;
  return text.substr(begin, text.find_first_of(",>", begin) - begin);
}

/// A type whose dialect's name the op's syntax leaves out: "<128x64xf16, #l>" ->
/// "!tt.tensordesc<..>".
int with_head(Module& module, int type, std::string_view head,
              const std::function<int(std::string_view)>& intern) {
  const std::string_view text = module.types[static_cast<std::size_t>(type)].text;
  if (!text.starts_with('<')) return type;
  return intern(*module.made.insert(std::string(head) + std::string(text)).first);
}

}  // namespace

std::size_t unnamed_results(const Operation& op, const TypeClause& clause) {
  const auto kind = static_cast<OpClass>(op.op_class);
  if (clause.arrow && (op.generic || kind == OpClass::control)) return clause.after.size();
  switch (kind) {
    case OpClass::elementwise:
    case OpClass::reduction:
    case OpClass::layout:
    case OpClass::view:
    case OpClass::load:
    case OpClass::tmem_load:
    case OpClass::local_load:
    case OpClass::local_alloc:
      if (op.generic) return 0;
      return clause.arrow ? clause.after.size() : std::min<std::size_t>(1, clause.before.size());
    default: return 0;
  }
}

std::vector<int> result_types(Module& module, const Operation& op, const TypeClause& clause,
                              std::size_t count,
                              const std::function<int(std::string_view)>& intern) {
  std::vector<int> types;
  if (count == 0) return types;
  const auto all = [&](int type) { types.resize(count, type); };
  const std::string_view name = op.name;
  // Stores and copies may have a token, products and groups of copies have one; the arrow of a
  // store leads to the buffer that it writes.
  if (name == "ttng.tmem_store" || name.starts_with("ttng.tc_gen5_mma") ||
      name == "ttg.async_copy_global_to_local" || name == "ttg.async_commit_group" ||
      name == "ttg.async_wait" || name == "ttg.local_store") {
    all(intern(kToken));
    return types;
  }
  if (clause.arrow) {
    types = clause.after;
  } else if (!clause.before.empty()) {
    if (name == "arith.cmpi" || name == "arith.cmpf") {
      types = {with_element(module, clause.before[0], "i1", intern)};
    } else if (name == "tt.load") {
      const std::string_view element = pointee(
          resolve_alias(module.types[static_cast<std::size_t>(clause.before[0])].text, module));
      types = {element.empty() ? clause.before[0]
                               : with_element(module, clause.before[0], element, intern)};
    } else if (name == "arith.select") {
      types = {clause.before.back()};
    } else if (name == "tt.make_tensor_descriptor") {
      types = {with_head(module, clause.before.back(), "!tt.tensordesc", intern)};
    } else if (name == "tt.make_tensor_ptr" || name == "tt.advance") {
      types = {with_head(module, clause.before.back(), "!tt.ptr", intern)};
    } else if (name == "nvws.aref.create") {
      types = {with_head(module, clause.before.back(), "!nvws.aref", intern)};
    } else if (name == "ttng.warp_group_dot_wait") {
      types = clause.before;
    } else {
      types = {clause.before[0]};
    }
  } else if (name == "arith.constant") {
    types = {intern("i1")};  // true and false have no type clause
  }
  if (name == "ttng.tmem_load" && types.size() < count) types.resize(count, intern(kToken));
  if (types.size() < count) types.resize(count, types.empty() ? kNone : types.back());
  types.resize(count);
  return types;
}

}  // namespace twill::ttgir
