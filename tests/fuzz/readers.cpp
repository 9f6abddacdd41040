#include "tests/fuzz/readers.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "bench/lab/literature.hpp"
#include "bench/lab/makespan.hpp"
#include "bench/lab/model.hpp"
#include "bench/lab/published.hpp"
#include "bench/lab/question.hpp"
#include "bench/lab/rows.hpp"
#include "bench/lab/score.hpp"
#include "bench/schedule_graph.hpp"
#include "engine/certificate/certificate.hpp"
#include "engine/certificate/drat.hpp"
#include "engine/certificate/proof_files.hpp"
#include "engine/certificate/tiles_manifest.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/check.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_reader.hpp"
#include "graph/io/json_text.hpp"
#include "graph/loop.hpp"
#include "graph/lowering/fit_machine.hpp"
#include "graph/lowering/kernel.hpp"
#include "graph/lowering/lower_kernel.hpp"
#include "graph/lowering/machine.hpp"
#include "graph/memory_charges.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/program_io.hpp"
#include "graph/tiles.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/profile.hpp"
#include "graph/verify.hpp"
#include "tests/fuzz/certificate_bundle.hpp"
#include "tests/support/sample_texts.hpp"
#include "tests/support/serial_schedule.hpp"

namespace twill::fuzz {
namespace {

namespace fs = std::filesystem;

/// A promise that does not hold is a finding, like a crash.
void promise(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

/// One of `count` ways, by the bytes: what would take long all at once takes turns.
std::size_t turn(std::string_view bytes, std::size_t count) {
  return std::hash<std::string_view>{}(bytes) / 64 % count;
}

/// A refusal is one line of UTF-8 that says where and what is wrong.
template <class Read>
bool accepted(Read&& read) {
  try {
    read();
    return true;
  } catch (const InputError& error) {
    const std::string message = error.what();
    promise(!error.rule().empty(), "a refusal has its rule");
    promise(message.find('\n') == std::string::npos, "a refusal is one line");
    promise(valid_utf8(message), "a refusal is UTF-8");
    return false;
  }
}

/// What is known of a problem before it is solved, and that it survives being written.
void follow(const Problem& problem) {
  check(problem, "again");
  const std::string text = problem_text(problem);
  promise(parse_problem(text, "written") == problem, "a problem survives its file");
  Cycle ii = 1;
  for (const Bound& bound : lower_bounds(problem)) ii = std::max(ii, bound.value);
  promise(ii <= kMaxInterval + 1, "bounds are in range");
  const Cycle least = least_by_channels(problem);
  promise(least > kMaxInterval || !verify_channels(problem, least), "a channel's bound is met");
  promise(least == 1 || verify_channels(problem, least - 1), "nothing below a channel's bound is");
  length_bounds(problem, ii);
  modulo_stage_bound(problem, ii);
  earliest_starts(problem, ii, forced_delays(problem));
  Solution solution;
  solution.schedule = test::serial_schedule(problem);
  verify(problem, *solution.schedule);
  smallest_lifetimes(problem);
  if (turn(text, 8) == 0)
    accepted([&] { check(normalize_problem(problem, 30, turn(text, 16) == 0), "normalised"); });
}

/// `left`: values whose place is asked for; each walks over the document.
void walk(const JsonValue& value, int& left) {
  if (--left < 0) return;
  value.shown();
  promise(value.pointer().empty() || value.pointer().front() == '/', "pointers begin with /");
  if (value.is_array())
    for (const JsonValue& element : value.elements()) walk(element, left);
  if (value.is_object())
    for (const auto& [key, member] : value.members()) walk(member, left);
}

bool json(std::string_view bytes) {
  return accepted([&] {
    const JsonDocument document = JsonDocument::parse(bytes, "fuzz");
    int left = 30;
    walk(document.root(), left);
    const std::string text = json_file_text(document.json(), "fuzz");
    promise(JsonDocument::parse(text, "written").json() == document.json(), "JSON survives");
    json_format(bytes);
  });
}

bool problem(std::string_view bytes) {
  return accepted([&] { follow(parse_problem(bytes, "fuzz")); });
}

bool schedule(std::string_view bytes) {
  static const Problem sample = parse_problem(test::kProblemText);
  return accepted([&] {
    const Solution solution = parse_schedule(sample, bytes, "fuzz");
    if (solution.schedule) verify(sample, *solution.schedule);
    const std::string text = schedule_text(sample, solution);
    promise(schedule_text(sample, parse_schedule(sample, text, "written")) == text,
            "a schedule survives its file");
  });
}

bool program_file(std::string_view bytes) {
  return accepted([&] {
    const program::Program read = program::parse_program(bytes, "fuzz");
    program::judge(read);
    program::judge(read, 2);
    const std::string text = program::program_text(read);
    promise(program::parse_program(text, "written") == read, "a program survives its file");
  });
}

const std::vector<Machine>& machines() {
  static const std::vector<Machine> all = [] {
    std::vector<Machine> list;
    for (const char* name : {"hopper", "blackwell", "figure-1", "ampere"})
      list.push_back(parse_machine(builtin_machine(name), name));
    return list;
  }();
  return all;
}

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> all = [] {
    std::vector<Kernel> list;
    for (const char* name : {"figure-1", "gemm", "hopper-layer-norm", "blackwell-fwd-sub2-chunked"})
      list.push_back(parse_kernel(builtin_kernel(name), name));
    return list;
  }();
  return all;
}

/// A way to lower; what comes out is a problem.
void lower_one(const Kernel& kernel, const Machine& machine, std::size_t way) {
  LowerOptions options;
  options.reading = way % 2 == 0 ? Reading::machine : Reading::paper;
  options.rings = way > 1;
  options.choose_registers = way == 3;
  if (way == 1) options.normalize = 30;
  accepted([&] {
    const std::vector<Lowered> all = lower(kernel, machine, options);
    promise(!all.empty(), "some layout holds the kernel");
    if (way == 0)
      follow(all.front().problem);
    else
      check(all.front().problem, "lowered");
  });
}

/// All combinations of a kernel's parameters, where they are few.
void lower_all(std::string_view bytes) {
  constexpr std::size_t kFew = 64;
  std::size_t combinations = 1;
  for (const KernelParameter& parameter : kernel_parameters(bytes, "fuzz").all)
    if (!parameter.given) combinations = std::min(combinations * parameter.size(), kFew + 1);
  if (combinations == 1 || combinations > kFew) return;
  static const std::string hopper = builtin_machine("hopper");
  accepted([&] {
    for (const TileChoice& choice : lower_tiles(bytes, "fuzz", hopper, "hopper")) {
      promise(choice.lowered.has_value() == choice.misfit.empty(), "a misfit has its reason");
      promise(choice.work >= 1, "an iteration has work");
      if (choice.lowered) check(choice.lowered->problem, "lowered");
    }
  });
}

bool kernel(std::string_view bytes) {
  return accepted([&] {
    const Kernel read = parse_kernel(bytes, "fuzz");
    lower_all(bytes);
    const std::size_t n = turn(bytes, 4 * machines().size());
    lower_one(read, machines()[n / 4], n % 4);
  });
}

bool machine(std::string_view bytes) {
  return accepted([&] {
    RangeEnds ends;
    ends.all = static_cast<RangeEnd>(turn(bytes, 3));
    const Machine read = parse_machine(bytes, "fuzz", {}, ends);
    const std::size_t n = turn(bytes, 4 * kernels().size());
    lower_one(kernels()[n / 4], read, n % 4);
    for (const auto& [alias, kernel] : read.aliases)
      accepted([&, &name = alias] { kernel_on_machine(name, bytes, "fuzz"); });
  });
}

/// A base keeps what was not measured; the fitted machine is one, and holds what was (which
/// fit_machine() itself looks at: a fit that does not ends the process).
bool measurements(std::string_view bytes) {
  static const std::string bases[] = {builtin_machine("hopper"), builtin_machine("b200-latency")};
  return accepted([&] {
    const Measurements read = parse_measurements(bytes, "fuzz");
    const FittedMachine fitted = fit_machine(read, bases[turn(bytes, 2)], "base");
    const Machine machine = parse_machine(fitted.text, "fitted");
    promise(machine.ranges.size() == fitted.costs.size(), "every fitted cost is a range");
    lower_one(kernels()[1], machine, turn(bytes, 4));
  });
}

/// "PATH=VALUE" lines of --set on a built-in machine.
bool overrides(std::string_view bytes) {
  static const std::string hopper = builtin_machine("hopper");
  return accepted([&] {
    Overrides set;
    for (const std::string_view line : lines_of(bytes)) {
      const std::size_t sign = std::min(line.find('='), line.size());
      set.emplace_back(line.substr(0, sign), line.substr(std::min(sign + 1, line.size())));
    }
    const Machine read = parse_machine(hopper, "fuzz", set);
    lower_one(kernels()[1], read, turn(bytes, 4));
  });
}

bool tiles(std::string_view bytes) {
  return accepted([&] {
    const std::string text = tiles_manifest_text(parse_tiles_manifest(bytes, "fuzz"));
    promise(tiles_manifest_text(parse_tiles_manifest(text, "written")) == text,
            "a manifest of tiles survives its file");
  });
}

bool profile(std::string_view bytes) {
  return accepted([&] {
    ttgir::LoopOptions options;
    options.profile = ttgir::parse_profile(bytes, "fuzz");
    static const std::string module =
        "!t = tensor<128x128xf32>\nmodule attributes {\"ttg.num-warps\" = 4 : i32} {\n"
        "  tt.func public @f(%a: i32, %t: !t) {\n"
        "    scf.for %i = %a to %a step %a  : i32 {\n      %x = arith.addf %t, %t : !t\n"
        "      %y = math.exp2 %x : !t\n      scf.yield\n    } {tt.warp_specialize}\n"
        "    tt.return\n  }\n}\n";
    static const std::string text = builtin_machine("blackwell");
    for (const Lowered& lowered :
         ttgir::lower_module(module, "module", text, "blackwell", options, {}).problems)
      follow(lowered.problem);
  });
}

bool literature(std::string_view bytes, const char* name) {
  return accepted([&] {
    const bench::Project project = bench::parse_literature(bytes, name);
    const Problem& read = project.problem;
    promise(parse_problem(problem_text(read), "written") == read, "a project survives its file");
    if (turn(bytes, 4) != 0) return;
    const auto least = bench::makespan_bound(project);
    const Cycle most =
        project.lags.empty() ? bench::serial_length(read) : bench::longest_makespan(project);
    promise(least || !project.lags.empty(), "only lags can forbid all schedules");
    if (!least) return;
    promise(1 <= *least && (!project.lags.empty() || *least <= most), "the bounds of a makespan");
    check(bench::at_makespan(project, std::max(*least, most)), name);
  });
}
bool psplib(std::string_view bytes) {
  return literature(bytes, "x.sm");
}
bool patterson(std::string_view bytes) {
  return literature(bytes, "x.rcp");
}
bool progen_max(std::string_view bytes) {
  return literature(bytes, "x.sch");
}
bool published(std::string_view bytes) {
  return accepted([&] { bench::parse_published_list(bytes, "x.csv"); });
}
bool job_shop(std::string_view bytes) {
  return literature(bytes, "x.jss");
}

bool schedule_graph(std::string_view bytes) {
  return accepted([&] {
    for (const bench::GraphLoop& loop : bench::parse_schedule_graph(bytes, "fuzz")) {
      promise(parse_problem(problem_text(loop.problem), "written") == loop.problem,
              "a loop survives its file");
      if (loop.schedule) verify(loop.problem, *loop.schedule);
    }
  });
}

bool rows(std::string_view bytes) {
  return accepted([&] {
    const bench::RowFile file = bench::parse_rows(bytes, "fuzz");
    for (const bench::Row& row : file.rows) {
      bench::row_key(row);
      row.dump(-1, ' ', false, nlohmann::json::error_handler_t::strict);
    }
    bench::disagreements(file.rows);
  });
}

bool instances(std::string_view bytes) {
  return accepted([&] {
    for (const bench::Instance& i : bench::parse_instances(std::string(bytes), "dir/fuzz"))
      promise(i.name.find('/') == std::string::npos, "an instance's name is no path");
  });
}

/// The comments of a formula that a model is read with, and the model.
bool model(std::string_view bytes) {
  static const Problem sample = parse_problem(test::kProblemText);
  return accepted([&] {
    std::vector<std::string> lines;
    std::string rest;
    for (const std::string_view line : lines_of(bytes)) {
      if (line.starts_with("c map "))
        lines.emplace_back(line.substr(6));
      else
        rest += std::string(line) + "\n";
    }
    const bench::Model read = bench::parse_model(rest, "fuzz");
    const auto map = bench::VariableMap::parse(lines, "fuzz");
    if (map.slots.size() != sample.ops.size()) return;
    const Schedule schedule = map.decode(sample, [&](Lit l) {
      return std::find(read.literals.begin(), read.literals.end(), l.dimacs()) !=
             read.literals.end();
    });
    verify(sample, schedule);
  });
}

/// A formula, "%", and its proof, as text and as bytes; lines of lemmas and of refined models.
bool proof(std::string_view bytes) {
  static const Problem sample = parse_problem(test::kProblemText);
  const std::size_t sign = std::min(bytes.find('%'), bytes.size());
  std::istringstream words{std::string(bytes.substr(0, sign))};
  std::vector<int> formula;
  for (int l = 0; words >> l;) formula.push_back(std::max(-1000, std::min(1000, l)));
  if (!formula.empty() && formula.back() != 0) formula.push_back(0);
  const std::string_view steps = bytes.substr(std::min(sign + 1, bytes.size()));
  bool any = false;
  for (const ProofFormat format : {ProofFormat::text, ProofFormat::binary})
    any = check_drat(formula, steps, format).accepted || any;
  for (const std::string_view line : lines_of(bytes)) {
    any = parse_lemma(line).has_value() || any;
    any = parse_refinement(sample, line).has_value() || any;
  }
  return any;
}

std::string certificate_folder() {
  return (fs::is_directory("/dev/shm") ? "/dev/shm/" : "/tmp/") +
         ("twill-fuzz-" + std::to_string(::getpid()));
}

bool certificate(std::string_view bytes) {
  const Bundle bundle = parse_bundle(bytes);
  if (bundle.empty()) return false;
  const std::string folder = certificate_folder();
  write_bundle(bundle, folder);
  CertificateOptions options;
  options.drat_trim = false;
  bool yes = false;
  try {
    accepted([&] { yes = check_certificate(folder, options).accepted; });
  } catch (...) {
    fs::remove_all(folder);
    throw;
  }
  fs::remove_all(folder);
  return yes;
}

/// Certificates of the smallest examples: made here, so that they are of this version.
std::vector<std::string> certificates(const std::string& root) {
  std::vector<std::string> seeds;
  const std::string folder = certificate_folder();
  for (const char* name : {"figure-1", "gap", "non-monotone", "carried-spill", "stage-gap"})
    for (const char* encoding : {"", "start=rowstage"}) {
      fs::remove_all(folder);
      try {
        const Problem example =
            read_problem(root + "/tests/data/examples/" + name + ".problem.json");
        Options options;
        options.evidence = true;
        options.threads = 1;
        options.encoding = encoding;
        write_certificate(folder, example, solve(example, options));
        seeds.push_back(bundle_text(read_bundle(folder)));
      } catch (const InputError&) {
        // no such encoding, or nothing to certify
      }
    }
  fs::remove_all(folder);
  return seeds;
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"json", true, json, {"tests/data/examples/", "graph/machines/figure-1.json"}},
      {"problem", true, problem, {"tests/data/examples/", "tests/regress/"}},
      {"schedule", true, schedule, {}},
      {"program", true, program_file, {}},
      {"kernel", true, kernel, {"graph/kernels/", "tests/data/kernels/"}},
      {"machine", true, machine, {"graph/machines/"}},
      {"measurements", true, measurements, {}},
      {"overrides", false, overrides, {}},
      {"tiles", true, tiles, {}},
      {"profile", true, profile, {}},
      {"psplib", false, psplib, {"tests/data/literature/small.sm"}},
      {"patterson", false, patterson, {"tests/data/literature/small.rcp"}},
      {"progen-max", false, progen_max, {"tests/data/literature/small.sch"}},
      {"published", false, published, {"tests/data/literature/published.csv"}},
      {"job-shop", false, job_shop, {"tests/data/literature/ft06.jss"}},
      {"schedule-graph", true, schedule_graph, {"tests/data/schedule-graph/"}},
      {"rows", true, rows, {}},
      {"instances", true, instances, {}},
      {"model", false, model, {}},
      {"proof", false, proof, {}},
      {"certificate", false, certificate, {}},
  };
  return all;
}

const Reader& reader(std::string_view name) {
  for (const Reader& r : readers())
    if (r.name == name) return r;
  throw std::runtime_error("no reader " + std::string(name));
}

std::vector<std::string> seeds_of(const Reader& reader, const std::string& root) {
  std::vector<std::string> seeds;
  const auto add = [&](const fs::path& path) {
    if (fs::is_regular_file(path)) seeds.push_back(read_file(path.string()));
  };
  std::vector<std::string> places = reader.seeds;
  places.push_back(std::string("tests/fuzz/") + reader.name + "/");
  for (const std::string& place : places) {
    const fs::path path = fs::path(root) / place;
    if (!place.ends_with('/')) {
      add(path);
    } else if (fs::is_directory(path)) {
      std::vector<fs::path> files;
      for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
      std::sort(files.begin(), files.end());
      for (const fs::path& file : files) add(file);
    }
  }
  if (std::string_view(reader.name) == "schedule") seeds.push_back(test::kScheduleText);
  if (std::string_view(reader.name) == "problem") {
    seeds.push_back(test::kProblemText);
    seeds.push_back(test::kChannelText);
    seeds.push_back(read_file(root + "/tests/data/nested/gemm-persistent.problem.json"));
  }
  if (std::string_view(reader.name) == "certificate")
    for (std::string& bundle : certificates(root)) seeds.push_back(std::move(bundle));
  return seeds;
}

}  // namespace twill::fuzz
