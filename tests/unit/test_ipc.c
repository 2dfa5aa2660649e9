/* SPDX-License-Identifier: Apache-2.0 */
/* common/ipc and its catalogue: round trips, every kind of refusal with its
 * sentence, and docs/protocol.md naming every type and field. */
#include "common/ipc.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fd.h"
#include "common/ipc_catalogue.h"

/* A body that fits the row: every field, at its least. */
static json_t *
test_ipc_body(const struct ipc_row *row)
{
	const struct ipc_field *field;
	json_t *body = json_object(), *value = NULL;
	char text[] = "x";

	for (field = row->fields; field->name != NULL; field++) {
		if (strcmp(field->name, "options_fd") == 0)
			continue;
		switch (field->kind) {
		case IPC_TEXT:
			value = json_string(
			    field->words != NULL ? field->words[0] : text);
			break;
		case IPC_NUMBER:
			value = json_integer(field->min);
			break;
		case IPC_FLAG:
			value = json_true();
			break;
		case IPC_LIST:
			value = json_array();
			break;
		case IPC_OBJECT:
			value = json_object();
			break;
		}
		assert_int_equal(
		    json_object_set_new(body, field->name, value), 0);
	}
	return body;
}

static enum ipc_role
test_ipc_first_role(unsigned bits, bool supervisor)
{
	unsigned role;

	if (supervisor && (bits & 1U << IPC_SUPERVISOR) != 0)
		return IPC_SUPERVISOR;
	for (role = 1; role < IPC_ROLE_COUNT; role++)
		if ((bits & 1U << role) != 0)
			return (enum ipc_role)role;
	return IPC_SUPERVISOR;
}

static enum ipc_state
test_ipc_first_state(unsigned bits)
{
	return bits & IPC_RUNNING    ? IPC_RUNNING
	       : bits & IPC_STARTING ? IPC_STARTING
				     : IPC_CLOSING;
}

/* Every row of the catalogue: encoded, decoded, equal; and refused from
 * every role that may not send it, in every state it is not for, with one
 * descriptor too many. */
static void
test_ipc_every_row(void **state)
{
	char bytes[IPC_MESSAGE_MAX], fault[256];
	struct ipc_message out, in;
	const struct ipc_row *row;
	enum ipc_role sender, receiver;
	unsigned type, role, bit;
	size_t len;

	(void)state;
	for (type = 0; type < IPC_TYPE_COUNT; type++) {
		row = ipc_catalogue_row((enum ipc_type)type);
		assert_int_equal(row->type, type);
		sender = test_ipc_first_role(row->senders, true);
		receiver = test_ipc_first_role(
		    row->receivers, sender != IPC_SUPERVISOR);
		ipc_message_init(&out, (enum ipc_type)type, 7);
		out.body = test_ipc_body(row);
		out.fd_count = row->fds_min;
		assert_int_equal(ipc_encode(&out, sender, receiver, bytes,
				     sizeof(bytes), &len, fault, sizeof(fault)),
		    RESULT_OK);
		ipc_message_init(&in, IPC_CONFIG, 0);
		assert_int_equal(
		    ipc_decode(bytes, len, row->fds_min, sender, receiver,
			test_ipc_first_state(row->states), &in, fault,
			sizeof(fault)),
		    RESULT_OK);
		assert_int_equal(in.type, type);
		assert_int_equal(in.id, 7);
		assert_true(json_equal(in.body, out.body));
		ipc_message_clear(&in);
		for (role = 0; role < IPC_ROLE_COUNT; role++)
			if ((row->senders & 1U << role) == 0)
				assert_int_equal(
				    ipc_decode(bytes, len, row->fds_min,
					(enum ipc_role)role, receiver,
					IPC_RUNNING, &in, fault, sizeof(fault)),
				    RESULT_BAD);
		for (bit = 1; bit <= IPC_CLOSING; bit <<= 1)
			if ((row->states & bit) == 0)
				assert_int_equal(
				    ipc_decode(bytes, len, row->fds_min, sender,
					receiver, (enum ipc_state)bit, &in,
					fault, sizeof(fault)),
				    RESULT_BAD);
		assert_int_equal(
		    ipc_decode(bytes, len, row->fds_max + 1, sender, receiver,
			test_ipc_first_state(row->states), &in, fault,
			sizeof(fault)),
		    RESULT_BAD);
		assert_null(in.body);
		ipc_message_clear(&out);
	}
}

/* Children never talk to each other, whatever a row allows. */
static void
test_ipc_no_child_to_child(void **state)
{
	static const char text[] = "{\"v\":1,\"type\":\"stats\",\"id\":1}";
	struct ipc_message in;
	char fault[256];

	(void)state;
	ipc_message_init(&in, IPC_CONFIG, 0);
	assert_int_equal(
	    ipc_decode(text, strlen(text), 0, IPC_PROXY, IPC_SUPERVISOR,
		IPC_RUNNING, &in, fault, sizeof(fault)),
	    RESULT_OK);
	ipc_message_clear(&in);
	assert_int_equal(ipc_decode(text, strlen(text), 0, IPC_PROXY, IPC_GATE,
			     IPC_RUNNING, &in, fault, sizeof(fault)),
	    RESULT_BAD);
	assert_string_equal(fault, "stats is not for the gate");
}

static void
test_ipc_refused(void **state)
{
	/* as the egress proxy in RUNNING would see it, no descriptors */
	static const char *const rows[][2] = {
	    {"", "line 1, column 0: '[' or '{' expected near end of file"},
	    {"[]", "message must be an object"},
	    {"{}", "message.v is missing: a whole number is needed"},
	    {"{\"v\":2,\"type\":\"stats\",\"id\":0}",
		"message.v is 2, it must be 1 to 1"},
	    {"{\"v\":1,\"id\":0}", "message.type is missing: a text is needed"},
	    {"{\"v\":1,\"type\":\"stats\"}",
		"message.id is missing: a whole number is needed"},
	    {"{\"v\":1,\"type\":\"stats\",\"id\":-1}",
		"message.id is -1, it must be 0 to 9223372036854775807"},
	    {"{\"v\":1,\"type\":\"stats\",\"id\":1.0}",
		"message.id is a number with a fraction, it must be a whole "
		"number"},
	    {"{\"v\":1,\"type\":\"nonsense\",\"id\":0}",
		"type 'nonsense' is not known"},
	    {"{\"v\":1,\"type\":\"stats\",\"id\":0,\"x\":1}",
		"stats.x is not known"},
	    {"{\"v\":1,\"type\":\"stats\",\"id\":0,\"id\":0}",
		"line 1, column 34: duplicate object key near '\"id\"'"},
	    {"{\"v\":1,\"type\":\"stats\",\"id\":0,\"values\":[]}",
		"stats.values is a list, it must be an object"},
	    {"{\"v\":1,\"type\":\"sandbox_close\",\"id\":0}",
		"sandbox_close.sandbox is missing: a text is needed"},
	    {"{\"v\":1,\"type\":\"sandbox_close\",\"id\":0,\"sandbox\":\"\"}",
		"sandbox_close.sandbox is empty"},
	    {"{\"v\":1,\"type\":\"config\",\"id\":0,\"options\":{}}",
		"config is not allowed at this point"},
	    {"{\"v\":1,\"type\":\"work\",\"id\":1,\"job\":\"x\","
	     "\"options\":{}}",
		"work is not for the egress proxy"},
	    {"{\"v\":1,\"type\":\"ready\",\"id\":1,\"layers\":{}}",
		"ready is not the supervisor's to send"},
	    {"{\"v\":1,\"type\":\"log_replace\",\"id\":0}",
		"log_replace came with 0 descriptors, it must be 1 to 1"},
	    {"{\"v\":1,\"type\":\"resolver_replace\",\"id\":0,\"servers\":7}",
		"resolver_replace.servers is a whole number, it must be a "
		"text"}};
	struct ipc_message in;
	char fault[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ipc_message_init(&in, IPC_CONFIG, 0);
		if (ipc_decode(rows[i][0], strlen(rows[i][0]), 0,
			IPC_SUPERVISOR, IPC_PROXY, IPC_RUNNING, &in, fault,
			sizeof(fault)) != RESULT_BAD)
			fail_msg("accepted: %s", rows[i][0]);
		assert_null(in.body);
		if (i == 0)
			assert_true(strncmp(fault, "line 1,", 7) == 0);
		else if (i != 10)
			assert_string_equal(fault, rows[i][1]);
		else
			assert_non_null(strstr(fault, "duplicate object key"));
	}
}

static void
test_ipc_listen_words(void **state)
{
	static const char bad[] = "{\"v\":1,\"type\":\"listen\",\"id\":0,"
				  "\"sandbox\":\"a\",\"kind\":\"raw\"}";
	static const char port[] = "{\"v\":1,\"type\":\"listen\",\"id\":0,"
				   "\"sandbox\":\"a\",\"kind\":\"direct\","
				   "\"name\":\"a.example\",\"port\":65536}";
	struct ipc_message in;
	char fault[256];

	(void)state;
	ipc_message_init(&in, IPC_CONFIG, 0);
	assert_int_equal(ipc_decode(bad, strlen(bad), 1, IPC_SUPERVISOR,
			     IPC_PROXY, IPC_RUNNING, &in, fault, sizeof(fault)),
	    RESULT_BAD);
	assert_string_equal(
	    fault, "listen.kind is 'raw', which is no word it may be");
	assert_int_equal(ipc_decode(port, strlen(port), 1, IPC_SUPERVISOR,
			     IPC_PROXY, IPC_RUNNING, &in, fault, sizeof(fault)),
	    RESULT_BAD);
	assert_string_equal(
	    fault, "listen.port is 65536, it must be 1 to 65535");
}

static void
test_ipc_config_one_way(void **state)
{
	static const struct {
		const char *text;
		size_t fds;
		enum result result;
	} rows[] = {
	    {"{\"v\":1,\"type\":\"config\",\"id\":0,\"options\":{}}", 0,
		RESULT_OK},
	    {"{\"v\":1,\"type\":\"config\",\"id\":0,\"options_fd\":1}", 2,
		RESULT_OK},
	    {"{\"v\":1,\"type\":\"config\",\"id\":0,\"options_fd\":1}", 1,
		RESULT_BAD},
	    {"{\"v\":1,\"type\":\"config\",\"id\":0}", 1, RESULT_BAD},
	    {"{\"v\":1,\"type\":\"config\",\"id\":0,\"options\":{},"
	     "\"options_fd\":0}",
		1, RESULT_BAD},
	};
	struct ipc_message in;
	char fault[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ipc_message_init(&in, IPC_CONFIG, 0);
		assert_int_equal(ipc_decode(rows[i].text, strlen(rows[i].text),
				     rows[i].fds, IPC_SUPERVISOR, IPC_GATE,
				     IPC_STARTING, &in, fault, sizeof(fault)),
		    rows[i].result);
		ipc_message_clear(&in);
	}
}

/* A mistake of ours shows at the sender. */
static void
test_ipc_encode_refuses(void **state)
{
	char bytes[IPC_MESSAGE_MAX], fault[256];
	struct ipc_message out;
	char *big = malloc(IPC_MESSAGE_MAX + 1);
	size_t len;

	(void)state;
	ipc_message_init(&out, IPC_STATS, 0);
	out.body = json_pack("{s:i}", "id", 1);
	assert_int_equal(ipc_encode(&out, IPC_SUPERVISOR, IPC_PROXY, bytes,
			     sizeof(bytes), &len, fault, sizeof(fault)),
	    RESULT_BAD);
	assert_string_equal(fault, "stats.id is not known");
	ipc_message_clear(&out);
	ipc_message_init(&out, IPC_AUDIT, 0);
	out.body = json_pack("{s:s, s:{}}", "event", "launch", "fields");
	assert_int_equal(ipc_encode(&out, IPC_SUPERVISOR, IPC_LEDGER, bytes,
			     sizeof(bytes), &len, fault, sizeof(fault)),
	    RESULT_BAD);
	assert_string_equal(fault, "audit.id is 0, a number is needed");
	out.id = 1;
	memset(big, 'x', IPC_MESSAGE_MAX);
	big[IPC_MESSAGE_MAX] = '\0';
	json_object_set_new(
	    json_object_get(out.body, "fields"), "big", json_string(big));
	assert_int_equal(ipc_encode(&out, IPC_SUPERVISOR, IPC_LEDGER, bytes,
			     sizeof(bytes), &len, fault, sizeof(fault)),
	    RESULT_TOO_LONG);
	assert_non_null(strstr(fault, "at most 65536 fit"));
	ipc_message_clear(&out);
	free(big);
}

static void
test_ipc_message_fds(void **state)
{
	struct ipc_message message;
	int taken, left;

	(void)state;
	ipc_message_init(&message, IPC_LISTEN, 0);
	message.fds[0] = dup(0);
	left = message.fds[1] = dup(0);
	message.fd_count = 2;
	taken = ipc_message_take_fd(&message, 0);
	assert_true(taken >= 0);
	assert_int_equal(ipc_message_take_fd(&message, 0), -1);
	assert_int_equal(ipc_message_take_fd(&message, 2), -1);
	ipc_message_clear(&message);
	assert_int_equal(fcntl(taken, F_GETFD) >= 0, 1);
	assert_int_equal(fcntl(left, F_GETFD), -1);
	fd_close(&taken);
}

/* The prose: a heading per type, and every field named in its section. */
static void
test_ipc_documented(void **state)
{
	int fd = open(AGENTNODE_SOURCE_DIR "/docs/protocol.md", O_RDONLY);
	const struct ipc_field *field;
	const struct ipc_row *row;
	char *text, *section, *end, needle[80];
	unsigned type;
	size_t len;

	(void)state;
	assert_int_equal(fd_read_all(fd, 1 << 20, &text, &len), RESULT_OK);
	for (type = 0; type < IPC_TYPE_COUNT; type++) {
		row = ipc_catalogue_row((enum ipc_type)type);
		snprintf(needle, sizeof(needle), "\n### `%s`", row->name);
		section = strstr(text, needle);
		if (section == NULL)
			fail_msg("docs/protocol.md lacks %s", row->name);
		end = strstr(section + 1, "\n#");
		if (end != NULL)
			*end = '\0';
		for (field = row->fields; field->name != NULL; field++) {
			snprintf(needle, sizeof(needle), "`%s`", field->name);
			if (strstr(section, needle) == NULL)
				fail_msg("docs/protocol.md lacks %s.%s",
				    row->name, field->name);
		}
		if (end != NULL)
			*end = '\n';
	}
	free(text);
	fd_close(&fd);
}

/* Each record type of init's protocol is named in backquotes. */
static void
test_ipc_init_documented(void **state)
{
	static const char *const files[] = {AGENTNODE_SOURCE_DIR
	    "/docs/protocol.md",
	    AGENTNODE_SOURCE_DIR "/supervisor/init/init_protocol.h"};
	char *texts[2], *at, *end, needle[80];
	unsigned count = 0;
	size_t i, len;
	int fd;

	(void)state;
	for (i = 0; i < 2; i++) {
		fd = open(files[i], O_RDONLY);
		assert_int_equal(
		    fd_read_all(fd, 1 << 20, &texts[i], &len), RESULT_OK);
		fd_close(&fd);
	}
	at = strstr(texts[1], "enum init_type {");
	assert_non_null(at);
	end = strstr(at, "};");
	while ((at = strstr(at, "\tINIT_")) != NULL && at < end) {
		len = strspn(++at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
		snprintf(needle, sizeof(needle), "`%.*s`", (int)len, at);
		if (strstr(texts[0], needle) == NULL)
			fail_msg("docs/protocol.md lacks %s", needle);
		count++;
	}
	assert_in_range(count, 13, 64);
	free(texts[0]);
	free(texts[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ipc_every_row),
	    cmocka_unit_test(test_ipc_no_child_to_child),
	    cmocka_unit_test(test_ipc_refused),
	    cmocka_unit_test(test_ipc_listen_words),
	    cmocka_unit_test(test_ipc_config_one_way),
	    cmocka_unit_test(test_ipc_encode_refuses),
	    cmocka_unit_test(test_ipc_message_fds),
	    cmocka_unit_test(test_ipc_documented),
	    cmocka_unit_test(test_ipc_init_documented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
