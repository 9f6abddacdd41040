// A slot's waits, arrivals and products in flight (gluon_slot_printer.hpp).
#include <algorithm>

#include "graph/emit/gluon_slot_printer.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {

using program::Event;

std::string SlotPrinter::reason(const program::Wait& wait) const {
  std::string text = program::to_string(wait.need);
  if (wait.storage >= 0) {
    const int w = writer(wait.storage);
    if (w >= 0) text += " of " + variable(w);
  }
  return text;
}

std::string SlotPrinter::op_name(int legal_index) const {
  const int release = legal_.release_of[at(legal_index)];
  return variable(legal_.source[at(release >= 0 ? release : legal_index)]);
}

void SlotPrinter::wait(int depth, const Step& step) {
  const program::Wait& wait = legal_.program.waits[at(step.index)];
  const Event& event = legal_.program.events[at(wait.event)];
  const std::string comment =
      "  # " + reason(wait) + ": " + op_name(event.op) + "[" + iteration_text(step.iteration) + "]";
  if (event.pending && is_store(legal_.source[at(event.op)])) {
    wait_store(depth, legal_.source[at(event.op)], step.iteration.offset, comment);
    return;
  }
  if (event.pending) {
    wait_flight(depth, legal_.source[at(event.op)], step.iteration.offset, comment);
    return;
  }
  std::string text = "mbarrier.wait(" + use(plan_.barrier[at(wait.event)]) +
                     barrier_index(step.iteration, event.phases) + ", " +
                     parity(step.iteration, event.phases);
  if (step.iteration.from != Iteration::begin) use("n");
  std::string guard;
  if (step.if_begun) guard = through_tiles(step.iteration) + " >= 0";
  if (step.if_exists)
    guard += (guard.empty() ? "" : " and ") + iteration_text(step.iteration) + " < n";
  if (step.if_exists && step.if_begun) refuse("op", "a wait with two guards");
  if (!guard.empty()) text += ", pred=" + guard;
  line(depth, text + ")" + comment);
  fence_is_due_ |= needs_fence(event.op);
}

void SlotPrinter::fence_if_due(int depth) {
  if (!fence_is_due_) return;
  fence_is_due_ = false;
  needs_.fence = true;
  line(depth, "fence_async_shared()  # threads copied it, products read it");
}

std::string SlotPrinter::through_tiles(Iteration iteration) const {
  std::string text = iteration_text(iteration);
  if (!plan_.tiles()) return text;
  if (text.starts_with('-')) return "first - " + text.substr(1);
  return text == "0" ? "first" : "first + " + text;
}

std::string SlotPrinter::ring(Iteration iteration, int depth) const {
  if (!plan_.tiles()) return ring_index(iteration, depth);
  if (depth == 1) return "";
  // (Never negative, as the copy before the first iteration is asked for, too.)
  const Iteration small{iteration.from, ring_place(iteration.offset, depth).copy};
  const std::string text = through_tiles(small);
  return ".index(" + (text.find(' ') == std::string::npos ? text : "(" + text + ")") + " % " +
         std::to_string(depth) + ")";
}

std::string SlotPrinter::parity(Iteration iteration, int phases) const {
  if (iteration.from == Iteration::begin && !plan_.tiles())
    return std::to_string(ring_place(iteration.offset, phases).parity);
  if (phases == 1) {
    const Iteration even{iteration.from, (iteration.offset % 2 + 2) % 2};
    const std::string text = through_tiles(even);
    return (text.find(' ') == std::string::npos ? text : "(" + text + ")") + " & 1";
  }
  const std::string text = through_tiles(iteration);
  return (text.find(' ') == std::string::npos ? text : "(" + text + ")") + " // " +
         std::to_string(phases) + " & 1";
}

void SlotPrinter::wait_turn_before(const std::string& barrier, const std::string& comment) {
  line(1, "mbarrier.wait(" + use(barrier) + ", (turn + 1) & 1, pred=turn > 0)  # " + comment);
}

void SlotPrinter::wait_flight(int depth, int op, int iteration, const std::string& comment) {
  std::vector<ProductInFlight>& all = state_.flights;
  const auto found = std::find_if(all.begin(), all.end(), [&](const ProductInFlight& flight) {
    return flight.op == op && flight.iteration == iteration;
  });
  if (found == all.end()) return;  // another wait was for it, too
  const EndOfFlights end = end_of_flights(all, static_cast<std::size_t>(found - all.begin()));
  const auto ended = static_cast<std::ptrdiff_t>(end.ended);
  std::vector<std::string> names;
  for (auto flight = all.begin(); flight != all.begin() + ended; ++flight) {
    if (!flight->taken) add_name(names, *flight);
    // (Where the loop begins again there is a name for them only if it is there before it, too.)
    if (state_.defined.contains(flight->left)) names.push_back(flight->left);
  }
  // All of them were added to: the registers are those of the product in flight.
  for (auto flight = all.begin() + ended; names.empty() && flight != all.end(); ++flight)
    if (!flight->taken) add_name(names, *flight);
  if (names.empty()) refuse("op", "a product's result has no name");
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  line(depth, list + " = warpgroup_mma_wait(" + std::to_string(end.left) + ", deps=[" + list +
                  "])" + comment);
  all.erase(all.begin(), all.begin() + ended);
}

void SlotPrinter::add_name(std::vector<std::string>& names, const ProductInFlight& flight) {
  int newer = 0;
  for (const ProductInFlight& other : state_.flights)
    if (other.op == flight.op && other.iteration > flight.iteration) ++newer;
  if (plan_.registers_of(flight.op) < 0) return;
  if (!state_.defined.contains(aged(flight.op, newer)))
    refuse("op", "two products of " + p_.ops[at(flight.op)].id + " are in flight under one name");
  names.push_back(aged(flight.op, newer));
  if (newer == 0) state_.token[flight.op] = false;
}

void SlotPrinter::drain(int depth) {
  if (!state_.stores.empty()) {
    const StoreInFlight last = state_.stores.back();
    wait_store(depth, last.op, last.iteration, "  # the last bulk stores");
  }
  if (state_.flights.empty()) return;
  const ProductInFlight last = state_.flights.back();
  wait_flight(depth, last.op, last.iteration, "  # the last products");
}

void SlotPrinter::arrive(int depth, int legal_index, Iteration it) {
  for (std::size_t e = 0; e < legal_.program.events.size(); ++e) {
    const Event& event = legal_.program.events[e];
    if (event.pending || event.op != legal_index) continue;
    if (it.from == Iteration::end) use("n");
    line(depth, "mbarrier.arrive(" + use(plan_.barrier[e]) + barrier_index(it, event.phases) +
                    ", count=1)");
  }
}

std::string SlotPrinter::barriers_of(int legal_index, Iteration it) {
  std::string list;
  for (std::size_t e = 0; e < legal_.program.events.size(); ++e) {
    const Event& event = legal_.program.events[e];
    if (event.pending || event.op != legal_index) continue;
    if (it.from == Iteration::end) use("n");
    list += (list.empty() ? "" : ", ") + use(plan_.barrier[e]) + barrier_index(it, event.phases);
  }
  return list;
}

}  // namespace twill::emit
