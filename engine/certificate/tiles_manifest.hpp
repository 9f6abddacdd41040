// tiles.json of a certificate of tiles: what was lowered how, and of each choice what is claimed.
//
//   kernel.json, machine.json  the texts that the choices are lowered from
//   choices/N/                 of choice N, in the order of lower_tiles(), a certificate of its own
//                              (certificate.hpp): of its schedule, or that it has none that is
//                              better than what its schedule.json names ("better than"). None where
//                              its layout cannot hold it, which lowering says.
//   tiles.json                 the options of the lowering, the choices with values, layout, work
//                              and the SHA-256 of their manifests, and which is the best
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/include/twill.hpp"

namespace twill {

inline constexpr const char* kTilesFile = "tiles.json";

struct TilesManifest {
  struct Choice {
    ParameterValues values;
    std::string layout;
    Amount work = 1;
    std::string misfit;    ///< why the layout cannot hold it, or "" ...
    std::string manifest;  ///< ... and the SHA-256 of choices/N/manifest.json
  };
  std::string kernel, machine;  ///< SHA-256 of the texts
  LowerOptions options;
  std::string work_unit;
  std::optional<std::size_t> best;  ///< none: no choice has a schedule
  std::vector<Choice> choices;
};

/// "choices/17".
std::string choice_folder(std::size_t number);

/// The canonical text.
std::string tiles_manifest_text(const TilesManifest& manifest);
/// Strict reading; throws InputError.
TilesManifest parse_tiles_manifest(std::string_view text, const std::string& source);

/// The check of such a certificate, in check.cpp's stead.
CertificateReport check_tiles_certificate(const std::string& directory,
                                          const CertificateOptions& options);

}  // namespace twill
