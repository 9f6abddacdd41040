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
    std::map<int, int> through;
    std::vector<int> results;
    const std::optional<int> inner = nest_handing_on(op, through, results);
    const LoopKernel earlier = lower_one_loop(m_, machine_, options, inner.value_or(op), 0);
    meaning::EarlierLoop made =
        MeaningBuilder(m_, machine_, options, earlier, through).run_earlier(*readings_);
    if (made.kernel.around.has_value() != inner.has_value()) return "it is in a loop over tiles";
    if (inner) {
      std::vector<std::optional<meaning::Operand>> all;
      for (const int k : results) all.push_back(made.results.at(at(k)));
      made.results = std::move(all);
      made.line = static_cast<int>(m_.op(op).line);
    }
    kernel_.earlier.push_back(std::move(made));
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

/// Of a loop whose body is a loop that goes on with what the one before it left, and integers: that
/// loop. `through`: the outer one's variables, and what each begins with; `results`: per result of
/// the outer one, that of the inner one which it is. nullopt = it is none such.
std::optional<int> MeaningBuilder::nest_handing_on(int op, std::map<int, int>& through,
                                                   std::vector<int>& results) const {
  const Operation& outer = m_.op(op);
  const int body = m_.regions[at(outer.regions[0])].blocks[0];
  int inner = kNone;
  for (const int one : m_.block(body).ops) {
    if (m_.op(one).name == "scf.for" && inner != kNone) return std::nullopt;
    if (m_.op(one).name == "scf.for") inner = one;
  }
  if (inner == kNone || m_.block(body).ops.empty()) return std::nullopt;
  const Operation &loop = m_.op(inner), &yield = m_.op(m_.block(body).ops.back());
  const std::size_t count = outer.results.size();
  if (yield.name != "scf.yield" || yield.operands.size() != count || count == 0 ||
      loop.results.size() != count || outer.operands.size() != kFirstLoopVariable + count ||
      loop.operands.size() != kFirstLoopVariable + count)
    return std::nullopt;
  const std::vector<int>& variables = m_.block(body).arguments;
  if (variables.size() != count + 1) return std::nullopt;
  for (std::size_t j = 0; j < count; ++j) {
    // Variable j begins the inner loop's one of which the outer one's j is made again.
    const auto made = std::find(loop.results.begin(), loop.results.end(), yield.operands[j]);
    if (made == loop.results.end()) return std::nullopt;
    const auto k = static_cast<std::size_t>(made - loop.results.begin());
    if (loop.operands[kFirstLoopVariable + k] != variables[j + 1]) return std::nullopt;
    through[variables[j + 1]] = outer.operands[kFirstLoopVariable + j];
    results.push_back(static_cast<int>(k));
  }
  // Nobody else uses them.
  for (int user = 0; user < static_cast<int>(m_.ops.size()); ++user)
    for (std::size_t k = 0; k < m_.op(user).operands.size(); ++k)
      if (through.contains(m_.op(user).operands[k]) && (user != inner || k < kFirstLoopVariable)) {
        through.clear();
        return std::nullopt;
      }
  for (const int result : loop.results)
    for (const Operation& user : m_.ops)
      if (&user != &yield &&
          std::find(user.operands.begin(), user.operands.end(), result) != user.operands.end()) {
        through.clear();
        return std::nullopt;
      }
  return inner;
}

meaning::EarlierLoop MeaningBuilder::run_earlier(int& readings) {
  readings_ = &readings;
  check_function();
  if (!indices_.trips())
    refuse(loop_, "how often it runs is not made of arguments and the program's place alone");
  for (int op = 0; op < static_cast<int>(m_.ops.size()); ++op) {
    if (class_of(m_.op(op)) != OpClass::store) continue;
    for (int around = op; around != kNone; around = m_.parent(around))
      if (around == loop_ || (!through_.empty() && around == m_.parent(loop_)))
        refuse(op, "it stores");
  }
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
  const int line = static_cast<int>(m_.op(loop_).line);
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
