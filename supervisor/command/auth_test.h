/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `auth test`: does the provider take the key that is stored? One call for
 * the list of models, on the way that an agent's call goes: llm-broker and
 * llm-key, with the key read by the helper. This program learns a code.
 */
#ifndef SUPERVISOR_COMMAND_AUTH_TEST_H
#define SUPERVISOR_COMMAND_AUTH_TEST_H

#include "supervisor/command/auth_option.h"

/* Exit codes: 0 the provider took it, 1 it refused it, 5 no key is set, 4
 * it could not be tried. The sentence was printed. */
int auth_test_run(const struct auth_option *option);

#endif
