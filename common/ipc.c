/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes and decodes messages strictly against the catalogue. Called by
 * peer.c on both sides; pure, fuzzed; must never accept what the catalogue
 * does not name, nor touch a descriptor while decoding.
 */
#include "common/ipc.h"

#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc_catalogue.h"
#include "common/json_field.h"

static const char *const ipc_role_names[IPC_ROLE_COUNT] = {"the supervisor",
    "the gate", "the ledger", "unpack", "the egress proxy", "the broker",
    "llm-key", "the keyring helper"};

void
ipc_message_init(struct ipc_message *message, enum ipc_type type, uint64_t id)
{
	size_t i;

	message->type = type;
	message->id = id;
	message->body = NULL;
	message->fd_count = 0;
	for (i = 0; i < IPC_FDS_MAX; i++)
		message->fds[i] = -1;
}

void
ipc_message_clear(struct ipc_message *message)
{
	size_t i;

	json_decref(message->body);
	for (i = 0; i < message->fd_count; i++)
		fd_close(&message->fds[i]);
	ipc_message_init(message, message->type, 0);
}

int
ipc_message_take_fd(struct ipc_message *message, size_t index)
{
	int fd = -1;

	if (index < message->fd_count) {
		fd = message->fds[index];
		message->fds[index] = -1;
	}
	return fd;
}

static void
ipc_check_words(const struct ipc_row *row, const struct ipc_field *field,
    const char *text, struct json_fault *fault)
{
	size_t i;

	if (field->words == NULL || text == NULL)
		return;
	for (i = 0; field->words[i] != NULL; i++)
		if (strcmp(field->words[i], text) == 0)
			return;
	json_field_fault(fault, "%s.%s is '%.64s', which is no word it may be",
	    row->name, field->name, text);
}

static void
ipc_check_text(const json_t *object, const struct ipc_row *row,
    const struct ipc_field *field, struct json_fault *fault)
{
	const char *text = NULL;

	json_field_string(
	    object, row->name, field->name, (size_t)field->max, &text, fault);
	if (text != NULL && strlen(text) < (size_t)field->min)
		json_field_fault(
		    fault, "%s.%s is empty", row->name, field->name);
	ipc_check_words(row, field, text, fault);
}

static void
ipc_check_field(const json_t *object, const struct ipc_row *row,
    const struct ipc_field *field, struct json_fault *fault)
{
	const json_t *value = NULL;
	int64_t number = 0;
	bool flag = false;

	if (field->required == 0 &&
	    json_object_get(object, field->name) == NULL)
		return;
	switch (field->kind) {
	case IPC_TEXT:
		ipc_check_text(object, row, field, fault);
		break;
	case IPC_NUMBER:
		json_field_int(object, row->name, field->name, field->min,
		    field->max, &number, fault);
		break;
	case IPC_FLAG:
		json_field_bool(object, row->name, field->name, &flag, fault);
		break;
	case IPC_LIST:
		json_field_array(object, row->name, field->name,
		    (size_t)field->max, &value, fault);
		break;
	case IPC_OBJECT:
		json_field_object(
		    object, row->name, field->name, &value, fault);
		break;
	}
}

/* Every field of the row right, and nothing left over. */
static void
ipc_check_body(
    const json_t *object, const struct ipc_row *row, struct json_fault *fault)
{
	const struct ipc_field *field;
	const char *key;
	json_t *value;

	for (field = row->fields; field->name != NULL; field++)
		ipc_check_field(object, row, field, fault);
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		for (field = row->fields; field->name != NULL; field++)
			if (strcmp(field->name, key) == 0)
				break;
		if (field->name == NULL)
			json_field_fault(
			    fault, "%s.%.64s is not known", row->name, key);
	}
}

/* config carries its options exactly one way. */
static void
ipc_check_config(const json_t *object, const struct ipc_row *row,
    size_t fd_count, struct json_fault *fault)
{
	const json_t *index = json_object_get(object, "options_fd");
	const json_t *options = json_object_get(object, "options");

	if (row->type != IPC_CONFIG)
		return;
	if ((index == NULL) == (options == NULL))
		json_field_fault(
		    fault, "config needs either options or options_fd");
	if (index != NULL && (uint64_t)json_integer_value(index) >= fd_count)
		json_field_fault(fault,
		    "config.options_fd is %lld, but %zu descriptors came",
		    (long long)json_integer_value(index), fd_count);
}

static void
ipc_check_row(const struct ipc_row *row, enum ipc_role sender,
    enum ipc_role receiver, uint64_t id, size_t fd_count,
    struct json_fault *fault)
{
	if ((row->senders & 1U << sender) == 0)
		json_field_fault(fault, "%s is not %s's to send", row->name,
		    ipc_role_names[sender]);
	/* A row alone does not make two children talk. */
	if ((row->receivers & 1U << receiver) == 0 ||
	    !ipc_catalogue_may_talk(row, sender, receiver))
		json_field_fault(fault, "%s is not for %s", row->name,
		    ipc_role_names[receiver]);
	if (id < row->id_min)
		json_field_fault(
		    fault, "%s.id is 0, a number is needed", row->name);
	if (fd_count < row->fds_min || fd_count > row->fds_max)
		json_field_fault(fault,
		    "%s came with %zu descriptors, it must be %u to %u",
		    row->name, fd_count, row->fds_min, row->fds_max);
}

static enum result
ipc_fault(const struct json_fault *fault, char *fault_r, size_t fault_size)
{
	(void)snprintf(fault_r, fault_size, "%s", fault->text);
	return fault->text[0] == '\0' ? RESULT_OK : RESULT_BAD;
}

/* v, type, id and the fields of the body as one object; NULL: no memory or
 * a body that names one of the three itself. */
static json_t *
ipc_envelope(const struct ipc_message *message, const struct ipc_row *row)
{
	json_t *object = json_pack("{s:i, s:s, s:I}", "v", IPC_VERSION, "type",
	    row->name, "id", (json_int_t)message->id);

	if (object == NULL || message->body == NULL)
		return object;
	if (json_object_get(message->body, "v") == NULL &&
	    json_object_get(message->body, "type") == NULL &&
	    json_object_get(message->body, "id") == NULL &&
	    json_object_update(object, message->body) == 0)
		return object;
	json_decref(object);
	return NULL;
}

static enum result
ipc_encode_object(const json_t *object, char *bytes_r, size_t size,
    size_t *len_r, struct json_fault *fault)
{
	size_t room = size < IPC_MESSAGE_MAX ? size : IPC_MESSAGE_MAX;
	size_t len = json_dumpb(object, bytes_r, room, JSON_COMPACT);

	if (len > 0 && len <= room) {
		*len_r = len;
		return RESULT_OK;
	}
	json_field_fault(
	    fault, "a message has %zu bytes, at most %zu fit", len, room);
	return RESULT_TOO_LONG;
}

enum result
ipc_encode(const struct ipc_message *message, enum ipc_role sender,
    enum ipc_role receiver, char *bytes_r, size_t size, size_t *len_r,
    char *fault_r, size_t fault_size)
{
	const struct ipc_row *row = ipc_catalogue_row(message->type);
	struct json_fault fault = {""};
	enum result result = RESULT_BAD;
	json_t *object = NULL, *empty = NULL;

	*len_r = 0;
	if (row == NULL || message->id > INT64_MAX)
		json_field_fault(&fault, "a type or id that does not exist");
	else {
		const json_t *body = message->body;

		if (body == NULL)
			body = empty = json_object();
		ipc_check_row(row, sender, receiver, message->id,
		    message->fd_count, &fault);
		ipc_check_body(body, row, &fault);
		ipc_check_config(body, row, message->fd_count, &fault);
	}
	if (row != NULL && fault.text[0] == '\0') {
		object = ipc_envelope(message, row);
		result = object == NULL ? RESULT_NO_MEMORY
					: ipc_encode_object(object, bytes_r,
					      size, len_r, &fault);
	}
	json_decref(object);
	json_decref(empty);
	(void)ipc_fault(&fault, fault_r, fault_size);
	return result;
}

static const struct ipc_row *
ipc_find_row(const char *name)
{
	unsigned type;

	for (type = 0; type < IPC_TYPE_COUNT; type++)
		if (strcmp(ipc_catalogue_row((enum ipc_type)type)->name,
			name) == 0)
			return ipc_catalogue_row((enum ipc_type)type);
	return NULL;
}

/* Read and remove v, type and id, so that the body is what is left. */
static const struct ipc_row *
ipc_open_envelope(json_t *object, uint64_t *id_r, struct json_fault *fault)
{
	const struct ipc_row *row = NULL;
	const char *name = NULL;
	int64_t version = 0, id = 0;

	json_field_int(
	    object, "message", "v", IPC_VERSION, IPC_VERSION, &version, fault);
	json_field_string(object, "message", "type", 64, &name, fault);
	json_field_int(object, "message", "id", 0, INT64_MAX, &id, fault);
	if (fault->text[0] != '\0')
		return NULL;
	row = ipc_find_row(name);
	if (row == NULL)
		json_field_fault(fault, "type '%s' is not known", name);
	*id_r = (uint64_t)id;
	(void)json_object_del(object, "v");
	(void)json_object_del(object, "type");
	(void)json_object_del(object, "id");
	return row;
}

enum result
ipc_decode(const char *bytes, size_t len, size_t fd_count, enum ipc_role sender,
    enum ipc_role receiver, enum ipc_state state, struct ipc_message *message_r,
    char *fault_r, size_t fault_size)
{
	const struct ipc_row *row = NULL;
	struct json_fault fault = {""};
	json_t *object = NULL;
	uint64_t id = 0;

	if (len > IPC_MESSAGE_MAX)
		json_field_fault(
		    &fault, "%zu bytes, at most %u fit", len, IPC_MESSAGE_MAX);
	else if (json_field_parse(bytes, len, &object, &fault) == RESULT_OK)
		row = ipc_open_envelope(object, &id, &fault);
	if (row != NULL) {
		ipc_check_row(row, sender, receiver, id, fd_count, &fault);
		if ((row->states & (unsigned)state) == 0)
			json_field_fault(&fault,
			    "%s is not allowed at this point", row->name);
		ipc_check_body(object, row, &fault);
		ipc_check_config(object, row, fd_count, &fault);
	} else {
		json_field_fault(&fault, "out of memory");
	}
	if (ipc_fault(&fault, fault_r, fault_size) != RESULT_OK ||
	    row == NULL) {
		json_decref(object);
		message_r->body = NULL;
		return RESULT_BAD;
	}
	message_r->type = row->type;
	message_r->id = id;
	message_r->body = object;
	return RESULT_OK;
}
