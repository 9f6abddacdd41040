#include "encoders/family_sizes.hpp"

#include <string_view>

namespace twill {

void FamilySizes::add(const char* family) {
  const std::int64_t variables = formula_.variables() - variables_;
  const std::int64_t clauses = formula_.clauses() - clauses_;
  variables_ += variables;
  clauses_ += clauses;
  for (FamilySize& known : sizes_)
    if (std::string_view(known.family) == family) {
      known.variables += variables;
      known.clauses += clauses;
      return;
    }
  sizes_.push_back({family, variables, clauses});
}

}  // namespace twill
