// A slot's waits, arrivals and products in flight (cuda_slot_printer.hpp).
#include <algorithm>
#include <string_view>

#include "graph/emit/cuda_slot_printer.hpp"
#include "graph/emit/in_flight.hpp"

namespace twill::emit {

using program::Event;

std::string CudaSlotPrinter::reason(const program::Wait& wait) const {
  std::string text = program::to_string(wait.need);
  if (wait.storage >= 0)
    if (const int w = writer(wait.storage); w >= 0) text += " of " + variable(w);
  return text;
}

std::string CudaSlotPrinter::op_name(int legal_index) const {
  const int release = legal_.release_of[at(legal_index)];
  return variable(legal_.source[at(release >= 0 ? release : legal_index)]);
}

std::string CudaSlotPrinter::barrier_at(int event, Iteration it) const {
  const int phases = legal_.program.events[at(event)].phases;
  std::string ring = shared(plan_.barrier[at(event)]);
  if (phases == 1) return ring;
  return "barrier_of<" + std::to_string(phases) + ">(" + ring + ", " + cuda_iteration(it) + ")";
}

void CudaSlotPrinter::wait(int depth, const Step& step) {
  const program::Wait& wait = legal_.program.waits[at(step.index)];
  const Event& event = legal_.program.events[at(wait.event)];
  const std::string comment =
      reason(wait) + ": " + op_name(event.op) + "[" + cuda_iteration(step.iteration) + "]";
  if (event.pending) {
    const int op = legal_.source[at(event.op)];
    for (std::size_t k = 0; k < flights_.size(); ++k)
      if (flights_[k].op == op && flights_[k].iteration == step.iteration.offset) {
        end_flights(depth, k, comment);
        return;
      }
    return;  // another wait was for it, too
  }
  if (step.if_exists && step.if_begun) refuse("op", "a wait with two guards");
  std::string guard;
  const int offset = step.iteration.offset;
  const char* const base = step.iteration.from == Iteration::loop ? "i" : "n";
  if (step.if_begun) guard = std::string("if (") + base + " >= " + std::to_string(-offset) + ") ";
  if (step.if_exists) guard = "if (" + cuda_iteration(step.iteration) + " < n) ";
  line(depth,
       guard + "wait_for<" + std::to_string(event.phases) + ">(" +
           shared(plan_.barrier[at(wait.event)]) + ", " + cuda_iteration(step.iteration) + ");",
       comment);
  fences_.after = true;
}

void CudaSlotPrinter::end_flights(int depth, std::size_t last, const std::string& comment) {
  const EndOfFlights end = end_of_flights(flights_, last);
  last = end.ended - 1;
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  };
  for (std::size_t k = 0; k <= last; ++k) {
    // Registers that a later product adds to are still its own.
    const bool again =
        std::any_of(flights_.begin() + static_cast<std::ptrdiff_t>(last) + 1, flights_.end(),
                    [&](const CudaFlight& other) { return other.result == flights_[k].result; });
    if (!again) add(flights_[k].result);
    add(flights_[k].left);
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  const std::string pending = std::to_string(end.left);
  line(depth,
       narrow() ? "bulk_wait_read<" + pending + ">();"
                : "end_products<" + pending + ">(" + list + ");",
       comment);
  flights_.erase(flights_.begin(), flights_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
}

void CudaSlotPrinter::touch(int depth, const std::string& name, const char* need) {
  for (std::size_t k = flights_.size(); k-- > 0;)
    if (flights_[k].result == name || flights_[k].left == name) {
      end_flights(depth, k, std::string(need) + " of " + name + ", in registers");
      return;
    }
}

void CudaSlotPrinter::drain(int depth) {
  if (!flights_.empty())
    end_flights(depth, flights_.size() - 1, narrow() ? "the last stores" : "the last products");
}

void CudaSlotPrinter::arrive(int depth, int legal_index, Iteration it, const char* how) {
  for (std::size_t e = 0; e < legal_.program.events.size(); ++e) {
    const Event& event = legal_.program.events[e];
    if (event.pending || event.op != legal_index) continue;
    fence_before(depth);
    if (fences_.loaded) {
      line(depth, "fence_async_shared();", "ordinary reads, of what a bulk copy writes again");
      if (std::string_view(how) == "release") how = "arrive";  // all lanes have to have fenced
    }
    fences_.loaded = false;
    line(depth, std::string(narrow() ? "barrier_arrive" : how) + "(" +
                    barrier_at(static_cast<int>(e), it) + ");");
  }
}

}  // namespace twill::emit
