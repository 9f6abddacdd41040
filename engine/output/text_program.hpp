// A program as a person reads it.
#pragma once

#include "engine/include/twill_program.hpp"  // program_listing()
