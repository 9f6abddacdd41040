# cmake -DPATTERN=... -DOBJECT=... -P planted.cmake -- COMPILER ARGUMENT...
# Compiles through check/ptxas.cmake: with a pattern it must fail, say a line that matches and leave
# no object; without one it must succeed and leave one.
set(command)
set(collect OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(collect)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(collect ON)
  endif()
endforeach()
execute_process(
  COMMAND ${CMAKE_COMMAND} -P ${CMAKE_CURRENT_LIST_DIR}/../check/ptxas.cmake -- ${command}
  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE code)
set(text "${output}${errors}")
if(PATTERN STREQUAL "")
  if(NOT code EQUAL 0 OR NOT EXISTS "${OBJECT}")
    message(FATAL_ERROR "refused, and should be accepted:\n${text}")
  endif()
elseif(code EQUAL 0 OR NOT text MATCHES "registers spilled or wgmma serialised" OR
       NOT text MATCHES "${PATTERN}" OR EXISTS "${OBJECT}")
  message(FATAL_ERROR "not refused as it should be (${code}):\n${text}")
endif()
