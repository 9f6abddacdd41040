#include "graph/bounds/automorphism.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "graph/index.hpp"

namespace twill {
namespace {

constexpr int kSteps = 20'000;  // candidates tried in all

// Of an edge: delay, distance, blocking, hold, spill.
using Label = std::tuple<Cycle, int, bool, Cycle, std::optional<Cycle>>;

Label label(const Edge& e) {
  return {e.delay, e.distance, e.blocking, e.hold, e.spill};
}

/// Everything that the rules read of an op.
Op anonymous(Op op) {
  op.id.clear();
  op.kind.clear();
  return op;
}

class Search {
 public:
  explicit Search(const Problem& problem)
      : problem_(problem), neighbours_(problem.ops.size()), image_(problem.ops.size(), -1) {
    for (const Edge& e : problem.edges) {
      between_[{e.from, e.to}].push_back(label(e));
      neighbours_[at(e.from)].push_back(e.to);
      neighbours_[at(e.to)].push_back(e.from);
    }
    for (auto& [ends, labels] : between_) std::sort(labels.begin(), labels.end());
    for (std::vector<int>& list : neighbours_) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    refine();
  }

  std::vector<int> run() {
    for (int u = 0; u < ops(); ++u)
      for (int v = u + 1; v < ops(); ++v) {
        if (colour_[at(u)] != colour_[at(v)]) continue;
        if (pair(u, v)) {
          if (extend() && is_exchange(problem_, image_)) return image_;
          std::fill(image_.begin(), image_.end(), -1);
        }
        if (steps_ > kSteps) return {};
      }
    return {};
  }

  /// One that takes `u` to `v` and leaves the ops `fixed` where they are; empty = none found.
  std::vector<int> taking(int u, int v, std::span<const int> fixed) {
    std::fill(image_.begin(), image_.end(), -1);
    if (colour_[at(u)] != colour_[at(v)]) return {};
    for (const int w : fixed)
      if (!pair(w, w)) return {};
    if (image_[at(u)] >= 0 || image_[at(v)] >= 0 || !pair(u, v)) return {};
    return extend() && is_exchange(problem_, image_) ? image_ : std::vector<int>{};
  }

 private:
  int ops() const { return static_cast<int>(problem_.ops.size()); }

  // Ops of different colours are not exchanged by any automorphism: their attributes differ, or
  // their edges lead to ops of different colours.
  void refine() {
    colour_.assign(problem_.ops.size(), 0);
    std::vector<Op> seen;
    for (int v = 0; v < ops(); ++v) {
      const Op op = anonymous(problem_.ops[at(v)]);
      const auto place = std::find(seen.begin(), seen.end(), op);
      colour_[at(v)] = static_cast<int>(place - seen.begin());
      if (place == seen.end()) seen.push_back(op);
    }
    for (std::size_t colours = seen.size();;) {
      std::vector<std::vector<std::tuple<bool, Label, int>>> around(problem_.ops.size());
      for (const Edge& e : problem_.edges) {
        around[at(e.from)].emplace_back(true, label(e), colour_[at(e.to)]);
        around[at(e.to)].emplace_back(false, label(e), colour_[at(e.from)]);
      }
      std::map<std::pair<int, std::vector<std::tuple<bool, Label, int>>>, int> numbers;
      for (int v = 0; v < ops(); ++v) {
        std::sort(around[at(v)].begin(), around[at(v)].end());
        const auto next = static_cast<int>(numbers.size());
        const auto key = std::pair(colour_[at(v)], std::move(around[at(v)]));
        colour_[at(v)] = numbers.emplace(key, next).first->second;
      }
      if (numbers.size() == colours) return;
      colours = numbers.size();
    }
  }

  const std::vector<Label>& edges(int from, int to) const {
    static const std::vector<Label> none;
    const auto found = between_.find({from, to});
    return found == between_.end() ? none : found->second;
  }

  bool fits(int u, int v) const {
    return std::all_of(neighbours_[at(u)].begin(), neighbours_[at(u)].end(), [&](int x) {
      const int y = image_[at(x)];
      return y < 0 || (edges(u, x) == edges(v, y) && edges(x, u) == edges(y, v));
    });
  }

  bool pair(int u, int v) {
    ++steps_;
    image_[at(u)] = v;
    image_[at(v)] = u;
    if (fits(u, v) && fits(v, u)) return true;
    separate(u, v);
    return false;
  }
  void separate(int u, int v) { image_[at(u)] = image_[at(v)] = -1; }

  // An op without an image next to one that has been exchanged, or any; -1 = all have one.
  int next() const {
    int any = -1;
    for (int u = 0; u < ops(); ++u) {
      if (image_[at(u)] >= 0) continue;
      if (any < 0) any = u;
      for (const int x : neighbours_[at(u)])
        if (image_[at(x)] >= 0 && image_[at(x)] != x) return u;
    }
    return any;
  }

  bool extend() {
    const int u = next();
    if (u < 0) return true;
    if (steps_ > kSteps) return false;
    // Itself first: as little as possible changes places.
    for (int k = -1; k < ops(); ++k) {
      const int v = k < 0 ? u : k;
      if ((k == u) || image_[at(v)] >= 0 || colour_[at(v)] != colour_[at(u)]) continue;
      if (!pair(u, v)) continue;
      if (extend()) return true;
      separate(u, v);
    }
    return false;
  }

  const Problem& problem_;
  std::map<std::pair<int, int>, std::vector<Label>> between_;
  std::vector<std::vector<int>> neighbours_;
  std::vector<int> colour_, image_;
  int steps_ = 0;
};

// Pins and inner loops name ops.
bool singled_out(const Problem& problem) {
  return !problem.pins.empty() || !problem.inner_loops.empty();
}

}  // namespace

bool is_exchange(const Problem& problem, std::span<const int> image) {
  if (image.size() != problem.ops.size() || singled_out(problem)) return false;
  for (std::size_t v = 0; v < image.size(); ++v) {
    if (image[v] < 0 || at(image[v]) >= image.size()) return false;
    if (at(image[at(image[v])]) != v) return false;
    if (anonymous(problem.ops[v]) != anonymous(problem.ops[at(image[v])])) return false;
  }
  std::vector<std::tuple<int, int, Label>> edges, mapped;
  for (const Edge& e : problem.edges) {
    edges.emplace_back(e.from, e.to, label(e));
    mapped.emplace_back(image[at(e.from)], image[at(e.to)], label(e));
  }
  std::sort(edges.begin(), edges.end());
  std::sort(mapped.begin(), mapped.end());
  return edges == mapped;
}

std::vector<int> exchangeable_ops(const Problem& problem) {
  if (singled_out(problem)) return {};
  return Search(problem).run();
}

std::vector<int> exchange_chain(const Problem& problem, std::span<const std::vector<int>> exchanges,
                                int op) {
  const bool exchange_all =
      std::all_of(exchanges.begin(), exchanges.end(),
                  [&](const std::vector<int>& image) { return is_exchange(problem, image); });
  if (exchanges.empty() || op < 0 || at(op) >= problem.ops.size() || !exchange_all) return {};
  std::vector<int> chain = {op};
  for (const std::vector<int>& image : exchanges) chain.push_back(image[at(chain.back())]);
  for (std::size_t i = 0; i < exchanges.size(); ++i)
    for (std::size_t j = 0; j < chain.size(); ++j) {
      const int to = exchanges[i][at(chain[j])];
      const bool neighbours = j == i || j == i + 1;
      if (neighbours ? to == chain[j] : to != chain[j]) return {};
    }
  return chain;
}

std::vector<std::vector<int>> exchanges_from(const Problem& problem, std::vector<int> first,
                                             int op) {
  std::vector<std::vector<int>> exchanges = {std::move(first)};
  std::vector<int> chain = exchange_chain(problem, exchanges, op);
  if (chain.empty()) return exchanges;
  Search search(problem);
  for (bool longer = true; longer;) {
    longer = false;
    const std::span<const int> before(chain.data(), chain.size() - 1);
    for (int v = 0; v < static_cast<int>(problem.ops.size()) && !longer; ++v) {
      if (std::find(chain.begin(), chain.end(), v) != chain.end()) continue;
      std::vector<int> image = search.taking(chain.back(), v, before);
      if (image.empty()) continue;
      exchanges.push_back(std::move(image));
      const std::vector<int> more = exchange_chain(problem, exchanges, op);
      longer = !more.empty();
      if (longer)
        chain = more;
      else
        exchanges.pop_back();
    }
  }
  return exchanges;
}

}  // namespace twill
