/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses: text and CIDR forms survive a round trip, and no address that
 * carries a private one is ever global.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/ip_addr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_ip_addr_judge(const struct ip_addr *addr)
{
	struct ip_addr inner;
	const char *rule = NULL;
	enum ip_verdict verdict = ip_addr_judge(addr, NULL, &rule);

	if (rule == NULL)
		abort();
	if (verdict == IP_GLOBAL && ip_addr_embedded(addr, &inner) &&
	    ip_addr_judge(&inner, NULL, NULL) != IP_GLOBAL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[IP_ADDR_TEXT_MAX + 4];
	struct ip_addr addr, again;
	struct ip_cidr cidr, same;

	if (ip_addr_parse((const char *)data, size, &addr) == RESULT_OK) {
		ip_addr_text(&addr, text);
		if (ip_addr_parse(text, strlen(text), &again) != RESULT_OK ||
		    !ip_addr_equal(&addr, &again))
			abort();
		fuzz_ip_addr_judge(&addr);
	}
	if (ip_addr_parse_cidr((const char *)data, size, &cidr) == RESULT_OK) {
		ip_addr_cidr_text(&cidr, text);
		if (ip_addr_parse_cidr(text, strlen(text), &same) !=
			RESULT_OK ||
		    same.prefix != cidr.prefix ||
		    !ip_addr_cidr_contains(&cidr, &same.base))
			abort();
	}
	if (size == 16) { /* every 16 bytes are an address, too */
		addr.family = 6;
		memcpy(addr.bytes, data, 16);
		fuzz_ip_addr_judge(&addr);
	}
	ip_addr_looks_numeric((const char *)data, size);
	return 0;
}
