/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a registry's URL to the egress policy of a build; see
 * install_registry.h. Must never open more than the registry itself.
 */
#include "supervisor/package/install_registry.h"

#include <stdio.h>
#include <string.h>

#include "egress-proxy/policy_entry.h"

#define INSTALL_REGISTRY_PYPI "pypi.org"
#define INSTALL_REGISTRY_PYPI_FILES "files.pythonhosted.org:443"

/* The part between scheme and path; RESULT_BAD for anything unusual. */
static enum result
install_registry_authority(
    const char *url, char *authority_r, size_t size, bool *is_plain_r)
{
	size_t len;

	*is_plain_r = strncmp(url, "http://", 7) == 0;
	if (!*is_plain_r && strncmp(url, "https://", 8) != 0)
		return RESULT_BAD;
	url += *is_plain_r ? 7 : 8;
	len = strcspn(url, "/?#");
	if (len == 0 || len >= size || memchr(url, '@', len) != NULL)
		return RESULT_BAD;
	memcpy(authority_r, url, len);
	authority_r[len] = '\0';
	return RESULT_OK;
}

static enum result
install_registry_entry(const char *key, const char *authority, bool is_plain,
    struct policy_entry *entry_r, struct install_fault *fault)
{
	char text[POLICY_ENTRY_TEXT_MAX];
	enum policy_entry_fault why;
	int len = snprintf(
	    text, sizeof(text), "%s%s", is_plain ? "http://" : "", authority);

	if (len < 0 || (size_t)len >= sizeof(text))
		return install_fault_set(
		    fault, RESULT_BAD, "config_invalid", "%s is too long", key);
	why = policy_entry_parse(
	    text, (size_t)len, POLICY_ENTRY_FROM_HOST, entry_r);
	if (why == POLICY_ENTRY_OK && entry_r->kind != POLICY_ENTRY_WILDCARD)
		return RESULT_OK;
	return install_fault_set(fault, RESULT_BAD, "config_invalid",
	    "the host '%s' of %s %s", authority, key,
	    policy_entry_fault_text(why, entry_r->name_fault));
}

enum result
install_registry_egress(const char *key, const char *url, json_t **egress_r,
    char *host_r, size_t host_size, bool *is_plain_r,
    struct install_fault *fault)
{
	char authority[POLICY_ENTRY_TEXT_MAX];
	struct policy_entry entry;
	json_t *allow;
	enum result result = install_registry_authority(
	    url, authority, sizeof(authority), is_plain_r);

	if (result != RESULT_OK)
		return install_fault_set(fault, RESULT_BAD, "config_invalid",
		    "%s must be https://HOST/... without a user name", key);
	result =
	    install_registry_entry(key, authority, *is_plain_r, &entry, fault);
	if (result != RESULT_OK)
		return result;
	authority[strcspn(authority, ":")] = '\0';
	(void)snprintf(host_r, host_size, "%s", authority);
	allow = json_pack("[s]", entry.text);
	if (strcmp(authority, INSTALL_REGISTRY_PYPI) == 0)
		(void)json_array_append_new(
		    allow, json_string(INSTALL_REGISTRY_PYPI_FILES));
	*egress_r = json_pack("{s:o,s:[]}", "allow", allow, "deny");
	return *egress_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
}
