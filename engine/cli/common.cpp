#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "engine/budget.hpp"
#include "engine/cli/cli.hpp"
#include "graph/io/file.hpp"
#include "graph/threads.hpp"

namespace twill::cli {

namespace {

// Looked up once, before anything is taken.
std::int64_t free_memory_limit() {
  static const std::int64_t limit = default_memory_limit();
  return limit;
}

}  // namespace

void limit_process_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr std::int64_t kSlack = 256 << 20;  // stacks and arenas of threads, code
  const std::int64_t limit = free_memory_limit();
  rlimit now = {};
  if (limit <= 0 || ::getrlimit(RLIMIT_DATA, &now) != 0 || now.rlim_cur != RLIM_INFINITY) return;
  now.rlim_cur = static_cast<rlim_t>(limit + limit / 8 + kSlack);
  if (now.rlim_max == RLIM_INFINITY || now.rlim_cur < now.rlim_max) ::setrlimit(RLIMIT_DATA, &now);
#endif
}

std::int64_t memory_limit_of(const std::string& text, int threads) {
  if (text.empty()) {
    constexpr std::int64_t kGibibyte = 1 << 30;
    const std::int64_t most = kGibibyte * (1 + std::max(1, threads_for(threads)));
    const std::int64_t free = free_memory_limit();
    return free > 0 ? std::min(free, most) : most;
  }
  return text == "0" ? 0 : parse_bytes(text);
}

std::int64_t parse_bytes(const std::string& text) {
  const auto refuse = [&] {
    throw InputError("command line", "--memory", text.empty() ? "nothing" : text,
                     "must be bytes, with K, M, G or T for powers of 1024, as 500M or 2G");
  };
  std::size_t k = 0;
  std::int64_t value = 0;
  for (; k < text.size() && text[k] >= '0' && text[k] <= '9'; ++k) {
    if (value > 1'000'000'000'000'000) refuse();
    value = 10 * value + (text[k] - '0');
  }
  if (k == 0 || value == 0) refuse();
  if (k == text.size()) return value;
  const std::size_t power = std::string("KMGT").find(static_cast<char>(text[k] & ~0x20));
  const std::string rest = text.substr(k + 1);
  if (power == std::string::npos || !(rest.empty() || rest == "B" || rest == "iB")) refuse();
  for (std::size_t p = 0; p <= power; ++p) {
    if (value > std::numeric_limits<std::int64_t>::max() / 1024) refuse();
    value *= 1024;
  }
  return value;
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return path == "-" || std::filesystem::exists(path, ignored);
}

void refuse_used_directory(const std::string& directory) {
  std::error_code error;
  if (::access(directory.c_str(), F_OK) == 0 && !std::filesystem::is_empty(directory, error))
    throw InputError("command line", "--certificate", directory,
                     "must not exist or be an empty directory");
}

void write_or_print(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text;
    return;
  }
  try {
    write_file(path, text);
  } catch (const InputError&) {
    std::cout << text;
    throw;
  }
}

std::vector<Command> make_called(CLI::App& app, std::span<const Subcommand> all,
                                 std::string_view word) {
  const bool known =
      std::any_of(all.begin(), all.end(), [&](const Subcommand& s) { return s.name == word; });
  std::vector<Command> commands;
  for (const Subcommand& s : all)
    if (!known || s.name == word) commands.push_back(s.make(app));
  return commands;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace twill::cli
