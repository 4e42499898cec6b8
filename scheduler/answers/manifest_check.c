#include "scheduler/answers/manifest_check.h"

#include "kube/label_syntax.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "scheduler/answers/manifest_affinity.h"
#include "scheduler/answers/manifest_fields.h"
#include "scheduler/answers/manifest_selector.h"
#include "scheduler/objects/value_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char unknown_word[] = "is none of the words that it may be";

/* *out is the word's place among the words. */
static int read_word(size_t *out, const struct manifest_field *field,
	const char *const *words, size_t count, struct error *err)
{
	const char *text = "";
	int r = manifest_text(&text, field, err);

	*out = value_list_find(words, count, text);
	if (r == 0 && *out == count) {
		r = manifest_refuse(field, unknown_word, err);
	}
	return r;
}

/* ---- topologySpreadConstraints ---- */

static int check_policy(const struct manifest_field *constraint,
	const char *name, struct error *err)
{
	static const char *const words[] = { "Honor", "Ignore" };
	const struct manifest_field policy = manifest_member(constraint, name);
	size_t at = 0;

	return policy.value == NULL
		? 0
		: read_word(&at, &policy, words, count_of(words), err);
}

static int check_number(const struct manifest_field *field, bool may_lack,
	struct error *err)
{
	bool is_set = false;
	int number = 0;
	int r = manifest_integer(&number, &is_set, field, err);

	if (r == 0 && number < 1 && (is_set || !may_lack)) {
		r = manifest_refuse(field, "is not above 0", err);
	}
	return r;
}

static int check_min_domains(const struct manifest_field *constraint,
	bool is_hard, struct error *err)
{
	const struct manifest_field least =
		manifest_member(constraint, "minDomains");

	if (least.value != NULL && !is_hard) {
		return manifest_refuse(&least, "needs DoNotSchedule", err);
	}
	return check_number(&least, true, err);
}

/* No two constraints have the same key and the same word. */
static int check_not_repeated(const struct manifest_field *constraint,
	struct map *seen, bool is_hard, struct error *err)
{
	const struct manifest_field key =
		manifest_member(constraint, "topologyKey");
	scoped_free char *pair = NULL;
	const char *text = "";
	int r = manifest_text(&text, &key, err);

	if (r == 0 && *text == '\0') {
		r = manifest_refuse(&key, "is missing", err);
	}
	if (r < 0) {
		return r;
	}
	pair = xasprintf("%d %s", is_hard, text);
	return map_put(seen, pair, seen) == NULL
		? 0
		: manifest_refuse(constraint,
			  "repeats topologyKey and whenUnsatisfiable of "
			  "another constraint",
			  err);
}

static int check_spread(const struct manifest_field *constraint, void *seen,
	struct error *err)
{
	static const char *const words[] = { "ScheduleAnyway",
		"DoNotSchedule" };
	const struct manifest_field skew =
		manifest_member(constraint, "maxSkew");
	const struct manifest_field when =
		manifest_member(constraint, "whenUnsatisfiable");
	const struct manifest_field selector =
		manifest_member(constraint, "labelSelector");
	size_t is_hard = 0;
	int r = manifest_object(constraint, err);

	r = r < 0 ? r : check_number(&skew, false, err);
	r = r < 0 ? r : read_word(&is_hard, &when, words, count_of(words), err);
	r = r < 0 ? r : check_not_repeated(constraint, seen, is_hard == 1, err);
	r = r < 0 ? r : check_min_domains(constraint, is_hard == 1, err);
	r = r < 0 ? r : check_policy(constraint, "nodeAffinityPolicy", err);
	r = r < 0 ? r : check_policy(constraint, "nodeTaintsPolicy", err);
	r = r < 0 ? r : manifest_label_selector(&selector, err);
	return r < 0 ? r : manifest_match_label_keys(constraint, err);
}

static int check_spreads(const struct manifest_field *spec, struct error *err)
{
	const struct manifest_field list =
		manifest_member(spec, "topologySpreadConstraints");
	struct map seen = { 0 };
	int r = manifest_each(&list, check_spread, &seen, err);

	map_fini(&seen);
	return r;
}

/* ---- tolerations ---- */

enum toleration_word {
	WORD_NONE,
	WORD_EQUAL,
	WORD_EXISTS,
	WORD_LT, /* behind a feature gate of the API server */
	WORD_GT,
};

/* A decimal integer of 64 bits, without a plus or leading zeros. */
static bool is_integer(const char *text)
{
	const char *digits = *text == '-' ? text + 1 : text;
	size_t len = strspn(digits, "0123456789");
	char *end = NULL;

	if (len == 0 || digits[len] != '\0' ||
		(*digits == '0' && (len > 1 || digits != text))) {
		return false;
	}
	errno = 0;
	(void)strtoll(text, &end, 10);
	return errno == 0;
}

static int check_toleration_value(const struct manifest_field *toleration,
	enum toleration_word word, struct error *err)
{
	const struct manifest_field value =
		manifest_member(toleration, "value");
	const char *text = "";
	int r = manifest_text(&text, &value, err);

	if (r < 0) {
		return r;
	}
	switch (word) {
	case WORD_NONE:
	case WORD_EQUAL:
		return label_syntax_is_value(text)
			? 0
			: manifest_refuse(&value,
				  "is not a valid value of labels", err);
	case WORD_EXISTS:
		return *text == '\0'
			? 0
			: manifest_refuse(&value, "must be empty with Exists",
				  err);
	case WORD_LT:
	case WORD_GT:
		break;
	}
	return is_integer(text)
		? 0
		: manifest_refuse(&value, "is not a whole number", err);
}

static int check_effect(const struct manifest_field *toleration,
	struct error *err)
{
	static const char *const words[] = { "NoExecute", "", "NoSchedule",
		"PreferNoSchedule" };
	const struct manifest_field effect =
		manifest_member(toleration, "effect");
	const struct manifest_field seconds =
		manifest_member(toleration, "tolerationSeconds");
	size_t word = 0;
	int r = read_word(&word, &effect, words, count_of(words), err);

	if (r == 0 && seconds.value != NULL && word != 0) {
		r = manifest_refuse(&effect,
			"must be NoExecute with tolerationSeconds", err);
	}
	return r;
}

static int check_toleration(const struct manifest_field *toleration,
	void *owner, struct error *err)
{
	static const char *const words[] = { [WORD_NONE] = "",
		[WORD_EQUAL] = "Equal",
		[WORD_EXISTS] = "Exists",
		[WORD_LT] = "Lt",
		[WORD_GT] = "Gt" };
	const struct manifest_field key = manifest_member(toleration, "key");
	const struct manifest_field op =
		manifest_member(toleration, "operator");
	const char *text = "";
	size_t word = 0;
	int r = manifest_object(toleration, err);

	(void)owner;
	r = r < 0 ? r : manifest_text(&text, &key, err);
	if (r == 0 && *text != '\0') {
		r = manifest_label_key(&key, err);
	}
	r = r < 0 ? r : read_word(&word, &op, words, count_of(words), err);
	if (r == 0 && *text == '\0' && word != WORD_EXISTS) {
		r = manifest_refuse(&op, "must be Exists without a key", err);
	}
	r = r < 0 ? r
		  : check_toleration_value(toleration,
			    (enum toleration_word)word, err);
	return r < 0 ? r : check_effect(toleration, err);
}

/* ---- all ---- */

static int check_parts(const struct manifest_field *object, struct error *err)
{
	const struct manifest_field meta = manifest_member(object, "metadata");
	const struct manifest_field labels = manifest_member(&meta, "labels");
	const struct manifest_field spec = manifest_member(object, "spec");
	const struct manifest_field nodes =
		manifest_member(&spec, "nodeSelector");
	const struct manifest_field affinity =
		manifest_member(&spec, "affinity");
	const struct manifest_field tolerations =
		manifest_member(&spec, "tolerations");
	int r = manifest_object(&meta, err);

	r = r < 0 ? r : manifest_labels(&labels, err);
	r = r < 0 ? r : manifest_object(&spec, err);
	r = r < 0 ? r : manifest_labels(&nodes, err);
	r = r < 0 ? r : manifest_affinity(&affinity, err);
	r = r < 0 ? r
		  : manifest_each(&tolerations, check_toleration, NULL, err);
	return r < 0 ? r : check_spreads(&spec, err);
}

int manifest_check(const struct placement_spec *spec, struct error *err)
{
	const struct manifest_field object = { .name = "spec.object",
		.value = spec->object };
	const struct manifest_field of_vm = manifest_member(&object, "spec");
	const struct manifest_field template =
		manifest_member(&of_vm, "template");

	return check_parts(
		spec->kind == PLACEMENT_VM_OBJECT ? &template : &object, err);
}
