#include "engine/cli/search_options.hpp"

#include "encoders/choose.hpp"
#include "encoders/goals.hpp"
#include "engine/cli/cli.hpp"
#include "graph/bounds/whole_time.hpp"

namespace twill::cli {
namespace {

/// A row: the option's names, what it says of itself, and how it is read into the flags.
struct Row {
  SearchOption option;
  const char* names;
  std::string help;
  void (*add)(CLI::App& app, const Row& row, SearchFlags& flags);
};

template <auto member>
void add_value(CLI::App& app, const Row& row, SearchFlags& flags) {
  app.add_option(row.names, flags.search.*member, row.help)->capture_default_str();
}

std::vector<Row> rows(const std::string& limited) {
  return {
      {SearchOption::stages, "--stages",
       "complete = all that can matter; paper = Algorithm 1's window; N = at most N",
       add_value<&Options::stages>},
      {SearchOption::handover, "--no-handover{false}",
       "Prohibit register results from crossing slots (ablation)",
       [](CLI::App& app, const Row& row, SearchFlags& flags) {
         app.add_flag(row.names, flags.search.handover, row.help);
       }},
      {SearchOption::goals, "--goals",
       "After I and L, minimise in this order, with commas:\n" + goal_names() +
           "\ndefault, as the first = the first four; canonical, as the last = start and slot of\n"
           "every op in the file's order, which leaves one schedule",
       [](CLI::App& app, const Row& row, SearchFlags& flags) {
         app.add_option(row.names, flags.search.goals, row.help)->delimiter(',');
       }},
      {SearchOption::length_slack, "--length-slack",
       "Goals may cost so many cycles of L, and are compared across layouts: of the schedules\n"
       "with the smallest I that are at most so much longer than the shortest of all, the best\n"
       "by --goals, then the shortest (0 = compared across layouts alone)",
       [](CLI::App& app, const Row& row, SearchFlags& flags) {
         app.add_option(row.names, flags.search.length_slack, row.help)
             ->check(CLI::Range(Cycle{0}, kMaxCycles));
       }},
      {SearchOption::ii, "--ii", "Only this initiation interval",
       [](CLI::App& app, const Row& row, SearchFlags& flags) {
         app.add_option(row.names, flags.search.ii, row.help);
       }},
      {SearchOption::iterations, "--iterations",
       "The smallest time of so many iterations, (N - 1) I + L, then the smallest I",
       [](CLI::App& app, const Row& row, SearchFlags& flags) {
         app.add_option(row.names, flags.search.iterations, row.help)
             ->check(CLI::Range(Cycle{1}, kMaxIterations));
       }},
      {SearchOption::engine, "--engine",
       "order = any cycle counts; time_indexed = every cycle in clauses; auto = order where it "
       "can,\n"
       "but for few cycles and ops that share a unit in parts;\n"
       "order-cadical = order, searched by a CaDiCaL from 1.6 on instead of Twill's own solver",
       add_value<&Options::engine>},
      {SearchOption::encoding, "--encoding",
       "Encodings, as key=value,... of " + encoding_keys() +
           " (default: auto, the rule of `twill encodings`)",
       [](CLI::App& app, const Row& row, SearchFlags& flags) {
         app.add_option(row.names, flags.search.encoding, row.help);
       }},
      {SearchOption::threads, "--threads", "Threads (0 = all cores)",
       [](CLI::App& app, const Row& row, SearchFlags& flags) {
         app.add_option(row.names, flags.search.threads, row.help)
             ->check(CLI::Range(0, 4096))
             ->capture_default_str();
       }},
      {SearchOption::seed, "--seed", "Seed of the solver", add_value<&Options::seed>},
      {SearchOption::time_limit, "--time-limit", "Seconds of wall clock " + limited + " (0 = none)",
       add_value<&Options::time_limit>},
      {SearchOption::conflict_limit, "--conflict-limit", "Conflicts " + limited + " (0 = none)",
       add_value<&Options::conflict_limit>},
      {SearchOption::memory, "--memory", kMemoryHelp,
       [](CLI::App& app, const Row& row, SearchFlags& flags) {
         app.add_option(row.names, flags.memory, row.help);
       }},
  };
}

}  // namespace

void SearchFlags::add_to(CLI::App& app, std::initializer_list<SearchOption> options,
                         const std::string& limited) {
  const std::vector<Row> table = rows(limited);
  for (const SearchOption option : options)
    for (const Row& row : table)
      if (row.option == option) row.add(app, row, *this);
}

Options SearchFlags::options() const {
  Options read = search;
  read.memory_limit = memory_limit_of(memory, search.threads);
  if (!read.goals.empty() && read.goals.front() == "default") {
    read.goals.erase(read.goals.begin());
    read.goals.insert(read.goals.begin(), kDefaultGoals.begin(), kDefaultGoals.end());
  }
  return read;
}

}  // namespace twill::cli
