// The formula files of a certificate's proofs/, .cnf.
#pragma once

#include "engine/certificate/encoded_formula.hpp"
#include "engine/certificate/text_writer.hpp"

namespace twill {

/// DIMACS: the clauses, then the lemmas. Comments before the header say what they are about:
/// "c first-last description" for each run of clauses (from 1) of one constraint; of the order form
/// in words facts, stages, sums and, of lemmas' literals, atoms: "c a12 row(S) - row(P) >= 512 - 1
/// I", "c s3 row(S) - first(1) >= 0 + 512 a7 + 256 a9". Lemmas have variables of the formula.
void write_formula(TextWriter& text, const EncodedFormula& formula, const MemoryCnf& lemmas);

}  // namespace twill
