#include "graph/lowering/fit_machine.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "graph/divide.hpp"
#include "graph/io/fraction_io.hpp"
#include "graph/io/json_reader.hpp"
#include "graph/lowering/fit_line.hpp"
#include "graph/lowering/machine.hpp"

namespace twill {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMaxNumber = 1'000'000'000;  // factors and rates of machine files
constexpr double kPrecision = 10'000;               // a rate is at least this after its factor
constexpr double kRounding = 1e-9;                  // what floating point may be off by, relatively

constexpr std::size_t kNoTerm = static_cast<std::size_t>(-1);

/// Outward, so that an error of the last bits does not make a range too small.
double down(double x) {
  return std::floor(x - std::abs(x) * kRounding);
}
double up(double x) {
  return std::ceil(x + std::abs(x) * kRounding);
}

Json range_json(const CostRange& range) {
  return {{"nominal", fraction_json(range.nominal)},
          {"low", fraction_json(range.low)},
          {"high", fraction_json(range.high)}};
}

class MachineFitter {
 public:
  MachineFitter(const Measurements& measured, std::string_view base_text,
                const std::string& base_source)
      : measured_(measured), base_source_(base_source) {
    RangeEnds nominal;
    nominal.all = RangeEnd::nominal;
    machine_ = parse_machine(base_text, base_source, {}, nominal);
    file_ = JsonDocument::parse(base_text, base_source).json();
    if (file_.at("version") == 1)
      throw InputError(base_source, "/version", "1",
                       "ranges need a machine file of version 2, which names its reading");
  }

  FittedMachine run() {
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> parts;
    std::map<std::string, std::vector<std::size_t>> channels;
    std::vector<std::size_t> handovers, signals;
    for (std::size_t i = 0; i < measured_.samples.size(); ++i) {
      const Sample& sample = measured_.samples[i];
      switch (sample.kind) {
        case Sample::rule: parts[{sample.name, sample.part}].push_back(i); break;
        case Sample::channel: channels[sample.name].push_back(i); break;
        case Sample::handover: handovers.push_back(i); break;
        case Sample::signal: signals.push_back(i); break;
      }
    }
    for (const auto& [name, samples] : channels) fit_channel(name, samples);
    fit_spill(handovers, signals);
    std::map<std::string, std::set<std::string>> measured_parts;
    for (const auto& [part, samples] : parts) {
      fit_part(part.first, part.second, samples);
      measured_parts[part.first].insert(part.second);
    }
    for (const auto& [rule, names] : measured_parts) name_rule_source(rule, names);
    name_machine();
    FittedMachine fitted{json_file_text(file_, base_source_), std::move(costs_)};
    check(fitted.text);
    return fitted;
  }

 private:
  [[noreturn]] void fail(std::size_t sample, const std::string& key, const std::string& value,
                         const std::string& rule) const {
    throw InputError(measured_.source,
                     "/samples/" + std::to_string(sample) + (key.empty() ? "" : "/" + key), value,
                     rule);
  }

  std::size_t repetitions(const std::vector<std::size_t>& samples) const {
    std::size_t count = 0;
    for (const std::size_t i : samples) count += measured_.samples[i].cycles.size();
    return count;
  }

  std::string measured_on() const {
    return "measured on " + measured_.device + " (" + std::to_string(measured_.clock_mhz) +
           " MHz, " + measured_.toolkit + "), " + measured_.date;
  }

  static std::string count_text(std::size_t samples, std::size_t repetitions) {
    return std::to_string(samples) + (samples == 1 ? " sample, " : " samples, ") +
           std::to_string(repetitions) + (repetitions == 1 ? " repetition" : " repetitions");
  }

  /// Notes a range and returns what the file has of it.
  Json note(std::string place, bool rate, const Fraction& nominal, const Fraction& low,
            const Fraction& high, const std::vector<std::size_t>& samples) {
    const CostRange range{std::move(place), nominal, low, high, rate};
    costs_.push_back({range, samples.size(), repetitions(samples)});
    return range_json(range);
  }

  /// A whole number in [least, most] with its range, outward; `first`: the sample to blame.
  Json whole(const std::string& place, const Estimate& estimate, std::int64_t least,
             std::int64_t most, const std::vector<std::size_t>& samples) {
    const double low = std::max(down(estimate.low), static_cast<double>(least));
    const double high = up(estimate.high);
    if (high < static_cast<double>(least) || high > static_cast<double>(most))
      fail(samples.front(), "cycles", std::to_string(estimate.high),
           place + " must be from " + std::to_string(least) + " to " + std::to_string(most));
    const double nominal = std::clamp(std::round(estimate.nominal), low, high);
    const auto number = [](double x) { return Fraction{static_cast<Amount>(x), 1}; };
    return note(place, false, number(nominal), number(low), number(high), samples);
  }

  // --- channels and hand-overs -----------------------------------------------------------------

  void fit_channel(const std::string& name, const std::vector<std::size_t>& samples) {
    constexpr Amount kParts = 1000;  // the rate in thousandths
    const Json* channels = file_.contains("channels") ? &file_["channels"] : nullptr;
    if (channels == nullptr || !channels->contains(name)) {
      std::string known;
      for (const MachineChannel& channel : machine_.channels)
        known += (known.empty() ? "" : ", ") + channel.name;
      fail(samples.front(), "channel", quote(name), "must name a channel of the base: " + known);
    }
    std::vector<FitPoint> points;
    for (const std::size_t i : samples)
      points.push_back(
          fit_point(static_cast<double>(measured_.samples[i].amount), measured_.samples[i].cycles));
    const Estimate slope = fit_slope(points);  // cycles for one of what passes
    const double low = down(kParts / slope.high), high = up(kParts / slope.low);
    if (low < 1 || high > static_cast<double>(kMaxAmount))
      fail(samples.front(), "cycles", std::to_string(slope.nominal),
           "the rate must be from 1 in 1000 cycles to " + std::to_string(kMaxAmount / kParts));
    const double nominal = std::clamp(std::round(kParts / slope.nominal), low, high);
    const auto number = [](double x) { return lowest_terms({static_cast<Amount>(x), kParts}); };
    Json& channel = file_["channels"][name];
    channel["rate"] = note("channels." + name + ".rate", true, number(nominal), number(low),
                           number(high), samples);
    channel["source"] = measured_on() + ": " + count_text(samples.size(), repetitions(samples));
  }

  static Fraction lowest_terms(Fraction fraction) {
    Amount a = fraction.numerator, b = fraction.denominator;
    while (b != 0) a = std::exchange(b, a % b);
    return {fraction.numerator / a, fraction.denominator / a};
  }

  void fit_spill(const std::vector<std::size_t>& handovers,
                 const std::vector<std::size_t>& signals) {
    if (handovers.empty() && signals.empty()) return;
    if (!file_.contains("spill"))
      fail(handovers.empty() ? signals.front() : handovers.front(), "handover", "",
           "the base has no cost of a hand-over (spill)");
    Json& spill = file_["spill"];
    std::string source = measured_on() + ": ";
    if (!handovers.empty()) {
      std::vector<FitPoint> points;
      for (const std::size_t i : handovers)
        points.push_back(fit_point(static_cast<double>(ceil_divide(measured_.samples[i].amount,
                                                                   machine_.spill.line_bytes)),
                                   measured_.samples[i].cycles));
      Line line = line_of(points, handovers, "lines of the hand-over");
      spill["base"] = whole("spill.base", line.base, 0, kMaxCycles, handovers);
      keep_below(points, spill["base"], line.slope);
      spill["per_line"] = whole("spill.per_line", line.slope, 0, 1'000'000, handovers);
      source += "base and per_line, " + count_text(handovers.size(), repetitions(handovers));
    }
    if (!signals.empty()) {
      std::vector<FitPoint> points;
      for (const std::size_t i : signals)
        points.push_back(fit_point(1, measured_.samples[i].cycles));
      spill["signal"] = whole("spill.signal", fit_constant(points), 0, kMaxCycles, signals);
      source += std::string(handovers.empty() ? "" : "; ") + "signal, " +
                count_text(signals.size(), repetitions(signals));
      fit_arrival(fit_constant(points).nominal, signals);
    }
    Json& sources = file_["sources"];
    if ((handovers.empty() || (signals.empty() && machine_.spill.signal > 0)) &&
        sources.contains("spill"))
      source += "; else: " + sources["spill"].get<std::string>();
    sources["spill"] = source;
  }

  /// A signal is an arrival at a barrier and the wait for it.
  void fit_arrival(double signal, const std::vector<std::size_t>& signals) {
    if (!machine_.barriers) return;
    const Cycle wait = machine_.barriers->wait;
    file_["barriers"]["arrive"] = std::max<Cycle>(std::llround(signal) - wait, 0);
    file_["sources"]["barriers"] = measured_on() + ": a signal, " +
                                   count_text(signals.size(), repetitions(signals)) +
                                   ", without the wait's " + std::to_string(wait);
  }

  Line line_of(const std::vector<FitPoint>& points, const std::vector<std::size_t>& samples,
               const std::string& what) const {
    std::optional<Line> line = fit_line(points);
    if (!line)
      fail(samples.front(), "", std::to_string(samples.size()) + " of one size",
           "a base and a slope, two unknowns, need samples of two sizes at least (" + what + ")");
    if (line->slope.nominal <= 0)
      fail(samples.front(), "cycles", "a slope of " + std::to_string(line->slope.nominal),
           "the cycles must grow with the work (" + what + ")");
    return *line;
  }

  /// A base that would be less than what files can say is larger than it was fitted: then the slope
  /// must still stay below what was measured.
  static void keep_below(const std::vector<FitPoint>& points, const Json& base, Estimate& slope) {
    const auto least = base["low"].get<double>();
    for (const FitPoint& p : points) slope.low = std::min(slope.low, (p.low - least) / p.x);
  }

  // --- rules -----------------------------------------------------------------------------------

  static bool plain(const CostTerm& term) {
    return term.less == 0 && term.times == 1 && term.at_least == 0 && term.at_most == kMaxCycles;
  }

  static const std::vector<CostTerm>& part_of(const CostRule& rule, const std::string& part) {
    return part == "cycles" ? rule.cycles : (part == "occupancy" ? rule.occupancy : rule.latency);
  }

  const std::vector<CostTerm>& terms_of(const std::string& name, const std::string& part,
                                        std::size_t sample) const {
    const auto rule = machine_.rules.find(name);
    if (rule == machine_.rules.end()) {
      std::string known;
      for (const auto& [kind, other] : machine_.rules) known += (known.empty() ? "" : ", ") + kind;
      fail(sample, "rule", quote(name), "must be a rule of the base: " + known);
    }
    const std::vector<CostTerm>& terms = part_of(rule->second, part);
    if (terms.empty())
      fail(sample, "part", quote(part), "the base's rule " + quote(name) + " has none of its own");
    return terms;
  }

  int width_of(const Sample& sample) const {
    return sample.width.value_or(machine_.rules.at(sample.name).width);
  }

  /// A number of the sample's tile; where a measure is not for such tiles, the sample is to blame.
  template <class Count>
  auto of_sample(std::size_t i, const Count& count) const {
    const CostContext context{measured_.source, i, machine_.vector_copies};
    try {
      return count(context);
    } catch (const InputError& error) {
      fail(i, error.place().substr(error.place().rfind('/') + 1), error.value(), error.rule());
    }
  }

  double counted_of(std::size_t i, const CostTerm& term) const {
    const Sample& sample = measured_.samples[i];
    return of_sample(i, [&](const CostContext& context) {
      return static_cast<double>(counted(term, sample.tile, width_of(sample), context)) *
             static_cast<double>(term.factor);
    });
  }

  /// Cycles of the terms that are not fitted.
  double fixed_cycles(std::size_t i, const std::vector<CostTerm>& terms, std::size_t slope,
                      std::size_t base) const {
    std::vector<CostTerm> others;
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (k != slope && k != base) others.push_back(terms[k]);
    const Sample& sample = measured_.samples[i];
    return of_sample(i, [&](const CostContext& context) {
      return static_cast<double>(sum_terms(others, sample.tile, width_of(sample), context));
    });
  }

  void fit_part(const std::string& name, const std::string& part,
                const std::vector<std::size_t>& samples) {
    const std::vector<CostTerm>& terms = terms_of(name, part, samples.front());
    std::size_t slope = kNoTerm, base = kNoTerm;
    for (std::size_t k = terms.size(); k-- > 0;) {
      if (!plain(terms[k])) continue;
      const bool constant = terms[k].measure == Measure::constant;
      if (constant && (terms[k].rate != 1 || !terms[k].rates.empty())) continue;
      (constant ? base : slope) = k;
    }
    if (slope == kNoTerm && base == kNoTerm)
      fail(samples.front(), "rule", quote(name),
           "no number of its " + part + " can be fitted: every term has less, times or a clamp");
    const std::string place = "rules." + name + "." + part + ".";
    Json& file = file_["rules"][name][part];
    std::map<std::string, std::vector<std::size_t>> by_type;  // one group where the rate is one
    for (const std::size_t i : samples)
      by_type[slope != kNoTerm && !terms[slope].rates.empty()
                  ? measured_.samples[i].tile.operand_type
                  : ""]
          .push_back(i);
    if (base != kNoTerm && by_type.size() > 1)
      fail(by_type.rbegin()->second.front(), "operand_type", quote(by_type.rbegin()->first),
           "a rule with a constant is measured with one operand type at a time");
    std::vector<RateSamples> rates;
    for (const auto& [type, group] : by_type) {
      if (!type.empty() && terms[slope].rates.count(type) == 0)
        fail(group.front(), "operand_type", quote(type), "the base's rule has no rate for it");
      std::vector<FitPoint> points;
      for (const std::size_t i : group) {
        std::vector<double> cycles = measured_.samples[i].cycles;
        const double fixed = fixed_cycles(i, terms, slope, base);
        for (double& c : cycles) c -= fixed;
        if (cycles.front() <= 0)
          fail(i, "cycles", std::to_string(measured_.samples[i].cycles.front()),
               "must be more than what the terms that are not fitted take, " +
                   std::to_string(static_cast<Cycle>(fixed)));
        points.push_back(fit_point(slope == kNoTerm ? 1 : counted_of(i, terms[slope]), cycles));
      }
      if (slope == kNoTerm) {
        file[base]["factor"] = whole(place + std::to_string(base) + ".factor", fit_constant(points),
                                     1, kMaxNumber, group);
        continue;
      }
      Estimate per_work;
      if (base == kNoTerm) {
        per_work = fit_slope(points);
      } else {
        const Line line = line_of(points, group, place + std::to_string(slope));
        per_work = line.slope;
        file[base]["factor"] =
            whole(place + std::to_string(base) + ".factor", line.base, 1, kMaxNumber, group);
        keep_below(points, file[base]["factor"], per_work);
      }
      if (per_work.low <= 0)
        fail(group.front(), "cycles", "a slope from " + std::to_string(per_work.low),
             "the repetitions differ by more than the work makes: take larger tiles or more "
             "repetitions");
      rates.push_back({type, per_work, group});
    }
    if (slope != kNoTerm) fit_rates(place + std::to_string(slope), rates, file[slope]);
  }

  struct RateSamples {
    std::string type;   ///< of the operands; "" = the rate is one for all
    Estimate per_work;  ///< cycles for one of what the term counts, with its factor
    std::vector<std::size_t> samples;
  };

  /// cycles = work / rate: the term gets a factor, so that its rates, integers, are precise.
  void fit_rates(const std::string& place, const std::vector<RateSamples>& all, Json& term) {
    std::int64_t scale = 1;
    for (const RateSamples& one : all)
      while (static_cast<double>(scale) / one.per_work.high < kPrecision && scale < kMaxNumber)
        scale *= 10;
    scale_term(term, scale, all.front().samples.front());
    const auto factor = static_cast<double>(scale);
    for (const auto& [type, per_work, samples] : all) {
      const double low = down(factor / per_work.high), high = up(factor / per_work.low);
      if (low < 1 || high > static_cast<double>(kMaxNumber))
        fail(samples.front(), "cycles", std::to_string(per_work.nominal) + " for one",
             "the rate must be one of machine files: work / rate with a rate from 1 to " +
                 std::to_string(kMaxNumber));
      const double nominal = std::clamp(std::round(factor / per_work.nominal), low, high);
      const auto number = [](double x) { return Fraction{static_cast<Amount>(x), 1}; };
      Json& target = type.empty() ? term["rate"] : term["rates"][type];
      target = note(place + (type.empty() ? ".rate" : ".rates." + type), true, number(nominal),
                    number(low), number(high), samples);
    }
  }

  /// The factor and every rate `scale` times as large, which leaves the term as it is.
  void scale_term(Json& term, std::int64_t scale, std::size_t sample) const {
    if (term.contains("factor") && term["factor"].is_object())
      term["factor"] = Json(term["factor"]["nominal"]);
    if (scale == 1) return;
    const auto scaled = [&](const Json& number) {
      const auto value = number.get<std::int64_t>();
      if (value > kMaxNumber / scale)
        fail(sample, "cycles", "", "the base's numbers are too large to be made more precise");
      return value * scale;
    };
    const auto scale_all = [&](Json& number) {
      if (number.is_object())
        for (auto& [key, value] : number.items()) value = scaled(value);
      else
        number = scaled(number);
    };
    if (!term.contains("factor")) term["factor"] = 1;
    scale_all(term["factor"]);
    if (term.contains("rates"))
      for (auto& [type, value] : term["rates"].items()) scale_all(value);
  }

  // --- what the file says of itself --------------------------------------------------------------

  void name_rule_source(const std::string& name, const std::set<std::string>& parts) {
    const CostRule& rule = machine_.rules.at(name);
    Json& file = file_["rules"][name];
    std::string source = measured_on() + ": ";
    for (const std::string& part : parts) {
      std::vector<std::size_t> samples;
      for (std::size_t i = 0; i < measured_.samples.size(); ++i)
        if (measured_.samples[i].kind == Sample::rule && measured_.samples[i].name == name &&
            measured_.samples[i].part == part)
          samples.push_back(i);
      source += (part == *parts.begin() ? "" : "; ") + part + ", " +
                count_text(samples.size(), repetitions(samples));
    }
    // What was not measured keeps its source: other parts, traffic, types, terms.
    const auto covered = [&](const char* part, const std::vector<CostTerm>& terms) {
      return terms.empty() || (parts.count(part) != 0 &&
                               std::all_of(terms.begin(), terms.end(),
                                           [](const CostTerm& term) {
                                             return plain(term) && term.rates.size() <= 1;
                                           }) &&
                               terms.size() <= 2);
    };
    const bool all = covered("cycles", rule.cycles) && covered("occupancy", rule.occupancy) &&
                     covered("latency", rule.latency) && rule.traffic.empty();
    if (!all && file.contains("source")) source += "; else: " + file["source"].get<std::string>();
    file["source"] = source;
  }

  void name_machine() {
    file_["name"] = file_["name"].get<std::string>() + "-measured";
    file_["doc"] = (file_.contains("doc") ? file_["doc"].get<std::string>() + " " : "") +
                   "Ranges of costs: " + measured_on() + ".";
  }

  /// The file as written holds what was measured.
  void check(const std::string& text) const {
    const auto at = [&](RangeEnd end) {
      RangeEnds ends;
      ends.all = end;
      return parse_machine(text, "the fitted machine", {}, ends);
    };
    const Machine best = at(RangeEnd::best), worst = at(RangeEnd::worst);
    for (std::size_t i = 0; i < measured_.samples.size(); ++i) {
      const Sample& sample = measured_.samples[i];
      const FitPoint p = fit_point(1, sample.cycles);
      if (cycles_on(best, i) > std::ceil(p.low) || cycles_on(worst, i) < p.high * (1 - kRounding))
        throw std::logic_error("the fitted ranges do not hold sample " + std::to_string(i));
    }
  }

  double cycles_on(const Machine& machine, std::size_t i) const {
    const Sample& sample = measured_.samples[i];
    const SpillRule& spill = machine.spill;
    if (sample.kind == Sample::signal) return static_cast<double>(spill.signal);
    if (sample.kind == Sample::handover)
      return static_cast<double>(spill.base +
                                 spill.per_line * ceil_divide(sample.amount, spill.line_bytes));
    if (sample.kind == Sample::channel) {
      for (const MachineChannel& channel : machine.channels)
        if (channel.name == sample.name)
          return static_cast<double>(sample.amount) *
                 static_cast<double>(channel.rate.denominator) /
                 static_cast<double>(channel.rate.numerator);
      return 0;
    }
    const std::vector<CostTerm>& terms = part_of(machine.rules.at(sample.name), sample.part);
    return of_sample(i, [&](const CostContext& context) {
      return static_cast<double>(sum_terms(terms, sample.tile, width_of(sample), context));
    });
  }

  const Measurements& measured_;
  const std::string& base_source_;
  Machine machine_;  ///< the base, at its nominal costs
  Json file_;
  std::vector<FittedCost> costs_;
};

}  // namespace

FittedMachine fit_machine(const Measurements& measurements, std::string_view base_text,
                          const std::string& base_source) {
  return MachineFitter(measurements, base_text, base_source).run();
}

}  // namespace twill
