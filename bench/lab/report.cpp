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
#include "bench/lab/score.hpp"
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

std::vector<Column> columns() {
  return {{"encoding", 44, false}, {"solved", 6}, {"SAT", 4},       {"UNSAT", 5},   {"unique", 6},
          {"PAR2 s", 7},           {"spread", 6}, {"variables", 9}, {"clauses", 9}, {"not run", 7}};
}

std::vector<std::string> cells(const Score& s) {
  return {s.encoding == "virtual best" ? s.encoding : short_name(s.encoding),
          std::to_string(s.solved()),
          std::to_string(s.sat),
          std::to_string(s.unsat),
          std::to_string(s.unique),
          short_seconds(s.par2),
          s.spread ? percent(*s.spread) : "-",
          count_text(s.vars),
          count_text(s.clauses),
          std::to_string(s.not_run)};
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string scores_csv(const Scores& scores) {
  std::string csv =
      "encoding,solved,sat,unsat,unique,par2_s,spread,vars_geomean,clauses_geomean,not_run\n";
  const auto add = [&](const Score& s) {
    csv += csv_field(s.encoding) + "," + std::to_string(s.solved()) + "," + std::to_string(s.sat) +
           "," + std::to_string(s.unsat) + "," + std::to_string(s.unique) + "," +
           decimal(s.par2, 4) + "," + (s.spread ? decimal(*s.spread, 4) : "") + "," +
           decimal(s.vars, 1) + "," + decimal(s.clauses, 1) + "," + std::to_string(s.not_run) +
           "\n";
  };
  add(scores.virtual_best);
  for (const Score& s : scores.encodings) add(s);
  return csv;
}

/// Every row, nested keys joined by dots, columns in the order in which they first occur.
std::string rows_csv(const std::vector<Row>& rows) {
  std::vector<std::string> header;
  std::set<std::string> known;
  std::vector<std::map<std::string, std::string>> lines;
  const auto visit = [&](auto& self, const std::string& prefix, const Row& object,
                         std::map<std::string, std::string>& line) -> void {
    for (const auto& [key, value] : object.items()) {
      const std::string name = prefix.empty() ? key : prefix + "." + key;
      if (value.is_object()) {
        self(self, name, value, line);
        continue;
      }
      if (known.insert(name).second) header.push_back(name);
      line[name] = value.is_string() ? text_of(object, key.c_str()) : value.dump();
    }
  };
  for (const Row& row : rows) {
    lines.emplace_back();
    visit(visit, "", row, lines.back());
  }
  std::string csv;
  for (std::size_t i = 0; i < header.size(); ++i) csv += (i ? "," : "") + csv_field(header[i]);
  csv += "\n";
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      const auto found = line.find(header[i]);
      csv += (i ? "," : "") + (found == line.end() ? std::string() : csv_field(found->second));
    }
    csv += "\n";
  }
  return csv;
}

Curve curve_of(const Score& score) {
  std::vector<double> seconds;
  for (const auto& [question, outcome] : score.outcomes)
    if (outcome.solved()) seconds.push_back(outcome.cpu_seconds);
  std::sort(seconds.begin(), seconds.end());
  Curve curve{score.encoding == "virtual best" ? score.encoding : short_name(score.encoding), {}};
  for (std::size_t i = 0; i < seconds.size(); ++i)
    curve.points.emplace_back(seconds[i], static_cast<double>(i + 1));
  return curve;
}

std::string cactus_csv(const Scores& scores) {
  std::string csv = "encoding,cpu_s,solved\n";
  const auto add = [&](const Score& s) {
    for (const auto& [seconds, solved] : curve_of(s).points)
      csv += csv_field(s.encoding) + "," + decimal(seconds, 4) + "," + decimal(solved, 0) + "\n";
  };
  add(scores.virtual_best);
  for (const Score& s : scores.encodings) add(s);
  return csv;
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

struct Plot {
  std::string file, svg;
};

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

std::string html_table(const Scores& scores) {
  std::string html = "<table><thead><tr>";
  for (const Column& c : columns()) html += "<th>" + xml_text(c.title) + "</th>";
  html += "</tr></thead><tbody>\n";
  const auto add = [&](const Score& s) {
    html += "<tr>";
    for (const std::string& cell : cells(s)) html += "<td>" + xml_text(cell) + "</td>";
    html += "</tr>\n";
  };
  add(scores.virtual_best);
  for (const Score& s : scores.encodings) add(s);
  return html + "</tbody></table>\n";
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

std::string page(const Scores& scores, const std::vector<Plot>& plots, const std::string& facts,
                 const std::vector<std::string>& wrong) {
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<title>Twill: encodings compared</title>\n<style>body{font:14px sans-serif;margin:2em;"
      "max-width:1100px}table{border-collapse:collapse}td,th{padding:2px 8px;text-align:right;"
      "border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left;font-family:"
      "monospace}tbody tr:first-child{font-style:italic}svg{max-width:100%;height:auto}"
      ".wrong{color:#b00}</style></head><body>\n<h1>Encodings compared</h1>\n";
  html += "<p>" + std::to_string(scores.questions) + " questions, " +
          std::to_string(scores.encodings.size()) + " encodings, " + decimal(scores.limit, 0) +
          " CPU seconds a question. PAR2: mean CPU seconds, unsolved as twice the limit. Sizes: "
          "geometric means over the questions that all encodings built. Spread: of times over "
          "scrambles of one formula, median over instances.</p>\n";
  for (const std::string& text : wrong)
    html += "<p class=\"wrong\">DISAGREEMENT " + xml_text(text) + "</p>\n";
  for (const Plot& plot : plots) html += plot.svg;
  html += html_table(scores);
  html += "<pre>" + xml_text(facts) + "</pre>\n</body></html>\n";
  return html;
}

struct ReportFlags {
  std::vector<std::string> files, scatter;
  std::string out;
};

int run(const ReportFlags& flags) {
  const std::vector<Row> rows = merged_rows(flags.files);
  const std::vector<std::string> wrong = disagreements(rows);
  const Scores scores = scores_of(rows);
  const std::vector<Plot> plots = plots_of(scores, flags.scatter);
  Table table(std::cout, columns());
  table.head();
  table.row(cells(scores.virtual_best));
  for (const Score& s : scores.encodings) table.row(cells(s));
  std::cout << "\n"
            << scores.questions << " questions, " << decimal(scores.limit, 0)
            << " CPU seconds each\n"
            << facts_of(rows);
  if (!flags.out.empty()) {
    std::filesystem::create_directories(flags.out);
    const auto write = [&](const std::string& name, const std::string& text) {
      write_file((std::filesystem::path(flags.out) / name).string(), text);
    };
    write("scores.csv", scores_csv(scores));
    write("cactus.csv", cactus_csv(scores));
    write("rows.csv", rows_csv(rows));
    for (const Plot& plot : plots) write(plot.file, plot.svg);
    write("index.html", page(scores, plots, facts_of(rows), wrong));
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
  app->footer("Rows that disagree on SAT and UNSAT are named, and make it fail with 1.");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::bench
