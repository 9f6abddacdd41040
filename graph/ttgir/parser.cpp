#include "graph/ttgir/parser.hpp"

#include <algorithm>
#include <optional>

#include "graph/error.hpp"
#include "graph/ttgir/generic_partitions.hpp"
#include "graph/ttgir/lexer.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/operand_order.hpp"
#include "graph/ttgir/result_types.hpp"
#include "graph/ttgir/type.hpp"

namespace twill::ttgir {
namespace {

bool is_function(std::string_view name) {
  return name == "tt.func" || name == "func.func" || name == "llvm.func" || name == "gluon.func";
}

bool has_dot(std::string_view word) {
  const std::size_t dot = word.find('.');
  return dot != std::string_view::npos && dot > 0 && (word[0] < '0' || word[0] > '9') &&
         word[0] != '-';
}

class Parser {
 public:
  Parser(Module& module) : m_(module), lex_(*module.text, module.source) {}

  void run() {
    const int top = new_region(kNone);
    const int block = new_block(top);
    while (lex_.peek().kind != Tok::end) {
      const Token& t = lex_.peek();
      if ((t.kind == Tok::hash || t.kind == Tok::bang) && t.first_on_line) {
        read_alias();
      } else if (t.kind == Tok::metadata) {
        lex_.take();
      } else if (t.kind == Tok::percent || t.kind == Tok::text || t.kind == Tok::word) {
        read_op(block);
      } else {
        lex_.fail(t, "expected a module, an alias or an op");
      }
    }
    for (const int op : m_.block(block).ops)
      if (m_.op(op).name == "module" || m_.op(op).name == "builtin.module") m_.root = op;
    bool function = false, triton = false;
    for (const Operation& op : m_.ops) {
      function = function || is_function(op.name);
      triton = triton || op.name.starts_with("tt");
    }
    if (!function || !triton)
      throw InputError(
          m_.source, "line 1, column 1", "a module without Triton functions",
          "must be TTGIR: a module with a tt.func and ops of the dialects tt, ttg, ttng");
  }

 private:
  // ---- Building blocks of the module.
  int new_region(int op) {
    m_.regions.push_back({op, {}});
    return static_cast<int>(m_.regions.size()) - 1;
  }
  int new_block(int region) {
    m_.blocks.push_back({region, {}, {}, {}});
    const int block = static_cast<int>(m_.blocks.size()) - 1;
    m_.regions[static_cast<std::size_t>(region)].blocks.push_back(block);
    return block;
  }
  int intern(std::string_view text) {
    const auto [found, fresh] = type_index_.emplace(text, static_cast<int>(m_.types.size()));
    if (fresh) m_.types.push_back(parse_type(text, m_));
    return found->second;
  }
  /// A type as written in the file, at a token: its numbers are bounded here.
  int intern_at(const Token& at, std::string_view text) {
    const auto found = type_index_.find(text);
    if (found != type_index_.end()) return found->second;
    if (const std::string fault = number_fault(text); !fault.empty()) lex_.fail(at, fault);
    std::string fault;
    Type type = parse_type(text, m_, &fault);
    if (!fault.empty()) lex_.fail(at, fault);
    m_.types.push_back(std::move(type));
    return type_index_.emplace(text, static_cast<int>(m_.types.size()) - 1).first->second;
  }

  // ---- Names. Values of a region end with it; a name hides nothing that is still visible.
  struct Named {
    int first = 0, count = 1;
  };
  void define(const Token& at, std::string_view name, int first, int count) {
    if (!names_.emplace(name, Named{first, count}).second)
      lex_.fail(at, "this value is defined already");
    scope_.push_back(name);
  }
  void leave(std::size_t mark) {
    while (scope_.size() > mark) {
      names_.erase(scope_.back());
      scope_.pop_back();
    }
  }
  int use(const Token& t) const {
    const auto found = names_.find(t.text);
    if (found == names_.end()) lex_.fail(t, "uses a value that is not defined before it");
    if (t.number >= found->second.count) lex_.fail(t, "the op has fewer results than this");
    return found->second.first + t.number;
  }
  int new_value(Value value) {
    if (m_.values.size() >= kMaxValues)
      lex_.fail(lex_.peek(), "a module may have " + std::to_string(kMaxValues) + " values");
    m_.values.push_back(value);
    return static_cast<int>(m_.values.size()) - 1;
  }

  // ---- Balanced text.
  static char closing(char open) {
    return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : '>';
  }
  bool opens(const Token& t) const { return t.is('(') || t.is('[') || t.is('{') || t.is('<'); }
  bool closes(const Token& t) const { return t.is(')') || t.is(']') || t.is('}') || t.is('>'); }

  /// Takes everything up to the bracket that closes the one ahead.
  void skip_balanced() {
    char stack[kMaxBrackets];
    int depth = 0;
    do {
      const Token t = lex_.take();
      if (t.kind == Tok::end) lex_.fail(t, "a bracket is not closed");
      if (opens(t)) {
        if (depth == kMaxBrackets)
          lex_.fail(t, "brackets may be " + std::to_string(kMaxBrackets) + " deep");
        stack[depth++] = closing(t.text[0]);
      } else if (closes(t)) {
        if (t.text[0] != stack[--depth]) lex_.fail(t, std::string("expected ") + stack[depth]);
      }
    } while (depth > 0);
  }

  void skip_location() {
    lex_.take();
    if (lex_.peek().is('(')) skip_balanced();
  }

  void read_alias() {
    const Token name = lex_.take();
    if (!lex_.peek().is('=')) lex_.fail(lex_.peek(), "an alias needs =");
    lex_.take();
    const std::size_t begin = lex_.peek().offset;
    if (lex_.peek().kind == Tok::end) lex_.fail(lex_.peek(), "an alias needs a definition");
    if (lex_.peek().is_word("loc")) {  // locations are not kept
      skip_location();
      return;
    }
    while (lex_.peek().kind != Tok::end &&
           !(lex_.peek().first_on_line && lex_.last_end() > begin)) {
      if (opens(lex_.peek()))
        skip_balanced();
      else
        lex_.take();
    }
    const std::string_view text = lex_.text().substr(begin, lex_.last_end() - begin);
    if (const std::string fault = number_fault(text); !fault.empty()) lex_.fail(name, fault);
    m_.aliases[name.text] = text;
  }

  // ---- Types.
  /// A type's text, or nullopt with nothing taken when what is ahead is none.
  std::optional<int> read_type() {
    const Token t = lex_.peek();
    const std::size_t begin = t.offset;
    if (t.kind == Tok::bang || (t.kind == Tok::word && t.text != "loc" && !has_dot(t.text))) {
      lex_.take();
      if (lex_.peek().is('<') && lex_.peek().offset == lex_.last_end()) skip_balanced();
    } else if (t.is('<')) {
      skip_balanced();  // the short form of a memdesc
    } else if (t.is('(')) {
      skip_balanced();  // a function type inside a type list
      if (lex_.peek().kind == Tok::arrow) {
        lex_.take();
        if (lex_.peek().is('('))
          skip_balanced();
        else
          read_type();
      }
    } else {
      return std::nullopt;
    }
    return intern_at(t, lex_.text().substr(begin, lex_.last_end() - begin));
  }

  /// "T, T * T" or "(T, T)" or "()"; stops at what is no type.
  std::vector<int> read_types() {
    std::vector<int> types;
    if (lex_.peek().is('(')) {
      lex_.take();
      while (!lex_.peek().is(')')) {
        const auto type = read_type();
        if (!type) lex_.fail(lex_.peek(), "expected a type");
        types.push_back(*type);
        if (lex_.peek().is_word("loc")) skip_location();
        if (lex_.peek().is('{')) skip_balanced();  // attributes of a result
        if (lex_.peek().is(',')) lex_.take();
      }
      lex_.take();
      return types;
    }
    for (;;) {
      const auto type = read_type();
      if (!type) return types;
      types.push_back(*type);
      if (!(lex_.peek().is(',') || lex_.peek().is('*'))) return types;
      lex_.take();
    }
  }

  // ---- Attributes.
  /// {a, b = 1 : i32}; the opening brace is ahead.
  void read_dict(std::vector<Attribute>& list) {
    lex_.take();
    while (!lex_.peek().is('}')) {
      const Token name = lex_.take();
      if (name.kind != Tok::word && name.kind != Tok::text)
        lex_.fail(name, "expected an attribute");
      std::string_view key = name.text;
      if (name.kind == Tok::text) key = key.substr(1, key.size() - 2);
      Attribute entry{key, {}};
      if (lex_.peek().is('=')) {
        lex_.take();
        const std::size_t begin = lex_.peek().offset;
        while (!lex_.peek().is(',') && !lex_.peek().is('}')) {
          if (lex_.peek().kind == Tok::end) lex_.fail(lex_.peek(), "attributes are not closed");
          if (opens(lex_.peek()))
            skip_balanced();
          else
            lex_.take();
        }
        entry.value = lex_.text().substr(begin, lex_.last_end() - begin);
      }
      list.push_back(entry);
      if (lex_.peek().is(','))
        lex_.take();
      else if (!lex_.peek().is('}'))
        lex_.fail(lex_.peek(), "expected , or }");
    }
    lex_.take();
  }

  /// With { ahead: does it open a region? It does when its line ends with it or an op follows.
  bool region_ahead() {
    const Lexer::State state = lex_.save();
    lex_.take();
    const Token first = lex_.take();
    bool region = first.kind == Tok::percent || first.kind == Tok::caret || first.first_on_line;
    if (!region && first.kind == Tok::text) region = lex_.peek().is('(');
    if (!region && first.kind == Tok::word && has_dot(first.text))
      region = !(lex_.peek().is('=') || lex_.peek().is(',') || lex_.peek().is('}'));
    lex_.restore(state);
    return region;
  }

  // ---- Regions.
  struct Argument {
    Token at;
    int type = kNone;
  };

  int read_region(int op, const std::vector<Argument>& arguments) {
    if (++nesting_ > kMaxNesting)
      lex_.fail(lex_.peek(), "regions may be " + std::to_string(kMaxNesting) + " deep");
    lex_.take();
    const std::size_t mark = scope_.size();
    const int region = new_region(op);
    int block = new_block(region);
    for (const Argument& argument : arguments) add_argument(block, argument);
    bool labelled = false;
    while (!lex_.peek().is('}')) {
      if (lex_.peek().kind == Tok::end) lex_.fail(lex_.peek(), "a region is not closed");
      if (lex_.peek().kind == Tok::caret) {
        if (labelled || !m_.block(block).ops.empty()) block = new_block(region);
        labelled = true;
        read_label(block);
      } else {
        read_op(block);
      }
    }
    m_.regions[static_cast<std::size_t>(region)].end = lex_.take().offset;
    leave(mark);
    --nesting_;
    return region;
  }

  void add_argument(int block, const Argument& argument) {
    auto& list = m_.blocks[static_cast<std::size_t>(block)].arguments;
    const int value =
        new_value({argument.at.text, argument.type, kNone, block, static_cast<int>(list.size())});
    m_.blocks[static_cast<std::size_t>(block)].arguments.push_back(value);
    define(argument.at, argument.at.text, value, 1);
  }

  /// ^bb0(%a: f32 loc(...), %b: f32):
  void read_label(int block) {
    m_.blocks[static_cast<std::size_t>(block)].label = lex_.take().text;
    if (lex_.peek().is('(')) {
      lex_.take();
      while (!lex_.peek().is(')')) {
        const Token name = lex_.take();
        if (name.kind != Tok::percent) lex_.fail(name, "expected a block argument");
        if (!lex_.peek().is(':')) lex_.fail(lex_.peek(), "expected : and a type");
        lex_.take();
        const auto type = read_type();
        if (!type) lex_.fail(lex_.peek(), "expected a type");
        if (lex_.peek().is_word("loc")) skip_location();
        add_argument(block, {name, *type});
        if (lex_.peek().is(',')) lex_.take();
      }
      lex_.take();
    }
    if (!lex_.peek().is(':')) lex_.fail(lex_.peek(), "a block's label ends in :");
    lex_.take();
  }

  // ---- Ops.
  /// Does the token ahead, outside of all brackets, start another statement or end the region?
  /// (No statement ends with a comma.)
  bool statement_ends(const Token& before = {}) {
    const Token& t = lex_.peek();
    if (t.kind == Tok::end || t.kind == Tok::metadata || t.is('}')) return true;
    if (!t.first_on_line || before.is(',')) return false;
    if (t.kind == Tok::percent || t.kind == Tok::caret || t.kind == Tok::hash ||
        t.kind == Tok::bang || t.kind == Tok::text)
      return true;
    return t.kind == Tok::word && (has_dot(t.text) || t.text == "module");
  }

  struct Results {
    std::vector<std::pair<Token, int>> names;  ///< with counts
    int total = 0;
  };

  Results read_results() {
    Results results;
    while (lex_.peek().kind == Tok::percent) {
      const Token name = lex_.take();
      int count = 1;
      if (lex_.peek().is(':')) {
        lex_.take();
        const Token number = lex_.take();
        count = 0;
        for (const char c : number.text)
          count = c >= '0' && c <= '9' && count < 100'000 ? 10 * count + (c - '0') : 1'000'000;
        if (number.kind != Tok::word || count < 1 || count > 10'000)
          lex_.fail(number, "must be a number of results from 1 to 10000");
      }
      results.names.emplace_back(name, count);
      results.total += count;
      if (!lex_.peek().is(',')) break;
      lex_.take();
    }
    if (!results.names.empty()) {
      if (!lex_.peek().is('=')) lex_.fail(lex_.peek(), "results need = and an op");
      lex_.take();
    }
    return results;
  }

  void read_op(int block) {
    const Results results = read_results();
    const Token name = lex_.peek();
    if (name.kind != Tok::word && name.kind != Tok::text)
      lex_.fail(name, "expected the name of an op");
    lex_.take();
    if (const std::vector<int>& before = m_.block(block).ops;
        !before.empty() && class_of(m_.op(before.back())) == OpClass::terminator)
      lex_.fail(name, std::string(m_.op(before.back()).name) + " before it ends the block");
    const int index = static_cast<int>(m_.ops.size());
    m_.ops.emplace_back();
    m_.blocks[static_cast<std::size_t>(block)].ops.push_back(index);
    Operation op;
    op.name = name.text;
    const bool generic = name.kind == Tok::text;
    if (generic) op.name = op.name.substr(1, op.name.size() - 2);
    // (In quotes any name is one: tests of compilers have "use"(%x).)
    if (op.name != "module" && !has_dot(op.name) && (!generic || op.name.empty()))
      lex_.fail(name, "expected the name of an op, as arith.addf");
    op.op_class = static_cast<int>(class_of(op));
    op.line = name.line;
    op.column = name.column;
    op.begin = name.offset;
    op.block = block;
    Body body;
    body.index = index;
    op.generic = generic;
    body.attributes_first = !generic && (op.name == "arith.constant" || op.name == "scf.yield");
    op.attribute_offset = lex_.last_end();
    read_body(op, body);
    op.end = lex_.last_end();
    if (op.name == "arith.constant") note_literal(name, op);
    if (op.name == "scf.for" && op.regions.empty()) lex_.fail(name, "a loop needs a body");
    op.clause = body.before;
    take_partitions(m_, op, index);
    if (!order_operands(m_, op))
      lex_.fail(name, "must have a scale for both of its operands or for none");
    // Results are defined last: an op does not see its own.
    const TypeClause clause{body.before, body.after, body.arrow};
    const std::size_t unnamed = results.total > 0 ? 0 : unnamed_results(op, clause);
    const std::vector<int> types =
        result_types(m_, op, clause, static_cast<std::size_t>(results.total) + unnamed,
                     [&](std::string_view text) { return intern(text); });
    int position = 0;
    for (std::size_t k = 0; k < unnamed; ++k)
      op.results.push_back(new_value({"", types[k], index, kNone, static_cast<int>(k)}));
    for (const auto& [at, count] : results.names) {
      for (int k = 0; k < count; ++k, ++position)
        op.results.push_back(new_value(
            {at.text, types[static_cast<std::size_t>(position)], index, kNone, position}));
      define(at, at.text, op.results[op.results.size() - static_cast<std::size_t>(count)], count);
    }
    m_.ops[static_cast<std::size_t>(index)] = std::move(op);
  }

  /// What is collected while the rest of a statement is read.
  struct Body {
    int index = kNone;
    bool attributes_first = false;
    std::vector<int> before, after;  ///< types around the arrow of the type clause
    bool arrow = false, typed = false;
    std::vector<Argument> arguments;  ///< of the next region
  };

  void read_body(Operation& op, Body& body) {
    std::vector<char> open;  // brackets of the statement itself
    Token previous;
    while (!(open.empty() && statement_ends(previous))) {
      const Token t = lex_.peek();
      if (t.kind == Tok::end) lex_.fail(t, "an op is cut short");
      if (t.kind == Tok::percent) {
        read_value(op, body, open.empty());
      } else if (t.is_word("loc") && !previous.is('=') && follows_location()) {
        skip_location();
      } else if (t.is('{')) {
        read_brace(op, body, open, previous);
      } else if (t.is(':') && open.empty() && !is_case(op)) {
        read_clause(op, body);
      } else if (t.kind == Tok::arrow && open.empty()) {
        lex_.take();
        body.arrow = body.typed = true;
        body.after = read_types();
      } else if (opens(t)) {
        if (open.size() == static_cast<std::size_t>(kMaxBrackets))
          lex_.fail(t, "brackets may be " + std::to_string(kMaxBrackets) + " deep");
        open.push_back(closing(t.text[0]));
        lex_.take();
      } else if (closes(t)) {
        if (open.empty() || open.back() != t.text[0])
          lex_.fail(t, open.empty() ? "closes nothing" : std::string("expected ") + open.back());
        open.pop_back();
        lex_.take();
      } else if (open.empty() && starts_literal(op)) {
        read_literal(op);
      } else {
        if (t.kind == Tok::symbol && open.empty() && op.symbol.empty()) op.symbol = name_of(t);
        lex_.take();
      }
      // Of these ops they stand before what follows their operand.
      body.attributes_first = body.attributes_first ||
                              (!op.generic && t.is(',') && open.empty() &&
                               (op.name == "tt.fp_to_fp" || (op.name == "ttng.barrier_expect" &&
                                                             previous.kind != Tok::percent)));
      previous = t;
      // Attributes stand before the type clause; where there is none, at the end.
      if (!body.typed && !op.has_dict && !body.attributes_first && open.empty() &&
          !(t.kind == Tok::word && t.text == "loc"))
        op.attribute_offset = lex_.last_end();
    }
  }

  bool follows_location() {
    const Lexer::State state = lex_.save();
    lex_.take();
    const bool location = lex_.peek().is('(');
    lex_.restore(state);
    return location;
  }

  // ---- Constants: "arith.constant {attributes} value : type", all in dictionaries when generic.
  static bool starts_literal(const Operation& op) {
    return op.name == "arith.constant" && !op.generic && op.literal.empty();
  }

  void read_literal(Operation& op) {
    const std::size_t begin = lex_.peek().offset;
    do {
      if (opens(lex_.peek()))
        skip_balanced();
      else
        lex_.take();
    } while (!statement_ends() && !lex_.peek().is(':') &&
             !(lex_.peek().is_word("loc") && follows_location()));
    op.literal = lex_.text().substr(begin, lex_.last_end() - begin);
  }

  void note_literal(const Token& name, Operation& op) const {
    if (op.generic) {
      op.literal = m_.attribute(op, "value");
      // "4 : i32" -> "4"; what is in brackets has colons of its own and is no number.
      if (op.literal.find_first_of("<[{\"") == std::string_view::npos)
        op.literal = op.literal.substr(0, op.literal.find(':'));
    }
    while (op.literal.ends_with(' ')) op.literal.remove_suffix(1);
    if (op.literal.empty()) lex_.fail(name, "a constant needs a value");
  }

  /// @name, @"a name" -> the name.
  static std::string_view name_of(const Token& symbol) {
    std::string_view name = symbol.text.substr(1);
    if (name.size() >= 2 && name.front() == '"') name = name.substr(1, name.size() - 2);
    return name;
  }

  static bool is_case(const Operation& op) { return op.name == "cf.switch"; }

  /// A %name: an operand, or the definition of a loop variable or a region's argument.
  void read_value(Operation& op, Body& body, bool outside) {
    const Token t = lex_.take();
    const bool loop = op.name == "scf.for" || op.name == "scf.while" || op.name == "scf.parallel";
    if (loop && lex_.peek().is('=') && t.number == 0) {
      body.arguments.push_back({t, kNone});
      return;
    }
    const bool tile = op.name == "ttng.subtiled_region" && names_.find(t.text) == names_.end();
    const bool named = is_function(op.name) || op.name == "ttg.warp_specialize" || tile;
    if (named && !outside && lex_.peek().is(':')) {
      lex_.take();
      const auto type = read_type();
      if (!type) lex_.fail(lex_.peek(), "expected a type");
      body.arguments.push_back({t, *type});
      return;
    }
    op.operands.push_back(use(t));
  }

  void read_brace(Operation& op, Body& body, const std::vector<char>& open, const Token& previous) {
    if (previous.is('<')) {  // properties, <{...}>
      read_dict(op.properties);
      return;
    }
    const bool in_parentheses = !open.empty() && open.back() == ')';
    const bool region = in_parentheses ? previous.is('(') || (previous.is(',') && region_ahead())
                                       : open.empty() && region_ahead();
    if (region) {
      give_types(op, body);
      op.regions.push_back(read_region(body.index, body.arguments));
      body.arguments.clear();
      if (!in_parentheses &&
          (op.name == "scf.for" || op.name == "scf.while" || op.name == "scf.if")) {
        // Attributes of these stand behind their last region, in the custom form.
        op.attribute_offset = lex_.last_end();
        body.typed = true;
      }
      return;
    }
    if (!open.empty()) {  // attributes of an argument
      skip_balanced();
      return;
    }
    if (!op.has_dict) {
      op.has_dict = true;
      op.attribute_offset = lex_.peek().offset + 1;
    }
    read_dict(op.attributes);
  }

  /// The loop variables' types, known only behind the header.
  void give_types(const Operation& op, Body& body) {
    if (op.name == "scf.for" && !body.arguments.empty()) {
      static constexpr std::string_view kIndex = "index";
      body.arguments[0].type = body.before.empty() ? intern(kIndex) : body.before[0];
      for (std::size_t k = 1; k < body.arguments.size() && k - 1 < body.after.size(); ++k)
        body.arguments[k].type = body.after[k - 1];
    }
    if (op.name == "scf.while" && op.regions.empty())
      for (std::size_t k = 0; k < body.arguments.size() && k < body.before.size(); ++k)
        body.arguments[k].type = body.before[k];
  }

  /// ": T, T -> T", ": T to T", ": (T) -> (T)". The last one counts.
  void read_clause(const Operation& op, Body& body) {
    lex_.take();
    const bool loop = op.name == "scf.for";  // its results' types came before
    body.typed = true;
    body.before = read_types();
    if (!loop) {
      body.arrow = false;
      body.after.clear();
    }
    if (lex_.peek().kind == Tok::arrow || lex_.peek().is_word("to") ||
        lex_.peek().is_word("into")) {
      lex_.take();
      body.arrow = true;
      body.after = read_types();
    }
  }

  Module& m_;
  Lexer lex_;
  std::unordered_map<std::string_view, int> type_index_;
  std::unordered_map<std::string_view, Named> names_;
  std::vector<std::string_view> scope_;
  int nesting_ = 0;
};

}  // namespace

bool looks_like_mlir(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++at;
    } else if (c == '/') {
      at = std::min(text.find('\n', at), text.size());
    } else {
      break;
    }
  }
  text.remove_prefix(at);
  for (const std::string_view start :
       {"module", "#", "!", "\"builtin.module\"", "builtin.module", "tt.func"})
    if (text.starts_with(start)) return true;
  return text.find("// -----// IR Dump") != std::string_view::npos;  // of a compiler's output
}

Module parse_module(std::string_view text, const std::string& source) {
  if (text.size() > kMaxModuleBytes)
    throw InputError(source, "line 1, column 1", std::to_string(text.size()) + " bytes",
                     "a module may have " + std::to_string(kMaxModuleBytes) + " bytes");
  Module module;
  module.source = source;
  module.text = std::make_unique<const std::string>(text);
  Parser(module).run();
  return module;
}

}  // namespace twill::ttgir
