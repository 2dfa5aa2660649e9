# SPDX-License-Identifier: Apache-2.0
# The pure request side: what an agent may send, judged without a socket.
add_library(broker_request STATIC call_code.c call_reply.c grant.c
    field_rule.c field_rule_book.c field_rule_check.c field_rule_fault.c
    field_rule_load.c provider.c provider_file.c provider_load.c
    provider_row.c
    body_decode.c call_fault.c call_head.c
    call_forward.c
    call_json.c call_llm.c call_policy.c call_request.c call_target.c
    json_quick.c)
target_link_libraries(broker_request PUBLIC common_io PkgConfig::ZSTD
    PkgConfig::ZLIB)
