#include "graph/meaning/user_kernel.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "graph/index.hpp"

namespace twill::meaning {
namespace {

std::int64_t wrapped(std::uint64_t x) {
  return static_cast<std::int64_t>(x);
}

constexpr int kMostDepth = 64;  // of sums that are written out; deeper ones are one term

std::string text_of(const Index& index) {
  std::string text =
      std::to_string(static_cast<int>(index.kind)) + ":" + std::to_string(index.value);
  for (const Index& one : index.of) text += "(" + text_of(one) + ")";
  return text;
}

void add_to(std::map<std::string, std::int64_t>& terms, std::int64_t& rest, const Index& index,
            std::int64_t factor, int depth) {
  const auto number = [](const Index& one) { return one.kind == Index::number; };
  const auto times = [&](std::int64_t x) {
    return wrapped(static_cast<std::uint64_t>(factor) * static_cast<std::uint64_t>(x));
  };
  if (depth < kMostDepth) {
    if (number(index)) {
      rest = wrapped(static_cast<std::uint64_t>(rest) +
                     static_cast<std::uint64_t>(times(index.value)));
      return;
    }
    if (index.kind == Index::add || index.kind == Index::sub) {
      add_to(terms, rest, index.of[0], factor, depth + 1);
      add_to(terms, rest, index.of[1], index.kind == Index::add ? factor : times(-1), depth + 1);
      return;
    }
    if (index.kind == Index::mul && (number(index.of[0]) || number(index.of[1]))) {
      const bool first = number(index.of[0]);
      add_to(terms, rest, index.of[first ? 1 : 0], times(index.of[first ? 0 : 1].value), depth + 1);
      return;
    }
  }
  std::int64_t& now = terms[text_of(index)];
  now = wrapped(static_cast<std::uint64_t>(now) + static_cast<std::uint64_t>(factor));
}

Sum made(const std::map<std::string, std::int64_t>& terms, std::int64_t rest) {
  Sum sum;
  sum.rest = rest;
  for (const auto& [name, factor] : terms)
    if (factor != 0) sum.terms.emplace_back(name, factor);
  return sum;
}

bool compares(IndexComparison::How how, std::int64_t a, std::int64_t b) {
  switch (how) {
    case IndexComparison::less: return a < b;
    case IndexComparison::at_most: return a <= b;
    case IndexComparison::more: return a > b;
    case IndexComparison::at_least: return a >= b;
    case IndexComparison::equal: return a == b;
    case IndexComparison::unequal: return a != b;
  }
  return false;
}

}  // namespace

std::int64_t value_of(const Index& index, const Launch& launch, std::int64_t iteration) {
  const auto x = [&](int k) { return value_of(index.of[at(k)], launch, iteration); };
  const auto u = [&](int k) { return static_cast<std::uint64_t>(x(k)); };
  switch (index.kind) {
    case Index::number: return index.value;
    case Index::argument: return launch.arguments.at(static_cast<std::size_t>(index.value));
    case Index::program: return launch.program[index.value];
    case Index::programs: return launch.programs[index.value];
    case Index::iteration: return iteration;
    case Index::tile: return launch.tile;
    case Index::loaded: return launch.loaded.at(static_cast<std::size_t>(index.value));
    case Index::row: return launch.row;
    case Index::column: return launch.column;
    case Index::wide: return x(0);
    case Index::narrow: return static_cast<std::int32_t>(u(0));
    case Index::gathered: {
      std::uint64_t place = 0;
      for (int k = 0; k < static_cast<int>(index.of.size()); ++k) place += u(k);
      const auto found =
          launch.memory.find(std::pair(static_cast<int>(index.value), wrapped(place)));
      if (found == launch.memory.end()) throw std::domain_error("a gathered number is not known");
      return found->second;
    }
    case Index::compared:
      return compares(static_cast<IndexComparison::How>(index.value), x(0), x(1));
    case Index::chosen: {
      // (What is not chosen need not be known.)
      bool all = true;
      for (int k = 2; k < static_cast<int>(index.of.size()); ++k) all = all && x(k) != 0;
      return x(all ? 0 : 1);
    }
    case Index::add: return wrapped(u(0) + u(1));
    case Index::sub: return wrapped(u(0) - u(1));
    case Index::mul: return wrapped(u(0) * u(1));
    case Index::quotient:
    case Index::remainder: {
      const std::int64_t a = x(0), b = x(1);
      if (b == 0) throw std::domain_error("an index is divided by zero");
      if (b == -1)
        return index.kind == Index::quotient ? wrapped(0 - static_cast<std::uint64_t>(a)) : 0;
      return index.kind == Index::quotient ? a / b : a % b;
    }
    case Index::least: return std::min(x(0), x(1));
    case Index::largest: return std::max(x(0), x(1));
    case Index::bit_and: return x(0) & x(1);
    case Index::shift_right: return x(0) >> std::clamp<std::int64_t>(x(1), 0, 63);
  }
  return 0;
}

Index compared(const IndexComparison& one) {
  Index made = Index::make(Index::compared, one.a, one.b);
  made.value = one.how;
  return made;
}

bool holds(const IndexComparison& one, const Launch& launch, std::int64_t iteration) {
  return compares(one.how, value_of(one.a, launch, iteration), value_of(one.b, launch, iteration));
}

void place_loaded(const UserKernel& kernel, Launch& launch) {
  launch.memory.clear();
  launch.loaded.resize(kernel.loaded.size(), 0);
  for (std::size_t k = 0; k < kernel.loaded.size(); ++k) {
    const LoadedNumber& one = kernel.loaded[k];
    const auto place = std::pair(one.parameter, value_of(one.place, launch, 0));
    launch.loaded[k] = launch.memory.emplace(place, launch.loaded[k]).first->second;
  }
}

bool depends_on(const Index& index, Index::Kind kind, std::int64_t value) {
  if (index.kind == kind && (value < 0 || index.value == value)) return true;
  return std::any_of(index.of.begin(), index.of.end(),
                     [&](const Index& one) { return depends_on(one, kind, value); });
}

Index at_iteration(Index index, std::int64_t iteration) {
  if (index.kind == Index::iteration) return Index::make(Index::number, iteration);
  for (Index& one : index.of) one = at_iteration(std::move(one), iteration);
  return index;
}

std::optional<Index> step_of(const Index& index) {
  if (!depends_on(index, Index::iteration)) return Index::whole(0);
  if (index.kind == Index::iteration) return Index::whole(1);
  if (index.kind == Index::add || index.kind == Index::sub) {
    auto a = step_of(index.of[0]), b = step_of(index.of[1]);
    if (!a || !b) return std::nullopt;
    return Index::make(index.kind, std::move(*a), std::move(*b));
  }
  if (index.kind != Index::mul) return std::nullopt;
  const bool first = depends_on(index.of[0], Index::iteration);
  if (first && depends_on(index.of[1], Index::iteration)) return std::nullopt;
  auto step = step_of(index.of[first ? 0 : 1]);
  if (!step) return std::nullopt;
  return Index::make(Index::mul, std::move(*step), index.of[first ? 1 : 0]);
}

Index replaced(Index index, const Index& row, const Index& column) {
  if (index.kind == Index::row) return row;
  if (index.kind == Index::column) return column;
  for (Index& one : index.of) one = replaced(std::move(one), row, column);
  return index;
}

std::optional<std::int64_t> Sum::per_iteration() const {
  const std::string name = text_of(Index::make(Index::iteration));
  std::int64_t found = 0;
  for (const auto& [term, factor] : terms) {
    if (term == name)
      found = factor;
    else if (term.find("(" + name + ")") != std::string::npos)
      return std::nullopt;
  }
  return found;
}

Sum sum_of(const Index& index) {
  std::map<std::string, std::int64_t> terms;
  std::int64_t rest = 0;
  add_to(terms, rest, index, 1, 0);
  return made(terms, rest);
}

Sum difference(const Sum& a, const Sum& b) {
  std::map<std::string, std::int64_t> terms(a.terms.begin(), a.terms.end());
  for (const auto& [name, factor] : b.terms)
    terms[name] =
        wrapped(static_cast<std::uint64_t>(terms[name]) - static_cast<std::uint64_t>(factor));
  return made(terms,
              wrapped(static_cast<std::uint64_t>(a.rest) - static_cast<std::uint64_t>(b.rest)));
}

}  // namespace twill::meaning
