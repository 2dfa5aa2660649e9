# SPDX-License-Identifier: Apache-2.0
# Compiler and linker flags of every target. Sanitizer, fuzz and coverage
# builds are chosen by the presets through AGENTNODE_MODE.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON) # _GNU_SOURCE system calls
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(AGENTNODE_MODE "release" CACHE STRING
    "release, asan, fuzz or coverage")
set_property(CACHE AGENTNODE_MODE PROPERTY STRINGS release asan fuzz coverage)
if(NOT AGENTNODE_MODE MATCHES "^(release|asan|fuzz|coverage)$")
	message(FATAL_ERROR
	    "AGENTNODE_MODE is '${AGENTNODE_MODE}': use release, asan, fuzz or coverage")
endif()

add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wswitch-enum -Werror -Wshadow
    -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings
    -Wvla -Wformat=2 -Wimplicit-fallthrough -Wundef -fno-common
    -fno-strict-aliasing -fstack-protector-strong -fstack-clash-protection
    -g)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64")
	add_compile_options(-fcf-protection=full)
endif()

if(AGENTNODE_MODE STREQUAL "release")
	add_compile_options(-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
elseif(AGENTNODE_MODE STREQUAL "asan")
	add_compile_options(-O1 -fsanitize=address,undefined
	    -fno-sanitize-recover=all -fno-omit-frame-pointer)
	add_link_options(-fsanitize=address,undefined)
elseif(AGENTNODE_MODE STREQUAL "fuzz")
	if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
		message(FATAL_ERROR "the fuzz mode needs clang (use the preset)")
	endif()
	add_compile_options(-O1 -fsanitize=fuzzer-no-link,address,undefined
	    -fno-sanitize-recover=all -fno-omit-frame-pointer)
	add_link_options(-fsanitize=address,undefined)
elseif(AGENTNODE_MODE STREQUAL "coverage")
	add_compile_options(-O0 --coverage)
	add_link_options(--coverage)
endif()

add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} -pie")
