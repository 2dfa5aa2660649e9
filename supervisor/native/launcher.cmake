# SPDX-License-Identifier: Apache-2.0
# agentnode-native, the launcher of the boundary without an engine.
set_source_files_properties(${INIT_FILTER_SOURCE} PROPERTIES GENERATED TRUE)
add_static_program(agentnode-native SOURCES main.c native_start.c
    native_launch.c native_fail.c native_mount.c native_idmap.c native_tree.c
    native_build.c native_kernel.c native_own.c native_enter.c
    ${INIT_FILTER_SOURCE})
# The filter is made with init.
add_dependencies(agentnode-native agentnode-init)
add_library(native_parts STATIC native_launch.c)
target_include_directories(native_parts PUBLIC ${CMAKE_SOURCE_DIR})
