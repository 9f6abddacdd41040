#include "graph/emit/mask_text.hpp"

#include "graph/emit/user_function.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

using meaning::Index;
using meaning::IndexComparison;

/// Of 1 - x, where x is flags: x. nullptr = it is something else.
const Index* taken_from_one(const Index& index) {
  if (index.kind != Index::sub || index.of[0] != Index::whole(1)) return nullptr;
  const bool flags = index.of[1].kind == Index::compared || index.of[1].kind == Index::mul;
  return flags ? &index.of[1] : nullptr;
}

/// Flags, multiplied where all must hold.
std::string flag_text(const Plan& plan, const Index& flag, const ElementNames& names) {
  if (flag.kind == Index::mul)
    return flag_text(plan, flag.of[0], names) + " & " + flag_text(plan, flag.of[1], names);
  if (flag.kind != Index::compared) return element_text(plan, flag, names);
  const auto how = static_cast<IndexComparison::How>(flag.value);
  return "(" + mask_text(plan, {flag.of[0], how, flag.of[1]}, names) + ")";
}

std::string side_text(const Plan& plan, const Index& flags, const ElementNames& names) {
  const std::string text = flag_text(plan, flags, names);
  return flags.kind == Index::mul ? "(" + text + ")" : text;
}

}  // namespace

std::string mask_text(const Plan& plan, const IndexComparison& one, const ElementNames& names) {
  if (one.how == IndexComparison::equal && one.b == Index::whole(0) && one.a.kind == Index::mul) {
    const Index *first = taken_from_one(one.a.of[0]), *second = taken_from_one(one.a.of[1]);
    if (first != nullptr && second != nullptr)
      return side_text(plan, *first, names) + " | " + side_text(plan, *second, names);
  }
  return element_text(plan, one.a, names) + sign_of(one.how) + element_text(plan, one.b, names);
}

}  // namespace twill::emit
