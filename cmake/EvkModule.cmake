# One library per folder, with its tests beside the code.
#
#   evk_library(NAME memory DEPS store LINK SQLite::SQLite3)
#
# builds `evk_memory` from every *.cc in the current folder, links it to the libraries of the folders named by
# DEPS (the include table in docs/architecture.md says which are allowed) and to LINK, and builds `evk_memory_tests`
# from every *_test.cc, registered with ctest.

# What runs inside the sandbox is the untrusted side: it links evk_plain_options, and is never instrumented, since a sanitizer
# needs memory, files and system calls that the sandbox refuses.
add_library(evk_plain_options INTERFACE)
target_compile_features(evk_plain_options INTERFACE cxx_std_20)
target_compile_options(evk_plain_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
  -Wno-missing-field-initializers -Werror -ffp-contract=off)
target_include_directories(evk_plain_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
add_library(evk_options INTERFACE)
target_link_libraries(evk_options INTERFACE evk_plain_options)
if(EVK_SANITIZE)
  target_compile_options(evk_options INTERFACE -fsanitize=${EVK_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(evk_options INTERFACE -fsanitize=${EVK_SANITIZE})
endif()

function(evk_library)
  cmake_parse_arguments(ARG "" "NAME" "DEPS;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(sources)
    add_library(evk_${ARG_NAME} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(evk_${ARG_NAME} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(evk_${ARG_NAME} ${scope} evk_options fmt::fmt nlohmann_json::nlohmann_json Threads::Threads
    ${ARG_LINK})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(evk_${ARG_NAME} ${scope} evk_${dep})
  endforeach()
  if(tests)
    add_executable(evk_${ARG_NAME}_tests ${tests})
    target_link_libraries(evk_${ARG_NAME}_tests PRIVATE evk_${ARG_NAME} GTest::gtest GTest::gmock GTest::gtest_main)
    target_compile_definitions(evk_${ARG_NAME}_tests PRIVATE EVK_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
      EVK_BINARY_DIR="${CMAKE_BINARY_DIR}")
    add_test(NAME ${ARG_NAME} COMMAND evk_${ARG_NAME}_tests WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${ARG_NAME} PROPERTIES TIMEOUT 600)
  endif()
endfunction()
