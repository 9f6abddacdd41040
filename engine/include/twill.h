/* Twill for C and for languages that call C: the same as twill.hpp, behind opaque handles.
 *
 *   twill_problem* problem = NULL;
 *   if (twill_problem_read("loop.problem.json", &problem) == TWILL_OK) {
 *     twill_options options;
 *     twill_options_init(&options);
 *     twill_solution* solution = NULL;
 *     if (twill_solve(problem, &options, &solution) == TWILL_OK) ...
 *     twill_solution_free(solution);
 *   }
 *   twill_problem_free(problem);
 *
 * No global state, nothing is printed, no C++ exception comes out. Handles may be used from any
 * thread, one thread at a time each; a problem may be read by several at once. A call that makes a
 * handle stores one even when it fails (unless memory is out: then NULL), so that its error text
 * can be read; every handle is to be freed, NULL may be. Strings that are returned belong to the
 * handle and live as long as it, or, where said so, until the next call on it. */
#ifndef TWILL_H
#define TWILL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum twill_result {
  TWILL_OK = 0,      /* done; for solve: an answer, which may be that there is no schedule */
  TWILL_REFUSED = 1, /* verify: the schedule breaks a rule; the error text says which. Of a program:
                        there is none, or it is wrong */
  TWILL_BAD_INPUT = 2, /* malformed input or options; the error text says where */
  TWILL_NO_MEMORY = 3,
  TWILL_INTERNAL = 4 /* a defect of the library */
} twill_result;

typedef enum twill_status {
  TWILL_OPTIMAL = 0,
  TWILL_FEASIBLE = 1,   /* stopped early; the lower bounds say how far from optimal */
  TWILL_INFEASIBLE = 2, /* proved: no schedule */
  TWILL_UNKNOWN = 3     /* stopped before any schedule was found */
} twill_status;

typedef struct twill_problem twill_problem;
typedef struct twill_solution twill_solution;
typedef struct twill_program twill_program;
typedef struct twill_report twill_report;

/* "1.0.0" */
const char* twill_version(void);

/* ---- problems ---------------------------------------------------------------------------------
 */

/* A problem file's text or the file itself. */
twill_result twill_problem_parse(const char* text, size_t length, twill_problem** problem);
twill_result twill_problem_read(const char* path, twill_problem** problem);

/* A kernel on a machine. Both are built-in names or the text of a file (which starts with '{').
 * In the machine file's reading, as with `twill lower`: see twill_problem_lower_as.
 * layout: a name, or NULL for the first layout that fits. normalize: the budget U of the paper's
 * cost normalisation, 0 = raw cycles. */
twill_result twill_problem_lower(const char* kernel, const char* machine, const char* layout,
                                 int normalize, twill_problem** problem);
/* The same in the reading asked for. "machine": channels bound I, loads are in flight, operands are
 * held and rings charged; "paper": none of it; NULL: as the machine file names. */
twill_result twill_problem_lower_as(const char* kernel, const char* machine, const char* layout,
                                    int normalize, const char* reading, twill_problem** problem);

size_t twill_problem_op_count(const twill_problem* problem);
size_t twill_problem_slot_count(const twill_problem* problem);
/* NULL when the index is out of range. */
const char* twill_problem_op_id(const twill_problem* problem, size_t op);
const char* twill_problem_slot_name(const twill_problem* problem, size_t slot);
/* The problem file's canonical text; "" when the handle holds no problem. */
const char* twill_problem_json(const twill_problem* problem);
/* What went wrong when this handle was made, "" when nothing did. */
const char* twill_problem_error(const twill_problem* problem);
void twill_problem_free(twill_problem* problem);

/* ---- solving ----------------------------------------------------------------------------------
 */

/* A snapshot for a progress line; zero = not known yet. */
typedef struct twill_progress {
  size_t size; /* of this struct in the library: later versions may add fields at the end */
  const char* phase;
  int64_t ii_low, ii_high;
  int64_t length_low, length_high;
  int64_t variables, clauses, conflicts;
  double seconds;
} twill_progress;

/* Called now and then while solving, possibly from another thread, never from two at once. */
typedef void (*twill_progress_callback)(const twill_progress* progress, void* user);

/* Set by twill_options_init; the fields are those of `twill solve`. `size` tells the library which
 * fields the caller was compiled with: leave it. */
typedef struct twill_options {
  size_t size;
  const char* stages;   /* "complete", "paper" or a number; NULL = complete */
  int64_t ii;           /* only this initiation interval; 0 = the smallest */
  const char* encoding; /* NULL or "" = chosen */
  int32_t threads;      /* 0 = all cores */
  uint64_t seed;
  double time_limit;      /* seconds; 0 = none */
  int64_t conflict_limit; /* 0 = none */
  int64_t memory_limit;   /* bytes; 0 = none */
  /* Solving stops soon after *cancel becomes non-zero; the best so far is the answer. May be NULL.
   * Another thread or a signal handler may write it. */
  const volatile int* cancel;
  twill_progress_callback progress; /* may be NULL */
  void* user;                       /* handed to progress */
  const char* engine; /* "order", "time_indexed", "order-cadical"; NULL or "auto" = chosen */
  const char* goals; /* after I and L, with commas between, as "handovers,registers"; NULL = none */
  int32_t no_handover; /* not 0: register results may not cross slots */
  const char* reading; /* of a kernel, as for twill_problem_lower_as; NULL = the machine file's */
  int64_t iterations;  /* the smallest time of so many, (N - 1) I + L; 0 = the smallest I */
  int32_t evidence;    /* not 0: keep what twill_certificate_write needs */
  /* Cycles of L that the goals may cost; of a kernel they are then compared across layouts.
   * -1 = none, and L comes before them. */
  int64_t length_slack;
} twill_options;

void twill_options_init(twill_options* options);

/* options may be NULL. The answer was verified by a judge that shares no code with the search. */
twill_result twill_solve(const twill_problem* problem, const twill_options* options,
                         twill_solution** solution);

/* The main job, as `twill solve` does it: a kernel on a machine, as twill_problem_lower, over all
 * layouts that fit, with the goals of the options. choose_registers: not 0 = the best register
 * split of each, see twill_solve_split. `problem` is that of the layout that was chosen, with its
 * counts; `solution` is for it. The status is that of all layouts together. */
twill_result twill_solve_kernel(const char* kernel, const char* machine, int normalize,
                                int choose_registers, const twill_options* options,
                                twill_problem** problem, twill_solution** solution);

/* A kernel on a machine, as twill_problem_lower, with the register split (one setmaxnreg count each
 * for the warpgroups of the layout) that gives the best schedule of all splits. `problem` is the
 * one with the chosen counts, `solution` is for it and names them among the options of its file. */
twill_result twill_solve_split(const char* kernel, const char* machine, const char* layout,
                               int normalize, const twill_options* options, twill_problem** problem,
                               twill_solution** solution);

/* A kernel with parameters on a machine, with the values of them that have the smallest I / work,
 * then the smallest L / work, of all and on all layouts (kernel files of version 3). `tiles` fixes
 * some, as "rows=128,T=bf16"; NULL or "" = none. What is given and not named has its default.
 * `problem` is that of the choice, `solution` is for it and names the values among the options of
 * its file; its status is that of all choices together. Without a schedule `problem` is the first.
 */
twill_result twill_solve_tiles(const char* kernel, const char* machine, const char* tiles,
                               int choose_registers, const twill_options* options,
                               twill_problem** problem, twill_solution** solution);

/* ---- any input, any what-if -------------------------------------------------------------------
 */

/* What is to be solved, with all that `twill solve` takes beside the search. Set by
 * twill_workload_init; `size` as in twill_options. */
typedef struct twill_workload {
  size_t size;
  /* A built-in kernel's name, the text of a kernel file, or that of a TTGIR module. */
  const char* input;
  /* A built-in machine's name or the text of a machine file. NULL: that of a module's target. */
  const char* machine;
  const char* layout;       /* NULL = all that fit */
  int32_t normalize;        /* 0 = raw cycles */
  int32_t choose_registers; /* not 0 = the best register split of each layout */
  const char* reading;      /* as twill_problem_lower_as */
  const char* set;          /* what-ifs, a line each: "units.SFU=2\nunits.TC=4"; NULL = none */
  const char* tiles; /* values of a kernel's parameters: "rows=128,T=bf16"; NULL = defaults */
  /* Of a TTGIR module. */
  int32_t module, loop;       /* from 0; -1 = the only one, the one that twill_ttgir_loops marks */
  int32_t subtile;            /* 1, 2, 4 or 8: the tile program split along M; 0 = the best of
                                 1, 2 and 4, which are layouts "M=2 1x4" then */
  int32_t chunk_columns;      /* at a time when an accumulator is rescaled; 0 = whole tiles */
  int32_t trips;              /* iterations of an inner loop of unknown count */
  int32_t resident_registers; /* a thread keeps for addresses and the like */
  int32_t for_triton; /* not 0: only schedules that Triton's passes take, for twill_ttgir_emit */
  /* Of any input again. */
  const char* more; /* one more slot like each of these, as "wg0,wg0": on top of the layout; NULL */
  const char* pins; /* decisions, a line each as twill_problem_pin takes them: "slot s0_qk wg0",
                       "most_ii 2100"; on every layout, which must have the slots; NULL = none */
  const char* holds; /* "on", "off": do MMAs hold their operands; NULL = as the reading has it */
  const char* rings; /* "charged", "live": rings of loads in memory; NULL = as the reading has it */
  const char* profile;        /* of a TTGIR module: the text of a profile file; NULL = none */
  int32_t normalize_relative; /* not 0: minimise the largest relative error of a ratio */
  const char* store; /* of a kernel: results that an op of its own stores to shared memory, for
                        matrix products to read, as "s0_trunc_p,s1_trunc_p"; NULL = none */
  int32_t unroll;    /* so many iterations of the loop in one, from 1 to 64, op "qk" once a copy,
                        "i0_qk", "i1_qk" (before pins); 0 = 1 */
} twill_workload;

void twill_workload_init(twill_workload* workload);

/* The problem of the layout asked for, else of the first that fits. */
twill_result twill_workload_lower(const twill_workload* workload, twill_problem** problem);
/* As twill_solve_kernel, of any input: the best over all layouts. */
twill_result twill_workload_solve(const twill_workload* workload, const twill_options* options,
                                  twill_problem** problem, twill_solution** solution);
/* How each cost came about: a line an op. */
twill_result twill_workload_costs(const twill_workload* workload, twill_report** report);
/* As `twill nest`: the input is a loop with a loop inside it, `trips` iterations a run. `inner` are
 * the ops of the inner loop, "a,b,c"; of a TTGIR module NULL, since it says itself, and a constant
 * count comes before `trips`. `inner_solution` is the best schedule of the inner loop, `problem`
 * and `solution` the outer one around it. TWILL_REFUSED where the inner loop has no schedule, or
 * the outer one no room for it: the error text of `problem` says which. */
twill_result twill_workload_nest(const twill_workload* workload, const char* inner,
                                 const twill_options* options, twill_problem** problem,
                                 twill_solution** solution, twill_solution** inner_solution);
/* The same with the inner loop unrolled, `twill nest --flat`: all schedules, for few trips. */
twill_result twill_workload_nest_flat(const twill_workload* workload, const char* inner,
                                      const twill_options* options, twill_problem** problem,
                                      twill_solution** solution);

/* The loops of a TTGIR module's text, a line each; the one that is taken is marked. */
twill_result twill_ttgir_loops(const char* text, size_t length, twill_report** report);
/* The module of `workload` with the schedule as attributes for Triton's passes (`problem` and
 * `solution` are those of twill_workload_solve with the same workload and for_triton), or as a
 * loop to be read: kind is "ttgir" or "pipelined". */
twill_result twill_ttgir_emit(const twill_workload* workload, const twill_problem* problem,
                              const twill_solution* solution, const char* kind,
                              twill_report** report);

/* The problem with one more decision about it: kind is "slot", "not_slot", "cycle", "stage",
 * "same_slot", "other_slot" (then `value` is an op), or "least_ii", "most_ii" (then `op` is not
 * read). */
twill_result twill_problem_pin(const twill_problem* problem, const char* kind, const char* op,
                               const char* value, twill_problem** pinned);
/* The problem whose schedules are those of `problem` in which every edge has `cycles` to spare, as
 * `twill lower --slack`: what the goal "slack" maximises. */
twill_result twill_problem_slack(const twill_problem* problem, int64_t cycles,
                                 twill_problem** slack);

/* ---- what is built in -------------------------------------------------------------------------
 */

/* kind is "kernels", "machines" or "encodings": what the command of that name prints as JSON. */
twill_result twill_list(const char* kind, twill_report** report);
/* The file of a built-in kernel (for a name as fmha-forward that of the graph for `machine`, which
 * may be NULL) or machine: kind is "kernel" or "machine". */
twill_result twill_builtin(const char* kind, const char* name, const char* machine,
                           twill_report** report);
/* As `twill machines --fit`: a measurements file's text on a machine (a built-in name or a text)
 * becomes the text of a machine with ranges. */
twill_result twill_machine_fit(const char* measurements, const char* base, twill_report** report);

/* ---- why, and what binds: JSON, as the commands of that name print it -------------------------
 */

/* Why no schedule has the interval `ii`, and what would help. 0 = the one below the best (for which
 * the problem is solved first), or any where there is none. TWILL_REFUSED where there is nothing to
 * explain: the interval can be reached, or a limit came first; the error text says which. */
twill_result twill_explain(const twill_problem* problem, int64_t ii, const twill_options* options,
                           twill_report** report);
/* Of each layout of a workload, as `twill explain`, of choose_registers with the best register
 * split: a JSON array with an explanation each, or the status alone where there is nothing to
 * explain. directory: NULL, or where the certificates go, as twill_explain_certify; of several
 * layouts a folder each. */
twill_result twill_workload_explain(const twill_workload* workload, int64_t ii,
                                    const twill_options* options, const char* directory,
                                    twill_report** report);
/* As twill_workload_solve, on a machine that gives costs as ranges (twill_machine_fit): problem and
 * solution (both may be NULL) are those of the worst ends. The report says, as `twill solve
 * --json`, whether I is the best worst case, what other costs give, and which range matters most.
 * TWILL_BAD_INPUT where the machine has no ranges. */
twill_result twill_workload_ranges(const twill_workload* workload, const twill_options* options,
                                   twill_problem** problem, twill_solution** solution,
                                   twill_report** report);
/* What every unit, slot, memory and channel has left in a schedule, and what holds its I up; where
 * it breaks rules, which. */
twill_result twill_evaluate(const twill_problem* problem, const twill_solution* solution,
                            twill_report** report);
/* Of every op, the range of its cycles in which the schedule's I, which must be the smallest, stays
 * so. */
twill_result twill_sensitivity(const twill_problem* problem, const twill_solution* solution,
                               const twill_options* options, twill_report** report);
/* What two accepted schedules of a problem do differently. */
twill_result twill_diff(const twill_problem* problem, const twill_solution* a,
                        const twill_solution* b, twill_report** report);
/* The same as a page (HTML) with both timelines, to one scale, under these names. */
twill_result twill_diff_page(const twill_problem* problem, const twill_solution* a,
                             const twill_solution* b, const char* name_a, const char* name_b,
                             twill_report** report);
/* As twill_explain, with its certificates in a directory that does not exist or is empty: a folder
 * each for the question and for every change tried, for twill_certificate_check; the JSON names
 * them. */
twill_result twill_explain_certify(const twill_problem* problem, int64_t ii,
                                   const twill_options* options, const char* directory,
                                   twill_report** report);

/* ---- solutions --------------------------------------------------------------------------------
 */

/* A schedule file's text, for the problem given. */
twill_result twill_solution_parse(const twill_problem* problem, const char* text, size_t length,
                                  twill_solution** solution);

twill_status twill_solution_status(const twill_solution* solution);
/* 0 without a schedule. */
int64_t twill_solution_ii(const twill_solution* solution);
int64_t twill_solution_length(const twill_solution* solution);
/* Proved lower bounds; 0 = none. */
int64_t twill_solution_ii_lower_bound(const twill_solution* solution);
int64_t twill_solution_length_lower_bound(const twill_solution* solution);
/* Where options.iterations were asked for: the cycles of the schedule, and the proved bound of any
 * schedule; 0 = none. */
int64_t twill_solution_whole_time(const twill_solution* solution);
int64_t twill_solution_whole_time_lower_bound(const twill_solution* solution);
/* Issue cycle and slot of an op; -1 without a schedule or when the index is out of range. */
int64_t twill_solution_start(const twill_solution* solution, size_t op);
int64_t twill_solution_slot(const twill_solution* solution, size_t op);
/* The schedule file's text; "" when the handle holds no solution. */
const char* twill_solution_json(const twill_solution* solution);
/* What `twill solve --format` prints of the solution of this problem: "text" (100 columns, no
 * colours), "html" (a page of its own), "svg", "dot" or "trace". *text lives until the next call on
 * the solution; "" when it failed. */
twill_result twill_solution_picture(const twill_problem* problem, twill_solution* solution,
                                    const char* format, const char** text);
/* What went wrong in the last call that made, verified or drew this handle, "" when nothing did. */
const char* twill_solution_error(const twill_solution* solution);
void twill_solution_free(twill_solution* solution);

/* Replays the solution's schedule against the problem: TWILL_OK, or TWILL_REFUSED with the broken
 * rule and its arithmetic in the solution's error text. */
twill_result twill_verify(const twill_problem* problem, twill_solution* solution);

/* ---- certificates: why a schedule is the best (engine/README.md, "Proofs") --------------------
 */

/* Writes the certificate of a solution of this problem, solved with options.evidence, into a
 * directory that does not exist or is empty: whole or not at all. TWILL_BAD_INPUT where it cannot
 * be written, or the solution claims what its evidence does not prove; the solution's error text
 * says which. Of twill_solve_kernel's answers it is about the layout that was chosen alone, of
 * twill_solve_tiles' about all choices. */
twill_result twill_certificate_write(const twill_problem* problem, twill_solution* solution,
                                     const char* directory);
/* Checks one without a solver: TWILL_OK, or TWILL_REFUSED with the file, the place and the rule in
 * the report's error text. */
twill_result twill_certificate_check(const char* directory, twill_report** report);
/* What a call has to say; of a certificate what is proved, then what was checked, a line each. */
const char* twill_report_text(const twill_report* report);
const char* twill_report_error(const twill_report* report);
void twill_report_free(twill_report* report);

/* ---- programs: what the slots of a schedule execute (graph/README.md, "Programs") -------------
 */

/* The program of the solution's schedule, judged: free of races, wrong versions, deadlocks and
 * overruns at every trip count. TWILL_REFUSED where there is none (no room), with why in the
 * program's error text. It says nothing of what the ops compute. */
twill_result twill_program_derive(const twill_problem* problem, const twill_solution* solution,
                                  twill_program** program);
/* A kernel on a machine, as twill_solve_kernel without a choice of registers: solved, solved again
 * where its program finds no room, judged; with what the ops compute where the kernel says it.
 * TWILL_REFUSED where there is no schedule or no program. */
twill_result twill_program_kernel(const char* kernel, const char* machine,
                                  const twill_options* options, twill_program** program);
/* As `twill program`, of any workload: the best schedule's program, judged, with what its ops
 * compute where kernel or module say it. turns: NULL or "none", "needed" (the fewest waits that
 * keep the loop as fast as the schedule on units that slots share) or "all"; merge: not 0 = several
 * ops may arrive on one barrier. A module's loop that Triton has pipelined by copies into rings is
 * undone, unlike for twill_workload_solve, where the whole function is had back. `problem` and
 * `solution` (both may be NULL) are those of the program; they are NULL where there is none, as the
 * program's error text says. */
twill_result twill_workload_program(const twill_workload* workload, const twill_options* options,
                                    const char* turns, int merge, twill_problem** problem,
                                    twill_solution** solution, twill_program** program);
/* A program file's text. It is not judged. */
twill_result twill_program_parse(const char* text, size_t length, twill_program** program);

/* TWILL_OK: right at every trip count; TWILL_REFUSED: the error text says what is wrong. */
twill_result twill_program_judge(twill_program* program);
/* Executes `iterations` >= 0 (at most 1,000) with numbers on inputs of `seed`, as late, as eagerly
 * and at random as the waits allow, beside the loop in double precision. TWILL_OK: within the bound
 * of the types in all these orders; *largest_share (may be NULL) is the largest share of the bound
 * that an error has. TWILL_REFUSED: wrong, or hung; the error text says how. TWILL_BAD_INPUT where
 * the program does not say what its ops compute. */
twill_result twill_program_run(twill_program* program, int iterations, uint64_t seed,
                               double* largest_share);

/* Is it a program of this schedule? As `twill verify PROBLEM SCHEDULE PROGRAM`, without judging it:
 * TWILL_OK, or TWILL_REFUSED with what differs in the program's error text. */
twill_result twill_program_compare(twill_program* program, const twill_problem* problem,
                                   const twill_solution* solution);

/* A replay in time, `twill run --time`. Set by twill_time_init; `size` as in twill_options. */
typedef struct twill_time {
  size_t size;
  int32_t iterations;          /* 100 */
  int64_t wait_cost;           /* cycles that a wait on a barrier holds its slot */
  int64_t arrive_cost;         /* cycles from the end of an op to where a wait sees it; of both -1
                                * = what the machine says of which twill_program_kernel made the
                                * program, 0 where it says nothing or the program is another's */
  int32_t runs;                /* with varied costs; 0 = none */
  int32_t spread, load_spread; /* percent by which costs vary, those of loads; 20 */
  int32_t vary_ops;            /* not 0: every op is drawn once a run, not every execution */
  uint64_t seed;
  int32_t no_contention; /* not 0: units do not slow each other down, whatever the machine
                          * says of which the program was made */
} twill_time;

void twill_time_init(twill_time* time);
/* What the program takes beside I, in the order of the schedule on its units and in that of
 * arrival: JSON. The program must be of this problem and solution. `time` may be NULL. */
twill_result twill_program_time(const twill_program* program, const twill_problem* problem,
                                const twill_solution* solution, const twill_time* time,
                                twill_report** report);
/* What happens when, for chrome://tracing and Perfetto: order is "arrival" or "schedule". */
twill_result twill_program_trace(const twill_program* program, const twill_problem* problem,
                                 const twill_solution* solution, const twill_time* time,
                                 const char* order, twill_report** report);

/* The program as the source text of a kernel, in *report: `to` is "gluon", "cuda" (C++),
 * "tilelang" or "ttgir-ws" (TTGIR with partitions). `for_trips` is -1, or of ttgir-ws a number of
 * iterations for which alone the text is. "gluon-persistent" and "ttgir-ws-persistent" have one
 * program a multiprocessor, which does block after block. TWILL_REFUSED where the judge refuses the
 * program or there is no text of it; the report's error text says why. */
twill_result twill_program_emit(const twill_program* program, const char* to, int for_trips,
                                twill_report** report);
/* As `twill emit`: the best schedule of a workload, and others where its program cannot be emitted
 * (twill_emit.hpp), as the source text of a kernel in *report. `program` is the one of the text;
 * its error text says what went wrong, and *report is then NULL. A workload with for_triton is bad
 * input, as is one with choose_registers whose function is several loops. TWILL_REFUSED where there
 * is no schedule, no program or no text; in the last case `program` is the one that is refused; no
 * other registers or sub-tiles are tried, as the command does. Of a function of several loops that
 * are written together, which is so where workload.loop names none, it is the last one's. */
twill_result twill_workload_emit(const twill_workload* workload, const twill_options* options,
                                 const char* to, int for_trips, twill_program** program,
                                 twill_report** report);

/* I of its schedule; 0 without a program. */
int64_t twill_program_ii(const twill_program* program);
/* Can twill_program_run execute it? 1 or 0. */
int twill_program_executable(const twill_program* program);
/* The program file's text, and what a person reads; "" when the handle holds none. */
const char* twill_program_json(const twill_program* program);
const char* twill_program_text(const twill_program* program);
/* What went wrong in the last call on this handle, "" when nothing did. */
const char* twill_program_error(const twill_program* program);
void twill_program_free(twill_program* program);

#ifdef __cplusplus
}
#endif
#endif
