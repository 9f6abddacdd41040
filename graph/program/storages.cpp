#include "graph/program/storages.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/ring_depth.hpp"

namespace twill::program {
namespace {

// A hand-over of registers goes through the memory of this name, a thread's register in 4 bytes.
constexpr const char* kHandOver = "smem";
constexpr Cycle kMostStages = 1'000;
constexpr std::size_t kMostOps = 500;
constexpr Amount kMostSize = 1'000'000'000;  // of a copy whose registers are handed over
constexpr Amount kRegisterBytes = 4, kWarpThreads = 32;

/// Where a 128-byte swizzle is used, its atom of 8 rows x 128 bytes is aligned; a bulk copy asks
/// for 128 bytes (PTX ISA, cp.async.bulk.tensor). Tensor memory is cut in 32 columns, or less where
/// the result is smaller.
Amount alignment_in(const std::string& memory, Amount size) {
  if (memory == "smem") return size % 1024 == 0 ? 1024 : 128;
  Amount columns = 32;
  if (memory == "tmem")
    while (size % columns != 0) columns /= 2;
  return memory == "tmem" ? columns : 1;
}

bool is_product(const twill::Op& op) {
  return op.kind == "gemm";
}

/// May the op write its result over an operand of the same size? An MMA adds to it; a chain that
/// goes over its tile in chunks (graph/lowering/chunk.cpp) reads each before it writes it.
bool accumulates(const twill::Op& op) {
  return is_product(op) || (op.kind.starts_with("tmem_load+") && op.kind.ends_with("+tmem_store"));
}

class Drafter {
 public:
  Drafter(const Problem& problem, const Schedule& schedule, Draft& draft)
      : problem_(problem), schedule_(schedule), draft_(draft), program_(draft.program) {}

  std::optional<Refusal> run() {
    if (auto refusal = view_loop(problem_, schedule_, draft_.loop)) return refusal;
    const Cycle stages = stage_count(schedule_);
    if (stages > kMostStages)
      return Refusal{
          "size", std::to_string(stages) + " stages are more than " + std::to_string(kMostStages)};
    slots();
    if (program_.ops.size() > kMostOps)
      return Refusal{"size", std::to_string(program_.ops.size()) +
                                 " ops that are code are more than " + std::to_string(kMostOps)};
    for (int v = 0; v < static_cast<int>(program_.ops.size()); ++v) {
      const twill::Op& op = problem_op(v);
      // A product of both is the size of a hand-over.
      if (draft_.loop.registers[at(draft_.source[at(v)])] > kMostSize / op.width)
        return Refusal{"size", "the registers of " + op.id + " are too many"};
      storages_of(v);
    }
    fences();
    return depths();
  }

 private:
  const twill::Op& problem_op(int v) const { return problem_.ops[at(draft_.source[at(v)])]; }

  Ending ending(int u) const {
    const twill::Op& op = problem_.ops[at(u)];
    if (op.variable_latency || op.fills_ring()) return Ending::transaction;
    if (is_product(op)) return Ending::pending;
    for (const Edge& e : problem_.edges)
      if ((e.from == u && e.blocking) || (e.to == u && e.hold > 0)) return Ending::pending;
    return Ending::at_once;
  }

  void slots() {
    const LoopView& loop = draft_.loop;
    const Cycle ii = schedule_.initiation_interval;
    program_.problem = problem_.name;
    program_.initiation_interval = ii;
    for (const twill::Memory& memory : problem_.memories)
      program_.memories.push_back({memory.name, memory.capacity});
    index_.assign(problem_.ops.size(), -1);
    for (int w = 0; w < static_cast<int>(problem_.warps.size()); ++w) {
      const WarpSlot& warp = problem_.warps[at(w)];
      program_.slots.push_back({warp.name, warp.width, warp.registers});
      std::vector<int> here;
      for (int u = 0; u < static_cast<int>(problem_.ops.size()); ++u)
        if (loop.is_code[at(u)] && loop.slot(u) == w) here.push_back(u);
      std::sort(here.begin(), here.end(), [&](int a, int b) {
        const Cycle x = loop.start(a) % ii, y = loop.start(b) % ii;
        return x != y ? x < y : loop.rank[at(a)] < loop.rank[at(b)];
      });
      for (const int u : here) {
        const twill::Op& op = problem_.ops[at(u)];
        index_[at(u)] = static_cast<int>(program_.ops.size());
        draft_.source.push_back(u);
        Op code;
        code.id = op.id;
        code.slot = w;
        code.stage = static_cast<int>(loop.start(u) / ii);
        code.ending = ending(u);
        code.async_proxy = code.ending == Ending::transaction || is_product(op);
        if (is_product(op) && code.ending == Ending::pending && op.reservations.size() == 1)
          code.queue = problem_.units[at(op.reservations.front().unit)].name;
        program_.ops.push_back(std::move(code));
      }
    }
  }

  std::string name_for(const std::string& id, const std::string& place, bool alone) {
    std::string name = alone ? id : id + "@" + place;
    while (!names_.insert(name).second) name += "'";
    return name;
  }

  int hand_over_memory() {
    for (std::size_t m = 0; m < program_.memories.size(); ++m)
      if (program_.memories[m].name == kHandOver) return static_cast<int>(m);
    program_.memories.push_back({kHandOver, -1});
    return static_cast<int>(program_.memories.size()) - 1;
  }

  void add(int v, const std::string& name, Storage storage, const std::vector<Reader>& readers) {
    storage.name = name;
    const int s = static_cast<int>(program_.storages.size());
    program_.storages.push_back(std::move(storage));
    draft_.readers.push_back(readers);
    draft_.writer.push_back(v);
    program_.ops[at(v)].writes.push_back(s);
    for (const Reader& r : readers) program_.ops[at(r.op)].reads.push_back({s, r.distance});
  }

  Storage in_memory(int memory, Amount size) const {
    Storage storage;
    storage.kind = Storage::in_memory;
    storage.memory = memory;
    storage.size = size;
    storage.alignment = alignment_in(program_.memories[at(memory)].name, size);
    return storage;
  }

  void storages_of(int v) {
    const int u = draft_.source[at(v)];
    std::vector<Reader> all, near, far;
    for (int r = 0; r < static_cast<int>(program_.ops.size()); ++r)
      for (const Use& use : draft_.loop.uses[at(draft_.source[at(r)])]) {
        if (use.from != u) continue;
        const Reader reader{r, use.distance, use.hold == 0 && accumulates(problem_op(r))};
        all.push_back(reader);
        (program_.ops[at(r)].slot == program_.ops[at(v)].slot ? near : far).push_back(reader);
      }
    const std::string& id = problem_.ops[at(u)].id;
    const std::vector<Amount>& takes = draft_.loop.takes[at(u)];
    const auto places = std::count_if(takes.begin(), takes.end(), [](Amount a) { return a > 0; });
    const Amount registers = draft_.loop.registers[at(u)];
    const bool hand_over = places == 0 && registers > 0 && !far.empty();
    const bool alone = places + (registers > 0 ? 1 : 0) + (hand_over ? 1 : 0) <= 1;
    for (std::size_t m = 0; m < takes.size(); ++m)
      if (takes[m] > 0)
        add(v, name_for(id, problem_.memories[m].name, alone),
            in_memory(static_cast<int>(m), takes[m]), all);
    if (registers > 0) {
      Storage storage;
      storage.kind = Storage::in_registers;
      storage.size = registers;
      add(v, name_for(id, "registers", alone), storage, near);
    }
    if (hand_over) {
      const int memory = hand_over_memory();
      const Amount bytes = registers * kRegisterBytes * kWarpThreads * problem_op(v).width;
      add(v, name_for(id, program_.memories[at(memory)].name, alone), in_memory(memory, bytes),
          far);
    }
    if (places == 0 && registers == 0 && !all.empty()) add(v, name_for(id, "", true), {}, all);
  }

  void fences() {
    for (std::size_t s = 0; s < program_.storages.size(); ++s) {
      const Storage& storage = program_.storages[s];
      Op& writer = program_.ops[at(draft_.writer[s])];
      if (storage.kind != Storage::in_memory || writer.async_proxy ||
          program_.memories[at(storage.memory)].name != kBarrierMemory)
        continue;
      for (const Reader& r : draft_.readers[s])
        if (program_.ops[at(r.op)].async_proxy) writer.fence = true;
    }
  }

  std::optional<Refusal> depths() {
    for (std::size_t s = 0; s < program_.storages.size(); ++s) {
      Storage& storage = program_.storages[s];
      const int w = draft_.writer[s];
      const twill::Op& op = problem_op(w);
      std::int64_t depth = draft_.order_offset(w, w);
      if (op.fills_ring())
        depth = std::max(depth, ring_depth(problem_, schedule_, draft_.source[at(w)]));
      for (const Reader& r : draft_.readers[s]) {
        // What is in registers may be written over by whoever reads it last, and an accumulator by
        // the product that adds to it.
        const bool over =
            r.op == w && (r.accumulates || (storage.kind == Storage::in_registers &&
                                            program_.ops[at(w)].ending == Ending::at_once));
        depth = std::max(depth, (over ? 0 : draft_.order_offset(r.op, w)) + r.distance);
        // Before the loop there are the copies of so many iterations, all at once.
        depth = std::max<std::int64_t>(depth, r.distance);
        std::vector<int>& in_place = program_.ops[at(w)].in_place;
        if (over &&
            std::find(in_place.begin(), in_place.end(), static_cast<int>(s)) == in_place.end())
          in_place.push_back(static_cast<int>(s));
      }
      depth = std::max<std::int64_t>(depth, 1);
      if (depth > kMaxDepth)
        return Refusal{"size", storage.name + " needs " + std::to_string(depth) +
                                   " copies, more than " + std::to_string(kMaxDepth)};
      storage.depth = static_cast<int>(depth);
      if (storage.size > kMaxAmount / depth)
        return Refusal{"size", storage.name + " takes " + std::to_string(depth) + " x " +
                                   std::to_string(storage.size) + ", more than " +
                                   std::to_string(kMaxAmount)};
    }
    return std::nullopt;
  }

  const Problem& problem_;
  const Schedule& schedule_;
  Draft& draft_;
  Program& program_;
  std::vector<int> index_;
  std::set<std::string> names_;
};

}  // namespace

bool Draft::ordered_by_slot(int a, int b) const {
  const Op &first = program.ops[at(a)], &second = program.ops[at(b)];
  return first.slot == second.slot &&
         (first.ending == Ending::at_once || (!first.queue.empty() && first.queue == second.queue));
}

int Draft::accumulator_of(int t) const {
  const auto in_tensor_memory = [&](const Storage& s) {
    return s.kind == Storage::in_memory && program.memories[at(s.memory)].name == kTensorMemory;
  };
  const Storage& result = program.storages[at(t)];
  const int w = writer[at(t)];
  if (!in_tensor_memory(result) || !is_product(loop.problem->ops[at(source[at(w)])])) return -1;
  int found = -1;
  for (int s = 0; s < static_cast<int>(program.storages.size()); ++s) {
    const Storage& one = program.storages[at(s)];
    if (!in_tensor_memory(one) || one.memory != result.memory || one.size != result.size) continue;
    if (std::none_of(readers[at(s)].begin(), readers[at(s)].end(),
                     [&](const Reader& r) { return r.op == w && r.accumulates; }))
      continue;
    if (found >= 0) return -1;
    found = s;
  }
  return found;
}

Cycle Draft::order_offset(int a, int b) const {
  const int u = source[at(a)], v = source[at(b)];
  return ordered_by_slot(a, b) ? loop.issue_offset(u, v) : loop.end_offset(u, v);
}

std::optional<Refusal> draft_program(const Problem& problem, const Schedule& schedule,
                                     Draft& draft) {
  Draft fresh;
  fresh.turns = draft.turns;
  fresh.merge = draft.merge;
  fresh.needless_turns = std::move(draft.needless_turns);
  draft = std::move(fresh);
  return Drafter(problem, schedule, draft).run();
}

}  // namespace twill::program
