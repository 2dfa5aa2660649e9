/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names: whatever is accepted is its own canonical spelling, within bounds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/domain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct domain domain, again;
	enum domain_fault fault;

	fault = domain_parse((const char *)data, size, &domain);
	if (fault != DOMAIN_OK) {
		if (domain.len != 0 || domain_fault_text(fault) == NULL)
			abort();
		return 0;
	}
	if (domain.len > DOMAIN_NAME_MAX || strlen(domain.name) != domain.len ||
	    domain_label_count(&domain) < 2 ||
	    domain_parse(domain.name, domain.len, &again) != DOMAIN_OK ||
	    !domain_equal(&domain, &again))
		abort();
	return 0;
}
