#include "graph/emit/plan.hpp"

#include <algorithm>
#include <cctype>

#include "graph/emit/earlier.hpp"
#include "graph/emit/element_text.hpp"
#include "graph/emit/limits.hpp"
#include "graph/emit/loop_cut.hpp"
#include "graph/emit/plan_check.hpp"
#include "graph/emit/plan_memory.hpp"
#include "graph/emit/plan_products.hpp"
#include "graph/emit/register_pressure.hpp"
#include "graph/emit/register_shares.hpp"
#include "graph/emit/user_function.hpp"
#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using program::Ending;
using program::Event;
using program::Program;
using program::Refusal;
using program::Storage;

/// Of fewer iterations than stages, that are written one by one.
constexpr int kMostRuns = 2;

class Planner {
 public:
  /// finish_alone: what is made of memory alone after the loop gets a partition of its own; else
  /// it goes to a slot of the loop.
  Planner(const Program& program, const EmitOptions& options, bool finish_alone)
      : p_(program), options_(options), names_(reserved(options)), finish_alone_(finish_alone) {
    plan_.given = &p_;
  }

  std::variant<Plan, Refusal> run() {
    if (const auto no = program::link(p_, plan_.links)) return Refusal{"meaning", *no};
    plan_.meaning = &*p_.meaning;
    plan_.user = options_.user;
    plan_.persistent = options_.persistent;
    if (auto no = not_of_this_loop()) {
      no->of_loop = true;
      return *no;
    }
    auto legal = make_legal(p_, plan_.links, plan_.tiles());
    if (auto* no = std::get_if<Refusal>(&legal)) return *no;
    plan_.legal = std::move(std::get<LegalProgram>(legal));
    auto axes = plan_.user != nullptr ? user_tensors(*plan_.meaning, *plan_.user)
                                      : tensor_axes(*plan_.meaning);
    if (auto* no = std::get_if<Refusal>(&axes)) return *no;
    plan_.axes = std::move(std::get<Axes>(axes));
    code();
    name();
    if (auto no = before_loop()) return *no;
    if (auto no = plan_earlier(plan_, names_, options_)) return *no;
    if (auto no = after_loop()) return *no;
    if (auto no = between_tiles()) return *no;
    if (auto no = plan_products(plan_, names_)) return *no;
    partitions();
    if (auto no = plan_memory(plan_, names_)) return *no;
    if (options_.as_triton) {
      if (auto no = check_limits(plan_.launch)) return *no;
      share_registers();
      share_by_need(plan_);
      if (auto no = check_products()) return *no;
    }
    return std::move(plan_);
  }

 private:
  /// What no schedule changes.
  std::optional<Refusal> not_of_this_loop() const {
    if (plan_.persistent && plan_.user != nullptr)
      return Refusal{"function",
                     "whether a program does several tiles is for the function itself to say, "
                     "which is written as it is"};
    if (plan_.persistent && !options_.as_triton)
      return Refusal{"target", "programs that do several tiles are written as Gluon or ttgir-ws"};
    if (auto no = no_text_for(plan_, options_)) return no;
    if (plan_.user != nullptr && plan_.user->unrolled > 1 && plan_.branches_on_trips())
      return Refusal{"function",
                     "its number of iterations is not the same for all programs of the grid, so "
                     "that it need not be a multiple of " +
                         std::to_string(plan_.user->unrolled) + " (--unroll)"};
    // (Here, since to make a program legal the judge may need a minute.)
    if (plan_.user != nullptr && !plan_.user->incomplete.empty())
      return Refusal{"function", plan_.user->incomplete};
    return std::nullopt;
  }

  /// Words that the file itself uses, and what loops of a sequence share.
  static std::set<std::string> reserved(const EmitOptions& options) {
    std::set<std::string> words = words_of_gluon_files();
    if (options.user == nullptr || options.user->parts == 1) return words;
    words.insert("slot_idle");
    for (int part = 0; part < options.user->parts; ++part)
      words.insert("loop_" + std::to_string(part + 1));
    for (const meaning::Place& place : options.user->places)
      if (place.handed) words.insert(handed_name(*place.handed));
    return words;
  }

  /// The whole file sees it: it is no local name of the host's code.
  std::string function_name(const std::string& wish) {
    static const std::set<std::string> host = {
        "allowed", "arguments", "axes",  "axis",   "b",    "begin",   "blocks", "counts",
        "cut",     "d",         "error", "finite", "flat", "got",     "inputs", "is_output",
        "k",       "kind",      "lead",  "make",   "name", "outputs", "parts",  "q",
        "same",    "size",      "sizes", "tensor", "time", "v",       "value",  "w",
        "want",    "where",     "wrong", "ws",     "x",    "block",   "output"};
    return names_.make(host.contains(wish) ? "" : wish, "run");
  }

  void code() {
    for (int s = 0; s < static_cast<int>(p_.slots.size()); ++s) {
      const auto& ops = plan_.legal.program.ops;
      const bool some =
          std::any_of(ops.begin(), ops.end(), [&](const program::Op& op) { return op.slot == s; });
      plan_.code.push_back(some ? loop_code(plan_, s) : CutCode{});
      if (plan_.code.back().code.depth > kMostRuns && only_moves(s))
        guard(plan_.code.back(), plan_.legal.program);
      plan_.depth = std::max(plan_.depth, plan_.code.back().code.depth);
    }
  }

  /// Does a slot nothing but move tiles between memories, by pointers where it stores? It keeps
  /// nothing in registers from op to op.
  bool only_moves(int slot) const {
    if (!options_.as_triton || plan_.user == nullptr || plan_.tiles()) return false;
    for (int op = 0; op < static_cast<int>(p_.ops.size()); ++op) {
      if (p_.ops[at(op)].slot != slot) continue;
      const meaning::Value& value = plan_.meaning->values[at(plan_.links.result[at(op)])];
      const bool store = value.function == Function::store && plan_.by_elements(value.tensor);
      if ((value.function != Function::load && !store) || plan_.links.values[at(op)].size() != 1)
        return false;
      for (const program::Read& read : p_.ops[at(op)].reads)
        if (plan_.in_registers(read.storage) && !plan_.value_of(read.storage).shape.empty() &&
            p_.storages[at(read.storage)].kind != Storage::in_memory)
          return false;
    }
    return true;
  }

  void name() {
    const meaning::Meaning& m = *plan_.meaning;
    for (const HostTensor& host : plan_.axes.tensors) {
      std::vector<std::string> suffixes = {"_desc", "_ptr", "_row", "_column", "_rows"};
      for (std::size_t k = 0; k < host.parts.size(); ++k)
        for (const char* const end : {"_row", "_column"})
          suffixes.push_back(std::to_string(k) + end);
      plan_.host_name.push_back(names_.make(host.name, "tensor", suffixes));
    }
    for (std::size_t t = 0; t < m.tensors.size(); ++t) {
      if (const auto tile = plan_.user != nullptr ? plan_.user->places[t].handed : std::nullopt)
        plan_.handed[*tile] = {
            handed_name(*tile),
            m.tensors[t].shape.empty() ? std::vector<std::int64_t>{1} : m.tensors[t].shape,
            m.tensors[t].type, true};
      if (plan_.axes.tensor_of[t] < 0) {  // what a loop before makes
        plan_.tensor_name.emplace_back();
        continue;
      }
      const std::string& host = plan_.host_name[at(plan_.axes.tensor_of[t])];
      const bool alone = plan_.axes.tensors[at(plan_.axes.tensor_of[t])].parts.size() == 1;
      plan_.tensor_name.push_back(alone ? host : host + std::to_string(plan_.axes.part_of[t]));
    }
    name_parameters();
    for (const auto& [constant, x] : m.constants) {
      if (plan_.user != nullptr) {
        name_argument(static_cast<int>(plan_.constant.size()));
        continue;
      }
      std::string upper = constant;
      std::transform(upper.begin(), upper.end(), upper.begin(),
                     [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      plan_.constant.push_back(names_.make(upper, "CONSTANT"));
    }
    if (plan_.by_elements())
      for (meaning::Index& one : shared_places(plan_))
        plan_.places.emplace_back(names_.make("place", "place"), std::move(one));
    for (const meaning::Value& value : m.values) {
      std::vector<std::string> suffixes = {"_prev", "_past", "_left", "_left_prev"};
      for (int age = 2; age <= kMostOlderCopies; ++age)
        suffixes.push_back("_prev" + std::to_string(age));
      if (plan_.by_elements(value.tensor)) {
        suffixes.insert(suffixes.end(), {"_down", "_across"});
        suffixes.insert(suffixes.end(), std::begin(kGathered), std::end(kGathered));
      }
      plan_.variable.push_back(names_.make(value.id, "value", suffixes));
    }
    for (const Storage& s : p_.storages) {
      const int v = static_cast<int>(&s - p_.storages.data());
      std::string wish = "buffer";
      for (std::size_t op = 0; op < p_.ops.size(); ++op)
        for (const int w : p_.ops[op].writes)
          if (w == v) wish = plan_.variable[at(plan_.links.result[op])];
      const int same = same_place(v);
      plan_.same_place.push_back(same);
      if (s.kind != Storage::in_memory)
        plan_.buffer.emplace_back();
      else
        plan_.buffer.push_back(
            same < v ? plan_.buffer[at(same)]
                     : names_.make(wish + (plan_.on_tmem(s) ? "_tmem" : "_smem"), "buffer"));
    }
    const LegalProgram& legal = plan_.legal;
    for (const Event& event : legal.program.events) {
      const int release = legal.release_of[at(event.op)];
      const int source = legal.source[at(release >= 0 ? release : event.op)];
      const program::Op& op = p_.ops[at(source)];
      const bool store =
          plan_.meaning->values[at(plan_.links.result[at(source)])].function == Function::store;
      const char* what = store                              ? "_done"
                         : op.ending == Ending::transaction ? "_full"
                         : event.consumed                   ? "_used"
                                                            : "_ready";
      plan_.barrier.push_back(
          event.pending
              ? ""
              : names_.make(plan_.variable[at(plan_.links.result[at(source)])] + what, "barrier"));
    }
    // (The whole file sees functions.)
    const bool parts = plan_.user != nullptr && plan_.user->parts > 1;
    const std::string end = parts ? "_of_loop_" + std::to_string(plan_.user->part + 1) : "";
    for (const program::Slot& slot : p_.slots) {
      const std::string wish = is_plain_name(slot.name) ? "slot_" + slot.name + end : "";
      plan_.slot_name.push_back(names_.make(wish, "slot" + end));
    }
    plan_.slot_name.push_back(names_.make("slot_finish" + end, "slot" + end));
    for (std::size_t s = 0; s <= p_.slots.size(); ++s)
      plan_.done.push_back(names_.make(plan_.slot_name[s].substr(5) + "_done", "done"));
    plan_.resident_barrier = names_.make("resident_full", "barrier");
    // FlashAttention's interface has a name of its own.
    std::set<std::string> tensors;
    for (const HostTensor& host : plan_.axes.tensors) tensors.insert(host.name);
    const bool attention = tensors == std::set<std::string>{"Q", "K", "V", "O", "LSE"};
    std::string wish = p_.problem.substr(0, p_.problem.find(' '));
    std::replace(wish.begin(), wish.end(), '-', '_');
    if (plan_.user != nullptr) return;
    plan_.function = function_name(attention ? "attention" : wish);
  }

  /// A user's function and its parameters are called as they were, where that is an identifier.
  void name_parameters() {
    if (plan_.user == nullptr) return;
    plan_.function = function_name(plan_.user->name);
    const auto& parameters = plan_.user->parameters;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      const std::string& name = parameters[k].name;
      // q.shape.0 is the descriptor q's own.
      const bool part =
          name.find(".shape.") != std::string::npos || name.find(".stride.") != std::string::npos;
      std::string used;
      for (std::size_t h = 0; h < plan_.axes.tensors.size() && !part; ++h)
        if (plan_.user->places[at(plan_.axes.tensors[h].parts.front())].parameter ==
            static_cast<int>(k))
          used = plan_.host_name[h] + plan_.suffix(static_cast<int>(h));
      plan_.parameter_name.push_back(part           ? ""
                                     : used.empty() ? names_.make(name, "argument")
                                                    : used);
    }
  }
  /// A constant that is an argument, or a number that the kernel computes of its arguments.
  void name_argument(int constant) {
    const meaning::Index& index = plan_.user->numbers[at(constant)];
    plan_.constant.push_back(
        index.kind == meaning::Index::argument
            ? plan_.parameter_name[at(static_cast<int>(index.value))]
            : names_.make(plan_.meaning->constants[at(constant)].first, "number"));
  }

  /// The first storage in shared memory that lies where s does, copy on copy, with tiles of one
  /// kind; s itself if there is none. (Others that share addresses get their own.)
  int same_place(int s) const {
    const Storage& storage = p_.storages[at(s)];
    if (storage.kind != Storage::in_memory || plan_.on_tmem(storage)) return s;
    const meaning::Value& value = plan_.value_of(s);
    for (const int t : storage.shares) {
      const Storage& other = p_.storages[at(t)];
      const meaning::Value& there = plan_.value_of(t);
      if (t < s && other.base == storage.base && other.size == storage.size &&
          other.depth == storage.depth && there.shape == value.shape && there.type == value.type &&
          plan_.columns_first(there) == plan_.columns_first(value))
        return same_place(t);
    }
    return s;
  }

  std::optional<Refusal> before_loop() {
    const meaning::Meaning& m = *plan_.meaning;
    std::set<int> used;  // in the loop
    for (int op = 0; op < static_cast<int>(p_.ops.size()); ++op) used.merge(plan_.used_before(op));
    for (int v = 0; v < m.loop_begin; ++v) {
      const meaning::Value& value = m.values[at(v)];
      const bool load = value.function == Function::load;
      if ((!load || value.shape.empty()) && (!options_.as_triton || plan_.user == nullptr))
        return Refusal{"op", "before the loop only tiles are loaded here, not " + value.id};
      if (plan_.persistent && !load)
        return Refusal{"op", value.id + " is computed before the loop, in a loop over tiles"};
      // Each slot has vectors, numbers and what is computed in its own registers, and so a tile
      // that only what follows the loop uses.
      if (!load || value.shape.size() != 2 || plan_.from_earlier(value) ||
          plan_.handed_tile(value) != nullptr ||
          (!used.contains(v) && plan_.by_elements(value.tensor)))
        continue;
      plan_.resident[v] = {names_.make(plan_.variable[at(v)] + "_smem", "buffer"), value.shape,
                           value.type, true};
    }
    for (int s = 0; s < static_cast<int>(p_.slots.size()); ++s)
      for (const program::Op& op : p_.ops)
        if (op.slot == s && op.ending == Ending::transaction && plan_.resident_slot < 0)
          plan_.resident_slot = s;
    if (!plan_.resident.empty() && plan_.resident_slot < 0)
      return Refusal{"op", "no slot loads tiles: who is to load those from before the loop?"};
    return std::nullopt;
  }

  // ---- after the loop

  std::optional<Refusal> after_loop() {
    const meaning::Meaning& m = *plan_.meaning;
    const int count = static_cast<int>(m.values.size());
    plan_.older_copies = options_.older_copies;
    plan_.after_slot.assign(m.values.size(), -1);
    plan_.done_needed.assign(p_.slots.size() + 1, false);
    for (int v = m.after_begin; v < count; ++v) {
      if (m.values[at(v)].function != Function::store) continue;
      const auto slot = slot_after(v);
      if (!slot)
        return Refusal{"op", "no slot of at least 4 warps can compute " + m.values[at(v)].id};
      plan_.after_slot[at(v)] = *slot;
      if (plan_.commits_products(*slot)) plan_.done_needed[at(*slot)] = true;
      if (auto no = hand_over(v, *slot)) return *no;
    }
    return std::nullopt;
  }

  /// Where most of the registers that it needs are; with none, the widest slot of a warpgroup or
  /// more that computes something, or one of its own.
  std::optional<int> slot_after(int store) {
    std::set<int> needed;
    plan_.final_values(store, needed);
    std::vector<int> held(p_.slots.size(), 0);
    bool some = false;
    for (const int v : needed) {
      const int op = plan_.op_of(v);
      if (op < 0 || plan_.registers_of(op) < 0) continue;
      const auto& shape = plan_.meaning->values[at(v)].shape;
      // (With a product behind the loop tiles may be handed over: the largest one should not be.)
      const int weight = shape.size() != 2   ? 1
                         : !product_behind() ? 1000
                                             : static_cast<int>(meaning::elements(shape));
      held[at(p_.ops[at(op)].slot)] += plan_.kept_in_memory(op) < 0 ? weight * 10 : weight;
      some = true;
    }
    if (some) {
      const int slot = static_cast<int>(std::max_element(held.begin(), held.end()) - held.begin());
      return p_.slots[at(slot)].width >= kWarpgroup ? std::optional(slot) : std::nullopt;
    }
    // (Who repeats a loop before this one has what that makes.)
    if (plan_.user != nullptr && !plan_.user->earlier.empty())
      for (int op = 0; op < static_cast<int>(p_.ops.size()); ++op)
        if (const int slot = p_.ops[at(op)].slot; p_.slots[at(slot)].width >= kWarpgroup)
          for (const int v : plan_.used_before(op))
            if (plan_.from_earlier(plan_.meaning->values[at(v)])) return slot;
    if (finish_alone_) return plan_.finish_slot();
    int widest = -1;
    for (int s = 0; s < static_cast<int>(p_.slots.size()); ++s)
      if (!plan_.code[at(s)].items.empty() && p_.slots[at(s)].width >= kWarpgroup &&
          (widest < 0 || p_.slots[at(s)].width > p_.slots[at(widest)].width))
        widest = s;
    return widest < 0 ? plan_.finish_slot() : widest;
  }

  std::optional<Refusal> hand_over(int store, int slot) {
    std::set<int> needed;
    plan_.final_values(store, needed);
    for (const int v : needed) {
      const meaning::Value& value = plan_.meaning->values[at(v)];
      const int op = plan_.op_of(v);
      if (op < 0) return Refusal{"op", value.id + ", which is used after the loop, is a view"};
      if (plan_.meaning->initial_of(v) == nullptr)
        return Refusal{"op", value.id + " is used after the loop and has no initial value"};
      const int held = plan_.registers_of(op);
      if (held >= 0 && p_.ops[at(op)].slot == slot) continue;
      if (p_.ops[at(op)].slot != slot) plan_.done_needed[at(p_.ops[at(op)].slot)] = true;
      if (plan_.kept_in_memory(op) >= 0) continue;
      const bool matrix = value.shape.size() > 1;
      if (held < 0 || (matrix && !options_.tiles_handed && !product_behind()) ||
          (value.shape.empty() && (!options_.as_triton || value.type != "f32")))
        return Refusal{"storage", value.id + " is needed after the loop on another slot"};
      if (!plan_.final_hand_over.contains(v))
        plan_.final_hand_over[v] = {
            names_.make(plan_.variable[at(v)] + "_last", "buffer"),
            value.shape.empty() ? std::vector<std::int64_t>{1} : value.shape, value.type, matrix};
    }
    return std::nullopt;
  }
  /// Is there a product behind the loop? (What it is made of may be on several slots.)
  bool product_behind() const {
    const auto& values = plan_.meaning->values;
    return std::any_of(values.begin() + plan_.meaning->after_begin, values.end(),
                       [](const auto& one) { return one.function == Function::product; });
  }

  // ---- tiles

  /// Finishers are the slots that do what follows the loop. The first one waits for all slots that
  /// made results, and reads them. Then what the next tile writes over is free. Where a tile begins
  /// with initial values in memory, the first finisher writes those, too: when the others have read
  /// what lies there (tile_read).
  std::optional<Refusal> between_tiles() {
    if (!plan_.tiles()) return std::nullopt;
    plan_.resident_free = names_.make("resident_free", "barrier");
    plan_.tile_free = names_.make("tile_free", "barrier");
    std::set<int> kept = plan_.final_storages();
    for (int s = 0; s < static_cast<int>(p_.storages.size()); ++s)
      if (p_.storages[at(s)].kind == Storage::in_memory && plan_.carried(s) > 0) {
        plan_.restored.push_back(s);
        kept.insert(s);
      }
    if (kept.empty()) return std::nullopt;
    if (plan_.finishers().empty())
      return Refusal{"op",
                     "results that are carried in memory begin anew in every tile, and nothing "
                     "follows the loop"};
    if (!plan_.restored.empty() && plan_.finishers().size() > 1)
      plan_.tile_read = names_.make("tile_read", "barrier");
    const std::set<int> given = kept;
    for (const int s : given) {
      const auto& shares = plan_.legal.program.storages[at(s)].shares;
      kept.insert(shares.begin(), shares.end());
    }
    for (const program::Op& op : p_.ops) {
      const bool writes =
          std::any_of(op.writes.begin(), op.writes.end(), [&](int s) { return kept.contains(s); });
      const bool reads = std::any_of(op.reads.begin(), op.reads.end(),
                                     [&](const auto& read) { return kept.contains(read.storage); });
      if (writes || reads) plan_.done_needed[at(op.slot)] = true;
    }
    return std::nullopt;
  }

  // ---- partitions and memory

  void partitions() {
    for (int s = 0; s < static_cast<int>(p_.slots.size()); ++s)
      if (!plan_.code[at(s)].items.empty()) plan_.partitions.push_back(s);
    if (std::count(plan_.after_slot.begin(), plan_.after_slot.end(), plan_.finish_slot()) > 0)
      plan_.partitions.push_back(plan_.finish_slot());
    const auto rank = [&](int s) {
      return s == plan_.finish_slot()
                 ? std::pair<int, Amount>{kWarpgroup, 0}
                 : std::pair<int, Amount>{p_.slots[at(s)].width, tile_registers(s)};
    };
    const auto first = std::max_element(plan_.partitions.begin(), plan_.partitions.end(),
                                        [&](int a, int b) { return rank(a) < rank(b); });
    std::rotate(plan_.partitions.begin(), first, first + 1);
    for (std::size_t k = 0; k < plan_.partitions.size(); ++k) {
      const int s = plan_.partitions[k];
      Partition one;
      one.warps = plan_.warps(s);
      const Amount tiles = tile_registers(s);
      const Amount all =
          (tiles + options_.resident_registers + kRegisterStep - 1) / kRegisterStep * kRegisterStep;
      one.registers = static_cast<int>(std::clamp<Amount>(all, 24, kMostRegisters));
      if (k == 0)
        plan_.launch.first = one;
      else
        plan_.launch.workers.push_back(one);
    }
  }

  /// Registers a thread for tiles: what the machine gives the slot, but not more than it has
  /// results for. On Blackwell a tile that goes through in parts of its columns takes those alone,
  /// and a vector along columns as many registers as it has numbers.
  Amount tile_registers(int slot) const {
    constexpr Amount kPlaces = 48, kFewPlaces = 28;  // pointers and masks of a tile
    constexpr Amount kParts = 16, kPartsOfTiles = 32;
    constexpr Amount kBeside = 64;  // wgmma's operands are copied where ptxas wants them elsewhere
    if (slot == plan_.finish_slot()) return 64;
    const Amount own = p_.slots[at(slot)].registers;
    if (!holds_tiles(slot) && plan_.loads_by_elements(slot))
      return (options_.resident_registers > kLeastResident ? kPlaces : kFewPlaces) +
             places_of_small_tiles(slot);
    if (plan_.legal.target == Target::hopper) {
      if (!holds_tiles(slot)) return finish_alone_ ? own : 0;
      return std::min(own, register_pressure(plan_, slot) + kBeside);
    }
    if (!holds_tiles(slot)) return 0;
    const Amount held = register_pressure(plan_, slot) + pressure_of_products(plan_, slot).vector;
    return std::min(own, held + (held < kPartsOfTiles ? kParts : kPartsOfTiles));
  }

  /// Registers of the places of a small tile that a slot stores by pointers: two an element.
  /// (Elements of a product's tile share their rows'.)
  Amount places_of_small_tiles(int slot) const {
    constexpr std::int64_t kRowsOfProducts = 64, kThreads = 32;
    Amount most = 0;
    for (int op = 0; op < static_cast<int>(p_.ops.size()); ++op) {
      const meaning::Value& value = plan_.meaning->values[at(plan_.links.result[at(op)])];
      if (p_.ops[at(op)].slot == slot && value.function == Function::store &&
          plan_.by_elements(value.tensor) && value.shape.size() == 2 &&
          value.shape[0] < kRowsOfProducts)
        most = std::max<Amount>(
            most, 2 * meaning::elements(value.shape) / (kThreads * plan_.warps(slot)));
    }
    return most;
  }

  /// What is left is shared by those that hold tiles, as many registers for each. (The default
  /// partition has what the others leave.)
  void share_registers() {
    if (plan_.legal.target == Target::hopper || plan_.launch.workers.empty()) return;
    if (plan_.user != nullptr && plan_.user->parts > 1) return;  // (All loops do it together.)
    std::vector<Partition*> holders;
    for (Partition& one : plan_.launch.workers)
      if (one.registers >= kHoldsTiles) holders.push_back(&one);
    if (plan_.launch.first.registers >= kHoldsTiles) holders.push_back(&plan_.launch.first);
    for (bool more = !holders.empty(); more;) {
      more = false;
      for (Partition* const one : holders) {
        if (one->registers + kRegisterStep > kMostRegisters) continue;
        one->registers += kRegisterStep;
        if (check_limits(plan_.launch))
          one->registers -= kRegisterStep;
        else
          more = true;
      }
    }
  }

  /// Of a slot whose products would be serialised, or whose registers are too few for what it
  /// computes before the loop, too: its schedule is not what would run.
  std::optional<Refusal> check_products() const {
    for (std::size_t k = 0; k < plan_.partitions.size(); ++k) {
      const int slot = plan_.partitions[k];
      if (slot == plan_.finish_slot()) continue;
      constexpr Amount kFew = 8;  // (as many as go into what a slot has beside its tiles)
      // (What is made of other values before the loop and used there alone is gone in it.)
      const Amount all = registers_before(plan_, slot);
      if (const Amount before = registers_before(plan_, slot, true);
          before > kFew &&
          register_pressure(plan_, slot) - all + before > p_.slots[at(slot)].registers + kFew)
        return Refusal{"limits", "slot " + harmless(p_.slots[at(slot)].name) + " holds " +
                                     std::to_string(before) +
                                     " registers a thread from before the loop, which its tiles "
                                     "leave no room for"};
      const Amount registers = std::min<Amount>(kMostRegisters, registers_had(plan_.launch, k));
      if (const auto why = why_serialised(plan_, slot, static_cast<int>(registers)))
        return Refusal{"limits", *why};
    }
    return std::nullopt;
  }

  /// Has it results in registers, or does it work on some after the loop?
  bool holds_tiles(int slot) const {
    if (std::find(plan_.after_slot.begin(), plan_.after_slot.end(), slot) != plan_.after_slot.end())
      return true;
    return std::any_of(p_.ops.begin(), p_.ops.end(), [&](const program::Op& op) {
      const int index = static_cast<int>(&op - p_.ops.data());
      const Function function = plan_.meaning->values[at(plan_.links.result[at(index)])].function;
      return op.slot == slot && function != Function::load && function != Function::store &&
             (function != Function::product || plan_.legal.target == Target::hopper ||
              plan_.legal.by_warps[at(index)]) &&
             !plan_.unused(plan_.links.result[at(index)]);
    });
  }

  const Program& p_;
  const EmitOptions& options_;
  Names names_;
  bool finish_alone_;
  Plan plan_;
};

std::variant<Plan, Refusal> planned(const Program& program, const EmitOptions& options) {
  // On Blackwell results lie in tensor memory, where any wide slot can take them from: a partition
  // more would take registers from all.
  auto narrow = Planner(program, options, false).run();
  const auto* made = std::get_if<Plan>(&narrow);
  if (made != nullptr && made->legal.target == Target::blackwell) return narrow;
  auto plan = Planner(program, options, true).run();
  const auto* no = std::get_if<Refusal>(&plan);
  return no == nullptr || no->rule != "limits" ? std::move(plan) : std::move(narrow);
}

}  // namespace

std::vector<int> fewer_resident(const EmitOptions& options) {
  // Kernels count their own registers beside tiles; a program does not say how many. Slots that
  // copy by pointers are the last to get fewer: theirs spill soon.
  const bool pointers =
      options.user != nullptr &&
      std::any_of(options.user->places.begin(), options.user->places.end(),
                  [](const meaning::Place& one) { return one.added.has_value(); });
  constexpr int kStep = 4;
  std::vector<int> all;
  if (pointers) all.push_back(kLeastResident + 1);
  for (int one = kLeastResident; one >= options.least_resident; one -= kStep) all.push_back(one);
  return all;
}

std::variant<Plan, Refusal> make_plan(const Program& program, const EmitOptions& options) try {
  auto plan = planned(program, options);
  const auto* no = std::get_if<Refusal>(&plan);
  if (no == nullptr || no->rule != "limits" || options.resident_registers <= kLeastResident)
    return plan;
  for (const int resident : fewer_resident(options)) {
    EmitOptions less = options;
    less.resident_registers = resident;
    auto again = planned(program, less);
    no = std::get_if<Refusal>(&again);
    // (Memory is another schedule's to have; registers would do.)
    if (no == nullptr || no->rule != "limits" || no->needs_shared) return again;
  }
  return plan;
} catch (const Refusal& no) {  // by what makes texts of numbers
  return no;
}

}  // namespace twill::emit
