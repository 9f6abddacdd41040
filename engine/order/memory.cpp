#include "engine/order/memory.hpp"

#include <cassert>
#include <span>

#include "encoders/sinks.hpp"
#include "engine/order/difference_theory.hpp"

namespace twill::order {
namespace {

// By what the lists of Cdcl, DifferenceTheory, Differences and OrderLifetimes have for each: a list
// that grows is there twice for a while, maps have a node each.
constexpr std::int64_t kVariable = 200, kClause = 64, kLiteral = 12, kAtom = 320, kTerm = 64;
// What the lists of any solver have room for, and code that is touched for the first time.
constexpr std::int64_t kAnyway = 8 << 20;
// Of a pair of ops. The most that was found is 14.6 KiB (bench/results/hard.md, "Memory").
constexpr std::int64_t kPairBytes = 16 << 10;

class BoundedCount final : public ClauseSink {
 public:
  explicit BoundedCount(Budget& budget) : budget_(budget) {}
  int new_variable() override { return static_cast<int>(++count_.variables); }
  void add_clause(std::span<const int> literals) override {
    ++count_.clauses;
    count_.literals += static_cast<std::int64_t>(literals.size());
  }
  void poll() override {
    if (budget_.spent() || !budget_.room_for(count_.bytes())) throw Budget::Spent{};
  }
  void expect(double variables, double clauses, double bytes) override {
    expect_within(budget_, variables, clauses, bytes);
  }
  const FormulaCount& count() const { return count_; }

 private:
  Budget& budget_;
  FormulaCount count_;
};

}  // namespace

std::int64_t FormulaCount::bytes() const {
  return kAnyway + kVariable * variables + kClause * clauses + kLiteral * literals + kAtom * atoms +
         kTerm * terms +
         static_cast<std::int64_t>(DifferenceTheory::most_bytes(static_cast<std::size_t>(nodes)));
}

FormulaCount count_formula(const Problem& problem, const OrderRequest& request,
                           const EncodingChoice& choice, Budget& budget) {
  BoundedCount sink(budget);
  Formula formula(sink);
  const OrderEncoding encoding(formula, problem, request, choice);
  FormulaCount count = sink.count();
  assert(count.clauses == formula.clauses());
  const Differences& rows = encoding.rows();
  count.nodes = rows.nodes();
  count.atoms = static_cast<std::int64_t>(rows.atoms().size());
  for (const DifferenceSum& sum : rows.sums())
    count.terms += static_cast<std::int64_t>(sum.terms.size());
  return count;
}

bool fits_surely(const Problem& problem, Budget& budget) {
  const auto ops = static_cast<std::int64_t>(problem.ops.size());
  return budget.has_room(kPairBytes * ops * ops);
}

}  // namespace twill::order
