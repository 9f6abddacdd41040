// A kernel as source text: the best schedule whose program can be emitted.
#include <utility>

#include "engine/include/twill_emit.hpp"
#include "engine/kernel_search.hpp"
#include "engine/kernel_text.hpp"
#include "engine/sequence_search.hpp"
#include "graph/emit/ttgir.hpp"
#include "graph/io/json_text.hpp"
#include "graph/ttgir/meaning.hpp"

namespace twill {
namespace {

std::variant<std::string, program::Refusal> text_alone(EmittedText emitted) {
  if (auto* no = std::get_if<program::Refusal>(&emitted)) return std::move(*no);
  return std::move(std::get<emit::GluonKernel>(emitted).text);
}

}  // namespace

void check_options(const KernelOptions& options, bool command_line) {
  const auto refuse = [&](const char* place, const std::string& value, const std::string& rule) {
    throw InputError(command_line ? "command line" : "kernel options",
                     (command_line ? "--" : "") + std::string(place), value, rule);
  };
  const bool ttgir = options.to == "ttgir-ws";
  const std::string only = command_line ? "only --to ttgir-ws" : "only ttgir-ws";
  if (!ttgir && options.to != "gluon" && options.to != "cuda" && options.to != "tilelang")
    refuse("to", quote(options.to), "must be gluon, cuda, ttgir-ws or tilelang");
  if (!ttgir && options.to != "gluon" && options.persistent)
    refuse("persistent", "true", "only gluon and ttgir-ws have programs that do several blocks");
  if (!ttgir && options.for_trips >= 0)
    refuse("for-trips", std::to_string(options.for_trips),
           only + " has a text for each number of iterations");
  if (!ttgir && !options.triton.empty())
    refuse("triton", quote(options.triton), only + " is written for one version of Triton");
  if (ttgir && !options.triton.empty() && options.triton != emit::kTritonOfTtgir)
    refuse("triton", quote(options.triton),
           "TTGIR is written for Triton " + std::string(emit::kTritonOfTtgir) +
               " alone: its text changes from version to version");
}

std::variant<std::string, program::Refusal> emit_program(const program::Program& program,
                                                         const KernelOptions& options) {
  check_options(options);
  return text_alone(text_of(program, nullptr, options));
}

std::variant<std::string, program::Refusal> emit_program(const MadeProgram& made,
                                                         const KernelOptions& options) {
  check_options(options);
  if (made.module_meaning && made.module_meaning->kernel.parts > 1)
    return program::Refusal{"function", "it is one of several loops, which are written together"};
  return text_alone(text_of(made, options));
}

EmittedKernel emit_kernel(const ProgramSource& source, const KernelOptions& kernel,
                          const ProgramOptions& options, std::stop_token stop) {
  check_options(kernel);
  if (!source.sequence.empty()) return written_sequence(source, kernel, options, std::move(stop));
  return written_kernel(source, kernel, options, std::move(stop)).kernel;
}

}  // namespace twill
