// A number that a loop loads, which Triton's pipeliner brings as a tile of one element by way of a
// buffer, as a load of that number again (see folded_text.hpp).
#include "graph/ttgir/folded_text.hpp"

namespace twill::ttgir {

/// The node that node v reads there in the same iteration, where it is one of that name.
std::optional<int> FoldedText::read_of(int v, std::size_t k, std::string_view name) const {
  if (k >= l_.node(v).reads.size()) return std::nullopt;
  const FoldedSource& s = l_.node(v).reads[k];
  if (s.kind != FoldedSource::node || l_.distance(v, s) != 0 || m_.op(s.op).name != name)
    return std::nullopt;
  return l_.node_index(s.op);
}

void FoldedText::find_scalars() {
  std::map<int, int> readers;  // of a node: how many
  for (const FoldedLoop::Node& node : l_.nodes())
    for (const FoldedSource& s : node.reads)
      if (s.kind == FoldedSource::node) ++readers[l_.node_index(s.op)];
  for (std::size_t n = 0; n < l_.nodes().size(); ++n) {
    const int v = static_cast<int>(n);
    if (m_.op(l_.node(v).op).name != "tt.unsplat") continue;
    const auto load = read_of(v, 0, "ttg.local_load");
    const auto copy = load ? read_of(*load, 0, "ttg.async_copy_global_to_local") : std::nullopt;
    const auto pointers = copy ? read_of(*copy, 0, "tt.splat") : std::nullopt;
    if (!pointers || readers[*load] != 1 || readers[*copy] != 1 || readers[*pointers] != 1)
      continue;
    // (A mask that says more than that there is the iteration stays as it is.)
    const Execution& x = l_.at(l_.execution(l_.node(*copy).op, kFirstSeen));
    bool plain = true;
    for (std::size_t k = 1; k < x.names.size(); ++k)
      plain = plain && (!l_.is_kind(x.names[k], TypeKind::tensor) || reads_set(*copy, k));
    if (!plain) continue;
    scalars_[v] = *pointers;
    joined_.insert({*load, *copy, *pointers});
  }
}

void FoldedText::write_scalar(int v, int pointers) {
  const FoldedLoop::Node& splat = l_.node(pointers);
  const int pointer = m_.op(splat.op).operands.at(0);
  const std::string text = once(pointers, 0, pointer, read_text(pointers, 0, pointer));
  const Operation& op = m_.op(l_.node(v).op);
  std::string& name = results_[{v, 0}];
  name = "%" + unique(name_of(op.results.at(0)));
  line_in_body(name + " = tt.load " + text + " : " + std::string(l_.type(pointer)->text),
               l_.node(v).op);
}

}  // namespace twill::ttgir
