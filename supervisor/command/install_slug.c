/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A registry's package as a source; see install_slug.h. It must never hand
 * on a byte that was not hashed, nor a tier that was not proven.
 */
#include "supervisor/command/install_slug.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "supervisor/command/command.h"

/* The entry as it will be written, once more: what it says of version, hash
 * and publisher must be what was attested. */
static enum result
install_slug_judge(struct install *install, const json_t *entry, void *context)
{
	struct json_fault fault = {""};
	struct trust_verdict verdict;
	enum result result;

	(void)context;
	result = trust_prove(install->config, install->request->slug, entry,
	    time(NULL), &verdict, &fault);
	if (result == RESULT_OK)
		return RESULT_OK;
	return install_fault_set(
	    &install->fault, result, verdict.code, "%s", fault.text);
}

enum result
install_slug_open(struct install_slug *slug, const char *name,
    struct install *install, struct install_request *request,
    struct install_pack_source *source)
{
	struct registry_item *item = &slug->item;
	struct json_fault fault = {""};
	enum result result =
	    registry_resolve(install->config, name, time(NULL), item, &fault);

	if (result != RESULT_OK)
		return install_fault_set(&install->fault, result,
		    item->code[0] != '\0' ? item->code : "internal", "%s",
		    fault.text[0] != '\0' ? fault.text : result_text(result));
	install_say(install, "%s %s from the registry: %s%s", item->slug,
	    item->version, tier_name(item->trust.tier),
	    item->attestation != NULL ? ", attested" : "");
	(void)snprintf(request->slug, sizeof(request->slug), "%s", item->slug);
	(void)snprintf(request->pin.version, sizeof(request->pin.version), "%s",
	    item->version);
	source->archive_fd = item->fd;
	source->expected = item->artifact_hash;
	source->attestation = item->attestation;
	source->signatures = item->signatures;
	source->trust_level = tier_name(item->trust.tier);
	source->source = "registry";
	source->judge = install_slug_judge;
	return RESULT_OK;
}

void
install_slug_close(struct install_slug *slug)
{
	registry_item_clear(&slug->item);
}
