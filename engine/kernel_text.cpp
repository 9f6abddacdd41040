#include "engine/kernel_text.hpp"

#include <utility>

#include "graph/emit/cuda.hpp"
#include "graph/emit/tilelang.hpp"
#include "graph/emit/ttgir.hpp"

namespace twill {
namespace {

/// As few registers beside its tiles as a slot gets where no schedule has room for more: ptxas may
/// spill then.
constexpr int kScarceResident = 4;

}  // namespace

emit::EmitOptions emit_options(const meaning::UserKernel* user, const KernelOptions& kernel,
                               const Leeway& leeway) {
  emit::EmitOptions options;
  if (leeway.old) options.older_copies = emit::kMostOlderCopies;
  if (leeway.scarce) options.least_resident = kScarceResident;
  options.tiles_handed = leeway.handed;
  options.machine = kernel.machine.empty() ? "the machine of its program" : kernel.machine;
  options.version = version();
  options.user = user;
  options.persistent = kernel.persistent;
  return options;
}

EmittedText text_of(const program::Program& program, const meaning::UserKernel* user,
                    const KernelOptions& kernel, const Leeway& leeway,
                    const std::vector<std::string>& moved) {
  emit::EmitOptions options = emit_options(user, kernel, leeway);
  options.moved = moved;
  if (kernel.to == "gluon") return emit::emit_gluon(program, options);
  if (kernel.to == "ttgir-ws") return emit::emit_ttgir(program, options, kernel.for_trips);
  auto text = kernel.to == "tilelang" ? emit::emit_tilelang(program, options)
                                      : emit::emit_cuda(program, options);
  if (auto* no = std::get_if<program::Refusal>(&text)) return *no;
  emit::GluonKernel written;
  written.text = std::move(std::get<std::string>(text));
  return written;
}

EmittedText text_of(const MadeProgram& made, const KernelOptions& kernel, const Leeway& leeway) {
  return text_of(made.program, made.module_meaning ? &made.module_meaning->kernel : nullptr, kernel,
                 leeway, made.moved);
}

bool is_refused(const EmittedText& emitted) {
  return std::holds_alternative<program::Refusal>(emitted);
}

bool refused_for_limits(const EmittedText& emitted) {
  const auto* no = std::get_if<program::Refusal>(&emitted);
  return no != nullptr && no->rule == "limits" && !no->needs_shared;
}

bool refused_for_room(const EmittedText& emitted) {
  const auto* no = std::get_if<program::Refusal>(&emitted);
  return no != nullptr && no->needs_shared;
}

bool is_handed_product(const EmittedText& emitted) {
  const auto* no = std::get_if<program::Refusal>(&emitted);
  return no != nullptr && no->rule == emit::kHandedProduct;
}

}  // namespace twill
