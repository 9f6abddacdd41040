# cmake -DNVCC=... -DROOT=... -P alone.cmake
# Every kernel file of gpu/hopper is named ...forward... or ...backward..., and needs, compiled alone
# from the repository root, no file but the repository's and the Toolkit's: none that the build makes.
file(GLOB kernels RELATIVE ${ROOT} ${ROOT}/gpu/hopper/*/*.cu)
if(kernels STREQUAL "")
  message(FATAL_ERROR "no kernels in ${ROOT}/gpu/hopper")
endif()
foreach(kernel ${kernels})
  if(NOT kernel MATCHES "(forward|backward)[^/]*\\.cu$")
    message(FATAL_ERROR "${kernel} is named neither ...forward....cu nor ...backward....cu")
  endif()
  execute_process(COMMAND ${NVCC} -std=c++20 -O3 -I. -Igpu -gencode arch=compute_90a,code=sm_90a
    -MM ${kernel} WORKING_DIRECTORY ${ROOT}
    OUTPUT_VARIABLE needs ERROR_VARIABLE errors RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${kernel}:\n${errors}")
  endif()
  string(REGEX MATCHALL "[^ \t\n\\\\]+\\.(cuh|hpp|h)" headers "${needs}")
  foreach(header ${headers})
    if(header MATCHES "^(\\./)?gpu/")
      execute_process(COMMAND git -C ${ROOT} ls-files --error-unmatch ${header}
        OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE untracked)
      if(NOT EXISTS ${ROOT}/${header} OR (EXISTS ${ROOT}/.git AND NOT untracked EQUAL 0))
        message(FATAL_ERROR "${kernel} needs ${header}, which is no file of the repository")
      endif()
    elseif(header MATCHES "/gpu/|build")
      message(FATAL_ERROR "${kernel} needs ${header}, outside the repository's gpu folder")
    endif()
  endforeach()
endforeach()
