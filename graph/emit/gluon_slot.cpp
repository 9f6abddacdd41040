// Register results are Python variables: x is the latest iteration's, x_prev the one before. Triton
// makes registers of them (a variable of a loop is an argument of its body).
//
// Products of Hopper are in flight from their issue until a wait that covers them; groups of a slot
// end in order, so a wait is a count of those that may still be in flight. Which are in flight
// where the loop begins again is found by writing it until that does not change any more.
#include "graph/emit/gluon_slot.hpp"

#include <algorithm>
#include <map>

#include "graph/emit/gluon_values.hpp"
#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Operand;
using meaning::Value;
using program::Ending;
using program::Event;
using program::Program;
using program::Refusal;
using program::Storage;

// Columns of tensor memory that a chain of ops holds at a time, and a tile on its way out.
constexpr std::int64_t kChunk = 16;

constexpr std::int64_t kOutChunk = 32;

/// A product that has been issued and has not been waited for.
struct Flight {
  int op = 0;  ///< of the given program
  int iteration = 0;
  bool taken = false;  ///< another product adds to its registers: they have that one's name
  std::string left;    ///< registers that it reads, to be kept until it has ended; "" = none
  bool operator==(const Flight&) const = default;
};

/// What is known where the text has come to; iterations are counted from the block's own base.
struct State {
  std::vector<Flight> flights;
  std::map<int, bool> token;  ///< per op whose result is a product in registers: not waited for yet
  std::set<std::string> defined;
  bool operator==(const State&) const = default;
};

class SlotPrinter {
 public:
  SlotPrinter(const Plan& plan, int slot, ModuleNeeds& needs)
      : plan_(plan),
        p_(*plan.given),
        m_(*plan.meaning),
        legal_(plan.legal),
        slot_(slot),
        warps_(plan.warps(slot)),
        needs_(needs),
        values_(plan, slot, needs) {}

  SlotText run() {
    if (slot_ < plan_.finish_slot()) {
      code_ = &plan_.code[at(slot_)];
      history();
      before();
      loop();
    }
    after();
    return {std::move(text_), std::move(used_)};
  }

 private:
  // ---- text

  void line(int depth, const std::string& text) {
    text_ += text.empty() ? "\n" : std::string(4 * at(depth), ' ') + text + "\n";
  }
  const std::string& use(const std::string& name) {
    used_.insert(name);
    return name;
  }
  [[noreturn]] static void refuse(const std::string& rule, const std::string& text) {
    throw Refusal{rule, text};
  }
  const std::string& host(int tensor) const {
    return plan_.host_name[at(plan_.axes.tensor_of[at(tensor)])];
  }
  bool hopper() const { return legal_.target == Target::hopper; }
  int period_lag(int legal_op) const {
    return legal_.program.ops[at(legal_op)].stage - code_->first_stage;
  }
  int legal_op(int op) const {
    for (std::size_t v = 0; v < legal_.source.size(); ++v)
      if (legal_.source[v] == op) return static_cast<int>(v);
    return -1;
  }
  bool is_product(int op) const {
    return m_.values[at(plan_.links.result[at(op)])].function == Function::product;
  }
  bool wgmma(int op) const { return hopper() && is_product(op); }

  // ---- registers over iterations

  /// How many definitions of `writer` come, in the steady state, between the one of its iteration
  /// i - distance and `reader` of iteration i (both ops of the given program).
  int steady_age(int writer, int reader, int distance) const {
    const int w = legal_op(writer), r = legal_op(reader);
    return legal_.program.ops[at(r)].stage - legal_.program.ops[at(w)].stage + distance -
           (w >= r ? 1 : 0);
  }

  void history() {
    history_.assign(p_.ops.size(), 0);
    for (int r = 0; r < static_cast<int>(p_.ops.size()); ++r) {
      if (p_.ops[at(r)].slot != slot_) continue;
      for (const program::Read& read : p_.ops[at(r)].reads) {
        if (p_.storages[at(read.storage)].kind != Storage::in_registers) continue;
        const int w = writer(read.storage);
        history_[at(w)] = std::max(history_[at(w)], steady_age(w, r, read.distance));
      }
    }
  }

  int writer(int storage) const {
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
      for (const int s : p_.ops[at(v)].writes)
        if (s == storage) return v;
    return -1;
  }

  const std::string& variable(int op) const {
    return plan_.variable[at(plan_.links.result[at(op)])];
  }
  std::string aged(int op, int age) const {
    if (age < 0) refuse("operand", p_.ops[at(op)].id + " is used before it is there");
    if (age == 0) return variable(op);
    if (age > 3) refuse("op", p_.ops[at(op)].id + " has more than three older copies in registers");
    return variable(op) + (age == 1 ? "_prev" : "_prev" + std::to_string(age));
  }

  /// The latest iteration of `op` (given) that is defined where op `reader` of iteration `it` is.
  int latest(int op, int reader, Iteration it) const {
    const int w = legal_op(op), r = legal_op(reader);
    int iteration = it.offset + period_lag(r) - period_lag(w) - (w >= r ? 1 : 0);
    if (it.from == Iteration::end) iteration = std::min(iteration, -1);
    if (it.from == Iteration::begin && trips_ >= 0) iteration = std::min(iteration, trips_ - 1);
    if (it.from == Iteration::begin) iteration = std::max(iteration, -1);
    return iteration;
  }
  std::string held(int op, int reader, Iteration it, int distance) const {
    return aged(op, latest(op, reader, it) - (it.offset - distance));
  }

  /// The name for a new result; older ones are renamed where they are used again.
  void age_variables(int depth, int op) {
    for (int k = history_[at(op)]; k >= 1; --k)
      if (state_.defined.contains(aged(op, k - 1))) {
        line(depth, aged(op, k) + " = " + aged(op, k - 1));
        state_.defined.insert(aged(op, k));
      }
    state_.defined.insert(variable(op));
  }

  // ---- before the loop

  void before() {
    if (plan_.resident_slot == slot_ && !plan_.resident.empty()) {
      line(1, "# tiles that stay for the whole loop");
      for (const auto& [v, one] : plan_.resident) {
        const std::string desc = use(host(m_.values[at(v)].tensor) + "_desc");
        const std::string bar = use(plan_.resident_barrier);
        line(1, "mbarrier.expect(" + bar + ", " + desc + ".nbytes_per_cta)");
        line(1, "tma.async_load(" + desc + ", " + coordinates(m_.values[at(v)].tensor, "") + ", " +
                    bar + ", " + use(one.name) + ")");
      }
    }
    const bool reads_resident =
        !plan_.resident.empty() &&
        std::any_of(p_.ops.begin(), p_.ops.end(), [&](const program::Op& op) {
          return op.slot == slot_ && uses_resident(static_cast<int>(&op - p_.ops.data()));
        });
    if (reads_resident)
      line(1, "mbarrier.wait(" + use(plan_.resident_barrier) +
                  ", 0)  # RAW: the tiles from before the loop");
    bool said = false;
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
      const int value = plan_.links.result[at(v)];
      if (p_.ops[at(v)].slot != slot_ || plan_.registers_of(v) < 0) continue;
      const meaning::Initial* initial = m_.initial_of(value);
      if (initial == nullptr) continue;
      if (!said) line(1, "# what is carried into iteration 0");
      said = true;
      if (initial->what.value >= 0)
        refuse("operand", m_.values[at(value)].id + " begins with a value from before the loop");
      line(1, variable(v) + " = " + values_.filled(value, initial->what.number));
      state_.defined.insert(variable(v));
      for (int k = 1; k <= history_[at(v)]; ++k) {
        line(1, aged(v, k) + " = " + variable(v));
        state_.defined.insert(aged(v, k));
      }
      if (wgmma(v)) state_.token[v] = false;
    }
  }

  bool uses_resident(int op) const {
    for (const int v : plan_.links.values[at(op)])
      for (const Operand& one : m_.values[at(v)].operands)
        if (values_.reaches_before(one)) return true;
    return false;
  }

  // ---- the loop

  void loop() {
    const State entry = state_;
    const int depth = code_->depth;
    for (int n = 0; n < depth; ++n) {
      state_ = entry;
      trips_ = n;
      line(1, (n == 0 ? "if" : "elif") + std::string(" TRIPS == ") + std::to_string(n) +
                  ":  # fewer iterations than stages");
      use("TRIPS");
      const std::size_t before_text = text_.size();
      for (const Step& step : code_->short_runs[at(n)]) print(2, step);
      drain(2);
      if (text_.size() == before_text) line(2, "pass");
    }
    trips_ = -1;
    state_ = entry;
    const int in = depth > 0 ? 2 : 1;
    if (depth > 0) {
      line(1, "else:");
      line(in, "# prologue");
      for (const Step& step : code_->prologue) print(in, step);
    }
    steady(in);
    if (depth > 0) line(in, "# epilogue");
    for (const Step& step : code_->epilogue) print(in, step);
    drain(in);
  }

  /// Where the loop begins again: i stands for one iteration more.
  static State moved(State state, int by) {
    for (Flight& flight : state.flights) flight.iteration -= by;
    return state;
  }

  void steady(int in) {
    const State entry = state_;
    const std::string kept = text_;
    State begin = entry;
    for (int round = 0; round < 4; ++round) {
      state_ = begin;
      text_.clear();
      for (const Step& step : code_->steady) print(in + 1, step);
      State again = moved(state_, 1);
      again.defined = entry.defined;
      const bool same = again.flights == begin.flights && again.token == begin.token;
      begin = again;
      if (same) break;
    }
    const State end = state_;
    const std::string body = text_;
    text_ = kept;
    // Variables have one type wherever the loop begins.
    state_ = entry;
    std::vector<std::string> waited;
    for (const auto& [op, token] : begin.token) {
      const auto now = entry.token.find(op);
      if (now == entry.token.end() || now->second == token) continue;
      if (token) {
        needs_.wgmma_init = true;
        line(in, variable(op) + " = warpgroup_mma_init(" + variable(op) + ")");
      } else {
        waited.push_back(variable(op));
      }
    }
    for (const std::string& one : waited)
      line(in, one + " = warpgroup_mma_wait(" + std::to_string(entry.flights.size()) + ", deps=[" +
                   one + "])  # waits for none: it may stay in flight");
    // Older copies that are read after the loop alone must be there if it runs not once.
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
      if (p_.ops[at(v)].slot == slot_)
        for (int k = 1; k <= history_[at(v)]; ++k)
          if (!entry.defined.contains(aged(v, k)) && entry.defined.contains(variable(v))) {
            line(in, aged(v, k) + " = " + variable(v));
            state_.defined.insert(aged(v, k));
          }
    // What only the loop defines is not there after it.
    const std::set<std::string> defined = state_.defined;
    use("n");
    line(in, code_->depth > 0 ? "for i in range(n - " + std::to_string(code_->depth) + "):"
                              : std::string("for i in range(n):"));
    text_ += body;
    state_ = moved(end, code_->depth + 1);
    state_.defined = defined;
    // (i is n - depth - 1 at the end of the loop, so i + k is n - 1 - (depth - k).)
  }

  void print(int depth, const Step& step) {
    if (step.is_wait)
      wait(depth, step);
    else if (legal_.release_of[at(step.index)] >= 0)
      arrive(depth, step.index, step.iteration);
    else if (const std::vector<int>* fused = fused_with(step.index))
      chunks(depth, *fused, step.index, step.iteration);
    else
      op(depth, legal_.source[at(step.index)], step.iteration);
  }

  const std::vector<int>* fused_with(int legal_index) const {
    for (const std::vector<int>& ops : legal_.fused)
      if (std::find(ops.begin(), ops.end(), legal_index) != ops.end()) return &ops;
    return nullptr;
  }

  // ---- waits and arrivals

  std::string reason(const program::Wait& wait) const {
    std::string text = program::to_string(wait.need);
    if (wait.storage >= 0) {
      const int w = writer(wait.storage);
      if (w >= 0) text += " of " + variable(w);
    }
    return text;
  }
  std::string op_name(int legal_index) const {
    const int release = legal_.release_of[at(legal_index)];
    return variable(legal_.source[at(release >= 0 ? release : legal_index)]);
  }

  void wait(int depth, const Step& step) {
    const program::Wait& wait = legal_.program.waits[at(step.index)];
    const Event& event = legal_.program.events[at(wait.event)];
    const std::string comment = "  # " + reason(wait) + ": " + op_name(event.op) + "[" +
                                iteration_text(step.iteration) + "]";
    if (event.pending) {
      wait_flight(depth, legal_.source[at(event.op)], step.iteration.offset, comment);
      return;
    }
    std::string text = "mbarrier.wait(" + use(plan_.barrier[at(wait.event)]) +
                       barrier_index(step.iteration, event.phases) + ", " +
                       parity(step.iteration, event.phases);
    if (step.iteration.from != Iteration::begin) use("n");
    std::string guard;
    if (step.if_begun) guard = iteration_text(step.iteration) + " >= 0";
    if (step.if_exists)
      guard += (guard.empty() ? "" : " and ") + iteration_text(step.iteration) + " < n";
    if (step.if_exists && step.if_begun) refuse("op", "a wait with two guards");
    if (!guard.empty()) text += ", pred=" + guard;
    line(depth, text + ")" + comment);
  }

  static std::string barrier_index(Iteration iteration, int phases) {
    return phases == 1 ? ".index(0)" : ring_index(iteration, phases);
  }
  static std::string parity(Iteration iteration, int phases) {
    if (iteration.from == Iteration::begin)
      return std::to_string(ring_place(iteration.offset, phases).parity);
    if (phases == 1) {
      const Iteration even{iteration.from, (iteration.offset % 2 + 2) % 2};
      const std::string text = iteration_text(even);
      return (even.offset == 0 ? text : "(" + text + ")") + " & 1";
    }
    const std::string text = iteration_text(iteration);
    return (iteration.offset == 0 ? text : "(" + text + ")") + " // " + std::to_string(phases) +
           " & 1";
  }

  /// Until the product of this iteration has ended, with all before it.
  void wait_flight(int depth, int op, int iteration, const std::string& comment) {
    std::vector<Flight>& all = state_.flights;
    const auto found = std::find_if(all.begin(), all.end(), [&](const Flight& flight) {
      return flight.op == op && flight.iteration == iteration;
    });
    if (found == all.end()) return;  // another wait was for it, too
    const auto ended = found - all.begin() + 1;
    std::vector<std::string> names;
    for (auto flight = all.begin(); flight != all.begin() + ended; ++flight) {
      if (!flight->taken) add_name(names, *flight);
      // (Where the loop begins again there is a name for them only if it is there before it, too.)
      if (state_.defined.contains(flight->left)) names.push_back(flight->left);
    }
    // All of them were added to: the registers are those of the product in flight.
    for (auto flight = all.begin() + ended; names.empty() && flight != all.end(); ++flight)
      if (!flight->taken) add_name(names, *flight);
    if (names.empty()) refuse("op", "a product's result has no name");
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    line(depth, list + " = warpgroup_mma_wait(" +
                    std::to_string(static_cast<std::ptrdiff_t>(all.size()) - ended) + ", deps=[" +
                    list + "])" + comment);
    all.erase(all.begin(), all.begin() + ended);
  }

  void add_name(std::vector<std::string>& names, const Flight& flight) {
    int newer = 0;
    for (const Flight& other : state_.flights)
      if (other.op == flight.op && other.iteration > flight.iteration) ++newer;
    if (plan_.registers_of(flight.op) < 0) return;
    if (!state_.defined.contains(aged(flight.op, newer)))
      refuse("op", "two products of " + p_.ops[at(flight.op)].id + " are in flight under one name");
    names.push_back(aged(flight.op, newer));
    if (newer == 0) state_.token[flight.op] = false;
  }

  void drain(int depth) {
    if (state_.flights.empty()) return;
    const Flight last = state_.flights.back();
    wait_flight(depth, last.op, last.iteration, "  # the last products");
  }

  void arrive(int depth, int legal_index, Iteration it) {
    for (std::size_t e = 0; e < legal_.program.events.size(); ++e) {
      const Event& event = legal_.program.events[e];
      if (event.pending || event.op != legal_index) continue;
      if (it.from == Iteration::end) use("n");
      line(depth, "mbarrier.arrive(" + use(plan_.barrier[e]) + barrier_index(it, event.phases) +
                      ", count=1)");
    }
  }
  std::string barriers_of(int legal_index, Iteration it) {
    std::string list;
    for (std::size_t e = 0; e < legal_.program.events.size(); ++e) {
      const Event& event = legal_.program.events[e];
      if (event.pending || event.op != legal_index) continue;
      if (it.from == Iteration::end) use("n");
      list += (list.empty() ? "" : ", ") + use(plan_.barrier[e]) + barrier_index(it, event.phases);
    }
    return list;
  }

  // ---- ops

  std::string copy_of(int storage, Iteration it) {
    if (it.from == Iteration::end && p_.storages[at(storage)].depth > 1) use("n");
    return use(plan_.buffer[at(storage)]) + ring_index(it, p_.storages[at(storage)].depth);
  }

  std::string coordinates(int tensor, const std::string& tile) {
    const Axes& axes = plan_.axes;
    const HostTensor& whole = axes.tensors[at(axes.tensor_of[at(tensor)])];
    std::string list;
    for (int d = 0; d < static_cast<int>(whole.axes.size()); ++d) {
      std::string x;
      const bool row = d == 0;
      if (row) x = use(plan_.tensor_name[at(tensor)] + "_row");
      const Axis& axis = axes.axes[at(whole.axes[at(d)])];
      if (axis.kind == Axis::block && !row) x = use(host(tensor) + "_column");
      if (axis.kind == Axis::loop)
        x += (x.empty() ? "" : " + ") + tile + " * " +
             std::to_string(m_.tensors[at(tensor)].shape[at(d)]);
      list += (list.empty() ? "" : ", ") + (x.empty() ? std::string("0") : x);
    }
    return "[" + list + "]";
  }

  void op(int depth, int op, Iteration it) {
    const Value& value = m_.values[at(plan_.links.result[at(op)])];
    if (value.function == Function::load)
      load(depth, op, value, it);
    else if (value.function == Function::store)
      refuse("op", value.id + " stores a tile in every iteration: not emitted yet");
    else if (value.function == Function::product)
      product(depth, op, value, it);
    else
      compute(depth, op, it);
  }

  void load(int depth, int op, const Value& value, Iteration it) {
    int storage = -1;
    for (const int s : p_.ops[at(op)].writes)
      if (p_.storages[at(s)].kind == Storage::in_memory && !plan_.on_tmem(p_.storages[at(s)]))
        storage = s;
    if (p_.ops[at(op)].ending != Ending::transaction || storage < 0 || value.shape.size() != 2)
      refuse("op", value.id + " is no bulk load of a matrix to shared memory");
    const std::string bars = barriers_of(legal_op(op), it);
    if (bars.empty() || bars.find(", ") != std::string::npos)
      refuse("op", "nobody waits for the load " + value.id);
    if (it.from == Iteration::end) use("n");
    const std::string desc = use(host(value.tensor) + "_desc");
    const std::string text = iteration_text(it);
    const bool atom = text.find(' ') == std::string::npos;
    line(depth, "mbarrier.expect(" + bars + ", " + desc + ".nbytes_per_cta)");
    line(depth, "tma.async_load(" + desc + ", " +
                    coordinates(value.tensor, atom ? text : "(" + text + ")") + ", " + bars + ", " +
                    copy_of(storage, it) + ")");
  }

  /// A matrix in memory as a product takes it.
  std::string memory_operand(int op, const Operand& one, Iteration it) {
    const Source source = values_.resolve(op, one);
    std::string text;
    if (source.kind == Source::before)
      text = use(plan_.resident.at(source.value).name);
    else if (source.kind == Source::memory)
      text = copy_of(source.storage, it + -source.distance);
    else
      return "";
    if (source.columns > 0) {
      if (source.kind == Source::memory && plan_.on_tmem(p_.storages[at(source.storage)]))
        refuse("operand", "a part of a tile in tensor memory is an operand of a product");
      text += ".slice(" + std::to_string(source.first_column) + ", " +
              std::to_string(source.columns) + ", dim=1)";
    }
    return text + (source.transposed ? ".permute((1, 0))" : "");
  }

  void product(int depth, int op, const Value& value, Iteration it) {
    const auto supported = [](const std::string& type) { return type == "f16" || type == "bf16"; };
    for (std::size_t k = 0; k < 2; ++k) {
      const Operand& one = value.operands[k];
      if (one.value < 0 || !supported(m_.values[at(one.value)].type))
        refuse("type", "operands of the product " + value.id + " must be f16 or bf16");
    }
    if (value.type != "f32") refuse("type", "the product " + value.id + " must be f32");
    if (plan_.links.values[at(op)].size() != 1)
      refuse("op", "the product " + value.id + " is part of a chain");
    const std::string b = memory_operand(op, value.operands[1], it);
    if (b.empty())
      refuse("operand", "the right operand of " + value.id + " must lie in shared memory");
    if (hopper())
      wgmma(depth, op, value, it, b);
    else
      tcgen05(depth, op, value, it, b);
  }

  void wgmma(int depth, int op, const Value& value, Iteration it, const std::string& b) {
    const Layout layout = values_.layout_of(plan_.links.result[at(op)]);
    std::string a = memory_operand(op, value.operands[0], it), left;
    if (a.empty()) {
      ended_for(depth, op, value.operands[0], it);
      const Expression from = operand(op, value.operands[0], it);
      left = variable(op) + "_left";
      line(depth, left + " = gl.convert_layout(" + from.text + ", gl.DotOperandLayout(0, " +
                      values_.text_of(layout) + ", 2))");
      a = left;
    }
    std::string sum, use_acc;
    int added = -1;
    if (value.operands.size() == 3) {
      const Source source = values_.resolve(op, value.operands[2]);
      if (source.kind != Source::registers) refuse("operand", value.id + " adds to no registers");
      added = source.op;
      sum = held(source.op, op, it, source.distance);
    } else {
      sum = values_.filled(plan_.links.result[at(op)], 0);
      use_acc = ", use_acc=False";
    }
    // What adds to a product's own registers needs no wait for it.
    if (added >= 0 && wgmma(added))
      for (Flight& flight : state_.flights)
        if (flight.op == added &&
            flight.iteration == it.offset - values_.resolve(op, value.operands[2]).distance)
          flight.taken = true;
    for (const Flight& flight : state_.flights)
      if (!left.empty() && flight.op == op)
        refuse("op", "two products " + value.id + " with an operand in registers are in flight");
    if (added != op) age_variables(depth, op);
    state_.defined.insert(variable(op));
    line(depth, variable(op) + " = warpgroup_mma(" + a + ", " + b + ", " + sum + use_acc +
                    ", is_async=True)" + size_of(value));
    if (!left.empty()) state_.defined.insert(left);
    state_.flights.push_back({op, it.offset, false, left});
    state_.token[op] = true;
    if (!barriers_of(legal_op(op), it).empty())
      refuse("release", "the product " + value.id + " was to tell a barrier of its end");
  }

  void tcgen05(int depth, int op, const Value& value, Iteration it, const std::string& b) {
    const std::string a = memory_operand(op, value.operands[0], it);
    if (a.empty())
      refuse("operand", "the left operand of " + value.id + " must lie in shared or tensor memory");
    int result = -1;
    for (const int s : p_.ops[at(op)].writes)
      if (plan_.on_tmem(p_.storages[at(s)])) result = s;
    if (result < 0) refuse("storage", value.id + " has no place in tensor memory");
    std::string use_acc = "use_acc=False";
    if (value.operands.size() == 3) {
      const Source source = values_.resolve(op, value.operands[2]);
      const Storage& to = legal_.program.storages[at(result)];
      if (source.kind != Source::memory) refuse("operand", value.id + " adds to no tensor memory");
      const Storage& from = legal_.program.storages[at(source.storage)];
      if (from.memory != to.memory || from.base != to.base || from.size != to.size ||
          from.depth != to.depth || source.distance % to.depth != 0 || source.transposed ||
          source.columns > 0)
        refuse("storage", value.id + " adds to " + from.name +
                              ", which lies elsewhere than its "
                              "result");
      use_acc = "use_acc=True";
    }
    line(depth, "tcgen05_mma(" + a + ", " + b + ", " + copy_of(result, it) + ", " + use_acc +
                    ", mbarriers=[" + barriers_of(legal_op(op), it) + "])" + size_of(value));
  }

  /// Its size as a comment: M x N x K.
  std::string size_of(const Value& value) const {
    const Operand& left = value.operands[0];
    const auto& shape = m_.values[at(left.value)].shape;
    std::int64_t k = shape[left.transposed ? 0 : 1];
    if (left.columns > 0 && !left.transposed) k = left.columns;
    return "  # " + std::to_string(value.shape[0]) + " x " + std::to_string(value.shape[1]) +
           " x " + std::to_string(k);
  }

  /// Products whose registers an op reads have ended.
  void ensure_ended(int depth, int op, const Value& value, Iteration it) {
    for (const Operand& one : value.operands) ended_for(depth, op, one, it);
  }
  void ended_for(int depth, int op, const Operand& one, Iteration it) {
    if (one.value < 0 || !m_.in_loop(one.value)) return;
    const Source source = values_.resolve(op, one);
    if (source.kind != Source::registers || !wgmma(source.op)) return;
    const int iteration = it.offset - source.distance;
    if (it.from == Iteration::begin && iteration < 0) return;
    wait_flight(depth, source.op, iteration, "  # RAW of " + variable(source.op));
  }

  Expression operand(int op, const Operand& one, Iteration it) {
    const Source source = values_.resolve(op, one);
    switch (source.kind) {
      case Source::number: return values_.number(one);
      case Source::registers: {
        if (source.transposed || source.columns > 0)
          refuse("operand", "a part or the transpose of registers is used by " + p_.ops[at(op)].id);
        const int value = plan_.links.result[at(source.op)];
        return {held(source.op, op, it, source.distance), values_.layout_of(value),
                m_.values[at(value)].type};
      }
      case Source::memory: {
        const int value = plan_.links.result[at(source.op)];
        const Value& what = m_.values[at(value)];
        if (source.transposed) refuse("operand", "a transposed tile is read to registers");
        std::string text = copy_of(source.storage, it + -source.distance);
        Layout layout = values_.layout_of(value);
        if (source.columns > 0) {
          text += ".slice(" + std::to_string(source.first_column) + ", " +
                  std::to_string(source.columns) +
                  (plan_.on_tmem(p_.storages[at(source.storage)]) ? ")" : ", dim=1)");
          layout.columns = source.columns;
        }
        return {text + ".load(" + values_.text_of(layout) + ")", layout, what.type};
      }
      case Source::before: {
        const Value& what = m_.values[at(source.value)];
        if (source.transposed || source.columns > 0)
          refuse("operand", "a part of a tile from before the loop is read to registers");
        const Layout layout = values_.layout_of(source.value);
        return {
            use(plan_.resident.at(source.value).name) + ".load(" + values_.text_of(layout) + ")",
            layout, what.type};
      }
      case Source::chain: return chain_.at(one.value);
    }
    refuse("operand", "an operand of " + p_.ops[at(op)].id);
  }

  void compute(int depth, int op, Iteration it) {
    const std::vector<int>& chain = plan_.links.values[at(op)];
    const int result = plan_.links.result[at(op)];
    if (in_chunks(op)) {
      chunks(depth, {legal_op(op)}, legal_op(op), it);
      return;
    }
    chain_.clear();
    Expression last;
    for (const int v : chain) {
      const Value& value = m_.values[at(v)];
      ensure_ended(depth, op, value, it);
      std::vector<Expression> in;
      for (const Operand& one : value.operands) in.push_back(operand(op, one, it));
      last = values_.evaluate(v, in, values_.layout_of(v), iteration_text(it));
      if (value.function == Function::causal && it.from != Iteration::begin) use("n");
      if (v != result) {
        line(depth, plan_.variable[at(v)] + " = " + last.text);
        chain_[v] = {plan_.variable[at(v)], last.layout, last.type};
      }
    }
    keep(depth, op, it, last);
    arrive(depth, legal_op(op), it);
  }

  /// The result to where the program has it.
  void keep(int depth, int op, Iteration it, const Expression& result) {
    const int registers = plan_.registers_of(op);
    std::string text = result.text;
    if (registers >= 0 || p_.ops[at(op)].writes.size() > 1) {
      age_variables(depth, op);
      line(depth, variable(op) + " = " + text);
      text = variable(op);
    }
    for (const int s : p_.ops[at(op)].writes) {
      const Storage& storage = p_.storages[at(s)];
      if (storage.kind != Storage::in_memory) continue;
      line(depth, copy_of(s, it) + ".store(" + text + ")");
      if (!plan_.on_tmem(storage) && (read_by_products(s) || p_.ops[at(op)].fence)) {
        needs_.fence = true;
        line(depth, "fence_async_shared()  # ordinary writes, read by the asynchronous proxy");
      }
    }
    if (p_.ops[at(op)].writes.empty()) refuse("op", p_.ops[at(op)].id + " writes nothing");
  }

  bool read_by_products(int storage) const {
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
      for (const program::Read& read : p_.ops[at(v)].reads)
        if (read.storage == storage &&
            (is_product(v) || p_.ops[at(v)].ending == Ending::transaction))
          return true;
    return false;
  }

  /// The one storage in tensor memory that an op writes, if nobody reads another result of it.
  int tile_written(int op) const {
    int tile = -1;
    for (const int s : p_.ops[at(op)].writes) {
      const bool on_tmem = plan_.on_tmem(p_.storages[at(s)]);
      if (on_tmem && tile >= 0) return -1;
      if (on_tmem) tile = s;
      for (const program::Op& reader : p_.ops)
        for (const program::Read& read : reader.reads)
          if (!on_tmem && read.storage == s) return -1;
    }
    return tile;
  }

  /// A chain from tensor memory to tensor memory, element by element: in parts of its columns.
  bool in_chunks(int op) const {
    const std::vector<int>& chain = plan_.links.values[at(op)];
    if (chain.size() < 2 || tile_written(op) < 0) return false;
    const Value& result = m_.values[at(chain.back())];
    if (result.shape.size() != 2 || result.shape[1] % kChunk != 0) return false;
    for (const int v : chain) {
      const Value& value = m_.values[at(v)];
      if (!meaning::is_elementwise(value.function) || value.shape != result.shape ||
          value.type != "f32")
        return false;
      for (const Operand& one : value.operands) {
        if (one.value < 0) continue;
        const Source source = values_.resolve(op, one);
        const bool matrix = m_.values[at(one.value)].shape.size() == 2;
        if (matrix && source.kind != Source::chain &&
            (source.kind != Source::memory || !plan_.on_tmem(p_.storages[at(source.storage)]) ||
             source.transposed || source.columns > 0))
          return false;
      }
    }
    return true;
  }

  /// Ops (of the legal program) that follow each other, executed where the last of them stands.
  void chunks(int depth, const std::vector<int>& ops, int here, Iteration it) {
    if (here != ops.back()) return;
    std::vector<std::pair<int, int>> chain;  // op and value
    for (const int one : ops) {
      const int op = legal_.source[at(one)];
      for (const int v : plan_.links.values[at(op)]) chain.emplace_back(op, v);
    }
    const int last_op = chain.back().first;
    const auto in_chain = [&](int value) {
      return std::any_of(chain.begin(), chain.end(),
                         [&](const auto& one) { return one.second == value; });
    };
    const std::int64_t columns = m_.values[at(chain.back().second)].shape[1];
    const int to = tile_written(last_op);
    // Vectors are read once.
    std::map<std::pair<int, std::size_t>, Expression> vectors;
    for (const auto& [op, v] : chain)
      for (std::size_t k = 0; k < m_.values[at(v)].operands.size(); ++k) {
        const Operand& one = m_.values[at(v)].operands[k];
        if (one.value < 0 || m_.values[at(one.value)].shape.size() == 2) continue;
        Expression vector = operand(op, one, it);
        if (values_.resolve(op, one).kind == Source::memory) {
          if (!vectors.empty()) refuse("op", "a chain with two vectors from memory");
          line(depth, "rows = " + vector.text);
          vector.text = "rows";
        }
        vectors[{v, k}] = vector;
      }
    for (std::int64_t c = 0; c < columns; c += kChunk) {
      const std::string cut = ".slice(" + std::to_string(c) + ", " + std::to_string(kChunk) + ")";
      Expression last;
      std::map<int, Expression> made;
      for (const auto& [op, v] : chain) {
        const Value& value = m_.values[at(v)];
        Layout layout = values_.layout_of(v);
        layout.columns = kChunk;
        std::vector<Expression> in;
        for (std::size_t k = 0; k < value.operands.size(); ++k) {
          const Operand& one = value.operands[k];
          if (const auto found = vectors.find({v, k}); found != vectors.end()) {
            in.push_back(found->second);
          } else if (one.value < 0) {
            in.push_back(values_.number(one));
          } else if (in_chain(one.value) && one.distance == 0) {
            in.push_back(made.at(one.value));
          } else {
            const Source source = values_.resolve(op, one);
            if (source.kind != Source::memory || source.transposed || source.columns > 0 ||
                !plan_.on_tmem(p_.storages[at(source.storage)]))
              refuse("operand", "a tile of the chain " + p_.ops[at(op)].id);
            in.push_back({copy_of(source.storage, it + -source.distance) + cut + ".load(" +
                              values_.text_of(layout) + ")",
                          layout, "f32"});
          }
        }
        last = values_.evaluate(v, in, layout, "");
        if (v != chain.back().second) {
          if (last.text != "part") line(depth, "part = " + last.text);
          made[v] = {"part", layout, last.type};
        }
      }
      line(depth, copy_of(to, it) + cut + ".store(" + last.text + ")");
    }
    arrive(depth, here, it);
  }

  // ---- after the loop

  void after() {
    std::vector<int> stores;
    for (int v = m_.after_begin; v < static_cast<int>(m_.values.size()); ++v)
      if (plan_.after_slot[at(v)] == slot_) stores.push_back(v);
    if (slot_ < plan_.finish_slot()) {
      bool said = false;
      for (const auto& [v, one] : plan_.final_hand_over) {
        if (p_.ops[at(plan_.op_of(v))].slot != slot_) continue;
        if (!said) line(1, "# after the loop");
        said = true;
        line(1, use(one.name) + ".store(" + variable(plan_.op_of(v)) + ")");
      }
      if (plan_.done_needed[at(slot_)]) {
        line(1, "# all that this slot does has ended");
        const bool products = std::any_of(p_.ops.begin(), p_.ops.end(), [&](const program::Op& op) {
          return op.slot == slot_ && is_product(static_cast<int>(&op - p_.ops.data()));
        });
        if (!hopper() && products) {
          needs_.tcgen05_commit = true;
          line(1, "tcgen05_commit(" + use(plan_.done[at(slot_)]) + ")");
        } else {
          line(1, "mbarrier.arrive(" + use(plan_.done[at(slot_)]) + ", count=1)");
        }
      }
    }
    if (stores.empty()) return;
    line(1, "# after the loop");
    wait_for_others(stores);
    std::set<int> written;
    for (const int v : stores) final_value(v, written);
  }

  void wait_for_others(const std::vector<int>& stores) {
    std::set<int> slots;
    for (const int v : stores) {
      std::set<int> needed;
      plan_.final_values(v, needed);
      for (const int one : needed) slots.insert(p_.ops[at(plan_.op_of(one))].slot);
      const auto staged = plan_.staging.find(v);
      if (staged == plan_.staging.end()) continue;
      for (const auto& [q, one] : plan_.resident)
        if (one.name == staged->second.name)
          for (int s = 0; s < plan_.finish_slot(); ++s)
            if (plan_.done_needed[at(s)]) slots.insert(s);
    }
    for (const int s : slots)
      if (s != slot_)
        line(1, "mbarrier.wait(" + use(plan_.done[at(s)]) + ", 0)  # what " +
                    plan_.slot_name[at(s)] + " has made is there");
  }

  Expression final_operand(int v, const Operand& one, std::set<int>& written) {
    if (one.value < 0) return values_.number(one);
    if (one.transposed || one.columns > 0)
      refuse("operand", "a part of a result is used after the loop by " + m_.values[at(v)].id);
    if (!m_.in_loop(one.value)) {
      if (one.value < m_.loop_begin)
        refuse("operand", "a tile from before the loop is used after it");
      final_value(one.value, written);
      return {plan_.variable[at(one.value)], values_.layout_of(one.value),
              m_.values[at(one.value)].type};
    }
    const Layout layout = values_.layout_of(one.value);
    const std::string& type = m_.values[at(one.value)].type;
    const int op = plan_.op_of(one.value);
    if (p_.ops[at(op)].slot == slot_ && plan_.registers_of(op) >= 0)
      return {variable(op), layout, type};
    std::string from;
    if (const auto last = plan_.final_hand_over.find(one.value);
        last != plan_.final_hand_over.end()) {
      from = use(last->second.name);
    } else {
      const int s = plan_.kept_in_memory(op);
      if (s < 0) refuse("storage", m_.values[at(one.value)].id + " is not there after the loop");
      from = copy_of(s, {Iteration::end, -1});
    }
    return {from + ".load(" + values_.text_of(layout) + ")", layout, type};
  }

  /// Values after the loop from a tile in tensor memory to store `v`, in their order, where each
  /// has one matrix among its operands; empty = there is no such chain.
  std::vector<int> tile_chain(int v) const {
    std::vector<int> chain;
    for (int now = v;;) {
      const Value& value = m_.values[at(now)];
      if (!meaning::is_elementwise(value.function) && value.function != Function::store) return {};
      chain.insert(chain.begin(), now);
      int next = -1;
      for (const Operand& one : value.operands) {
        if (one.value < 0 || m_.values[at(one.value)].shape.size() != 2) continue;
        if (next >= 0 || one.transposed || one.columns > 0 || one.value < m_.loop_begin) return {};
        next = one.value;
      }
      if (next < 0) return {};
      if (m_.in_loop(next)) {
        const int s = plan_.kept_in_memory(plan_.op_of(next));
        const bool here = p_.ops[at(plan_.op_of(next))].slot == slot_ &&
                          plan_.registers_of(plan_.op_of(next)) >= 0;
        return s >= 0 && !here && plan_.on_tmem(p_.storages[at(s)]) &&
                       m_.values[at(v)].shape[1] % kOutChunk == 0
                   ? chain
                   : std::vector<int>{};
      }
      now = next;
    }
  }

  /// Part by part, so that the tile is never in registers as a whole.
  void final_chunks(const std::vector<int>& chain, const std::string& buffer,
                    std::set<int>& written) {
    const int store = chain.back();
    std::map<std::pair<int, std::size_t>, Expression> others;
    for (const int v : chain)
      for (std::size_t k = 0; k < m_.values[at(v)].operands.size(); ++k) {
        const Operand& one = m_.values[at(v)].operands[k];
        if (one.value < 0 || m_.values[at(one.value)].shape.size() != 2)
          others[{v, k}] = final_operand(v, one, written);
      }
    for (std::int64_t c = 0; c < m_.values[at(store)].shape[1]; c += kOutChunk) {
      Expression last;
      for (const int v : chain) {
        const Value& value = m_.values[at(v)];
        Layout layout = values_.layout_of(v);
        layout.columns = kOutChunk;
        std::vector<Expression> in;
        for (std::size_t k = 0; k < value.operands.size(); ++k) {
          if (const auto found = others.find({v, k}); found != others.end()) {
            in.push_back(found->second);
          } else if (v != chain.front()) {
            in.push_back({"part", layout, last.type});
          } else {
            const int from = value.operands[k].value;
            in.push_back({copy_of(plan_.kept_in_memory(plan_.op_of(from)), {Iteration::end, -1}) +
                              ".slice(" + std::to_string(c) + ", " + std::to_string(kOutChunk) +
                              ").load(" + values_.text_of(layout) + ")",
                          layout, m_.values[at(from)].type});
          }
        }
        last = values_.evaluate(v, in, layout, "");
        if (v != store) line(1, "part = " + last.text);
      }
      line(1, buffer + ".slice(" + std::to_string(c) + ", " + std::to_string(kOutChunk) +
                  ", dim=1).store(" + last.text + ")");
    }
  }

  void bulk_store(const Value& value, const std::string& buffer) {
    needs_.fence = true;
    line(1, "fence_async_shared()  # ordinary writes, read by the bulk store");
    line(1, "tma.async_store(" + use(host(value.tensor) + "_desc") + ", " +
                coordinates(value.tensor, "") + ", " + buffer + ")");
    line(1, "tma.store_wait(0)");
  }

  void final_value(int v, std::set<int>& written) {
    if (!written.insert(v).second) return;
    const Value& value = m_.values[at(v)];
    if (value.function == Function::store && value.shape.size() == 2)
      if (const std::vector<int> chain = tile_chain(v); !chain.empty()) {
        const std::string buffer = use(plan_.staging.at(v).name);
        final_chunks(chain, buffer, written);
        bulk_store(value, buffer);
        return;
      }
    std::vector<Expression> in;
    for (const Operand& one : value.operands) in.push_back(final_operand(v, one, written));
    const Expression result = values_.evaluate(v, in, values_.layout_of(v), "");
    if (value.function != Function::store) {
      line(1, plan_.variable[at(v)] + " = " + result.text);
      return;
    }
    const std::string& tensor = plan_.tensor_name[at(value.tensor)];
    if (value.shape.size() == 1) {
      line(1, "gl.store(" + use(host(value.tensor) + "_ptr") + " + " + use(tensor + "_row") +
                  " + gl.arange(0, " + std::to_string(value.shape[0]) +
                  ", layout=" + values_.text_of(values_.layout_of(v)) + "), " + result.text + ")");
      return;
    }
    const std::string buffer = use(plan_.staging.at(v).name);
    line(1, buffer + ".store(" + result.text + ")");
    bulk_store(value, buffer);
  }

  const Plan& plan_;
  const Program& p_;
  const meaning::Meaning& m_;
  const LegalProgram& legal_;
  int slot_, warps_;
  ModuleNeeds& needs_;
  ValuePrinter values_;
  const SlotCode* code_ = nullptr;
  std::string text_;
  std::set<std::string> used_;
  std::vector<int> history_;  ///< per op, the age of the oldest copy that is read
  int trips_ = -1;            ///< of the short run that is written; -1 = it is none
  State state_;
  std::map<int, Expression> chain_;
};

}  // namespace

SlotText slot_text(const Plan& plan, int slot, ModuleNeeds& needs) {
  return SlotPrinter(plan, slot, needs).run();
}

std::string iteration_text(Iteration iteration) {
  if (iteration.from == Iteration::begin) return std::to_string(iteration.offset);
  std::string base = iteration.from == Iteration::loop ? "i" : "n";
  if (iteration.offset == 0) return base;
  return base + (iteration.offset > 0 ? " + " : " - ") + std::to_string(std::abs(iteration.offset));
}

std::string ring_index(Iteration iteration, int depth) {
  if (depth == 1) return "";
  if (iteration.from == Iteration::begin)
    return ".index(" + std::to_string(ring_place(iteration.offset, depth).copy) + ")";
  const Iteration small{iteration.from, ring_place(iteration.offset, depth).copy};
  const std::string text = iteration_text(small);
  return ".index(" + (small.offset == 0 ? text : "(" + text + ")") + " % " + std::to_string(depth) +
         ")";
}

}  // namespace twill::emit
