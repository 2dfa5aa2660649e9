/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which table a sandbox is started by (see the header). Called by
 * sandbox_plan.c; must never choose by what is installed: the spec and the
 * configuration say.
 */
#include "supervisor/engine/engine.h"

#include <string.h>

#include "supervisor/policy/config.h"
#include "supervisor/sandbox.h"

const struct engine *
engine_of(const struct config *config, const struct sandbox_spec *spec)
{
	if (spec->view != NULL)
		return &engine_native;
	if (strcmp(config_text(config, "sandbox.engine"), "oci") == 0)
		return &engine_oci;
	return &engine_podman;
}
