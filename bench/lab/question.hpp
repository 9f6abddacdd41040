// What encodings are compared on: is there a schedule at this I no longer than this L? As CNF, by
// any encodings, exact, without the shortcuts of solve() (no bounds asked first, no relaxations).
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/lab/published.hpp"
#include "encoders/choose.hpp"
#include "encoders/family_sizes.hpp"
#include "encoders/sinks.hpp"
#include "engine/budget.hpp"
#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill::bench {

/// The literals that a schedule is read from, which every solver's model has.
struct VariableMap {
  Cycle ii = 0;
  /// Start of op v = first true of issue[v] (straight-line), or ii times the number of true
  /// stages[v] plus that of true rows[v].
  std::vector<std::vector<Lit>> rows, stages, issue;
  std::vector<std::vector<Lit>> slots;  ///< slots[v][w]

  Schedule decode(const Problem& problem, const std::function<bool(Lit)>& value) const;
  /// "ii 12", "rows 0 5 T -7 F" (op, then a literal or a constant an entry), ..., a line each.
  std::vector<std::string> lines() const;
  /// The inverse. Throws InputError naming the line.
  static VariableMap parse(const std::vector<std::string>& lines, const std::string& file);
};

struct EncodedQuestion {
  MemoryCnf cnf;
  std::int64_t literals = 0;
  std::vector<FamilySize> sizes;  ///< of the families of constraints, all of it
  VariableMap map;
  double cpu_seconds = 0;  ///< of this process, to build it
};

/// Throws Budget::Spent when `budget` is spent first.
EncodedQuestion encode_question(const Problem& problem, Cycle ii, Cycle length,
                                const EncodingChoice& choice, Budget& budget);

/// User and system time of this process so far.
double cpu_seconds();

/// A question with its name and, where it is known, its answer.
struct Instance {
  std::string name, family, file;  ///< file of the problem, beside the list
  std::string sha256;              ///< of the file
  Cycle ii = 1, length = 1;
  std::string expected;  ///< "SAT", "UNSAT" or "" = not known
};

/// Reads DIR/instances.jsonl, or the list itself; `file` of each becomes a path that can be opened.
/// Throws InputError.
std::vector<Instance> read_instances(const std::string& path);
/// The list's own text; `file` is where it lies.
std::vector<Instance> parse_instances(const std::string& all, const std::string& file);

/// The built-in instances of a grid (bench/lab/loops.hpp) as files in `folder`, with
/// instances.jsonl: the same on every machine. Where the order engine does not prove its best
/// within its limit of conflicts, what is below has no expected answer; where it has no schedule,
/// the loop is left out and named in the result.
std::vector<std::string> write_instances(
    const std::string& grid, const std::string& folder,
    const std::function<void(std::size_t, std::size_t)>& progress);

/// A file that questions are made of: of the literature (bench/lab/literature.hpp), or a problem,
/// by the ending .problem.json.
struct QuestionFile {
  std::string path;
  Published published;       ///< of the literature; where it is not exact, it is found here
  Cycle ii = 0, length = 0;  ///< of a problem: what is asked; 0 = as of a built-in loop
};
bool is_problem_file(const std::string& path);
/// The same for files. Of the literature two questions each: at I = L = the optimum (SAT), and at
/// one less (UNSAT) where no bound answers it. Of a problem the one that is asked, without an
/// expected answer, or those of a built-in loop. (Where a project has no schedule: at the longest
/// makespan that one could need, UNSAT.) What is not given is found by the order engine; a makespan
/// that is not settled within a minute is left out and named in the result.
std::vector<std::string> write_file_questions(const std::vector<QuestionFile>& files,
                                              const std::string& folder);

}  // namespace twill::bench
