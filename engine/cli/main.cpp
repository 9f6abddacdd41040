// Parses the command line, runs one subcommand and turns what it throws into an exit code.

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cli/cli.hpp"
#include "engine/cli/nearest.hpp"

namespace {

int run(int argc, char** argv) {
  using namespace twill::cli;
  CLI::App program(
      "Twill finds provably best software pipelines and warp specialisations for GPU loops.");
  program.name("twill");
  program.set_version_flag("--version", version_text);
  program.require_subcommand(1);
  program.set_help_all_flag("--help-all", "Help on every subcommand");
  program.footer(
      "Exit codes: 0 found and verified, or accepted; 1 no schedule exists, or refused;\n"
      "2 bad input or usage; 3 stopped at a limit, the best so far is written; 4 internal error.");
  const auto word = [&](int i) { return i < argc ? std::string_view(argv[i]) : ""; };
  const Subcommand subcommands[] = {
      {"solve", solve_command},
      {"lower", lower_command},
      {"verify", verify_command},
      {"check", check_command},
      {"explain", explain_command},
      {"evaluate", evaluate_command},
      {"diff", diff_command},
      {"show", show_command},
      {"nest", nest_command},
      {"program", program_command},
      {"run", run_command},
      {"emit", emit_command},
      {"kernels", kernels_command},
      {"machines", machines_command},
      {"encodings", encodings_command},
#ifdef TWILL_BENCH
      {"bench", [&](CLI::App& app) { return bench_command(app, word(2)); }},
#endif
  };
  const std::vector<Command> commands = make_called(program, subcommands, word(1));
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return program.exit(asked, std::cout, std::cerr);
  } catch (const CLI::ParseError& error) {
    std::vector<std::string> names;
    for (const Subcommand& subcommand : subcommands) names.emplace_back(subcommand.name);
    const std::string unknown =
        unknown_word(program, names, {argv, static_cast<std::size_t>(argc)});
    std::cerr << "twill: command line: " << (unknown.empty() ? error.what() : unknown) << "\n"
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
  twill::cli::limit_process_memory();
  try {
    const int code = run(argc, argv);
    errno = 0;
    std::cout.flush();
    if (!std::cout) {
      // (It may have failed long ago; another byte says why.)
      if (errno == 0 && ::write(STDOUT_FILENO, "\n", 1) == 1) errno = 0;
      const std::string why = errno == 0 ? "" : std::string(": ") + std::strerror(errno);
      std::cerr << "twill: standard output: cannot be written" << why << "\n";
      return twill::cli::kBadInput;
    }
    return code;
  } catch (const twill::InputError& error) {
    std::cerr << "twill: " << error.what() << "\n";
    return twill::cli::kBadInput;
  } catch (const std::bad_alloc&) {
    std::cerr << "twill: stopped: out of memory\n";
    return twill::cli::kStopped;
  } catch (const std::exception& error) {
    std::cerr << "twill: internal error: " << error.what() << "\n";
  }
  return twill::cli::kInternal;
}
