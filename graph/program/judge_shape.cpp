#include "graph/program/judge_shape.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace twill::program::judged {

Amount step_of(const Storage& s) {
  return (s.size + s.alignment - 1) / s.alignment * s.alignment;
}

std::vector<int> ends_of(const Event& event) {
  std::vector<int> all = event.with;
  all.insert(all.begin(), event.op);
  return all;
}

Range copy_range(const Storage& s, std::int64_t iteration) {
  const std::int64_t copy = ((iteration % s.depth) + s.depth) % s.depth;
  const Amount begin = s.base + copy * step_of(s);
  return {begin, begin + s.size};
}

namespace {

Range whole_range(const Storage& s) {
  return {s.base, s.base + (s.depth - 1) * step_of(s) + s.size};
}

class Shape {
 public:
  explicit Shape(const Program& program) : p_(program) {}

  Finding check() const {
    if (auto found = storages()) return found;
    if (auto found = ops()) return found;
    if (auto found = memory()) return found;
    if (auto found = before_the_loop()) return found;
    if (auto found = fences()) return found;
    if (auto found = events()) return found;
    return barriers();
  }

 private:
  Finding storages() const {
    std::vector<int> written(p_.storages.size(), 0);
    for (const Op& op : p_.ops)
      for (const int s : op.writes) ++written[index(s)];
    for (Index s = 0; s < written.size(); ++s)
      if (written[s] != 1)
        return Fault{"shape",
                     p_.storages[s].name + " is written by " + std::to_string(written[s]) +
                         " ops, not by one",
                     {}};
    return std::nullopt;
  }

  Finding ops() const {
    std::vector<int> home(p_.storages.size(), -1);
    for (const Op& op : p_.ops)
      for (const int s : op.writes) home[index(s)] = op.slot;
    int slot = 0;
    for (const Op& op : p_.ops) {
      if (op.slot < slot)
        return Fault{"shape", op.id + " is not among the ops of its slot", {op.id}};
      slot = op.slot;
      if (op.ending == Ending::transaction && !op.queue.empty())
        return Fault{"shape", op.id + " ends by a transaction, which no queue orders", {op.id}};
      for (const Read& r : op.reads) {
        const Storage& s = p_.storages[index(r.storage)];
        if (r.distance == 0 &&
            std::find(op.writes.begin(), op.writes.end(), r.storage) != op.writes.end())
          return Fault{"version", op.id + " reads " + s.name + " of its own iteration", {op.id}};
        if (r.distance > s.depth)
          return Fault{"version",
                       op.id + " reads " + s.name + " of " + std::to_string(r.distance) +
                           " iterations before: before the loop so many copies are there, not " +
                           std::to_string(s.depth),
                       {op.id}};
        if (s.kind == Storage::in_registers && home[index(r.storage)] != op.slot)
          return Fault{"shape",
                       op.id + " on " + p_.slots[index(op.slot)].name + " reads registers of " +
                           p_.slots[index(home[index(r.storage)])].name + ", " + s.name,
                       {op.id}};
      }
      for (const int s : op.in_place)
        if (std::none_of(op.reads.begin(), op.reads.end(),
                         [&](const Read& r) { return r.storage == s; }))
          return Fault{
              "shape",
              op.id + " may write over " + p_.storages[index(s)].name + ", which it does not read",
              {op.id}};
    }
    return std::nullopt;
  }

  Finding memory() const {
    for (Index k = 0; k < p_.storages.size(); ++k) {
      const Storage& s = p_.storages[k];
      if (s.kind != Storage::in_memory) {
        if (!s.shares.empty())
          return Fault{"memory", s.name + " has no address and shares none", {}};
        continue;
      }
      const Memory& m = p_.memories[index(s.memory)];
      const Range range = whole_range(s);
      if (s.base % s.alignment != 0)
        return Fault{"memory",
                     s.name + " lies at " + std::to_string(s.base) + ", no multiple of " +
                         std::to_string(s.alignment),
                     {}};
      if (m.capacity >= 0 && range.end > m.capacity)
        return Fault{"memory",
                     s.name + " ends at " + std::to_string(range.end) + " of " + m.name + ", " +
                         std::to_string(s.depth) + " x " + std::to_string(step_of(s)) + " from " +
                         std::to_string(s.base) + " > " + std::to_string(m.capacity),
                     {}};
      std::vector<int> shares;
      for (Index l = 0; l < p_.storages.size(); ++l) {
        const Storage& t = p_.storages[l];
        if (l != k && t.kind == Storage::in_memory && t.memory == s.memory &&
            whole_range(t).meets(range))
          shares.push_back(static_cast<int>(l));
      }
      if (shares != s.shares)
        return Fault{
            "memory", s.name + " does not name all that it shares addresses with, or more", {}};
    }
    return std::nullopt;
  }

  /// Carried results have places of their own before the loop.
  Finding before_the_loop() const {
    std::vector<int> carried(p_.storages.size(), 0);
    for (const Op& op : p_.ops)
      for (const Read& r : op.reads)
        carried[index(r.storage)] = std::max(carried[index(r.storage)], r.distance);
    for (Index k = 0; k < p_.storages.size(); ++k)
      for (const int l : p_.storages[k].shares)
        for (std::int64_t i = 1; i <= carried[k]; ++i)
          for (std::int64_t j = 1; j <= carried[index(l)]; ++j) {
            const Storage &s = p_.storages[k], &t = p_.storages[index(l)];
            if (copy_range(s, -i).meets(copy_range(t, -j)))
              return Fault{"version",
                           s.name + " and " + t.name +
                               " are carried and would be at one place before the loop",
                           {}};
          }
    return std::nullopt;
  }

  /// The writes of a slot's instructions to shared memory are seen by an asynchronous unit only
  /// beyond a fence of that slot (PTX ISA, "async proxy").
  Finding fences() const {
    std::vector<const Op*> writer(p_.storages.size(), nullptr);
    for (const Op& op : p_.ops) {
      for (const int s : op.writes) writer[index(s)] = &op;
      if (op.async_proxy && op.ending == Ending::at_once)
        return Fault{"shape", op.id + " is asynchronous and is said to end at once", {op.id}};
      if (op.async_proxy && op.fence)
        return Fault{
            "shape", op.id + " is asynchronous: a fence is for what a slot writes", {op.id}};
    }
    for (const Op& op : p_.ops)
      for (const Read& r : op.reads) {
        const Storage& s = p_.storages[index(r.storage)];
        const Op& from = *writer[index(r.storage)];
        if (op.async_proxy && !from.async_proxy && !from.fence && s.kind == Storage::in_memory &&
            p_.memories[index(s.memory)].name == kBarrierMemory)
          return Fault{"fence",
                       from.id + " writes " + s.name + " by instructions of its slot and " + op.id +
                           " reads it asynchronously: without a fence it need not see it",
                       {from.id + "[0]", op.id + "[" + std::to_string(r.distance) + "]"}};
      }
    return std::nullopt;
  }

  /// Each lies in shared memory, by itself.
  Finding barriers() const {
    std::vector<std::pair<Range, std::string>> taken;
    Amount capacity = -1;
    bool memory = false, none = false;
    for (const Memory& m : p_.memories)
      if (m.name == kBarrierMemory) {
        memory = true;
        capacity = m.capacity;
      }
    for (const Storage& s : p_.storages)
      if (s.kind == Storage::in_memory && p_.memories[index(s.memory)].name == kBarrierMemory)
        taken.emplace_back(whole_range(s), s.name);
    bool some = false;
    for (const Event& event : p_.events) {
      if (event.pending && event.address < 0) continue;
      (event.address < 0 ? none : some) = true;
      if (event.address < 0) continue;
      const std::string name = "the barrier of " + p_.ops[index(event.op)].id;
      const Range range{event.address, event.address + kBarrierBytes * event.phases};
      if (event.pending || !memory || event.address % kBarrierBytes != 0 ||
          (capacity >= 0 && range.end > capacity))
        return Fault{"memory",
                     name + " cannot lie at " + std::to_string(event.address) + " of " +
                         kBarrierMemory + ", " + std::to_string(event.phases) + " x " +
                         std::to_string(kBarrierBytes) + " bytes",
                     {}};
      for (const auto& [other, who] : taken)
        if (other.meets(range))
          return Fault{
              "memory",
              name + " lies at " + std::to_string(event.address) + ", where " + who + " is",
              {}};
      taken.emplace_back(range, name);
    }
    if (some && none)
      return Fault{"memory", "some barriers have addresses and others have none", {}};
    return std::nullopt;
  }

  Finding events() const {
    std::map<std::pair<int, bool>, int> of;
    for (const Event& event : p_.events) {
      const Op& op = p_.ops[index(event.op)];
      const std::string name = "the end of " + op.id;
      int last_op = event.op;
      for (const int one : ends_of(event))
        if (++of[{one, event.pending}] > 1)
          return Fault{"shape",
                       "the end of " + p_.ops[index(one)].id + " has two barriers or two counts",
                       {p_.ops[index(one)].id}};
      for (const int one : event.with) {
        if (one <= last_op || event.pending)
          return Fault{
              "shape", name + " is said to come with others that it cannot come with", {op.id}};
        last_op = one;
      }
      if (event.pending) {
        if (op.ending != Ending::pending)
          return Fault{"shape", name + " cannot be waited for by a pending count", {op.id}};
        if (event.phases != 0 || event.arrivals != 0 || event.bytes != 0)
          return Fault{"shape", name + " has no barrier and is said to have one", {op.id}};
        continue;
      }
      if (event.phases < 1) return Fault{"shape", name + " has no phases", {op.id}};
      // What arrives are the ops themselves, each once in an iteration.
      const int arrivals = 1 + static_cast<int>(event.with.size());
      if (event.arrivals != arrivals)
        return Fault{
            "arrivals",
            name +
                (arrivals == 1 ? " is one arrival"
                               : ", with others, is " + std::to_string(arrivals) + " arrivals") +
                ", its barrier expects " + std::to_string(event.arrivals),
            {op.id}};
      Amount bytes = 0;
      for (const int one : ends_of(event))
        if (p_.ops[index(one)].ending == Ending::transaction)
          for (const int s : p_.ops[index(one)].writes)
            if (p_.storages[index(s)].kind == Storage::in_memory)
              bytes += p_.storages[index(s)].size;
      if (bytes != event.bytes)
        return Fault{"bytes",
                     name + " brings " + std::to_string(bytes) + ", its barrier expects " +
                         std::to_string(event.bytes),
                     {op.id}};
    }
    int last = 0;
    for (const Wait& wait : p_.waits) {
      if (wait.before < last) return Fault{"shape", "waits are not in the order of the ops", {}};
      last = wait.before;
      const Event& event = p_.events[index(wait.event)];
      if (event.pending && p_.ops[index(event.op)].slot != p_.ops[index(wait.before)].slot)
        return Fault{"shape",
                     p_.ops[index(wait.before)].id + " waits by a pending count of another slot, " +
                         p_.ops[index(event.op)].id,
                     {p_.ops[index(wait.before)].id}};
    }
    return std::nullopt;
  }

  const Program& p_;
};

}  // namespace

Finding check_shape(const Program& program) {
  return Shape(program).check();
}

}  // namespace twill::program::judged
