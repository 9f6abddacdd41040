// The statements that the kernels execute, for a reader: every schedule, slot and phase. They exist
// as text nowhere else: the compiler makes them out of the tables (forward/program.hpp and
// backward/program.hpp).
//   gpu_statements           prints gpu/STATEMENTS.md (target gpu_statements_file writes it)
//   gpu_statements FILE      compares; ends with 1 where FILE says something else
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "gpu/hopper/backward/program.hpp"
#include "gpu/hopper/forward/program.hpp"

namespace {

using namespace twill::gpu;

/// "[t]" or "[t-1]": the iteration that a statement concerns.
std::string at(int lag) {
  return lag == 0 ? "[t]" : "[t-" + std::to_string(lag) + "]";
}

std::string groups_left(int pending) {
  return pending == 0 ? "wait for all products"
                      : "wait until " + std::to_string(pending) +
                            (pending == 1 ? " group is in flight" : " groups are in flight");
}

std::string text(const Action& a) {
  switch (a.what) {
    case Do::wait_k: return "wait for K" + at(a.lag);
    case Do::wait_v: return "wait for V" + at(a.lag);
    case Do::take_turn: return "take the turn";
    case Do::give_turn: return "give the turn";
    case Do::issue_qk: return "ISSUE QK" + at(a.lag);
    case Do::issue_pv: return "ISSUE PV" + at(a.lag);
    case Do::wait_groups: return groups_left(a.pending);
    case Do::end_qk: return "free K" + at(a.lag);
    case Do::end_pv: return "free V" + at(a.lag);
    case Do::mask: return "mask" + at(a.lag);
    case Do::compute: return op_name(a.op) + at(a.lag);
  }
  return "?";
}

std::string text(const BackwardAction& a) {
  const std::string op = op_name(a.op);
  switch (a.what) {
    case BackwardDo::wait_q: return "wait for Q" + at(a.lag);
    case BackwardDo::wait_do: return "wait for dO" + at(a.lag);
    case BackwardDo::join_ds: return "join the other warpgroup for dS" + at(a.lag);
    case BackwardDo::wait_staging: return "wait for the staging buffer";
    case BackwardDo::issue: return "ISSUE " + op + at(a.lag);
    case BackwardDo::wait_groups: return groups_left(a.pending);
    case BackwardDo::end:
      return a.op == BackwardOp::dv   ? "free dO" + at(a.lag)
             : a.op == BackwardOp::dk ? "free Q" + at(a.lag)
                                      : op + at(a.lag) + " is there";
    case BackwardDo::mask: return "mask" + at(a.lag);
    case BackwardDo::compute: return op + at(a.lag);
    case BackwardDo::hand_over: return "hand dQ" + at(a.lag) + " over";
  }
  return "?";
}

/// The statements of a phase, a new line before each product and each wait for products.
template <class Program>
void print(std::ostream& out, const char* name, const Program& program, int cut) {
  out << name;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) out << "  " << line << '\n';
    line.clear();
  };
  out << '\n';
  for (int i = 0; i < program.count; ++i) {
    const std::string statement = text(program.action[i]);
    if (statement.starts_with("ISSUE") || statement.starts_with("wait for all products") ||
        statement.starts_with("wait until"))
      flush();
    if (i == cut) {
      flush();
      out << "  --- the loop's back edge ---\n";
    }
    line += (line.empty() ? "" : "; ") + statement;
  }
  flush();
}

void print_all(std::ostream& out) {
  out << "# The statements of the kernels\n\n"
         "What a consumer warpgroup executes, as the tables of `hopper/forward/schedule.hpp` and\n"
         "`hopper/backward/schedule.hpp` expand at compile time: t = 0 is the prologue, t = 1 to n "
         "- 1\n"
         "the steady state, t = n the epilogue, for n key blocks or query tiles. `[t-1]` concerns "
         "the\n"
         "iteration before; before the first there is nothing to do. A product is asynchronous "
         "from\n"
         "ISSUE to the wait that ends it. A turn is the tensor core's: the warpgroups keep an "
         "order.\n"
         "Written by `gpu_statements` (target `gpu_statements_file`), held by the test of that "
         "name.\n"
         "With 80 query rows exp_p converts P as well (trunc_p). `Backward 64` is head dimension "
         "64.\n"
         "What ptxas made of it is in [MACHINE_CODE.md](MACHINE_CODE.md).\n";
  for (const Schedule* schedule : kForwardSchedules)
    for (int slot = 0; slot < schedule->slots; ++slot) {
      const SlotProgram phases = slot_program(*schedule, slot);
      out << "\n## Forward, " << schedule->name << ", " << schedule->slot[slot].name << "\n\n```\n";
      print(out, "prologue", phases.prologue, -1);
      print(out, "steady state", phases.steady, phases.steady.cut);
      print(out, "epilogue", phases.epilogue, -1);
      out << "```\n";
    }
  for (const int head_dim : {128, 64})
    for (const BackwardSchedule* schedule : executed_schedules(head_dim)) {
      const BackwardPhases phases = backward_phases(*schedule);
      out << "\n## Backward" << (head_dim == 64 ? " 64, " : ", ") << schedule->name
          << ", both warpgroups\n\n```\n";
      print(out, "prologue", phases.prologue, -1);
      print(out, "steady state", phases.steady, phases.steady.cut);
      print(out, "epilogue", phases.epilogue, -1);
      out << "```\n";
    }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    print_all(std::cout);
    return 0;
  }
  std::ostringstream now;
  print_all(now);
  const std::ifstream file(argv[1]);
  std::ostringstream held;
  held << file.rdbuf();
  if (now.str() == held.str()) return 0;
  std::istringstream a(held.str()), b(now.str());
  std::string old_line, new_line;
  for (int n = 1; std::getline(a, old_line) && std::getline(b, new_line); ++n)
    if (old_line != new_line) {
      std::printf("%s:%d: \"%s\", and the kernels execute \"%s\"\n", argv[1], n, old_line.c_str(),
                  new_line.c_str());
      return 1;
    }
  std::printf("%s is not what the kernels execute\n", argv[1]);
  return 1;
}
