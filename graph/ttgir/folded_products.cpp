// Products that Triton's passes have cut along what is summed, so that a part of the operands is
// loaded while another one is multiplied, as one product again (see folded_text.hpp).
#include <algorithm>
#include <charconv>

#include "graph/index.hpp"
#include "graph/ttgir/folded_text.hpp"
#include "graph/ttgir/op_text.hpp"

namespace twill::ttgir {
namespace {

/// The numbers of "op %x[0, 16] ...".
std::vector<std::int64_t> offsets_in(const std::string& text) {
  std::vector<std::int64_t> offsets;
  std::size_t at = text.find('[');
  while (at < text.size() && text[at] != ']') {
    std::int64_t number = 0;
    const char* begin = text.data() + text.find_first_not_of(" [,", at);
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
    if (error != std::errc()) return {};
    offsets.push_back(number);
    at = static_cast<std::size_t>(end - text.data());
  }
  return offsets;
}

/// tensor<128x32xf16, #layout> of tensor<128x16xf16, #layout>.
std::string with_shape(const std::string& type, const std::vector<std::int64_t>& part,
                       const std::vector<std::int64_t>& whole) {
  std::string from = "tensor<", to = from;
  for (const std::int64_t extent : part) from += std::to_string(extent) + "x";
  for (const std::int64_t extent : whole) to += std::to_string(extent) + "x";
  return type.starts_with(from) ? to + type.substr(from.size()) : std::string();
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

std::optional<FoldedText::Part> FoldedText::part_of(int v, std::size_t k) const {
  const FoldedSource& load = l_.node(v).reads.at(k);
  if (load.kind != FoldedSource::node || l_.distance(v, load) != 0) return std::nullopt;
  const int u = l_.node_index(load.op);
  const Operation& op = m_.op(load.op);
  if (op.name != "ttg.local_load" || op.results.size() != 1) return std::nullopt;
  const FoldedSource& view = l_.node(u).reads.at(0);
  if (view.kind != FoldedSource::node || l_.distance(u, view) != 0 ||
      m_.op(view.op).name != "ttg.memdesc_subslice")
    return std::nullopt;
  const int w = l_.node_index(view.op);
  const FoldedSource& buffer = l_.node(w).reads.at(0);
  if (buffer.kind != FoldedSource::node || l_.distance(w, buffer) != 0) return std::nullopt;
  const Type *tile = l_.type(op.results[0]), *whole = l_.type(m_.op(view.op).operands.at(0));
  if (tile == nullptr || whole == nullptr) return std::nullopt;
  Part part;
  part.load = u;
  part.view = w;
  part.buffer = l_.node_index(buffer.op);
  part.offsets = offsets_in(op_text(m_, view.op, {}));
  part.shape = tile->shape;
  part.whole = whole->shape;
  if (part.offsets.size() != 2 || part.shape.size() != 2 || part.whole.size() != 2)
    return std::nullopt;
  return part;
}

/// Chains of products, each of the next part of the same tiles, that add to one another.
void FoldedText::find_cut_products() {
  std::map<int, int> readers;  // of a node: how many
  std::map<int, int> adds_to;  // a product of parts -> the one that adds to it
  std::map<int, std::pair<Part, Part>> parts;
  for (std::size_t n = 0; n < l_.nodes().size(); ++n) {
    const int v = static_cast<int>(n);
    for (const FoldedSource& s : l_.nodes()[n].reads)
      if (s.kind == FoldedSource::node) ++readers[l_.node_index(s.op)];
    if (m_.op(l_.node(v).op).name != "tt.dot") continue;
    const auto left = part_of(v, 0), right = part_of(v, 1);
    if (!left || !right) continue;
    parts.emplace(v, std::pair(*left, *right));
    const FoldedSource& sum = l_.node(v).reads.at(2);
    if (sum.kind == FoldedSource::node && l_.distance(v, sum) == 0)
      adds_to[l_.node_index(sum.op)] = v;
  }
  for (const auto& [begin, both] : parts) {
    if (both.first.offsets != std::vector<std::int64_t>{0, 0} ||
        both.second.offsets != std::vector<std::int64_t>{0, 0})
      continue;
    std::vector<int> chain = {begin};
    std::int64_t summed = both.first.shape[1];
    bool right = both.second.shape[0] == summed;
    while (right && summed < both.first.whole[1]) {
      const auto next = adds_to.find(chain.back());
      if (next == adds_to.end() || readers[chain.back()] != 1) break;
      const auto found = parts.find(next->second);
      if (found == parts.end()) break;
      const auto& [a, b] = found->second;
      right = a.buffer == both.first.buffer && b.buffer == both.second.buffer &&
              a.shape == both.first.shape && b.shape == both.second.shape &&
              a.offsets == std::vector<std::int64_t>{0, summed} &&
              b.offsets == std::vector<std::int64_t>{summed, 0} && readers[a.load] == 1 &&
              readers[b.load] == 1;
      summed += a.shape[1];
      chain.push_back(next->second);
    }
    if (!right || chain.size() < 2 || summed != both.first.whole[1] ||
        both.second.whole[0] != summed || both.first.shape[0] != both.first.whole[0] ||
        both.second.shape[1] != both.second.whole[1])
      continue;
    whole_products_[chain.back()] = chain;
    for (const int v : chain) {
      if (v != chain.back()) joined_.insert(v);
      for (const Part& part : {parts.at(v).first, parts.at(v).second}) {
        joined_.insert(part.load);
        if (readers[part.view] == 1) joined_.insert(part.view);
      }
    }
  }
}

void FoldedText::write_whole_product(int v, const std::vector<int>& chain) {
  const FoldedLoop::Node& last = l_.node(v);
  const Execution& x = l_.at(l_.execution(last.op, kFirstSeen));
  std::map<int, std::string> names;
  std::vector<std::pair<std::string, std::string>> types;
  for (std::size_t k = 0; k < 2; ++k) {
    const Part part = *part_of(v, k);
    const Operation& load = m_.op(l_.node(part.load).op);
    const std::string type = on_warps(std::string(l_.type(load.results[0])->text), part.load);
    const std::string whole = with_shape(type, part.shape, part.whole);
    if (whole.empty()) cannot_undo(last.op, "the type of a part of its operands is not read");
    const int buffer = m_.op(l_.node(part.view).op).operands[0];
    const std::string name = "%" + unique(name_of(load.results[0]));
    line_in_body(name + " = ttg.local_load " + results_.at({part.buffer, 0}) + " : " +
                     std::string(l_.type(buffer)->text) + " -> " + whole,
                 l_.node(part.load).op);
    names[x.names[k]] = name;
    types.emplace_back(type, whole);
  }
  const FoldedLoop::Node& first = l_.node(chain.front());
  const Execution& begun = l_.at(l_.execution(first.op, kFirstSeen));
  names[x.names[2]] =
      once(chain.front(), 2, begun.names[2], read_text(chain.front(), 2, begun.names[2]));
  std::string text = on_warps(op_text(m_, last.op, names), v);
  for (const auto& [part, whole] : types) replace_all(text, part, whole);
  std::string& name = results_[{v, 0}];
  name = "%" + unique(name_of(m_.op(last.op).results[0]));
  line_in_body(name + " = " + text, last.op);
}

}  // namespace twill::ttgir
