// One meaning, one problem: a module printed in another form (attributes on its ops, locations
// added or left out, values renamed, constants or all of it in MLIR's generic syntax) is lowered to
// the same problem, but for the names of ops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "graph/error.hpp"
#include "graph/problem_io.hpp"
#include "graph/ttgir/comparison.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/edit.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/parser.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_forms_test {

using namespace twill;
using namespace twill::ttgir;

namespace {

struct Input {
  std::string name, machine, text;
};

/// The modules of the tree: of so many the `turn`th each (see test::kShare).
std::vector<Input> inputs(std::size_t turn) {
  std::vector<Input> found;
  for (const std::string& name : test::shipped_modules())
    found.push_back({name, test::machine_of(name), test::module_text(name)});
  const std::string folder = TWILL_TEST_DATA "/ttgir/";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".ttgir")
      found.push_back(
          {entry.path().filename().string(), "blackwell", read_file(entry.path().string())});
  std::sort(found.begin(), found.end(),
            [](const Input& a, const Input& b) { return a.name < b.name; });
  std::vector<Input> some;
  for (std::size_t k = turn % test::kShare; k < found.size(); k += test::kShare)
    some.push_back(found[k]);
  return some;
}

/// The problems of a module, one a layout, with ops named by their place.
std::string problems(const Input& input, const std::string& text) {
  try {
    const LoweredModule lowered =
        lower_module(text, input.name, builtin_machine(input.machine), input.machine, {}, {});
    std::string all;
    for (Lowered one : lowered.problems) {
      one.problem.name = "loop";  // its number counts loops of index arithmetic, too
      for (std::size_t v = 0; v < one.problem.ops.size(); ++v)
        one.problem.ops[v].id = "op" + std::to_string(v);
      all += one.layout + "\n" + problem_text(one.problem);
    }
    return all;
  } catch (const InputError& error) {
    return error.what();
  }
}

void same_in(std::size_t turn, const std::function<std::string(const Input&)>& rewritten) {
  int files = 0;
  for (const Input& input : inputs(turn)) {
    CAPTURE(input.name);
    const std::string text = rewritten(input);
    CHECK(text != input.text);
    const std::string before = problems(input, input.text), after = problems(input, text);
    REQUIRE(before.find("\"ops\"") != std::string::npos);
    CHECK_MESSAGE(before == after, after.substr(0, 300));
    ++files;
  }
  CHECK(files > 20);
}

void replace_all(std::string& text, const std::string& part, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += by.size())
    text.replace(at, part.size(), by);
}

/// Where the bracket that opens at `at` is closed: one behind it.
std::size_t closed(const std::string& text, std::size_t at) {
  int depth = 0;
  bool string = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '"') string = !string;
    if (string) continue;
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at + 1;
  }
  return at;
}

/// The text with each " loc(...)" replaced; the definitions of locations are left out.
std::string with_locations(const std::string& text, const std::string& by) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool line = at == 0 || text[at - 1] == '\n';
    if (line && text.compare(at, 4, "#loc") == 0) {
      at = std::min(text.find('\n', at), text.size() - 1) + 1;
    } else if (text.compare(at, 5, " loc(") == 0) {
      at = closed(text, at + 4);
      out += by;
    } else {
      out += text[at++];
    }
  }
  return out;
}

std::string renamed(const std::string& text) {
  const auto part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' ||
           c == '-';
  };
  std::map<std::string, std::string> names;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    out += text[at++];
    if (text[at - 1] != '%') continue;
    std::size_t end = at;
    while (end < text.size() && part(text[end])) ++end;
    std::string& name = names[text.substr(at, end - at)];
    if (name.empty()) name = (names.size() % 2 == 0 ? "zz_" : "") + std::to_string(names.size());
    out += name;
    at = end;
  }
  return out;
}

/// "%x = arith.constant 4 : i32 loc(..)" -> one in generic syntax, its value between `open`,
/// `close`.
std::string generic_constants(const std::string& text, const std::string& open,
                              const std::string& close) {
  const Module m = parse_module(text, "t");
  std::string out = text;
  for (std::size_t k = m.ops.size(); k-- > 0;) {
    const Operation& op = m.ops[k];
    if (op.name != "arith.constant" || op.generic) continue;
    const std::size_t begin = static_cast<std::size_t>(op.name.data() - m.text->data());
    std::size_t end =
        static_cast<std::size_t>(op.literal.data() - m.text->data()) + op.literal.size();
    const bool flag = op.literal == "true" || op.literal == "false";
    const std::string type = flag ? "i1" : std::string(m.type_of(op.results[0])->text);
    if (!flag) end = out.find(type, end) + type.size();
    const std::string value = std::string(op.literal) + (flag ? "" : " : " + type);
    out.replace(begin, end - begin,
                "\"arith.constant\"() " + open + "value = " + value + close + " : () -> " + type);
  }
  return out;
}

/// The whole module in MLIR's generic syntax, from what was read of it.
class GenericPrinter {
 public:
  explicit GenericPrinter(const Module& m) : m_(m) {}

  std::string run() {
    for (const auto& [name, text] : m_.aliases)
      out_ += std::string(name) + " = " + std::string(text) + "\n";
    print(m_.root);
    return out_;
  }

 private:
  std::string value(int v) const { return "%v" + std::to_string(v); }
  std::string type(int v) const { return std::string(m_.type_of(v)->text); }

  std::vector<int> operands(const Operation& op) const {
    std::vector<int> list = op.operands;
    if (op.generic) return list;
    if (op.name == "ttng.tmem_store") {  // the buffer, its token, the tile
      const bool token = m_.type_of(list[2])->kind == TypeKind::token;
      std::rotate(list.begin(), list.begin() + 1, list.begin() + (token ? 3 : 2));
    }
    if (op.name == "tt.descriptor_store" || op.name == "tt.descriptor_reduce")
      std::rotate(list.begin() + 1, list.end() - 1, list.end());
    return list;
  }

  void print(int index) {
    const Operation& op = m_.op(index);
    for (std::size_t k = 0; k < op.results.size(); ++k)
      out_ += (k == 0 ? "" : ", ") + value(op.results[k]);
    if (!op.results.empty()) out_ += " = ";
    out_ += "\"" + std::string(op.name == "module" ? "builtin.module" : op.name) + "\"(";
    std::string types, results;
    for (const int v : operands(op)) {
      out_ += (types.empty() ? "" : ", ") + value(v);
      types += (types.empty() ? "" : ", ") + type(v);
    }
    for (const int v : op.results) results += (results.empty() ? "" : ", ") + type(v);
    std::string entries;
    const auto add = [&](const std::string& entry) {
      entries += (entries.empty() ? "" : ", ") + entry;
    };
    if (!op.symbol.empty() && op.name == "tt.func")
      add("sym_name = \"" + std::string(op.symbol) + "\"");
    if (op.name == "arith.constant" && !op.generic) {
      const bool flag = op.literal == "true" || op.literal == "false";
      add("value = " + std::string(op.literal) + (flag ? "" : " : " + type(op.results[0])));
    }
    if (const auto how = op.name == "arith.cmpi" && !op.generic ? predicate(m_, op) : std::nullopt)
      add("predicate = " + std::to_string(*how) + " : i64");
    for (const auto* list : {&op.attributes, &op.properties})
      for (const Attribute& a : *list)
        add("\"" + std::string(a.name) + "\"" +
            (a.value.empty() ? "" : " = " + std::string(a.value)));
    out_ += ")";
    if (!entries.empty()) out_ += " <{" + entries + "}>";
    if (!op.regions.empty()) {
      out_ += " (";
      for (std::size_t r = 0; r < op.regions.size(); ++r) {
        out_ += r == 0 ? "{\n" : ", {\n";
        region(op, op.regions[r]);
        out_ += "}";
      }
      out_ += ")";
    }
    out_ += " : (" + types + ") -> (" + results + ")\n";
  }

  void region(const Operation& op, int index) {
    int label = 0, last = kNone;
    for (const int block : m_.regions[static_cast<std::size_t>(index)].blocks) {
      const Block& b = m_.block(block);
      out_ += "^bb" + std::to_string(label++) + "(";
      for (std::size_t k = 0; k < b.arguments.size(); ++k)
        out_ += (k == 0 ? "" : ", ") + value(b.arguments[k]) + ": " + type(b.arguments[k]);
      out_ += "):\n";
      for (const int inner : b.ops) print(last = inner);
    }
    // The custom syntax leaves a terminator out that yields nothing.
    if (op.name.starts_with("scf.") &&
        (last == kNone || class_of(m_.op(last)) != OpClass::terminator))
      out_ += "\"scf.yield\"() : () -> ()\n";
  }

  const Module& m_;
  std::string out_;
};

}  // namespace

TEST_CASE("attributes on constants, before the value") {
  same_in(0, [](const Input& input) {
    if (input.text.find(" arith.constant ") == std::string::npos) return input.text + "\n";
    std::string text = input.text;
    replace_all(text, " arith.constant ", " arith.constant {twill.note = 1 : i32} ");
    return text;
  });
  same_in(1, [](const Input& input) {
    std::string text = input.text + "\n";
    replace_all(text, " arith.constant ",
                " arith.constant {async_task_id = array<i32: 0>, twill.unit, a = \"} : 7\"} ");
    return text;
  });
}

TEST_CASE("attributes on every op") {
  same_in(2, [](const Input& input) {
    const Module m = parse_module(input.text, input.name);
    Editor editor(m);
    for (std::size_t op = 0; op < m.ops.size(); ++op)
      if (m.ops[op].name != "tt.func") editor.set(static_cast<int>(op), "twill.note", "1 : i32");
    return editor.text();
  });
}

TEST_CASE("locations: none, and long ones") {
  same_in(3, [](const Input& input) { return with_locations(input.text, "") + "\n"; });
  same_in(4, [](const Input& input) {
    return with_locations(input.text, " loc(callsite(\"%f : i32 {\"(\"a.py\":1:2) at unknown))") +
           "\n";
  });
}

TEST_CASE("attributes of a schedule, on some of the ops or all") {
  const auto annotated = [](const Input& input, std::size_t every) {
    const Module m = parse_module(input.text, input.name);
    Editor editor(m);
    for (std::size_t op = 0; op < m.ops.size(); op += every) {
      if (m.ops[op].name == "tt.func") continue;
      const int index = static_cast<int>(op);
      editor.set(index, "loop.stage", "1 : i32");
      editor.set(index, "ttg.partition", "array<i32: 0, 2>");
      if (m.ops[op].name == "scf.for") {
        editor.set(index, "tt.scheduled_max_stage", "1 : i32");
        editor.set(index, "ttg.partition.stages", "[0 : i32, 1 : i32, 0 : i32]");
      }
    }
    return editor.text() + "\n";
  };
  same_in(5, [&](const Input& input) { return annotated(input, 1); });
  same_in(6, [&](const Input& input) { return annotated(input, 3); });
}

TEST_CASE("operands on lines of their own, behind a comma") {
  same_in(7, [](const Input& input) {
    std::string text = input.text + "\n";
    replace_all(text, ", %", ",\n        %");
    return text;
  });
}

// An allocation in the loop of what a load brings is a buffer from before the loop that the load's
// tile is stored into.
TEST_CASE("buffers for loads: named in the loop, or before it") {
  static const std::regex kLine(
      R"(^( *)(%\w+) = ttg\.local_alloc (%\w+) : \((.*)\) -> (!ttg\.memdesc<.*>)( loc\(.*\))?$)");
  int hoisted = 0;
  for (const Input& input : inputs(0)) {
    CAPTURE(input.name);
    std::vector<std::string> lines;
    std::set<std::string> loads, buffers;
    bool met = false;  // what two loops make has one name, which before them both is none
    std::vector<std::size_t> loops;  // lines of the loops around, by their indentation
    std::istringstream text(input.text);
    for (std::string line; std::getline(text, line); lines.push_back(line)) {
      const std::size_t indented = line.find_first_not_of(' ');
      while (!loops.empty() && indented <= lines[loops.back()].find_first_not_of(' '))
        loops.pop_back();
      if (line.find("scf.for") != line.npos) loops.push_back(lines.size());
      if (line.find("tt.descriptor_load") != line.npos || line.find(" = tt.load") != line.npos)
        loads.insert(line.substr(line.find('%'), line.find(' ', line.find('%')) - line.find('%')));
      std::smatch part;
      if (loops.empty() || !std::regex_match(line, part, kLine) || !loads.contains(part[3]))
        continue;
      const std::string definition = " " + part[2].str() + " = ";
      met = met || !buffers.insert(part[2]).second ||
            input.text.find(definition) != input.text.rfind(definition);
      std::string type = part[5];
      if (type.find(", mutable") == type.npos) type.insert(type.size() - 1, ", mutable");
      lines[loops.front()].insert(
          0, "    " + part[2].str() + " = ttg.local_alloc : () -> " + type + "\n");
      line = part[1].str() + "ttg.local_store " + part[3].str() + ", " + part[2].str() + " : " +
             part[4].str() + " -> " + type;
      ++hoisted;
    }
    std::string moved;
    for (const std::string& line : lines) moved += line + "\n";
    if (!met) CHECK(problems(input, moved) == problems(input, input.text));
  }
  CHECK(hoisted > 20);
}

TEST_CASE("an inner loop or a branch of index arithmetic is index arithmetic") {
  int loops = 0;
  for (const Input& input : inputs(0)) {
    CAPTURE(input.name);
    const std::size_t loop = input.text.find("scf.for");
    const std::size_t body = loop == input.text.npos ? loop : input.text.find("{\n", loop);
    if (body == input.text.npos || input.name == "generic.ttgir") continue;
    std::string text = input.text;
    text.insert(body + 2,
                "%twill_zero = arith.constant 0 : i32\n%twill_one = arith.constant 1 : i32\n"
                "%twill_sum = scf.for %twill_k = %twill_zero to %twill_one step %twill_one "
                "iter_args(%twill_s = %twill_zero) -> (i32) : i32 {\n"
                "%twill_more = arith.addi %twill_s, %twill_k : i32\n"
                "scf.yield %twill_more : i32\n}\n");
    CHECK(problems(input, text) == problems(input, input.text));
    ++loops;
  }
  CHECK(loops >= 80 / test::kShare);
}

TEST_CASE("names of values") {
  same_in(8, [](const Input& input) { return renamed(input.text); });
}

TEST_CASE("constants in generic syntax, as properties and as attributes") {
  same_in(9, [](const Input& input) { return generic_constants(input.text, "<{", "}>") + "\n"; });
  same_in(10, [](const Input& input) { return generic_constants(input.text, "{", "}") + "\n"; });
  same_in(11, [](const Input& input) {
    return generic_constants(input.text, "<{twill.note = 1 : i32, ", ", z}> {twill.note}") + "\n";
  });
}

TEST_CASE("every op in generic syntax") {
  same_in(12, [](const Input& input) {
    const Module m = parse_module(input.text, input.name);
    return GenericPrinter(m).run();
  });
}

TEST_CASE("constants: every form of a number; what is none is none") {
  const auto constant = [](const std::string& statement) {
    const std::string text =
        "module {\n  tt.func @f() {\n    %x = " + statement + "\n    tt.return\n  }\n}\n";
    const Module m = parse_module(text, "t");
    for (const Operation& op : m.ops)
      if (op.name == "arith.constant") return constant_integer(m, op.results[0]);
    return std::optional<std::int64_t>();
  };
  const auto is = [&](const std::string& statement, std::int64_t number) {
    CAPTURE(statement);
    CHECK(constant(statement) == number);
  };
  is("arith.constant 4 : i32", 4);
  is("arith.constant -4 : i64 loc(unknown)", -4);
  is("arith.constant {a, b = 7 : i32} 0x10 : index", 16);
  is("arith.constant false", 0);
  is("arith.constant {async_task_id = array<i32: 0>} false", 0);
  is("arith.constant {a = true} false loc(#l)", 0);
  is("arith.constant -1 : i1", 1);
  is("\"arith.constant\"() <{value = false}> : () -> i1", 0);
  is("\"arith.constant\"() {value = true} : () -> i1", 1);
  is("\"arith.constant\"() <{note = 1 : i32, value = -7 : i32}> {x} : () -> i32 loc(unknown)", -7);
  is("arith.constant -9223372036854775808 : i64", std::numeric_limits<std::int64_t>::min());
  CHECK(!constant("arith.constant 4.0 : f32"));
  CHECK(!constant("arith.constant 0x7F800000 : f32"));
  CHECK(!constant("arith.constant dense<0> : tensor<4xi32>"));
  for (const std::string wrong : {"arith.constant : i32", "arith.constant {a = 1 : i32} : i32",
                                  "arith.constant 99999999999999999999 : i64",
                                  "arith.constant 4x : i32", "\"arith.constant\"() : () -> i32"}) {
    CAPTURE(wrong);
    try {
      constant(wrong);
      CHECK(false);
    } catch (const InputError& error) {
      CHECK(error.place().starts_with("line 3"));
    }
  }
}

}  // namespace ttgir_forms_test
