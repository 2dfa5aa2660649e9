# SPDX-License-Identifier: Apache-2.0
# The pure response side: what a provider's answer may hold. A test
# links its own redact.c in front of this library.
add_library(broker_redact STATIC redact.c redact_match.c redact_set.c
    key_digest.c)
target_link_libraries(broker_redact PUBLIC common_io PkgConfig::CRYPTO)
add_library(broker_relay STATIC call_relay.c error_word.c json_walk.c
    response_filter.c usage_rule.c usage_scan.c)
target_link_libraries(broker_relay PUBLIC broker_redact)
