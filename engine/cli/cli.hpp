// The program `twill`: what its subcommands share. One file a subcommand; each adds its options to
// the parser and returns what is to run once they are parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/include/twill.hpp"

namespace twill::cli {

/// Exit codes of every subcommand.
enum Exit : int {
  kDone = 0,      ///< a schedule was found and verified; accepted; done
  kNo = 1,        ///< no schedule exists (proved); refused
  kBadInput = 2,  ///< bad input or usage
  kStopped = 3,   ///< stopped at a limit or by a signal; the best so far is written
  kInternal = 4,  ///< internal error
};

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

/// What a word of the command line may call.
struct Subcommand {
  std::string_view name;
  std::function<Command(CLI::App&)> make;
};
/// Makes the one that `word` names, whose options alone are then needed; else all.
std::vector<Command> make_called(CLI::App& app, std::span<const Subcommand> all,
                                 std::string_view word);

Command solve_command(CLI::App& program);
Command lower_command(CLI::App& program);
Command verify_command(CLI::App& program);
Command check_command(CLI::App& program);
Command explain_command(CLI::App& program);
Command evaluate_command(CLI::App& program);
Command diff_command(CLI::App& program);
Command show_command(CLI::App& program);
Command nest_command(CLI::App& program);
Command program_command(CLI::App& program);
Command run_command(CLI::App& program);
Command emit_command(CLI::App& program);
Command kernels_command(CLI::App& program);
Command machines_command(CLI::App& program);
Command encodings_command(CLI::App& program);
#ifdef TWILL_BENCH
/// In bench/. `word` is the one after "bench".
Command bench_command(CLI::App& program, std::string_view word);
#endif

/// Names and versions of the program and of what it is linked with, a line each.
std::string version_text();

/// Bounds what this process may allocate a little above default_memory_limit(), for what no budget
/// watches: it then ends by std::bad_alloc, and not by the system with others that have done
/// nothing. Where a bound is there already it stays.
void limit_process_memory();

/// What --memory says: "" = 2 GiB and one more for each thread after the first (0 = all cores), but
/// no more than default_memory_limit(); "0" = no limit (0), else parse_bytes().
std::int64_t memory_limit_of(const std::string& text, int threads);
/// Its help.
inline constexpr const char* kMemoryHelp =
    "Bytes of formula and process, as 500M or 2G; 0 = no limit\n"
    "(default: 2G, and 1G more for each thread after the first; at most three quarters of\n"
    "the memory that is free)";

/// "500M" -> bytes; suffixes K, M, G, T are powers of 1024. Throws InputError.
std::int64_t parse_bytes(const std::string& text);

/// Does the path name a file that can be read: "-" or something that exists?
bool is_file(const std::string& path);

/// Throws InputError for --certificate where the directory exists and is not empty.
void refuse_used_directory(const std::string& directory);

/// Writes a file; "-" = standard output. Where it cannot be written, as on a full disk, what took
/// long to make is not lost: it goes to standard output. Then throws InputError.
void write_or_print(const std::string& path, const std::string& text);

/// "a, b, c".
std::string joined(const std::vector<std::string>& names);

}  // namespace twill::cli
