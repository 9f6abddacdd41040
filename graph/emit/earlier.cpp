#include "graph/emit/earlier.hpp"

#include <string>
#include <utility>
#include <vector>

#include "graph/emit/plan_check.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using program::Refusal;

/// Why it is not repeated; nullopt = it is.
std::optional<std::string> why_not(const meaning::EarlierLoop& loop) {
  const meaning::Meaning& m = loop.meaning;
  for (int v = 0; v < m.after_begin; ++v) {
    const meaning::Value& value = m.values[at(v)];
    if (value.function == Function::product || value.function == Function::store)
      return "it multiplies matrices or stores";
    if (value.tensor < 0) continue;
    const meaning::Place& place = loop.kernel.places[at(value.tensor)];
    if (place.earlier >= 0) continue;
    if (place.parameter < 0)
      return "where the tiles of " + m.tensors[at(value.tensor)].name +
             " lie is not made of arguments, the program's place and the iteration alone";
    if (loop.kernel.parameters[at(place.parameter)].kind != meaning::Parameter::pointer)
      return "it loads by bulk copies";
  }
  for (const meaning::Value& value : m.values)
    for (const meaning::Operand& one : value.operands)
      if (one.distance > 1 || one.is_part())
        return "it uses a part of a tile, or what an iteration long before made";
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> plan_earlier(Plan& plan, Names& names, const EmitOptions& options) {
  if (plan.user == nullptr) return std::nullopt;
  if (!plan.user->earlier.empty() && (plan.tiles() || !options.as_triton))
    return Refusal{"function", "the loop uses what a loop before it makes: not emitted here yet"};
  for (const meaning::EarlierLoop& loop : plan.user->earlier) {
    if (const auto why = why_not(loop))
      return Refusal{"function", "the loop uses what the loop of line " +
                                     std::to_string(loop.line) +
                                     " makes, which is not repeated: " + *why};
    Plan one;
    one.given = plan.given;
    one.meaning = &loop.meaning;
    one.user = &loop.kernel;
    one.legal.target = plan.legal.target;
    one.parameter_name = plan.parameter_name;
    one.counter = names.make("step", "step");
    one.line = loop.line;
    one.links.runner.assign(loop.meaning.values.size(), -1);  // ops have slots, this loop has none
    for (int s = 0; s <= plan.finish_slot(); ++s) one.other_warps.push_back(plan.warps(s));
    if (auto no = no_text_for(one, options)) return no;
    for (const meaning::LoadedNumber& number : loop.kernel.loaded)
      if (number.bits != 32)
        return Refusal{"function", "a loop before the loop uses a loaded number of 64 bits"};
    for (std::size_t c = 0; c < loop.kernel.numbers.size(); ++c) {
      const meaning::Index& index = loop.kernel.numbers[c];
      one.constant.push_back(index.kind == meaning::Index::argument
                                 ? plan.parameter_name[at(static_cast<int>(index.value))]
                                 : names.make(loop.meaning.constants[c].first, "number"));
    }
    for (const meaning::Value& value : loop.meaning.values)
      one.variable.push_back(names.make(value.id, "value", {"_before", "_down", "_across"}));
    if (auto no = plan_earlier(one, names, options)) return no;
    plan.earlier.push_back(std::move(one));
  }
  return std::nullopt;
}

}  // namespace twill::emit
