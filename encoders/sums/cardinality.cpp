// What cardinality encodings in unary share.
#include "encoders/sums/cardinality.hpp"

namespace twill {

AssumableBound unary_bound(std::vector<Lit> count, std::int64_t upper) {
  return {upper, true, [count = std::move(count)](std::int64_t bound) -> std::vector<Lit> {
            const auto index = static_cast<std::size_t>(bound);
            if (index >= count.size()) return {};
            return {~count[index]};
          }};
}

}  // namespace twill
