// The modulo form: one copy of every op, everything counted per residue of the infinite steady
// state (the model's rules 1-8). One constraint family a file; this header is their table of
// contents and the entry point that composes them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "encoders/choose.hpp"
#include "encoders/family_sizes.hpp"
#include "encoders/formula.hpp"
#include "encoders/placement.hpp"
#include "encoders/time_indexed/starts.hpp"
#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// How precisely lifetimes are counted. Less detail is a relaxation: refuting it refutes the
/// problem, and a model of it is a schedule only if verify() accepts it. Level 0 counts the values
/// that weigh at least 1/16 of the smallest capacity they can meet; level l >= 1 counts all values,
/// up to 2^l copies of a small one. Exact from the level at which ModuloEncoding::relaxed is false.
struct ModuloRequest : PlacementRequest {
  Cycle ii = 1;
  Cycle stages = 1;        ///< starts lie in [0, ii * stages)
  Cycle length_low = 0;    ///< length literals for L in [length_low, length_high]
  Cycle length_high = -1;  ///< -1 = no length literals and no limit but the stages
  int pinned = -1;         ///< op whose row is 0 (rotation symmetry), -1 = none
  int detail = 0;
  bool lifetimes = true;  ///< without: no memories and no registers, a relaxation
};

/// Copies of one value that are live at a residue: `full` unary (full[j - 1] = "at least j copies
/// are live at every residue"), and partial[s] = "one more is live at residue s". One-sided: true
/// liveness implies the literals. Empty partial = the value is not counted.
struct Lifetime {
  std::vector<Lit> full;
  std::vector<Lit> partial;
  bool counted() const { return !partial.empty(); }
};

/// Everything the families share while a formula is built.
struct ModuloModel : PlacementModel {
  ModuloModel(const Problem& p, Formula& formula, const EncodingChoice& encoding,
              const ModuloRequest& modulo_request, StartWindows windows, Starts integers)
      : PlacementModel(p, formula, encoding, modulo_request),
        request(modulo_request),
        window(std::move(windows)),
        starts(std::move(integers)) {}

  const ModuloRequest& request;
  StartWindows window;
  Starts starts;
  std::vector<Lifetime> lifetimes;
  bool relaxed = false;
  std::map<std::tuple<int, Cycle, Cycle>, std::vector<Lit>> occupied;

  void precede(int u, int v, Cycle distance, Cycle delay,
               Lit condition) override;  // dependence.cpp
  /// Per residue s: implied when [M(v) + offset, M(v) + offset + length) covers s modulo I.
  const std::vector<Lit>& residues(int v, Cycle offset, Cycle length);
};

// The families, in the order they are encoded, beside those that placement.hpp has.
void encode_capacity(ModuloModel& m);   // capacity.cpp
void encode_liveness(ModuloModel& m);   // liveness.cpp: lifetimes for the two below
void encode_memory(ModuloModel& m);     // memory.cpp
void encode_registers(ModuloModel& m);  // registers.cpp
/// rings.cpp: literal k = 0, 1, ... is implied where the ring of load u has more than k + 1
/// buffers. More than `most` after the first are forbidden. Of small buffers (most >= 16) fewer
/// literals are made at low detail, a relaxation.
std::vector<Lit> encode_ring(ModuloModel& m, int u, Amount most);
void encode_concurrency(ModuloModel& m);     // concurrency.cpp
void encode_total_lifetime(ModuloModel& m);  // total_lifetime.cpp: a goal
/// length.cpp: literals longer[i] = "L > length_low + i", i = 0 .. high - low - 1, implied.
std::vector<Lit> encode_length(ModuloModel& m);

/// What the search needs back from a formula.
struct ModuloEncoding {
  Cycle ii = 0, stages = 0;
  Cycle length_low = 0;
  std::vector<Lit> longer;
  bool relaxed = false;
  std::vector<std::vector<Lit>> rows, stage_literals, slot;
  std::vector<FamilySize> sizes;  ///< of all that was encoded, a family each

  /// Assume this to ask for a length of at most `length`, length_low <= length.
  Lit at_most_length(Cycle length) const;
  /// The schedule of a model; `value` gives the truth of a literal that is no constant.
  Schedule decode(const Problem& problem, const std::function<bool(Lit)>& value) const;
};

/// Encodes `request` into f. The problem has passed check(), and every op has an allowed slot or
/// the formula is false.
ModuloEncoding encode_modulo(Formula& f, const Problem& problem, const ModuloRequest& request,
                             const EncodingChoice& choice);

}  // namespace twill
