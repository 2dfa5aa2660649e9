# SPDX-License-Identifier: Apache-2.0
# The process that holds keys and speaks TLS to providers.
add_scenario(llm_key_tls TIMEOUT 120)
add_scenario(llm_key_calls TIMEOUT 180)
add_scenario(llm_key_load TIMEOUT 180)
