#include "engine/cli/tiles.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/output/style.hpp"

namespace twill::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kRows = 12;  // of the table

constexpr const char* kRagged =
    "Ragged ends are not counted: where a length is no multiple of its tile, the last tile is as "
    "long as the others.";

const char* closed_text(TileOutcome::Closed closed) {
  switch (closed) {
    case TileOutcome::best: return "best";
    case TileOutcome::misfit: return "cannot hold it";
    case TileOutcome::by_bound: return "bound";
    case TileOutcome::refuted: return "refuted";
    case TileOutcome::beaten: return "beaten";
    case TileOutcome::none: return "no schedule";
    case TileOutcome::covered: return "covered";
    case TileOutcome::open: break;
  }
  return "open";
}

std::string ratio_text(Cycle cycles, Amount work) {
  const std::int64_t common = std::gcd(cycles, work);
  return std::to_string(cycles / common) + "/" + std::to_string(work / common);
}

std::string rate_text(Cycle cycles, Amount work) {
  return decimal(static_cast<double>(work) / static_cast<double>(cycles), 1);
}

class Table {
 public:
  Table(const TilesSolution& tiles, const KernelParameters& parameters)
      : tiles_(tiles), parameters_(parameters) {}

  std::string run() {
    summary();
    if (tiles_.chosen) {
      best();
      rows();
    }
    text_ += std::string(kRagged) + "\n";
    return std::move(text_);
  }

 private:
  const TileOutcome& outcome(std::size_t k) const { return tiles_.outcomes[k]; }

  void summary() {
    const std::size_t all = tiles_.choices.size();
    std::size_t combinations = 0;
    std::map<TileOutcome::Closed, std::int64_t> counts;
    for (std::size_t k = 0; k < all; ++k) {
      ++counts[outcome(k).closed];
      if (k == 0 || tiles_.choices[k].values != tiles_.choices[k - 1].values) ++combinations;
    }
    text_ += "Tiles: " + plural(static_cast<std::int64_t>(combinations), "combination") + ", " +
             plural(static_cast<std::int64_t>(all), "choice") +
             " with their layouts: " + to_string(tiles_.status) + "\n ";
    std::string separator = " ";
    for (const auto& [closed, count] : counts) {
      text_ += separator + std::to_string(count) + " " + closed_text(closed);
      separator = ", ";
    }
    text_ += " (" + decimal(tiles_.seconds, 2) + " s)\n";
    if (cut_short(tiles_.stop))
      text_ += std::string("  stopped by: ") + to_string(tiles_.stop) + "\n";
  }

  void best() {
    const TileChoice& choice = tiles_.choice();
    const Schedule& schedule = *tiles_.solution().schedule;
    text_ += "  best: " + printable(values_text(choice.values)) + ", layout " +
             printable(choice.layout) + "\n";
    text_ += "  I " + std::to_string(schedule.initiation_interval) + " for " +
             std::to_string(choice.work) + " " + printable(parameters_.work_unit) +
             ": I / work = " + ratio_text(schedule.initiation_interval, choice.work) + ", " +
             rate_text(schedule.initiation_interval, choice.work) + " a cycle\n";
    text_ += "  L " + std::to_string(schedule.length) +
             ": L / work = " + ratio_text(schedule.length, choice.work) + "\n\n";
  }

  /// The smallest I that a choice has or can have.
  Cycle interval(std::size_t k) const {
    const auto& solution = outcome(k).solution;
    return solution && solution->schedule ? solution->schedule->initiation_interval
                                          : outcome(k).ii_bound;
  }
  bool less(std::size_t a, std::size_t b) const {
    return compare_ratios(interval(a), tiles_.choices[a].work, interval(b),
                          tiles_.choices[b].work) < 0;
  }
  static bool counts(const TileOutcome& outcome) {
    return outcome.closed != TileOutcome::misfit && outcome.closed != TileOutcome::none &&
           outcome.closed != TileOutcome::covered;
  }

  /// The best choice of each combination, the best combinations first; the default among them.
  void rows() {
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < tiles_.choices.size(); ++k) {
      if (!counts(outcome(k))) continue;
      if (order.empty() || tiles_.choices[order.back()].values != tiles_.choices[k].values)
        order.push_back(k);
      else if (k == *tiles_.chosen || (order.back() != *tiles_.chosen && less(k, order.back())))
        order.back() = k;
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if (less(a, b) || less(b, a)) return less(a, b);
      return a == *tiles_.chosen && b != *tiles_.chosen;
    });
    std::vector<std::vector<std::string>> lines = {heads()};
    for (std::size_t i = 0; i < order.size(); ++i)
      if (i < kRows || is_default(order[i])) lines.push_back(line(order[i]));
    std::vector<std::size_t> widths(lines.front().size(), 0);
    for (const auto& line : lines)
      for (std::size_t c = 0; c < line.size(); ++c)
        widths[c] = std::max(widths[c], display_width(line[c]));
    for (const auto& line : lines) {
      std::string row = " ";
      for (std::size_t c = 0; c < line.size(); ++c)
        row += " " + fit(line[c], widths[c], false, c + 1 < line.size()) + " ";
      row.erase(row.find_last_not_of(' ') + 1);
      text_ += row + "\n";
    }
    if (order.size() > kRows)
      text_ += "  (--json has all " + std::to_string(tiles_.choices.size()) + " choices)\n";
  }

  bool is_default(std::size_t k) const {
    const ParameterValues& values = tiles_.choices[k].values;
    for (std::size_t p = 0; p < values.size(); ++p)
      if (values[p].second != parameters_.all[p].text(parameters_.all[p].otherwise)) return false;
    return true;
  }

  std::vector<std::string> heads() const {
    std::vector<std::string> heads;
    for (const KernelParameter& parameter : parameters_.all) heads.push_back(parameter.name);
    for (const char* const head : {"layout", "I", "L"}) heads.emplace_back(head);
    heads.push_back(printable(parameters_.work_unit) + " a cycle");
    heads.emplace_back("I / work");
    heads.emplace_back("");
    return heads;
  }

  std::vector<std::string> line(std::size_t k) const {
    const TileChoice& choice = tiles_.choices[k];
    const TileOutcome& now = outcome(k);
    const bool found = now.solution && now.solution->schedule;
    std::vector<std::string> line;
    for (const auto& [name, value] : choice.values) line.push_back(printable(value));
    line.push_back(printable(choice.layout));
    line.push_back((found ? "" : ">= ") + std::to_string(interval(k)));
    line.push_back(found ? std::to_string(now.solution->schedule->length)
                         : (now.length_bound > 0 ? ">= " + std::to_string(now.length_bound) : ""));
    line.push_back((found ? "" : "<= ") + rate_text(interval(k), choice.work));
    const Cycle best = tiles_.solution().schedule->initiation_interval;
    const double more = static_cast<double>(interval(k)) / static_cast<double>(best) *
                        static_cast<double>(tiles_.choice().work) /
                        static_cast<double>(choice.work);
    line.push_back(k == *tiles_.chosen ? "best" : "+" + decimal(100 * (more - 1), 2) + " %");
    line.push_back(std::string(closed_text(now.closed)) + (is_default(k) ? ", the default" : ""));
    return line;
  }

  const TilesSolution& tiles_;
  const KernelParameters& parameters_;
  std::string text_;
};

Json outcome_json(const TileChoice& choice, const TileOutcome& outcome) {
  Json row = Json::object();
  row["values"] = Json::object();
  for (const auto& [name, value] : choice.values) row["values"][name] = value;
  row["layout"] = choice.layout;
  row["work"] = choice.work;
  row["closed"] = closed_text(outcome.closed);
  if (outcome.solution && outcome.solution->schedule) {
    row["initiation_interval"] = outcome.solution->schedule->initiation_interval;
    row["length"] = outcome.solution->schedule->length;
  }
  if (outcome.closed == TileOutcome::misfit) {
    row["why"] = choice.misfit;
    return row;
  }
  if (outcome.closed == TileOutcome::covered) row["covered_by"] = outcome.covered_by;
  if (outcome.closed == TileOutcome::by_bound) row["why"] = outcome.why;
  if (outcome.closed == TileOutcome::none || outcome.closed == TileOutcome::covered) return row;
  row["lower_bound"] = {{"initiation_interval", outcome.ii_bound}};
  if (outcome.length_bound > 0) row["lower_bound"]["length"] = outcome.length_bound;
  return row;
}

}  // namespace

std::string values_text(const ParameterValues& values) {
  std::string text;
  for (const auto& [name, value] : values) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

std::string tiles_text(const TilesSolution& tiles, const KernelParameters& parameters) {
  return Table(tiles, parameters).run();
}

std::string tiles_json(const TilesSolution& tiles, const KernelParameters& parameters) {
  Json all = {{"format", "twill.tiles"}, {"version", 1}};
  all["status"] = to_string(tiles.status);
  if (cut_short(tiles.stop)) all["stopped by"] = to_string(tiles.stop);
  all["work_unit"] = parameters.work_unit;
  all["note"] = kRagged;
  if (tiles.chosen) all["best"] = *tiles.chosen;
  all["choices"] = Json::array();
  for (std::size_t k = 0; k < tiles.choices.size(); ++k)
    all["choices"].push_back(outcome_json(tiles.choices[k], tiles.outcomes[k]));
  if (tiles.chosen) all["schedule"] = Json::parse(schedule_text(tiles.problem(), tiles.solution()));
  return all.dump(2) + "\n";
}

}  // namespace twill::cli
