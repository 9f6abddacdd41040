// Loops before the loop whose results it uses (meaning_builder.hpp). One that stores nothing can be
// repeated wherever its results are needed: it is read as a loop of its own.
#include <algorithm>
#include <exception>

#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/ttgir/meaning_builder.hpp"
#include "graph/ttgir/scheduled.hpp"

namespace twill::ttgir {

using meaning::Function;

namespace {

constexpr int kMostReadings = 20;  // of earlier loops: each may use those before it

}  // namespace

/// Says of the tensor made last that it is a result of an earlier loop. Else why it is not.
std::string MeaningBuilder::repeat_earlier(int op, int result) {
  if (const auto no = no_earlier_.find(op); no != no_earlier_.end()) return no->second;
  if (!earlier_at_.contains(op)) {
    if (std::string why = read_earlier(op); !why.empty()) return no_earlier_[op] = std::move(why);
  }
  const int k = earlier_at_.at(op);
  const auto& results = kernel_.earlier[at(k)].results;
  if (at(result) >= results.size() || !results[at(result)])
    return "what its result " + std::to_string(result) + " is made of is not read";
  kernel_.places.back().earlier = k;
  kernel_.places.back().result = result;
  return "";
}

std::string MeaningBuilder::read_earlier(int op) {
  const auto& ops = m_.block(m_.op(loop_).block).ops;
  const auto loop = std::find(ops.begin(), ops.end(), loop_);
  if (m_.op(op).name != "scf.for" || std::find(ops.begin(), loop, op) == loop)
    return "it is no loop before it in its block";
  if (++*readings_ > kMostReadings) return "too many loops use each other's results";
  try {
    LoopOptions options = options_;
    options.subtile = 1;
    const LoopKernel earlier = lower_one_loop(m_, machine_, options, op, 0);
    kernel_.earlier.push_back(MeaningBuilder(m_, machine_, options, earlier).run_earlier(*readings_));
  } catch (const NoMeaning& no) {
    return no.why;
  } catch (const AlreadyLowered&) {
    return "it has been pipelined";
  } catch (const InputError& error) {
    return error.rule();
  }
  earlier_at_[op] = static_cast<int>(kernel_.earlier.size()) - 1;
  return "";
}

meaning::EarlierLoop MeaningBuilder::run_earlier(int& readings) {
  readings_ = &readings;
  check_function();
  if (!indices_.trips())
    refuse(loop_, "how often it runs is not made of arguments and the program's place alone");
  for (const int op : under_)
    if (class_of(m_.op(op)) == OpClass::store) refuse(op, "it stores");
  loop_values_.resize(k_.nodes.size());
  loop_value_.assign(k_.nodes.size(), -1);
  find_absorbed();
  for (std::size_t v = 0; v < k_.nodes.size(); ++v) loop_node(v);
  const std::vector<int>& results = m_.op(loop_).results;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const bool used = std::any_of(m_.ops.begin(), m_.ops.end(), [&](const Operation& op) {
      return std::find(op.operands.begin(), op.operands.end(), results[k]) != op.operands.end();
    });
    const Type* t = m_.type_of(results[k]);
    const auto* number = t == nullptr ? nullptr : meaning::number_type(t->element);
    if (used && number != nullptr && number->precision > 0)
      tried([&] { hand_on_part(static_cast<int>(k), results[k], 0, 1, -1); });
  }
  const int line = m_.op(loop_).line;
  ModuleMeaning all = joined();
  meaning::EarlierLoop made;
  made.id = loop_;
  made.line = line;
  made.results.resize(results.size());
  for (const meaning::Value& value : all.meaning.values) {
    if (value.tensor < 0 || value.function != Function::store) continue;
    const TileOp& tile = all.tiles[at(value.tensor)];
    if (tile.op == loop_ && tile.result >= 0) made.results[at(tile.result)] = value.operands[0];
  }
  made.meaning = std::move(all.meaning);
  made.kernel = std::move(all.kernel);
  made.kernel.incomplete.clear();
  // Vectors of neighbours are vectors of elements, too.
  for (std::size_t t = 0; t < made.kernel.places.size(); ++t) {
    meaning::Place& place = made.kernel.places[t];
    if (place.parameter < 0 || place.added || place.begin.size() != 1 ||
        made.meaning.tensors[t].shape.size() != 1)
      continue;
    place.added = {place.begin[0], meaning::Index::make(meaning::Index::row)};
    place.begin.clear();
  }
  return made;
}

}  // namespace twill::ttgir
