/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words with which pip installs one pinned package; called by
 * install.c. Wheels only, unless scripts are allowed: building a source
 * package runs its code. The report with the hash of every package stays
 * in the tree, where agentnode-unpack reads it.
 */
#include <stdio.h>

#include "supervisor/package/install_build.h"
#include "supervisor/package/install_registry.h"
#include "supervisor/unpack/describe.h"

enum result
install_pypi_plan(struct install *install, struct install_build_plan *plan_r)
{
	const struct install_request *request = install->request;
	const char *url = config_text(install->config, "build.pypi_index");
	char host[256];
	bool is_plain = false;
	enum result result = install_registry_egress("build.pypi_index", url,
	    &plan_r->egress, host, sizeof(host), &is_plain, &install->fault);
	const char *words[] = {"/usr/bin/python3", "-m", "pip", "install",
	    "--no-input", "--no-cache-dir", "--disable-pip-version-check",
	    "--progress-bar=off", "--retries=1", "--timeout=60",
	    request->allow_scripts ? "--prefer-binary" : "--only-binary=:all:",
	    "--target=" INSTALL_BUILD_FOLDER,
	    "--report=" INSTALL_BUILD_FOLDER "/" DESCRIBE_PIP_REPORT,
	    plan_r->words[0], is_plain ? plan_r->words[2] : "--no-color", "--",
	    plan_r->words[1], NULL};

	if (result != RESULT_OK)
		return result;
	(void)snprintf(
	    plan_r->words[0], sizeof(plan_r->words[0]), "--index-url=%s", url);
	(void)snprintf(plan_r->words[1], sizeof(plan_r->words[1]), "%s==%s",
	    request->pin.name, request->pin.version);
	(void)snprintf(plan_r->words[2], sizeof(plan_r->words[2]),
	    "--trusted-host=%s", host);
	plan_r->label = "pip";
	for (plan_r->argc = 0; words[plan_r->argc] != NULL; plan_r->argc++)
		plan_r->argv[plan_r->argc] = words[plan_r->argc];
	return RESULT_OK;
}
