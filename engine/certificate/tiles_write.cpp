#include "engine/include/twill.hpp"

namespace twill {
void write_tiles_certificate(const std::string&, const TilesSolution&, const TileSource&) {}
}  // namespace twill
