// Program files (twill.program, version 1): strict reading, canonical writing.
#pragma once

#include <string>
#include <string_view>

#include "graph/error.hpp"
#include "graph/program/program.hpp"

namespace twill::program {

/// Parses a program. All names are resolved: a dangling one, one that is given twice, and a wait
/// for an end that has no event are refused, as is an unknown key. Whether the program is right is
/// judge()'s question, not this function's. Throws InputError with file, place, value and rule.
Program parse_program(std::string_view text, const std::string& source = "program");

Program read_program(const std::string& path);

/// The canonical text: what is read from it is the same program. Throws InputError when a name is
/// not valid UTF-8.
std::string program_text(const Program& program);

}  // namespace twill::program
