// Loops as the modulo scheduler of Meta's Triton fork (facebookexperimental/triton) writes them:
// its dependence graphs (ddg.json, "ddg-0.1") and its schedules (schedule_graph.json, "0.1";
// described in third_party/tlx/tools/sched2tlx/SCHEMA.md of that repository).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill::bench {

/// Width of the slot for nodes that may be anywhere.
inline constexpr int kAnyWarps = 8;

/// A loop of such a file.
///
/// The problem: a unit for every pipeline but NONE, and an op for every node, whose cycles are
/// those that it takes of its pipeline (`occupancy`, else `self_latency`, times
/// `frequency_multiplier`, at least 1); a node of no pipeline has none. (Only dependence graphs
/// have the occupancy. The self latency of an asynchronous op may be that of its issue alone.)
/// Edges are the file's, with their latencies. A slot for every warp group, as wide as its warps,
/// and one more, "any", for nodes without a group, or where there are none. A node that stands for
/// an inner loop
/// (`child_pipeline_id`, `is_super_node`) depends on its run before. Buffers of a schedule in
/// shared and tensor memory are footprints of the load that fills them (or of what defines them),
/// held until the latency of each consumer is over, consumers seen through nodes of no pipeline;
/// capacities are the file's `config`, else 232448 and 262144 bytes, the defaults of that
/// scheduler. Left out: the costs of barriers, which the files do not have, depths of rings beyond
/// what is live, and registers.
struct GraphLoop {
  Problem problem;
  /// Where the file has one.
  std::optional<Schedule> schedule;
  /// The lower bound on I that the file states.
  std::optional<Cycle> stated_bound;
  /// A question to the joint solver, whose answer is another file?
  bool asked = false;
};

/// How long the nodes of a dependence graph take their pipelines, by loop and node.
struct Occupancy {
  std::string op_kind;
  Cycle cycles = 0;
};
using Occupancies = std::map<std::pair<std::int64_t, std::int64_t>, Occupancy>;
Occupancies parse_occupancies(std::string_view text, const std::string& source);

/// All loops with nodes; also of a problem of that fork's joint solver (joint_problem.hpp). Strict
/// about what is read, blind to what is not. With `occupancies` every node must be among them, of
/// the same kind. Throws InputError with the file, the JSON pointer, the value and the rule.
std::vector<GraphLoop> parse_schedule_graph(std::string_view text, const std::string& source,
                                            const Occupancies* occupancies = nullptr);

}  // namespace twill::bench
