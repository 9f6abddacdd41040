#include "graph/ttgir/module_run.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"

namespace twill::ttgir {
namespace {

using meaning::Index;
using meaning::Launch;
using meaning::Numbers;

constexpr std::int64_t kOther = 1'024;  // an argument that the trip count does not depend on
constexpr std::int64_t kPlace = 1;      // of the program in the grid
constexpr std::int64_t kMostPlace = 64;
constexpr std::int64_t kPrograms = 132, kFewPrograms = 2;  // of the grid, along an axis
constexpr double kDoubleLoss = 0x1p-40;  // what double precision loses in long sums

/// Of the first tile, where there is a loop over tiles. Not where the function returns before it.
bool has_trips(const meaning::UserKernel& kernel, Launch& launch, int n) {
  try {
    if (kernel.around) launch.tile = value_of(kernel.around->first, launch, 0);
    place_loaded(kernel, launch);  // (some of this tile)
    if (kernel.around && launch.tile != value_of(kernel.around->first, launch, 0)) return false;
    for (const meaning::IndexComparison& one : kernel.returns)
      if (holds(one, launch)) return false;
    return std::max<std::int64_t>(value_of(kernel.trips, launch, 0), 0) ==
           std::int64_t{n} * kernel.unrolled;
  } catch (const std::domain_error&) {
    return false;
  }
}

/// So many values with bounds keep some elements and leave out others, in the first iteration or
/// the last one of n.
int bounds_that_cut(const ModuleMeaning& of, const Launch& launch, int n) {
  meaning::Meaning m = of.meaning;
  set_numbers(m, of.kernel, launch);
  int cut = 0;
  for (const meaning::Value& value : m.values) {
    const std::vector<meaning::Bound> bounds = meaning::bounds_of(value);
    if (bounds.empty()) continue;
    bool kept = false, left_out = false;
    const std::int64_t columns = value.shape.size() == 2 ? value.shape[1] : 1;
    for (std::int64_t e = 0; e < meaning::elements(value.shape); ++e)
      for (const int i : {0, std::max(n - 1, 0)})
        (meaning::is_inside(bounds, e / columns, e % columns, i) ? kept : left_out) = true;
    if (kept && left_out) ++cut;
  }
  return cut;
}

/// Part `copy` of a tile, without extents of 1.
Numbers part_of(const MovedTile& whole, const TileOp& tile,
                const std::vector<std::int64_t>& shape) {
  Numbers part;
  part.shape = shape;
  std::int64_t inner = 1, extent = static_cast<std::int64_t>(whole.data.size());
  if (tile.dimension >= 0) {
    for (std::size_t d = at(tile.dimension) + 1; d < whole.shape.size(); ++d)
      inner *= whole.shape[d];
    extent = whole.shape.at(at(tile.dimension));
  }
  const std::int64_t own = extent / tile.copies;
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(whole.data.size()); ++k)
    if (k / inner % extent / own == tile.copy)
      part.data.push_back(whole.data[at(static_cast<int>(k))]);
  return part;
}

const std::vector<MovedTile>& executions(const Interpretation& all, const TileOp& tile) {
  static const std::vector<MovedTile> none;
  if (tile.result >= 0) {
    const auto found = all.made.find({tile.op, tile.result});
    return found == all.made.end() ? none : found->second;
  }
  const auto& moved = tile.masked ? all.brought : all.moved;
  const auto found = moved.find(tile.op);
  return found == moved.end() ? none : found->second;
}

/// Of a grid of so many programs along each axis.
bool find_launch(const meaning::UserKernel& kernel, int n, std::int64_t programs,
                 const std::vector<std::size_t>& free, const std::vector<std::size_t>& loaded,
                 Launch& launch) {
  const bool fixed = free.empty() && loaded.empty();
  const std::int64_t all = std::int64_t{n} * kernel.unrolled;
  for (int d = 0; d < 3; ++d) {
    launch.program[d] = d < 2 ? kPlace : 0;
    launch.programs[d] = programs;
  }
  const bool places = depends_on(kernel.trips, Index::program);
  for (std::int64_t place = 0; place <= (places ? kMostPlace : 0); ++place) {
    if (places) launch.program[0] = place == 0 ? kPlace : place - 1;
    if (launch.program[0] >= programs) break;
    if (fixed && has_trips(kernel, launch, n)) return true;
    for (std::int64_t step = 4'096; step > 0 && !fixed; step /= 2) {
      for (const std::size_t k : free) launch.arguments[k] = all * step;
      // (A sequence lies between two of them, in either order.)
      for (const bool falls : {false, true}) {
        for (std::size_t j = 0; j < loaded.size(); ++j)
          launch.loaded[loaded[falls ? loaded.size() - 1 - j : j]] =
              all * step * static_cast<std::int64_t>(j + 1);
        if (has_trips(kernel, launch, n)) return true;
        if (loaded.size() < 2) break;
      }
    }
  }
  return false;
}

}  // namespace

std::optional<Launch> launch_of(const meaning::UserKernel& kernel, int n) {
  Launch launch;
  std::vector<std::size_t> free;
  for (std::size_t k = 0; k < kernel.parameters.size(); ++k) {
    const bool integer = kernel.parameters[k].kind == meaning::Parameter::integer;
    launch.arguments.push_back(integer ? kOther : 0);
    if (integer && depends_on(kernel.trips, Index::argument, static_cast<std::int64_t>(k)))
      free.push_back(k);
  }
  std::vector<std::size_t> loaded;  // of which the trip count depends on some
  launch.loaded.assign(kernel.loaded.size(), kOther);
  for (std::size_t k = 0; k < kernel.loaded.size(); ++k)
    if (depends_on(kernel.trips, Index::loaded, static_cast<std::int64_t>(k))) loaded.push_back(k);
  const bool shared = depends_on(kernel.trips, Index::programs);
  for (const std::int64_t programs : {kPrograms, kFewPrograms}) {
    if (programs == kFewPrograms && !shared) break;
    if (find_launch(kernel, n, programs, free, loaded, launch)) return launch;
  }
  return std::nullopt;
}

std::optional<Launch> ragged_launch_of(const ModuleMeaning& of, int n) {
  auto plain = launch_of(of.kernel, n);
  const bool masked =
      std::any_of(of.meaning.values.begin(), of.meaning.values.end(),
                  [](const meaning::Value& value) { return !meaning::bounds_of(value).empty(); });
  if (!plain || !masked) return plain;
  Launch best = *plain;
  std::int64_t largest = 0;  // of the loaded numbers that the trip count depends on
  for (std::size_t k = 0; k < best.loaded.size(); ++k)
    if (depends_on(of.kernel.trips, Index::loaded, static_cast<std::int64_t>(k)))
      largest = std::max(largest, best.loaded[k]);
  int most = bounds_that_cut(of, best, n);
  // Arguments that the trip count has a little less, others of several sizes.
  for (const std::int64_t other :
       {kOther, std::int64_t{1'021}, std::int64_t{509}, std::int64_t{200}, std::int64_t{101},
        std::int64_t{37}, std::int64_t{11}, std::int64_t{5}})
    for (const std::int64_t less : {0, 3, 7, 13}) {
      Launch launch = *plain;
      for (std::size_t k = 0; k < of.kernel.parameters.size(); ++k) {
        if (of.kernel.parameters[k].kind != meaning::Parameter::integer) continue;
        if (depends_on(of.kernel.trips, Index::argument, static_cast<std::int64_t>(k)))
          launch.arguments[k] = std::max<std::int64_t>(launch.arguments[k] - less, 0);
        else
          launch.arguments[k] = other;
      }
      for (std::size_t k = 0; k < launch.loaded.size(); ++k) {
        if (!depends_on(of.kernel.trips, Index::loaded, static_cast<std::int64_t>(k)))
          launch.loaded[k] = other;
        else if (launch.loaded[k] == largest)  // (where a sequence ends)
          launch.loaded[k] = std::max<std::int64_t>(largest - less, 0);
      }
      if (!has_trips(of.kernel, launch, n)) continue;
      const int cut = bounds_that_cut(of, launch, n);
      if (cut > most) {
        most = cut;
        best = launch;
      }
    }
  return best;
}

void set_numbers(meaning::Meaning& meaning, const meaning::UserKernel& kernel,
                 const Launch& launch) {
  for (std::size_t c = 0; c < meaning.constants.size(); ++c) {
    const Index& index = kernel.numbers.at(c);
    double x = kRealArgument;
    if (index.kind != Index::argument ||
        kernel.parameters[at(static_cast<int>(index.value))].kind == meaning::Parameter::integer)
      x = static_cast<double>(value_of(index, launch, 0));
    meaning.constants[c].second = x;
    for (meaning::Value& value : meaning.values)
      for (meaning::Operand& one : value.operands)
        if (one.constant == meaning.constants[c].first) one.number = x;
    for (meaning::Initial& one : meaning.initial)
      if (one.what.constant == meaning.constants[c].first) one.what.number = x;
  }
}

std::variant<ModuleRun, NotInterpreted> run_module(const LoweredModule& lowered,
                                                   const ModuleMeaning& of, const Launch& launch,
                                                   int n, std::uint64_t seed) {
  auto result = interpret(lowered.module, lowered.loop.loop, launch, kRealArgument, seed);
  if (auto* no = std::get_if<NotInterpreted>(&result)) return std::move(*no);
  const Interpretation& all = std::get<Interpretation>(result);
  ModuleRun run;
  run.inputs.resize(of.meaning.tensors.size());
  run.outputs.resize(of.meaning.tensors.size());
  std::size_t runs = 0;  // of the loop
  const auto copies = at(of.kernel.unrolled);
  for (std::size_t t = 0; t < of.tiles.size(); ++t) {
    const TileOp& tile = of.tiles[t];
    const int index = static_cast<int>(t);
    const bool streams = of.meaning.streams(index);
    const std::size_t times = streams ? at(n) * copies : 1;
    const std::vector<MovedTile>& found = executions(all, tile);
    const std::size_t moved = found.size();
    // Inside an outer loop: so often each. The first run counts.
    if (runs == 0 && times > 0 && moved % times == 0) runs = moved / times;
    if (times == 0 ? moved != 0 : runs == 0 || moved != times * runs)
      return NotInterpreted{tile.op, of.meaning.tensors[t].name + " is moved " +
                                         std::to_string(moved) + " times, not " +
                                         std::to_string(times)};
    for (std::size_t i = at(tile.iteration); i < times; i += streams ? copies : 1) {
      Numbers part = part_of(found[i], tile, of.meaning.tensors[t].shape);
      if (static_cast<std::int64_t>(part.data.size()) != meaning::elements(part.shape))
        return NotInterpreted{tile.op, of.meaning.tensors[t].name + " has another size"};
      (of.meaning.is_output(index) ? run.outputs : run.inputs)[t].push_back(std::move(part));
    }
  }
  return run;
}

void take_numbers(std::vector<std::vector<meaning::Bounded>>& reference, const ModuleRun& run) {
  for (std::size_t t = 0; t < reference.size(); ++t)
    for (std::size_t i = 0; i < reference[t].size(); ++i) {
      meaning::Bounded& one = reference[t][i];
      const Numbers& right = run.outputs.at(t).at(i);
      for (std::size_t k = 0; k < one.value.data.size(); ++k) {
        const double x = right.data.at(k);
        double& error = one.error.data[k];
        // Where an error decides (a jump, a choice), the module may be on the other side, and an
        // execution as far from the meaning as the module is. (A number that the bound does not
        // allow is another one: the bound is not for this.)
        const double away = std::abs(x - one.value.data[k]);
        if (std::isfinite(x)) error += kDoubleLoss * std::abs(x);
        if (away <= error) error += away;
        one.value.data[k] = x;
      }
    }
}

}  // namespace twill::ttgir
