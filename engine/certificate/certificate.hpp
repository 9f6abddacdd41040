// Certificates: a directory that shows, to whoever does not trust the search, that a schedule is
// valid and that no better one exists.
//
//   problem.json    what was solved
//   schedule.json   the answer
//   manifest.json   what is claimed and why, which formulas were refuted, SHA-256 of all files but
//                   the formulas, which the check makes again
//   proofs/NAME.*   of each refutation: the formula with its lemmas (cnf, DIMACS; its comments name
//                   the constraint of each clause and, of the order form, say what lemmas' literals
//                   mean for rows), the proof (drat, binary DRAT); of the order form also for each
//                   lemma a cycle whose weights sum to more than 0 (lemmas, see proof_files.hpp),
//                   and the models that overflowed and were refined, if any did (refinements)
//
// Where the register split was chosen (solve_split()), what is claimed is claimed of every split of
// the pool. The manifest then has a "register_split": the pool (shares by slot, granule, min, max,
// launch, resident), the counts that problem.json has, and the corners of a cover of all splits
// (split_cover.hpp), each of which has its bounds or refutations; a refutation about a corner's
// problem names the counts in "registers".
//
// Where tiles were chosen (solve_tiles()), the directory is that of tiles_manifest.hpp, which has
// one like this for each choice.
//
// What is trusted by the check: see "The trusted base" in engine/README.md. No solver.
#pragma once

#include "engine/include/twill.hpp"  // write_certificate(), check_certificate()

namespace twill {

/// As check_certificate(), of a certificate of one problem: a certificate of tiles is none.
CertificateReport check_problem_certificate(const std::string& directory,
                                            const CertificateOptions& options);

}  // namespace twill
