#include "graph/lowering/kernel_meaning.hpp"

#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/index.hpp"
#include "graph/io/json_reader.hpp"
#include "graph/lowering/instantiate.hpp"
#include "graph/lowering/kernel_reader.hpp"
#include "graph/lowering/stored_results.hpp"
#include "graph/meaning/meaning_io.hpp"

namespace twill {
namespace {

/// From, to, distance: ops of the kernel.
using OperandEdge = std::tuple<std::size_t, std::size_t, int>;

/// Per op, what it and its steps use of ops: the op, and how many iterations before.
using Uses = std::vector<std::vector<std::pair<std::size_t, int>>>;

Uses uses_of(const meaning::Meaning& meaning, const Kernel& kernel) {
  std::unordered_map<std::string_view, std::size_t> named;
  for (std::size_t v = 0; v < kernel.ops.size(); ++v) named.emplace(kernel.ops[v].id, v);
  Uses uses(kernel.ops.size());
  for (int value = meaning.loop_begin; value < meaning.after_begin; ++value) {
    const meaning::Value& one = meaning.values[at(value)];
    const auto owner = named.at(one.part_of.empty() ? one.id : one.part_of);
    for (const meaning::Operand& operand : one.operands) {
      if (operand.value < 0 || !meaning.in_loop(operand.value)) continue;
      const std::size_t from = at(operand.value - meaning.loop_begin);
      if (from < kernel.ops.size()) uses[owner].emplace_back(from, operand.distance);
    }
  }
  return uses;
}

std::set<OperandEdge> operand_edges(const Uses& uses, const std::vector<JsonValue>& ops,
                                    const Kernel& kernel) {
  std::set<OperandEdge> edges, operands;
  for (const KernelEdge& e : kernel.edges)
    if (!e.order) edges.insert({e.from, e.to, e.distance});
  for (std::size_t v = 0; v < ops.size(); ++v)
    for (const auto& [from, distance] : uses[v]) {
      if (!edges.contains({from, v, distance}))
        ops[v]
            .at("computes")
            .fail("no edge from " + kernel.ops[from].id + " to " + kernel.ops[v].id +
                  " of distance " + std::to_string(distance) + " brings this operand");
      operands.insert({from, v, distance});
    }
  return operands;
}

/// What is between the ops of a chain is never outside it.
void check_chains(const Uses& uses, const std::vector<JsonValue>& ops, const Kernel& kernel) {
  for (const Chunk& chunk : kernel.chunks) {
    const std::set<std::size_t> inside(chunk.ops.begin(), chunk.ops.end());
    for (std::size_t v = 0; v < ops.size(); ++v)
      for (const auto& [from, distance] : uses[v]) {
        if (!inside.contains(from)) continue;
        const bool within = inside.contains(v) && distance == 0;
        if (!within && from != chunk.ops.back())
          ops[v]
              .at("computes")
              .fail("only the last result of the chunk " + chunk.id + " is there for others, not " +
                    kernel.ops[from].id);
      }
  }
}

}  // namespace

void read_kernel_meaning(const JsonValue& root, Kernel& kernel) {
  const auto ops = root.at("ops").elements();
  const auto meaning = root.find("meaning");
  if (!meaning) {
    for (const JsonValue& op : ops)
      if (const auto computes = op.find("computes"))
        computes->fail("needs \"meaning\" in the file, with tensors and what is carried");
    for (const JsonValue& edge : root.at("edges").elements())
      if (const auto order = edge.find("order"))
        order->fail("needs \"meaning\" in the file: of an edge without one nothing is known");
    return;
  }
  meaning::check_meaning_keys(*meaning, false);
  kernel.meaning = meaning::read_meaning(*meaning, ops);
  const Uses uses = uses_of(*kernel.meaning, kernel);
  const auto operands = operand_edges(uses, ops, kernel);
  check_chains(uses, ops, kernel);
  for (const Chunk& chunk : kernel.chunks)
    for (const std::size_t v : chunk.ops) {
      const std::size_t own = at(kernel.meaning->loop_begin) + v;
      for (meaning::Value& step : kernel.meaning->values)
        if (step.part_of == kernel.ops[v].id) step.part_of = chunk.id;
      kernel.meaning->values[own].part_of = chunk.id;
    }
  const auto edges = root.at("edges").elements();
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const KernelEdge& edge = kernel.edges[e];
    if (!edge.order && !operands.contains({edge.from, edge.to, edge.distance}))
      edges[e].fail("must be an operand of " + kernel.ops[edge.to].id + ", or of \"order\" alone");
  }
}

std::optional<meaning::Meaning> meaning_of_kernel(const std::string& text,
                                                  const std::string& source,
                                                  const ParameterValues& values,
                                                  const std::vector<std::string>& stored) {
  JsonDocument document = JsonDocument::parse(text, source);
  Kernel kernel;
  if (has_parameters(document)) {
    const KernelTemplate read(std::move(document));
    kernel = read.instantiate(read.indices(values)).kernel;
  } else {
    kernel = read_kernel(std::move(document));
  }
  store_results(kernel, stored);
  return std::move(kernel.meaning);
}

}  // namespace twill
