// Twill's kernels for C++: a kernel or a loop of a Triton module becomes source text for a GPU.
// Beside twill_program.hpp, which it includes.
//
//   const auto source = twill::program_source("gemm", "hopper");
//   const twill::EmittedKernel kernel = twill::emit_kernel(source, {.to = "cuda"});
//   std::cout << (kernel.text.empty() ? kernel.result.why : kernel.text);
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "twill_program.hpp"

namespace twill {

class TritonLoop;

namespace ttgir {
struct LoweredModule;
struct ModuleMeaning;
}  // namespace ttgir

/// What a program is made of: the layouts of a kernel or of a module's loop, with what it computes.
struct ProgramSource {
  std::vector<Lowered> layouts;  ///< one at least
  /// `problem_sha256` of each; none = the hashes of their problem_text().
  std::vector<std::string> hashes;
  std::optional<meaning::Meaning> meaning;  ///< of a kernel; nullopt = its file does not say
  /// The module that each layout came from; none where the source is no TTGIR.
  std::vector<std::shared_ptr<const ttgir::LoweredModule>> modules;
  /// So many iterations of the modules' loop are one of the layouts' (unroll()); a kernel's meaning
  /// is that of its layouts already.
  int unroll = 1;
  /// Of a function of several loops one behind the other: the sources of all, in their order, whose
  /// modules were read with LoopOptions::sequence. Else none. The rest of this is the last one's.
  std::vector<ProgramSource> sequence = {};
};

/// A kernel on a machine. Both are built-in names or the text of a file, which begins with '{'.
/// Throws InputError.
ProgramSource program_source(std::string_view kernel, std::string_view machine,
                             const LowerOptions& options = {});
/// The loop on each layout, with what it computes.
ProgramSource program_source(const TritonLoop& loop);

struct ProgramOptions {
  Options search;  ///< its limits are those of each search, of which there may be several
  program::DeriveOptions derive;
  Amount kept_back = 0;  ///< bytes of the memory "smem" that a schedule found here leaves free
  ProgressCallback progress = {};  ///< of the search over all layouts
  /// Pairs of ops, by name, that a schedule found here has on one slot; where a problem has both.
  std::vector<std::pair<std::string, std::string>> together = {};
};

/// A program with what it was made of.
struct MadeProgram {
  program::Program program;
  Problem problem;      ///< of a module: as its program has it (ttgir::program_problem())
  Solution solution;    ///< the schedule that the program has
  bool again = false;   ///< ProgramSolution::again, or solved again as `problem`
  Amount reserved = 0;  ///< as in ProgramSolution
  std::optional<BarrierCosts> barriers;  ///< as in Lowered, for time_program()
  Contention contention;                 ///< likewise
  std::string memory;
  /// Ops that the program has in another order than the schedule, "l before p": a slot holds fewer
  /// registers so.
  std::vector<std::string> moved = {};
  /// Of a TTGIR module whose loop's meaning was read: both, else neither.
  std::shared_ptr<const ttgir::LoweredModule> module;
  std::shared_ptr<const ttgir::ModuleMeaning> module_meaning;
};

/// What there is not.
enum class Missing {
  nothing,
  schedule,  ///< ProgramResult::status says whether that is proved
  program,   ///< the schedule has none
  text,      ///< the program cannot be emitted
  defect     ///< what was derived is refused by the judge: a defect of the library
};

struct ProgramResult {
  std::optional<MadeProgram> made;
  Missing missing = Missing::nothing;
  std::string why;                  ///< of what is missing: rule and reason, safe to print
  std::string rule;                 ///< of a text that is missing: the rule alone
  Status status = Status::unknown;  ///< of the search over all layouts
  std::string
      no_meaning;  ///< why it is not known what the ops compute; "" = it is, or no file says
  std::vector<std::string> remarks;  ///< for a person: the layout, what the program cannot do
};

/// The program of the best schedule of all layouts, accepted by judge() and compared with its
/// schedule; solved again where there is no room (solve_program()), on the other layouts, too,
/// where I or L grew for it or no program was found. Where the best schedule has too many stages
/// for its program to be judged at every trip count, the best of at most 32 is taken, of 16 and so
/// on: Program::searched_only and a remark say so. Throws InputError for what is wrong with the
/// options.
ProgramResult best_program(const ProgramSource& source, const ProgramOptions& options = {},
                           std::stop_token stop = {});

/// The same of a schedule of the layout `layout`, which `solution` must have.
ProgramResult program_of(const ProgramSource& source, std::size_t layout, const Solution& solution,
                         const program::DeriveOptions& how = {});

/// What a kernel is emitted as.
struct KernelOptions {
  /// "gluon", "cuda" (C++), "ttgir-ws" (TTGIR with partitions) or "tilelang".
  std::string to = "gluon";
  std::string machine = {};  ///< its name, for the head of the text; "" = it is not named there
  /// Of ttgir-ws: for this number of iterations alone, fewer than the stages; -1 = for all others.
  int for_trips = -1;
  /// Of gluon and ttgir-ws: one program a multiprocessor, which does block after block of the grid;
  /// their loads begin while the block before ends. Not of a module, whose function says it itself.
  bool persistent = false;
  std::string triton = {};  ///< of ttgir-ws: the version that is to read it; "" = the one it is for
};

/// Throws InputError where a language is asked for what it does not have; with `command_line` in
/// the words of the command.
void check_options(const KernelOptions& options, bool command_line = false);

/// A program, which must be one that judge() accepts, as text; or why there is none
/// (graph/README.md, "Emission"). Throws as check_options().
std::variant<std::string, program::Refusal> emit_program(const program::Program& program,
                                                         const KernelOptions& options = {});
/// The same; of a module's loop as the module's function, with its name and parameters.
std::variant<std::string, program::Refusal> emit_program(const MadeProgram& made,
                                                         const KernelOptions& options = {});

struct EmittedKernel {
  std::string text;                ///< "" = `result.missing` says what there is not
  ProgramResult result;            ///< its program is the one of the text, or the first one refused
  std::vector<MadeProgram> loops;  ///< of a sequence: the programs of all, `result` has the last
  /// Registers a thread that its slots lack on Hopper, by an estimate: 0 = no spills are expected.
  Amount registers_short = 0;
};

/// The best program of the source as text. Where that program cannot be emitted for lack of shared
/// memory, and of a module's loop where products lie in registers, other schedules are tried: with
/// fewer hand-overs, with fewer results that cross slots, with room for barriers in shared memory,
/// at last with a larger I. Their status is feasible, unless I and L are those of an optimal first
/// one; the lower bound of I stays. Of a sequence each loop is searched like that. Throws
/// InputError.
EmittedKernel emit_kernel(const ProgramSource& source, const KernelOptions& kernel = {},
                          const ProgramOptions& options = {}, std::stop_token stop = {});

}  // namespace twill
