// What if there were one more slot like this one?
#include <algorithm>

#include "engine/include/twill_explain.hpp"

namespace twill {
namespace {

/// "more": "wg0, wg0".
void note_more(const std::string& name, MadeBy& made) {
  for (auto& [option, value] : made.options)
    if (option == "more") {
      value += ", " + name;
      return;
    }
  made.options.emplace_back("more", name);
}

}  // namespace

bool add_slot(Lowered& lowered, const std::string& name) {
  std::vector<WarpSlot>& slots = lowered.problem.warps;
  const auto like = std::ranges::find(slots, name, &WarpSlot::name);
  if (like == slots.end()) return false;
  if (like->variable_latency)
    throw InputError("options", "more", name,
                     "there is one slot for ops of variable latency, not more");
  WarpSlot more = *like;
  for (int number = 1; std::ranges::count(slots, more.name, &WarpSlot::name) > 0; ++number)
    more.name = name + "-more" + (number > 1 ? std::to_string(number) : "");
  slots.push_back(std::move(more));
  check(lowered.problem);
  if (lowered.made_by) note_more(name, *lowered.made_by);
  if (!lowered.layout.empty()) lowered.layout += " and " + name;
  return true;
}

}  // namespace twill
