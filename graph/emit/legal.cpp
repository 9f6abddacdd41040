#include "graph/emit/legal.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "graph/emit/tile_chain.hpp"
#include "graph/emit/warp_product.hpp"
#include "graph/index.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/pending_event.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Operand;
using program::Ending;
using program::Event;
using program::Need;
using program::Program;
using program::Refusal;
using program::Storage;
using program::Wait;

// Groups of bulk stores end in the order of their issue.
constexpr const char* kStores = "bulk stores";

/// Where a release can stand: before an op of its slot, in a stage.
struct Place {
  int before = 0;  ///< op; a product's own place + 1: after it
  int stage = 0;
  int wait = -1;  ///< a pending wait of `before` that tells the end already; -1 = there is none
};

class Legalizer {
 public:
  Legalizer(const Program& given, const program::Links& links, bool tiles)
      : links_(links), tiles_(tiles) {
    legal_.program = given;
    // The target allocates barriers itself; limits.cpp counts them. Those that are added or get
    // more phases here would not be where the program has room for them.
    for (Event& event : legal_.program.events) event.address = -1;
    for (int v = 0; v < static_cast<int>(given.ops.size()); ++v) {
      legal_.source.push_back(v);
      legal_.release_of.push_back(-1);
    }
  }

  std::variant<LegalProgram, Refusal> run() {
    for (const Event& event : legal_.program.events)
      if (!event.with.empty())
        return Refusal{"barrier", "several ops arrive on the barrier of " +
                                      legal_.program.ops[at(event.op)].id +
                                      " (--merge): text has one for each"};
    if (auto no = target()) return *no;
    Program& p = legal_.program;
    p.meaning.reset();
    end_at_once();
    count_stores();
    read_where_used();
    if (legal_.target == Target::blackwell) {
      join_accumulators();
      for (int e = 0; e < static_cast<int>(p.events.size()); ++e)
        if (p.events[at(e)].pending && !is_store(p.events[at(e)].op)) count_on_barrier(e);
      drop_implied_waits();
      drop_unused_events();
      fuse();
    } else {
      rename_registers();
      for (int e = 0; e < static_cast<int>(p.events.size()); ++e)
        if (!p.events[at(e)].pending && is_product(p.events[at(e)].op))
          if (auto no = release(e)) return *no;
    }
    // (A release adds an event at the end at most, and that one is pending.)
    for (int e = 0; e < static_cast<int>(p.events.size()); ++e)
      if (!p.events[at(e)].pending && is_store(p.events[at(e)].op))
        if (auto no = release(e)) return *no;
    if (auto fault = settle(p)) return Refusal{"release", fault->rule + ": " + fault->text};
    return std::move(legal_);
  }

 private:
  bool is_product(int op) const {
    const int source = legal_.source[at(op)];
    return source >= 0 && legal_.program.ops[at(op)].ending == Ending::pending &&
           value(source).function == Function::product;
  }
  bool is_store(int op) const { return bulk_stores_.contains(legal_.source[at(op)]); }
  const meaning::Value& value(int source) const {
    return meaning_->values[at(links_.result[at(source)])];
  }

  std::optional<Refusal> target() {
    Program& p = legal_.program;
    meaning_ = *p.meaning;
    bool in_registers = false, in_tmem = false;
    legal_.by_warps.assign(p.ops.size(), false);
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
      if (value(v).function != Function::product) continue;
      legal_.by_warps[at(v)] = is_warp_product(p, *meaning_, links_, v);
      if (legal_.by_warps[at(v)]) continue;
      for (const int s : p.ops[at(v)].writes) {
        const Storage& storage = p.storages[at(s)];
        if (storage.kind == Storage::in_registers) in_registers = true;
        if (storage.kind == Storage::in_memory && p.memories[at(storage.memory)].name == "tmem")
          in_tmem = true;
      }
    }
    if (in_registers && in_tmem)
      return Refusal{"target",
                     "it has products in registers (Hopper) and in tensor memory "
                     "(Blackwell)"};
    // Without a product the machine's memories say it.
    if (!in_registers && !in_tmem)
      in_tmem = std::any_of(p.memories.begin(), p.memories.end(),
                            [](const program::Memory& one) { return one.name == "tmem"; });
    legal_.target = in_tmem ? Target::blackwell : Target::hopper;
    return std::nullopt;
  }

  // ---- what ends where it is

  /// Accesses of tensor memory, and products of the slot's own warps.
  void end_at_once() {
    Program& p = legal_.program;
    std::set<int>& ended = ended_at_once_;
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
      program::Op& op = p.ops[at(v)];
      const bool product = value(v).function == Function::product;
      if (op.ending != Ending::pending || (product && !legal_.by_warps[at(v)])) continue;
      op.ending = Ending::at_once;
      op.queue.clear();
      if (product) op.async_proxy = false;
      ended.insert(v);
    }
    std::erase_if(p.waits, [&](const Wait& wait) {
      const Event& event = p.events[at(wait.event)];
      return event.pending && ended.contains(event.op);
    });
    drop_unused_events();
  }

  /// Ops that end at once do so in their slot's order: a wait for a later one covers them.
  void drop_implied_waits() {
    Program& p = legal_.program;
    if (judged(p)) return;  // (more phases are needed first)
    for (int w = static_cast<int>(p.waits.size()) - 1; w >= 0; --w) {
      if (!ended_at_once_.contains(p.events[at(p.waits[at(w)].event)].op)) continue;
      Program tried = p;
      tried.waits.erase(tried.waits.begin() + w);
      if (!judged(tried)) p = std::move(tried);
    }
  }

  void drop_unused_events() {
    Program& p = legal_.program;
    std::vector<bool> used(p.events.size(), false);
    for (const Wait& wait : p.waits) used[at(wait.event)] = true;
    std::vector<int> index(p.events.size(), -1);
    std::vector<Event> kept;
    for (std::size_t e = 0; e < p.events.size(); ++e)
      if (used[e]) {
        index[e] = static_cast<int>(kept.size());
        kept.push_back(p.events[e]);
      }
    p.events = std::move(kept);
    for (Wait& wait : p.waits) wait.event = index[at(wait.event)];
  }

  // ---- bulk stores

  /// A bulk store tells no barrier of its end: its slot waits for its groups, which end in order,
  /// by a pending count (PTX ISA, cp.async.bulk.wait_group).
  void count_stores() {
    Program& p = legal_.program;
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
      if (value(v).function != Function::store || p.ops[at(v)].ending != Ending::transaction)
        continue;
      bulk_stores_.insert(v);
      p.ops[at(v)].ending = Ending::pending;
      p.ops[at(v)].queue = kStores;
      for (int e = 0; e < static_cast<int>(p.events.size()); ++e) {
        if (p.events[at(e)].op != v || p.events[at(e)].pending) continue;
        p.events[at(e)].bytes = 0;
        for (std::size_t w = 0; w < p.waits.size(); ++w)
          if (p.waits[w].event == e && p.ops[at(p.waits[w].before)].slot == p.ops[at(v)].slot)
            p.waits[w].event = program::pending_event(p, v);
      }
    }
    drop_unused_events();
  }

  // ---- vectors along columns

  void read_where_used() {
    legal_.read_again.assign(legal_.source.size(), false);
    for (int v = 0; v < static_cast<int>(legal_.program.ops.size()); ++v) {
      const program::Op& op = legal_.program.ops[at(v)];
      if (links_.values[at(v)].size() != 1 || value(v).function != Function::copy ||
          value(v).shape.size() != 1 || value(v).type != "f32" || op.reads.size() != 1 ||
          op.writes.size() != 1 || !in_memory(op.reads.front().storage) ||
          in_memory(op.writes.front()))
        continue;
      const std::vector<int> users = users_along_columns(v);
      if (users.empty()) continue;
      const Program before = legal_.program;
      const auto refused = [&] {
        const auto fault = judged(legal_.program);
        return fault && fault->rule != "phase";
      };
      const int last = read_by(v, users);
      // (Another wait may have been for the earlier read, too.)
      if (refused()) wait_for_reader(last, op_reads(before, v).storage);
      legal_.read_again[at(v)] = !refused();
      if (!legal_.read_again[at(v)]) legal_.program = before;
    }
  }
  bool in_memory(int storage) const {
    return legal_.program.storages[at(storage)].kind == Storage::in_memory;
  }
  /// Ops that use the vector of op `of` in its own iteration; none if one uses it otherwise.
  std::vector<int> users_along_columns(int of) const {
    std::vector<int> users;
    const Program& p = legal_.program;
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v)
      for (const int one : links_.values[at(v)])
        for (const Operand& operand : meaning_->values[at(one)].operands) {
          if (operand.value != links_.result[at(of)]) continue;
          if (!operand.along_columns || operand.distance != 0 ||
              p.ops[at(v)].slot != p.ops[at(of)].slot)
            return {};
          if (users.empty() || users.back() != v) users.push_back(v);
        }
    return users;
  }
  static const program::Read& op_reads(const Program& p, int op) {
    return p.ops[at(op)].reads.front();
  }
  int barrier_of(int op) const {
    const auto& events = legal_.program.events;
    for (int e = 0; e < static_cast<int>(events.size()); ++e)
      if (events[at(e)].op == op && !events[at(e)].pending) return e;
    return -1;
  }
  /// Who writes the storage waits for its copy's reader.
  void wait_for_reader(int reader, int storage) {
    Program& p = legal_.program;
    int event = barrier_of(reader);
    if (event < 0) {
      event = static_cast<int>(p.events.size());
      Event made;
      made.op = reader;
      made.consumed = true;
      made.phases = made.arrivals = 1;
      p.events.push_back(made);
    }
    for (int w = 0; w < static_cast<int>(p.ops.size()); ++w)
      if (std::find(p.ops[at(w)].writes.begin(), p.ops[at(w)].writes.end(), storage) !=
          p.ops[at(w)].writes.end())
        p.waits.push_back({w, event, p.storages[at(storage)].depth, Need::war, storage});
    std::stable_sort(p.waits.begin(), p.waits.end(),
                     [](const Wait& a, const Wait& b) { return a.before < b.before; });
  }
  /// Returns the user that comes last.
  int read_by(int op, const std::vector<int>& users) {
    Program& p = legal_.program;
    const program::Read from = p.ops[at(op)].reads.front();
    int last = users.front();
    for (const int user : users) {
      auto& reads = p.ops[at(user)].reads;
      if (std::find(reads.begin(), reads.end(), from) == reads.end()) reads.push_back(from);
      if (std::pair(p.ops[at(user)].stage, user) > std::pair(p.ops[at(last)].stage, last))
        last = user;
    }
    // Who writes the vector again waits for the last of them.
    for (int e = 0; e < static_cast<int>(p.events.size()); ++e) {
      if (p.events[at(e)].op != op || p.events[at(e)].pending) continue;
      const int there = barrier_of(last);
      if (there < 0) {
        p.events[at(e)].op = last;
        continue;
      }
      p.events[at(there)].consumed = p.events[at(there)].consumed && p.events[at(e)].consumed;
      for (Wait& wait : p.waits)
        if (wait.event == e) wait.event = there;
    }
    drop_unused_events();
    return last;
  }

  // ---- Blackwell

  /// tcgen05.mma adds in place: what it adds to gets its result's address.
  void join_accumulators() {
    Program& p = legal_.program;
    for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
      const meaning::Value& product = value(v);
      if (product.function != Function::product || product.operands.size() != 3 ||
          legal_.by_warps[at(v)])
        continue;
      const Operand& sum = product.operands[2];
      if (sum.value < 0 || !meaning_->in_loop(sum.value)) continue;
      const int from = links_.runner[at(sum.value)];
      if (from < 0 || from == v || p.ops[at(v)].writes.size() != 1) continue;
      std::vector<int> added = program::storages_read(p, v, from, sum.distance);
      // (On its own slot the result is in registers, too.)
      std::erase_if(added, [&](int s) { return p.storages[at(s)].kind != Storage::in_memory; });
      if (added.size() != 1) continue;
      const int a = added.front(), b = p.ops[at(v)].writes.front();
      Storage &first = p.storages[at(a)], &second = p.storages[at(b)];
      if (first.kind != Storage::in_memory || second.kind != Storage::in_memory ||
          first.memory != second.memory || first.size != second.size ||
          first.depth != second.depth || first.base == second.base || !first.shares.empty())
        continue;
      const Program before = p;
      first.base = second.base;
      first.alignment = second.alignment;
      first.shares = second.shares;
      first.shares.push_back(b);
      std::sort(first.shares.begin(), first.shares.end());
      for (const int other : first.shares) {
        std::vector<int>& shares = p.storages[at(other)].shares;
        shares.push_back(a);
        std::sort(shares.begin(), shares.end());
      }
      program::Op& op = p.ops[at(v)];
      op.in_place.push_back(a);
      std::sort(op.in_place.begin(), op.in_place.end());
      write_in_place(from, b);
      if (const auto fault = judged(p); fault && fault->rule != "phase") p = before;
    }
  }

  /// Who reads a tile and writes it back element by element may write over it: what is read is in
  /// registers by then.
  void write_in_place(int op, int storage) {
    program::Op& writer = legal_.program.ops[at(op)];
    const bool reads =
        std::any_of(writer.reads.begin(), writer.reads.end(),
                    [&](const program::Read& read) { return read.storage == storage; });
    const auto& chain = links_.values[at(op)];
    const bool by_elements = std::all_of(chain.begin(), chain.end(), [&](int v) {
      const meaning::Value& value = meaning_->values[at(v)];
      return meaning::is_elementwise(value.function) &&
             std::none_of(value.operands.begin(), value.operands.end(),
                          [](const Operand& one) { return one.transposed || one.columns > 0; });
    });
    auto& in_place = writer.in_place;
    if (!reads || !by_elements || writer.ending != Ending::at_once ||
        std::find(in_place.begin(), in_place.end(), storage) != in_place.end())
      return;
    in_place.push_back(storage);
    std::sort(in_place.begin(), in_place.end());
  }

  /// Each chain over a tile in tensor memory, with all its waits before the load.
  void fuse() {
    Program& p = legal_.program;
    for (int a = 0; a + 2 < static_cast<int>(p.ops.size()); ++a) {
      if (!is_tile_chain(p, *meaning_, links_, a)) continue;
      const Program before = p;
      for (Wait& wait : p.waits)
        if (wait.before == a + 1 || wait.before == a + 2) wait.before = a;
      std::stable_sort(p.waits.begin(), p.waits.end(),
                       [](const Wait& x, const Wait& y) { return x.before < y.before; });
      if (const auto fault = judged(p); fault && fault->rule != "phase")
        p = before;
      else
        legal_.fused.push_back({a, a + 1, a + 2});
    }
  }

  void count_on_barrier(int pending) {
    Program& p = legal_.program;
    int barrier = -1;
    for (int e = 0; e < static_cast<int>(p.events.size()); ++e)
      if (!p.events[at(e)].pending && p.events[at(e)].op == p.events[at(pending)].op) barrier = e;
    if (barrier < 0) {
      Event& event = p.events[at(pending)];
      event.pending = false;
      event.phases = event.arrivals = 1;
      return;
    }
    for (Wait& wait : p.waits)
      if (wait.event == pending) wait.event = barrier;
    p.events[at(barrier)].consumed =
        p.events[at(barrier)].consumed && p.events[at(pending)].consumed;
  }

  // ---- Hopper

  /// A wait for a product that reads what is written next in registers: others are taken.
  void rename_registers() {
    Program& p = legal_.program;
    for (int w = 0; w < static_cast<int>(p.waits.size()); ++w) {
      const Wait& wait = p.waits[at(w)];
      if (!p.events[at(wait.event)].pending || wait.need != Need::war || wait.storage < 0 ||
          p.storages[at(wait.storage)].kind != Storage::in_registers)
        continue;
      const Wait removed = wait;
      Program tried = p;
      ++tried.storages[at(removed.storage)].depth;
      tried.waits.erase(tried.waits.begin() + w);
      if (judged(tried)) {
        // It was also for those that read the result: these get waits of their own.
        const int product = p.events[at(removed.event)].op;
        for (int r = 0; r < static_cast<int>(p.ops.size()); ++r)
          for (const program::Read& read : p.ops[at(r)].reads)
            if (p.ops[at(r)].slot == p.ops[at(product)].slot && r != product &&
                std::find(p.ops[at(product)].writes.begin(), p.ops[at(product)].writes.end(),
                          read.storage) != p.ops[at(product)].writes.end())
              tried.waits.push_back({r, removed.event, read.distance, Need::raw, read.storage});
        std::stable_sort(tried.waits.begin(), tried.waits.end(),
                         [](const Wait& x, const Wait& y) { return x.before < y.before; });
        if (judged(tried)) continue;
      }
      p = std::move(tried);
      w = -1;  // (each time a wait of this kind less)
    }
    drop_unused_events();
  }

  std::optional<Refusal> release(int event) {
    const Program before = legal_.program;
    const std::vector<int> source = legal_.source, release_of = legal_.release_of;
    const std::vector<std::vector<int>> fused = legal_.fused;
    std::string text = "no place for it";
    for (const Place& place : places(legal_.program.events[at(event)].op)) {
      insert(event, place);
      Program tried = legal_.program;
      const auto fault = settle(tried);
      if (!fault) return std::nullopt;
      text = fault->rule + ": " + fault->text;
      legal_.program = before;
      legal_.source = source;
      legal_.release_of = release_of;
      legal_.fused = fused;
    }
    return Refusal{"release", "the end of " + before.ops[at(before.events[at(event)].op)].id +
                                  " cannot be told to a barrier by its own threads: " + text};
  }

  std::vector<Place> places(int product) const {
    const Program& p = legal_.program;
    const program::Op& x = p.ops[at(product)];
    std::vector<Place> all;
    for (int w = 0; w < static_cast<int>(p.waits.size()); ++w) {
      const Wait& wait = p.waits[at(w)];
      const Event& event = p.events[at(wait.event)];
      const program::Op &o = p.ops[at(wait.before)], &y = p.ops[at(event.op)];
      if (!event.pending || o.slot != x.slot || y.queue != x.queue) continue;
      // In period t, o is of iteration t - o.stage and y, which has ended, of `offset` before. Of
      // x, what was issued no later than that y.
      const int stage = o.stage + wait.offset - y.stage + x.stage + (product > event.op ? 1 : 0);
      if (stage >= x.stage) all.push_back({wait.before, stage, w});
    }
    std::stable_sort(all.begin(), all.end(), [](const Place& a, const Place& b) {
      return std::tie(a.stage, a.before) < std::tie(b.stage, b.before);
    });
    if (is_store(product)) {
      // Where the slot next has something to wait for anyway: before its next store, or earlier in
      // that period; before, the slot would stand still.
      int first = product;
      while (first > 0 && p.ops[at(first - 1)].slot == x.slot) --first;
      all.push_back({product + 1, x.stage + 1, -1});
      for (int v = product; v >= first; --v) all.push_back({v, x.stage + 1, -1});
    }
    // Where nobody waits: a product later, so that one stays in flight; or in the same period, as
    // late as others can bear; or right before the next one.
    all.push_back({product + 1, x.stage + 1, -1});
    int last = product;
    while (last + 1 < static_cast<int>(p.ops.size()) && p.ops[at(last + 1)].slot == x.slot) ++last;
    for (int v = last; v >= product; --v) all.push_back({v + 1, x.stage, -1});
    all.push_back({product, x.stage + 1, -1});
    return all;
  }

  void insert(int event, const Place& place) {
    Program& p = legal_.program;
    const int product = p.events[at(event)].op;
    const int here = place.before;
    program::Op op;
    op.id = "release of " + p.ops[at(product)].id;
    while (std::any_of(p.ops.begin(), p.ops.end(),
                       [&](const program::Op& other) { return other.id == op.id; }))
      op.id += "'";
    op.slot = p.ops[at(product)].slot;
    op.stage = place.stage;
    p.ops.insert(p.ops.begin() + here, op);
    legal_.source.insert(legal_.source.begin() + here, -1);
    for (int& other : legal_.release_of)
      if (other >= here) ++other;
    const auto moved = [&](int v) { return v >= here ? v + 1 : v; };
    legal_.release_of.insert(legal_.release_of.begin() + here, moved(product));
    for (Wait& wait : p.waits) wait.before = moved(wait.before);
    for (Event& one : p.events) one.op = moved(one.op);
    p.events[at(event)].op = here;
    for (std::vector<int>& ops : legal_.fused)
      for (int& one : ops) one = moved(one);
    // Its wait: the one that was there, now before the release, or one of its own.
    Wait wait{here, 0, 0, Need::turn, -1};
    if (place.wait >= 0) {
      const Wait& was = p.waits[at(place.wait)];
      wait.event = was.event;
      wait.offset = p.ops[at(was.before)].stage + was.offset - place.stage;
      wait.need = was.need;
      wait.storage = was.storage;
      p.waits.erase(p.waits.begin() + place.wait);
    } else {
      wait.event = program::pending_event(p, moved(product));
    }
    p.waits.push_back(wait);
    std::stable_sort(p.waits.begin(), p.waits.end(),
                     [](const Wait& a, const Wait& b) { return a.before < b.before; });
  }

  // ---- phases

  std::optional<program::Fault> judged(const Program& p) const {
    auto fault = program::judge(p);
    return fault || !tiles_ ? fault : program::judge_tiles(p);
  }

  /// The judge's last word, with as many more phases as the barriers need.
  std::optional<program::Fault> settle(Program& p) const {
    int most = program::stage_count(p) + 2;
    for (const Storage& s : p.storages)
      most = std::max(most, program::stage_count(p) + s.depth + 1);
    std::optional<program::Fault> fault = judged(p);
    for (int more = 1; fault && fault->rule == "phase" && more <= most; ++more) {
      for (Event& event : p.events)
        if (!event.pending) ++event.phases;
      fault = judged(p);
    }
    if (fault) return fault;
    // Back to the least of each, one after the other: by halves, as there are as many as stages.
    for (Event& event : p.events) {
      int least = 1, enough = event.phases;
      while (!event.pending && least < enough) {
        event.phases = least + (enough - least) / 2;
        if (judged(p))
          least = event.phases + 1;
        else
          enough = event.phases;
      }
      event.phases = enough;
    }
    return std::nullopt;
  }

  const program::Links& links_;
  bool tiles_;
  std::optional<meaning::Meaning> meaning_;
  LegalProgram legal_;
  std::set<int> bulk_stores_;    ///< of the given program
  std::set<int> ended_at_once_;  ///< ops that were said to end later
};

}  // namespace

std::variant<LegalProgram, Refusal> make_legal(const Program& program, const program::Links& links,
                                               bool tiles) {
  return Legalizer(program, links, tiles).run();
}

}  // namespace twill::emit
