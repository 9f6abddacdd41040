#include "engine/cli/pins.hpp"

#include <optional>
#include <string_view>

#include "engine/cli/cli.hpp"
#include "graph/check.hpp"
#include "graph/error.hpp"

namespace twill::cli {
namespace {

int op_index(const Problem& problem, std::string_view name) {
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    if (problem.ops[v].id == name) return static_cast<int>(v);
  return -1;
}

Cycle number(const char* option, const std::string& text, const std::string& digits, Cycle most,
             const std::string& what) {
  Cycle value = 0;
  bool valid = !digits.empty() && digits.size() <= 14;
  for (const char c : digits) {
    valid = valid && c >= '0' && c <= '9';
    value = 10 * value + (c - '0');
  }
  if (!valid || value > most)
    throw InputError("command line", option, text,
                     "the " + what + " must be a number from 0 to " + std::to_string(most));
  return value;
}

/// "4..8", "4..", "..8".
IntervalRange range_of(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == text.npos || text.size() == 2)
    throw InputError("command line", "--ii-range", text,
                     "must have the form least..most, where one of the two may be left out");
  const std::string least = text.substr(0, dots), most = text.substr(dots + 2);
  IntervalRange range;
  if (!least.empty())
    range.least = number("--ii-range", text, least, kMaxInterval, "least interval");
  if (!most.empty()) range.most = number("--ii-range", text, most, kMaxInterval, "most interval");
  if (range.least > range.most)
    throw InputError("command line", "--ii-range", text, "the least must not be above the most");
  return range;
}

class PinReader {
 public:
  PinReader(const Problem& problem, const std::string& layout)
      : problem_(problem), layout_(layout) {}

  /// op=slot, or op@cycle where that is allowed.
  Pin place(const char* option, const std::string& text, bool cycles) const {
    const std::string form =
        cycles ? "must have the form op=slot or op@cycle" : "must have the form op=slot";
    bool separated = false;
    for (std::size_t i = 0; i < text.size(); ++i) {  // ids may have these characters too
      if (text[i] != '=' && (text[i] != '@' || !cycles)) continue;
      separated = true;
      const int op = op_index(problem_, std::string_view(text).substr(0, i));
      if (op < 0) continue;
      Pin pin;
      pin.op = op;
      const std::string value = text.substr(i + 1);
      if (text[i] == '=') {
        pin.slot = slot(option, value);
        return pin;
      }
      pin.kind = Pin::at_cycle;
      pin.cycle = number(option, text, value, kMaxCycles, "cycle");
      return pin;
    }
    if (!separated) throw InputError("command line", option, text, form);
    throw InputError("command line", option, text, form + ", op one of " + ops());
  }

  /// op=stage.
  Pin in_stage(const std::string& text) const {
    const std::size_t sign = text.rfind('=');
    const int op = sign == text.npos ? -1 : op_index(problem_, text.substr(0, sign));
    if (op < 0)
      throw InputError("command line", "--stage", text,
                       "must have the form op=number, op one of " + ops());
    Pin pin;
    pin.kind = Pin::at_stage;
    pin.op = op;
    pin.stage = number("--stage", text, text.substr(sign + 1), kMaxDistance, "stage");
    return pin;
  }

  /// op,op.
  Pin together(const char* option, Pin::Kind kind, const std::string& text) const {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != ',') continue;
      const int a = op_index(problem_, std::string_view(text).substr(0, i));
      const int b = op_index(problem_, std::string_view(text).substr(i + 1));
      if (a >= 0 && b >= 0) return {kind, a, -1, -1, b};
    }
    throw InputError("command line", option, text,
                     "must have the form op,op, each one of " + ops());
  }

 private:
  std::string ops() const {
    std::vector<std::string> names;
    for (const Op& op : problem_.ops) names.push_back(op.id);
    return joined(names);
  }

  int slot(const char* option, const std::string& name) const {
    std::vector<std::string> names;
    for (const WarpSlot& slot : problem_.warps) {
      if (slot.name == name) return static_cast<int>(names.size());
      names.push_back(slot.name);
    }
    throw InputError(
        "command line", option, name,
        "must name a slot of " + (layout_.empty() ? "the problem: " + joined(names)
                                                  : "layout " + layout_ + ": " + joined(names) +
                                                        " (--layout chooses another)"));
  }

  const Problem& problem_;
  const std::string& layout_;
};

}  // namespace

void PinFlags::add_to(CLI::App& app) {
  app.add_option("--pin", pin, "Fix an op's slot or start, as op=slot or op@cycle (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--same-slot", same_slot, "Two ops on one slot, as op,op (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--other-slot", other_slot, "Two ops not on one slot, as op,op (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--stage", stage, "Fix an op's stage, start / I, as op=stage (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--ii-range", range,
                 "Only initiation intervals of least..most, where one may be left out");
  app.add_option("--forbid", forbid, "An op not on a slot, as op=slot (repeatable)")
      ->allow_extra_args(false);
}

void PinFlags::check_interval(const std::optional<Cycle>& ii) const {
  if (!ii || range.empty()) return;
  const IntervalRange asked = range_of(range);
  if (*ii < asked.least || *ii > asked.most)
    throw InputError("command line", "--ii", std::to_string(*ii),
                     "must be in the range " + range + " of --ii-range");
}

void PinFlags::apply(Problem& problem, const std::string& layout) const {
  const PinReader reader(problem, layout);
  std::vector<Pin> pins = problem.pins;
  for (const std::string& text : pin) pins.push_back(reader.place("--pin", text, true));
  for (const std::string& text : forbid) {
    pins.push_back(reader.place("--forbid", text, false));
    pins.back().kind = Pin::not_on_slot;
  }
  for (const std::string& text : same_slot)
    pins.push_back(reader.together("--same-slot", Pin::same_slot, text));
  for (const std::string& text : other_slot)
    pins.push_back(reader.together("--other-slot", Pin::other_slot, text));
  for (const std::string& text : stage) pins.push_back(reader.in_stage(text));
  if (!range.empty()) problem.interval = range_of(range);
  problem.pins = std::move(pins);
  check(problem, layout.empty() ? "command line" : "layout " + layout);
}

}  // namespace twill::cli
