#include "graph/ttgir/turns.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "graph/index.hpp"
#include "graph/ttgir/buffers.hpp"
#include "graph/ttgir/demand.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/partition_pins.hpp"
#include "graph/ttgir/within.hpp"

namespace twill::ttgir {
namespace {

constexpr std::int64_t kTrips = 48;  // iterations played; what repeats is seen by half of them
constexpr std::int64_t kFirst = 24;
constexpr std::size_t kMostOrdered = 6;  // partitions: 64 ways

/// Where something is done: the place that the pipeliner gives it, then the order of the text.
struct Spot {
  Cycle stage = 0;
  int cluster = 0;
  int line = 0;   ///< of the body: the index of an op
  int order = 0;  ///< before (< 0) or behind it
};

enum class Does { runs, waits, signals };

struct Action {
  Spot spot;
  Does does = Does::runs;
  int what = 0;            ///< an op, or what is waited for or signalled
  std::int64_t ahead = 0;  ///< the wait of iteration i is for signal i + ahead
  int by = kNone;          ///< a signal: the op that it comes with, `after` cycles
  Cycle after = 0;
};

class Player {
 public:
  Player(const LoweredModule& lowered, const Problem& problem, const Placer& placer,
         std::int64_t depth)
      : m_(lowered.module), problem_(problem), placer_(placer), depth_(depth) {
    const std::vector<int>& body = placer.body();
    for (std::size_t k = 0; k < body.size(); ++k) {
      line_[body[k]] = static_cast<int>(k);
      if (class_of(m_.op(body[k])) == OpClass::terminator) continue;
      each_within(m_, body[k], [&](int inner) {
        for (const int value : m_.op(inner).operands) {
          std::vector<int>& users = users_[value];
          if (users.empty() || users.back() != body[k]) users.push_back(body[k]);
        }
      });
    }
    arguments_ = m_.block(m_.op(body.front()).block).arguments;
    for (const int op : body) {
      if (class_of(m_.op(op)) == OpClass::terminator) continue;
      for (const int id : placer.demand().partitions(op)) add(id, {place(op, 0), Does::runs, op});
      hand_on(op);
    }
    for (const int op : body)
      if (class_of(m_.op(op)) == OpClass::tmem_alloc) share_filled(op);
    share_tensor_memory();
    for (auto& [id, actions] : actions_)
      std::stable_sort(actions.begin(), actions.end(), [](const Action& a, const Action& b) {
        return std::tuple(a.spot.cluster, a.spot.line, a.spot.order) <
               std::tuple(b.spot.cluster, b.spot.line, b.spot.order);
      });
    for (const Edge& edge : problem.edges) before_[edge.to].push_back(&edge);
  }

  Turns play() {
    Turns turns;
    std::vector<Thread> threads;
    for (const auto& [id, actions] : actions_) threads.push_back({&actions});
    const std::int64_t trips = kTrips + placer_.stages() - 1;
    for (bool moved = true; moved;) {
      moved = false;
      for (Thread& thread : threads)
        while (thread.trip < trips && step(thread)) moved = true;
    }
    Cycle first = 0, last = 0;
    for (const Thread& thread : threads) {
      turns.ends = turns.ends && thread.trip == trips;
      first = std::max(first, thread.first);
      last = std::max(last, thread.last);
    }
    turns.interval = (last - first + kTrips - kFirst - 1) / (kTrips - kFirst);
    return turns;
  }

 private:
  struct Thread {
    const std::vector<Action>* actions = nullptr;
    std::int64_t trip = 0;
    std::size_t at = 0;
    Cycle time = 0;   ///< when the next thing can be issued
    Cycle busy = 0;   ///< until when something is executed
    Cycle first = 0;  ///< the time of trip kFirst
    Cycle last = 0;   ///< the time of trip kTrips
  };

  void add(int partition, Action action) { actions_[partition].push_back(action); }

  Spot place(int op, int order) const {
    const Place& p = placer_.place(op);
    return {p.stage, p.cluster, line_.at(op), order};
  }
  /// The place of one op, in the text behind or before another.
  Spot place_at(int op, int where, int order) const {
    Spot spot = place(op, order);
    spot.line = where == kNone ? static_cast<int>(placer_.body().size()) : line_.at(where);
    return spot;
  }

  bool earlier(int a, int b) const {
    const Place &p = placer_.place(a), &q = placer_.place(b);
    return std::tuple(p.stage, p.cluster, line_.at(a)) <
           std::tuple(q.stage, q.cluster, line_.at(b));
  }

  /// Those that use a value by partition, other than its own; behind views of buffers and, of a
  /// load, behind its allocation.
  std::map<int, std::vector<int>> takers(int value, const std::set<int>& own) const {
    std::map<int, std::vector<int>> found;
    std::vector<int> values = {value};
    for (std::size_t k = 0; k < values.size(); ++k) {
      const auto users = users_.find(values[k]);
      if (users == users_.end()) continue;
      for (const int user : users->second) {
        const Operation& o = m_.op(user);
        const bool passes = o.name.starts_with("ttg.memdesc_") || o.name == "ttng.tmem_subslice" ||
                            (o.name == "ttg.local_alloc" && is_descriptor_load(value));
        if (passes) {
          for (const int result : o.results) values.push_back(result);
          continue;
        }
        for (const int id : placer_.demand().partitions(user))
          if (own.count(id) == 0) found[id].push_back(user);
      }
    }
    return found;
  }

  bool is_descriptor_load(int value) const {
    const int made = m_.value(value).op;
    return made != kNone && class_of(m_.op(made)) == OpClass::load && m_.op(made).name != "tt.load";
  }

  Cycle cycles(int op) const {
    const int v = placer_.problem_op(op);
    return v < 0 ? 0 : problem_.ops[at(v)].cycles;
  }

  /// A ring of buffers from an op to those that take what is in it.
  void ring(int partition, const Spot& enter, const Spot& exit, int op, std::int64_t depth,
            const std::map<int, std::vector<int>>& groups, bool memory) {
    const int filled = next_signal_++;
    for (const auto& [id, users] : groups) {
      int first = users.front(), last = users.front(), written = users.front(), end = first;
      for (const int user : users) {
        if (earlier(user, first)) first = user;
        if (earlier(last, user)) last = user;
        if (line_.at(user) < line_.at(written)) written = user;
        if (line_.at(user) > line_.at(end)) end = user;
      }
      const int emptied = next_signal_++;
      add(partition, {enter, Does::waits, emptied, -depth});
      add(id, {place_at(first, written, -2), Does::waits, filled, 0});
      // A tile is read at once; of a buffer the last that reads it says so, once it is done.
      if (memory)
        add(id, {place_at(last, end, 2), Does::signals, emptied, 0, last, cycles(last)});
      else
        add(id, {place_at(last, written, -1), Does::signals, emptied, 0});
    }
    add(partition, {exit, Does::signals, filled, 0, op, latency(op)});
  }

  /// From an op's issue to when others may read its result.
  Cycle latency(int op) const {
    if (op == kNone) return 0;
    const int v = placer_.problem_op(op);
    Cycle longest = 0;
    for (const Edge& edge : problem_.edges)
      if (edge.from == v) longest = std::max(longest, edge.delay);
    return v < 0 ? 0 : std::max(longest, problem_.ops[at(v)].cycles) + problem_.ops[at(v)].spill;
  }

  void hand_on(int op) {
    const Operation& o = m_.op(op);
    const std::set<int>& own = placer_.demand().partitions(op);
    if (own.empty() || class_of(o) == OpClass::tmem_alloc) return;
    for (const int value : o.results) {
      const Type* type = m_.type_of(value);
      if (type == nullptr || type->kind == TypeKind::token) continue;
      const bool buffer = type->kind == TypeKind::memdesc;
      if (buffer &&
          (o.name != "ttg.local_alloc" || o.operands.empty() || is_descriptor_load(o.operands[0])))
        continue;
      const std::map<int, std::vector<int>> groups = takers(value, own);
      if (groups.empty()) continue;
      const bool load = is_descriptor_load(value);
      ring(*own.begin(), place(op, load ? -1 : 1), place(op, 2), op, load ? depth_ : 1, groups,
           buffer || load);
    }
  }

  /// A buffer of tensor memory that is allocated with what is in it.
  void share_filled(int op) {
    const Operation& o = m_.op(op);
    if (o.operands.empty() || o.results.empty()) return;
    const std::set<int>& own = placer_.demand().partitions(op);
    const auto groups = takers(o.results[0], own);
    if (!own.empty() && !groups.empty())
      ring(*own.begin(), place(op, -1), place(op, 1), op, 1, groups, true);
  }

  /// Buffers of tensor memory that are passed on by a token.
  void share_tensor_memory() {
    for (std::size_t k = 1; k < arguments_.size(); ++k) {
      const Type* type = m_.type_of(arguments_[k]);
      if (type == nullptr || type->kind != TypeKind::token) continue;
      std::vector<int> chain;
      int token = arguments_[k];
      for (auto users = users_.find(token); users != users_.end(); users = users_.find(token)) {
        const int user = users->second.front();
        if (placer_.demand().partitions(user).size() != 1 || chain.size() > line_.size()) break;
        chain.push_back(user);
        const auto next =
            std::find_if(m_.op(user).results.begin(), m_.op(user).results.end(), [&](int value) {
              return m_.type_of(value) != nullptr && m_.type_of(value)->kind == TypeKind::token;
            });
        if (next == m_.op(user).results.end()) break;
        token = *next;
      }
      pass_on(chain);
    }
  }

  int owner(int op) const { return *placer_.demand().partitions(op).begin(); }

  void pass_on(const std::vector<int>& chain) {
    if (chain.size() < 2) return;
    for (std::size_t k = 0; k < chain.size(); ++k) {
      const bool last = k + 1 == chain.size();
      const int op = chain[k], next = chain[last ? 0 : k + 1];
      if (owner(op) == owner(next)) continue;
      const int given = next_signal_++;
      const bool product = is_tensor_memory_mma(m_.op(op));
      add(owner(op), {place(op, 3), Does::signals, given, 0, op, product ? cycles(op) : 0});
      if (!last)
        add(owner(next), {place(next, -3), Does::waits, given, 0});
      else
        add(owner(next),
            {place_at(next, kNone, 0), Does::waits, given, has_two_buffers(chain) ? -1 : 0});
    }
  }

  /// One product that begins anew each time and then is read: Triton gives it two buffers, where
  /// the loop lets it.
  bool has_two_buffers(const std::vector<int>& chain) const {
    const Operation& product = m_.op(chain[0]);
    return is_tensor_memory_mma(product) && starts_anew(product) &&
           !disallows_second_accumulator(m_, chain[0]) &&
           std::all_of(chain.begin() + 1, chain.end(), [&](int op) {
             return owner(op) == owner(chain[1]) && class_of(m_.op(op)) == OpClass::tmem_load;
           });
  }

  bool starts_anew(const Operation& o) const {
    return std::any_of(o.operands.begin(), o.operands.end(), [&](int value) {
      const int made = m_.value(value).op;
      return made != kNone && m_.op(made).name == "arith.constant" &&
             m_.op(made).literal == "false";
    });
  }

  bool step(Thread& thread) {
    const std::vector<Action>& actions = *thread.actions;
    if (thread.at == actions.size()) {
      thread.at = 0;
      if (++thread.trip == kFirst) thread.first = thread.time;
      if (thread.trip == kTrips) thread.last = thread.time;
      return true;
    }
    const Action& action = actions[thread.at];
    const std::int64_t iteration = thread.trip - action.spot.stage;
    if (iteration < 0 || iteration >= kTrips) {
      ++thread.at;
      return true;
    }
    if (action.does == Does::waits) {
      const std::vector<Cycle>& times = signals_[action.what];
      const std::int64_t wanted = iteration + action.ahead;
      if (wanted >= static_cast<std::int64_t>(times.size())) return false;
      thread.time = std::max(thread.time, thread.busy);
      if (wanted >= 0) thread.time = std::max(thread.time, times[static_cast<std::size_t>(wanted)]);
    } else if (action.does == Does::signals) {
      Cycle time = std::max(thread.time, thread.busy);
      if (action.by != kNone) {
        const auto begun = began_.find({action.by, iteration});
        if (begun != began_.end()) time = std::max(thread.time, begun->second + action.after);
      }
      signals_[action.what].push_back(time);
    } else {
      run(thread, action.what, iteration);
    }
    ++thread.at;
    return true;
  }

  void run(Thread& thread, int op, std::int64_t iteration) {
    const int v = placer_.problem_op(op);
    if (v < 0 || placer_.is_view(op)) {
      began_.emplace(std::pair(op, iteration), thread.time);
      return;
    }
    // (Ops that are one to the schedule begin together.)
    const auto known = problem_began_.find({v, iteration});
    if (known != problem_began_.end()) {
      began_[{op, iteration}] = std::max(known->second, thread.time);
      return;
    }
    Cycle time = thread.time;
    for (const Edge* edge : before_[v])
      if (const auto made = problem_began_.find({edge->from, iteration - edge->distance});
          made != problem_began_.end() && !problem_.ops[at(edge->from)].fills_ring())
        time = std::max(time, made->second + edge->delay);
    const bool product = is_tensor_memory_mma(m_.op(op));
    if (product) time = std::max(time, multiplying_);
    thread.time = time;
    problem_began_[{v, iteration}] = time;
    began_[{op, iteration}] = time;
    if (product)
      multiplying_ = time + cycles(op);
    else if (!problem_.ops[at(v)].variable_latency)
      thread.busy = std::max(thread.busy, time + cycles(op));
  }

  const Module& m_;
  const Problem& problem_;
  const Placer& placer_;
  const std::int64_t depth_;
  int next_signal_ = 0;
  std::vector<int> arguments_;
  std::unordered_map<int, int> line_;
  std::unordered_map<int, std::vector<int>> users_;  // value -> ops of the body, in its order
  std::map<int, std::vector<Action>> actions_;       // by partition
  std::unordered_map<int, std::vector<const Edge*>> before_;
  std::unordered_map<int, std::vector<Cycle>> signals_;
  std::map<std::pair<int, std::int64_t>, Cycle> began_, problem_began_;
  Cycle multiplying_ = 0;  // until when a product is executed
};

}  // namespace

Turns take_turns(const LoweredModule& lowered, const Problem& problem, const Placer& placer,
                 std::int64_t depth) {
  return Player(lowered, problem, placer, depth).play();
}

Settled settle_turns(const LoweredModule& lowered, const Problem& problem, Placer& placer,
                     std::int64_t depth) {
  const Cycle interval = placer.interval();
  const auto key = [&](const Turns& turns, std::size_t changed) {
    return std::tuple(!turns.ends, std::max(turns.interval, interval), changed);
  };
  const Turns scheduled = take_turns(lowered, problem, placer, depth);
  if (scheduled.ends && scheduled.interval <= interval) return {};
  std::vector<int> ids;
  std::map<int, int> ops;
  for (const int op : placer.body())
    if (const std::set<int>& where = placer.demand().partitions(op);
        where.size() == 1 && placer.problem_op(op) >= 0)
      ++ops[*where.begin()];
  for (const auto& [id, count] : ops)
    if (count > 1 && ids.size() < kMostOrdered) ids.push_back(id);
  std::set<int> best;
  Turns least = scheduled;
  for (std::size_t subset = 1; subset < std::size_t{1} << ids.size(); ++subset) {
    std::set<int> changed;
    for (std::size_t k = 0; k < ids.size(); ++k)
      if ((subset >> k & 1) != 0) changed.insert(ids[k]);
    placer.keep_text_order(changed);
    const Turns turns = take_turns(lowered, problem, placer, depth);
    if (key(turns, changed.size()) < key(least, best.size())) {
      least = turns;
      best = std::move(changed);
    }
  }
  if (!least.ends) best.clear();
  placer.keep_text_order(best);
  if (!least.ends) return {false, "Triton's hand-overs would wait for ever"};
  std::string text;
  if (!best.empty()) {
    for (const int id : best) text += (text.empty() ? "" : ", ") + std::to_string(id);
    text = (best.size() == 1 ? "partition " : "partitions ") + text +
           (best.size() == 1 ? " has its" : " have their") +
           " ops in the order of the text: in that of the schedule ";
    text += scheduled.ends ? "an iteration would take " + std::to_string(scheduled.interval) +
                                 " cycles of hand-overs"
                           : "Triton's hand-overs would wait for ever";
    if (least.interval > interval) text += "; ";
  }
  if (least.interval > interval)
    text += "Triton's hand-overs, through one buffer each, take " + std::to_string(least.interval) +
            " cycles an iteration, the schedule " + std::to_string(interval);
  return {true, text};
}

}  // namespace twill::ttgir
