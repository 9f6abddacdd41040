// Asynchronous references of a replayed loop (nvws.aref): rings that one side fills and others read
// in turns, as Triton has them before they become barriers. The n-th put fills, and the n-th get of
// each op that takes reads, one buffer after the other around the ring (Triton's own pass gives
// them stages and phases in this way). The ops of all partitions still stand in one loop, whose
// order keeps who fills before who reads, or it is refused.
#include <algorithm>

#include "graph/ttgir/replayer.hpp"

namespace twill::ttgir {

bool Replayer::refer(int index, int t, const std::vector<Datum>& in) {
  const Operation& op = m_.op(index);
  const std::string_view what = op.name.substr(std::string_view("nvws.aref.").size());
  if (what == "create") {
    Datum datum;
    datum.made = record(index, t, in);
    datum.value = op.results.at(0);
    arefs_[datum.value] = {in, op.operands, 0, 0, {}};
    define(op.results[0], datum);
    return true;
  }
  const bool put = what == "put.enter", get = what == "get.enter", again = what == "buffer";
  const bool ends = what == "put.exit" || what == "get.exit";
  const auto found = in.empty() ? arefs_.end() : arefs_.find(in[0].value);
  if ((!put && !get && !again && !ends) || found == arefs_.end() || found->second.rings.empty())
    fail(index, "what it does to a reference is not known");
  Aref& aref = found->second;
  if (ends) {
    aref.filled += what == "put.exit" ? 1 : 0;
    return true;
  }
  const Type* ring = type(aref.names[0]);
  if (ring == nullptr || ring->shape.empty() || ring->shape[0] < 1)
    fail(index, "how many buffers its reference has is not known");
  // Its stage where it is given, else the next one; of what was taken before, the same.
  std::int64_t& taken = get ? aref.gets[index] : aref.puts;
  std::int64_t slot = taken % ring->shape[0];
  bool given = false;
  for (std::size_t k = 1; k < in.size() && !given; ++k) {
    const bool token = is_kind(op.operands[k], TypeKind::token);
    if (!token && !is_integer(op.operands[k])) continue;
    given = !token || again;
    if (!token && !is_constant(in[k].number)) fail(index, "its stage is not known");
    if (given) slot = token ? in[k].slot : in[k].number->constant;
  }
  if (slot < 0 || slot >= ring->shape[0]) fail(index, "its stage is none of the ring's");
  if (get && taken >= aref.filled) return false;
  if (put || get) ++taken;
  const int execution = record(index, t, in);
  std::size_t k = 0;
  for (const int value : op.results) {
    Datum datum;
    if (is_kind(value, TypeKind::memdesc)) {
      if (k >= aref.rings.size()) fail(index, "its buffers are not understood");
      datum = aref.rings[k++];
      const auto writer = writers_.find({datum.buffer, slot});
      out_.executions[static_cast<std::size_t>(execution)].buffers.push_back(
          {0, datum.buffer, slot, writer == writers_.end() ? kNone : writer->second, false, false});
    }
    datum.number.reset();
    datum.made = execution;
    datum.value = value;
    datum.slot = slot;
    define(value, datum);
  }
  return true;
}

}  // namespace twill::ttgir
