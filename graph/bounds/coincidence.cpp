#include "graph/bounds/coincidence.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "graph/index.hpp"
#include "graph/inner_loops.hpp"

namespace twill {
namespace {

bool together(const Edge& e) {
  return e.delay == 0 && e.distance == 0;
}

class Coincidence {
 public:
  explicit Coincidence(const Problem& p) : p_(p), leader_(p.ops.size()) {
    std::iota(leader_.begin(), leader_.end(), 0);
  }

  std::vector<int> leaders() {
    for (int v = 0; v < ops(); ++v) move_back(v);
    flatten();
    for (bool moved = true; moved;) {
      moved = false;
      for (int v = 0; v < ops(); ++v)
        if (leader_[at(v)] == v) moved = move_forth(v) || moved;
    }
    return leader_;
  }

 private:
  int ops() const { return static_cast<int>(p_.ops.size()); }
  int root(int v) const {
    while (leader_[at(v)] != v) v = leader_[at(v)];
    return v;
  }
  void flatten() {
    for (int v = 0; v < ops(); ++v) leader_[at(v)] = root(v);
  }

  // May the op be anywhere, as far as units and slots are concerned?
  bool movable(int v) const {
    const Op& op = p_.ops[at(v)];
    return op.cycles == 0 && loop_of_[at(v)] < 0 &&
           std::none_of(
               p_.edges.begin(), p_.edges.end(),
               [&](const Edge& e) { return e.to == v && (e.blocking || spill_of(p_, e) != 0); }) &&
           std::none_of(p_.pins.begin(), p_.pins.end(), [&](const Pin& pin) {
             return (pin.kind == Pin::at_cycle || pin.kind == Pin::at_stage) && pin.op == v;
           });
  }

  bool hands_over(int v) const {
    return p_.ops[at(v)].spill != 0 ||
           std::any_of(p_.edges.begin(), p_.edges.end(),
                       [&](const Edge& e) { return e.from == v && spill_of(p_, e) != 0; });
  }

  bool keeps_something(int v) const {
    return p_.ops[at(v)].registers != 0 || !p_.ops[at(v)].footprints.empty();
  }

  void move_back(int v) {
    if (!movable(v) || keeps_something(v)) return;
    const Edge* in = nullptr;
    for (const Edge& e : p_.edges) {
      if (e.to != v || e.from == v) continue;
      if (in != nullptr) return;
      in = &e;
    }
    if (in != nullptr && together(*in) && root(in->from) != v) leader_[at(v)] = root(in->from);
  }

  // Do dependences without distance keep `to` at least `delay` after the leader `from`?
  bool kept_away(int from, int to, Cycle delay) const {
    std::vector<std::optional<Cycle>> after(p_.ops.size());
    for (int v = 0; v < ops(); ++v)
      if (leader_[at(v)] == from) after[at(v)] = 0;
    // Longest paths of at most so many edges: a cycle of them gains nothing, or there is no
    // schedule.
    for (int round = 0; round < ops(); ++round) {
      bool longer = false;
      for (const Edge& e : p_.edges) {
        const auto &begin = after[at(e.from)], &end = after[at(e.to)];
        if (e.distance != 0 || !begin || (end && *end >= *begin + e.delay)) continue;
        after[at(e.to)] = *begin + e.delay;
        longer = true;
      }
      if (!longer) break;
    }
    return after[at(to)] && *after[at(to)] >= delay;
  }

  bool move_forth(int group) {
    const auto inside = [&](int v) { return leader_[at(v)] == group; };
    for (int v = 0; v < ops(); ++v)
      if (inside(v) && (!movable(v) || hands_over(v))) return false;
    std::vector<const Edge*> out;
    for (const Edge& e : p_.edges) {
      if (inside(e.to) && (!inside(e.from) || e.from == e.to)) return false;
      if (inside(e.from) && inside(e.to)) {
        // What keeps a result alive from within moves with the group, so that it would end later.
        if (keeps_something(e.from) && (e.distance != 0 || e.hold != 0)) return false;
      } else if (inside(e.from)) {
        out.push_back(&e);
      }
    }
    for (const Edge* first : out) {
      if (!together(*first)) continue;
      const int with = leader_[at(first->to)];
      const bool all_later = std::all_of(out.begin(), out.end(), [&](const Edge* e) {
        return leader_[at(e->to)] == with ? e->delay == 0 : kept_away(with, e->to, e->delay);
      });
      if (!all_later) continue;
      for (int v = 0; v < ops(); ++v)
        if (inside(v)) leader_[at(v)] = with;
      return true;
    }
    return false;
  }

  const Problem& p_;
  std::vector<int> leader_;
  const std::vector<int> loop_of_ = inner_loop_of(p_);  // whose parts keep their offsets
};

}  // namespace

std::vector<int> leaders(const Problem& problem) {
  return Coincidence(problem).leaders();
}

}  // namespace twill
