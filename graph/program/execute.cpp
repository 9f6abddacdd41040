#include "graph/program/execute.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "graph/index.hpp"
#include "graph/meaning/lone_views.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/program/links.hpp"
#include "graph/random.hpp"

namespace twill::program {
namespace {

using meaning::Function;
using meaning::Meaning;
using meaning::Numbers;
using meaning::NumberType;
using meaning::Operand;

/// What the storages of a program hold.
class Contents {
 public:
  Contents(const Program& program, const Links& links) : p_(program) {
    bytes_.resize(p_.memories.size());
    cells_.resize(p_.storages.size());
    shape_.resize(p_.storages.size());
    type_.assign(p_.storages.size(), nullptr);
    for (std::size_t v = 0; v < p_.ops.size(); ++v)
      for (const int s : p_.ops[v].writes) {
        const meaning::Value& value = p_.meaning->values[at(links.result[v])];
        shape_[at(s)] = value.shape;
        type_[at(s)] = meaning::number_type(value.type);
      }
    for (std::size_t s = 0; s < p_.storages.size(); ++s) {
      const Storage& storage = p_.storages[s];
      if (storage.kind != Storage::in_memory) {
        cells_[s].resize(at(storage.depth));
        continue;
      }
      std::vector<std::uint8_t>& all = bytes_[at(storage.memory)];
      const std::size_t end = begin(storage, storage.depth - 1) + size(storage);
      if (all.size() < end) all.resize(end, kGarbage);
    }
  }

  void write(int s, std::int64_t iteration, const Numbers& numbers) {
    const Storage& storage = p_.storages[at(s)];
    if (storage.kind != Storage::in_memory) {
      cells_[at(s)][copy(storage, iteration)] = numbers;
      return;
    }
    spoil(s, iteration);
    const NumberType& type = *type_[at(s)];
    std::uint8_t* to = place(storage, iteration);
    const std::size_t stride = size(storage) / numbers.data.size();
    for (const double x : numbers.data) {
      meaning::encode(type, x, to);
      to += stride;
    }
  }

  /// Nothing that can be used is there any more.
  void spoil(int s, std::int64_t iteration) {
    const Storage& storage = p_.storages[at(s)];
    if (storage.kind != Storage::in_memory)
      cells_[at(s)][copy(storage, iteration)] = {};
    else
      std::fill_n(place(storage, iteration), size(storage), kGarbage);
  }

  Numbers read(int s, std::int64_t iteration) const {
    const Storage& storage = p_.storages[at(s)];
    const auto count = static_cast<std::size_t>(meaning::elements(shape_[at(s)]));
    if (storage.kind != Storage::in_memory) {
      const Numbers& there = cells_[at(s)][copy(storage, iteration)];
      if (!there.data.empty()) return there;
      return {shape_[at(s)], std::vector<double>(count, std::numeric_limits<double>::quiet_NaN())};
    }
    Numbers numbers{shape_[at(s)], std::vector<double>(count)};
    const std::uint8_t* from = bytes_[at(storage.memory)].data() +
                               begin(storage, static_cast<std::int64_t>(copy(storage, iteration)));
    const std::size_t stride = size(storage) / count;
    for (double& x : numbers.data) {
      x = meaning::decode(*type_[at(s)], from);
      from += stride;
    }
    return numbers;
  }

  /// Do two copies have a byte in common?
  bool meet(int s, std::int64_t i, int t, std::int64_t j) const {
    const Storage &a = p_.storages[at(s)], &b = p_.storages[at(t)];
    if (a.kind != Storage::in_memory || b.kind != Storage::in_memory)
      return s == t && copy(a, i) == copy(b, j);
    if (a.memory != b.memory) return false;
    const std::size_t x = begin(a, static_cast<std::int64_t>(copy(a, i))),
                      y = begin(b, static_cast<std::int64_t>(copy(b, j)));
    return x < y + size(b) && y < x + size(a);
  }

 private:
  static constexpr std::uint8_t kGarbage = 0xff;  // a NaN in every type that has one

  static std::size_t copy(const Storage& storage, std::int64_t iteration) {
    const std::int64_t rest = iteration % storage.depth;
    return static_cast<std::size_t>(rest < 0 ? rest + storage.depth : rest);
  }
  std::size_t unit(const Storage& storage) const {
    return static_cast<std::size_t>(bytes_of(p_, storage) / storage.size);
  }
  std::size_t size(const Storage& storage) const {
    return static_cast<std::size_t>(storage.size) * unit(storage);
  }
  /// First byte of a copy.
  std::size_t begin(const Storage& storage, std::int64_t which) const {
    Amount step = storage.size;
    if (step % storage.alignment != 0) step += storage.alignment - step % storage.alignment;
    return static_cast<std::size_t>(storage.base + which * step) * unit(storage);
  }
  std::uint8_t* place(const Storage& storage, std::int64_t iteration) {
    return bytes_[at(storage.memory)].data() +
           begin(storage, static_cast<std::int64_t>(copy(storage, iteration)));
  }

  const Program& p_;
  std::vector<std::vector<std::uint8_t>> bytes_;  ///< per memory
  std::vector<std::vector<Numbers>> cells_;       ///< per storage without an address, its copies
  std::vector<std::vector<std::int64_t>> shape_;  ///< per storage
  std::vector<const NumberType*> type_;
};

class Executor {
 public:
  Executor(const Program& program, const Links& links, int n, const meaning::TensorTiles& inputs,
           const Course& course)
      : p_(program),
        m_(*program.meaning),
        links_(links),
        n_(n),
        inputs_(inputs),
        course_(course),
        random_(course.seed),
        contents_(program, links) {
    result_.outputs.resize(m_.tensors.size());
    for (int t = 0; t < static_cast<int>(m_.tensors.size()); ++t)
      if (m_.is_output(t)) result_.outputs[at(t)].resize(at(m_.streams(t) ? n_ : 1));
  }

  Execution run() {
    before();
    unroll();
    while (step()) {
    }
    if (result_.fault.empty()) finish();
    return std::move(result_);
  }

 private:
  struct Step {
    int op = 0;
    int wait = -1;  ///< before it; -1 = the op itself
    std::int64_t iteration = 0;
  };
  /// An op instance that is under way.
  struct Flight {
    enum State { issued, begun, read, written, ended } state = issued;
    int op = 0;
    std::int64_t iteration = 0;
    int ahead = -1;  ///< the flight before it in its queue; -1 = none
    Numbers numbers;
  };
  struct Barrier {
    std::int64_t completed = 0;
    int arrivals = 0;
    Amount bytes = 0;
  };
  struct Action {
    int slot = -1;    ///< its next step, or
    int flight = -1;  ///< the next state of this
  };

  // ---- before and after the loop

  void before() {
    fixed_.resize(m_.values.size());
    for (int v = 0; v < m_.loop_begin; ++v) fixed_[at(v)] = around(v);
    lone_views();
    for (std::size_t v = 0; v < p_.ops.size(); ++v) {
      if (m_.initial_of(links_.result[v]) == nullptr) continue;
      for (const int s : p_.ops[v].writes)
        for (int d = 1; d <= carried(s); ++d) contents_.write(s, -d, initial(links_.result[v]));
    }
  }

  /// What every slot can compute for itself, of all iterations.
  void lone_views() {
    lone_ = meaning::lone_views(m_, links_.runner);
    std::vector<int> order = loop_order(m_);
    std::erase_if(order, [&](int v) { return !lone_[at(v)]; });
    for (std::int64_t i = 0; i < n_; ++i)
      for (const int v : order) {
        const meaning::Value& value = m_.values[at(v)];
        std::vector<Numbers> in;
        if (value.function == Function::load)
          in.push_back(inputs_[at(value.tensor)].at(static_cast<std::size_t>(i)));
        for (const Operand& one : value.operands)
          in.push_back(meaning::seen(one, operand(one, -1, i, 0, nullptr)));
        known_[{v, i}] = meaning::evaluate(value, in, i);
      }
  }

  int carried(int storage) const {
    int most = 0;
    for (const Op& op : p_.ops)
      for (const Read& r : op.reads)
        if (r.storage == storage) most = std::max(most, r.distance);
    return most;
  }

  void finish() {
    for (int v = m_.after_begin; v < static_cast<int>(m_.values.size()); ++v)
      fixed_[at(v)] = around(v);
  }

  /// A value from before the loop or after it.
  Numbers around(int v) {
    viewed_.clear();
    std::vector<Numbers> in;
    const meaning::Value& value = m_.values[at(v)];
    if (value.function == Function::load) in.push_back(inputs_[at(value.tensor)].front());
    for (const Operand& one : value.operands)
      in.push_back(meaning::seen(one, operand(one, -1, std::int64_t{n_} - 1, 0, nullptr)));
    Numbers numbers = meaning::evaluate(value, in, 0);
    if (value.function == Function::store) result_.outputs[at(value.tensor)].front() = numbers;
    return numbers;
  }

  Numbers initial(int v) const {
    const meaning::Value& value = m_.values[at(v)];
    const Operand& what = m_.initial_of(v)->what;
    if (what.value >= 0) return fixed_[at(what.value)];
    Numbers numbers{
        value.shape,
        std::vector<double>(static_cast<std::size_t>(meaning::elements(value.shape)), what.number)};
    meaning::round_all(value.type, numbers);
    return numbers;
  }

  // ---- operands

  /// What `one` is for an op of iteration i that reads it `distance` iterations before, on the way
  /// through views; reader -1 = what comes after the loop. `chain` are the results of its own op.
  Numbers operand(const Operand& one, int reader, std::int64_t i, int distance,
                  const std::map<int, Numbers>* chain) {
    if (one.value < 0) return {{}, {one.number}};
    if (!m_.in_loop(one.value)) return fixed_[at(one.value)];
    const int sum = distance + one.distance, from = links_.runner[at(one.value)];
    if (chain != nullptr && sum == 0 && from == reader && from >= 0) return chain->at(one.value);
    const std::int64_t made = i - sum;
    if (lone_[at(one.value)]) return made < 0 ? initial(one.value) : known_.at({one.value, made});
    if (from < 0 || (reader < 0 && made < 0)) {
      if (made < 0 && m_.initial_of(one.value) != nullptr) return initial(one.value);
      // A view: what it shows, seen again.
      if (const auto known = viewed_.find({one.value, made}); known != viewed_.end())
        return known->second;
      const meaning::Value& value = m_.values[at(one.value)];
      std::vector<Numbers> in;
      for (const Operand& next : value.operands)
        in.push_back(meaning::seen(next, operand(next, reader, i, sum, chain)));
      return viewed_[{one.value, made}] = meaning::evaluate(value, in, made);
    }
    const std::vector<int> storages =
        reader >= 0 ? storages_read(p_, reader, from, sum) : std::vector<int>{kept(from)};
    Numbers numbers = contents_.read(storages.front(), made);
    // What the slot's instructions wrote has not come through to an asynchronous unit.
    if (reader >= 0 && from >= 0 && unfenced(from, reader, storages.front()) &&
        course_.pace != Pace::eager && (course_.pace == Pace::late || random_.below(2) == 0))
      std::fill(numbers.data.begin(), numbers.data.end(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t k = 1; k < storages.size(); ++k) {
      const Numbers other = contents_.read(storages[k], made);
      const auto differ = [](double x, double y) {
        return x != y && !(std::isnan(x) && std::isnan(y));
      };
      for (std::size_t e = 0; e < numbers.data.size(); ++e)
        if (differ(numbers.data[e], other.data[e])) {
          fault("copies", p_.storages[at(storages.front())].name + " and " +
                              p_.storages[at(storages[k])].name + " of iteration " +
                              std::to_string(made) + " differ");
          break;
        }
    }
    return numbers;
  }

  bool unfenced(int writer, int reader, int s) const {
    const Storage& storage = p_.storages[at(s)];
    return p_.ops[at(reader)].async_proxy && !p_.ops[at(writer)].async_proxy &&
           !p_.ops[at(writer)].fence && storage.kind == Storage::in_memory &&
           p_.memories[at(storage.memory)].name == kBarrierMemory;
  }

  /// The storage that has an op's results after the loop: one that is carried.
  int kept(int op) const {
    const std::vector<int>& writes = p_.ops[at(op)].writes;
    for (const int s : writes)
      if (carried(s) > 0) return s;
    return writes.front();
  }

  Numbers compute(int op, std::int64_t i) {
    viewed_.clear();
    std::map<int, Numbers> chain;
    for (const int v : links_.values[at(op)]) {
      const meaning::Value& value = m_.values[at(v)];
      std::vector<Numbers> in;
      if (value.function == Function::load)
        in.push_back(inputs_[at(value.tensor)][static_cast<std::size_t>(i)]);
      for (const Operand& one : value.operands)
        in.push_back(meaning::seen(one, operand(one, op, i, 0, &chain)));
      chain[v] = meaning::evaluate(value, in, i);
      if (value.function == Function::store && v != links_.result[at(op)])
        result_.outputs[at(value.tensor)][static_cast<std::size_t>(i)] = chain[v];
    }
    return std::move(chain.at(links_.result[at(op)]));
  }

  // ---- the code of the slots

  void unroll() {
    std::vector<std::vector<int>> waits(p_.ops.size());
    for (int w = 0; w < static_cast<int>(p_.waits.size()); ++w)
      waits[at(p_.waits[at(w)].before)].push_back(w);
    code_.resize(p_.slots.size());
    next_.assign(p_.slots.size(), 0);
    last_in_.resize(p_.slots.size());
    const std::int64_t periods = std::int64_t{n_} + stage_count(p_) - 1;
    for (std::int64_t t = 0; t < periods; ++t)
      for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
        const std::int64_t i = t - p_.ops[at(v)].stage;
        if (i < 0 || i >= n_) continue;
        std::vector<Step>& code = code_[at(p_.ops[at(v)].slot)];
        for (const int w : waits[at(v)]) {
          const std::int64_t other = i - p_.waits[at(w)].offset;
          if (other >= 0 && other < n_) code.push_back({v, w, i});
        }
        code.push_back({v, -1, i});
      }
    for (const Event& event : p_.events)
      barriers_.emplace_back(static_cast<std::size_t>(event.pending ? 0 : event.phases));
    for (std::size_t w = 0; w < p_.slots.size(); ++w) turn_.push_back(static_cast<int>(w));
    for (std::size_t k = turn_.size(); k > 1; --k) std::swap(turn_[k - 1], turn_[random_.below(k)]);
  }

  bool step() {
    if (!result_.fault.empty()) return false;
    std::vector<Action> all = actions(true);
    if (all.empty()) all = actions(false);
    if (!result_.fault.empty()) return false;
    if (all.empty()) {
      hang();
      return false;
    }
    const Action& one = all[chosen(all)];
    if (one.slot >= 0)
      advance(one.slot);
    else
      advance_flight(one.flight);
    return true;
  }

  std::size_t chosen(const std::vector<Action>& all) {
    if (course_.pace == Pace::random) return random_.below(all.size());
    std::vector<std::size_t> slots, flights;
    for (std::size_t k = 0; k < all.size(); ++k) {
      // A beginning changes nothing but what it makes garbage of.
      if (all[k].flight >= 0 && flights_[at(all[k].flight)].state == Flight::issued) return k;
      (all[k].slot >= 0 ? slots : flights).push_back(k);
    }
    const bool flight = !flights.empty() && (course_.pace == Pace::eager || slots.empty());
    return flight ? flights[random_.below(flights.size())] : slots.front();
  }

  /// What can happen next; slots in the order of this run's turns.
  std::vector<Action> actions(bool holding) {
    std::vector<Action> all;
    for (const int slot : turn_) {
      if (next_[at(slot)] == code_[at(slot)].size()) continue;
      const Step& now = code_[at(slot)][next_[at(slot)]];
      if (holding && held(Hold::waits, now.op, now.iteration)) continue;
      // An op that ends at once has no other moment at which it can be kept back.
      if (holding && p_.ops[at(now.op)].ending == Ending::at_once && now.wait < 0 &&
          (held(Hold::reads, now.op, now.iteration) || held(Hold::writes, now.op, now.iteration) ||
           held(Hold::end, now.op, now.iteration)))
        continue;
      if (now.wait < 0 || passes(now)) all.push_back({slot, -1});
    }
    for (const int f : under_way_) {
      const Flight& flight = flights_[at(f)];
      if (flight.state == Flight::issued && flight.ahead >= 0 &&
          flights_[at(flight.ahead)].state != Flight::ended)
        continue;
      constexpr Hold::Where kBefore[] = {Hold::waits, Hold::reads, Hold::writes, Hold::end};
      if (holding && held(kBefore[flight.state], flight.op, flight.iteration)) continue;
      all.push_back({-1, f});
    }
    return all;
  }

  bool held(Hold::Where where, int op, std::int64_t iteration) const {
    if (!course_.hold) return false;
    const Hold& hold = *course_.hold;
    if (hold.where != where || hold.op != op || hold.iteration != iteration) return false;
    return !ended_.contains({hold.until_op, hold.until_iteration});
  }

  /// May the slot go on beyond this wait, by what the hardware sees?
  bool passes(const Step& now) {
    const Wait& wait = p_.waits[at(now.wait)];
    const Event& event = p_.events[at(wait.event)];
    const std::int64_t other = now.iteration - wait.offset;
    const std::string what = p_.ops[at(now.op)].id + "[" + std::to_string(now.iteration) +
                             "] waits for " + p_.ops[at(event.op)].id + "[" +
                             std::to_string(other) + "]";
    if (event.pending) {
      if (ended_.contains({event.op, other})) return true;
      if (!issued_.contains({event.op, other})) {
        fault("pending", what + ", which is not issued: nothing is counted");
        return false;
      }
      return false;
    }
    const std::int64_t phase = other / event.phases;
    const Barrier& barrier =
        barriers_[at(wait.event)][static_cast<std::size_t>(other % event.phases)];
    const bool through = (barrier.completed & 1) != (phase & 1);
    if (through != (barrier.completed > phase) || barrier.completed > phase + 1)
      fault("overrun", what + ", phase " + std::to_string(phase) + ", when " +
                           std::to_string(barrier.completed) + " phases are complete: it " +
                           (through ? "passes" : "does not pass"));
    return through;
  }

  void advance(int slot) {
    const Step now = code_[at(slot)][next_[at(slot)]++];
    if (now.wait >= 0) return;
    const Op& op = p_.ops[at(now.op)];
    issued_.insert({now.op, now.iteration});
    Flight flight;
    flight.op = now.op;
    flight.iteration = now.iteration;
    if (!op.queue.empty()) {
      const auto [last, first] =
          last_in_[at(slot)].try_emplace(op.queue, static_cast<int>(flights_.size()));
      if (!first) {
        flight.ahead = last->second;
        last->second = static_cast<int>(flights_.size());
      }
    }
    flights_.push_back(std::move(flight));
    const int f = static_cast<int>(flights_.size()) - 1;
    under_way_.push_back(f);
    if (op.ending != Ending::at_once) return;
    while (flights_[at(f)].state != Flight::ended && result_.fault.empty()) advance_flight(f);
  }

  void advance_flight(int f) {
    Flight& flight = flights_[at(f)];
    const Op& op = p_.ops[at(flight.op)];
    switch (flight.state) {
      case Flight::issued:
        if (op.ending != Ending::at_once && course_.pace != Pace::eager &&
            (course_.pace == Pace::late || random_.below(2) == 0))
          spoil(flight);
        flight.state = Flight::begun;
        break;
      case Flight::begun:
        flight.numbers = compute(flight.op, flight.iteration);
        flight.state = Flight::read;
        break;
      case Flight::read:
        for (const int s : op.writes) contents_.write(s, flight.iteration, flight.numbers);
        store(flight);
        flight.numbers = {};
        flight.state = Flight::written;
        break;
      case Flight::written:
        flight.state = Flight::ended;
        std::erase(under_way_, f);
        ended_.insert({flight.op, flight.iteration});
        arrive(flight);
        break;
      case Flight::ended: break;
    }
  }

  /// What an op in flight will write is garbage from now on, but not what it reads itself.
  void spoil(const Flight& flight) {
    const Op& op = p_.ops[at(flight.op)];
    for (const int s : op.writes) {
      const bool own = std::any_of(op.reads.begin(), op.reads.end(), [&](const Read& r) {
        return contents_.meet(s, flight.iteration, r.storage, flight.iteration - r.distance);
      });
      if (!own) contents_.spoil(s, flight.iteration);
    }
  }

  void store(const Flight& flight) {
    const meaning::Value& value = m_.values[at(links_.result[at(flight.op)])];
    if (value.function == Function::store)
      result_.outputs[at(value.tensor)][static_cast<std::size_t>(flight.iteration)] =
          flight.numbers;
  }

  void arrive(const Flight& flight) {
    for (int e = 0; e < static_cast<int>(p_.events.size()); ++e) {
      const Event& event = p_.events[at(e)];
      if (!ends(event, flight.op) || event.pending) continue;
      Barrier& barrier =
          barriers_[at(e)][static_cast<std::size_t>(flight.iteration % event.phases)];
      ++barrier.arrivals;
      if (p_.ops[at(flight.op)].ending == Ending::transaction)
        for (const int s : p_.ops[at(flight.op)].writes)
          if (p_.storages[at(s)].kind == Storage::in_memory)
            barrier.bytes += p_.storages[at(s)].size;
      if (barrier.arrivals < event.arrivals || barrier.bytes != event.bytes) continue;
      barrier.arrivals = 0;
      barrier.bytes = 0;
      ++barrier.completed;
    }
  }

  void hang() {
    std::string text;
    for (std::size_t slot = 0; slot < code_.size(); ++slot) {
      if (next_[slot] == code_[slot].size()) continue;
      const Step& now = code_[slot][next_[slot]];
      const Event& event = p_.events[at(p_.waits[at(now.wait)].event)];
      text += (text.empty() ? "" : "; ") + p_.slots[slot].name + " before " +
              p_.ops[at(now.op)].id + "[" + std::to_string(now.iteration) + "] waits for " +
              p_.ops[at(event.op)].id + "[" +
              std::to_string(now.iteration - p_.waits[at(now.wait)].offset) + "]";
    }
    if (!text.empty()) fault("hang", text);
  }

  void fault(const std::string& what, const std::string& text) {
    if (!result_.fault.empty()) return;
    result_.fault = what;
    result_.text = text;
  }

  using Name = std::pair<int, std::int64_t>;  // op, iteration

  const Program& p_;
  const Meaning& m_;
  const Links& links_;
  int n_;
  const meaning::TensorTiles& inputs_;
  const Course& course_;
  SplitMix64 random_;
  Contents contents_;
  Execution result_;
  std::vector<bool> lone_;                                 ///< per value (lone_views.hpp)
  std::map<std::pair<int, std::int64_t>, Numbers> known_;  ///< of those, by iteration
  /// Values that no op runs, of an iteration, as the op that is computed sees them.
  std::map<std::pair<int, std::int64_t>, Numbers> viewed_;
  std::vector<Numbers> fixed_;                       ///< values of before and after the loop
  std::vector<std::vector<Step>> code_;              ///< per slot
  std::vector<std::size_t> next_;                    ///< per slot, the step that it has come to
  std::vector<int> turn_;                            ///< slots
  std::vector<std::map<std::string, int>> last_in_;  ///< per slot and queue, a flight
  std::vector<Flight> flights_;
  std::vector<int> under_way_;  ///< flights that have not ended
  std::set<Name> issued_, ended_;
  std::vector<std::vector<Barrier>> barriers_;  ///< per event
};

}  // namespace

Execution execute(const Program& program, int n, const meaning::TensorTiles& inputs,
                  const Course& course) {
  Links links;
  if (const auto no = link(program, links)) return {"program", *no, {}};
  return Executor(program, links, n, inputs, course).run();
}

}  // namespace twill::program
