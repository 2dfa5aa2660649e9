/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words with which npm installs one pinned package; called by
 * install.c. npm writes package-lock.json with the integrity of every
 * package of the tree, which agentnode-unpack reads later.
 */
#include <stdio.h>

#include "supervisor/package/install_build.h"
#include "supervisor/package/install_registry.h"

enum result
install_npm_plan(struct install *install, struct install_build_plan *plan_r)
{
	const struct install_request *request = install->request;
	const char *url = config_text(install->config, "build.npm_registry");
	char host[256];
	bool is_plain;
	enum result result = install_registry_egress("build.npm_registry", url,
	    &plan_r->egress, host, sizeof(host), &is_plain, &install->fault);
	const char *words[] = {"/usr/local/bin/npm", "install",
	    "--prefix=" INSTALL_BUILD_FOLDER, "--cache=/cache", "--no-audit",
	    "--no-fund", "--no-update-notifier", "--omit=dev",
	    "--loglevel=http", "--fetch-retries=1", "--fetch-timeout=60000",
	    plan_r->words[0],
	    request->allow_scripts ? "--foreground-scripts"
				   : "--ignore-scripts",
	    "--", plan_r->words[1], NULL};

	if (result != RESULT_OK)
		return result;
	(void)snprintf(
	    plan_r->words[0], sizeof(plan_r->words[0]), "--registry=%s", url);
	(void)snprintf(plan_r->words[1], sizeof(plan_r->words[1]), "%s@%s",
	    request->pin.name, request->pin.version);
	plan_r->label = "npm";
	for (plan_r->argc = 0; words[plan_r->argc] != NULL; plan_r->argc++)
		plan_r->argv[plan_r->argc] = words[plan_r->argc];
	return RESULT_OK;
}
