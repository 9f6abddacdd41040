// A program as one Python file for TileLang: its tiles one after the other, and beside them the
// schedule that TileLang's annotate_ws_schedule takes (roles, pipelines, scopes).
#pragma once

#include <string>
#include <variant>

#include "graph/emit/gluon.hpp"

namespace twill::emit {

/// The TileLang that the text was tried with.
inline constexpr std::string_view kTileLang = "0.1.15";

/// The file, or why there is none. Rules as of emit_gluon(); "tilelang" for what TileLang's
/// schedules cannot say: a pipeline lies between two roles, its buffers hold what is of their own
/// iteration and lie where nothing else does, a wgmma is waited for where it is issued, orders
/// without data are not said; "op" for a tile function that is not written in TileLang yet.
///
/// TileLang makes the barriers itself: a pipeline of depth R is a pair of rings of R barriers, and
/// its waits stand before the first use and its arrivals after the last use of each slot, where the
/// program has its own. The program must be one that judge() accepts; the kernel is never a user's
/// own function (EmitOptions::user must be null).
std::variant<std::string, program::Refusal> emit_tilelang(const program::Program& program,
                                                          const EmitOptions& options);

}  // namespace twill::emit
