// Parses the command line, runs one subcommand and turns what it throws into an exit code.

#include <exception>
#include <iostream>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "engine/cli/cli.hpp"

namespace {

using namespace twill::cli;

struct Subcommand {
  std::string_view name;
  Command (*make)(CLI::App& program);
};

constexpr Subcommand kSubcommands[] = {
    {"solve", solve_command},         {"lower", lower_command},
    {"verify", verify_command},       {"check", check_command},
    {"explain", explain_command},     {"evaluate", evaluate_command},
    {"diff", diff_command},           {"show", show_command},
    {"kernels", kernels_command},     {"machines", machines_command},
    {"encodings", encodings_command},
#ifdef TWILL_BENCH
    {"bench", bench_command},
#endif
};

/// The one that the first word names, whose options alone are then needed; else all.
std::span<const Subcommand> called(int argc, char** argv) {
  const std::span<const Subcommand> all = kSubcommands;
  for (std::size_t i = 0; argc > 1 && i < all.size(); ++i)
    if (all[i].name == argv[1]) return all.subspan(i, 1);
  return all;
}

int run(int argc, char** argv) {
  CLI::App program(
      "Twill finds provably best software pipelines and warp specialisations for GPU loops.");
  program.name("twill");
  program.set_version_flag("--version", version_text);
  program.require_subcommand(1);
  program.set_help_all_flag("--help-all", "Help on every subcommand");
  program.footer(
      "Exit codes: 0 found and verified, or accepted; 1 no schedule exists, or refused;\n"
      "2 bad input or usage; 3 stopped at a limit, the best so far is written; 4 internal error.");
  std::vector<Command> commands;
  for (const auto& [name, make] : called(argc, argv)) commands.push_back(make(program));
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return program.exit(asked, std::cout, std::cerr);
  } catch (const CLI::ParseError& error) {
    std::cerr << "twill: command line: " << error.what() << "\n"
              << "Run twill --help for more information.\n";
    return kBadInput;
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return kBadInput;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    std::cout.flush();
    if (!std::cout) {
      std::cerr << "twill: standard output: cannot be written\n";
      return twill::cli::kInternal;
    }
    return code;
  } catch (const twill::InputError& error) {
    std::cerr << "twill: " << error.what() << "\n";
    return twill::cli::kBadInput;
  } catch (const std::bad_alloc&) {
    std::cerr << "twill: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "twill: internal error: " << error.what() << "\n";
  }
  return twill::cli::kInternal;
}
