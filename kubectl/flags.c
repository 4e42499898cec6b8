#include "kubectl/flags.h"

#include "lib/buffer.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 253 };

struct spec {
	const char *name;
	char letter; /* '\0': none */
	bool is_bool;
	const char *fallback; /* as the help shows it */
	const char *help;
};

static const struct spec own[FLAG_COUNT] = {
	[FLAG_ALL_NAMESPACES] = { "all-namespaces", 'A', true, "false",
		"If present, ask about all namespaces, even if --namespace is "
		"given." },
	[FLAG_DRY_RUN] = { "dry-run", '\0', true, "false",
		"If true, only show what would be done. This is also what "
		"happens without --yes." },
	[FLAG_FIELD_SELECTOR] = { "field-selector", '\0', false, "''",
		"Selector (field query) to filter on, such as "
		"--field-selector status.state=Fresh." },
	[FLAG_FILENAME] = { "filename", 'f', false, "''",
		"File with one object in YAML or JSON; - reads it from "
		"standard input." },
	[FLAG_INTERVAL] = { "interval", '\0', false, "5",
		"Seconds between two lists of --watch, 1 to 3600." },
	[FLAG_LIMIT] = { "limit", '\0', false, "3",
		"Maximum number of decisions, 1 to 100." },
	[FLAG_NO_BROWSER] = { "no-browser", '\0', true, "false",
		"If present, open no browser." },
	[FLAG_NO_HEADERS] = { "no-headers", '\0', true, "false",
		"If present, print no headers." },
	[FLAG_NODE] = { "node", '\0', false, "''",
		"Only VMs on this node, or on their way to it." },
	[FLAG_NODE_SELECTOR] = { "node-selector", '\0', false, "''",
		"Labels that the new node must have: key=value,..." },
	[FLAG_OUTPUT] = { "output", 'o', false, "''",
		"Output format. One of: (json, yaml, name, wide)." },
	[FLAG_PARALLEL] = { "parallel", '\0', false, "2",
		"Maximum number of VMs that move at once, 1 to 64. KubeVirt "
		"has limits of its own, which are 2 from each node if not "
		"set." },
	[FLAG_SELECTOR] = { "selector", 'l', false, "''",
		"Selector (label query) to filter on, supports '=', '==', "
		"'!=', 'in', 'notin' (e.g. -l key1=value1,key2=value2)." },
	[FLAG_SORT_BY] = { "sort-by", '\0', false, "heat",
		"What to sort by, the largest first." },
	[FLAG_TO] = { "to", '\0', false, "''",
		"The node that the VMs shall move to." },
	[FLAG_WATCH] = { "watch", 'w', true, "false",
		"List again and again until interrupted." },
	[FLAG_WITHOUT] = { "without", '\0', false, "''",
		"The nodes that are supposed to be gone: NODE,..." },
	[FLAG_YES] = { "yes", 'y', true, "false",
		"Do it. Without this flag nothing is changed." },
};

/* `kubectl options`: passed on. Commands of their own meaning may use -w, -l
 * and others; -n, -s and -v are global. */
static const struct spec global[] = {
	{ "as", '\0', false, NULL, NULL },
	{ "as-group", '\0', false, NULL, NULL },
	{ "as-uid", '\0', false, NULL, NULL },
	{ "as-user-extra", '\0', false, NULL, NULL },
	{ "cache-dir", '\0', false, NULL, NULL },
	{ "certificate-authority", '\0', false, NULL, NULL },
	{ "client-certificate", '\0', false, NULL, NULL },
	{ "client-key", '\0', false, NULL, NULL },
	{ "cluster", '\0', false, NULL, NULL },
	{ "context", '\0', false, NULL, NULL },
	{ "disable-compression", '\0', true, NULL, NULL },
	{ "insecure-skip-tls-verify", '\0', true, NULL, NULL },
	{ "kubeconfig", '\0', false, NULL, NULL },
	{ "kuberc", '\0', false, NULL, NULL },
	{ "log-flush-frequency", '\0', false, NULL, NULL },
	{ "match-server-version", '\0', true, NULL, NULL },
	{ "namespace", 'n', false, NULL, NULL },
	{ "password", '\0', false, NULL, NULL },
	{ "profile", '\0', false, NULL, NULL },
	{ "profile-output", '\0', false, NULL, NULL },
	{ "request-timeout", '\0', false, NULL, NULL },
	{ "server", 's', false, NULL, NULL },
	{ "tls-server-name", '\0', false, NULL, NULL },
	{ "token", '\0', false, NULL, NULL },
	{ "user", '\0', false, NULL, NULL },
	{ "username", '\0', false, NULL, NULL },
	{ "v", 'v', false, NULL, NULL },
	{ "vmodule", '\0', false, NULL, NULL },
	{ "warnings-as-errors", '\0', true, NULL, NULL },
};

/* A command line that is being parsed. */
struct parse {
	struct flags *out;
	uint32_t accepted;
	const char *const *next; /* the arguments behind this one */
	struct error *err;
};

/* A flag that was found: own, or else global. */
struct found {
	const struct spec *spec;
	bool is_own;
};

static bool matches(const struct spec *spec, const char *name, size_t len)
{
	return strlen(spec->name) == len && memcmp(spec->name, name, len) == 0;
}

/* By name, or by letter if name is NULL. */
static struct found find(const struct parse *parse, const char *name,
	size_t len, char letter)
{
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		if ((parse->accepted & FLAG_BIT(i)) != 0 &&
			(name != NULL ? matches(&own[i], name, len)
				      : own[i].letter == letter)) {
			return (struct found){ &own[i], true };
		}
	}
	for (size_t i = 0; i < count_of(global); i++) {
		if (name != NULL ? matches(&global[i], name, len)
				 : global[i].letter == letter) {
			return (struct found){ &global[i], false };
		}
	}
	return (struct found){ NULL, false };
}

static int check_bool(const struct spec *spec, const char *value,
	struct error *err)
{
	if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0) {
		return error_set(err, -EINVAL,
			"invalid argument \"%s\" for \"--%s\" flag: it is true "
			"or false",
			value, spec->name);
	}
	return 0;
}

bool flags_is_name(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.");

	return len > 0 && len <= NAME_MAX_BYTES && text[len] == '\0' &&
		text[0] != '.';
}

static int set(struct parse *parse, struct found found, const char *value)
{
	struct flags *out = parse->out;
	const char *name = found.spec->name;

	if (found.spec->is_bool &&
		check_bool(found.spec, value, parse->err) < 0) {
		return -EINVAL;
	}
	if (found.is_own) {
		out->values[found.spec - own] = value;
		return 0;
	}
	if (out->global_count == FLAGS_GLOBAL_MAX) {
		return error_set(parse->err, -EINVAL,
			"more than %d global flags", FLAGS_GLOBAL_MAX);
	}
	if (strcmp(name, "namespace") == 0) {
		if (!flags_is_name(value)) {
			return error_set(parse->err, -EINVAL,
				"invalid argument \"%.100s\" for "
				"\"-n, --namespace\" flag: it is no name",
				value);
		}
		out->namespace = value;
	}
	if (strcmp(name, "kubeconfig") == 0 || strcmp(name, "context") == 0 ||
		strcmp(name, "server") == 0) {
		out->has_kubeconfig = true;
	}
	out->globals[out->global_count++] = xasprintf("--%s=%s", name, value);
	return 0;
}

static int parse_long(struct parse *parse, const char *text)
{
	size_t len = strcspn(text, "=");
	struct found found = find(parse, text, len, '\0');
	const char *value = text[len] == '=' ? text + len + 1 : NULL;

	if (len == strlen("help") && memcmp(text, "help", len) == 0) {
		parse->out->wants_help = true;
		return 0;
	}
	if (found.spec == NULL) {
		return error_set(parse->err, -EINVAL, "unknown flag: --%.*s",
			(int)(len > 100 ? 100 : len), text);
	}
	if (value == NULL && found.spec->is_bool) {
		value = "true";
	}
	if (value == NULL) {
		value = *parse->next;
		if (value == NULL) {
			return error_set(parse->err, -EINVAL,
				"flag needs an argument: --%s",
				found.spec->name);
		}
		parse->next++;
	}
	return set(parse, found, value);
}

/* The value of the letter at `at`, which is the last one. */
static int parse_last_letter(struct parse *parse, struct found found,
	const char *text, const char *at)
{
	const char *value = at[1] == '=' ? at + 2 : at + 1;

	if (*value != '\0' || at[1] == '=') {
		return set(parse, found, value);
	}
	value = *parse->next;
	if (value == NULL) {
		return error_set(parse->err, -EINVAL,
			"flag needs an argument: '%c' in -%.100s", *at, text);
	}
	parse->next++;
	return set(parse, found, value);
}

/* The letters behind one dash: -Aw, -nvalue, -n=value. */
static int parse_letters(struct parse *parse, const char *text)
{
	for (const char *at = text; *at != '\0'; at++) {
		struct found found = find(parse, NULL, 0, *at);

		if (*at == 'h') {
			parse->out->wants_help = true;
			continue;
		}
		if (found.spec == NULL) {
			return error_set(parse->err, -EINVAL,
				"unknown shorthand flag: '%c' in -%.100s", *at,
				text);
		}
		if (!found.spec->is_bool || at[1] == '=') {
			return parse_last_letter(parse, found, text, at);
		}
		if (set(parse, found, "true") < 0) {
			return -EINVAL;
		}
	}
	return 0;
}

static int add_name(struct parse *parse, const char *text)
{
	struct flags *out = parse->out;

	if (out->name_count == FLAGS_NAMES_MAX) {
		return error_set(parse->err, -EINVAL, "more than %d arguments",
			FLAGS_NAMES_MAX);
	}
	out->names[out->name_count++] = text;
	return 0;
}

int flags_parse(struct flags *out, uint32_t accepted,
	const char *const *arguments, struct error *err)
{
	struct parse parse = { out, accepted, arguments, err };
	bool has_flags = true;

	while (*parse.next != NULL) {
		const char *text = *parse.next++;
		int r;

		if (has_flags && strcmp(text, "--") == 0) {
			has_flags = false;
			continue;
		}
		if (!has_flags || text[0] != '-' || text[1] == '\0') {
			r = add_name(&parse, text);
		} else if (text[1] == '-') {
			r = parse_long(&parse, text + 2);
		} else {
			r = parse_letters(&parse, text + 1);
		}
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* Whether text is a global flag; *has_value: its value is the next argument. */
static bool is_global(bool *has_value, const char *text)
{
	struct parse parse = { 0 }; /* no flag of a command */
	bool is_long = strncmp(text, "--", 2) == 0;
	const char *name = is_long ? text + 2 : NULL;
	struct found found;

	if (text[0] != '-' || text[1] == '\0') {
		return false;
	}
	found = find(&parse, name, is_long ? strcspn(name, "=") : 0, text[1]);
	if (found.spec == NULL) {
		return false;
	}
	*has_value = !found.spec->is_bool &&
		(is_long ? strchr(text, '=') == NULL : text[2] == '\0');
	return true;
}

size_t flags_find_command(const char *const *arguments)
{
	size_t i = 0;
	bool has_value;

	while (arguments[i] != NULL && is_global(&has_value, arguments[i])) {
		i++;
		if (has_value && arguments[i] != NULL) {
			i++;
		}
	}
	return i;
}

void flags_fini(struct flags *flags)
{
	for (size_t i = 0; i < flags->global_count; i++) {
		free(flags->globals[i]);
	}
	flags->global_count = 0;
}

bool flags_has(const struct flags *flags, enum flag flag)
{
	return flags->values[flag] != NULL &&
		strcmp(flags->values[flag], "true") == 0;
}

int flags_number(unsigned *out, const struct flags *flags, enum flag flag,
	const unsigned bounds[2], struct error *err)
{
	const char *text = flags->values[flag];
	unsigned long value = 0;
	char *end = NULL;

	if (text == NULL) {
		text = own[flag].fallback;
	}
	if (*text >= '0' && *text <= '9') {
		value = strtoul(text, &end, 10);
	}
	if (end == NULL || *end != '\0' || value < bounds[0] ||
		value > bounds[1]) {
		return error_set(err, -EINVAL,
			"invalid argument \"%s\" for \"--%s\" flag: it is a "
			"number from %u to %u",
			text, own[flag].name, bounds[0], bounds[1]);
	}
	*out = (unsigned)value;
	return 0;
}

void flags_help(struct buffer *out, uint32_t accepted)
{
	buffer_text(out, "Options:\n");
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		if ((accepted & FLAG_BIT(i)) == 0) {
			continue;
		}
		buffer_text(out, "    ");
		if (own[i].letter != '\0') {
			buffer_printf(out, "-%c, ", own[i].letter);
		}
		buffer_printf(out, "--%s=%s:\n\t%s\n\n", own[i].name,
			own[i].fallback, own[i].help);
	}
}

static void complete(struct buffer *out, const struct spec *spec,
	const char *prefix)
{
	if (strncmp(spec->name, prefix, strlen(prefix)) == 0) {
		buffer_printf(out, "--%s\n", spec->name);
	}
}

void flags_complete(struct buffer *out, uint32_t accepted, const char *prefix)
{
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		if ((accepted & FLAG_BIT(i)) != 0) {
			complete(out, &own[i], prefix);
		}
	}
	for (size_t i = 0; i < count_of(global); i++) {
		complete(out, &global[i], prefix);
	}
}
