# SPDX-License-Identifier: Apache-2.0
add_scenario(image_unpack TIMEOUT 120)
