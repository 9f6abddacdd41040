// The meaning of a loop in JSON: in kernel files of version 4 and in program files. Private to
// graph/.
#pragma once

#include <vector>

#include "graph/io/json_reader.hpp"
#include "graph/io/json_writer.hpp"
#include "graph/meaning/meaning.hpp"

namespace twill::meaning {

/// Strict reading: `root` is the object with constants, tensors and what is before and after the
/// loop, `ops` are the loop's, each with id, shape, type and computes (other keys are the caller's
/// business). Refused are names that are not there or not unique, wrong numbers of operands, shapes
/// that do not agree, types without arithmetic, circles within an iteration, carried results
/// without an initial value. Throws InputError.
Meaning read_meaning(const JsonValue& root, const std::vector<JsonValue>& ops);

/// Keys of `root`; a program file has the loop's ops there, too, under "ops" (`with_ops`).
void check_meaning_keys(const JsonValue& root, bool with_ops);

/// The object as a program file has it, with "ops". Reads back as it is.
void write_meaning(const Meaning& meaning, JsonWriter& file);

}  // namespace twill::meaning
