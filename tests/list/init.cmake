# SPDX-License-Identifier: Apache-2.0
add_unit_test(wall_table LIBRARIES supervisor_wall)
add_unit_test(init_go LIBRARIES init_parts)
add_unit_test(init_filter LIBRARIES init_parts PkgConfig::SECCOMP)
