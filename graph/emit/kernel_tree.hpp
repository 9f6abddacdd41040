// The statements of an emitted kernel as a tree: what gluon*.cpp writes, read back for another
// printer.
//
// gluon.cpp decides what a kernel does, statement for statement; ttgir*.cpp writes the same
// statements in another language. The form between the two is the text itself, whose grammar is the
// few forms of Python that are written there. All else is refused, so no statement can get lost.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace twill::emit {

struct Expr {
  enum Kind {
    name,     ///< `text`
    whole,    ///< an integer: `text`
    real,     ///< a number with a point: `text`
    quoted,   ///< a string: `text` without its quotes
    list,     ///< [parts]
    tuple,    ///< (parts)
    binary,   ///< parts[0] `text` parts[1]: + - * / // % << >> & | ^ and comparisons
    negated,  ///< -parts[0]
    member,   ///< parts[0].`text`
    call,     ///< parts[0](the others), with keywords
    item,     ///< parts[0][the others]; a colon is a name ":"
  } kind = name;
  std::string text;
  std::vector<Expr> parts;
  std::vector<std::string> keywords;  ///< of a call: per part, its keyword or ""

  bool is_name(std::string_view what) const { return kind == name && text == what; }
};

struct Stmt {
  enum Kind {
    assign,      ///< targets = value
    add_to,      ///< targets[0] += value
    expression,  ///< value
    branch,      ///< if value: body, else: orelse (an elif is a branch in orelse)
    loop,        ///< for targets[0] in value: body
    give_back,   ///< return value
    nothing,     ///< pass, or a comment alone
  } kind = nothing;
  std::vector<std::string> targets;
  Expr value;
  std::vector<Stmt> body, orelse;
  std::string comment;  ///< without its "#"
};

struct TreeFunction {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<Stmt> body;
};

struct KernelTree {
  std::vector<Stmt> definitions;  ///< NAME: gl.constexpr = gl.constexpr(value), as assignments
  std::vector<TreeFunction> functions;

  const TreeFunction* function(std::string_view name) const;
};

/// Throws program::Refusal of rule "ttgir" for a form that is not one of ours.
KernelTree read_kernel(std::string_view code);

}  // namespace twill::emit
