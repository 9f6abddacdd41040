#include "engine/kernel_search.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/kernel_program.hpp"
#include "engine/limits_left.hpp"
#include "engine/output/style.hpp"
#include "engine/statement_order.hpp"
#include "graph/index.hpp"
#include "graph/io/json_text.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/program/early_ends.hpp"
#include "graph/program/links.hpp"
#include "graph/ttgir/meaning.hpp"

namespace twill {
namespace {

/// The problem counts no barriers: room for them.
constexpr Amount kBarrierRoom = 2'048;
/// Registers that slots may lack by the estimate, which is no closer.
constexpr Amount kFewRegisters = 8;

/// Of the limit of conflicts each search but the first has this part: there are several, and a
/// schedule that is asked for more than the best one can be hard to prove the shortest.
constexpr std::int64_t kShareOfWay = 10;
/// And so many conflicts where none is said, so that each ends.
constexpr std::int64_t kMostOfWay = 10'000;

/// A module's loop is a chain of many small ops, and a schedule of least I may have them on any
/// slot: fewest hand-overs first, then fewest results that cross slots, then none of registers.
std::vector<ProgramOptions> ways_for_module(const ProgramOptions& asked) {
  std::vector<ProgramOptions> ways;
  if (!asked.search.goals.empty()) return ways;
  ProgramOptions handed = asked, crossing = asked, none = asked;
  handed.search.goals = {"handovers"};
  crossing.search.goals = {"crossings"};
  none.search.handover = false;
  for (ProgramOptions one : {handed, crossing, none}) {
    ways.push_back(one);
    one.kept_back = kBarrierRoom;
    ways.push_back(one);
  }
  return ways;
}

/// Where slots lack registers, or I is not the least known: schedules that may hold fewer.
std::vector<ProgramOptions> roomier_ways(const ProgramOptions& asked) {
  std::vector<ProgramOptions> ways;
  if (!asked.search.goals.empty()) return ways;
  for (const std::vector<std::string>& goals :
       {std::vector<std::string>{"crossings", "registers"}, {"registers"}, {"crossings"}}) {
    ways.push_back(asked);
    ways.back().search.goals = goals;
    ways.push_back(ways.back());
    ways.back().kept_back = kBarrierRoom;
  }
  return ways;
}

/// Pairs of ops on several slots whose matrices one store behind the loop needs in registers.
std::vector<std::pair<std::string, std::string>> stored_together(const program::Program& program) {
  std::vector<std::pair<std::string, std::string>> pairs;
  program::Links links;
  if (!program.meaning || program::link(program, links)) return pairs;
  const meaning::Meaning& m = *program.meaning;
  for (int v = m.after_begin; v < static_cast<int>(m.values.size()); ++v) {
    if (m.values[at(v)].function != meaning::Function::store) continue;
    std::set<int> ops, seen{v};
    std::vector<int> open{v};
    while (!open.empty()) {
      const meaning::Value& value = m.values[at(open.back())];
      open.pop_back();
      for (const meaning::Operand& one : value.operands) {
        if (one.value < m.loop_begin || !seen.insert(one.value).second) continue;
        if (!m.in_loop(one.value))
          open.push_back(one.value);
        else if (links.runner[at(one.value)] >= 0 && m.values[at(one.value)].shape.size() == 2)
          ops.insert(links.runner[at(one.value)]);
      }
    }
    for (auto op = ops.begin(); op != ops.end(); ++op)
      if (program.ops[at(*op)].slot != program.ops[at(*ops.begin())].slot)
        pairs.emplace_back(program.ops[at(*ops.begin())].id, program.ops[at(*op)].id);
  }
  return pairs;
}

/// Products and who uses their results.
std::vector<std::pair<std::string, std::string>> products_used(const program::Program& program) {
  std::vector<std::pair<std::string, std::string>> pairs;
  program::Links links;
  if (!program.meaning || program::link(program, links)) return pairs;
  const auto is_product = [&](std::size_t op) {
    return program.meaning->values[at(links.result[op])].function == meaning::Function::product;
  };
  for (std::size_t op = 0; op < program.ops.size(); ++op)
    for (std::size_t user = 0; user < program.ops.size() && is_product(op); ++user) {
      const auto& writes = program.ops[op].writes;
      const auto& reads = program.ops[user].reads;
      const bool uses = std::any_of(reads.begin(), reads.end(), [&](const auto& read) {
        return std::find(writes.begin(), writes.end(), read.storage) != writes.end();
      });
      if (uses && user != op) pairs.emplace_back(program.ops[op].id, program.ops[user].id);
    }
  return pairs;
}

/// Does it leave so many bytes of shared memory free, as a schedule and with its places?
bool leaves_free(const MadeProgram& made, Amount bytes) {
  Problem less = made.problem;
  Amount end = 0, most = 0;
  for (Memory& memory : less.memories)
    if (memory.name == program::kBarrierMemory) most = memory.capacity -= bytes;
  const program::Program& program = made.program;
  for (const program::Storage& one : program.storages)
    if (one.kind == program::Storage::in_memory &&
        program.memories[at(one.memory)].name == program::kBarrierMemory)
      end = std::max(end, one.base + one.size * one.depth);
  for (const program::Event& one : program.events)
    if (!one.pending) end = std::max(end, one.address + program::kBarrierBytes * one.phases);
  return end <= most && !verify(less, *made.solution.schedule);
}

/// Of one source the schedules that are tried, and the text of the one that was taken.
class KernelSearch {
 public:
  KernelSearch(const ProgramSource& source, const KernelOptions& kernel,
               const ProgramOptions& options, std::stop_token stop)
      : source_(source),
        kernel_(kernel),
        for_trips_(kernel.for_trips),
        options_(options),
        left_(options.search, std::move(stop)) {
    kernel_.for_trips = -1;  // (whose schedule is that of all its texts)
  }

  WrittenKernel run() {
    result_.result = best_program(source_, options_, left_.stop());
    if (!result_.result.made) return {std::move(result_), leeway_};
    first_ = *result_.result.made;
    emitted_ = text_of(first_, kernel_);
    const auto* first = std::get_if<program::Refusal>(&emitted_);
    if (first != nullptr) first_refusal_ = printable(first->rule) + ": " + printable(first->text);
    if (first == nullptr || !first->of_loop) try_others();
    if (for_trips_ >= 0 && !is_refused(emitted_)) {
      kernel_.for_trips = for_trips_;
      emitted_ = text_of(*result_.result.made, kernel_, leeway_);
    }
    if (const auto* no = std::get_if<program::Refusal>(&emitted_)) {
      result_.result.missing = Missing::text;
      result_.result.rule = printable(no->rule);
      result_.result.why = result_.result.rule + ": " + printable(no->text);
      if (left_.out_of_time()) result_.result.why += kNotAllTried;
      if (const std::string& unknown = result_.result.no_meaning; !unknown.empty()) {
        result_.result.why += "; " + unknown;
        std::erase(result_.result.remarks, unknown);  // (Said once.)
      }
    } else {
      tell_of_slower();
      result_.registers_short = std::get<emit::GluonKernel>(emitted_).registers_short;
      result_.text = std::move(std::get<emit::GluonKernel>(emitted_).text);
    }
    return {std::move(result_), leeway_};
  }

 private:
  /// Other schedules, where the first one's text is refused or short of registers.
  void try_others() {
    if (is_handed_product(emitted_)) try_way(options_, products_used(first_.program));
    if (first_.module_meaning && kernel_.to != "cuda" && kernel_.to != "tilelang" &&
        !in_tensor_memory())
      try_for_module();
    try_together();
    try_handed();
    try_for_room();
    for (const Amount out : {Amount{0}, tiles_out()}) {
      if (!refused_for_room(emitted_)) break;
      ProgramOptions way = options_;
      way.kept_back = kBarrierRoom + out;
      try_way(way);
    }
    try_for_limits();
    // (More of them than any slot has otherwise: the last thing to try.)
    if (refused_for_old() && first_.module_meaning) {
      leeway_.old = true;
      leeway_.scarce = false;
      emitted_ = text_of(first_, kernel_, leeway_);
      result_.result.made = first_;
    }
    for (const ProgramOptions& way : roomier_ways(options_))
      if (refused_for_old() && first_.module_meaning) try_way(way);
  }
  bool refused_for_old() const {
    const auto* no = std::get_if<program::Refusal>(&emitted_);
    return no != nullptr && no->rule == emit::kOlderCopies;
  }

  /// Bytes of the matrices that are stored, for whose way out the problem has no room.
  Amount tiles_out() const {
    Amount all = 0;
    const auto& meaning = first_.program.meaning;
    if (!meaning) return all;
    for (const meaning::Value& value : meaning->values) {
      const auto type = meaning::number_type(value.type);
      if (value.function == meaning::Function::store && value.shape.size() == 2 && type)
        all += meaning::elements(value.shape) * type->bytes;
    }
    return all;
  }

  /// That a schedule other than the best is written, and why.
  void tell_of_slower() {
    const Cycle best = first_.program.initiation_interval;
    const Cycle written = result_.result.made->program.initiation_interval;
    if (written > best && !first_refusal_.empty())
      result_.result.remarks.push_back("the best schedule, I = " + std::to_string(best) +
                                       ", is not written: " + first_refusal_ +
                                       "; this one has I = " + std::to_string(written));
  }

  bool in_tensor_memory() const {
    const auto* written = std::get_if<emit::GluonKernel>(&emitted_);
    return written != nullptr && written->launch.tmem_columns > 0;
  }

  /// Where products lie in registers, others that are handed about are lacking there.
  void try_for_module() {
    const EmittedText as_asked = std::move(emitted_);
    emitted_ = program::Refusal{"limits", "shared memory"};
    for (const ProgramOptions& way : ways_for_module(options_)) {
      if (!is_refused(emitted_)) break;
      // (A larger I is the last thing to give.)
      if (!way.search.handover && !is_refused(as_asked)) break;
      try_way(way);
    }
    const Cycle asked = first_.program.initiation_interval;
    const bool slower =
        !is_refused(as_asked) && result_.result.made->program.initiation_interval > asked;
    if (!is_refused(emitted_) && !slower) return;
    emitted_ = as_asked;
    result_.result.made = first_;
  }

  /// ptxas spills where a slot has fewer registers than its text needs, or ends products early
  /// (GluonKernel::registers_short). Of the schedules tried, that of the least I, and of those of
  /// one I that which lacks fewest.
  void try_for_room() {
    if (!first_.module_meaning || is_refused(emitted_)) return;
    put_in_order();
    for (const ProgramOptions& way : roomier_ways(options_)) {
      if (cost() <= std::pair(first_.program.initiation_interval, Amount{0})) return;
      const auto before = cost();
      const EmittedText text = emitted_;
      const MadeProgram made = *result_.result.made;
      try_way(way);
      if (cost().first <= before.first) put_in_order();
      if (cost() < before) continue;
      emitted_ = text;
      result_.result.made = made;
    }
  }

  /// The schedule as it is, its statements in an order that needs fewer registers.
  void put_in_order() {
    if (is_refused(emitted_) || cost().second == 0 || left_.out_of_time()) return;
    if (!ordered_.insert(std::get<emit::GluonKernel>(emitted_).text).second) return;
    const emit::EmitOptions how =
        emit_options(&result_.result.made->module_meaning->kernel, kernel_, leeway_);
    auto order = ordered_for_registers(*result_.result.made, [&](const program::Program& program) {
      return emit::registers_lacking(program, how);
    });
    if (!order) return;
    MadeProgram made = *result_.result.made;
    made.program = std::move(order->program);
    made.moved = std::move(order->moves);
    take_text(std::move(made));
  }

  /// Registers of slots, together, are what no schedule tried has had: other schedules, then fewer
  /// beside the tiles of each.
  void try_for_limits() {
    if (!first_.module_meaning || kernel_.to == "cuda" || kernel_.to == "tilelang") return;
    if (refused_for_limits(emitted_)) try_ended_early();
    for (const bool scarce : {false, true}) {
      leeway_.scarce = scarce;
      if (scarce && refused_for_limits(emitted_))
        if (EmittedText text = text_of(first_, kernel_, leeway_); !is_refused(text)) {
          emitted_ = std::move(text);
          result_.result.made = first_;
        }
      for (const ProgramOptions& way : roomier_ways(options_)) {
        if (!refused_for_limits(emitted_)) return;
        try_way(way);
      }
    }
  }

  /// The best schedule as it is, but a product ends before the next one is issued, so that the
  /// registers that it reads are free: one that is enough, else all of them.
  void try_ended_early() {
    const std::vector<int> products = program::products_of_registers(first_.program);
    MadeProgram all = first_;
    for (const int op : products) {
      MadeProgram one = first_;
      if (!end_early(one, op)) continue;
      end_early(all, op);
      if (take_text(std::move(one))) return;
    }
    take_text(std::move(all));
  }
  static bool end_early(MadeProgram& made, int op) {
    auto ended = program::ended_early(made.program, op);
    if (ended) made.program = std::move(*ended);
    return ended.has_value();
  }
  bool take_text(MadeProgram made) {
    EmittedText text = text_of(made, kernel_, leeway_);
    if (is_refused(text)) return false;
    emitted_ = std::move(text);
    result_.result.made = std::move(made);
    return true;
  }

  /// Of what would be written: I, and the registers that its slots lack.
  std::pair<Cycle, Amount> cost() const {
    const Amount lacking = std::get<emit::GluonKernel>(emitted_).registers_short;
    return {result_.result.made->program.initiation_interval,
            lacking <= kFewRegisters ? 0 : lacking};
  }

  /// What one store behind the loop needs in registers has to be on one slot.
  void try_together() {
    const auto* no = std::get_if<program::Refusal>(&emitted_);
    if (no == nullptr || no->rule != "storage" || !first_.module_meaning) return;
    ProgramOptions way = options_;
    way.together = stored_together(first_.program);
    if (way.together.empty()) return;
    const EmittedText refusal = emitted_;
    std::vector<ProgramOptions> ways = ways_for_module(way);
    ways.insert(ways.begin(), way);
    for (const ProgramOptions& one : ways) {
      if (!is_refused(emitted_)) return;
      emitted_ = program::Refusal{"limits", "shared memory"};
      try_way(one);
    }
    if (is_refused(emitted_)) emitted_ = refusal;
  }

  /// Tiles that one store behind the loop needs go there through shared memory, where they cannot
  /// be on one slot, or not at the best I.
  void try_handed() {
    const auto* no = std::get_if<program::Refusal>(&emitted_);
    const bool refused = no != nullptr && no->rule == "storage";
    const bool slower =
        no == nullptr && first_refusal_.starts_with("storage: ") &&
        result_.result.made->program.initiation_interval > first_.program.initiation_interval;
    if (!first_.module_meaning || (!refused && !slower)) return;
    Leeway leeway = leeway_;
    leeway.handed = true;
    EmittedText text = text_of(first_, kernel_, leeway);
    // (Of a limit more can be tried.)
    if (is_refused(text) && (slower || !refused_for_limits(text))) return;
    leeway_ = leeway;
    emitted_ = std::move(text);
    result_.result.made = first_;
  }

  using Pairs = std::vector<std::pair<std::string, std::string>>;

  /// Solved again with more asked of the schedule (take_bounds()). Products are on the slots of who
  /// uses them where the text asks for that.
  void try_way(ProgramOptions way, const Pairs& products = {}) {
    way.together.insert(way.together.end(), products.begin(), products.end());
    if (left_.out_of_time()) return;
    const std::string name = name_of(way);
    if (way.kept_back == kBarrierRoom && roomy_.contains(name)) return;
    const ProgramOptions asked = way;
    std::int64_t& limit = way.search.conflict_limit;
    limit = limit > 0 ? std::max<std::int64_t>(1, limit / kShareOfWay) : kMostOfWay;
    way.search = left_.timed(std::move(way.search));
    ProgramResult again = program_of_way(way, name);
    if (!again.made || (first_.module_meaning && !again.made->module_meaning)) return;
    MadeProgram& now = *again.made;
    if (way.kept_back == 0 && leaves_free(now, kBarrierRoom)) roomy_.insert(name);
    take_bounds(now, first_);
    EmittedText text = text_of(now, kernel_, leeway_);
    if (is_handed_product(text) && products.empty()) {
      if (const Pairs used = products_used(now.program); !used.empty()) try_way(asked, used);
      return;
    }
    if (is_refused(text)) {
      // (There is room now: that was not the only reason.)
      if (refused_for_room(emitted_) && !refused_for_room(text)) emitted_ = std::move(text);
      return;
    }
    emitted_ = std::move(text);
    result_.result.made = std::move(now);
  }

  /// Of a way, whatever memory is kept back.
  std::string name_of(const ProgramOptions& way) const {
    std::string name = way.search.handover ? "" : "no handover";
    for (const std::string& goal : way.search.goals) name += "," + goal;
    for (const auto& [op, other] : way.together) name += ";" + op + "," + other;
    return name;
  }

  /// Asked once: a way may be gone again with other leeway for its text.
  const ProgramResult& program_of_way(const ProgramOptions& way, const std::string& name) {
    const std::pair key{name, way.kept_back};
    const auto known = asked_.find(key);
    if (known != asked_.end()) return known->second;
    return asked_.emplace(key, best_program(source_, way, left_.stop())).first->second;
  }

  const ProgramSource& source_;
  KernelOptions kernel_;
  const int for_trips_;
  const ProgramOptions& options_;
  LimitsLeft left_;
  Leeway leeway_;
  std::map<std::pair<std::string, Amount>, ProgramResult> asked_;  ///< by name_of() and kept_back
  std::set<std::string> roomy_;    ///< name_of() ways whose schedule leaves kBarrierRoom free
  std::set<std::string> ordered_;  ///< texts that put_in_order() has had: ways may give one again
  MadeProgram first_;
  std::string first_refusal_;  ///< why its text is not written; "" = it is
  EmittedText emitted_;
  EmittedKernel result_;
};

}  // namespace

WrittenKernel written_kernel(const ProgramSource& source, const KernelOptions& kernel,
                             const ProgramOptions& options, std::stop_token stop) {
  return KernelSearch(source, kernel, options, std::move(stop)).run();
}

}  // namespace twill
