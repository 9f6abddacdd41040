#include "bench/lab/scramble.hpp"

#include <numeric>

#include "graph/error.hpp"
#include "graph/io/json_text.hpp"
#include "graph/random.hpp"

namespace twill::bench {
namespace {

template <class T>
void shuffle(std::vector<T>& items, SplitMix64& random) {
  for (std::size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1],
              items[static_cast<std::size_t>(random.range(0, static_cast<std::int64_t>(i) - 1))]);
}

}  // namespace

Scramble scramble_parts(std::string_view text, Scramble scramble) {
  scramble.variables = scramble.polarities = scramble.clauses = scramble.literals = false;
  if (text == "none") return scramble;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    if (part == "variables")
      scramble.variables = true;
    else if (part == "polarities")
      scramble.polarities = true;
    else if (part == "clauses")
      scramble.clauses = true;
    else if (part == "literals")
      scramble.literals = true;
    else
      throw InputError("command line", "--scramble-parts", quote(part),
                       "must be of variables, polarities, clauses, literals, or none");
  }
  return scramble;
}

std::string to_string(const Scramble& scramble) {
  std::string text;
  const auto add = [&](bool on, const char* name) {
    if (on) text += (text.empty() ? "" : ",") + std::string(name);
  };
  add(scramble.variables, "variables");
  add(scramble.polarities, "polarities");
  add(scramble.clauses, "clauses");
  add(scramble.literals, "literals");
  return text.empty() ? "none" : text;
}

ScrambledCnf scrambled(const MemoryCnf& cnf, const Scramble& scramble) {
  ScrambledCnf out;
  const auto variables = static_cast<std::size_t>(cnf.variables());
  SplitMix64 random(scramble.seed);
  std::vector<int> order(variables);
  std::iota(order.begin(), order.end(), 1);
  const bool on = scramble.seed != 0;
  if (on && scramble.variables) shuffle(order, random);
  out.image.assign(variables + 1, 0);
  for (std::size_t v = 0; v < variables; ++v) {
    const bool flip = on && scramble.polarities && random.range(0, 1) == 1;
    out.image[v + 1] = flip ? -order[v] : order[v];
    out.cnf.new_variable();
  }
  std::vector<std::size_t> clauses(cnf.clauses());
  std::iota(clauses.begin(), clauses.end(), std::size_t{0});
  if (on && scramble.clauses) shuffle(clauses, random);
  std::vector<int> literals;
  for (const std::size_t c : clauses) {
    literals.clear();
    for (const int l : cnf.clause(c)) literals.push_back(out.of(l));
    if (on && scramble.literals) shuffle(literals, random);
    out.cnf.add_clause(literals);
  }
  return out;
}

}  // namespace twill::bench
