#include "engine/output/text_program.hpp"

#include <algorithm>
#include <vector>

#include "engine/output/style.hpp"
#include "graph/emit/bank_conflicts.hpp"
#include "graph/index.hpp"

namespace twill::program {
namespace {

constexpr int kMostPeriods = 64;  // of prologue and epilogue that are written out

class Listing {
 public:
  explicit Listing(const Program& program)
      : p_(program), stages_(stage_count(program)), waits_(program.ops.size()) {
    for (const Wait& wait : p_.waits) waits_[at(wait.before)].push_back(&wait);
  }

  std::string run() {
    for (int w = 0; w < static_cast<int>(p_.slots.size()); ++w) slot(w);
    channels();
    memories();
    sharing();
    counts();
    return std::move(text_);
  }

 private:
  enum class Part { prologue, steady, epilogue };

  std::string id(int op) const { return printable(p_.ops[at(op)].id); }
  std::string storage(int s) const { return s < 0 ? "" : printable(p_.storages[at(s)].name); }

  /// "0", "i+1", "n-1".
  static std::string iteration(Part part, std::int64_t k) {
    if (part == Part::prologue) return std::to_string(k);
    const std::string base = part == Part::steady ? "i" : "n";
    return k == 0 ? base : base + (k > 0 ? "+" : "") + std::to_string(k);
  }

  bool empty(int w) const {
    return std::none_of(p_.ops.begin(), p_.ops.end(), [&](const Op& op) { return op.slot == w; });
  }

  void slot(int w) {
    if (empty(w)) return;
    const Slot& slot = p_.slots[at(w)];
    text_ += "slot " + printable(slot.name) + ", " + plural(slot.width, "warp") + ", " +
             plural(slot.registers, "register") + " a thread\n";
    const int periods = stages_ - 1;
    if (periods > kMostPeriods) {
      text_ += "  prologue and epilogue: " + plural(periods, "period") +
               " each, the steady state without iterations below 0 and from n on\n";
    } else {
      part(w, Part::prologue, 0, periods, "prologue");
    }
    part(w, Part::steady, periods, periods + 1, "for i = 0 .. n-" + std::to_string(stages_));
    if (periods <= kMostPeriods) part(w, Part::epilogue, 0, periods, "epilogue");
  }

  void part(int w, Part part, int first, int last, const std::string& title) {
    std::string lines;
    for (int t = first; t < last; ++t)
      for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
        const Op& op = p_.ops[at(v)];
        if (op.slot != w) continue;
        // Relative to 0, to i or to n. Period t of the epilogue is n + t: op has n + t - stage
        // there.
        const std::int64_t k = t - op.stage;
        if ((part == Part::prologue && k < 0) || (part == Part::epilogue && k >= 0)) continue;
        for (const Wait* wait : waits_[at(v)]) lines += wait_line(part, k, *wait);
        lines += "    " + id(v) + "[" + iteration(part, k) + "]" + more(op) + "\n";
        if (op.fence) lines += "    fence: asynchronous units read what " + id(v) + " wrote\n";
      }
    if (!lines.empty()) text_ += "  " + title + "\n" + lines;
  }

  static std::string more(const Op& op) {
    if (op.ending == Ending::at_once) return "";
    const std::string queue = op.queue.empty() ? "" : ", in order on " + printable(op.queue);
    return op.ending == Ending::transaction ? "  (ends by a transaction)"
                                            : "  (goes on" + queue + ")";
  }

  std::string wait_line(Part part, std::int64_t k, const Wait& wait) const {
    const Event& event = p_.events[at(wait.event)];
    const std::int64_t on = k - wait.offset;
    std::string when;
    if (part == Part::prologue && on < 0) return "";
    if (part == Part::epilogue && on >= 0) return "";
    // i runs from 0 to n - stages.
    if (part == Part::steady && on < 0) when = " if i >= " + std::to_string(-on);
    if (part == Part::steady && on > stages_ - 1) when = " if i < n-" + std::to_string(on);
    std::string text = "    wait ";
    for (const int op : ops_of(event))
      text += (op == event.op ? "" : " and ") + id(op) + "[" + iteration(part, on) + "]";
    text += when + "  (" + to_string(wait.need);
    if (wait.storage >= 0) text += " of " + storage(wait.storage);
    if (event.pending) return text + ", pending count)\n";
    if (part == Part::prologue)
      return text + ", barrier " + std::to_string(on % event.phases) + " parity " +
             std::to_string(on / event.phases % 2) + ")\n";
    return text + ")\n";
  }

  void channels() {
    const auto all = program::channels(p_);
    if (all.empty()) return;
    const auto accesses = emit::hand_over_accesses(p_);
    text_ += "channels (producer puts, consumers get; a ring of depth D)\n";
    for (const Channel& c : all) {
      const Storage& s = p_.storages[at(c.storage)];
      text_ += "  " + storage(c.storage) + ": " + id(c.producer) + " on " +
               printable(p_.slots[at(p_.ops[at(c.producer)].slot)].name) + " ->";
      for (const int v : c.consumers)
        text_ += " " + id(v) + " on " + printable(p_.slots[at(p_.ops[at(v)].slot)].name) + ",";
      text_ += " D = " + std::to_string(s.depth);
      if (s.kind == Storage::in_memory)
        text_ += ", " + std::to_string(s.size) + " of " +
                 printable(p_.memories[at(s.memory)].name) + " a copy";
      text_ += c.put < 0 ? "; put: implied by other waits" : "; put: " + barrier(c.put);
      for (const int e : c.consumed) text_ += "; consumed by " + ending(e) + ": " + barrier(e);
      if (c.consumed.empty()) text_ += "; consumed: implied by other waits";
      for (const emit::HandOverAccess& one : accesses)
        if (one.storage == c.storage)
          text_ += (one.writes ? "; written" : "; read by " + id(one.op)) + " with " +
                   emit::to_text(one.wavefronts);
      text_ += "\n";
    }
  }

  std::string ending(int e) const {
    std::string text;
    for (const int op : ops_of(p_.events[at(e)])) text += (text.empty() ? "" : " and ") + id(op);
    return text;
  }

  std::string barrier(int e) const {
    const Event& event = p_.events[at(e)];
    std::string text = plural(event.phases, "phase") + ", " + plural(event.arrivals, "arrival");
    if (event.bytes > 0) text += ", " + plural(event.bytes, "byte");
    return text;
  }

  void memories() {
    for (int m = 0; m < static_cast<int>(p_.memories.size()); ++m) {
      std::vector<int> here;
      Amount top = 0;
      for (int s = 0; s < static_cast<int>(p_.storages.size()); ++s) {
        const Storage& storage = p_.storages[at(s)];
        if (storage.kind != Storage::in_memory || storage.memory != m) continue;
        here.push_back(s);
        top = std::max(top, end(storage));
      }
      if (here.empty()) continue;
      std::stable_sort(here.begin(), here.end(), [&](int a, int b) {
        return p_.storages[at(a)].base < p_.storages[at(b)].base;
      });
      const Memory& memory = p_.memories[at(m)];
      text_ += printable(memory.name) + ": " + std::to_string(top) +
               (memory.capacity < 0 ? ", its capacity is not known"
                                    : " of " + std::to_string(memory.capacity)) +
               "\n";
      for (const int s : here) map_line(s);
      if (memory.name == kBarrierMemory) barrier_lines();
    }
  }

  void barrier_lines() {
    Amount first = -1, last = 0, bytes = 0;
    for (const Event& event : p_.events) {
      if (event.address < 0) continue;
      if (first < 0 || event.address < first) first = event.address;
      const Amount size = kBarrierBytes * event.phases;
      last = std::max(last, event.address + size);
      bytes += size;
    }
    if (first >= 0)
      text_ += "  " + std::to_string(first) + " .. " + std::to_string(last - 1) + "  " +
               plural(bytes / kBarrierBytes, "barrier") + " of " + std::to_string(kBarrierBytes) +
               "\n";
  }

  static Amount step(const Storage& s) {
    return (s.size + s.alignment - 1) / s.alignment * s.alignment;
  }
  static Amount end(const Storage& s) { return s.base + step(s) * (s.depth - 1) + s.size; }

  void map_line(int s) {
    const Storage& storage = p_.storages[at(s)];
    text_ += "  " + std::to_string(storage.base) + " .. " + std::to_string(end(storage) - 1) +
             "  " + this->storage(s) + ", " + std::to_string(storage.depth) +
             (storage.depth == 1 ? " copy of " : " copies of ") + std::to_string(storage.size);
    std::string readers;
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
      for (const Read& read : p_.ops[at(v)].reads)
        if (read.storage == s) {
          readers += (readers.empty() ? "" : ", ") + id(v);
          if (read.distance > 0) readers += " " + std::to_string(read.distance) + " later";
          if (const auto& over = p_.ops[at(v)].in_place;
              std::find(over.begin(), over.end(), s) != over.end())
            readers += " in place";
        }
    text_ += readers.empty() ? "; nobody reads it" : "; read by " + readers;
    for (std::size_t k = 0; k < storage.shares.size(); ++k)
      text_ += (k == 0 ? "; over " : ", ") + this->storage(storage.shares[k]);
    text_ += "\n";
  }

  void sharing() {
    std::string lines;
    for (const Wait& wait : p_.waits)
      if (wait.need == Need::overlay)
        lines += "  " + id(wait.before) + "[i] after " + ending(wait.event) + "[" +
                 iteration(Part::steady, -wait.offset) + "], which uses " + storage(wait.storage) +
                 " there\n";
    if (!lines.empty())
      text_ +=
          "waits that shared addresses add; the schedule keeps their orders as it is\n" + lines;
  }

  void counts() {
    text_ += "waits an iteration, on barriers (and by pending counts)\n ";
    int barriers = 0, most = 0;
    for (int w = 0; w < static_cast<int>(p_.slots.size()); ++w) {
      if (empty(w)) continue;
      int on_barriers = 0, pending = 0;
      for (const Wait& wait : p_.waits)
        if (p_.ops[at(wait.before)].slot == w)
          ++(p_.events[at(wait.event)].pending ? pending : on_barriers);
      text_ += " " + printable(p_.slots[at(w)].name) + " " + std::to_string(on_barriers) + " (" +
               std::to_string(pending) + ")";
    }
    for (const Event& event : p_.events) {
      barriers += event.phases;
      most += event.pending ? 0 : 1;
    }
    text_ += "\n" + plural(barriers, "barrier") + " for " + plural(most, "event") + ", " +
             std::to_string(kBarrierBytes * barriers) + " bytes\n";
  }

  const Program& p_;
  int stages_;
  std::vector<std::vector<const Wait*>> waits_;
  std::string text_;
};

}  // namespace

std::string program_listing(const Program& program) {
  return Listing(program).run();
}

}  // namespace twill::program
