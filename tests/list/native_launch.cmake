# SPDX-License-Identifier: Apache-2.0
# The boundary without an engine: its launcher and its walls.
add_scenario(native_selftest)
