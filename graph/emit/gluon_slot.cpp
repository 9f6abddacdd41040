// Register results are Python variables: x is the latest iteration's, x_prev the one before. Triton
// makes registers of them (a variable of a loop is an argument of its body).
//
// Products of Hopper are in flight from their issue until a wait that covers them; groups of a slot
// end in order, so a wait is a count of those that may still be in flight. Which are in flight
// where the loop begins again is found by writing it until that does not change any more.
#include <algorithm>

#include "graph/emit/descriptors.hpp"
#include "graph/emit/gluon_slot_printer.hpp"
#include "graph/emit/register_pressure.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {

SlotText SlotPrinter::run() {
  if (slot_ < plan_.finish_slot()) {
    cut_ = &plan_.code[at(slot_)];
    code_ = &cut_->code;
    anew_ = descriptors_are_made_anew(plan_, slot_);
    history();
    before();
    loop();
  }
  after();
  return {std::move(text_), std::move(used_)};
}

const std::string& SlotPrinter::use(const std::string& name) {
  used_.insert(name);
  return name;
}

int SlotPrinter::legal_op(int op) const {
  for (std::size_t v = 0; v < legal_.source.size(); ++v)
    if (legal_.source[v] == op) return static_cast<int>(v);
  return -1;
}

int SlotPrinter::steady_age(int writer, int reader, int distance) const {
  return lag(reader) - lag(writer) + distance - (behind(writer, reader) ? 1 : 0);
}

/// The result of an op from before the loop has been written.
void SlotPrinter::carried_in(int op) {
  state_.defined.insert(variable(op));
  // (One copy is another value by the time the loop begins, where the prologue has made the op.)
  const int step = legal_op(op);
  const bool made = std::any_of(code_->prologue.begin(), code_->prologue.end(),
                                [&](const Step& one) { return !one.is_wait && one.index == step; });
  const bool own = history_[at(op)] > 1 || !made;
  for (int k = 1; k <= history_[at(op)]; ++k) {
    line(1, aged(op, k) + " = " + (own ? of_its_own(op) : variable(op)));
    state_.defined.insert(aged(op, k));
  }
  if (wgmma(op)) state_.token[op] = false;
}

/// The latest result as another value for Triton, whose loops carry no name that has in their first
/// iteration the value that it had before (CodeGenerator._find_carries of 3.9): of x_prev2 = x_prev
/// it would not see that they differ later, had they one value when the loop begins.
std::string SlotPrinter::of_its_own(int op) const {
  const Layout layout = values_.layout_of(plan_.links.result[at(op)]);
  if (layout.kind == Layout::none) return variable(op) + " * 1  # a value of its own";
  return "gl.convert_layout(" + variable(op) + ", " + values_.text_of(layout) +
         ")  # a value of its own";
}

void SlotPrinter::history() {
  history_.assign(p_.ops.size(), 0);
  for (int r = 0; r < static_cast<int>(p_.ops.size()); ++r) {
    if (p_.ops[at(r)].slot != slot_) continue;
    for (const program::Read& read : p_.ops[at(r)].reads) {
      if (!plan_.in_registers(read.storage)) continue;
      const int w = writer(read.storage);
      if (p_.ops[at(w)].slot != slot_) continue;  // (a number: what uses it here is refused)
      history_[at(w)] = std::max(history_[at(w)], steady_age(w, r, read.distance));
    }
  }
}

int SlotPrinter::writer(int storage) const {
  for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
    for (const int s : p_.ops[at(v)].writes)
      if (s == storage) return v;
  return -1;
}

std::string SlotPrinter::aged(int op, int age) const {
  if (age < 0) refuse("operand", p_.ops[at(op)].id + " is used before it is there");
  if (age == 0) return variable(op);
  if (age > std::min(plan_.older_copies, kMostOlderCopies))
    refuse(kOlderCopies, p_.ops[at(op)].id + " has more than " +
                             std::to_string(plan_.older_copies) + " older copies in registers");
  return variable(op) + (age == 1 ? "_prev" : "_prev" + std::to_string(age));
}

int SlotPrinter::latest(int op, int reader, Iteration it) const {
  int iteration = it.offset + lag(reader) - lag(op) - (behind(op, reader) ? 1 : 0);
  if (it.from == Iteration::end) iteration = std::min(iteration, -1);
  if (it.from == Iteration::begin && trips_ >= 0) iteration = std::min(iteration, trips_ - 1);
  if (it.from == Iteration::begin) iteration = std::max(iteration, -1);
  return iteration;
}

int SlotPrinter::age(int op, int reader, Iteration it, int distance) const {
  const int last = latest(op, reader, it), all = last - (it.offset - distance);
  // A prologue may look further back than the loop, which keeps no copies for that. But all
  // iterations before iteration 0 have made the same: the nearest of them will do.
  if (it.from == Iteration::begin && all > history_[at(op)]) return std::min(all, last + 1);
  return all;
}

void SlotPrinter::age_variables(int depth, int op) {
  for (int k = history_[at(op)]; k >= 1; --k)
    if (state_.defined.contains(aged(op, k - 1))) {
      line(depth, aged(op, k) + " = " + aged(op, k - 1));
      state_.defined.insert(aged(op, k));
    }
  state_.defined.insert(variable(op));
}

/// A product of several wgmma instructions a warpgroup, whose first iteration stands alone and adds
/// to what is computed from a number that all elements have. The compiler computes that once a row
/// and copies it between the instructions, where those before are in flight: ptxas would put in a
/// wait (C7517).
bool SlotPrinter::begins_unseen(int op) const {
  constexpr std::int64_t kRowsOfWgmma = 64;
  if (!wgmma(op) || legal_.by_warps[at(op)]) return false;
  const Value& value = m_.values[at(plan_.links.result[at(op)])];
  if (value.type != "f32" || value.operands.size() != 3 || value.shape.size() != 2 ||
      value.shape[0] * kWarpgroup <= kRowsOfWgmma * warps_)
    return false;
  const Source added = values_.resolve(op, value.operands[2]);
  const int step = legal_op(op);
  return added.kind == Source::registers && added.op != op &&
         std::any_of(code_->prologue.begin(), code_->prologue.end(),
                     [&](const Step& one) { return !one.is_wait && one.index == step; });
}

std::string SlotPrinter::unseen(const std::string& text) {
  return "gl.inline_asm_elementwise(\"mov.b32 $0, $1;\", \"=r,r\", [" + text +
         "], gl.float32, is_pure=False, pack=1)  # numbers that the compiler does not know";
}

void SlotPrinter::before() {
  if (plan_.tiles() && plan_.done_needed[at(slot_)])
    wait_turn_before(plan_.tile_free, "what the tile before has made has been read");
  if (plan_.resident_slot == slot_ && !plan_.resident.empty()) {
    if (plan_.tiles())
      wait_turn_before(plan_.resident_free, "WAR: nobody reads those of the tile before");
    line(1, "# tiles that stay for the whole loop");
    for (const auto& [v, one] : plan_.resident) {
      const std::string bar = use(plan_.resident_barrier);
      if (plan_.by_elements(m_.values[at(v)].tensor)) {
        load_elements(1, m_.values[at(v)], "", use(one.name), bar);
        continue;
      }
      const std::string desc = use(host(m_.values[at(v)].tensor) + "_desc");
      line(1, "mbarrier.expect(" + bar + ", " + desc + ".nbytes_per_cta)");
      line(1, "tma.async_load(" + desc + ", " + coordinates(m_.values[at(v)].tensor, "") + ", " +
                  bar + ", " + use(one.name) + ")");
    }
  }
  const bool reads_resident = plan_.resident_readers().contains(slot_);
  if (reads_resident)
    line(1, "mbarrier.wait(" + use(plan_.resident_barrier) + ", " + turn_parity() +
                ")  # RAW: the tiles from before the loop");
  if (reads_resident && fence_for_resident()) {
    needs_.fence = true;
    line(1, "fence_async_shared()  # threads copied them, products may read them");
  }
  gather_before();
  values_before();
  bool said = false;
  for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
    const int value = plan_.links.result[at(v)];
    if (p_.ops[at(v)].slot != slot_ || plan_.registers_of(v) < 0) continue;
    const meaning::Initial* initial = m_.initial_of(value);
    if (initial == nullptr || plan_.unused(value)) continue;
    if (!said) line(1, "# what is carried into iteration 0");
    said = true;
    if (initial->what.value >= 0) {
      const Value& what = m_.values[at(initial->what.value)];
      if (const ExtraBuffer* const handed = plan_.handed_in(initial->what.value);
          handed != nullptr && !what.shape.empty() && what.type == m_.values[at(value)].type) {
        line(1, variable(v) + " = " + use(handed->name) + ".load(" +
                    values_.text_of(values_.layout_of(value)) + ")");
        carried_in(v);
        continue;
      }
      const Expression first = early(initial->what.value);
      line(1, variable(v) + " = " + values_.begun(value, first));
    } else {
      const std::string begun = values_.filled_first(value, initial->what, true);
      use_arguments(begun);
      line(1, variable(v) + " = " + (begins_unseen(v) ? unseen(begun) : begun));
    }
    carried_in(v);
  }
}

void SlotPrinter::guarded_loop() {
  const std::string more = std::to_string(code_->guarded);
  line(1, "for i in range(n + " + more + "):  # an op of an iteration is up to " + more +
              " of them behind the newest");
  use("n");
  for (std::size_t k = 0; k < code_->steady.size();) {
    const int lag = code_->steady[k].lag;
    const std::string begun = "i >= " + std::to_string(lag),
                      exists = "i < n" + (lag == 0 ? "" : " + " + std::to_string(lag));
    line(2, "if " +
                (lag == 0                ? exists
                 : lag == code_->guarded ? begun
                                         : "(" + begun + ") & (" + exists + ")") +
                ":");
    const std::size_t before_text = text_.size();
    for (; k < code_->steady.size() && code_->steady[k].lag == lag; ++k) print(3, code_->steady[k]);
    fence_if_due(3);
    if (text_.size() == before_text) line(3, "pass");
  }
}

void SlotPrinter::loop() {
  if (code_->guarded > 0) return guarded_loop();
  const SlotState entry = state_;
  const int depth = code_->depth;
  // (What follows the loop follows each of the branches.)
  std::map<std::string, int> reads;
  const auto most = [&] {
    for (const auto& [place, count] : state_.reads) reads[place] = std::max(reads[place], count);
  };
  for (int n = 0; n < depth; ++n) {
    state_ = entry;
    trips_ = n;
    const std::string trips = plan_.branches_on_trips() ? "n" : "TRIPS";
    line(1, (n == 0 ? "if " : "elif ") + trips + " == " + std::to_string(n) +
                ":  # fewer iterations than stages");
    use(trips);
    const std::size_t before_text = text_.size();
    for (const Step& step : code_->short_runs[at(n)]) print_at_end(2, step);
    fence_if_due(2);
    drain(2);
    if (text_.size() == before_text) line(2, "pass");
    most();
  }
  trips_ = -1;
  state_ = entry;
  const int in = depth > 0 ? 2 : 1;
  if (depth > 0) {
    line(1, "else:");
    line(in, "# prologue");
  }
  std::size_t before_text = text_.size();
  if (depth > 0) {
    for (const Step& step : code_->prologue) print(in, step);
    fence_if_due(in);
  }
  steady(in);
  const bool nothing_yet = text_.size() == before_text;
  if (depth > 0) line(in, "# epilogue");
  before_text = text_.size();
  for (const Step& step : code_->epilogue) print_at_end(in, step);
  fence_if_due(in);
  drain(in);
  if (depth > 0 && nothing_yet && text_.size() == before_text) line(in, "pass");
  most();
  state_.reads = std::move(reads);
}

/// A step behind the loop. In the loop the wait for the next iteration's product ends this one's,
/// too; behind it there is no next one, and a product may still be in flight. Where a tile is read
/// from memory then, ptxas lacks registers and ends each product of the kernel before the next one
/// (13.4, C7512). So all products end first.
void SlotPrinter::print_at_end(int in, const Step& step) {
  if (!step.is_wait && plan_.legal.target == Target::hopper && !state_.flights.empty() &&
      legal_.release_of[at(step.index)] < 0 &&
      reads_tile(plan_, slot_, legal_.source[at(step.index)])) {
    const ProductInFlight last = state_.flights.back();
    wait_flight(in, last.op, last.iteration, "  # their registers are for the tile that is read");
  }
  print(in, step);
}

SlotState SlotPrinter::moved(SlotState state, int by) {
  for (ProductInFlight& flight : state.flights) flight.iteration -= by;
  for (StoreInFlight& store : state.stores) store.iteration -= by;
  return state;
}

/// Has another product added to all those of the op that are in flight? A wait that named them
/// would be for registers that are written.
bool SlotPrinter::taken(const SlotState& state, int op) {
  std::size_t all = 0, taken = 0;
  for (const ProductInFlight& flight : state.flights) {
    all += flight.op == op ? 1 : 0;
    taken += flight.op == op && flight.taken ? 1 : 0;
  }
  return all > 0 && all == taken;
}

void SlotPrinter::steady(int in) {
  SlotState entry = state_;
  const std::string kept = text_;
  SlotState begin = entry;
  begin.reads.clear();  // a block of its own
  constexpr int kRounds = 8;
  bool same = false;
  for (int round = 0; round < kRounds && !same; ++round) {
    state_ = begin;
    text_.clear();
    for (const Step& step : code_->steady) print(in + 1, step);
    fence_if_due(in + 1);
    SlotState again = moved(state_, 1);
    again.defined = entry.defined;
    again.reads.clear();
    mark_certain(again.flights, entry.flights);
    mark_certain(again.stores, entry.stores);
    same = again.flights == begin.flights && again.token == begin.token &&
           again.stores == begin.stores;
    begin = again;
  }
  if (!same) refuse("op", "what is in flight where the loop begins again does not settle");
  const std::string body = text_;
  text_ = kept;
  state_ = entry;
  if (const auto last = last_of_first_alone(entry.flights, begin.flights))
    wait_flight(in, entry.flights[*last].op, entry.flights[*last].iteration,
                "  # in the loop another wait ends it");
  if (const auto last = last_of_first_alone(entry.stores, begin.stores))
    wait_store(in, entry.stores[*last].op, entry.stores[*last].iteration,
               "  # in the loop another wait ends it");
  entry = state_;
  // Variables have one type wherever the loop begins.
  std::vector<std::string> waited;
  for (const auto& [op, token] : begin.token) {
    const auto now = entry.token.find(op);
    if (now == entry.token.end() || now->second == token) continue;
    if (token) {
      needs_.wgmma_init = true;
      line(in, variable(op) + " = warpgroup_mma_init(" + variable(op) + ")");
    } else if (taken(entry, op)) {
      line(in, variable(op) + " = " + values_.filled(plan_.links.result[at(op)], 0) +
                   "  # nobody reads it: its registers are another product's by now");
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
          const auto token = state_.token.find(v);
          const bool in_flight =
              token != state_.token.end() && token->second;  // (it is no tile yet)
          line(in, aged(v, k) + " = " + (in_flight ? variable(v) : of_its_own(v)));
          state_.defined.insert(aged(v, k));
        }
  // What a product in flight reads has a name in the loop's first iteration, too, before which it
  // may not have been issued.
  for (const ProductInFlight& flight : begin.flights)
    if (!flight.left.empty() && !entry.defined.contains(flight.left) &&
        read_first(body, flight.left) && state_.defined.insert(flight.left).second)
      line(in, flight.left + " = " + no_left(flight.op) + "  # of no product yet");
  // What only the loop defines is not there after it.
  const std::set<std::string> defined = state_.defined;
  // (What only others do is no text: a tile of tensor memory that is read after the loop.)
  if (!body.empty()) {
    use("n");
    line(in, code_->depth > 0 ? "for i in range(n - " + std::to_string(code_->depth) + "):"
                              : std::string("for i in range(n):"));
    text_ += body;
  }
  state_ = moved(begin, code_->depth);  // (it may not have run)
  state_.defined = defined;
  for (ProductInFlight& flight : state_.flights)
    if (!defined.contains(flight.left)) flight.left.clear();  // no name that can be kept
  state_.reads = entry.reads;
  // (i is n - depth - 1 at the end of the loop, so i + k is n - 1 - (depth - k).)
}

/// Is a name read by lines before one of them gives it a value?
bool SlotPrinter::read_first(const std::string& lines, const std::string& name) {
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    std::string one = lines.substr(begin, end - begin);
    begin = end + 1;
    if (!mentions(one, name)) continue;
    one.erase(0, std::min(one.find_first_not_of(' '), one.size()));
    return !one.starts_with(name + " = ") || mentions(one.substr(name.size()), name);
  }
  return false;
}

/// A left factor in registers that no product reads.
std::string SlotPrinter::no_left(int op) const {
  const Value product = with_whole_factors(m_, m_.values[at(plan_.links.result[at(op)])]);
  const Operand& left = product.operands[0];
  const Value& tile = m_.values[at(left.value)];
  std::vector<std::int64_t> shape = tile.shape;
  if (left.columns > 0) shape[1] = left.columns;
  if (left.transposed) std::swap(shape[0], shape[1]);
  return "gl.full([" + std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + "], 0.0, " +
         gluon_type(tile.type) + ", gl.DotOperandLayout(0, " +
         values_.text_of(values_.layout_of(plan_.links.result[at(op)])) + ", " +
         in_a_register(tile.type) + "))";
}

void SlotPrinter::print(int depth, const Step& step) {
  depth_ = depth;
  numbers_.clear();
  if (!step.is_wait) fence_if_due(depth);
  if (step.is_wait)
    wait(depth, step);
  else if (legal_.release_of[at(step.index)] >= 0)
    arrive(depth, step.index, step.iteration);
  else if (const std::vector<int>* fused = fused_with(step.index))
    chunks(depth, *fused, step.index, step.iteration);
  else
    op(depth, legal_.source[at(step.index)], step.iteration);
}

const std::vector<int>* SlotPrinter::fused_with(int legal_index) const {
  for (const std::vector<int>& ops : legal_.fused)
    if (std::find(ops.begin(), ops.end(), legal_index) != ops.end()) return &ops;
  return nullptr;
}

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
