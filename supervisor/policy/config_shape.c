/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One check per shape of text. Called by config_value.c. Pure but for
 * libidn2's tables: it must never resolve or open anything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/domain.h"
#include "common/ip_addr.h"
#include "supervisor/policy/config_idn.h"
#include "supervisor/policy/config_llm.h"
#include "supervisor/policy/config_shape.h"
#include "supervisor/policy/trust_key.h"

#define CONFIG_SHAPE_DIGEST_HEX 64U

static bool
config_shape_no(char why_r[CONFIG_SHAPE_WHY_MAX], const char *why)
{
	snprintf(why_r, CONFIG_SHAPE_WHY_MAX, "%s", why);
	return false;
}

/* No control bytes or spaces: such texts end up in argv and log lines. */
static bool
config_shape_is_word(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text <= ' ' || *text == 0x7f)
			return false;
	return true;
}

/* name@sha256:<64 lower-case hex>, nothing behind. */
static bool
config_shape_image(const char *text)
{
	const char *at = strstr(text, "@sha256:");
	const char *hex;

	/* Docker's id of an image. */
	if (strncmp(text, "sha256:", 7) == 0)
		return strspn(text + 7, "0123456789abcdef") ==
			   CONFIG_SHAPE_DIGEST_HEX &&
		       text[7 + CONFIG_SHAPE_DIGEST_HEX] == '\0';
	if (at == NULL || at == text || text[0] == '-')
		return false;
	hex = at + strlen("@sha256:");
	return strspn(hex, "0123456789abcdef") == CONFIG_SHAPE_DIGEST_HEX &&
	       hex[CONFIG_SHAPE_DIGEST_HEX] == '\0' &&
	       strspn(text,
		   "abcdefghijklmnopqrstuvwxyz0123456789"
		   "ABCDEFGHIJKLMNOPQRSTUVWXYZ._-/:") == (size_t)(at - text);
}

static bool
config_shape_port(const char *text, size_t len)
{
	unsigned port = 0;
	size_t i;

	if (len == 0 || len > 5 || text[0] == '0')
		return false;
	for (i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		port = port * 10 + (unsigned)(text[i] - '0');
	}
	return port <= 65535;
}

/* A bracketed or plain address, as the len bytes say. */
static bool
config_shape_address(const char *text, size_t len)
{
	struct ip_addr addr;

	if (len > 2 && text[0] == '[' && text[len - 1] == ']')
		return ip_addr_parse(text + 1, len - 2, &addr) == RESULT_OK &&
		       addr.family == 6;
	return ip_addr_parse(text, len, &addr) == RESULT_OK;
}

static bool
config_shape_host(const char *text, size_t len)
{
	struct domain domain;

	return config_shape_address(text, len) ||
	       domain_parse_any(text, len, &domain) == DOMAIN_OK;
}

static bool
config_shape_host_port(const char *text, size_t len)
{
	const char *colon = memrchr(text, ':', len);
	size_t host;

	if (colon == NULL)
		return false;
	host = (size_t)(colon - text);
	return config_shape_port(colon + 1, len - host - 1) &&
	       config_shape_host(text, host);
}

static bool
config_shape_resolvers(const char *text)
{
	const char *colon;
	size_t len;

	for (;;) {
		len = strcspn(text, ",");
		colon = memrchr(text, ':', len);
		if (!config_shape_address(text, len) &&
		    (colon == NULL ||
			!config_shape_port(
			    colon + 1, len - (size_t)(colon - text) - 1) ||
			!config_shape_address(text, (size_t)(colon - text))))
			return false;
		if (text[len] == '\0')
			return true;
		text += len + 1;
	}
}

static bool
config_shape_path(const char *text)
{
	size_t len;

	if (text[0] != '/')
		return false;
	while (*text == '/') {
		text++;
		len = strcspn(text, "/");
		if (len == 0 || (len == 1 && text[0] == '.') ||
		    (len == 2 && text[0] == '.' && text[1] == '.'))
			return false;
		text += len;
	}
	return true;
}

static bool
config_shape_url(const char *text)
{
	size_t len;

	if (strncmp(text, "https://", 8) == 0)
		text += 8;
	else if (strncmp(text, "http://", 7) == 0)
		text += 7;
	else
		return false;
	len = strcspn(text, "/");
	if (text[len] != '/' || strpbrk(text, "?#@\\") != NULL)
		return false;
	return config_shape_host(text, len) ||
	       config_shape_host_port(text, len);
}

static bool
config_shape_cidr(const char *text, char *canonical_r, size_t size)
{
	char shown[IP_ADDR_TEXT_MAX + 4];
	struct ip_cidr cidr;

	if (ip_addr_parse_cidr(text, strlen(text), &cidr) != RESULT_OK)
		return false;
	ip_addr_cidr_text(&cidr, shown);
	snprintf(canonical_r, size, "%s", shown);
	return true;
}

static bool
config_shape_model(const char *text, char why_r[CONFIG_SHAPE_WHY_MAX])
{
	struct config_llm_model model;

	return config_llm_model_parse(text, &model) ||
	       config_shape_no(
		   why_r, "must be model, provider/model or provider/*");
}

static bool
config_shape_key(
    const char *text, char *canonical_r, char why_r[CONFIG_SHAPE_WHY_MAX])
{
	return trust_key_parse(text, canonical_r) ||
	       config_shape_no(why_r,
		   "must be an Ed25519 public key, 64 hex digits or 44 "
		   "letters of base64");
}

bool
config_shape_check(enum config_shape shape, const char *text, char *canonical_r,
    size_t size, char why_r[CONFIG_SHAPE_WHY_MAX])
{
	if ((size_t)snprintf(canonical_r, size, "%s", text) >= size ||
	    size <= TRUST_KEY_HEX)
		return config_shape_no(why_r, "too long");
	switch (shape) {
	case CONFIG_NAME:
		return config_idn_name(text, canonical_r, size, why_r);
	case CONFIG_ENTRY:
	case CONFIG_DENY_ENTRY:
		return config_idn_entry(
		    text, shape == CONFIG_DENY_ENTRY, canonical_r, size, why_r);
	case CONFIG_RANGES:
		return config_shape_cidr(text, canonical_r, size) ||
		       config_shape_no(why_r, "must be a CIDR such as "
					      "10.1.2.0/24, host bits zero");
	case CONFIG_IMAGE:
		return config_shape_image(text) ||
		       config_shape_no(
			   why_r, "must be name@sha256:<64 hex digits>");
	case CONFIG_HOST_PORT:
		return config_shape_host_port(text, strlen(text)) ||
		       config_shape_no(why_r, "must be host:port");
	case CONFIG_RESOLVERS:
		return config_shape_resolvers(text) ||
		       config_shape_no(why_r,
			   "must be address:port, comma-separated, IPv6 in []");
	case CONFIG_PATH:
		return (config_shape_path(text) &&
			   config_shape_is_word(text)) ||
		       config_shape_no(why_r, "must be an absolute path "
					      "without '.', '..', spaces");
	case CONFIG_URL:
		return (config_shape_url(text) && config_shape_is_word(text)) ||
		       config_shape_no(why_r,
			   "must be https://host/path, ending the host "
			   "with '/', without user, query or fragment");
	case CONFIG_PROVIDER:
		return config_llm_is_provider(text) ||
		       config_shape_no(why_r,
			   "must be a provider's name: a-z, 0-9, '-', '_'");
	case CONFIG_MODEL:
		return config_shape_model(text, why_r);
	case CONFIG_KEY:
		return config_shape_key(text, canonical_r, why_r);
	case CONFIG_ANY:
	case CONFIG_WORD:
	case CONFIG_KEYS:
	case CONFIG_PRICES:
	case CONFIG_UPSTREAM:
	case CONFIG_OVERRIDES:
	case CONFIG_RATES:
	case CONFIG_AGENTS:
		break;
	}
	return config_shape_is_word(text) ||
	       config_shape_no(why_r, "must not hold spaces or control bytes");
}
