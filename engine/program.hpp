// Schedules whose programs find room: placement goes back to the search.
#pragma once

#include "engine/include/twill_program.hpp"  // solve_program()
