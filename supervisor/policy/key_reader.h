/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of one run on their way to llm-key: per provider one helper, one
 * after the other, each with an end of a pair whose other end is llm-key's
 * `keyring` stream. The helper always sends its `key` message, also when
 * there is none. Asks for the passphrase of keys.enc once per run.
 */
#ifndef SUPERVISOR_POLICY_KEY_READER_H
#define SUPERVISOR_POLICY_KEY_READER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"
#include "llm-broker/keyring/keyring_words.h"

#define KEY_READER_WAITING_MAX 64U

struct key_reader; /* opaque */

/* Once per key_reader_read, in order. detail is one sentence, "" when OK.
 * The reader must not be freed inside. */
typedef void key_reader_done(const char *provider, enum keyring_status status,
    const char *detail, void *context);

/* passphrase_fd is duplicated and read once; -1: keys.enc asks at the
 * terminal when this program has one. */
enum result key_reader_new(struct event_base *base, int passphrase_fd,
    key_reader_done *done, void *context, struct key_reader **reader_r);

/* Takes pair, whatever happens. RESULT_TOO_LONG: too many are waiting. */
enum result key_reader_read(
    struct key_reader *reader, const char *provider, int pair);

/* Ends what is under way; done is not called any more. Accepts NULL. */
void key_reader_free(struct key_reader **reader);

/* Where a provider's key lies: what credentials.json says, else systemd's
 * credential of that name, else the configuration's auth.backend (*noted_r
 * is false: nobody stored one). */
enum result key_reader_backend(const char *provider,
    enum keyring_backend *backend_r, bool *noted_r, char *detail_r,
    size_t size);

#endif
