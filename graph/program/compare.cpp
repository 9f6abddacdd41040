#include "graph/program/compare.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace twill::program {
namespace {

using Finding = std::optional<Fault>;
using Index = std::size_t;
using Source = std::pair<int, std::int64_t>;  // op of the problem, iterations before

constexpr Index kMostSources = 10'000;  // of an op, zero-cycle ops by distance

Index nth(int i) {
  return static_cast<Index>(i);
}

/// MMAs, and chains that go over tensor memory in chunks.
bool adds_to_operand(const std::string& kind) {
  const std::string load = "tmem_load+", store = "+tmem_store";
  return kind == "gemm" || (kind.size() > load.size() + store.size() && kind.find(load) == 0 &&
                            kind.rfind(store) == kind.size() - store.size());
}

class Comparison {
 public:
  Comparison(const Program& program, const Problem& problem, const Schedule& schedule)
      : p_(program), q_(problem), schedule_(schedule) {
    for (int v = 0; v < static_cast<int>(q_.ops.size()); ++v) ids_[q_.ops[nth(v)].id] = v;
    into_.resize(q_.ops.size());
    std::vector<std::vector<int>> out(q_.ops.size());
    std::vector<int> next;
    for (const Edge& e : q_.edges) {
      into_[nth(e.to)].push_back(&e);
      out[nth(e.from)].push_back(e.to);
    }
    for (int v = 0; v < static_cast<int>(q_.ops.size()); ++v)
      if (is_code(v)) next.push_back(v);
    while (!next.empty()) {
      const int v = next.back();
      next.pop_back();
      for (const int to : out[nth(v)])
        if (!is_code(to) && fed_.insert(to).second) next.push_back(to);
    }
  }

  Finding run() {
    if (auto found = frame()) return found;
    if (auto found = code()) return found;
    if (auto found = results()) return found;
    if (auto found = endings()) return found;
    // What was cut short was not compared.
    return too_many_ ? other("zero-cycle ops show results of too many distances") : std::nullopt;
  }

 private:
  static Finding other(const std::string& text, std::vector<std::string> witness = {}) {
    return Fault{"schedule", text, std::move(witness)};
  }
  bool is_code(int v) const {
    const twill::Op& op = q_.ops[nth(v)];
    return op.cycles != 0 || op.streaming || op.in_flight || op.variable_latency;
  }

  Finding frame() const {
    if (p_.initiation_interval != schedule_.initiation_interval)
      return other("I = " + std::to_string(p_.initiation_interval) + ", the schedule's is " +
                   std::to_string(schedule_.initiation_interval));
    if (p_.slots.size() != q_.warps.size())
      return other("the program has " + std::to_string(p_.slots.size()) +
                   " slots, the problem has " + std::to_string(q_.warps.size()));
    for (Index w = 0; w < p_.slots.size(); ++w) {
      const Slot& slot = p_.slots[w];
      const WarpSlot& warp = q_.warps[w];
      if (std::tie(slot.name, slot.width, slot.registers) !=
          std::tie(warp.name, warp.width, warp.registers))
        return other("slot " + slot.name + " is not " + warp.name + " of the problem");
    }
    for (Index m = 0; m < p_.memories.size(); ++m) {
      const Memory& memory = p_.memories[m];
      // A hand-over's memory need not be the problem's.
      if (m < q_.memories.size()
              ? memory.name != q_.memories[m].name || memory.capacity != q_.memories[m].capacity
              : memory.name != "smem" || memory.capacity != -1)
        return other("memory " + memory.name + " is not as the problem has it");
    }
    return p_.memories.size() < q_.memories.size() ? other("a memory is missing") : std::nullopt;
  }

  Finding code() {
    place_.assign(q_.ops.size(), -1);
    for (Index k = 0; k < p_.ops.size(); ++k) {
      const Op& op = p_.ops[k];
      const auto known = ids_.find(op.id);
      if (known == ids_.end() || !is_code(known->second) || place_[nth(known->second)] >= 0)
        return other(op.id + " is no op of the problem that is executed once", {op.id});
      const int v = known->second;
      place_[nth(v)] = static_cast<int>(k);
      if (op.slot != schedule_.warp[nth(v)])
        return other(op.id + " is on " + p_.slots[nth(op.slot)].name + ", by the schedule on " +
                         q_.warps[nth(schedule_.warp[nth(v)])].name,
                     {op.id});
      if (op.stage != schedule_.start[nth(v)] / schedule_.initiation_interval)
        return other(op.id + " has stage " + std::to_string(op.stage) +
                         ", which is not that of its start " +
                         std::to_string(schedule_.start[nth(v)]),
                     {op.id});
    }
    for (Index k = 1; k < p_.ops.size(); ++k)
      if (p_.ops[k].slot == p_.ops[k - 1].slot && row(k) < row(k - 1))
        return other(p_.ops[k].id + " comes after " + p_.ops[k - 1].id + " and has an earlier row",
                     {p_.ops[k - 1].id, p_.ops[k].id});
    for (int v = 0; v < static_cast<int>(q_.ops.size()); ++v)
      if (is_code(v) && place_[nth(v)] < 0)
        return other(q_.ops[nth(v)].id + " is missing", {q_.ops[nth(v)].id});
    return std::nullopt;
  }

  Cycle row(Index k) const {
    return schedule_.start[nth(ids_.at(p_.ops[k].id))] % schedule_.initiation_interval;
  }

  /// What a problem's op is given, by the edges into it, backwards through zero-cycle ops.
  std::set<Source> sources(int v) {
    std::set<Source> found, seen;
    std::vector<Source> next = {{v, 0}};
    while (!next.empty()) {
      if (seen.size() > kMostSources) too_many_ = true;
      if (too_many_) break;
      const auto [to, distance] = next.back();
      next.pop_back();
      for (const Edge* edge : into_[nth(to)]) {
        const Edge& e = *edge;
        const Source source{e.from, distance + e.distance};
        if (is_code(e.from))
          found.insert(source);
        else if (fed_.count(e.from) != 0 && seen.insert(source).second)
          next.push_back(source);
      }
    }
    return found;
  }

  Finding results() {
    const std::vector<int> writer = writers(p_);
    for (const Op& op : p_.ops) {
      std::set<Source> reads;
      for (const Read& r : op.reads)
        if (writer[nth(r.storage)] >= 0)
          reads.emplace(ids_.at(p_.ops[nth(writer[nth(r.storage)])].id), r.distance);
      const std::set<Source> uses = sources(ids_.at(op.id));
      for (const Source& use : uses)
        if (reads.count(use) == 0)
          return other(op.id + " does not read what " + q_.ops[nth(use.first)].id + " made " +
                           std::to_string(use.second) + " iterations before",
                       {op.id, q_.ops[nth(use.first)].id});
      for (const Source& read : reads)
        if (uses.count(read) == 0)
          return other(op.id + " reads what " + q_.ops[nth(read.first)].id + " made " +
                           std::to_string(read.second) +
                           " iterations before, of which the problem knows nothing",
                       {op.id, q_.ops[nth(read.first)].id});
    }
    return sizes();
  }

  Finding sizes() {
    // What each result takes, with what zero-cycle ops take that show it alone.
    std::map<std::pair<int, int>, Amount> takes;
    for (int v = 0; v < static_cast<int>(q_.ops.size()); ++v) {
      std::set<int> makers = {v};
      if (!is_code(v)) {
        makers.clear();
        for (const Source& source : sources(v)) makers.insert(source.first);
      }
      if (makers.size() != 1) continue;
      for (const Footprint& f : q_.ops[nth(v)].footprints)
        takes[{*makers.begin(), f.memory}] += f.amount;
    }
    for (const auto& [key, amount] : takes) {
      Amount has = 0;
      for (const int s : p_.ops[nth(place_[nth(key.first)])].writes) {
        const Storage& storage = p_.storages[nth(s)];
        if (storage.kind == Storage::in_memory && storage.memory == key.second) has += storage.size;
      }
      if (has < amount)
        return other("the result of " + q_.ops[nth(key.first)].id + " takes " +
                         std::to_string(amount) + " of " + q_.memories[nth(key.second)].name +
                         " and has " + std::to_string(has),
                     {q_.ops[nth(key.first)].id});
    }
    return std::nullopt;
  }

  Finding endings() {
    std::vector<bool> late(q_.ops.size(), false);
    for (const Edge& e : q_.edges) {
      if (e.blocking) late[nth(e.from)] = true;
      if (e.hold > 0) late[nth(e.to)] = true;
    }
    for (const Op& op : p_.ops) {
      const int v = ids_.at(op.id);
      const twill::Op& is = q_.ops[nth(v)];
      const bool transaction = is.variable_latency || is.streaming || is.in_flight;
      if ((op.ending == Ending::transaction) != transaction ||
          (op.ending == Ending::at_once && (late[nth(v)] || is.kind == "gemm")))
        return other(op.id + " does not end as the problem has it", {op.id});
      if (op.async_proxy != (transaction || is.kind == "gemm"))
        return other(
            op.id + (op.async_proxy ? " is no asynchronous unit's" : " is an asynchronous unit's") +
                " work, and is said to be otherwise",
            {op.id});
      if (!op.queue.empty() && (is.kind != "gemm" || is.reservations.size() != 1 ||
                                q_.units[nth(is.reservations[0].unit)].name != op.queue))
        return other(op.id + " is queued without being an MMA on that unit", {op.id});
      for (const int s : op.in_place)
        if (p_.storages[nth(s)].kind != Storage::in_registers &&
            (!adds_to_operand(is.kind) || held(v, s)))
          return other(op.id + " may not write over " + p_.storages[nth(s)].name, {op.id});
    }
    return std::nullopt;
  }

  /// Does v hold the operand that storage s has, by an edge from it or from what shows it?
  bool held(int v, int s) {
    const std::vector<int> writer = writers(p_);
    const int maker = ids_.at(p_.ops[nth(writer[nth(s)])].id);
    return std::any_of(into_[nth(v)].begin(), into_[nth(v)].end(), [&](const Edge* edge) {
      const Edge& e = *edge;
      if (e.hold == 0) return false;
      if (e.from == maker) return true;
      if (is_code(e.from)) return false;
      const std::set<Source> from = sources(e.from);
      return std::any_of(from.begin(), from.end(),
                         [&](const Source& source) { return source.first == maker; });
    });
  }

  const Program& p_;
  const Problem& q_;
  const Schedule& schedule_;
  std::map<std::string, int> ids_;
  std::vector<int> place_;
  std::vector<std::vector<const Edge*>> into_;
  std::set<int> fed_;  ///< zero-cycle ops that some op of code leads to
  bool too_many_ = false;
};

}  // namespace

std::optional<Fault> compare(const Program& program, const Problem& problem,
                             const Schedule& schedule) {
  return Comparison(program, problem, schedule).run();
}

}  // namespace twill::program
