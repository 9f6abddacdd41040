#include "engine/output/trace.hpp"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/output/steady_state.hpp"
#include "engine/output/style.hpp"

namespace twill {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kUnits = 1;
constexpr int kSlots = 2;
constexpr Cycle kMostEvents = 60'000;

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

/// Events of one process. Partly overlapping events may not share a thread, so a track has as many
/// threads as its work overlaps; instants go to the first.
void emit(const Problem& problem, const Schedule& schedule, int process,
          const std::vector<std::string>& tracks, std::vector<Bar> events, Json& out) {
  std::stable_sort(events.begin(), events.end(), [](const Bar& a, const Bar& b) {
    return std::tuple(a.begin, a.iteration, a.op) < std::tuple(b.begin, b.iteration, b.op);
  });
  int thread = 0;
  for (std::size_t track = 0; track < tracks.size(); ++track) {
    std::size_t lanes = 1;
    std::set<std::size_t> idle = {0};            // the first of them takes what comes
    using Busy = std::pair<Cycle, std::size_t>;  // until, lane
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    std::vector<std::pair<int, const Bar*>> placed;
    for (const Bar& event : events) {
      if (event.track != static_cast<int>(track)) continue;
      std::size_t lane = 0;
      if (event.length > 0) {
        for (; !busy.empty() && busy.top().first <= event.begin; busy.pop())
          idle.insert(busy.top().second);
        if (idle.empty()) idle.insert(lanes++);
        lane = *idle.begin();
        idle.erase(idle.begin());
        busy.emplace(event.begin + event.length, lane);
      }
      placed.emplace_back(static_cast<int>(lane), &event);
    }
    const int first = thread + 1;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      ++thread;
      const std::string suffix = lane == 0 ? "" : " #" + std::to_string(lane + 1);
      out.push_back(metadata(process, thread, "thread_name", tracks[track] + suffix));
      out.push_back(sort_index(process, thread, "thread_sort_index", thread));
    }
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
      item["tid"] = first + lane;
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

/// Both processes; one event a line: large files stay readable with line tools.
std::string text_of(const Problem& problem, const Schedule* schedule, std::vector<Bar> on_units,
                    std::vector<Bar> on_slots) {
  Json events = Json::array();
  events.push_back(metadata(kUnits, 0, "process_name", "units"));
  events.push_back(sort_index(kUnits, 0, "process_sort_index", 1));
  events.push_back(metadata(kSlots, 0, "process_name", "warp slots"));
  events.push_back(sort_index(kSlots, 0, "process_sort_index", 2));
  if (schedule != nullptr) {
    std::vector<std::string> names;
    for (const Unit& unit : problem.units) names.push_back(printable(unit.name));
    emit(problem, *schedule, kUnits, names, std::move(on_units), events);
    names.clear();
    for (const WarpSlot& slot : problem.warps) names.push_back(printable(slot.name));
    emit(problem, *schedule, kSlots, names, std::move(on_slots), events);
  }
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
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
  return std::clamp<Cycle>(kMostEvents / std::max<Cycle>(each, 1), 1, wanted);
}

std::string trace_of(const Problem& problem, const Schedule& schedule,
                     std::vector<TraceBar> on_units, std::vector<TraceBar> on_slots) {
  return text_of(problem, &schedule, std::move(on_units), std::move(on_slots));
}

std::string trace_events(const Problem& problem, const Solution& solution, int periods) {
  if (!solution.schedule) return text_of(problem, nullptr, {}, {});
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
  return text_of(problem, &schedule, std::move(on_units), std::move(on_slots));
}

}  // namespace twill
