// Register results are variables of the function: x is the latest iteration's, x_prev the one
// before. Products are in flight from their issue until a wait that covers them; groups of a
// warpgroup end in order, so a wait is a count of those that may still be in flight. Which are in
// flight where the loop begins again is found by writing it until that does not change any more.
//
// The loop is cut where none is in flight: a register that is moved where two paths meet would be
// that of a product in flight, for which ptxas makes all products wait for each other.
#include <algorithm>

#include "graph/emit/cuda_slot_printer.hpp"
#include "graph/emit/in_flight.hpp"
#include "graph/emit/register_pressure.hpp"

namespace twill::emit {

using program::Storage;

namespace {

constexpr std::size_t kLine = 100;

/// Cut after commas.
std::string wrapped(const std::string& indent, std::string text) {
  std::string all, begin = indent;
  while (begin.size() + text.size() > kLine) {
    const std::size_t comma = text.rfind(", ", kLine - begin.size() - 1);
    if (comma == std::string::npos) break;
    all += begin + text.substr(0, comma + 1) + "\n";
    text = text.substr(comma + 2);
    begin = indent + "    ";
  }
  return all + begin + text + "\n";
}

}  // namespace

std::string CudaSlotPrinter::run() {
  history_.assign(p_.ops.size(), 0);
  if (slot_ == plan_.finish_slot()) {
    fences_ = {};
    fences_.after = true;
    after();
  } else {
    code_ = cut_code(legal_.program, slot_, 0);
    if (const int cut = find_cut(); cut > 0) code_ = cut_code(legal_.program, slot_, cut);
    declared_.clear();
    text_.clear();
    history();
    body();
  }
  // Variables, those of one type together.
  std::map<std::string, std::vector<std::string>> by_type;
  for (const auto& [name, type] : declared_) by_type[type].push_back(name);
  std::string declarations;
  for (const auto& [type, names] : by_type) {
    std::string row = "  " + type + " ";
    for (std::size_t k = 0; k < names.size(); ++k) {
      const std::string next = names[k] + (k + 1 < names.size() ? "," : ";");
      if (row.size() + next.size() + 1 > kLine) {
        declarations += row + "\n";
        row = "     ";
      }
      row += (row.back() == ' ' ? "" : " ") + next;
    }
    declarations += row + "\n";
  }
  return declarations + text_;
}

void CudaSlotPrinter::line(int depth, const std::string& text, const std::string& comment) {
  if (text.empty() && comment.empty()) {
    text_ += "\n";
    return;
  }
  const std::string indent(2 * at(depth), ' ');
  if (indent.size() + text.size() > kLine) {
    if (!comment.empty()) text_ += indent + "// " + comment + "\n";
    text_ += wrapped(indent, text);
  } else if (text.empty()) {
    text_ += indent + "// " + comment + "\n";
  } else if (comment.empty()) {
    text_ += indent + text + "\n";
  } else if (indent.size() + text.size() + comment.size() + 5 <= kLine) {
    text_ += indent + text + "  // " + comment + "\n";
  } else {
    text_ += indent + "// " + comment + "\n" + indent + text + "\n";
  }
}

int CudaSlotPrinter::find_cut() {
  if (narrow()) return 0;
  if (blackwell()) return cut_of_slot(plan_, slot_);
  history();
  body();
  const int count = static_cast<int>(code_.items.size());
  // (Positions in the steady code are those of the items: nothing is left out there.)
  if (empty_after_.empty() || empty_after_.back() == count - 1) return 0;
  // Arrivals that the end of a product allows come at once.
  int cut = empty_after_.front() + 1;
  while (cut < count && !code_.items[at(cut)].is_wait &&
         legal_.release_of[at(code_.items[at(cut)].index)] >= 0)
    ++cut;
  return cut == count ? 0 : cut;
}

int CudaSlotPrinter::blocks_of(const Value& value) const {
  return static_cast<int>(value.shape[0] * c_.shares(slot_, value) /
                          (std::int64_t{64} * c_.warpgroups(slot_)));
}

std::string CudaSlotPrinter::type_of(int v) const {
  const Value& value = m_.values[at(v)];
  if (value.shape.empty()) return "float";
  if (value.shape.size() == 1 && value.type != "f32")
    refuse("type", "the vector " + harmless(value.id) + " must be f32");
  // (On Blackwell a thread has a row, but of the results of products of 64 rows.)
  if (blackwell() && value.shape[0] == 64 && value.shape.size() == 2)
    return "Tile<1, " + std::to_string(value.shape[1] / c_.shares(slot_, value)) + ">";
  const std::string blocks = blackwell() ? "" : std::to_string(blocks_of(value));
  if (value.shape.size() == 1) return blackwell() ? "LaneRow" : "Rows<" + blocks + ">";
  const std::int64_t share =
      value.shape[1] / (slot_ == plan_.finish_slot() ? 1 : c_.shares(slot_, value));
  const std::string columns = std::to_string(share);
  if (value.shape[1] % 16 != 0)
    refuse("op", harmless(value.id) + " has " + columns + " columns: must be a multiple of 16");
  if (value.type == "f32")
    return blackwell() ? "LaneTile<" + columns + ">" : "Tile<" + blocks + ", " + columns + ">";
  const std::string element = element_type(value.type);
  if (element.empty()) refuse("type", harmless(value.id) + " is of type " + harmless(value.type));
  if (blackwell()) return "LaneHalfTile<" + element + ", " + columns + ">";
  return "HalfTile<" + element + ", " + blocks + ", " + columns + ">";
}

int CudaSlotPrinter::legal_op(int op) const {
  for (std::size_t v = 0; v < legal_.source.size(); ++v)
    if (legal_.source[v] == op) return static_cast<int>(v);
  return -1;
}

int CudaSlotPrinter::writer(int storage) const {
  for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
    for (const int s : p_.ops[at(v)].writes)
      if (s == storage) return v;
  return -1;
}

void CudaSlotPrinter::history() {
  history_.assign(p_.ops.size(), 0);
  for (int r = 0; r < static_cast<int>(p_.ops.size()); ++r) {
    if (p_.ops[at(r)].slot != slot_) continue;
    for (const program::Read& read : p_.ops[at(r)].reads) {
      if (p_.storages[at(read.storage)].kind != Storage::in_registers) continue;
      const int w = writer(read.storage);
      if (w < 0 || p_.ops[at(w)].slot != slot_) continue;
      // Definitions of w between that of iteration i - distance and r of iteration i.
      const int age = lag(r) - lag(w) + read.distance - (position(w) >= position(r) ? 1 : 0);
      history_[at(w)] = std::max(history_[at(w)], age);
    }
  }
}

std::string CudaSlotPrinter::aged(int op, int age) const {
  if (age < 0) refuse("operand", harmless(p_.ops[at(op)].id) + " is used before it is there");
  if (age == 0) return variable(op);
  if (age > 3)
    refuse("op", harmless(p_.ops[at(op)].id) + " has more than three older copies in registers");
  return variable(op) + (age == 1 ? "_prev" : "_prev" + std::to_string(age));
}

std::string CudaSlotPrinter::held(int op, int reader, Iteration it, int distance) const {
  int latest = it.offset + lag(reader) - lag(op) - (position(op) >= position(reader) ? 1 : 0);
  if (it.from == Iteration::end) latest = std::min(latest, -1);
  if (it.from == Iteration::begin && trips_ >= 0) latest = std::min(latest, trips_ - 1);
  if (it.from == Iteration::begin) latest = std::max(latest, -1);
  int age = latest - (it.offset - distance);
  // A prologue may look further back than the loop, which keeps no copies for that. But all
  // iterations before iteration 0 have made the same: the nearest of them will do.
  if (it.from == Iteration::begin && age > history_[at(op)]) age = std::min(age, latest + 1);
  return aged(op, age);
}

void CudaSlotPrinter::age_variables(int depth, int op) {
  for (int k = history_[at(op)]; k >= 1; --k) {
    if (!defined_.contains(aged(op, k - 1))) continue;
    touch(depth, aged(op, k), "WAR");
    touch(depth, aged(op, k - 1), "RAW");
    declare(aged(op, k), type_of(plan_.links.result[at(op)]));
    line(depth, aged(op, k) + " = " + aged(op, k - 1) + ";");
    defined_.insert(aged(op, k));
  }
  declare(variable(op), type_of(plan_.links.result[at(op)]));
  defined_.insert(variable(op));
}

void CudaSlotPrinter::body() {
  trips_ = -1;
  flights_.clear();
  fences_ = {};
  fences_.after = true;  // the block has met
  defined_.clear();
  reduced_.clear();
  before();
  loop();
  after();
  end_stores(1, -1);
}

bool CudaSlotPrinter::uses_resident(int op) const {
  const std::set<int> used = plan_.used_before(op);
  return std::any_of(used.begin(), used.end(), [&](int v) { return plan_.resident.contains(v); });
}

void CudaSlotPrinter::vectors_before() {
  std::set<int> all;
  for (int op = 0; op < static_cast<int>(p_.ops.size()); ++op)
    if (p_.ops[at(op)].slot == slot_) all.merge(plan_.used_before(op));
  bool said = false;
  for (const int v : all) {
    if (plan_.resident.contains(v)) continue;
    const Value& value = m_.values[at(v)];
    if (blackwell() || narrow() || value.function != Function::load || value.shape.size() != 1 ||
        value.type != "f32")
      refuse("operand", harmless(value.id) + " is computed before the loop, or no vector of f32");
    if (!said) line(1, "", "Vectors that stay for the whole loop.");
    said = true;
    const std::string& name = plan_.variable[at(v)];
    const std::string& host = plan_.host_name[at(plan_.axes.tensor_of[at(value.tensor)])];
    const CudaCoordinates where = cuda_coordinates(c_, value.tensor, "");
    declare(name, type_of(v));
    line(1, "read_rows(" + name + ", g." + host + "_data + std::int64_t{place.batch} * g." + host +
                "_rows" + (where.row == "0" ? "" : " + " + where.row) + ", group);");
  }
}

void CudaSlotPrinter::before() {
  if (plan_.resident_slot == slot_ && !plan_.resident.empty()) {
    line(1, "", "Tiles that stay for the whole loop.");
    for (const auto& [v, one] : plan_.resident) {
      const int tensor = m_.values[at(v)].tensor;
      const CudaCoordinates where = cuda_coordinates(c_, tensor, "");
      line(1, std::string(one.type == "f32"  ? "load_floats("
                          : one.type == "f8" ? "load_bytes("
                                             : "load_tile(") +
                  shared(plan_.resident_barrier) + ", " + one.name + "Bytes, " + shared(one.name) +
                  ", &g." + plan_.host_name[at(plan_.axes.tensor_of[at(tensor)])] + "_map, " +
                  where.row + ", " + where.column + ", place.batch);");
    }
  }
  bool reads_resident = false;
  for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
    if (p_.ops[at(v)].slot == slot_ && uses_resident(v)) reads_resident = true;
  if (reads_resident && !plan_.resident.empty())
    line(1, "wait_for<1>(" + shared(plan_.resident_barrier) + ", 0);",
         "RAW: the tiles from before the loop");
  fences_.after |= reads_resident;
  vectors_before();
  bool said = false;
  for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
    const int value = plan_.links.result[at(v)];
    if (p_.ops[at(v)].slot != slot_ || plan_.registers_of(v) < 0) continue;
    const meaning::Initial* initial = m_.initial_of(value);
    if (initial == nullptr) continue;
    if (!said) line(1, "", "What is carried into iteration 0.");
    said = true;
    if (initial->what.value >= 0)
      refuse("operand",
             harmless(m_.values[at(value)].id) + " begins with a value from before the loop");
    const std::string type = type_of(value);
    if (type.find("HalfTile") != std::string::npos)
      refuse("type", harmless(m_.values[at(value)].id) + " is 16-bit and carried in registers");
    for (int k = 0; k <= history_[at(v)]; ++k) {
      declare(aged(v, k), type);
      line(1, type == "float"
                  ? aged(v, k) + " = " + float_text(initial->what.number) + ";"
                  : "fill(" + aged(v, k) + ", " + float_text(initial->what.number) + ");");
      defined_.insert(aged(v, k));
    }
  }
}

namespace {

CudaFences either(const CudaFences& a, const CudaFences& b) {
  CudaFences both = a;
  both.before |= b.before;
  both.after |= b.after;
  both.apart |= b.apart;
  both.loaded |= b.loaded;
  both.stores.insert(b.stores.begin(), b.stores.end());
  both.written.insert(b.written.begin(), b.written.end());
  both.multiplied.insert(b.multiplied.begin(), b.multiplied.end());
  both.read.insert(b.read.begin(), b.read.end());
  return both;
}
std::vector<CudaFlight> moved(std::vector<CudaFlight> flights, int by) {
  for (CudaFlight& one : flights) one.iteration -= by;
  return flights;
}

}  // namespace

void CudaSlotPrinter::loop() {
  const std::vector<CudaFlight> flights = flights_;
  const CudaFences fences = fences_;
  CudaFences ends;  // whichever way the slot went
  const std::set<std::string> defined = defined_;
  const int depth = code_.code.depth;
  const int in = depth > 0 ? 2 : 1;
  if (depth > 0) {
    line(1, "if (n >= " + std::to_string(depth) + ") {", "prologue");
    for (const Step& step : code_.code.prologue) print(in, step);
  }
  steady(in);
  if (depth > 0) line(in, "", "epilogue");
  for (const Step& step : code_.code.epilogue) print(in, step);
  drain(in);
  ends = fences_;
  // Comparisons from above: one by one, nvcc would make a jump table of them.
  for (int n = depth - 1; n >= 0; --n) {
    flights_ = flights;
    fences_ = fences;
    defined_ = defined;
    trips_ = n;
    const std::string kept = text_;
    line(1, n == 0 ? "} else {" : "} else if (n >= " + std::to_string(n) + ") {",
         "n = " + std::to_string(n) + ", fewer iterations than stages");
    const std::size_t begin = text_.size();
    for (const Step& step : code_.code.short_runs[at(n)]) print(2, step);
    drain(2);
    ends = either(ends, fences_);
    if (text_.size() == begin) text_ = kept;
  }
  trips_ = -1;
  fences_ = ends;
  if (depth > 0) line(1, "}");
}

void CudaSlotPrinter::steady(int in) {
  const std::string kept = text_;
  std::vector<CudaFlight> entry = flights_, begin = entry;
  CudaFences due = fences_;
  bool same = false;
  for (int round = 0; round < 4 && !same; ++round) {
    flights_ = begin;
    fences_ = due;
    text_.clear();
    empty_after_.clear();
    for (std::size_t k = 0; k < code_.code.steady.size(); ++k) {
      print(in + 1, code_.code.steady[k]);
      if (flights_.empty()) empty_after_.push_back(static_cast<int>(k));
    }
    std::vector<CudaFlight> again = moved(flights_, 1);
    mark_certain(again, entry);
    const CudaFences more = either(due, fences_);
    same = again == begin && more == due;
    begin = again;
    due = more;
  }
  if (!same) refuse("op", "what is in flight where the loop begins again does not settle");
  const std::string body = text_;
  text_ = kept;
  // What only the first iteration finds in flight has ended before it.
  flights_ = entry;
  for (const CudaFlight& one : entry)
    if (std::find(begin.begin(), begin.end(), one) == begin.end()) {
      drain(in);
      break;
    }
  const std::string limit =
      code_.code.depth > 0 ? "n - " + std::to_string(code_.code.depth) : std::string("n");
  if (!narrow()) text_ += "#pragma unroll 1\n";
  line(in, "for (int i = 0; i < " + limit + "; ++i) {");
  text_ += body;
  line(in, "}");
  flights_ = moved(begin, code_.code.depth);
  fences_ = due;  // it may not have run
}

void CudaSlotPrinter::print(int depth, const Step& step) {
  if (step.is_wait) {
    wait(depth, step);
  } else if (legal_.release_of[at(step.index)] >= 0) {
    arrive(depth, step.index, step.iteration, "release");
  } else if (const std::vector<int>* fused = fused_with(step.index)) {
    if (step.index == fused->back()) parts(depth, *fused, step.iteration);
  } else {
    op(depth, legal_.source[at(step.index)], step.iteration);
  }
}

std::string cuda_slot_text(const CudaPlan& plan, int slot) {
  return CudaSlotPrinter(plan, slot).run();
}

std::string cuda_iteration(Iteration iteration) {
  if (iteration.from == Iteration::begin) return std::to_string(iteration.offset);
  std::string base = iteration.from == Iteration::loop ? "i" : "n";
  if (iteration.offset == 0) return base;
  return base + (iteration.offset > 0 ? " + " : " - ") + std::to_string(std::abs(iteration.offset));
}

CudaCoordinates cuda_coordinates(const CudaPlan& c, int tensor, const std::string& iteration) {
  const Axes& axes = c.plan.axes;
  const HostTensor& host = axes.tensors[at(axes.tensor_of[at(tensor)])];
  const meaning::Tensor& tile = c.plan.meaning->tensors[at(tensor)];
  std::string text[2] = {"0", "0"};
  for (int d = 0; d < static_cast<int>(host.axes.size()); ++d) {
    const Axis& axis = axes.axes[at(host.axes[at(d)])];
    std::string x;
    if (axis.kind == Axis::block) {
      const auto k =
          std::find(axes.blocks.begin(), axes.blocks.end(), host.axes[at(d)]) - axes.blocks.begin();
      x = "place.block_" + std::to_string(k) + " * " + std::to_string(axis.tile);
    } else if (axis.kind == Axis::loop && !iteration.empty()) {
      x = (iteration.find(' ') == std::string::npos ? iteration : "(" + iteration + ")") + " * " +
          std::to_string(axis.tile);
    }
    const int part = axes.part_of[at(tensor)];
    if (d == 0 && part > 0) x += (x.empty() ? "" : " + ") + std::to_string(part * tile.shape[0]);
    if (!x.empty()) text[d] = x;
  }
  return {text[0], text[1]};
}

}  // namespace twill::emit
