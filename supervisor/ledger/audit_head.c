/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block of audit.head. Called by audit_chain and audit_verify. Pure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/ledger/audit_head.h"

void
audit_head_write(const struct audit_head *head, char block_r[AUDIT_HEAD_SIZE])
{
	char text[AUDIT_HEAD_SIZE];
	int len;

	len = snprintf(text, sizeof(text),
	    "{\"hash\":\"%s\",\"seq\":%" PRIu64 ",\"size\":%" PRIu64
	    ",\"v\":1}",
	    head->link.hash, head->link.seq, head->size);
	memset(block_r, ' ', AUDIT_HEAD_SIZE);
	memcpy(block_r, text, (size_t)len);
	block_r[AUDIT_HEAD_SIZE - 1] = '\n';
}

enum result
audit_head_read(const char *block, size_t len, struct audit_head *head_r,
    struct json_fault *fault)
{
	static const char *const keys[] = {"hash", "seq", "size", "v", NULL};
	int64_t seq = 0, size = 0, version = 0;
	const char *hash = "";
	json_t *head;

	audit_record_first(&head_r->link);
	head_r->size = 0;
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
	if (fault->text[0] == '\0' && !digest_is_hex(hash))
		json_field_fault(fault, "head.hash: must be 64 hex digits");
	if (fault->text[0] == '\0') {
		head_r->link.seq = (uint64_t)seq;
		head_r->size = (uint64_t)size;
		memcpy(head_r->link.hash, hash, DIGEST_HEX + 1);
	}
	json_decref(head);
	return fault->text[0] == '\0' ? RESULT_OK : RESULT_BAD;
}
