#include "graph/emit/kernel_tree.hpp"

#include <array>
#include <cctype>
#include <cstddef>
#include <utility>

#include "graph/program/loop_view.hpp"

namespace twill::emit {
namespace {

// Deeper than any text that is written here.
constexpr int kDeepestTree = 200;

[[noreturn]] void no_form(std::string_view text) {
  throw program::Refusal{"ttgir", "a statement has a form that is not known here: " +
                                      std::string(text.substr(0, 100))};
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

struct TreeToken {
  enum Kind { word, number, text, sign, end } kind = end;
  std::string value;
};

std::vector<TreeToken> tokens_of(std::string_view code) {
  std::vector<TreeToken> all;
  for (std::size_t k = 0; k < code.size();) {
    const char c = code[k];
    if (c == ' ' || c == '\n') {
      ++k;
      continue;
    }
    std::size_t end = k + 1;
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      while (end < code.size() &&
             (is_word(code[end]) || code[end] == '.' ||
              ((code[end] == '-' || code[end] == '+') && code[end - 1] == 'e')))
        ++end;
      all.push_back({TreeToken::number, std::string(code.substr(k, end - k))});
    } else if (is_word(c)) {
      while (end < code.size() && is_word(code[end])) ++end;
      all.push_back({TreeToken::word, std::string(code.substr(k, end - k))});
    } else if (c == '"') {
      while (end < code.size() && code[end] != '"' && code[end] != '\\') ++end;
      if (end == code.size() || code[end] == '\\') no_form(code);
      all.push_back({TreeToken::text, std::string(code.substr(k + 1, end - k - 1))});
      ++end;
    } else {
      static constexpr std::array<std::string_view, 8> kPairs = {
          "//", "<=", ">=", "==", "+=", "!=", "<<", ">>"};
      for (const std::string_view pair : kPairs)
        if (code.substr(k, 2) == pair) end = k + 2;
      all.push_back({TreeToken::sign, std::string(code.substr(k, end - k))});
    }
    k = end;
  }
  all.push_back({});
  return all;
}

class ExpressionReader {
 public:
  explicit ExpressionReader(std::string_view code) : code_(code), tokens_(tokens_of(code)) {}

  Expr whole_expression() {
    Expr result = tuple_or_one();
    if (now().kind != TreeToken::end) no_form(code_);
    return result;
  }

 private:
  const TreeToken& now() const { return tokens_[k_]; }
  bool at_sign(std::string_view sign) const {
    return now().kind == TreeToken::sign && now().value == sign;
  }
  bool take(std::string_view sign) {
    if (!at_sign(sign)) return false;
    ++k_;
    return true;
  }
  void expect(std::string_view sign) {
    if (!take(sign)) no_form(code_);
  }

  Expr tuple_or_one() {
    Expr first = level(0);
    if (!at_sign(",")) return first;
    Expr all{Expr::tuple, "", {std::move(first)}, {}};
    while (take(",")) {
      if (now().kind == TreeToken::end) break;
      all.parts.push_back(level(0));
    }
    return all;
  }

  // Weakest first, as in Python.
  Expr level(int strength) {
    static const std::array<std::vector<std::string_view>, 7> kSigns = {
        std::vector<std::string_view>{"<=", ">=", "==", "!=", ">", "<"},
        {"|"},
        {"^"},
        {"&"},
        {"<<", ">>"},
        {"+", "-"},
        {"*", "//", "/", "%"}};
    if (++depth_ > kDeepestTree) no_form(code_);
    if (strength == static_cast<int>(kSigns.size())) {
      Expr one = unary();
      --depth_;
      return one;
    }
    Expr left = level(strength + 1);
    for (bool found = true; found;) {
      found = false;
      for (const std::string_view sign : kSigns[static_cast<std::size_t>(strength)])
        if (!found && take(sign)) {
          found = true;
          Expr right = level(strength + 1);
          left = Expr{Expr::binary, std::string(sign), {std::move(left), std::move(right)}, {}};
        }
    }
    --depth_;
    return left;
  }

  Expr unary() {
    if (take("-")) {
      if (++depth_ > kDeepestTree) no_form(code_);
      Expr one{Expr::negated, "", {unary()}, {}};
      --depth_;
      return one;
    }
    Expr one = atom();
    for (;;) {
      if (take(".")) {
        if (now().kind != TreeToken::word) no_form(code_);
        one = Expr{Expr::member, now().value, {std::move(one)}, {}};
        ++k_;
      } else if (at_sign("(")) {
        one = call(std::move(one));
      } else if (take("[")) {
        Expr item{Expr::item, "", {std::move(one)}, {}};
        for (;;) {
          if (take(":"))
            item.parts.push_back(Expr{Expr::name, ":", {}, {}});
          else
            item.parts.push_back(level(0));
          if (take("]")) break;
          expect(",");
        }
        one = std::move(item);
      } else {
        return one;
      }
    }
  }

  Expr call(Expr function) {
    expect("(");
    Expr all{Expr::call, "", {std::move(function)}, {""}};
    while (!take(")")) {
      std::string keyword;
      if (now().kind == TreeToken::word && tokens_[k_ + 1].kind == TreeToken::sign &&
          tokens_[k_ + 1].value == "=") {
        keyword = now().value;
        k_ += 2;
      }
      all.parts.push_back(level(0));
      all.keywords.push_back(keyword);
      if (!at_sign(")")) expect(",");
    }
    return all;
  }

  Expr atom() {
    const TreeToken token = now();
    if (token.kind == TreeToken::end) no_form(code_);
    ++k_;
    switch (token.kind) {
      case TreeToken::word: return {Expr::name, token.value, {}, {}};
      case TreeToken::number: {
        const bool real = token.value.find_first_of(".e") != std::string::npos;
        return {real ? Expr::real : Expr::whole, token.value, {}, {}};
      }
      case TreeToken::text: return {Expr::quoted, token.value, {}, {}};
      default: break;
    }
    if (token.value == "[") {
      Expr all{Expr::list, "", {}, {}};
      while (!take("]")) {
        all.parts.push_back(level(0));
        if (!at_sign("]")) expect(",");
      }
      return all;
    }
    if (token.value != "(") no_form(code_);
    Expr all{Expr::tuple, "", {}, {}};
    bool commas = false;
    while (!take(")")) {
      all.parts.push_back(level(0));
      if (at_sign(")")) continue;
      expect(",");
      commas = true;
    }
    if (commas || all.parts.size() != 1) return all;
    Expr one = std::move(all.parts.front());
    return one;
  }

  std::string_view code_;
  std::vector<TreeToken> tokens_;
  std::size_t k_ = 0;
  int depth_ = 0;
};

/// A line with those that continue it inside brackets.
struct TreeLine {
  std::size_t indent = 0;
  std::string code, comment;
};

std::vector<TreeLine> lines_of(std::string_view text) {
  std::vector<TreeLine> all;
  int open = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string_view::npos) continue;
    if (open == 0) all.push_back({first, "", ""});
    TreeLine& one = all.back();
    bool quoted = false;
    for (std::size_t k = first; k < line.size(); ++k) {
      const char c = line[k];
      if (c == '"') quoted = !quoted;
      if (!quoted && c == '#') {
        const std::size_t begin = line.find_first_not_of(' ', k + 1);
        one.comment = begin == std::string_view::npos ? "" : std::string(line.substr(begin));
        break;
      }
      if (!quoted && (c == '(' || c == '[')) ++open;
      if (!quoted && (c == ')' || c == ']')) --open;
      one.code += c;
    }
    while (!one.code.empty() && one.code.back() == ' ') one.code.pop_back();
    if (open < 0) no_form(line);
    if (open > 0) one.code += ' ';
  }
  if (open != 0) no_form("brackets are not closed");
  return all;
}

class TreeReader {
 public:
  explicit TreeReader(std::string_view text) : lines_(lines_of(text)) {}

  KernelTree run() {
    KernelTree tree;
    while (k_ < lines_.size()) {
      const TreeLine& line = lines_[k_];
      if (line.indent != 0) no_form(line.code);
      static constexpr std::string_view kType = ": gl.constexpr = ";
      if (line.code.empty()) {
        ++k_;
      } else if (line.code == "@gluon.jit") {
        ++k_;
        tree.functions.push_back(function());
      } else if (const std::size_t type = line.code.find(kType); type != std::string::npos) {
        Stmt one;
        one.kind = Stmt::assign;
        one.targets = {line.code.substr(0, type)};
        const std::string value = line.code.substr(type + kType.size());
        one.value = ExpressionReader(value).whole_expression();
        tree.definitions.push_back(std::move(one));
        ++k_;
      } else {
        no_form(line.code);
      }
    }
    return tree;
  }

 private:
  TreeFunction function() {
    if (k_ >= lines_.size()) no_form("the text ends");
    const std::string& code = lines_[k_].code;
    const std::size_t open = code.find('(');
    if (!code.starts_with("def ") || !code.ends_with("):") || open == std::string::npos)
      no_form(code);
    TreeFunction made;
    made.name = code.substr(4, open - 4);
    std::string_view list(code);
    list = list.substr(open + 1, code.size() - open - 3);
    while (!list.empty()) {
      const std::size_t comma = list.find(',');
      std::string_view one = list.substr(0, comma);
      list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
      while (one.starts_with(' ')) one.remove_prefix(1);
      one = one.substr(0, one.find(':'));
      if (!one.empty()) made.parameters.emplace_back(one);
    }
    ++k_;
    made.body = block(4);
    return made;
  }

  std::vector<Stmt> block(std::size_t indent) {
    if (indent > 4 * static_cast<std::size_t>(kDeepestTree)) no_form("too deep");
    std::vector<Stmt> all;
    while (k_ < lines_.size() && lines_[k_].indent >= indent) {
      if (lines_[k_].indent != indent) no_form(lines_[k_].code);
      all.push_back(statement(indent));
    }
    return all;
  }

  Stmt statement(std::size_t indent) {
    const TreeLine line = lines_[k_++];
    const std::string& code = line.code;
    Stmt one;
    one.comment = line.comment;
    const auto rest = [&](std::size_t begin, std::size_t end) {
      const std::string part = code.substr(begin, end - begin);
      return ExpressionReader(part).whole_expression();
    };
    if (code.empty() || code == "pass") return one;
    if (code == "return") {
      one.kind = Stmt::give_back;
    } else if (code.starts_with("return ")) {
      one.kind = Stmt::give_back;
      one.value = rest(7, code.size());
    } else if (code.starts_with("for ") && code.ends_with(":")) {
      const std::size_t in = code.find(" in ");
      if (in == std::string::npos) no_form(code);
      one.kind = Stmt::loop;
      one.targets = {code.substr(4, in - 4)};
      one.value = rest(in + 4, code.size() - 1);
      one.body = block(indent + 4);
    } else if ((code.starts_with("if ") || code.starts_with("elif ")) && code.ends_with(":")) {
      one.kind = Stmt::branch;
      one.value = rest(code.find(' ') + 1, code.size() - 1);
      one.body = block(indent + 4);
      if (k_ < lines_.size() && lines_[k_].indent == indent) {
        if (lines_[k_].code.starts_with("elif ")) {
          one.orelse.push_back(statement(indent));
        } else if (lines_[k_].code == "else:") {
          ++k_;
          one.orelse = block(indent + 4);
        }
      }
    } else {
      simple(one, code);
    }
    return one;
  }

  /// An assignment or an expression: the first = outside brackets decides.
  static void simple(Stmt& one, const std::string& code) {
    int open = 0;
    bool quoted = false;
    for (std::size_t k = 0; k < code.size(); ++k) {
      const char c = code[k];
      if (c == '"') quoted = !quoted;
      if (quoted) continue;
      if (c == '(' || c == '[') ++open;
      if (c == ')' || c == ']') --open;
      if (open != 0 || c != '=' || k == 0 || k + 1 >= code.size()) continue;
      if (code[k + 1] == '=' || code[k - 1] == '=' || code[k - 1] == '<' || code[k - 1] == '>')
        continue;
      const bool adds = code[k - 1] == '+';
      one.kind = adds ? Stmt::add_to : Stmt::assign;
      const Expr left =
          ExpressionReader(std::string_view(code).substr(0, adds ? k - 1 : k)).whole_expression();
      for (const Expr& name : left.kind == Expr::tuple ? left.parts : std::vector<Expr>{left}) {
        if (name.kind != Expr::name) no_form(code);
        one.targets.push_back(name.text);
      }
      one.value = ExpressionReader(std::string_view(code).substr(k + 1)).whole_expression();
      return;
    }
    one.kind = Stmt::expression;
    one.value = ExpressionReader(code).whole_expression();
  }

  std::vector<TreeLine> lines_;
  std::size_t k_ = 0;
};

}  // namespace

const TreeFunction* KernelTree::function(std::string_view name) const {
  for (const TreeFunction& one : functions)
    if (one.name == name) return &one;
  return nullptr;
}

KernelTree read_kernel(std::string_view code) {
  return TreeReader(code).run();
}

}  // namespace twill::emit
