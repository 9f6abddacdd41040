#include "engine/output/trace.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/output/steady_state.hpp"
#include "engine/output/style.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"

namespace twill {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kUnits = 1;
constexpr int kSlots = 2;
constexpr int kStorage = 3;
constexpr int kThreads = 10;  // behind all processes: Perfetto takes a thread with its process's
                              // number for the "main thread" and puts it first
constexpr Cycle kMostEvents = 60'000;
constexpr std::size_t kMostFlows = 20'000;  // an iteration
constexpr Cycle kFarthestFlow = 64;         // iterations that an arrow spans

using Bar = TraceBar;

Json metadata(int process, int thread, const char* what, const std::string& name) {
  Json event = {{"ph", "M"}, {"pid", process}, {"tid", thread}, {"name", what}};
  event["args"]["name"] = name;
  return event;
}

Json sort_index(int process, int thread, const char* what, int index) {
  Json event = {{"ph", "M"}, {"pid", process}, {"tid", thread}, {"name", what}};
  event["args"]["sort_index"] = index;
  return event;
}

/// Where an event of the slots is, for arrows to it.
struct Placed {
  int thread = 0;
  Cycle begin = 0, length = 0;
};
using PlacedBars = std::map<std::pair<int, Cycle>, Placed>;  // by op and iteration

/// Events of one process. Partly overlapping events may not share a thread, so a track has as many
/// threads as its work overlaps. Instants have one of their own: Perfetto binds an arrow to the
/// last that began on its thread, and would take an instant inside a box for it.
void emit(const Problem& problem, const Schedule& schedule, int process,
          const std::vector<std::string>& tracks, std::vector<Bar> events, Json& out,
          PlacedBars& placed_bars) {
  std::stable_sort(events.begin(), events.end(), [](const Bar& a, const Bar& b) {
    return std::tuple(a.begin, a.iteration, a.op) < std::tuple(b.begin, b.iteration, b.op);
  });
  int thread = kThreads;
  for (std::size_t track = 0; track < tracks.size(); ++track) {
    std::size_t lanes = 1;
    std::set<std::size_t> idle = {0};            // the first of them takes what comes
    using Busy = std::pair<Cycle, std::size_t>;  // until, lane
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    std::vector<std::pair<int, const Bar*>> placed;
    constexpr int kInstant = -1;
    bool instants = false;
    for (const Bar& event : events) {
      if (event.track != static_cast<int>(track)) continue;
      if (event.length == 0) {
        instants = true;
        placed.emplace_back(kInstant, &event);
        continue;
      }
      for (; !busy.empty() && busy.top().first <= event.begin; busy.pop())
        idle.insert(busy.top().second);
      if (idle.empty()) idle.insert(lanes++);
      const std::size_t lane = *idle.begin();
      idle.erase(idle.begin());
      busy.emplace(event.begin + event.length, lane);
      placed.emplace_back(static_cast<int>(lane), &event);
    }
    const bool boxes = !busy.empty();
    const int first = thread + 1;
    const auto name_thread = [&](const std::string& suffix) {
      ++thread;
      out.push_back(metadata(process, thread, "thread_name", tracks[track] + suffix));
      out.push_back(sort_index(process, thread, "thread_sort_index", thread));
    };
    for (std::size_t lane = 0; lane < lanes; ++lane)
      name_thread(lane == 0 ? "" : " #" + std::to_string(lane + 1));
    if (boxes && instants) name_thread(", no cycles");
    const int of_instants = boxes && instants ? thread : first;
    for (const auto& [lane, event] : placed) {
      const auto v = static_cast<std::size_t>(event->op);
      const Op& op = problem.ops[v];
      Json item = {{"name", printable(op.id)},
                   {"cat", "iteration " + std::to_string(event->iteration)},
                   {"ph", event->length > 0 ? "X" : "i"},
                   {"ts", event->begin}};
      if (event->length > 0) {
        item["dur"] = event->length;
      } else {
        item["s"] = "t";
      }
      item["pid"] = process;
      item["tid"] = lane == kInstant ? of_instants : first + lane;
      if (event->length > 0)
        placed_bars[{event->op, event->iteration}] = {first + lane, event->begin, event->length};
      item["args"] = {
          {"iteration", event->iteration},
          {"kind", printable(op.kind)},
          {"slot", printable(problem.warps[static_cast<std::size_t>(schedule.warp[v])].name)},
          {"start", schedule.start[v]},
          {"stage", schedule.start[v] / schedule.initiation_interval},
          {"cycles", op.cycles}};
      if (process == kUnits) item["args"]["amount"] = event->amount;
      out.push_back(std::move(item));
    }
  }
}

/// A result that is handed on from one op with cycles to another: an edge, or several through ops
/// without any, which have no box that an arrow could begin or end at.
struct Flow {
  int from = 0, to = 0;
  Cycle distance = 0;
  auto operator<=>(const Flow&) const = default;
};

std::set<Flow> flows_of(const Problem& problem) {
  std::vector<std::vector<const Edge*>> out(problem.ops.size());
  for (const Edge& e : problem.edges) out[static_cast<std::size_t>(e.from)].push_back(&e);
  const auto cycles = [&](int v) { return problem.ops[static_cast<std::size_t>(v)].cycles; };
  std::set<Flow> flows;
  for (int u = 0; u < static_cast<int>(problem.ops.size()); ++u) {
    if (cycles(u) == 0) continue;
    // (A way through the same op and distance again has nothing new behind it.)
    std::set<std::pair<int, Cycle>> seen;
    std::vector<std::pair<int, Cycle>> open = {{u, 0}};
    while (!open.empty() && flows.size() < kMostFlows) {
      const auto [v, distance] = open.back();
      open.pop_back();
      for (const Edge* e : out[static_cast<std::size_t>(v)]) {
        const Cycle sum = distance + e->distance;
        if (sum > kFarthestFlow) continue;
        if (cycles(e->to) > 0)
          flows.insert({u, e->to, sum});
        else if (seen.insert({e->to, sum}).second)
          open.emplace_back(e->to, sum);
      }
    }
  }
  return flows;
}

/// The middle of a cycle. An arrow is bound to what is there at its moment: at the cycle's begin
/// that may be an instant, an op of no cycles.
double middle_of(Cycle cycle) {
  return static_cast<double>(cycle) + 0.5;
}

/// Arrows ("s", "f") from the last cycle of a producer to the first of its consumer.
void emit_flows(const Problem& problem, const PlacedBars& bars, Json& out) {
  const std::set<Flow> flows = flows_of(problem);
  std::int64_t number = 0;
  for (const auto& [key, from] : bars)
    for (auto flow = flows.lower_bound({key.first, 0, 0});
         flow != flows.end() && flow->from == key.first; ++flow) {
      const auto to = bars.find({flow->to, key.second + flow->distance});
      if (to == bars.end() || to->second.begin < from.begin + from.length) continue;
      const std::string name =
          printable(problem.ops[static_cast<std::size_t>(flow->from)].id + " -> " +
                    problem.ops[static_cast<std::size_t>(flow->to)].id);
      out.push_back({{"name", name},
                     {"cat", "dependence"},
                     {"ph", "s"},
                     {"id", ++number},
                     {"ts", middle_of(from.begin + from.length - 1)},
                     {"pid", kSlots},
                     {"tid", from.thread}});
      out.push_back({{"name", name},
                     {"cat", "dependence"},
                     {"ph", "f"},
                     {"bp", "e"},
                     {"id", number},
                     {"ts", middle_of(to->second.begin)},
                     {"pid", kSlots},
                     {"tid", to->second.thread}});
    }
}

/// What is held when, as counters ("C"): of each slot the registers a thread, of each memory what
/// results and charged rings take. Iterations before the first and behind the last hold nothing.
void emit_counters(const Problem& problem, const Schedule& schedule, Cycle iterations, Json& out) {
  const Cycle ii = schedule.initiation_interval;
  std::vector<Cycle> last = schedule.start;
  for (const Edge& e : problem.edges) {
    Cycle& end = last[static_cast<std::size_t>(e.from)];
    end = std::max(end, schedule.start[static_cast<std::size_t>(e.to)] + e.distance * ii + e.hold);
  }
  const auto counter = [&](const std::string& name, Amount at_first, const auto& amount_of) {
    std::map<Cycle, Amount> change = {{0, at_first}};
    bool any = at_first > 0;
    for (std::size_t v = 0; v < problem.ops.size(); ++v) {
      const Amount amount = amount_of(v);
      if (amount == 0 || last[v] <= schedule.start[v]) continue;
      any = true;
      for (Cycle i = 0; i < iterations; ++i) {
        change[schedule.start[v] + i * ii] += amount;
        change[last[v] + i * ii] -= amount;
      }
    }
    Amount now = 0;
    bool first = true;
    for (const auto& [cycle, by] : change) {
      if (!any || (by == 0 && !first)) continue;
      first = false;
      now += by;
      Json event = {{"name", name}, {"ph", "C"}, {"ts", cycle}, {"pid", kStorage}};
      event["args"]["held"] = now;
      out.push_back(std::move(event));
    }
  };
  out.push_back(metadata(kStorage, 0, "process_name", "registers and memory"));
  out.push_back(sort_index(kStorage, 0, "process_sort_index", 3));
  for (std::size_t w = 0; w < problem.warps.size(); ++w)
    counter("registers of " + printable(problem.warps[w].name), 0, [&](std::size_t v) {
      return schedule.warp[v] == static_cast<int>(w) ? problem.ops[v].registers : 0;
    });
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    const MemoryCharges charges = memory_charges(problem, static_cast<int>(m));
    Amount rings = 0;
    for (std::size_t v = 0; v < problem.ops.size(); ++v)
      if (charges.ring[v] > 0)
        rings += charges.ring[v] * ring_depth(problem, schedule, static_cast<int>(v));
    counter(printable(problem.memories[m].name), rings,
            [&](std::size_t v) { return charges.live[v]; });
  }
}

/// "otherData" of the file.
Json made_json(const Solution& solution) {
  Json made = {{"problem", printable(solution.problem)},
               {"problem_sha256", printable(solution.problem_sha256)}};
  if (solution.made_by) made["made by"] = printable(made_by_text(solution));
  if (solution.made_by) made["options"] = printable(options_text(solution));
  return made;
}

/// All processes; one event a line: large files stay readable with line tools. Counters where a
/// number of `counted` iterations is given: the bars are then those of the schedule.
std::string text_of(const Problem& problem, const Schedule* schedule, std::vector<Bar> on_units,
                    std::vector<Bar> on_slots, Cycle counted, const Json& made) {
  Json events = Json::array();
  events.push_back(metadata(kUnits, 0, "process_name", "units"));
  events.push_back(sort_index(kUnits, 0, "process_sort_index", 1));
  events.push_back(metadata(kSlots, 0, "process_name", "warp slots"));
  events.push_back(sort_index(kSlots, 0, "process_sort_index", 2));
  if (schedule != nullptr) {
    std::vector<std::string> names;
    for (const Unit& unit : problem.units) names.push_back(printable(unit.name));
    PlacedBars ignored, placed;
    emit(problem, *schedule, kUnits, names, std::move(on_units), events, ignored);
    names.clear();
    for (const WarpSlot& slot : problem.warps) names.push_back(printable(slot.name));
    emit(problem, *schedule, kSlots, names, std::move(on_slots), events, placed);
    emit_flows(problem, placed, events);
    if (counted > 0) emit_counters(problem, *schedule, counted, events);
  }
  std::string text = "{\"displayTimeUnit\":\"ns\",";
  if (!made.empty()) text += "\"otherData\":" + made.dump() + ",";
  text += "\"traceEvents\":[\n";
  for (std::size_t k = 0; k < events.size(); ++k) {
    text += events[k].dump() + (k + 1 < events.size() ? ",\n" : "\n");
  }
  return text + "]}\n";
}

}  // namespace

Cycle traced_iterations(const Problem& problem, Cycle wanted) {
  Cycle each = static_cast<Cycle>(problem.ops.size());
  for (const Op& op : problem.ops) each += static_cast<Cycle>(op.reservations.size());
  each *= 3;  // an event may need a row of its own, which two more describe
  each +=
      2 * static_cast<Cycle>(std::min(flows_of(problem).size(), kMostFlows));  // an arrow is two
  for (const Op& op : problem.ops)  // a counter rises and falls
    each += 2 * ((op.registers > 0 ? 1 : 0) + static_cast<Cycle>(op.footprints.size()));
  return std::clamp<Cycle>(kMostEvents / std::max<Cycle>(each, 1), 1, wanted);
}

std::string trace_of(const Problem& problem, const Solution& solution,
                     std::vector<TraceBar> on_units, std::vector<TraceBar> on_slots) {
  return text_of(problem, &*solution.schedule, std::move(on_units), std::move(on_slots), 0,
                 made_json(solution));
}

std::string trace_events(const Problem& problem, const Solution& solution, int periods) {
  if (!solution.schedule) return text_of(problem, nullptr, {}, {}, 0, made_json(solution));
  const Schedule& schedule = *solution.schedule;
  const Cycle iterations =
      traced_iterations(problem, stage_count(schedule) - 1 + std::max(periods, 1));
  std::vector<Bar> on_units;
  std::vector<Bar> on_slots;
  for (Cycle i = 0; i < iterations; ++i) {
    for (std::size_t v = 0; v < problem.ops.size(); ++v) {
      const Cycle issue = schedule.start[v] + i * schedule.initiation_interval;
      const int op = static_cast<int>(v);
      on_slots.push_back({schedule.warp[v], issue, problem.ops[v].cycles, op, i, 1});
      for (const Reservation& r : problem.ops[v].reservations) {
        on_units.push_back({r.unit, issue + r.offset, r.length, op, i, r.amount});
      }
    }
  }
  return text_of(problem, &schedule, std::move(on_units), std::move(on_slots), iterations,
                 made_json(solution));
}

}  // namespace twill
