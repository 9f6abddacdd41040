// Integers that are computed element by element to one result, as random numbers are (tl.rand:
// Philox, some 80 ops a tile): one op of the problem (costed_loop.hpp, fuse_chunks; the whole tile
// is its only chunk). A compiler goes through them element by element, so that what lies between
// takes a few registers; ops of their own would each hold a tile of it.
#include <algorithm>

#include "graph/ttgir/builder.hpp"

namespace twill::ttgir {
namespace {

/// Shorter ones (bytes that are taken apart) are left to the schedule, op by op.
constexpr std::size_t kFewest = 12;

bool is_integer_type(std::string_view element) {
  return element.starts_with("i");
}

}  // namespace

/// Per node: is it of integers, or of numbers that are made of such alone?
std::vector<bool> Builder::of_integers() const {
  std::vector<bool> is(out_.kernel.ops.size(), false);
  for (std::size_t v = 0; v < is.size(); ++v) {  // (what a node reads is before it, or of earlier)
    const KernelOp& one = out_.kernel.ops[v];
    const NodeInfo& info = out_.nodes[v];
    const Operation& op = m_.op(info.op);
    if (class_of(op) != OpClass::elementwise || one.cost || one.alias_of || !info.part.empty() ||
        !one.tile || one.tile->shape.size() != 2 || op.results.size() != 1 || !op.regions.empty() ||
        !is_tile(op.results[0], TypeKind::tensor))
      continue;
    is[v] = is_integer_type(type(op.results[0]).element) && !type(op.results[0]).is_pointer();
    if (is[v]) continue;
    bool some = false, all = true;
    for (const int operand : op.operands)
      for (const Source& source : sources_.of(operand, info.copy)) {
        some = true;
        all = all && source.distance == 0 && source.inner == 0 && is[source.node];
      }
    is[v] = some && all;
  }
  return is;
}

void Builder::find_integer_chains() {
  Kernel& kernel = out_.kernel;
  const std::vector<bool> candidate = of_integers();
  constexpr std::size_t kNobody = static_cast<std::size_t>(-1);
  std::vector<std::vector<std::size_t>> users(kernel.ops.size());
  std::vector<bool> stays(kernel.ops.size(), false);  // used in other iterations, or as a view
  for (const KernelEdge& edge : kernel.edges) {
    users[edge.from].push_back(edge.to);
    stays[edge.from] = stays[edge.from] || edge.distance != 0 || edge.delay ||
                       kernel.ops[edge.to].alias_of == edge.from;
  }
  for (const std::size_t v : out_.handed_out) stays[v] = true;
  // The op that all of a node's ways lead to: what it makes is used on the way there alone.
  std::vector<std::size_t> end(kernel.ops.size(), kNobody);
  std::vector<std::vector<std::size_t>> chains(kernel.ops.size());
  for (std::size_t v = kernel.ops.size(); v-- > 0;) {
    if (!candidate[v]) continue;
    std::size_t last = users[v].empty() ? kNobody : end[users[v].front()];
    for (const std::size_t user : users[v])
      if (user <= v || end[user] != last ||
          kernel.ops[user].tile->shape != kernel.ops[v].tile->shape ||
          out_.nodes[user].copy != out_.nodes[v].copy ||
          out_.nodes[user].inner != out_.nodes[v].inner || at(user).width != at(v).width)
        last = kNobody;
    end[v] = last == kNobody || stays[v] ? v : last;
    chains[end[v]].push_back(v);
  }
  for (std::size_t last = 0; last < chains.size(); ++last) {
    if (chains[last].size() < kFewest) continue;
    Chunk chain;
    chain.id = kernel.ops[last].id + ".chain";
    while (!names_.try_emplace(chain.id, 2).second) chain.id += "_";
    chain.ops.assign(chains[last].rbegin(), chains[last].rend());
    chain.columns = kernel.ops[last].tile->shape[1];
    chain.kind = "integers";  // (of dozens of ops the kinds are no name)
    kernel.chunks.push_back(std::move(chain));
  }
}

}  // namespace twill::ttgir
