/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block of audit.head. Called by audit_chain and audit_verify. Pure.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/ledger/audit_head.h"

void
audit_head_name(uint64_t file, char name_r[AUDIT_HEAD_NAME_MAX])
{
	if (file == 0)
		(void)snprintf(
		    name_r, AUDIT_HEAD_NAME_MAX, "%s", AUDIT_HEAD_LOG);
	else
		(void)snprintf(name_r, AUDIT_HEAD_NAME_MAX,
		    "audit.%" PRIu64 ".jsonl", file);
}

/* What was never rotated or sealed is written as it always was. */
void
audit_head_write(const struct audit_head *head, char block_r[AUDIT_HEAD_SIZE])
{
	char text[AUDIT_HEAD_SIZE], file[40] = "", mac[DIGEST_HEX + 16] = "";
	int len;

	if (head->file != 0)
		(void)snprintf(
		    file, sizeof(file), "\"file\":%" PRIu64 ",", head->file);
	if (head->mac[0] != '\0')
		(void)snprintf(mac, sizeof(mac), "\"mac\":\"%s\",", head->mac);
	len = snprintf(text, sizeof(text),
	    "{%s\"hash\":\"%s\",%s\"seq\":%" PRIu64 ",\"size\":%" PRIu64
	    ",\"v\":1}",
	    file, head->link.hash, mac, head->link.seq, head->size);
	memset(block_r, ' ', AUDIT_HEAD_SIZE);
	memcpy(block_r, text, (size_t)len);
	block_r[AUDIT_HEAD_SIZE - 1] = '\n';
}

/* Before the first record there is nothing, and behind it something. */
static bool
audit_head_fits(int64_t seq, int64_t size, int64_t file, const char *hash)
{
	struct audit_link first;

	audit_record_first(&first);
	return seq > 0
		   ? size > 0
		   : size == 0 && file == 0 && strcmp(hash, first.hash) == 0;
}

enum result
audit_head_read(const char *block, size_t len, struct audit_head *head_r,
    struct json_fault *fault)
{
	static const char *const keys[] = {
	    "file", "hash", "mac", "seq", "size", "v", NULL};
	int64_t seq = 0, size = 0, version = 0, file = 0;
	const char *hash = "", *mac = "";
	json_t *head;

	memset(head_r, 0, sizeof(*head_r));
	audit_record_first(&head_r->link);
	if (len == 0)
		return RESULT_NOT_FOUND;
	if (len != AUDIT_HEAD_SIZE) {
		json_field_fault(fault, "must have %u bytes", AUDIT_HEAD_SIZE);
		return RESULT_BAD;
	}
	if (json_field_parse(block, len, &head, fault) != RESULT_OK)
		return RESULT_BAD;
	if (!json_is_object(head))
		json_field_fault(fault, "must be an object");
	json_field_only(head, "head", keys, fault);
	json_field_int(head, "head", "v", 1, 1, &version, fault);
	json_field_int(head, "head", "seq", 0, INT64_MAX, &seq, fault);
	json_field_int(head, "head", "size", 0, INT64_MAX, &size, fault);
	json_field_string(head, "head", "hash", DIGEST_HEX, &hash, fault);
	json_field_int_opt(
	    head, "head", "file", 0, AUDIT_HEAD_FILE_MAX, &file, fault);
	json_field_string_opt(head, "head", "mac", DIGEST_HEX, &mac, fault);
	if (fault->text[0] == '\0' &&
	    (!digest_is_hex(hash) || (mac[0] != '\0' && !digest_is_hex(mac))))
		json_field_fault(
		    fault, "head.hash, head.mac: must be 64 hex digits");
	if (fault->text[0] == '\0' && !audit_head_fits(seq, size, file, hash))
		json_field_fault(
		    fault, "head: its numbers do not fit each other");
	if (fault->text[0] == '\0') {
		head_r->link.seq = (uint64_t)seq;
		head_r->size = (uint64_t)size;
		head_r->file = (uint64_t)file;
		memcpy(head_r->mac, mac, strlen(mac) + 1);
		memcpy(head_r->link.hash, hash, DIGEST_HEX + 1);
	}
	json_decref(head);
	return fault->text[0] == '\0' ? RESULT_OK : RESULT_BAD;
}
