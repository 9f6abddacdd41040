#include "engine/sequence_search.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/kernel_program.hpp"
#include "engine/kernel_search.hpp"
#include "engine/limits_left.hpp"
#include "engine/output/style.hpp"
#include "graph/emit/ttgir.hpp"
#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/sequence.hpp"

namespace twill {
namespace {

class SequenceSearch {
 public:
  SequenceSearch(const ProgramSource& source, const KernelOptions& kernel,
                 const ProgramOptions& options, std::stop_token stop)
      : source_(source),
        kernel_(kernel),
        options_(options),
        left_(options.search, std::move(stop)) {}

  EmittedKernel run() {
    if (!ttgir() && kernel_.to != "gluon")
      return refused({}, "function",
                     "it is several loops one behind the other: of these only Gluon and TTGIR are "
                     "written");
    EmittedKernel all = written(source_, {});
    if (!short_) return all;
    // Each loop has the layout that is best for it, and all of them have the slots of the largest.
    EmittedKernel best;
    Cycle least = 0;  ///< I of all its loops; 0 = there is none
    for (const Lowered& lowered : source_.sequence.front().layouts) {
      const auto source = on_layout(lowered.layout);
      if (!source || left_.out_of_time()) continue;
      EmittedKernel one = written(*source, all.loops);
      if (one.result.missing != Missing::nothing) continue;
      Cycle intervals = 0;
      for (const MadeProgram& made : one.loops) intervals += made.program.initiation_interval;
      if (least > 0 && intervals >= least) continue;
      least = intervals;
      best = std::move(one);
      best.result.remarks.push_back("all loops on layout " + printable(lowered.layout) +
                                    ": with the best of each there is no kernel (" +
                                    all.result.why + ")");
    }
    if (least > 0) return best;
    return all;
  }

 private:
  bool ttgir() const { return kernel_.to == "ttgir-ws"; }

  static EmittedKernel refused(EmittedKernel all, const std::string& rule,
                               const std::string& text) {
    all.result.missing = Missing::text;
    all.result.why = printable(rule) + ": " + printable(text);
    return all;
  }

  /// All loops on that layout alone; nullopt = one of them has it not, or they have no other.
  std::optional<ProgramSource> on_layout(const std::string& layout) const {
    ProgramSource source = source_;
    bool fewer = false;
    for (ProgramSource& loop : source.sequence) {
      const auto found = std::find_if(loop.layouts.begin(), loop.layouts.end(),
                                      [&](const Lowered& one) { return one.layout == layout; });
      if (found == loop.layouts.end()) return std::nullopt;
      fewer |= loop.layouts.size() > 1;
      const auto k = static_cast<std::size_t>(found - loop.layouts.begin());
      const auto keep = [&](auto& all) {
        if (k < all.size()) all = {all[k]};
      };
      keep(loop.layouts);
      keep(loop.hashes);
      keep(loop.modules);
    }
    return fewer ? std::optional(std::move(source)) : std::nullopt;
  }

  /// first: the programs on the best layouts, whose bounds hold.
  EmittedKernel written(const ProgramSource& source, const std::vector<MadeProgram>& first) {
    EmittedKernel all;
    std::vector<std::string> remarks;
    Leeway leeway;
    for (std::size_t k = 0; k < source.sequence.size(); ++k) {
      ProgramOptions options = options_;
      options.search = left_.timed(std::move(options.search));
      options.search.time_limit /= static_cast<double>(source.sequence.size() - k);
      auto [one, given] = written_kernel(source.sequence[k], kernel_, options, left_.stop());
      leeway.old |= given.old;
      leeway.handed |= given.handed;
      const std::string name =
          "loop " + std::to_string(k + 1) + " of " + std::to_string(source.sequence.size());
      for (const std::string& remark : one.result.remarks) remarks.push_back(name + ": " + remark);
      all.result = std::move(one.result);
      if (all.result.missing != Missing::nothing || !all.result.made) {
        all.result.why = name + ": " + all.result.why;
        all.result.remarks = std::move(remarks);
        return all;
      }
      if (k < first.size()) take_bounds(*all.result.made, first[k]);
      all.loops.push_back(*all.result.made);
    }
    all.result.remarks = std::move(remarks);
    std::vector<const ttgir::ModuleMeaning*> meanings;
    std::vector<emit::SequencePart> parts;
    for (const MadeProgram& made : all.loops) {
      if (!made.module_meaning)
        return refused(std::move(all), "meaning", "it is not known what one of its loops does");
      meanings.push_back(made.module_meaning.get());
      parts.push_back({&made.program, &made.module_meaning->kernel});
    }
    if (const auto fault = ttgir::sequence_fault(all.loops.front().module->module, meanings))
      return refused(std::move(all), "function", *fault);
    EmittedText emitted = text_of_all(parts, leeway);
    if (refused_for_limits(emitted)) {
      leeway.scarce = true;
      if (EmittedText fewer = text_of_all(parts, leeway); !is_refused(fewer))
        emitted = std::move(fewer);
    }
    short_ = refused_for_limits(emitted);
    if (const auto* no = std::get_if<program::Refusal>(&emitted))
      return refused(std::move(all), no->rule, no->text);
    all.registers_short = std::get<emit::GluonKernel>(emitted).registers_short;
    all.text = std::move(std::get<emit::GluonKernel>(emitted).text);
    return all;
  }

  EmittedText text_of_all(const std::vector<emit::SequencePart>& parts,
                          const Leeway& leeway) const {
    const emit::EmitOptions how = emit_options(nullptr, kernel_, leeway);
    return ttgir() ? emit::emit_ttgir(parts, how, kernel_.for_trips) : emit::emit_gluon(parts, how);
  }

  const ProgramSource& source_;
  const KernelOptions& kernel_;
  const ProgramOptions& options_;
  LimitsLeft left_;
  bool short_ = false;  ///< was the last text refused for a limit of slots?
};

}  // namespace

EmittedKernel written_sequence(const ProgramSource& source, const KernelOptions& kernel,
                               const ProgramOptions& options, std::stop_token stop) {
  return SequenceSearch(source, kernel, options, std::move(stop)).run();
}

}  // namespace twill
