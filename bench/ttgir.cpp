// twill bench ttgir: how long TTGIR modules take to be read and lowered, as they are and with the
// body of their loop repeated up to a number of lines. In this process: it takes milliseconds, and
// the start of a process takes as many.

#include <algorithm>
#include <cctype>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/bench.hpp"
#include "bench/table.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/parser.hpp"

namespace twill::bench {
namespace {

struct TtgirBenchFlags {
  std::vector<std::string> files;
  std::string machine = "blackwell";
  std::size_t lines = 0;
  int rounds = 9;
  bool json = false;
};

std::size_t line_count(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Is the character part of a value's name (MLIR Language Reference, suffix-id)?
bool in_name(std::string_view text, std::size_t at) {
  if (text[at] == '-') return at + 1 < text.size() && text[at + 1] != '>';
  return std::isalnum(static_cast<unsigned char>(text[at])) != 0 ||
         std::string_view("_.$").find(text[at]) != std::string_view::npos;
}

/// The module with the body of its loop written once more until it has so many lines. Values that a
/// copy of the body defines get names of their own; what comes from outside keeps its name, loop
/// variables too.
std::string repeated(const std::string& text, const std::string& source, std::size_t lines) {
  const ttgir::Module module = ttgir::parse_module(text, source);
  const std::vector<ttgir::LoopInfo> loops = ttgir::list_loops(module);
  const int loop = loops[ttgir::choose_loop(module, loops, std::nullopt)].op;
  const int region = module.op(loop).regions[0];
  const int block = module.regions[static_cast<std::size_t>(region)].blocks[0];
  const std::vector<int>& ops = module.block(block).ops;
  const auto line_start = [&](std::uint32_t line) {
    std::size_t at = 0;
    for (std::uint32_t l = 1; l < line; ++l) at = text.find('\n', at) + 1;
    return at;
  };
  const std::size_t begin = line_start(module.op(ops.front()).line);
  const std::size_t end = line_start(module.op(ops.back()).line);  // the scf.yield
  const std::string_view body = std::string_view(text).substr(begin, end - begin);
  std::set<std::string_view> inside;
  for (const int op : ops)
    for (const int value : module.op(op).results) inside.insert(module.value(value).name);
  const std::size_t each = std::max<std::size_t>(1, line_count(body));
  std::string copies;
  for (std::size_t k = 1; line_count(text) + (k - 1) * each < lines; ++k) {
    for (std::size_t at = 0; at < body.size();) {
      const std::size_t percent = body.find('%', at);
      copies += body.substr(at, percent - at);
      if (percent == std::string_view::npos) break;
      at = percent + 1;
      while (at < body.size() && in_name(body, at)) ++at;
      const std::string_view name = body.substr(percent + 1, at - percent - 1);
      copies += "%" + std::string(name) + (inside.count(name) != 0 ? "$" + std::to_string(k) : "");
    }
  }
  return text.substr(0, end) + copies + text.substr(end);
}

double milliseconds_since(std::clock_t begin) {
  return 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

std::string short_milliseconds(double value) {
  return decimal(value, 2);
}

int run(const TtgirBenchFlags& flags) {
  Table table(std::cout, {{"module", 36, false},
                          {"lines", 6},
                          {"bytes", 8},
                          {"ops", 6},
                          {"read ms", 8},
                          {"read and lower ms", 17}});
  if (!flags.json) table.head();
  const std::string machine =
      cli::is_file(flags.machine) ? read_file(flags.machine) : builtin_machine(flags.machine);
  for (const std::string& file : flags.files) {
    std::string text = read_file(file);
    if (flags.lines > 0) text = repeated(text, file, flags.lines);
    double read = 0, lowered = 0;
    std::size_t ops = 0;
    for (int round = 0; round < flags.rounds; ++round) {
      std::clock_t begin = std::clock();
      ttgir::parse_module(text, file);
      const double parsing = milliseconds_since(begin);
      begin = std::clock();
      const auto module = ttgir::lower_module(text, file, machine, flags.machine, {}, {});
      const double all = milliseconds_since(begin);
      ops = module.loop.kernel.ops.size();
      read = round == 0 ? parsing : std::min(read, parsing);
      lowered = round == 0 ? all : std::min(lowered, all);
    }
    const std::string name = std::filesystem::path(file).stem().string();
    if (flags.json) {
      const nlohmann::ordered_json row{
          {"bench", "ttgir"},          {"module", name},       {"machine", flags.machine},
          {"lines", line_count(text)}, {"bytes", text.size()}, {"ops", ops},
          {"rounds", flags.rounds},    {"read_cpu_ms", read},  {"read_and_lower_cpu_ms", lowered}};
      std::cout << row.dump() << std::endl;
    } else {
      table.row({name, std::to_string(line_count(text)), std::to_string(text.size()),
                 std::to_string(ops), short_milliseconds(read), short_milliseconds(lowered)});
    }
  }
  return cli::kDone;
}

}  // namespace

cli::Command ttgir_command(CLI::App& bench) {
  auto flags = std::make_shared<TtgirBenchFlags>();
  CLI::App* app = bench.add_subcommand(
      "ttgir", "Reading and lowering of TTGIR modules: CPU milliseconds, least of several rounds");
  app->add_option("FILE", flags->files, "TTGIR modules")->required();
  app->add_option("--machine", flags->machine, "Built-in machine or machine file")
      ->capture_default_str();
  app->add_option("--lines", flags->lines,
                  "Repeat the body of the loop until the module has so many lines")
      ->check(CLI::Range(0, 1'000'000));
  app->add_option("--rounds", flags->rounds, "Rounds, of which the fastest counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app->add_flag("--json", flags->json, "One JSON object a line");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::bench
