/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-ledger: the one process that writes the audit chain and the
 * budgets. Started by the supervisor; gets its folder as a descriptor. It must
 * never do anything else: no socket, no exec, no file outside that folder.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/confine.h"
#include "common/event_loop.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/peer.h"
#include "supervisor/ledger/audit_seal.h"
#include "supervisor/ledger/budget.h"
#include "supervisor/ledger/ledger.h"
#include "supervisor/ledger/ledger_config.h"
#include "supervisor/ledger/ledger_confine.h"

#define MAIN_NAME "agentnode-ledger"

/* The chain's key, before confinement: its memory is locked. */
static struct secret *
main_key(struct ipc_message *message)
{
	int fd FD_CLEANUP = ipc_message_take_fd(message, LEDGER_CONFIG_KEY);
	struct secret *key = NULL;
	enum result result = secret_new(AUDIT_SEAL_KEY_TEXT, &key);

	if (result == RESULT_OK)
		result = secret_read_fd(key, fd);
	if (result == RESULT_OK && !audit_seal_is_key(key))
		result = RESULT_BAD;
	if (result != RESULT_OK)
		log_fatal(
		    IPC_EXIT_BAD_CONFIG, "audit_key", result_text(result));
	return key;
}

/* config: the folder stays open, the log is opened. */
static int
main_config(struct ledger_config *config_r, struct secret **key_r)
{
	struct json_fault fault = {""};
	struct ipc_message message;
	char detail[256] = "";
	int dir_fd;

	if (peer_receive_first(IPC_CONTROL_FD, IPC_LEDGER, IPC_SUPERVISOR,
		IPC_START_TIMEOUT_MS, &message, detail,
		sizeof(detail)) != RESULT_OK)
		log_fatal(IPC_EXIT_BAD_CONFIG, "config", detail);
	ledger_config_read(&message, config_r, &fault);
	if (fault.text[0] != '\0')
		log_fatal(IPC_EXIT_BAD_CONFIG, "config", fault.text);
	log_open(ipc_message_take_fd(&message, LEDGER_CONFIG_LOG), MAIN_NAME,
	    config_r->log_level);
	dir_fd = ipc_message_take_fd(&message, LEDGER_CONFIG_DIR);
	if (config_r->has_key)
		*key_r = main_key(&message);
	ipc_message_clear(&message);
	return dir_fd;
}

/* The chain cannot be used: say why, so that the supervisor can. */
_Noreturn static void
main_refuse(enum result result, const struct json_fault *fault)
{
	static char bytes[IPC_MESSAGE_MAX];
	struct ipc_message message;
	char detail[256];
	size_t len;

	ipc_message_init(&message, IPC_FAILED, 0);
	message.body = json_pack("{s:s, s:s}", "code",
	    result == RESULT_MISMATCH ? "audit_broken" : "audit_write",
	    "detail",
	    fault->text[0] != '\0' ? fault->text : result_text(result));
	if (ipc_encode(&message, IPC_LEDGER, IPC_SUPERVISOR, bytes,
		sizeof(bytes), &len, detail, sizeof(detail)) == RESULT_OK)
		(void)fd_send(IPC_CONTROL_FD, bytes, len, NULL, 0);
	ipc_message_clear(&message);
	log_fatal(IPC_EXIT_BAD_CONFIG, "chain", fault->text);
}

int
main(void)
{
	struct json_fault fault = {""};
	struct confine_layers layers;
	struct ledger_config config;
	struct secret *key = NULL;
	struct event_base *base;
	struct ledger *ledger;
	char detail[256] = "";
	enum result result;
	int dir_fd;

	log_open(STDERR_FILENO, MAIN_NAME, LOG_INFO_LEVEL);
	confine_preload();
	dir_fd = main_config(&config, &key);
	(void)umask(077);
	if (budget_prepare() != RESULT_OK || event_loop_new(&base) != RESULT_OK)
		log_fatal(IPC_EXIT_CRASH, "start", "a library did not start");
	if (ledger_confine_enter(config.uid, dir_fd, !config.no_landlock,
		&layers, detail, sizeof(detail)) != RESULT_OK)
		log_fatal(IPC_EXIT_CONFINE, "confine", detail);
	result = ledger_new(base, dir_fd, &config, key, &ledger, &fault);
	if (result != RESULT_OK)
		main_refuse(result, &fault);
	if (ledger_serve(ledger, IPC_CONTROL_FD, &layers) != RESULT_OK ||
	    event_loop_run(base) != RESULT_OK)
		log_fatal(IPC_EXIT_CRASH, "loop", "the loop ended by itself");
	secret_free(&key);
	log_flush();
	return ledger_exit_code(ledger);
}
