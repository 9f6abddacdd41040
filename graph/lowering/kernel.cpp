#include "graph/lowering/kernel.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "graph/io/json_reader.hpp"
#include "graph/lowering/instantiate.hpp"
#include "graph/lowering/kernel_meaning.hpp"
#include "graph/lowering/kernel_reader.hpp"
#include "graph/lowering/tile_io.hpp"

namespace twill {
namespace {

constexpr int kMaxOpWidth = 64;  // twice the warps of the largest thread block

class KernelReader {
 public:
  explicit KernelReader(JsonDocument document) : document_(std::move(document)) {
    kernel_.source = document_.source();
  }

  Kernel run() {
    const JsonValue root = document_.root();
    const auto keys = {std::string_view("format"), std::string_view("version"),
                       std::string_view("name"), std::string_view("ops"),
                       std::string_view("edges")};
    version_ = root.check_format("twill.kernel", 1, kKernelVersion);
    if (version_ == 1)
      root.check_keys(keys, {"doc", "resident", "chunks"});
    else if (version_ == 2)
      root.check_keys(keys, {"doc", "resident", "chunks", "pins"});
    else if (version_ == 3)
      root.check_keys(
          keys, {"doc", "resident", "chunks", "pins", "parameters", "where", "work", "work_unit"});
    else
      root.check_keys(keys, {"doc", "resident", "chunks", "pins", "parameters", "where", "work",
                             "work_unit", "meaning"});
    for (const char* const key : {"where", "work", "work_unit"})
      if (const auto alone = root.find(key)) alone->fail("needs parameters beside it");
    kernel_.name = non_empty(root.at("name"));
    root.text_or("doc", "");
    if (const auto resident = root.find("resident")) read_resident(*resident);
    const auto ops = root.at("ops").elements();
    if (ops.empty() || ops.size() > static_cast<std::size_t>(kMaxOps))
      root.at("ops").fail("must have 1 to " + std::to_string(kMaxOps) + " ops");
    for (const JsonValue& op : ops) declare(op.at("id"));
    for (const JsonValue& op : ops) kernel_.ops.push_back(read_op(op));
    for (const JsonValue& edge : root.at("edges").elements_up_to(kMaxEdges))
      kernel_.edges.push_back(read_edge(edge));
    check_aliases(ops);
    if (const auto chunks = root.find("chunks")) {
      for (const KernelEdge& e : kernel_.edges)
        if (e.distance == 0) follows_.emplace(e.from, e.to);
      for (const JsonValue& chunk : chunks->elements()) read_chunk(chunk);
    }
    if (const auto pins = root.find("pins"))
      for (const JsonValue& pin : pins->elements_up_to(kMaxPins)) read_pin(pin);
    read_kernel_meaning(root, kernel_);
    return std::move(kernel_);
  }

 private:
  static std::string non_empty(const JsonValue& value) {
    if (value.text().empty()) value.fail("must not be empty");
    return value.text();
  }

  void declare(const JsonValue& id) {
    if (!index_.emplace(non_empty(id), index_.size()).second) id.fail("ids must be unique");
  }

  std::size_t op_index(const JsonValue& value) const {
    const auto found = index_.find(value.text());
    if (found == index_.end()) value.fail("must be the id of an op");
    return found->second;
  }

  void read_resident(const JsonValue& value) {
    value.check_keys({}, {"registers", "memory", "doc"});
    value.text_or("doc", "");
    kernel_.resident_registers = value.integer_or("registers", 0, 0, kMaxAmount);
    if (const auto memory = value.find("memory"))
      for (const auto& [name, amount] : memory->members())
        kernel_.resident_memory.emplace_back(name, amount.integer(0, kMaxAmount));
  }

  static GivenCost read_cost(const JsonValue& value) {
    value.check_keys({"unit", "cycles"}, {"occupancy", "latency", "variable_latency"});
    GivenCost cost;
    cost.unit = non_empty(value.at("unit"));
    cost.cycles = value.at("cycles").integer(1, kMaxCycles);
    cost.occupancy = value.integer_or("occupancy", cost.cycles, 1, cost.cycles);
    cost.latency = value.integer_or("latency", cost.cycles, 0, kMaxCycles);
    cost.variable_latency = value.boolean_or("variable_latency", false);
    return cost;
  }

  KernelOp read_op(const JsonValue& value) const {
    if (version_ < 3)
      value.check_keys({"id"}, {"kind", "shape", "type", "operand_type", "cost", "width",
                                "registers", "result", "alias_of", "traffic", "doc"});
    else if (version_ == 3)
      value.check_keys({"id"}, {"kind", "shape", "type", "operand_type", "cost", "width",
                                "registers", "result", "alias_of", "traffic", "reuse", "doc"});
    else
      value.check_keys(
          {"id"}, {"kind", "shape", "type", "operand_type", "cost", "width", "registers", "result",
                   "alias_of", "traffic", "reuse", "computes", "doc"});
    value.text_or("doc", "");
    KernelOp op;
    op.id = value.at("id").text();
    if (const auto cost = value.find("cost")) op.cost = read_cost(*cost);
    // Without a given cost a rule is needed: a kind that selects it, a tile that it multiplies.
    if (!op.cost || value.has("kind")) op.kind = non_empty(value.at("kind"));
    if (!op.cost || value.has("shape") || value.has("type") || value.has("operand_type"))
      op.tile = read_tile(value);
    if (const auto width = value.find("width")) op.width = width->small(1, kMaxOpWidth);
    if (const auto held = value.find("registers")) op.registers = held->integer(0, kMaxAmount);
    if (const auto result = value.find("result")) op.result = non_empty(*result);
    if (const auto source = value.find("alias_of")) op.alias_of = op_index(*source);
    if (const auto traffic = value.find("traffic"))
      for (const auto& [unit, bytes] : traffic->members())
        op.traffic.emplace_back(unit, bytes.integer(0, kMaxAmount));
    if (const auto reuse = value.find("reuse")) op.reuse = reuse->integer(1, kMaxAmount);
    return op;
  }

  KernelEdge read_edge(const JsonValue& value) const {
    if (version_ < 4)
      value.check_keys({"from", "to"},
                       {"distance", "blocking", "delay", "accumulate", "hold", "doc"});
    else
      value.check_keys({"from", "to"},
                       {"distance", "blocking", "delay", "accumulate", "hold", "order", "doc"});
    value.text_or("doc", "");
    KernelEdge edge;
    edge.from = op_index(value.at("from"));
    edge.to = op_index(value.at("to"));
    edge.distance = value.small_or("distance", 0, 0, kMaxDistance);
    edge.blocking = value.boolean_or("blocking", false);
    if (const auto delay = value.find("delay")) edge.delay = delay->integer(0, kMaxCycles);
    edge.accumulate = value.boolean_or("accumulate", false);
    if (edge.accumulate && edge.delay)
      value.at("delay").fail("an accumulate edge must not state a delay: it is the occupancy");
    edge.hold = value.integer_or("hold", 0, 0, kMaxCycles);
    edge.order = value.boolean_or("order", false);
    return edge;
  }

  /// A view follows its source by exactly one edge, whose distance its consumers inherit, and a
  /// chain of views ends at an op that holds something.
  void check_aliases(const std::vector<JsonValue>& ops) {
    std::vector<std::size_t> edges(ops.size(), 0);  // from its source to a view
    for (const KernelEdge& e : kernel_.edges)
      if (kernel_.ops[e.to].alias_of == e.from) ++edges[e.to];
    viewed_.assign(ops.size(), false);
    std::vector<bool> ends(ops.size(), false);  // known to: each is gone to once
    for (std::size_t view = 0; view < ops.size(); ++view) {
      if (!kernel_.ops[view].alias_of) continue;
      const JsonValue place = ops[view].at("alias_of");
      const std::size_t source = *kernel_.ops[view].alias_of;
      viewed_[source] = true;
      if (edges[view] != 1)
        place.fail("must be the source of exactly one edge to the view, found " +
                   std::to_string(edges[view]));
      std::size_t root = source;
      for (std::size_t steps = 0; kernel_.ops[root].alias_of && !ends[root]; ++steps) {
        if (steps == kernel_.ops.size()) place.fail("views must not alias each other in a cycle");
        root = *kernel_.ops[root].alias_of;
      }
      for (std::size_t v = view; v != root; v = *kernel_.ops[v].alias_of) ends[v] = true;
    }
  }

  void read_chunk(const JsonValue& value) {
    value.check_keys({"id", "ops"}, {"columns", "count", "doc"});
    value.text_or("doc", "");
    Chunk chunk;
    declare(value.at("id"));
    chunk.id = value.at("id").text();
    const JsonValue ops = value.at("ops");
    for (const JsonValue& op : ops.elements()) {
      const std::size_t v = op_index(op);
      if (v >= kernel_.ops.size()) op.fail("must be the id of an op, not of a chunk");
      if (!in_chunk_.insert(v).second) op.fail("an op is in at most one chunk");
      if (kernel_.ops[v].alias_of || viewed_[v])
        op.fail("a chunked op must neither be a view nor have one");
      if (!chunk.ops.empty() && !follows_.contains({chunk.ops.back(), v}))
        op.fail("must use the op before it in the chain (an edge of distance 0)");
      chunk.ops.push_back(v);
    }
    if (chunk.ops.size() < 2) ops.fail("a chain has at least two ops");
    chunk.columns = read_columns(value, ops, chunk);
    kernel_.chunks.push_back(std::move(chunk));
  }

  /// The id of an op that the problem will have: an op of no chunk, or a chunk.
  std::string pinned_op(const JsonValue& value) const {
    if (in_chunk_.contains(op_index(value))) value.fail("must be the chunk that the op is part of");
    return value.text();
  }

  void read_pin(const JsonValue& value) {
    value.check_keys({"op"}, {"warp", "not_warp", "cycle", "same_warp_as", "doc"});
    value.text_or("doc", "");
    KernelPin pin;
    pin.op = pinned_op(value.at("op"));
    if (value.members().size() != (value.has("doc") ? 3U : 2U))
      value.fail("must have one of warp, not_warp, cycle and same_warp_as");
    if (value.has("cycle")) {
      pin.kind = Pin::at_cycle;
      pin.cycle = value.at("cycle").integer(0, kMaxCycles);
    } else if (value.has("same_warp_as")) {
      pin.kind = Pin::same_slot;
      pin.other = pinned_op(value.at("same_warp_as"));
    } else {
      pin.kind = value.has("warp") ? Pin::on_slot : Pin::not_on_slot;
      pin.slot = non_empty(value.at(value.has("warp") ? "warp" : "not_warp"));
    }
    kernel_.pins.push_back(std::move(pin));
  }

  /// Columns of a chunk: stated, or the tile's columns over `count`. All tiles of the chain have
  /// the same columns, which the chunks divide evenly.
  std::int64_t read_columns(const JsonValue& value, const JsonValue& ops,
                            const Chunk& chunk) const {
    const auto place = ops.elements();
    std::int64_t total = 0;
    for (std::size_t i = 0; i < chunk.ops.size(); ++i) {
      const KernelOp& op = kernel_.ops[chunk.ops[i]];
      if (op.cost || op.tile->shape.size() != 2)
        place[i].fail("a chunked op must have a tile of two dimensions and its cost from a rule");
      if (i > 0 && op.tile->shape[1] != total)
        place[i].fail("all tiles of a chain must have the same number of columns");
      total = op.tile->shape[1];
    }
    const auto columns = value.find("columns"), count = value.find("count");
    if (columns.has_value() == count.has_value())
      value.fail("must state exactly one of columns and count");
    const JsonValue& stated = columns ? *columns : *count;
    const std::int64_t number = stated.integer(1, total);
    if (total % number != 0)
      stated.fail("must divide the tile's " + std::to_string(total) + " columns");
    return columns ? number : total / number;
  }

  JsonDocument document_;
  int version_ = 1;
  Kernel kernel_;
  std::unordered_map<std::string, std::size_t> index_;  // ids of ops, then of chunks
  std::unordered_set<std::size_t> in_chunk_;
  std::vector<bool> viewed_;                               // has a view
  std::set<std::pair<std::size_t, std::size_t>> follows_;  // by an edge of distance 0
};

}  // namespace

Kernel read_kernel(JsonDocument document) {
  return KernelReader(std::move(document)).run();
}

Kernel parse_kernel(std::string_view text, const std::string& source) {
  JsonDocument document = JsonDocument::parse(text, source);
  if (!has_parameters(document)) return read_kernel(std::move(document));
  const KernelTemplate read(std::move(document));
  return read.instantiate(read.indices({})).kernel;
}

}  // namespace twill
