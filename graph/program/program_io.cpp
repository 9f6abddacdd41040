#include "graph/program/program_io.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "graph/index.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_reader.hpp"
#include "graph/io/json_writer.hpp"
#include "graph/meaning/meaning_io.hpp"
#include "graph/program/links.hpp"

namespace twill::program {
namespace {

constexpr const char* kFormat = "twill.program";
constexpr int kVersion = 3, kPlacedVersion = 2, kSearchedVersion = 3;
constexpr Amount kMaxAlignment = 1 << 20;

class Names {
 public:
  explicit Names(const char* what) : what_(what) {}
  void add(const JsonValue& value) {
    const std::string& name = value.text();
    if (name.size() > static_cast<std::size_t>(kMaxNameBytes))
      value.fail("must have at most " + std::to_string(kMaxNameBytes) + " bytes");
    if (!index_.emplace(name, static_cast<int>(index_.size())).second)
      value.fail(std::string("names of ") + what_ + " must be unique");
  }
  int find(const JsonValue& value) const {
    const auto found = index_.find(value.text());
    if (found == index_.end()) value.fail(std::string("must be one of the ") + what_);
    return found->second;
  }

 private:
  const char* what_;
  std::unordered_map<std::string, int> index_;
};

class FileReader {
 public:
  explicit FileReader(const JsonValue& root) : root_(root) {}

  Program run() {
    const int version = root_.check_format(kFormat, 1, kVersion);
    const std::initializer_list<std::string_view> keys = {
        "format",      "version",  "problem", "problem_sha256", "status", "initiation_interval",
        "lower_bound", "memories", "slots",   "storages",       "events"};
    if (version >= kSearchedVersion)
      root_.check_keys(keys, {"meaning", "placement", "searched_only"});
    else if (version >= kPlacedVersion)
      root_.check_keys(keys, {"meaning", "placement"});
    else
      root_.check_keys(keys, {"meaning"});
    head();
    if (const auto value = root_.find("searched_only")) {
      program_.searched_only = value->text();
      if (program_.searched_only.empty()) value->fail("must say something, or be left out");
    }
    if (const auto value = root_.find("placement")) placement(*value);
    for (const JsonValue& value : root_.at("memories").elements_up_to(kMaxMemories + 1))
      memory(value);
    // Names first: ops and storages name each other.
    const auto storages = root_.at("storages").elements_up_to(kMaxOps);
    for (const JsonValue& value : storages) storage_names_.add(value.at("name"));
    const auto slots = root_.at("slots").elements_up_to(kMaxSlots);
    std::vector<std::pair<JsonValue, int>> ops;
    for (const JsonValue& value : slots) {
      value.check_keys({"name", "width", "registers", "ops"});
      slot_names_.add(value.at("name"));
      const int slot = static_cast<int>(program_.slots.size());
      program_.slots.push_back({value.at("name").text(), value.at("width").small(1, kMaxWidth),
                                value.at("registers").integer(0, kMaxAmount)});
      for (const JsonValue& op : value.at("ops").elements_up_to(kMaxOps)) {
        if (ops.size() == static_cast<std::size_t>(kMaxOps))
          op.fail("a program has at most " + std::to_string(kMaxOps) + " ops");
        op.check_keys({"id", "stage", "ends"},
                      {"queue", "proxy", "fence", "waits", "reads", "writes", "in_place"});
        op_names_.add(op.at("id"));
        ops.emplace_back(op, slot);
      }
    }
    for (const JsonValue& value : storages) storage(value);
    for (const auto& [value, slot] : ops) read_op(value, slot);
    for (const JsonValue& value : root_.at("events").elements_up_to(std::size_t{2} * kMaxOps))
      event(value);
    for (std::size_t v = 0; v < ops.size(); ++v)
      if (const auto list = ops[v].first.find("waits"))
        for (const JsonValue& value : list->elements()) wait(value, static_cast<int>(v));
    if (const auto value = root_.find("meaning")) meaning(*value);
    return std::move(program_);
  }

 private:
  void head() {
    program_.problem = root_.at("problem").text();
    const JsonValue hash = root_.at("problem_sha256");
    program_.problem_sha256 = hash.text();
    if (program_.problem_sha256.size() != 64 ||
        program_.problem_sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
      hash.fail("must be 64 lower-case hexadecimal digits");
    constexpr const char* kStatus[] = {"optimal", "feasible"};
    program_.status = kStatus[root_.at("status").choice({"optimal", "feasible"})];
    program_.initiation_interval = root_.at("initiation_interval").integer(1, kMaxInterval);
    program_.ii_lower_bound = root_.at("lower_bound").integer(0, kMaxInterval);
  }

  void placement(const JsonValue& value) {
    value.check_keys({"class", "status", "lower_bound"});
    value.at("class").choice({kPlacementClass});
    PlacedBounds placed;
    const JsonValue bound = value.at("lower_bound");
    bound.check_keys({"initiation_interval", "length"});
    const JsonValue interval = bound.at("initiation_interval");
    placed.initiation_interval = interval.integer(0, kMaxInterval);
    if (placed.initiation_interval > program_.initiation_interval)
      interval.fail("is more than the program's initiation interval, " +
                    std::to_string(program_.initiation_interval));
    placed.length = bound.at("length").integer(0, kMaxStart + kMaxCycles);
    placed.reached = value.at("status").choice({"optimal", "feasible"}) == 0;
    if (placed.reached && placed.initiation_interval != program_.initiation_interval)
      value.at("status").fail("is optimal, and the bound on the initiation interval is less");
    program_.placed = placed;
  }

  void memory(const JsonValue& value) {
    value.check_keys({"name"}, {"capacity"});
    memory_names_.add(value.at("name"));
    Memory memory{value.at("name").text(), -1};
    if (value.has("capacity")) memory.capacity = value.at("capacity").integer(0, kMaxAmount);
    program_.memories.push_back(std::move(memory));
  }

  void storage(const JsonValue& value) {
    Storage s;
    s.name = value.at("name").text();
    s.depth = value.at("depth").small(1, kMaxDepth);
    if (value.has("memory")) {
      value.check_keys({"name", "memory", "size", "depth", "base", "alignment"}, {"shares"});
      s.kind = Storage::in_memory;
      s.memory = memory_names_.find(value.at("memory"));
      s.size = value.at("size").integer(1, kMaxAmount);
      s.base = value.at("base").integer(0, kMaxAmount);
      s.alignment = value.at("alignment").integer(1, kMaxAlignment);
      if (const auto list = value.find("shares")) s.shares = sorted(*list);
    } else if (value.has("registers")) {
      value.check_keys({"name", "registers", "depth"});
      s.kind = Storage::in_registers;
      s.size = value.at("registers").integer(1, kMaxAmount);
    } else {
      value.check_keys({"name", "depth"});
    }
    program_.storages.push_back(std::move(s));
  }

  void meaning(const JsonValue& value) {
    meaning::check_meaning_keys(value, true);
    const auto ops = value.at("ops").elements_up_to(kMaxOps);
    for (const JsonValue& op : ops) op.check_keys({"id", "shape", "type", "computes"}, {"part_of"});
    program_.meaning = meaning::read_meaning(value, ops);
    for (std::size_t v = 0; v < ops.size(); ++v)
      if (const auto chunk = ops[v].find("part_of"))
        program_.meaning->values[at(program_.meaning->loop_begin) + v].part_of = chunk->text();
    Links links;
    if (const auto no = link(program_, links)) value.fail("must be that of the ops: " + *no);
  }

  /// Storages in their order, each once.
  std::vector<int> sorted(const JsonValue& list) const {
    std::vector<int> all;
    for (const JsonValue& value : list.elements()) {
      const int s = storage_names_.find(value);
      if (!all.empty() && s <= all.back())
        value.fail("storages must be listed once, in the order of the file's storages");
      all.push_back(s);
    }
    return all;
  }

  void read_op(const JsonValue& value, int slot) {
    Op op;
    op.id = value.at("id").text();
    op.slot = slot;
    op.stage = value.at("stage").small(0, kMaxStage);
    op.ending = static_cast<Ending>(value.at("ends").choice({"at once", "pending", "transaction"}));
    op.queue = value.text_or("queue", "");
    if (value.has("queue") && op.queue.empty()) value.at("queue").fail("must not be empty");
    if (const auto proxy = value.find("proxy"))
      op.async_proxy = proxy->choice({"generic", "async"}) == 1;
    op.fence = value.boolean_or("fence", false);
    if (const auto list = value.find("reads"))
      for (const JsonValue& read : list->elements()) {
        read.check_keys({"storage"}, {"distance"});
        op.reads.push_back({storage_names_.find(read.at("storage")),
                            read.small_or("distance", 0, 0, kMaxDistance)});
      }
    if (const auto list = value.find("writes")) op.writes = sorted(*list);
    if (const auto list = value.find("in_place")) op.in_place = sorted(*list);
    program_.ops.push_back(std::move(op));
  }

  void event(const JsonValue& value) {
    value.check_keys({"op", "kind"}, {"with", "barrier"});
    Event event;
    event.op = op_names_.find(value.at("op"));
    if (const auto others = value.find("with"))
      for (const JsonValue& other : others->elements_up_to(kMaxOps)) {
        event.with.push_back(op_names_.find(other));
        if (event.with.back() <= (event.with.size() > 1 ? event.with.end()[-2] : event.op))
          other.fail(
              "ops must be listed once, in the order of the file's ops, the first as \"op\"");
      }
    event.consumed = value.at("kind").choice({"completion", "consumed"}) == 1;
    event.pending = !value.has("barrier");
    if (!event.pending) {
      const JsonValue barrier = value.at("barrier");
      barrier.check_keys({"phases", "arrivals"}, {"bytes", "address"});
      event.phases = barrier.at("phases").small(1, kMaxDepth);
      event.arrivals = barrier.at("arrivals").small(1, kMaxDepth);
      event.bytes = barrier.integer_or("bytes", 0, 0, kMaxAmount);
      if (const auto address = barrier.find("address"))
        event.address = address->integer(0, kMaxAmount);
    }
    if (event.pending && !event.with.empty())
      value.at("with").fail("several ops end together on a barrier alone");
    for (const int op : ops_of(event)) {
      const auto key = 2 * static_cast<std::int64_t>(op) + (event.pending ? 1 : 0);
      if (!events_.emplace(key, static_cast<int>(program_.events.size())).second)
        value.at("op").fail("an op has at most one event on a barrier and one without");
    }
    program_.events.push_back(event);
  }

  void wait(const JsonValue& value, int before) {
    value.check_keys({"for", "need"}, {"offset", "pending", "storage"});
    if (program_.waits.size() == static_cast<std::size_t>(kMaxEdges))
      value.fail("a program has at most " + std::to_string(kMaxEdges) + " waits");
    Wait wait;
    wait.before = before;
    const std::int64_t op = op_names_.find(value.at("for"));
    const auto event = events_.find(2 * op + (value.boolean_or("pending", false) ? 1 : 0));
    if (event == events_.end()) value.at("for").fail("must be an op whose end has such an event");
    wait.event = event->second;
    wait.offset = value.small_or("offset", 0, -kMaxStage, kMaxStage);
    wait.need =
        static_cast<Need>(value.at("need").choice({"RAW", "WAR", "WAW", "overlay", "turn"}));
    if (const auto storage = value.find("storage")) wait.storage = storage_names_.find(*storage);
    program_.waits.push_back(wait);
  }

  const JsonValue& root_;
  Program program_;
  Names memory_names_{"memories"}, slot_names_{"slots"}, op_names_{"ops"},
      storage_names_{"storages"};
  std::unordered_map<std::int64_t, int> events_;
};

class FileWriter {
 public:
  explicit FileWriter(const Program& program) : p_(program) {}

  std::string run() {
    file_.begin_object();
    file_.member("format", kFormat);
    const bool some = !p_.searched_only.empty();
    file_.member("version", some ? kSearchedVersion : p_.placed ? kPlacedVersion : 1);
    file_.member("problem", p_.problem);
    file_.member("problem_sha256", p_.problem_sha256);
    file_.member("status", p_.status);
    file_.member("initiation_interval", p_.initiation_interval);
    file_.member("lower_bound", p_.ii_lower_bound);
    if (some) file_.member("searched_only", p_.searched_only);
    if (p_.placed) placement(*p_.placed);
    file_.key("memories");
    file_.begin_array();
    for (const Memory& memory : p_.memories) {
      file_.begin_object();
      file_.member("name", memory.name);
      if (memory.capacity >= 0) file_.member("capacity", memory.capacity);
      file_.end_object();
    }
    file_.end_array();
    slots();
    storages();
    events();
    if (p_.meaning) {
      file_.key("meaning");
      meaning::write_meaning(*p_.meaning, file_);
    }
    file_.end_object();
    return std::move(file_).file_text(p_.problem);
  }

 private:
  const std::string& storage_name(int s) const { return p_.storages[at(s)].name; }

  void placement(const PlacedBounds& placed) {
    file_.key("placement");
    file_.begin_object();
    file_.member("class", kPlacementClass);
    file_.member("status", placed.reached ? "optimal" : "feasible");
    file_.key("lower_bound");
    file_.begin_object();
    file_.member("initiation_interval", placed.initiation_interval);
    file_.member("length", placed.length);
    file_.end_object();
    file_.end_object();
  }

  void names(const char* key, const std::vector<int>& storages) {
    if (storages.empty()) return;
    std::vector<std::string> all;
    for (const int s : storages) all.push_back(storage_name(s));
    file_.member(key, all);
  }

  void slots() {
    file_.key("slots");
    file_.begin_array();
    for (int w = 0; w < static_cast<int>(p_.slots.size()); ++w) {
      const Slot& slot = p_.slots[at(w)];
      file_.begin_object();
      file_.member("name", slot.name);
      file_.member("width", slot.width);
      file_.member("registers", slot.registers);
      file_.key("ops");
      file_.begin_array();
      for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
        if (p_.ops[at(v)].slot == w) write_op(v);
      file_.end_array();
      file_.end_object();
    }
    file_.end_array();
  }

  void write_op(int v) {
    constexpr const char* kEnds[] = {"at once", "pending", "transaction"};
    const Op& op = p_.ops[at(v)];
    file_.begin_object();
    file_.member("id", op.id);
    file_.member("stage", op.stage);
    file_.member("ends", kEnds[static_cast<std::size_t>(op.ending)]);
    if (!op.queue.empty()) file_.member("queue", op.queue);
    if (op.async_proxy) file_.member("proxy", "async");
    if (op.fence) file_.member("fence", true);
    waits(v);
    if (!op.reads.empty()) {
      file_.key("reads");
      file_.begin_array();
      for (const Read& read : op.reads) {
        file_.begin_object();
        file_.member("storage", storage_name(read.storage));
        if (read.distance > 0) file_.member("distance", read.distance);
        file_.end_object();
      }
      file_.end_array();
    }
    names("writes", op.writes);
    names("in_place", op.in_place);
    file_.end_object();
  }

  void waits(int v) {
    const auto mine = [&](const Wait& wait) { return wait.before == v; };
    if (std::none_of(p_.waits.begin(), p_.waits.end(), mine)) return;
    file_.key("waits");
    file_.begin_array();
    for (const Wait& wait : p_.waits) {
      if (!mine(wait)) continue;
      const Event& event = p_.events[at(wait.event)];
      file_.begin_object();
      file_.member("for", p_.ops[at(event.op)].id);
      if (wait.offset != 0) file_.member("offset", wait.offset);
      if (event.pending) file_.member("pending", true);
      file_.member("need", to_string(wait.need));
      if (wait.storage >= 0) file_.member("storage", storage_name(wait.storage));
      file_.end_object();
    }
    file_.end_array();
  }

  void storages() {
    file_.key("storages");
    file_.begin_array();
    for (const Storage& s : p_.storages) {
      file_.begin_object();
      file_.member("name", s.name);
      if (s.kind == Storage::in_memory) {
        file_.member("memory", p_.memories[at(s.memory)].name);
        file_.member("size", s.size);
      } else if (s.kind == Storage::in_registers) {
        file_.member("registers", s.size);
      }
      file_.member("depth", s.depth);
      if (s.kind == Storage::in_memory) {
        file_.member("base", s.base);
        file_.member("alignment", s.alignment);
        names("shares", s.shares);
      }
      file_.end_object();
    }
    file_.end_array();
  }

  void events() {
    file_.key("events");
    file_.begin_array();
    for (const Event& event : p_.events) {
      file_.begin_object();
      file_.member("op", p_.ops[at(event.op)].id);
      if (!event.with.empty()) {
        std::vector<std::string> others;
        for (const int op : event.with) others.push_back(p_.ops[at(op)].id);
        file_.member("with", others);
      }
      file_.member("kind", event.consumed ? "consumed" : "completion");
      if (!event.pending) {
        file_.key("barrier");
        file_.begin_object();
        file_.member("phases", event.phases);
        file_.member("arrivals", event.arrivals);
        if (event.bytes > 0) file_.member("bytes", event.bytes);
        if (event.address >= 0) file_.member("address", event.address);
        file_.end_object();
      }
      file_.end_object();
    }
    file_.end_array();
  }

  const Program& p_;
  JsonWriter file_;
};

}  // namespace

Program parse_program(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonValue root = document.root();
  return FileReader(root).run();
}

Program read_program(const std::string& path) {
  return parse_program(read_file(path), path);
}

std::string program_text(const Program& program) {
  return FileWriter(program).run();
}

}  // namespace twill::program
