# SPDX-License-Identifier: Apache-2.0
# The story of a call, then the process around it. A library, so that tests
# can drive the story without sockets.
add_library(broker_story STATIC call.c call_admit.c call_charge.c
    call_outcome.c call_place.c call_take.c call_text.c key_table.c)
target_link_libraries(broker_story PUBLIC broker_relay broker_request
    egress_leaves common_io)
add_library(broker_io STATIC call_io.c call_net.c call_report.c lane_client.c
    lane_frames.c broker.c broker_config.c broker_confine.c broker_control.c
    broker_ledger.c broker_listen.c broker_usage.c ledger_share.c)
target_link_libraries(broker_io PUBLIC broker_story budget_pair llm_lane_trunk)
add_process(agentnode-llm-broker SOURCES main.c LIBRARIES broker_io)
