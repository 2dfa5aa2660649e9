/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build-time tool: writes seccomp_table either as the engine's profile
 * (OCI JSON) or as a C file with the two filter programs for the machine
 * it runs on. Usage: seccomp_generate json|c. Never installed.
 */
#include <errno.h>
#include <linux/filter.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/seccomp/seccomp_table.h"

#define NAME_MAX_LEN 64U
#define LOW32_MASK 0xffffffffULL

/* Next name of a row's list; false at its end. */
static bool
seccomp_generate_next(const char **cursor, char name_r[NAME_MAX_LEN])
{
	size_t len = strcspn(*cursor, " ");

	if (len == 0 || len >= NAME_MAX_LEN)
		return false;
	memcpy(name_r, *cursor, len);
	name_r[len] = '\0';
	*cursor += len;
	*cursor += strspn(*cursor, " ");
	return true;
}

static const char *
seccomp_generate_operator(enum seccomp_compare compare)
{
	switch (compare) {
	case SECCOMP_COMPARE_NONE:
		break;
	case SECCOMP_COMPARE_EQUAL:
		return "SCMP_CMP_EQ";
	case SECCOMP_COMPARE_DIFFERS:
		return "SCMP_CMP_NE";
	case SECCOMP_COMPARE_AT_LEAST:
		return "SCMP_CMP_GE";
	case SECCOMP_COMPARE_HAS_BIT:
	case SECCOMP_COMPARE_LOW32:
	case SECCOMP_COMPARE_NO_BIT:
		return "SCMP_CMP_MASKED_EQ";
	}
	return "";
}

static void
seccomp_generate_json_args(const struct seccomp_rule *rule)
{
	for (unsigned i = 0; i < SECCOMP_TABLE_ARGS_MAX; i++) {
		const struct seccomp_condition *c = &rule->conditions[i];

		if (c->compare == SECCOMP_COMPARE_NONE)
			break;
		printf("%s{\"index\": %u, \"value\": %llu, \"valueTwo\": "
		       "%llu, \"op\": \"%s\"}",
		    i == 0 ? "" : ", ", c->arg,
		    (unsigned long long)(c->compare == SECCOMP_COMPARE_LOW32
					     ? LOW32_MASK
					     : c->value),
		    (unsigned long long)(c->compare == SECCOMP_COMPARE_LOW32
					     ? c->value
					     : 0),
		    seccomp_generate_operator(c->compare));
	}
}

static void
seccomp_generate_json_rule(const struct seccomp_rule *rule, bool first)
{
	const char *cursor = rule->names;
	char name[NAME_MAX_LEN];
	bool comma = false;

	printf("%s\t\t{\"names\": [", first ? "" : ",\n");
	while (seccomp_generate_next(&cursor, name)) {
		printf("%s\"%s\"", comma ? ", " : "", name);
		comma = true;
	}
	printf("], \"action\": \"%s\"",
	    rule->refuse_errno == 0 ? "SCMP_ACT_ALLOW" : "SCMP_ACT_ERRNO");
	if (rule->refuse_errno != 0)
		printf(", \"errnoRet\": %d", rule->refuse_errno);
	printf(", \"args\": [");
	seccomp_generate_json_args(rule);
	printf("]}");
}

static int
seccomp_generate_json(void)
{
	bool first = true;

	printf("{\n\t\"defaultAction\": \"SCMP_ACT_ERRNO\",\n"
	       "\t\"defaultErrnoRet\": %d,\n"
	       "\t\"archMap\": [\n"
	       "\t\t{\"architecture\": \"SCMP_ARCH_X86_64\", "
	       "\"subArchitectures\": []},\n"
	       "\t\t{\"architecture\": \"SCMP_ARCH_AARCH64\", "
	       "\"subArchitectures\": []}\n\t],\n\t\"syscalls\": [\n",
	    SECCOMP_TABLE_DEFAULT_ERRNO);
	for (size_t i = 0; i < seccomp_table_count; i++) {
		if (seccomp_table[i].part != SECCOMP_PART_BASE)
			continue;
		seccomp_generate_json_rule(&seccomp_table[i], first);
		first = false;
	}
	printf("\n\t]\n}\n");
	return 0;
}

static unsigned
seccomp_generate_compares(
    const struct seccomp_rule *rule, struct scmp_arg_cmp *compares_r)
{
	unsigned count = 0;

	for (unsigned i = 0; i < SECCOMP_TABLE_ARGS_MAX; i++) {
		const struct seccomp_condition *c = &rule->conditions[i];
		struct scmp_arg_cmp *to = &compares_r[count];

		if (c->compare == SECCOMP_COMPARE_NONE)
			break;
		*to = (struct scmp_arg_cmp){.arg = c->arg,
		    .op = SCMP_CMP_MASKED_EQ,
		    .datum_a = c->value};
		if (c->compare == SECCOMP_COMPARE_EQUAL)
			to->op = SCMP_CMP_EQ;
		if (c->compare == SECCOMP_COMPARE_DIFFERS)
			to->op = SCMP_CMP_NE;
		if (c->compare == SECCOMP_COMPARE_AT_LEAST)
			to->op = SCMP_CMP_GE;
		if (c->compare == SECCOMP_COMPARE_HAS_BIT)
			to->datum_b = c->value;
		if (c->compare == SECCOMP_COMPARE_LOW32) {
			to->datum_a = LOW32_MASK;
			to->datum_b = c->value;
		}
		count++;
	}
	return count;
}

static int
seccomp_generate_add(scmp_filter_ctx filter, const struct seccomp_rule *rule)
{
	struct scmp_arg_cmp compares[SECCOMP_TABLE_ARGS_MAX];
	unsigned count = seccomp_generate_compares(rule, compares);
	uint32_t action = rule->refuse_errno == 0
			      ? SCMP_ACT_ALLOW
			      : SCMP_ACT_ERRNO((uint16_t)rule->refuse_errno);
	const char *cursor = rule->names;
	char name[NAME_MAX_LEN];

	while (seccomp_generate_next(&cursor, name)) {
		int number = seccomp_syscall_resolve_name(name);
		int error;

		if (number == __NR_SCMP_ERROR) {
			fprintf(stderr, "no such system call: %s\n", name);
			return -1;
		}
		if (number < 0 ||
		    (rule->part == SECCOMP_PART_BASE &&
			action == SCMP_ACT_ERRNO(SECCOMP_TABLE_DEFAULT_ERRNO)))
			continue; /* not on this machine; the default */
		error = seccomp_rule_add_array(
		    filter, action, number, count, compares);
		if (error != 0) {
			fprintf(stderr, "%s: %s\n", name, strerror(-error));
			return -1;
		}
	}
	return 0;
}

static int
seccomp_generate_print(scmp_filter_ctx filter, const char *name)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);
	struct sock_filter step;
	off_t size;

	if (fd < 0 || seccomp_export_bpf(filter, fd) != 0)
		return -1;
	size = lseek(fd, 0, SEEK_END);
	if (size <= 0 || lseek(fd, 0, SEEK_SET) != 0)
		return -1;
	printf("static struct sock_filter %s[] = {\n", name);
	for (off_t at = 0; at < size; at += (off_t)sizeof(step)) {
		if (read(fd, &step, sizeof(step)) != sizeof(step))
			return -1;
		printf("    {0x%02x, %u, %u, 0x%08x},\n", step.code, step.jt,
		    step.jf, step.k);
	}
	printf("};\n\n");
	return close(fd);
}

static int
seccomp_generate_part(enum seccomp_part part, const char *name)
{
	uint32_t fallback = part == SECCOMP_PART_BASE
				? SCMP_ACT_ERRNO(SECCOMP_TABLE_DEFAULT_ERRNO)
				: SCMP_ACT_ALLOW;
	scmp_filter_ctx filter = seccomp_init(fallback);
	int status = -1;

	if (filter == NULL)
		return -1;
	/* 32-bit and x32 calls have other numbers: no such process here. */
	if (seccomp_attr_set(
		filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) != 0 ||
	    seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2) != 0)
		goto out;
	for (size_t i = 0; i < seccomp_table_count; i++) {
		if (seccomp_table[i].part == part &&
		    seccomp_generate_add(filter, &seccomp_table[i]) != 0)
			goto out;
	}
	status = seccomp_generate_print(filter, name);
out:
	seccomp_release(filter);
	return status;
}

static int
seccomp_generate_c(void)
{
	printf("/* SPDX-License-Identifier: Apache-2.0 */\n"
	       "/* Made by seccomp_generate from seccomp_table.c. */\n"
	       "#include \"supervisor/init/init_filter.h\"\n\n");
	if (seccomp_generate_part(SECCOMP_PART_BASE, "base") != 0 ||
	    seccomp_generate_part(SECCOMP_PART_GUARD, "guard") != 0 ||
	    seccomp_generate_part(SECCOMP_PART_OWNER, "owner") != 0)
		return -1;
	printf("const struct sock_fprog init_filter_base = "
	       "{sizeof(base) / sizeof(base[0]), base};\n"
	       "const struct sock_fprog init_filter_guard = "
	       "{sizeof(guard) / sizeof(guard[0]), guard};\n"
	       "const struct sock_fprog init_filter_owner = "
	       "{sizeof(owner) / sizeof(owner[0]), owner};\n");
	return 0;
}

int
main(int argc, char **argv)
{
	int status = -1;

	if (argc == 2 && strcmp(argv[1], "json") == 0)
		status = seccomp_generate_json();
	else if (argc == 2 && strcmp(argv[1], "c") == 0)
		status = seccomp_generate_c();
	else
		fprintf(stderr, "usage: seccomp_generate json|c\n");
	if (fflush(stdout) != 0)
		status = -1;
	return status == 0 ? 0 : 1;
}
