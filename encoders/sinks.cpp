#include "encoders/sinks.hpp"

namespace twill {

void MemoryCnf::write_dimacs(std::ostream& out, const std::vector<std::string>& comments) const {
  for (const std::string& line : comments) out << "c " << line << '\n';
  DimacsWriter writer(out, variables_, static_cast<std::int64_t>(clauses()));
  for (std::size_t i = 0; i < clauses(); ++i) writer.add_clause(clause(i));
}

DimacsWriter::DimacsWriter(std::ostream& out, std::int64_t variables, std::int64_t clauses)
    : out_(out) {
  out_ << "p cnf " << variables << ' ' << clauses << '\n';
}

void DimacsWriter::add_clause(std::span<const int> literals) {
  for (const int l : literals) out_ << l << ' ';
  out_ << "0\n";
}

}  // namespace twill
