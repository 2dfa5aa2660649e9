/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line from a person, not shown: the terminal's echo, line editing and
 * signals are off while it is typed, and put back whatever happens.
 */
#ifndef LLM_BROKER_KEYRING_KEY_TERMINAL_H
#define LLM_BROKER_KEYRING_KEY_TERMINAL_H

#include "common/result.h"
#include "common/secret.h"

/* Ask with the prompt and read up to Enter into line (emptied first).
 * Backspace and ^U work. RESULT_REFUSED: ^C, ^\ or ^D at the start;
 * RESULT_TOO_LONG; RESULT_SYSTEM; RESULT_EOF: the terminal went away. */
enum result key_terminal_ask(
    int terminal, const char *prompt, struct secret *line);

#endif
