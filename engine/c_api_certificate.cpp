// The C interface to certificates: written, and checked without a solver.
#include "engine/c_api.hpp"

using namespace twill::c_api;

extern "C" {

twill_result twill_certificate_write(const twill_problem* problem, twill_solution* solution,
                                     const char* directory) {
  if (solution == nullptr) return TWILL_BAD_INPUT;
  return guarded(solution->error, [&] {
    if (directory == nullptr) refuse("directory", "NULL", "must be given");
    const twill::Problem& loop = problem_in(problem);
    if (!solution->solution) refuse("solution", "none", "must hold a solution");
    if (solution->tiles)
      twill::write_tiles_certificate(directory, solution->tiles->answer, solution->tiles->source);
    else
      twill::write_certificate(directory, loop, *solution->solution);
    return TWILL_OK;
  });
}

twill_result twill_certificate_check(const char* directory, twill_report** report) {
  bool accepted = false;
  const twill_result result = make(report, [&](twill_report& handle) {
    if (directory == nullptr) refuse("directory", "NULL", "must be given");
    const twill::CertificateReport checked = twill::check_certificate(directory);
    for (const auto* lines : {&checked.proved, &checked.checks})
      for (const std::string& line : *lines) handle.text += line + "\n";
    handle.error = checked.refusal;
    accepted = checked.accepted;
  });
  return result == TWILL_OK && !accepted ? TWILL_REFUSED : result;
}

const char* twill_report_text(const twill_report* report) {
  return report != nullptr ? report->text.c_str() : "";
}

const char* twill_report_error(const twill_report* report) {
  return report != nullptr ? report->error.c_str() : "";
}

void twill_report_free(twill_report* report) {
  delete report;
}

}  // extern "C"
