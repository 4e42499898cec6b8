#include "lib/options.h"

#include "lib/address.h"
#include "lib/edit_distance.h"
#include "lib/memory.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <version.h>

const char *const plimsoll_version = PLIMSOLL_VERSION;
const char *const plimsoll_commit = PLIMSOLL_COMMIT;

/* "kvm-probe" becomes PLIMSOLL_KVM_PROBE. */
static void env_name(char *out, size_t size, const char *flag)
{
	(void)snprintf(out, size, "PLIMSOLL_%s", flag);
	for (char *c = out; *c != '\0'; c++) {
		*c = (char)(*c == '-' ? '_' : toupper((unsigned char)*c));
	}
}

struct unit {
	const char *name;
	double factor;
};

static const struct unit durations[] = {
	{ "us", 1 },
	{ "ms", 1e3 },
	{ "s", 1e6 },
	{ "m", 60e6 },
	{ "h", 3600e6 },
	{ "d", 86400e6 },
	{ NULL, 0 },
};

static const struct unit sizes[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "kB", 1e3 },
	{ "MB", 1e6 },
	{ "GB", 1e9 },
	{ "TB", 1e12 },
	{ "KiB", 1024 },
	{ "MiB", 1048576 },
	{ "GiB", 1073741824 },
	{ "TiB", 1099511627776 },
	{ NULL, 0 },
};

/* Parses one "<number><unit>" at *text and advances *text past it. */
static bool scan_amount(double *out, const char **text,
	const struct unit *units)
{
	size_t digits = strspn(*text, "0123456789.");
	size_t letters;
	char *end;
	double number;

	if (digits == 0) {
		return false;
	}
	number = strtod(*text, &end);
	/* strtod(3) also accepts exponents and hexadecimal numbers. */
	if (end != *text + digits) {
		return false;
	}
	letters = strcspn(end, "0123456789.");
	for (; units->name != NULL; units++) {
		if (strlen(units->name) == letters &&
			strncmp(units->name, end, letters) == 0) {
			*out = number * units->factor;
			*text = end + letters;
			return true;
		}
	}
	return false;
}

int options_duration(uint64_t *us, const char *text, struct error *err)
{
	const char *at = text;
	double total = 0;
	double part;

	if (strcmp(text, "0") == 0) {
		*us = 0;
		return 0;
	}
	do {
		if (!scan_amount(&part, &at, durations)) {
			return error_set(err, -EINVAL,
				"'%s' is not a duration such as 2s, 250ms, "
				"1h30m or 7d",
				text);
		}
		total += part;
	} while (*at != '\0');
	if (total >= 9e18) {
		return error_set(err, -ERANGE, "'%s' is too long", text);
	}
	*us = (uint64_t)llround(total);
	return 0;
}

/* Writes a bound as people type it: in the largest unit that makes it a whole
 * number, such as 3650d or 40GiB. */
static void write_bound(char *out, size_t size, enum option_type type,
	double value)
{
	const struct unit *unit = type == OPTION_DURATION ? durations : sizes;
	const struct unit *best = NULL;

	for (; type != OPTION_INTEGER && unit->name != NULL; unit++) {
		if (value >= unit->factor && fmod(value, unit->factor) == 0 &&
			(best == NULL || unit->factor > best->factor)) {
			best = unit;
		}
	}
	(void)snprintf(out, size, "%.0f%s",
		best == NULL ? value : value / best->factor,
		best == NULL ? "" : best->name);
}

static int check_range(const struct option *o, double value, const char *text,
	struct error *err)
{
	char min[32], max[32];

	if ((o->min == 0 && o->max == 0) ||
		(value >= o->min && value <= o->max)) {
		return 0;
	}
	write_bound(min, sizeof(min), o->type, o->min);
	write_bound(max, sizeof(max), o->type, o->max);
	return error_set(err, -EINVAL, "'%s' is not between %s and %s", text,
		min, max);
}

static int set_bool(bool *out, const char *text, struct error *err)
{
	if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0) {
		*out = true;
		return 0;
	}
	if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0) {
		*out = false;
		return 0;
	}
	return error_set(err, -EINVAL, "'%s' is neither true nor false", text);
}

static int set_integer(int64_t *out, const struct option *o, const char *text,
	struct error *err)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0) {
		return error_set(err, -EINVAL, "'%s' is not a whole number",
			text);
	}
	if (check_range(o, (double)value, text, err) < 0) {
		return -EINVAL;
	}
	*out = value;
	return 0;
}

static int set_amount(uint64_t *out, const struct option *o, const char *text,
	struct error *err)
{
	const char *at = text;
	uint64_t value = 0;
	double bytes = 0;

	if (o->type == OPTION_DURATION) {
		if (options_duration(&value, text, err) < 0) {
			return -EINVAL;
		}
	} else {
		if (!scan_amount(&bytes, &at, sizes) || *at != '\0' ||
			bytes >= 9e18) {
			return error_set(err, -EINVAL,
				"'%s' is not a size such as 100MB or 40GiB",
				text);
		}
		value = (uint64_t)bytes;
	}
	if (check_range(o, (double)value, text, err) < 0) {
		return -EINVAL;
	}
	*out = value;
	return 0;
}

static int set_choice(int *out, const struct option *o, const char *text,
	struct error *err)
{
	const char *at = o->choices;
	size_t len = strlen(text);

	for (int i = 0; *at != '\0'; i++) {
		size_t word = strcspn(at, " ");

		if (word == len && strncmp(at, text, len) == 0) {
			*out = i;
			return 0;
		}
		at += word;
		at += strspn(at, " ");
	}
	return error_set(err, -EINVAL, "'%s' is not one of: %s", text,
		o->choices);
}

static int add_item(struct option_list *list, const char *text,
	struct error *err)
{
	if (list->count == OPTION_LIST_MAX) {
		return error_set(err, -EINVAL, "given more than %d times",
			OPTION_LIST_MAX);
	}
	list->items[list->count++] = text;
	return 0;
}

/* An option with a default cannot be empty. */
static int set_text(const char **out, const struct option *o, const char *text,
	struct error *err)
{
	if (*text == '\0' && o->fallback != NULL) {
		return error_set(err, -EINVAL, "must not be empty");
	}
	*out = text;
	return 0;
}

static int set_address(const char **out, const char *text, struct error *err)
{
	char host[ADDRESS_HOST_MAX];

	if (!address_split(host, text)) {
		return error_set(err, -EINVAL,
			"'%s' is not an IP address and port such as "
			"127.0.0.1:8080, [::1]:8080, or :8080 for all "
			"interfaces, of IPv4 and IPv6",
			text);
	}
	*out = text;
	return 0;
}

static int set(void *config, const struct option *o, const char *text,
	struct error *err)
{
	void *member = (char *)config + o->offset;

	switch (o->type) {
	case OPTION_TEXT:
		return set_text(member, o, text, err);
	case OPTION_ADDRESS:
		return set_address(member, text, err);
	case OPTION_LIST:
		return add_item(member, text, err);
	case OPTION_BOOL:
		return set_bool(member, text, err);
	case OPTION_INTEGER:
		return set_integer(member, o, text, err);
	case OPTION_DURATION:
	case OPTION_BYTES:
		return set_amount(member, o, text, err);
	case OPTION_CHOICE:
		return set_choice(member, o, text, err);
	}
	return error_set(err, -EINVAL, "the option has no type");
}

/* The environment belongs to this process, so it is split in place. */
static int set_from_env(void *config, const struct option *o, const char *name,
	struct error *err)
{
	char *text = getenv(name);
	char *comma;
	int r;

	if (text == NULL || *text == '\0') {
		return 0;
	}
	if (o->type == OPTION_LIST) {
		*(struct option_list *)((char *)config + o->offset) =
			(struct option_list){ 0 };
	}
	while (o->type == OPTION_LIST && (comma = strchr(text, ',')) != NULL) {
		*comma = '\0';
		r = set(config, o, text, err);
		if (r < 0) {
			return error_wrap(err, r, "%s", name);
		}
		text = comma + 1;
	}
	r = set(config, o, text, err);
	return r < 0 ? error_wrap(err, r, "%s", name) : 0;
}

/* Applies the default, then the environment. */
static int set_one_initial(void *config, const struct option *o,
	struct error *err)
{
	char name[96];
	int r = 0;

	if (o->fallback != NULL) {
		r = set(config, o, o->fallback, err);
	}
	if (r < 0) {
		return error_wrap(err, r, "default of --%s", o->name);
	}
	if (o->extra_env != NULL) {
		r = set_from_env(config, o, o->extra_env, err);
	}
	env_name(name, sizeof(name), o->name);
	return r == 0 ? set_from_env(config, o, name, err) : r;
}

static int set_initial(void *config, const struct option *table,
	struct error *err)
{
	int r = 0;

	for (const struct option *o = table; r == 0 && o->name != NULL; o++) {
		r = set_one_initial(config, o, err);
	}
	return r;
}

static const struct option *find(const struct option *table, const char *name,
	size_t len)
{
	for (; table->name != NULL; table++) {
		if (strlen(table->name) == len &&
			strncmp(table->name, name, len) == 0) {
			return table;
		}
	}
	return NULL;
}

/* The flag that is most likely meant; NULL: none is close. */
static const char *suggest(const struct option *table, const char *name,
	size_t len)
{
	const char *best = NULL;
	size_t least = len / 4 + 2; /* one error in a short name */

	for (; table->name != NULL && len < EDIT_DISTANCE_MAX; table++) {
		if (strlen(table->name) < EDIT_DISTANCE_MAX &&
			edit_distance(name, len, table->name) < least) {
			best = table->name;
			least = edit_distance(name, len, best);
		}
	}
	return best;
}

static int refuse_flag(const struct options_program *program, const char *name,
	size_t len, struct error *err)
{
	const char *meant = suggest(program->table, name, len);

	if (meant != NULL) {
		return error_set(err, -EINVAL,
			"unknown flag --%.*s; did you mean --%s?", (int)len,
			name, meant);
	}
	return error_set(err, -EINVAL, "unknown flag --%.*s; see %s --help",
		(int)len, name, program->name);
}

/* Applies the flag at argv[*at], with the next argument if it is the value. */
static int parse_flag(void *config, const struct options_program *program,
	char **argv, size_t *at, struct error *err)
{
	const char *name = argv[*at] + 2;
	size_t len = strcspn(name, "=");
	const struct option *o = find(program->table, name, len);
	const char *value;
	int r;

	if (o == NULL) {
		return refuse_flag(program, name, len, err);
	}
	if (name[len] == '=') {
		value = name + len + 1;
	} else if (o->type == OPTION_BOOL) {
		value = "true";
	} else {
		value = argv[*at + 1];
		if (value == NULL) {
			return error_set(err, -EINVAL, "--%s needs a value",
				o->name);
		}
		(*at)++;
	}
	r = set(config, o, value, err);
	return r < 0 ? error_wrap(err, r, "--%s", o->name) : 0;
}

/* A list given by flags replaces the list of the environment. */
static void clear_given_lists(void *config, const struct option *table,
	char **argv)
{
	for (size_t i = 1; argv[0] != NULL && argv[i] != NULL; i++) {
		const struct option *o = NULL;

		if (strncmp(argv[i], "--", 2) == 0) {
			o = find(table, argv[i] + 2, strcspn(argv[i] + 2, "="));
		}
		if (o != NULL && o->type == OPTION_LIST) {
			*(struct option_list *)((char *)config + o->offset) =
				(struct option_list){ 0 };
		}
	}
}

int options_parse(void *config, enum options_outcome *outcome,
	struct option_list *rest, const struct options_program *program,
	char **argv, struct error *err)
{
	int r = set_initial(config, program->table, err);

	clear_given_lists(config, program->table, argv);
	for (size_t i = 1; r == 0 && argv[0] != NULL && argv[i] != NULL; i++) {
		if (strcmp(argv[i], "--help") == 0 ||
			strcmp(argv[i], "-h") == 0) {
			options_help(program, stdout);
			*outcome = OPTIONS_HELP;
			return 0;
		}
		if (strcmp(argv[i], "--version") == 0) {
			*outcome = OPTIONS_VERSION;
			return 0;
		}
		if (strncmp(argv[i], "--", 2) == 0 && argv[i][2] != '\0') {
			r = parse_flag(config, program, argv, &i, err);
		} else if (rest != NULL) {
			r = add_item(rest, argv[i], err);
		} else {
			r = error_set(err, -EINVAL,
				"unknown argument '%s'; see %s --help", argv[i],
				program->name);
		}
	}
	if (r == 0) {
		*outcome = OPTIONS_RUN;
	}
	return r < 0 ? -EINVAL : 0;
}

void options_help(const struct options_program *program, FILE *out)
{
	char env[96];

	(void)fprintf(out, "%s: %s\n\nusage: %s %s\n\n", program->name,
		program->summary, program->name, program->usage);
	for (const struct option *o = program->table; o->name != NULL; o++) {
		env_name(env, sizeof(env), o->name);
		(void)fprintf(out, "  --%s%s%s\n        %s", o->name,
			o->placeholder == NULL ? "" : " ",
			o->placeholder == NULL ? "" : o->placeholder, o->help);
		if (o->fallback != NULL) {
			(void)fprintf(out, " (default %s)", o->fallback);
		}
		(void)fprintf(out, " [%s%s%s]\n", env,
			o->extra_env == NULL ? "" : ", ",
			o->extra_env == NULL ? "" : o->extra_env);
	}
	(void)fprintf(out,
		"  --help\n        print this help\n"
		"  --version\n        print the version, the commit and the "
		"versions of libraries\n");
}
