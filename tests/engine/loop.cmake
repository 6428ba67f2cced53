# The same engine as two compilers make it; with longer names, and with a field nobody knows, whose
# tensors have the same size.
foreach(way called inlined named strange older)
  add_library(loop_${way}_engine SHARED ${CMAKE_CURRENT_LIST_DIR}/programs/loop_engine.c)
  target_include_directories(loop_${way}_engine PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(loop_${way}_engine PRIVATE Threads::Threads)
  add_executable(program_loop_${way} ${CMAKE_CURRENT_LIST_DIR}/programs/loop.c)
  target_link_libraries(program_loop_${way} PRIVATE loop_${way}_engine)
  set_target_properties(program_loop_${way} PROPERTIES OUTPUT_NAME loop-${way} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bin)
  set_target_properties(loop_${way}_engine PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bin)
endforeach()
# It attaches itself. Engine and program are bound at once, and their call slots closed: the hook
# library comes behind the engine, so that it is found second.
add_library(loop_now_engine SHARED ${CMAKE_CURRENT_LIST_DIR}/programs/loop_engine.c)
target_include_directories(loop_now_engine PUBLIC ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(loop_now_engine PRIVATE Threads::Threads)
add_executable(program_loop_attach ${CMAKE_CURRENT_LIST_DIR}/programs/loop.c)
target_compile_definitions(program_loop_attach PRIVATE LOOP_ATTACH)
target_include_directories(program_loop_attach PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(program_loop_attach PRIVATE loop_now_engine tensortrace-hook)
target_link_options(program_loop_attach PRIVATE -Wl,-z,now -Wl,-z,relro -Wl,--no-as-needed)
target_link_options(loop_now_engine PRIVATE -Wl,-z,now -Wl,-z,relro)
set_target_properties(loop_now_engine program_loop_attach PROPERTIES OUTPUT_NAME loop-attach
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bin LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bin)
target_compile_definitions(loop_inlined_engine PRIVATE BARRIER_INLINED)
target_compile_definitions(loop_named_engine PUBLIC LOOP_NAME_BYTES=128)
target_compile_definitions(loop_strange_engine PUBLIC LOOP_STRANGE_BYTES=64)
# Before December 2024 a pointer more stood before the sources, and none of padding at the end.
target_compile_definitions(loop_older_engine PUBLIC LOOP_NAME_AT=264 LOOP_STRANGE_BYTES=-8)
