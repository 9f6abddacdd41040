// What all cardinality encodings share.
#include "encoders/sums/cardinality.hpp"

namespace twill {

bool cardinality_is_plain(Formula& f, std::span<const Lit> literals, std::int64_t k) {
  if (k < 0) {
    f.clause({});
  } else if (k == 0) {
    for (const Lit l : literals) f.unit(~l);
  }
  return k <= 0 || k >= static_cast<std::int64_t>(literals.size());
}

AssumableBound unary_bound(std::vector<Lit> count, std::int64_t upper) {
  return {upper, true, [count = std::move(count)](std::int64_t bound) -> std::vector<Lit> {
            const auto index = static_cast<std::size_t>(bound);
            if (index >= count.size()) return {};
            return {~count[index]};
          }};
}

}  // namespace twill
