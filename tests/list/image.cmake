# SPDX-License-Identifier: Apache-2.0
add_scenario(image_unpack TIMEOUT 120)
add_scenario(install_package TIMEOUT 600)
