#include "engine/cli/nearest.hpp"

#include <algorithm>

#include "graph/io/json_text.hpp"

namespace twill::cli {
namespace {

// "--machine" and "-o" of an app and what it is part of, and of groups of options.
void add_options(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
}

}  // namespace

std::size_t edits(std::string_view one, std::string_view other) {
  // Rows of the table of Wagner and Fischer: this one, the last, and the one before for swaps.
  std::vector<std::size_t> before, last(other.size() + 1), row(other.size() + 1);
  for (std::size_t j = 0; j <= other.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      row[j] = std::min(
          {last[j] + 1, row[j - 1] + 1, last[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[other.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> names) {
  constexpr std::size_t kLongest = 100;  // nobody mistypes a word of a thousand letters
  if (word.size() > kLongest) return std::nullopt;
  std::optional<std::string> best;
  std::size_t fewest = 0;
  for (const std::string& name : names) {
    const std::size_t count = edits(word, name);
    if (3 * count > std::max(word.size(), name.size()) || (best && count >= fewest)) continue;
    best = name;
    fewest = count;
  }
  return best;
}

std::string meant(std::string_view word, std::span<const std::string> names) {
  const auto name = nearest(word, names);
  return name ? "; did you mean " + *name + "?" : "";
}

std::string unknown_word(const CLI::App& program, std::span<const std::string> commands,
                         std::span<const char* const> words) {
  if (words.size() < 2) return "";
  const std::string_view command = words[1];
  if (!command.starts_with('-') &&
      std::find(commands.begin(), commands.end(), command) == commands.end()) {
    return quote(command) + " is no command of " + program.get_name() + meant(command, commands);
  }
  const CLI::App* called = &program;
  std::string name = program.get_name();
  std::vector<std::string> options;
  add_options(program, options);
  for (const char* const text : words.subspan(1)) {
    const std::string_view word = text;
    const auto inner =
        called->get_subcommands([&](const CLI::App* app) { return app->get_name() == word; });
    if (!inner.empty()) {
      called = inner.front();
      name += " " + called->get_name();
      add_options(*called, options);
      continue;
    }
    if (word == "--") return "";
    if (called != &program && called->get_require_subcommand_min() > 0 && !word.starts_with("-")) {
      std::vector<std::string> inside;
      for (const CLI::App* app : called->get_subcommands([](const CLI::App*) { return true; }))
        inside.push_back(app->get_name());
      return quote(word) + " is no command of " + name + meant(word, inside);
    }
    if (!word.starts_with("--")) continue;
    const std::string option(word.substr(0, word.find('=')));
    if (std::find(options.begin(), options.end(), option) == options.end())
      return quote(option) + " is no option of " + name + meant(option, options);
  }
  return "";
}

}  // namespace twill::cli
