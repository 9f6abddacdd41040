// The C interface to what is built in: lists, files, machines fitted to measurements.
#include "engine/c_api.hpp"
#include "engine/include/twill_catalogue.hpp"
#include "graph/lowering/fit_machine.hpp"

using namespace twill::c_api;

extern "C" {

twill_result twill_list(const char* kind, twill_report** report) {
  return make(report, [&](twill_report& handle) {
    const std::string_view wanted = kind == nullptr ? "" : kind;
    if (wanted != "kernels" && wanted != "machines" && wanted != "encodings")
      refuse("kind", kind == nullptr ? "NULL" : kind, "must be kernels, machines or encodings");
    handle.text = wanted == "encodings"
                      ? twill::encodings_json()
                      : twill::entries_json(wanted == "kernels" ? twill::kernel_entries()
                                                                : twill::machine_entries());
  });
}

twill_result twill_builtin(const char* kind, const char* name, const char* machine,
                           twill_report** report) {
  return make(report, [&](twill_report& handle) {
    const std::string_view wanted = kind == nullptr ? "" : kind;
    if (name == nullptr) refuse("name", "NULL", "must be given");
    if (wanted == "kernel")
      handle.text = twill::builtin_kernel(name, machine == nullptr ? "" : machine);
    else if (wanted == "machine")
      handle.text = twill::builtin_machine(name);
    else
      refuse("kind", kind == nullptr ? "NULL" : kind, "must be kernel or machine");
  });
}

twill_result twill_machine_fit(const char* measurements, const char* base, twill_report** report) {
  return make(report, [&](twill_report& handle) {
    if (measurements == nullptr || base == nullptr)
      refuse("measurements, base", "NULL", "must be given");
    const bool text = is_text(base);
    handle.text = twill::fit_machine(twill::parse_measurements(measurements, "measurements"),
                                     text ? std::string(base) : twill::builtin_machine(base),
                                     text ? "base" : base)
                      .text;
  });
}

}  // extern "C"
