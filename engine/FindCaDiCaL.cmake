# Finds the SAT solver CaDiCaL: target CaDiCaL::CaDiCaL, variables CaDiCaL_VERSION ("" if unknown)
# and CaDiCaL_PROPAGATOR (0 or 1: has it the interface for user propagators, as from 1.6 on?).
# CADICAL_ROOT, when set, is the only place looked at: a prefix (include/, lib/) or a source tree
# in which CaDiCaL was built (src/, build/). CaDiCaL installs neither a CMake package nor a
# version in its header, hence this file.
if(NOT "${CADICAL_ROOT}" STREQUAL "${CaDiCaL_FOUND_IN}")
  unset(CaDiCaL_INCLUDE_DIR CACHE)
  unset(CaDiCaL_LIBRARY CACHE)
endif()
set(CaDiCaL_FOUND_IN "${CADICAL_ROOT}" CACHE INTERNAL "CADICAL_ROOT of the last search")
set(places "")
if(CADICAL_ROOT)
  set(places PATHS ${CADICAL_ROOT} NO_DEFAULT_PATH)
endif()
find_path(CaDiCaL_INCLUDE_DIR cadical.hpp ${places} PATH_SUFFIXES include include/cadical src)
find_library(CaDiCaL_LIBRARY cadical ${places} PATH_SUFFIXES lib build)
mark_as_advanced(CaDiCaL_INCLUDE_DIR CaDiCaL_LIBRARY)

# The version, from the source tree or from Debian's package.
set(CaDiCaL_VERSION "")
if(CaDiCaL_LIBRARY)
  find_program(CaDiCaL_DPKG_QUERY dpkg-query)
  mark_as_advanced(CaDiCaL_DPKG_QUERY)
  if(CADICAL_ROOT AND EXISTS ${CADICAL_ROOT}/VERSION)
    file(STRINGS ${CADICAL_ROOT}/VERSION CaDiCaL_VERSION LIMIT_COUNT 1)
  elseif(CaDiCaL_DPKG_QUERY)
    execute_process(COMMAND ${CaDiCaL_DPKG_QUERY} -S ${CaDiCaL_LIBRARY}
      OUTPUT_VARIABLE owner ERROR_QUIET)
    if(owner MATCHES "^([^:, ]+)")
      execute_process(COMMAND ${CaDiCaL_DPKG_QUERY} -W "-f=\${source:Upstream-Version}"
        ${CMAKE_MATCH_1} OUTPUT_VARIABLE CaDiCaL_VERSION ERROR_QUIET)
    endif()
  endif()
endif()

set(CaDiCaL_PROPAGATOR 0)
if(CaDiCaL_INCLUDE_DIR)
  file(STRINGS ${CaDiCaL_INCLUDE_DIR}/cadical.hpp class REGEX "^class ExternalPropagator {" LIMIT_COUNT 1)
  if(class)
    set(CaDiCaL_PROPAGATOR 1)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CaDiCaL
  REQUIRED_VARS CaDiCaL_LIBRARY CaDiCaL_INCLUDE_DIR VERSION_VAR CaDiCaL_VERSION
  REASON_FAILURE_MESSAGE "install libcadical-dev or set CADICAL_ROOT")
if(CaDiCaL_FOUND AND NOT TARGET CaDiCaL::CaDiCaL)
  add_library(CaDiCaL::CaDiCaL UNKNOWN IMPORTED)
  set_target_properties(CaDiCaL::CaDiCaL PROPERTIES IMPORTED_LOCATION ${CaDiCaL_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${CaDiCaL_INCLUDE_DIR})
endif()
