// The formula files of a certificate's proofs/: .cnf, .groups and .rows.
#pragma once

#include "engine/certificate/encoded_formula.hpp"
#include "engine/certificate/text_writer.hpp"

namespace twill {

/// "p cnf", the clauses, the lemmas.
void write_dimacs(TextWriter& text, const MemoryCnf& cnf, const MemoryCnf& lemmas);
/// "first-last description", a line for each run of clauses (from 1) of one constraint.
void write_groups(TextWriter& text, const EncodedFormula& formula, const MemoryCnf& lemmas);
/// Facts, sums and, of lemmas' literals, atoms of the order form in words: "a12 row(S) - row(P) >=
/// 512 - 1 I", "s3 row(S) - first(1) >= 0 + 512 a7 + 256 a9". Lemmas have variables of the formula.
void write_rows(TextWriter& text, const EncodedFormula& formula, const MemoryCnf& lemmas);

}  // namespace twill
