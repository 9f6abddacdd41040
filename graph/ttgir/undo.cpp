#include "graph/ttgir/undo.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "graph/ttgir/folded_text.hpp"
#include "graph/ttgir/loops.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/parser.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMaxChain = 1'000;  // of ops before the loop

/// Ops with the same text and sources are one: partitions repeat what is cheap.
bool may_repeat(OpClass c) {
  return c == OpClass::elementwise || c == OpClass::view || c == OpClass::layout ||
         c == OpClass::reduction || c == OpClass::replicated;
}

}  // namespace

Undone FoldedText::write() {
  if (peeled_ != nullptr) reserve_names();
  levels_.resize((peeled_ == nullptr ? 0 : l_.around().size()) + 1);
  outers_.resize(levels_.size() - 1);
  std::string text = header();
  Undone result;
  const ReplayedLoop& loop = r_.loops.front();
  const Operation& loop_op = m_.op(loop.op);
  const std::pair place{loop_op.line, loop_op.column};
  result.places.assign(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), place);
  variable_ =
      "%" +
      unique(name_of(m_.block(m_.regions[static_cast<std::size_t>(loop_op.regions[0])].blocks[0])
                         .arguments[0]));
  if (peeled_ != nullptr) {
    find_befores();
    write_early_returns();
    write_stores_before();
  }
  std::vector<std::string> bounds;
  for (std::size_t k = 0; k < 3; ++k)
    bounds.push_back(text_of(loop.bounds[k], loop_op.operands[k], loop.op));
  if (peeled_ != nullptr) {
    bounds[1] = end(loop.bounds[1], loop_op.operands[1]);
    find_recurring();
    find_staging();
    find_cut_products();
    find_scalars();
  }
  // (Numbers are written where they are asked for.)
  for (const int v : l_.order())
    if (peeled_ == nullptr || peeled_->even.count(v) == 0) write_node(v);
  if (peeled_ != nullptr) {
    write_after();
    write_yields();
    for (bool more = true; more;) {
      more = false;
      for (const auto& [key, names] : std::map(carried_))
        if (results_.count(key) == 0 && peeled_->even.count(key.first) != 0) {
          write_number(key.first, 0);
          more = true;
        }
    }
  }
  std::string inits, types, yields;
  const auto add = [](std::string& list, const std::string& one) {
    list += (list.empty() ? "" : ", ") + one;
  };
  const std::string after = "%" + unique("after");
  std::size_t variables = 0;
  for (const auto& [key, names] : carried_) {
    const std::string value =
        on_warps(std::string(l_.type(result_value(key.first, key.second))->text), key.first);
    for (std::size_t d = 0; d < names.size(); ++d) {
      add(inits,
          names[d] + " = " + first(key.first, key.second, static_cast<std::int64_t>(d) + 1, value));
      add(types, value);
      add(yields, d == 0 ? results_.at(key) : names[d - 1]);
      left_names_[{key.first, key.second, static_cast<std::int64_t>(d) + 1}] =
          after + "#" + std::to_string(variables++);
    }
  }
  for (const Once& one : once_) {
    add(inits, one.name + " = " + one.first);
    add(types, one.type);
    add(yields, one.later);
    ++variables;
  }
  const std::string kind(l_.type(loop_op.operands[0])->text);
  std::string head = "    ";
  if (!types.empty()) head += after + ":" + std::to_string(variables) + " = ";
  head += "scf.for " + variable_ + " = " + bounds[0] + " to " + bounds[1] + " step " + bounds[2];
  if (!types.empty()) head += " iter_args(" + inits + ") -> (" + types + ")";
  head += " : " + kind + " {";
  const auto append = [&](const Places& places) {
    result.places.insert(result.places.end(), places.begin(), places.end());
  };
  for (std::size_t outer = 0; outer < outers_.size(); ++outer) begin_outer(result, text, outer);
  append(levels_.back().before_places);
  text += levels_.back().before;
  append({place});
  append(body_places_);
  text += head + "\n" + body_ + "      scf.yield";
  if (!types.empty()) text += " " + yields + " : " + types;
  text += "\n    }\n" + with_left_names(levels_.back().after);
  append({place, place});
  append(levels_.back().after_places);
  for (std::size_t outer = outers_.size(); outer-- > 0;) end_outer(result, text, outer);
  text += "    tt.return\n  }\n}\n";
  append({place, place, place});
  result.text = std::move(text);
  result.whole = peeled_ != nullptr;
  result.resident = result.whole ? 0 : resident();
  return result;
}

std::string FoldedText::unique(std::string name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name = "v" + name;
  std::string result = name;
  for (int k = 1; !used_.insert(result).second; ++k) result = name + "_" + std::to_string(k);
  return result;
}

void FoldedText::line(Where where, const std::string& content, int op) {
  if (where == Where::body) return line_in_body(content, op);
  Level& level = levels_.size() == 1 ? levels_[0] : level_of(op);
  (where == Where::before ? level.before : level.after) += content + "\n";
  Places& places = where == Where::before ? level.before_places : level.after_places;
  const auto lines = 1 + std::count(content.begin(), content.end(), '\n');
  places.insert(places.end(), static_cast<std::size_t>(lines), {m_.op(op).line, m_.op(op).column});
}

/// A constant, defined before the loop.
std::string FoldedText::constant(std::int64_t number, int bits) {
  const auto [found, fresh] = constants_.try_emplace({number, bits}, "");
  if (fresh) {
    found->second = "%" + unique("c" + std::to_string(number < 0 ? -number : number) +
                                 (number < 0 ? "m" : "") + "_i" + std::to_string(bits));
    const std::string value = bits == 1 ? (number != 0 ? "true" : "false")
                                        : std::to_string(number) + " : i" + std::to_string(bits);
    levels_[0].before += "    " + found->second + " = arith.constant " + value + "\n";
    const Operation& loop = m_.op(l_.first_loop());
    levels_[0].before_places.emplace_back(loop.line, loop.column);
  }
  return found->second;
}

std::string FoldedText::text_of(const Datum& datum, int name, int op) {
  // (What holds in loops that run for long alone is written as it is made.)
  const bool assumed =
      peeled_ != nullptr && datum.assumed && datum.made != kNone && !of_loop(l_.at(datum.made));
  if (!assumed && datum.number && datum.number->terms.empty() &&
      l_.is_kind(name, TypeKind::scalar) && l_.type(name)->element.starts_with("i") &&
      l_.type(name)->element != "index")
    return constant(datum.number->constant, l_.type(name)->bits);
  if (datum.made == kNone) {
    const auto found = arguments_.find(datum.value);
    if (found == arguments_.end()) {
      if (const auto variable = outer_variable(datum.value)) return *variable;
      // The variable of a loop around it: any number.
      const auto [made, fresh] = outer_.try_emplace(datum.value, "");
      if (fresh) {
        made->second = "%" + unique(name_of(datum.value));
        line(Where::before, "    " + made->second + " = tt.get_program_id x : i32", op);
      }
      return made->second;
    }
    return found->second;
  }
  return before(datum.made, datum.value);
}

/// A value from before the loop, by name; the op that makes it is written.
std::string FoldedText::before(int execution, int value) {
  const auto found = made_.find({execution, value});
  if (found != made_.end()) return found->second;
  const Execution& x = l_.at(execution);
  const Operation& op = m_.op(x.op);
  const bool loops = op.name.starts_with("scf.") || op.name == "ttg.warp_specialize";
  if (peeled_ != nullptr) {
    if (passed_loop(execution) != kNone)
      cannot_undo(x.op, "another loop's iterations are not its own");
    if (op.name == "ttng.tmem_alloc" && operand_tile(op) == kNone &&
        l_.type(value)->shape.size() == 2)
      return named_memory(execution, value);
    if (op.name == "scf.for" || op.name == "scf.if") {
      write_loop_before(execution);
      return made_.at({execution, value});
    }
    if (loops) cannot_undo(x.op, "what it comes to is read in the loop or behind it");
    if (class_of(op) == OpClass::tmem_load) write_before_reading(execution);
    if (class_of(op) == OpClass::local_alloc && operand_tile(op) == kNone)
      return filled_before(execution, value);
  }
  std::map<int, std::string> names;
  if (++chain_ > kMaxChain) cannot_undo(x.op, "it is the end of too long a chain of ops");
  if (!loops)
    for (std::size_t k = 0; k < x.reads.size(); ++k)
      names[x.names[k]] = text_of(x.reads[k], x.names[k], x.op);
  --chain_;
  std::string results;
  for (const int result : op.results) {
    std::string& name = made_[{execution, result}];
    name = "%" + unique(name_of(result));
    results += (results.empty() ? "" : ", ") + name;
  }
  if (loops) {  // what they come to is known to nobody
    results.clear();
    for (const int result : op.results)
      line(Where::before,
           l_.on_module_warps("    " + made_[{execution, result}] +
                                  " = \"twill.before\"() : () -> " +
                                  std::string(l_.type(result)->text),
                              execution),
           x.op);
  } else if (op.name.starts_with("nvws.aref.")) {
    // A buffer of its ring, by number.
    const Type* type = l_.type(value);
    for (const BufferUse& use : x.buffers)
      if (type != nullptr && type->kind == TypeKind::memdesc) {
        const int ring = m_.op(l_.at(use.buffer).op).results.at(0);
        line(Where::before,
             "    " + made_.at({execution, value}) + " = ttg.memdesc_index " +
                 before(use.buffer, ring) + "[" + constant(use.slot, 32) +
                 "] : " + std::string(l_.type(ring)->text) + " -> " + std::string(type->text),
             x.op);
        break;
      }
  } else {
    line(Where::before,
         "    " + results + " = " + l_.on_module_warps(op_text(m_, x.op, names), execution), x.op);
  }
  return made_.at({execution, value});
}

/// A buffer in the place of a ring of tensor memory.
std::string FoldedText::collapsed(int buffer, int name) {
  std::string result = named_memory(buffer, name);
  if (filled_.insert(buffer).second && peeled_ != nullptr) fill_tensor_memory(buffer, result, name);
  return result;
}

/// The same, whatever is in it.
std::string FoldedText::named_memory(int buffer, int name) {
  const auto [found, fresh] = collapsed_.try_emplace(buffer, "");
  if (fresh) {
    const int op = buffer < kNone ? kNone - 1 - buffer : l_.at(buffer).op;
    found->second = "%" + unique(name_of(m_.op(op).results[0]));
    line(Where::before,
         "    " + found->second + " = ttng.tmem_alloc : () -> " + std::string(l_.type(name)->text),
         op);
  }
  return found->second;
}

std::string FoldedText::carried(int node, int result, std::int64_t distance) {
  auto& names = carried_[{node, result}];
  while (static_cast<std::int64_t>(names.size()) < distance)
    names.push_back("%" + unique("before_" + name_of(result_value(node, result))));
  return names[static_cast<std::size_t>(distance) - 1];
}

/// The value of the module that a node's result has the type of.
int FoldedText::result_value(int node, int result) const {
  const Operation& op = m_.op(l_.node(node).op);
  if (is_filler(op)) return filled(op);
  return op.results[static_cast<std::size_t>(result)];
}

/// An op whose buffer stands for its result: a copy, a store into a ring.
bool FoldedText::is_filler(const Operation& op) const {
  return op.name == "ttng.async_tma_copy_global_to_local" ||
         op.name == "ttg.async_copy_global_to_local" || op.name == "nvws.descriptor_load" ||
         (class_of(op) == OpClass::local_store && op.results.empty());
}
int FoldedText::filled(const Operation& op) const {
  for (const int value : op.operands)
    if (l_.is_kind(value, TypeKind::memdesc) && !is_barrier_buffer(m_, value)) return value;
  cannot_undo(op_index(op), "the buffer that it fills is not known");
}

std::string FoldedText::read_text(int v, std::size_t k, int name) {
  if (peeled_ != nullptr)
    if (const auto number = number_ahead(v, k, name, peeled_->ahead[static_cast<std::size_t>(v)]))
      return *number;
  return read_plain(v, k, name);
}

std::string FoldedText::read_plain(int v, std::size_t k, int name) {
  const FoldedLoop::Node& node = l_.node(v);
  const FoldedSource& s = node.reads[k];
  const Execution& x = l_.at(l_.execution(node.op, kFirstSeen));
  switch (s.kind) {
    case FoldedSource::number: return constant(s.iteration, s.result);
    case FoldedSource::variable: return variable_;
    case FoldedSource::buffer: return collapsed(s.op, name);
    case FoldedSource::before: return text_of(x.reads[k], name, node.op);
    case FoldedSource::node: break;
  }
  const int from = l_.node_index(s.op);
  if (is_set(from) && results_.count({from, 0}) == 0) write_op(from);
  const std::int64_t d = is_set(from) ? 0 : l_.distance(v, s);
  if (d > 0) return carried(from, s.result, d);
  const auto found = results_.find({from, s.result});
  if (found == results_.end()) cannot_undo(node.op, "it reads what is made after it");
  return found->second;
}

void FoldedText::write_node(int v) {
  if (joined_.count(v) != 0) return;
  if (const auto chain = whole_products_.find(v); chain != whole_products_.end())
    return write_whole_product(v, chain->second);
  if (const auto scalar = scalars_.find(v); scalar != scalars_.end())
    return write_scalar(v, scalar->second);
  if (is_set(v)) return;  // (written where it is asked for)
  if (const auto mask = without_guard(v)) {
    results_[{v, 0}] = *mask;
    return;
  }
  write_op(v);
}

void FoldedText::write_op(int v) {
  const FoldedLoop::Node& node = l_.node(v);
  const Operation& op = m_.op(node.op);
  const Execution& x = l_.at(l_.execution(node.op, kFirstSeen));
  std::map<int, std::string> names;
  for (std::size_t k = 0; k < x.reads.size(); ++k)
    if (!l_.drops(x.names[k]) && !(is_filler(op) && x.names[k] == filled(op)))
      if (!passes_through(v, k) && !(is_filler(op) && reads_set(v, k)))
        names[x.names[k]] = once(v, k, x.names[k], read_text(v, k, x.names[k]));
  if (staging_.count(v) != 0) return;  // its stores have the tile
  if (peeled_ != nullptr && is_tile_store(op)) return store_staged(v, names);
  if (is_filler(op)) return write_filler(v, names);
  std::string text = is_tensor_memory_mma(op) ? product(op, names) : op_text(m_, node.op, names);
  for (const int value : op.operands)
    if (l_.is_kind(value, TypeKind::token) && !is_tensor_memory_mma(op))
      text = without_token(text, name_of(value));  // [%t] or token %t
  text = on_warps(text, v);
  if (may_repeat(class_of(op)) && op.results.size() == 1) {
    const auto [found, fresh] = written_.try_emplace(text, v);
    if (!fresh) {
      results_[{v, 0}] = results_.at({found->second, 0});
      return;
    }
  }
  std::string results;
  for (std::size_t k = 0; k < op.results.size(); ++k) {
    std::string& name = results_[{v, static_cast<int>(k)}];
    name = "%" + unique(name_of(op.results[k]));
    results += (k == 0 ? "" : ", ") + name;
  }
  line_in_body(results.empty() ? text : results + " = " + text, node.op);
}

void FoldedText::line_in_body(const std::string& text, int op) {
  // Ops with regions have several lines; all are the op's.
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  body_ += "      " + text + "\n";
  for (std::int64_t k = 0; k < lines; ++k)
    body_places_.emplace_back(m_.op(op).line, m_.op(op).column);
}

/// A product of tensor memory without its barriers; of one with scales these are two more tiles,
/// and the types of what they scale stand behind the operands.
std::string FoldedText::product(const Operation& op,
                                const std::map<int, std::string>& names) const {
  const bool scaled = op.name == "ttng.tc_gen5_mma_scaled";
  const std::size_t count = scaled ? 5 : 3;
  std::vector<int> tiles, flags;
  for (const int value : op.operands) {
    if (l_.is_kind(value, TypeKind::memdesc) && !is_barrier_buffer(m_, value))
      tiles.push_back(value);
    if (l_.is_kind(value, TypeKind::scalar)) flags.push_back(value);
  }
  if (tiles.size() != count || flags.size() < 2)
    cannot_undo(op_index(op), "its operands are not understood");
  std::string text = std::string(op.name) + " ", types;
  for (std::size_t k = 0; k < count; ++k) {
    text += (k == 0 ? "" : ", ") + names.at(tiles[k]);
    types += (k == 0 ? "" : ", ") + std::string(l_.type(tiles[k])->text);
  }
  text += ", " + names.at(flags[0]) + ", " + names.at(flags[1]);
  if (scaled) text += scaled_types(op);
  std::string attributes;
  for (const auto* list : {&op.attributes, &op.properties})
    for (const Attribute& a : *list)
      if (a.name != "is_async" && a.name != "operandSegmentSizes" && a.name != "a_type" &&
          a.name != "b_type" && !a.name.starts_with("loop.") &&
          !a.name.starts_with("ttg.partition"))
        attributes += (attributes.empty() ? "" : ", ") + std::string(a.name) +
                      (a.value.empty() ? "" : " = " + std::string(a.value));
  if (!attributes.empty()) text += " {" + attributes + "}";
  return text + " : " + types;
}

/// " lhs = e4m3 rhs = e2m1", of the custom form.
std::string FoldedText::scaled_types(const Operation& op) const {
  std::string text;
  if (op.generic) {  // numbers of an enumeration
    static constexpr std::array<std::string_view, 7> kTypes = {"e4m3", "e5m2", "e2m3", "e3m2",
                                                               "e2m1", "bf16", "fp16"};
    for (const auto& [word, key] : {std::pair{" lhs = ", "a_type"}, {" rhs = ", "b_type"}}) {
      const std::string_view value = m_.attribute(op, key);
      std::size_t number = kTypes.size();
      std::from_chars(value.data(), value.data() + value.size(), number);
      if (number >= kTypes.size())
        cannot_undo(op_index(op), "the types of what it scales are not read");
      text += std::string(word) + std::string(kTypes[number]);
    }
    return text;
  }
  const std::string_view all = std::string_view(*m_.text).substr(op.begin, op.end - op.begin);
  for (const std::string_view word : {" lhs = ", " rhs = "}) {
    const std::size_t at = all.find(word);
    if (at == std::string_view::npos)
      cannot_undo(op_index(op), "the types of what it scales are not read");
    const std::size_t begin = at + word.size();
    std::size_t end = begin;
    while (end < all.size() && std::string_view(" ,{:\n").find(all[end]) == std::string_view::npos)
      ++end;
    text += std::string(word) + std::string(all.substr(begin, end - begin));
  }
  return text;
}

void FoldedText::write_filler(int v, const std::map<int, std::string>& names) {
  const int index = l_.node(v).op;
  const Operation& op = m_.op(index);
  std::string base = name_of(filled(op));
  const int execution = l_.execution(index, kFirstSeen);
  if (const Execution& x = l_.at(execution); !x.buffers.empty())
    base = name_of(m_.op(l_.at(x.buffers.front().buffer).op).results[0]);
  const auto [tile, tile_type] = loaded(Where::body, index, base, names, execution);
  std::string& name = results_[{v, 0}];
  name = "%" + unique(base);
  line_in_body(name + " = ttg.local_alloc " + tile + " : (" + tile_type + ") -> " +
                   std::string(l_.type(filled(op))->text),
               index);
}

std::pair<std::string, std::string> FoldedText::loaded(Where where, int index,
                                                       const std::string& base,
                                                       const std::map<int, std::string>& names,
                                                       int execution) {
  const Operation& op = m_.op(index);
  const Type* buffer = l_.type(filled(op));
  const auto write = [&](const std::string& content) {
    line(where, (where == Where::body ? "" : "    ") + content, index);
  };
  const auto on = [&](const std::string& types) {  // of no execution: on the function's warps
    return execution == kNone ? types : l_.on_module_warps(types, execution);
  };
  if (op.name == "ttg.async_copy_global_to_local") {
    // Pointers, then perhaps a mask and what stands where it is not set.
    std::string operands, pointers;
    for (const int value : op.operands) {
      if (!l_.is_kind(value, TypeKind::tensor)) continue;
      if (names.count(value) == 0) break;  // a mask that keeps all
      if (pointers.empty()) pointers = std::string(l_.type(value)->text);
      operands += (operands.empty() ? "" : ", ") + names.at(value);
    }
    const std::string tile = "%" + unique(base), tile_type = loaded_type(pointers);
    if (tile_type.empty()) cannot_undo(index, "its pointers are not read");
    write(on(tile + " = tt.load " + operands + " : " + pointers));
    return {tile, on(tile_type)};
  }
  if (class_of(op) != OpClass::copy)
    return {names.at(op.operands[0]), on(std::string(l_.type(op.operands[0])->text))};
  const std::string tile = "%" + unique(base);
  std::string tile_type = "tensor<";
  for (const std::int64_t extent : buffer->shape) tile_type += std::to_string(extent) + "x";
  // (The element as written: "f8" alone does not say which.)
  const std::string_view all = buffer->text;
  const auto digit = [&](std::size_t at) {
    return at < all.size() && std::isdigit(static_cast<unsigned char>(all[at])) != 0;
  };
  std::size_t element = all.find('<') + 1;
  while (digit(element) || (element < all.size() && all[element] == 'x' && digit(element - 1)))
    ++element;
  tile_type += std::string(all.substr(element, all.find_first_of(",>", element) - element)) + ">";
  std::string coordinates, descriptor, descriptor_type;
  for (const int value : op.operands) {
    const Type* t = l_.type(value);
    if (t->kind == TypeKind::descriptor) {
      descriptor = names.at(value);
      descriptor_type = std::string(t->text);
    } else if (t->kind == TypeKind::scalar && t->element == "i32") {
      coordinates += (coordinates.empty() ? "" : ", ") + names.at(value);
    }
  }
  if (descriptor.empty()) cannot_undo(index, "its descriptor is not read");
  write(tile + " = tt.descriptor_load " + descriptor + "[" + coordinates +
        "] : " + descriptor_type + " -> " + tile_type);
  return {tile, tile_type};
}

std::string FoldedText::header() {
  int function = loop_;
  for (int op = m_.parent(loop_); op != kNone; op = m_.parent(op))
    if (m_.op(op).name.ends_with(".func")) function = op;
  std::vector<std::pair<const char*, std::string>> aliases;
  for (const auto& [name, value] : m_.aliases)
    aliases.emplace_back(name.data(), std::string(name) + " = " + std::string(value));
  std::sort(aliases.begin(), aliases.end());
  std::string text;
  for (const auto& [at, alias] : aliases) text += alias + "\n";
  std::string attributes;
  for (const char* name : {"ttg.num-ctas", "ttg.num-warps", "ttg.target", "ttg.threads-per-warp"}) {
    const auto [value, op] = m_.inherited(loop_, name);
    if (op != kNone)
      attributes += (attributes.empty() ? "" : ", ") + std::string("\"") + name +
                    "\" = " + std::string(value);
  }
  text += "module attributes {" + attributes + "} {\n  tt.func public @";
  std::string symbol(m_.op(function).symbol);
  if (symbol.empty()) {
    symbol = std::string(m_.attribute(m_.op(function), "sym_name"));
    symbol = symbol.size() > 2 ? symbol.substr(1, symbol.size() - 2) : "loop";
  }
  text += symbol + "(";
  const auto& region = m_.regions[static_cast<std::size_t>(m_.op(function).regions[0])];
  bool first = true;
  for (const int argument : m_.block(region.blocks[0]).arguments) {
    arguments_[argument] = "%" + unique(name_of(argument));
    text +=
        (first ? "" : ", ") + arguments_[argument] + ": " + std::string(l_.type(argument)->text);
    if (const std::int64_t divisor = divisor_of(m_, m_.value(argument).name); divisor > 1)
      text += " {tt.divisibility = " + std::to_string(divisor) + " : i32}";
    first = false;
  }
  return text + ") {\n";
}

/// Buffers from before the loop that nothing in it uses and something after it does.
std::int64_t FoldedText::resident() const {
  std::set<int> executed;
  for (const Execution& x : r_.executions) executed.insert(x.op);
  std::int64_t bytes = 0;
  for (std::size_t e = 0; e < r_.executions.size(); ++e) {
    const Execution& x = r_.executions[e];
    const Operation& op = m_.op(x.op);
    if (of_loop(x) || class_of(op) != OpClass::local_alloc || l_.is_ring(static_cast<int>(e)))
      continue;
    const int buffer = op.results.empty() ? kNone : op.results[0];
    if (buffer == kNone || l_.type(buffer) == nullptr || is_barrier_buffer(m_, buffer)) continue;
    if (used_later(buffer, executed)) bytes += buffer_bytes(*l_.type(buffer));
  }
  return bytes;
}

/// Is a buffer, under any name, used by an op that was not executed up to the loop or in it?
bool FoldedText::used_later(int buffer, const std::set<int>& executed) const {
  std::set<int> names = {buffer};
  for (const Operation& op : m_.ops)  // in the order of the text, which is that of definition
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      if (names.count(op.operands[k]) == 0) continue;
      const OpClass c = class_of(op);
      if (op.name == "ttg.warp_specialize") {
        for (std::size_t r = 1; r < op.regions.size(); ++r) {
          const auto& region = m_.regions[static_cast<std::size_t>(op.regions[r])];
          if (region.blocks.empty()) continue;
          const auto& arguments = m_.block(region.blocks[0]).arguments;
          if (k < arguments.size()) names.insert(arguments[k]);
        }
      } else if (c == OpClass::view) {
        names.insert(op.results.begin(), op.results.end());
      } else if (c != OpClass::synchronise && executed.count(op_index(op)) == 0) {
        return true;
      }
    }
  return false;
}

namespace {

/// The loop with the function around it. Throws CannotUndo.
Undone undo_whole(const Module& module, int loop, const FoldedLoop& folded) {
  FoldedLoop again = folded.around().empty() ? folded : FoldedLoop(module, loop, true);
  const Peeled peeled = find_peeled(again);
  again.take(peeled);
  return FoldedText(again, loop, &peeled).write();
}

/// Does a loop wait for copies or barriers, so that it has been pipelined? (One without a loop in
/// it.)
bool waits(const Module& m, int loop) {
  bool found = false;
  for (const int region : m.op(loop).regions)
    for (const int block : m.regions[static_cast<std::size_t>(region)].blocks)
      for (const int op : m.block(block).ops) {
        const OpClass c = class_of(m.op(op));
        if (m.op(op).name == "scf.for" || m.op(op).name == "scf.while") return false;
        found = found || c == OpClass::synchronise || c == OpClass::copy ||
                m.op(op).name == "ttg.async_wait";
      }
  return found;
}

/// The first loop of a function that waits; kNone where none does.
int first_that_waits(const Module& m, const std::string& function) {
  for (std::size_t k = 0; k < m.ops.size(); ++k) {
    const int op = static_cast<int>(k);
    if (m.ops[k].name == "scf.for" && m.op(function_of(m, op)).symbol == function && waits(m, op))
      return op;
  }
  return kNone;
}

/// Are there other loops beside this one, and those around it?
bool has_siblings(const Module& m, int loop) {
  for (std::size_t k = 0; k < m.ops.size(); ++k) {
    const int op = static_cast<int>(k);
    if (m.ops[k].name != "scf.for" || function_of(m, op) != function_of(m, loop)) continue;
    bool around = false;
    for (int out = loop; out != kNone; out = m.parent(out)) around = around || out == op;
    if (!around) return true;
  }
  return false;
}

constexpr int kMostTurns = 16;  // loops of a function, one after the other

/// The function with each of its loops as it was, in turns: the first one that waits is undone
/// while those behind it stay as they are. Throws CannotUndo.
Undone undo_in_turns(const Module& module, int loop) {
  const std::string function(module.op(function_of(module, loop)).symbol);
  Undone result;
  std::optional<Module> made;
  for (int turn = 0;; ++turn) {
    const Module& now = made ? *made : module;
    const int next = first_that_waits(now, function);
    if (next == kNone && turn == 0) return undo_whole(module, loop, FoldedLoop(module, loop));
    if (next == kNone) break;
    if (turn == kMostTurns) cannot_undo(loop, "the function has too many loops");
    Undone undone;
    try {
      undone = undo_whole(now, next, FoldedLoop(now, next));
    } catch (const CannotUndo& why) {
      if (turn == 0 || why.op == kNone) throw;
      // Its place is that in a text that nobody has seen.
      throw CannotUndo{loop, "another loop of the function: " + why.why};
    }
    if (turn > 0)
      for (auto& [line, column] : undone.places)
        std::tie(line, column) = result.places.at(line - 1);
    result = std::move(undone);
    made = parse_module(result.text, module.source);
  }
  return result;
}

}  // namespace

Undone undo_schedule(const Module& module, int loop) try {
  const FoldedLoop folded(module, loop);
  CannotUndo reason;
  try {
    return folded.specialised() == kNone && has_siblings(module, loop)
               ? undo_in_turns(module, loop)
               : undo_whole(module, loop, folded);
  } catch (const CannotUndo& why) {
    reason = why;
  } catch (const std::out_of_range&) {
    reason = {loop, "an op around it has other operands than such ops have"};
  }
  Undone undone = FoldedText(folded, loop, nullptr).write();
  undone.why_alone = reason;
  return undone;
} catch (const std::out_of_range&) {  // (What no module of Triton's has: at() says so.)
  throw CannotUndo{loop, "an op of it has other operands than such ops have"};
}

}  // namespace twill::ttgir
