# Installed headers name each other below twill/, so that one folder on the include path is enough
# and names such as graph/ collide with nobody's. Run when installing, with TWILL_HEADERS.
file(GLOB_RECURSE headers $ENV{DESTDIR}${TWILL_HEADERS}/*.hpp)
foreach(header ${headers})
  file(READ ${header} text)
  string(REPLACE "#include \"graph/" "#include \"twill/graph/" below "${text}")
  string(REPLACE "#include \"twill.hpp\"" "#include \"twill/twill.hpp\"" below "${below}")
  if(NOT below STREQUAL text)
    file(WRITE ${header} "${below}")
  endif()
endforeach()
