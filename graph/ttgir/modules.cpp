#include "graph/ttgir/modules.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "graph/error.hpp"
#include "graph/ttgir/parser.hpp"

namespace twill::ttgir {
namespace {

constexpr std::string_view kSeparator = "// -----";
constexpr std::size_t kNamed = 6;  // modules that a refusal names

struct Statement {
  enum Kind { alias, module, function, other } kind = other;
  std::size_t begin = 0, end = 0, line = 1;
  std::string_view name;  ///< of an alias
  bool location = false;  ///< of an alias: loc(...)
};

/// What stands between two separators.
struct Piece {
  std::string title;
  std::vector<Statement> statements;
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '$' || c == '-';
}

/// "// -----// IR Dump Before X //----- //" -> "IR Dump Before X".
std::string title_of(std::string_view line) {
  std::size_t begin = line.find_first_not_of("/- ");
  if (begin == std::string_view::npos) return "";
  line.remove_prefix(begin);
  if (const std::size_t end = line.find(" //-----"); end != std::string_view::npos)
    line = line.substr(0, end);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  return std::string(line);
}

/// The statements outside of all brackets. Knows strings, comments and ( [ {, nothing else.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Piece> run() {
    chunks_.emplace_back();
    while (at_ < text_.size()) step();
    close(text_.size());
    return std::move(chunks_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
      fresh_ = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '/' && text_.substr(at_).starts_with("//")) {
      comment();
    } else if (c == '"') {
      if (depth_ == 0 && fresh_) open(quoted());
      string();
      fresh_ = false;
    } else {
      if (depth_ == 0) outside(c);
      fresh_ = false;
      if (c == '(' || c == '[' || c == '{') ++depth_;
      if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
      if (is_word(c))
        while (at_ < text_.size() && is_word(text_[at_])) ++at_;
      else
        ++at_;
    }
  }

  void comment() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = text_.substr(at_, end - at_);
    if (fresh_ && line.starts_with(kSeparator)) {
      close(at_);
      depth_ = 0;
      chunks_.push_back({title_of(line), {}});
    }
    at_ = end;
  }

  void string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; ++at_)
      if (text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
    if (at_ < text_.size() && text_[at_] == '"') ++at_;
  }

  std::string_view quoted() const {
    const std::size_t end = text_.find_first_of("\"\n", at_ + 1);
    return end == std::string_view::npos ? std::string_view()
                                         : text_.substr(at_ + 1, end - at_ - 1);
  }

  /// A character outside of all brackets that is no space: does a statement begin?
  void outside(char c) {
    if (!is_word(c)) {
      if (fresh_ && (c == '#' || c == '!')) begin_alias();
      return;
    }
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    const bool symbol = at_ > 0 && (text_[at_ - 1] == '@' || text_[at_ - 1] == '%');
    if (symbol || (!fresh_ && word != "module" && word != "builtin.module")) return;
    open(word);
  }

  void open(std::string_view word) {
    const bool module = word == "module" || word == "builtin.module";
    if (!module && !word.ends_with(".func")) return;
    begin(module ? Statement::module : Statement::function);
  }

  void begin_alias() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_word(text_[end])) ++end;
    const std::string_view name = text_.substr(at_, end - at_);
    while (end < text_.size() && text_[end] == ' ') ++end;
    if (end >= text_.size() || text_[end] != '=') return;
    ++end;
    while (end < text_.size() && text_[end] == ' ') ++end;
    begin(Statement::alias);
    Statement& alias = chunks_.back().statements.back();
    alias.name = name;
    alias.location = text_.substr(std::min(end, text_.size())).starts_with("loc(");
  }

  /// A statement reaches to the next one, or to the separator.
  void close(std::size_t end) {
    if (!chunks_.back().statements.empty()) chunks_.back().statements.back().end = end;
  }

  void begin(Statement::Kind kind) {
    std::size_t from = at_;
    while (from > 0 && text_[from - 1] == ' ') --from;
    close(from);
    Statement statement;
    statement.kind = kind;
    statement.begin = from;
    statement.line = line_;
    chunks_.back().statements.push_back(statement);
  }

  std::string_view text_;
  std::size_t at_ = 0, line_ = 1;
  int depth_ = 0;
  bool fresh_ = true;  ///< nothing but spaces since the line began
  std::vector<Piece> chunks_;
};

/// The parts of a chunk: one a module; functions outside of modules are one together.
void add_parts(const Piece& chunk, std::vector<ModulePart>& parts) {
  const auto& list = chunk.statements;
  std::map<std::string_view, std::size_t> defined;  // aliases so far: the last one counts
  bool functions = false;
  for (std::size_t s = 0; s < list.size(); ++s) {
    if (list[s].kind == Statement::alias) defined[list[s].name] = s;
    const bool loose = list[s].kind == Statement::function;
    if ((!loose && list[s].kind != Statement::module) || (loose && functions)) continue;
    functions = functions || loose;
    ModulePart part;
    part.line = list[s].line;
    part.title = chunk.title;
    std::set<std::size_t> mine = {s};
    std::map<std::string_view, std::size_t> known = defined;
    for (std::size_t t = s + 1; t < list.size(); ++t) {
      if (loose && list[t].kind == Statement::function) mine.insert(t);
      if (list[t].kind != Statement::alias) {
        if (!loose) break;
        continue;
      }
      // Locations stand behind their module; other aliases are the next one's.
      if (!loose && (!list[t].location || known.count(list[t].name) != 0)) break;
      known[list[t].name] = t;
    }
    for (const auto& [name, t] : known) mine.insert(t);
    for (const std::size_t t : mine) part.ranges.emplace_back(list[t].begin, list[t].end);
    parts.push_back(std::move(part));
  }
}

std::string called(const std::vector<ModulePart>& parts, std::size_t k) {
  std::string text = std::to_string(k) + " (line " + std::to_string(parts[k].line);
  if (!parts[k].title.empty()) text += ", " + parts[k].title.substr(0, 60);
  return text + ")";
}

}  // namespace

std::vector<ModulePart> split_modules(std::string_view text) {
  std::vector<ModulePart> parts;
  for (const Piece& chunk : Scanner(text).run()) add_parts(chunk, parts);
  if (parts.size() > 1) return parts;
  ModulePart whole;
  if (!parts.empty()) whole = parts[0];
  whole.ranges = {{0, text.size()}};
  return {whole};
}

Module parse_one_module(std::string_view text, const std::string& source,
                        std::optional<int> number) {
  if (text.size() > kMaxModuleBytes) return parse_module(text, source);  // refuses
  const std::vector<ModulePart> parts = split_modules(text);
  const std::string last = std::to_string(parts.size() - 1);
  if (number && (*number < 0 || static_cast<std::size_t>(*number) >= parts.size()))
    throw InputError("command line", "--module", std::to_string(*number),
                     "must be a module from 0 to " + last + " (see --list-loops)");
  if (parts.size() == 1) return parse_module(text, source);
  if (!number) {
    std::string names;
    for (std::size_t k = 0; k < std::min(parts.size(), kNamed); ++k)
      names += (k == 0 ? "" : ", ") + called(parts, k);
    if (parts.size() > kNamed) names += ", ... " + called(parts, parts.size() - 1);
    throw InputError(source, "line " + std::to_string(parts[1].line),
                     std::to_string(parts.size()) + " modules in one file",
                     "one is read at a time: choose by --module 0 to " + last +
                         " (--list-loops says what is in them): " + names);
  }
  // Empty lines for what is before it and blanks for what is another module's in between keep every
  // line and column.
  const auto& ranges = parts[static_cast<std::size_t>(*number)].ranges;
  const std::size_t first = ranges.front().first;
  const auto lines =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(first), '\n');
  std::string alone(static_cast<std::size_t>(lines), '\n');
  std::vector<std::pair<std::size_t, std::size_t>> gaps;
  if (lines > 0) gaps.emplace_back(0, alone.size());
  std::size_t at = first;
  for (const auto& [begin, end] : ranges) {
    if (begin > at) {
      gaps.emplace_back(alone.size(), alone.size() + (begin - at));
      for (const char c : text.substr(at, begin - at)) alone += c == '\n' ? '\n' : ' ';
    }
    alone += text.substr(begin, end - begin);
    at = end;
  }
  Module module = parse_module(alone, source);
  module.gaps = std::move(gaps);
  return module;
}

}  // namespace twill::ttgir
