// How Triton lays out the warps of several gl.warp_specialize in one kernel: as many for each as
// the one with the most asks for (AllocateWarpGroups.cpp of Triton 3.9; read, not measured).
#include "graph/emit/sequence.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "graph/emit/limits.hpp"
#include "graph/emit/user_function.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

using program::Refusal;

constexpr int kGroup = 4;  // warps

int groups(const Plan& plan) {
  int warps = 0;
  for (const Partition& one : plan.launch.workers) warps += one.warps;
  return (warps + kGroup - 1) / kGroup;
}

Launch with_idle(const Plan& plan) {
  Launch all = plan.launch;
  all.workers.insert(all.workers.end(), plan.idle.begin(), plan.idle.end());
  return all;
}

/// A warpgroup has as many in all loops: Triton only ever asks for more, and fewer would be asked
/// for as more (setmaxnreg.inc).
void same_registers(std::vector<Plan>& plans, int count) {
  std::vector<int> most(at(count), kLeastRegisters);
  const auto each = [&](const auto& act) {
    for (Plan& plan : plans) {
      const std::vector<int> group = warpgroups(with_idle(plan));
      const std::size_t own = plan.launch.workers.size();
      for (std::size_t k = 0; k < group.size(); ++k)
        act(k < own ? plan.launch.workers[k] : plan.idle[k - own], most[at(group[k])]);
    }
  };
  each([](const Partition& one, int& all) { all = std::max(all, one.registers); });
  each([](Partition& one, const int& all) { one.registers = all; });
}

std::optional<Refusal> fits(const std::vector<Plan>& plans) {
  for (const Plan& plan : plans)
    if (auto no = check_limits(with_idle(plan))) return no;
  return std::nullopt;
}

/// What is left goes to warpgroups that hold tiles, and to the default partition where it does, as
/// many registers for each (plan.cpp does that for one loop).
void share_registers(std::vector<Plan>& plans, int count) {
  const auto raise = [&](int group, int by) {  // (group `count`: the default partition)
    bool holds = false;
    for (Plan& plan : plans) {
      const std::vector<int> groups = warpgroups(with_idle(plan));
      const std::size_t own = plan.launch.workers.size();
      const auto act = [&](Partition& one) {
        holds |= one.registers >= kHoldsTiles;
        one.registers += by;
      };
      if (group == count) act(plan.launch.first);
      for (std::size_t k = 0; k < groups.size(); ++k)
        if (groups[k] == group) act(k < own ? plan.launch.workers[k] : plan.idle[k - own]);
    }
    return holds;
  };
  for (bool more = true; more;) {
    more = false;
    for (int group = 0; group <= count; ++group) {
      const bool most = group == count && plans.front().launch.first.registers >= kMostRegisters;
      if (!most && raise(group, kRegisterStep) && !fits(plans))
        more = true;
      else if (!most)
        raise(group, -kRegisterStep);
    }
  }
}

std::optional<Refusal> same_warps(std::vector<Plan>& plans) {
  int most = 0;
  for (const Plan& plan : plans) {
    most = std::max(most, groups(plan));
    if (plan.launch.first.warps != plans.front().launch.first.warps)
      return Refusal{"limits", "the default partitions of its loops have " +
                                   std::to_string(plans.front().launch.first.warps) + " and " +
                                   std::to_string(plan.launch.first.warps) +
                                   " warps: must be as many in all loops"};
  }
  for (Plan& plan : plans)
    for (int k = groups(plan); k < most; ++k) plan.idle.push_back({kGroup, kLeastRegisters});
  same_registers(plans, most);
  if (auto no = fits(plans)) return no;
  if (plans.front().legal.target == Target::blackwell) share_registers(plans, most);
  return std::nullopt;
}

/// What is handed past a loop takes its place there, too, as do barriers of the loops before.
std::optional<Refusal> passing(std::vector<Plan>& plans) {
  int barriers = 0;
  for (Plan& plan : plans) {
    plan.launch.shared_bytes += barriers * kBarrierBytes;
    barriers += plan.launch.barriers;
  }
  std::map<std::string, meaning::HandedTile> named;
  std::map<meaning::HandedTile, std::pair<std::size_t, std::size_t>> lives;
  for (std::size_t k = 0; k < plans.size(); ++k)
    for (const auto& [tile, one] : plans[k].handed) {
      if (!named.emplace(one.name, tile).second && named.at(one.name) != tile)
        return Refusal{"function", "two results of its loops have one name"};
      lives.emplace(tile, std::pair(k, k)).first->second.second = k;
    }
  for (const auto& [tile, live] : lives) {
    const ExtraBuffer& one = plans[live.first].handed.at(tile);
    for (std::size_t k = live.first; k <= live.second; ++k) {
      const auto here = plans[k].handed.find(tile);
      if (here == plans[k].handed.end()) {
        plans[k].launch.shared_bytes += bytes_of(one);
      } else if (here->second.shape != one.shape || here->second.type != one.type) {
        return Refusal{"function", one.name + " is of another type in another loop"};
      }
    }
  }
  return std::nullopt;
}

/// Does a loop of several partitions only load what lies behind an argument, and use all of it?
/// Then all has been loaded when gl.warp_specialize has ended, which waits for all warps. (Warps of
/// one partition alone would meet only where they exchange data.)
bool loaded_at_end(const Plan& plan, int parameter) {
  if (plan.partitions.size() < 2) return false;
  const std::vector<meaning::Value>& values = plan.meaning->values;
  for (int v = 0; v < static_cast<int>(values.size()); ++v) {
    const int tensor = values[at(v)].tensor;
    if (tensor < 0 || plan.user->places[at(tensor)].parameter != parameter) continue;
    const bool used = std::any_of(values.begin(), values.end(), [&](const meaning::Value& user) {
      return std::any_of(user.operands.begin(), user.operands.end(),
                         [&](const meaning::Operand& one) { return one.value == v; });
    });
    if (values[at(v)].function != meaning::Function::load || !used) return false;
  }
  return true;
}

/// Does a loop of several partitions store what lies behind an argument itself, iteration by
/// iteration, from registers? Then all is there when gl.warp_specialize has ended. (A bulk copy is
/// on its way still. What is stored behind a loop may stand behind the next one, too.)
bool stored_at_end(const Plan& plan, int parameter) {
  if (plan.partitions.size() < 2) return false;
  const std::vector<meaning::Value>& values = plan.meaning->values;
  for (int v = 0; v < static_cast<int>(values.size()); ++v)
    if (values[at(v)].function == meaning::Function::store &&
        plan.user->places[at(values[at(v)].tensor)].parameter == parameter &&
        !(plan.meaning->in_loop(v) && plan.by_elements(values[at(v)].tensor)))
      return false;
  return true;
}

/// Does a loop do nothing behind an argument but load, iteration by iteration and by threads, who
/// see what others of the block stored before they met? (What is loaded before a loop may be what
/// was there before the loops in front of it.)
bool loaded_by_threads(const Plan& plan, int parameter) {
  const std::vector<meaning::Value>& values = plan.meaning->values;
  for (int v = 0; v < static_cast<int>(values.size()); ++v) {
    const int tensor = values[at(v)].tensor;
    if (tensor >= 0 && plan.user->places[at(tensor)].parameter == parameter &&
        !(values[at(v)].function == meaning::Function::load && plan.meaning->in_loop(v) &&
          plan.by_elements(tensor)))
      return false;
  }
  const auto& loaded = plan.user->loaded;
  return !loaded_earlier(*plan.user, parameter) &&
         std::none_of(loaded.begin(), loaded.end(),
                      [&](const auto& one) { return one.parameter == parameter; });
}

/// Who loads what another loop has stored has to know that it has arrived: the end of
/// gl.warp_specialize says so. What a loop has loaded, the loops behind it may store to.
std::optional<Refusal> apart(const std::vector<Plan>& plans) {
  for (const Plan& a : plans)
    for (const Plan& b : plans) {
      if (&a == &b) continue;
      for (const meaning::Value& stored : a.meaning->values) {
        if (stored.function != meaning::Function::store) continue;
        const int parameter = a.user->places[at(stored.tensor)].parameter;
        if (parameter < 0 || (&b < &a && loaded_at_end(b, parameter)) ||
            (&a < &b && stored_at_end(a, parameter) && loaded_by_threads(b, parameter)))
          continue;
        const auto here = [&](const auto& place) { return place.parameter == parameter; };
        if (std::any_of(b.user->places.begin(), b.user->places.end(), here) ||
            std::any_of(b.user->loaded.begin(), b.user->loaded.end(), here) ||
            loaded_earlier(*b.user, parameter))
          return Refusal{"tensors", "argument " + a.user->parameters[at(parameter)].name +
                                        " is stored to by one of its loops and used by another"};
      }
    }
  return std::nullopt;
}

/// A descriptor has one tile for all bulk copies.
std::optional<Refusal> same_tiles(const std::vector<Plan>& plans) {
  std::map<int, std::vector<std::int64_t>> tiles;
  for (const Plan& plan : plans)
    for (std::size_t t = 0; t < plan.user->places.size(); ++t) {
      const int parameter = plan.user->places[t].parameter;
      if (parameter < 0 ||
          plan.user->parameters[at(parameter)].kind != meaning::Parameter::descriptor)
        continue;
      const auto& shape = plan.meaning->tensors[t].shape;
      if (tiles.emplace(parameter, shape).first->second != shape)
        return Refusal{"tensors", "tiles of several shapes are moved through argument " +
                                      plan.user->parameters[at(parameter)].name};
    }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> fit_together(std::vector<Plan>& plans) {
  for (const Plan& plan : plans)
    if (plan.user == nullptr || plan.legal.target != plans.front().legal.target || plan.tiles())
      return Refusal{"function", "its loops are not those of one kernel"};
  if (auto no = apart(plans)) return no;
  if (auto no = same_tiles(plans)) return no;
  if (auto no = passing(plans)) return no;
  return same_warps(plans);
}

}  // namespace twill::emit
