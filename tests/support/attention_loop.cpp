#include "tests/support/attention_loop.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace twill::test {

const std::vector<std::string>& attention_loops() {
  static const std::vector<std::string> names{
      "hopper-fwd-plain",   "hopper-fwd-sub2", "hopper-fwd-sub2-m128",
      "hopper-bwd",         "hopper-bwd-sub2", "blackwell-fwd-plain",
      "blackwell-fwd-sub2", "blackwell-bwd",   "blackwell-bwd-sub2"};
  return names;
}

Problem attention_loop(const std::string& data, const std::string& name) {
  std::ifstream file(data + "/kernels/" + name + ".json");
  const nlohmann::ordered_json json = nlohmann::ordered_json::parse(file);
  Problem problem;
  problem.name = name;
  std::map<std::string, int> units, ops;
  for (const auto& [unit, capacity] : json.at("units").items()) {
    units[unit] = static_cast<int>(problem.units.size());
    problem.units.push_back({unit, capacity.get<Amount>()});
  }
  for (const auto& [memory, free] : json.at("free").items())
    problem.memories.push_back({memory, free.get<Amount>()});

  // Rows: id, kind, unit, cycles, registers, smem, tmem, variable latency, warps, spill, ...
  std::set<std::string> has_input;
  for (const auto& e : json.at("edges")) has_input.insert(e.at(1).get<std::string>());
  int widest = 1;
  for (const auto& o : json.at("ops")) {
    Op op;
    op.id = o.at(0);
    op.kind = o.at(1);
    op.variable_latency = o.at(7);
    op.streaming = op.variable_latency && !has_input.contains(op.id);
    op.cycles = op.streaming ? 0 : o.at(3).get<Cycle>();
    if (op.cycles > 0 && o.at(2) != "NONE")
      op.reservations.push_back({units.at(o.at(2)), 0, op.cycles, 1});
    op.registers = o.at(4);
    for (int m = 0; m < 2; ++m)
      if (const Amount amount = o.at(5 + static_cast<std::size_t>(m)); amount > 0)
        op.footprints.push_back({m, amount});
    op.width = o.at(8);
    op.spill = o.at(9);
    widest = std::max(widest, op.width);
    ops[op.id] = static_cast<int>(problem.ops.size());
    problem.ops.push_back(op);
  }
  for (const auto& e : json.at("edges")) {
    Edge edge;
    edge.from = ops.at(e.at(0));
    edge.to = ops.at(e.at(1));
    edge.delay =
        problem.ops[static_cast<std::size_t>(edge.from)].streaming ? 0 : e.at(2).get<Cycle>();
    edge.distance = e.at(3);
    edge.blocking = e.at(4);
    problem.edges.push_back(edge);
  }

  const Amount registers = name.find("bwd") == std::string::npos ? 216 : 228;
  problem.warps = {{"load", 1, 24, true}, {"mma", 1, 24, false}, {"aux", 1, 24, false}};
  if (widest == 8) problem.warps.push_back({"compute", 8, registers, false});
  const int groups = widest == 8 ? 1 : 3;
  for (int g = 0; g < groups; ++g)
    problem.warps.push_back({"group" + std::to_string(g), 4, registers, false});
  return problem;
}

}  // namespace twill::test
