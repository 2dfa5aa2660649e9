/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run the tables of checks and make the report. Called by the command; a
 * check that cannot be made is not ok.
 */
#include "supervisor/engine/doctor.h"

#include <stdarg.h>
#include <stdio.h>

void
doctor_say(struct doctor_finding *finding, bool ok, const char *format, ...)
{
	va_list list;

	finding->ok = ok;
	va_start(list, format);
	(void)vsnprintf(finding->detail, sizeof(finding->detail), format, list);
	va_end(list);
}

void
doctor_fix(struct doctor_finding *finding, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(finding->fix, sizeof(finding->fix), format, list);
	va_end(list);
}

static bool
doctor_table(
    struct doctor *doctor, const struct doctor_check *table, json_t *checks)
{
	bool ok = true;

	for (; table->name != NULL; table++) {
		struct doctor_finding finding = {
		    .detail = "not looked at", .fix = ""};

		table->run(doctor, &finding);
		ok = ok && finding.ok;
		(void)json_array_append_new(checks,
		    json_pack("{s:s, s:b, s:s, s:s}", "check", table->name,
			"ok", finding.ok, "detail", finding.detail, "fix",
			finding.ok ? "" : finding.fix));
	}
	return ok;
}

json_t *
doctor_run(const struct config *config, bool deep, const char *slug)
{
	struct doctor doctor = {.config = config, .deep = deep, .slug = slug};
	json_t *checks = json_array();
	bool kernel = doctor_table(&doctor, doctor_kernel_checks, checks);
	bool engine = doctor_table(&doctor, doctor_engine_checks, checks);

	engine &= doctor_table(&doctor, doctor_native_checks, checks);
	engine &= doctor_table(&doctor, doctor_keys_checks, checks);
	if (slug != NULL)
		engine &= doctor_table(&doctor, doctor_package_checks, checks);
	doctor_package_close(&doctor);
	if (doctor.has_host)
		engine_host_close(&doctor.host);
	return json_pack(
	    "{s:b, s:o}", "ok", kernel && engine, "checks", checks);
}
