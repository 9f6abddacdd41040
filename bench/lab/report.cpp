// twill bench report: tables, plots and a page of the rows of one or more runs.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "bench/lab/lab.hpp"
#include "bench/lab/plot.hpp"
#include "bench/lab/report_csv.hpp"
#include "bench/lab/score.hpp"
#include "bench/lab/significance.hpp"
#include "bench/table.hpp"
#include "encoders/choose.hpp"
#include "engine/output/style.hpp"
#include "graph/error.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {
namespace {

/// Only the keys that are not as by default: "start=order,pb=gte", or "default".
std::string short_name(const std::string& contestant) {
  const std::size_t colon = contestant.find(": ");
  const std::string solver = colon == std::string::npos ? "" : contestant.substr(0, colon + 2);
  const std::string encoding = contestant.substr(solver.size());
  std::set<std::string> usual;
  std::stringstream defaults(encoding_text({}));
  for (std::string item; std::getline(defaults, item, ',');) usual.insert(item);
  std::string name;
  std::stringstream items(encoding);
  for (std::string item; std::getline(items, item, ',');)
    if (!usual.contains(item)) name += (name.empty() ? "" : ",") + item;
  return solver + (name.empty() ? "default" : name);
}

std::string count_text(double value) {
  return value == 0 ? "-" : decimal(value, 0);
}

std::string p_text(double p) {
  return p < 0.0001 ? "<0.0001" : decimal(p, 4);
}

std::vector<Column> columns() {
  return {{"encoding", 44, false}, {"solved", 6},      {"SAT", 4},    {"UNSAT", 5},   {"unique", 6},
          {"PAR2 s", 7},           {"95 % of it", 14}, {"p", 7},      {"alone s", 7}, {"spread", 6},
          {"variables", 9},        {"clauses", 9},     {"not run", 7}};
}

/// What a comparison says of one contestant: its interval, whether it is told apart from the first,
/// and what the virtual best solver would lose without it.
struct Standing {
  std::string interval = "-", p = "-", alone = "-";
};

std::vector<Standing> standings_of(const Significance& comparison) {
  std::vector<Standing> all;
  for (std::size_t c = 0; c < comparison.par2.size(); ++c) {
    Standing one;
    one.interval =
        short_seconds(comparison.par2[c].low) + " to " + short_seconds(comparison.par2[c].high);
    one.alone = short_seconds(comparison.contribution[c]);
    all.push_back(one);
  }
  for (const PairedTest& pair : comparison.pairs)
    if (pair.first == 0) all[pair.second].p = p_text(pair.adjusted);
  return all;
}

std::vector<std::string> cells(const Score& s, const Standing& standing = {}) {
  return {s.encoding == "virtual best" ? s.encoding : short_name(s.encoding),
          std::to_string(s.solved()),
          std::to_string(s.sat),
          std::to_string(s.unsat),
          std::to_string(s.unique),
          short_seconds(s.par2),
          standing.interval,
          standing.p,
          standing.alone,
          s.spread ? percent(*s.spread) : "-",
          count_text(s.vars),
          count_text(s.clauses),
          std::to_string(s.not_run)};
}

Curve curve_of(const Score& score) {
  const std::vector<double> seconds = solved_seconds(score);
  Curve curve{score.encoding == "virtual best" ? score.encoding : short_name(score.encoding), {}};
  for (std::size_t i = 0; i < seconds.size(); ++i)
    curve.points.emplace_back(seconds[i], static_cast<double>(i + 1));
  return curve;
}

/// The questions that both were asked.
std::vector<ScatterPoint> pairs_of(const Score& x, const Score& y, double limit) {
  std::vector<ScatterPoint> points;
  for (const auto& [question, a] : x.outcomes) {
    const auto b = y.outcomes.find(question);
    if (b == y.outcomes.end() || a.status == "NOTRUN" || b->second.status == "NOTRUN") continue;
    if (!a.solved() && !b->second.solved()) continue;
    points.push_back({a.solved() ? a.cpu_seconds : limit,
                      b->second.solved() ? b->second.cpu_seconds : limit,
                      a.status == "SAT" || b->second.status == "SAT", question});
  }
  return points;
}

const Score* find(const Scores& scores, const std::string& encoding) {
  for (const Score& s : scores.encodings)
    if (s.encoding == encoding) return &s;
  return nullptr;
}

std::vector<Column> choice_columns() {
  return {{"choice", 24, false}, {"mean rank", 9}, {"of values", 9}, {"comparisons", 11}};
}

std::vector<std::string> choice_cells(const ChoiceValue& choice) {
  return {choice.key + "=" + choice.value, decimal(choice.mean_rank, 2),
          decimal(choice.mean_values, 1), std::to_string(choice.comparisons)};
}

struct Plot {
  std::string file, svg;
};

// More names on one picture are not read.
constexpr std::size_t kMostRanks = 20;

Plot ranks_plot(const Scores& scores, const Significance& comparison) {
  Ranks ranks;
  ranks.title =
      "Mean ranks over " + std::to_string(comparison.ranked_instances) + " instances, 1 = fastest";
  ranks.critical_difference = comparison.critical_difference;
  for (std::size_t c = 0; c < comparison.mean_ranks.size(); ++c)
    ranks.names.emplace_back(comparison.mean_ranks[c], short_name(scores.encodings[c].encoding));
  std::sort(ranks.names.begin(), ranks.names.end());
  if (ranks.names.size() > kMostRanks) ranks.names.resize(kMostRanks);
  return {"ranks.svg", ranks_svg(ranks)};
}

/// The best encoding against the default, or the second where it is the default itself.
std::vector<Plot> plots_of(const Scores& scores, const std::vector<std::string>& pairs) {
  std::vector<Curve> curves = {curve_of(scores.virtual_best)};
  for (const Score& s : scores.encodings) curves.push_back(curve_of(s));
  std::vector<Plot> plots = {
      {"cactus.svg", cdf_svg("Questions solved within a time", curves, scores.limit)}};
  std::vector<std::pair<std::string, std::string>> against;
  for (const std::string& pair : pairs) {
    const std::size_t split = pair.find(':');
    if (split == std::string::npos)
      throw InputError("command line", "--scatter", quote(pair), "must be ENCODING:ENCODING");
    const auto full = [&](const std::string& text) {
      return find(scores, text) != nullptr ? text : encoding_text(parse_encoding(text));
    };
    against.emplace_back(full(pair.substr(0, split)), full(pair.substr(split + 1)));
    for (const std::string& name : {against.back().first, against.back().second})
      if (find(scores, name) == nullptr)
        throw InputError("command line", "--scatter", quote(name), "must be among the rows");
  }
  if (against.empty() && scores.encodings.size() > 1) {
    const std::string base = encoding_text({});
    const bool is_first = scores.encodings[0].encoding == base || find(scores, base) == nullptr;
    against.emplace_back(is_first ? scores.encodings[1].encoding : base,
                         scores.encodings[0].encoding);
  }
  for (std::size_t i = 0; i < against.size(); ++i) {
    const Score &x = *find(scores, against[i].first), &y = *find(scores, against[i].second);
    plots.push_back({"scatter-" + std::to_string(i + 1) + ".svg",
                     scatter_svg(short_name(x.encoding), short_name(y.encoding),
                                 pairs_of(x, y, scores.limit), scores.limit)});
  }
  return plots;
}

std::string html_table(const std::vector<Column>& columns,
                       const std::vector<std::vector<std::string>>& rows) {
  std::string html =
      "<input placeholder=\"filter\" aria-label=\"filter the table below\">\n"
      "<div class=\"scroll\"><table><thead><tr>";
  for (const Column& c : columns) html += "<th>" + xml_text(c.title) + "</th>";
  html += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    html += "<tr>";
    for (const std::string& cell : row) html += "<td>" + xml_text(cell) + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::vector<std::vector<std::string>> score_rows(const Scores& scores,
                                                 const Significance& comparison) {
  std::vector<std::vector<std::string>> rows = {cells(scores.virtual_best)};
  const std::vector<Standing> standings = standings_of(comparison);
  for (std::size_t c = 0; c < scores.encodings.size(); ++c)
    rows.push_back(cells(scores.encodings[c], standings[c]));
  return rows;
}

std::vector<std::vector<std::string>> choice_rows(const Significance& comparison) {
  std::vector<std::vector<std::string>> rows;
  for (const ChoiceValue& choice : comparison.choices) rows.push_back(choice_cells(choice));
  return rows;
}

std::string facts_of(const std::vector<Row>& rows) {
  std::set<std::string> machines, programs, solvers;
  for (const Row& row : rows) {
    if (text_of(row, "host").empty()) continue;
    machines.insert(text_of(row, "cpu_model") + ", " + text_of(row, "os") + ", " +
                    text_of(row, "compiler"));
    programs.insert(text_of(row, "twill") + " (SHA-256 " +
                    text_of(row, "program_sha256").substr(0, 16) + ")");
    solvers.insert(text_of(row, "solver") + " " + text_of(row, "solver_version"));
  }
  std::string text;
  const auto add = [&](const char* name, const std::set<std::string>& all) {
    for (const std::string& item : all) text += std::string(name) + ": " + item + "\n";
  };
  add("machine", machines);
  add("solver", solvers);
  add("Twill", programs);
  return text;
}

constexpr const char* kExplained =
    "95 %: bootstrap interval of PAR2 over instances. p: signed-rank test over instances against "
    "the "
    "first row, corrected by Holm for all pairs. Alone: by how much the virtual best's PAR2 grows "
    "without this one.";
constexpr const char* kChoicesExplained =
    "Mean rank of a value among those of its key, with all other keys, the solver and the instance "
    "the same; 1 = fastest.";

// A click on a head sorts by that column, again the other way round; the field above a table leaves
// the rows that have its text.
constexpr const char* kTableScript = R"(
for (const input of document.querySelectorAll('input')) {
  const table = input.nextElementSibling.querySelector('table'), body = table.tBodies[0];
  input.oninput = () => {
    for (const row of body.rows) row.hidden = !row.textContent.includes(input.value);
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    let up = false;
    head.onclick = () => {
      up = !up;
      const text = row => row.cells[column].textContent, number = row => parseFloat(text(row));
      const order = (a, b) => isNaN(number(a)) || isNaN(number(b))
          ? isNaN(number(a)) - isNaN(number(b)) || text(a).localeCompare(text(b))
          : number(a) - number(b);
      body.append(...[...body.rows].sort((a, b) => up ? order(a, b) : order(b, a)));
    };
  });
}
)";

std::string page(const Scores& scores, const Significance& comparison,
                 const std::vector<Plot>& plots, const std::string& facts,
                 const std::vector<std::string>& wrong) {
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<title>Twill: encodings compared</title>\n<style>body{font:14px sans-serif;margin:2em;"
      "max-width:1100px}table{border-collapse:collapse}td,th{padding:2px 8px;text-align:right;"
      "border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left;font-family:"
      "monospace}svg{max-width:100%;min-width:600px;height:auto}td{white-space:nowrap}pre{overflow-"
      "x:auto}"
      "th{cursor:pointer}.scroll{overflow-x:auto}input{margin:6px 0;padding:3px}"
      ".wrong{color:#b00}</style></head><body>\n<h1>Encodings compared</h1>\n";
  html += "<p>" + std::to_string(scores.questions) + " questions, " +
          std::to_string(scores.encodings.size()) + " encodings, " + decimal(scores.limit, 0) +
          " CPU seconds a question. PAR2: mean CPU seconds, unsolved as twice the limit. Sizes: "
          "geometric means over the questions that all encodings built. Spread: of times over "
          "scrambles of one formula, median over instances. ";
  html += kExplained;
  html += "</p>\n";
  for (const std::string& text : wrong)
    html += "<p class=\"wrong\">DISAGREEMENT " + xml_text(text) + "</p>\n";
  for (const Plot& plot : plots) html += "<div class=\"scroll\">" + plot.svg + "</div>\n";
  html += html_table(columns(), score_rows(scores, comparison));
  if (!comparison.choices.empty())
    html += "<h2>What each choice is worth</h2>\n<p>" + xml_text(kChoicesExplained) + "</p>\n" +
            html_table(choice_columns(), choice_rows(comparison));
  html +=
      "<pre>" + xml_text(facts) + "</pre>\n<script>" + kTableScript + "</script></body></html>\n";
  return html;
}

struct ReportFlags {
  std::vector<std::string> files, scatter;
  std::string out;
  std::uint64_t seed = 0;
};

int run(const ReportFlags& flags) {
  const std::vector<Row> rows = merged_rows(flags.files);
  const std::vector<std::string> wrong = disagreements(rows);
  const Scores scores = scores_of(rows);
  const Significance comparison = significance_of(scores, flags.seed);
  std::vector<Plot> plots = plots_of(scores, flags.scatter);
  if (comparison.ranked_instances > 0 && scores.encodings.size() > 1)
    plots.insert(plots.begin() + 1, ranks_plot(scores, comparison));
  Table table(std::cout, columns());
  table.head();
  for (const auto& row : score_rows(scores, comparison)) table.row(row);
  std::cout << "\n" << kExplained << "\n";
  if (!comparison.choices.empty()) {
    std::cout << "\n";
    Table choices(std::cout, choice_columns());
    choices.head();
    for (const auto& row : choice_rows(comparison)) choices.row(row);
    std::cout << "\n" << kChoicesExplained << "\n";
  }
  std::cout << "\n"
            << scores.questions << " questions, " << decimal(scores.limit, 0)
            << " CPU seconds each\n"
            << facts_of(rows);
  if (!flags.out.empty()) {
    std::filesystem::create_directories(flags.out);
    const auto write = [&](const std::string& name, const std::string& text) {
      write_file((std::filesystem::path(flags.out) / name).string(), text);
    };
    write("scores.csv", scores_csv(scores, comparison));
    write("cactus.csv", cactus_csv(scores));
    write("pairs.csv", pairs_csv(scores, comparison));
    write("ranks.csv", ranks_csv(scores, comparison));
    write("choices.csv", choices_csv(comparison));
    write("rows.csv", rows_csv(rows));
    for (const Plot& plot : plots) write(plot.file, plot.svg);
    write("index.html", page(scores, comparison, plots, facts_of(rows), wrong));
  }
  for (const std::string& text : wrong) std::cerr << "DISAGREEMENT " << text << "\n";
  return wrong.empty() ? cli::kDone : cli::kNo;
}

}  // namespace

cli::Command report_command(CLI::App& bench) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* app =
      bench.add_subcommand("report", "Tables and plots of the rows of one or more runs");
  app->add_option("ROWS", flags->files, "JSON Lines files of `bench run`, all shards")->required();
  app->add_option("-o,--out", flags->out,
                  "Folder for index.html (self-contained), SVG plots and CSV data");
  app->add_option("--scatter", flags->scatter,
                  "ENCODING:ENCODING, a scatter plot each (default: the best against the default)")
      ->allow_extra_args(false);
  app->add_option("--seed", flags->seed, "Of the bootstrap's draws")->capture_default_str();
  app->footer("Rows that disagree on SAT and UNSAT are named, and make it fail with 1.");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::bench
