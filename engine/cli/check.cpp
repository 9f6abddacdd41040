// twill check: the independent judge of a certificate.

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/certificate/certificate.hpp"
#include "engine/cli/cli.hpp"
#include "engine/output/style.hpp"
#include "graph/restriction.hpp"

namespace twill::cli {
namespace {

struct CheckFlags {
  std::string directory;
  bool quiet = false;
  bool json = false;
  CertificateOptions options;
};

int run(const CheckFlags& flags) {
  const CertificateReport report = check_certificate(flags.directory, flags.options);
  if (!flags.quiet)
    for (const std::string& line : report.checks) std::cerr << printable(line) << "\n";
  if (flags.json) {
    nlohmann::ordered_json answer = {{"accepted", report.accepted}};
    if (!report.accepted) answer["refusal"] = report.refusal;
    if (report.accepted) {
      answer["status"] = to_string(report.solution.status);
      if (!report.restriction.empty()) answer[kRestrictionOption] = report.restriction;
    }
    answer["proved"] = report.proved;
    answer["checks"] = report.checks;
    std::cout << answer.dump(2) << "\n";
  } else if (!report.accepted) {
    std::cout << "refused: " << printable(report.refusal) << "\n";
  } else {
    for (const std::string& line : report.proved)
      std::cout << "proved: " << printable(line) << "\n";
    std::cout << "accepted: " << to_string(report.solution.status);
    if (report.solution.schedule)
      std::cout << ", I = " << report.solution.schedule->initiation_interval
                << ", L = " << report.solution.schedule->length;
    if (const auto& time = report.solution.whole_time; time && time->cycles > 0)
      std::cout << ", " << time->cycles << " cycles for " << plural(time->iterations, "iteration");
    if (!report.restriction.empty())
      std::cout << ", among schedules " << printable(report.restriction)
                << " (no others were searched)";
    std::cout << "\n";
  }
  return report.accepted ? kDone : kNo;
}

}  // namespace

Command check_command(CLI::App& program) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* app = program.add_subcommand(
      "check", "Check a certificate of solve --certificate: 0 accepted, 1 refused, 2 unreadable");
  app->add_option("DIR", flags->directory, "The certificate's directory")->required();
  app->add_flag("--no-drat-trim{false}", flags->options.drat_trim,
                "Do not run drat-trim too, where it is on the PATH");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  app->add_flag("--json", flags->json, "Print the answer as JSON");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::cli
