# The same engine as two compilers make it; with longer names, and with a field nobody knows, whose
# tensors have the same size.
foreach(way called inlined named strange)
  add_library(loop_${way}_engine SHARED ${CMAKE_CURRENT_LIST_DIR}/programs/loop_engine.c)
  target_include_directories(loop_${way}_engine PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(loop_${way}_engine PRIVATE Threads::Threads)
  add_executable(program_loop_${way} ${CMAKE_CURRENT_LIST_DIR}/programs/loop.c)
  target_link_libraries(program_loop_${way} PRIVATE loop_${way}_engine)
  set_target_properties(program_loop_${way} PROPERTIES OUTPUT_NAME loop-${way} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bin)
  set_target_properties(loop_${way}_engine PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bin)
endforeach()
target_compile_definitions(loop_inlined_engine PRIVATE BARRIER_INLINED)
target_compile_definitions(loop_named_engine PUBLIC LOOP_NAME_BYTES=128)
target_compile_definitions(loop_strange_engine PUBLIC LOOP_STRANGE_BYTES=64)
