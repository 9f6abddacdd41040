#include "graph/meaning/lone_views.hpp"

#include <algorithm>

#include "graph/index.hpp"

namespace twill::meaning {

std::vector<bool> lone_views(const Meaning& meaning, const std::vector<int>& runner) {
  const int all = static_cast<int>(meaning.values.size());
  std::vector<bool> lone(meaning.values.size());
  std::vector<std::vector<int>> users(meaning.values.size());
  std::vector<int> open;  // of those that are none
  for (int v = meaning.loop_begin; v < meaning.after_begin; ++v) {
    lone[at(v)] = runner[at(v)] < 0;
    if (!lone[at(v)]) open.push_back(v);
    for (const Operand& one : meaning.values[at(v)].operands)
      if (one.value >= 0 && one.value < all) users[at(one.value)].push_back(v);
  }
  while (!open.empty()) {
    const int now = open.back();
    open.pop_back();
    for (const int user : users[at(now)])
      if (lone[at(user)]) {
        lone[at(user)] = false;
        open.push_back(user);
      }
  }
  return lone;
}

}  // namespace twill::meaning
