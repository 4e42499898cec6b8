#include "scheduler/objects/taint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

/* Empty is 0 on both sides: an empty value equals an empty value, and a
 * toleration without a key is for all keys. */
static uint32_t hold_text(struct names *names, const struct value *object,
	const char *key)
{
	const char *text = value_text_at(object, key, "");

	return *text != '\0' ? names_hold(names, text) : 0;
}

static enum taint_effect effect_of(const struct value *object)
{
	static const char *const texts[] = {
		[TAINT_ANY] = "",
		[TAINT_NO_SCHEDULE] = "NoSchedule",
		[TAINT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
		[TAINT_NO_EXECUTE] = "NoExecute",
	};
	const char *text = value_text_at(object, "effect", "");

	for (size_t i = 0; i < count_of(texts); i++) {
		if (strcmp(text, texts[i]) == 0) {
			return (enum taint_effect)i;
		}
	}
	return TAINT_OTHER;
}

static enum toleration_operator operator_of(const struct value *object)
{
	const char *text = value_text_at(object, "operator", "Equal");

	if (*text == '\0' || strcmp(text, "Equal") == 0) {
		return TOLERATION_EQUAL;
	}
	return strcmp(text, "Exists") == 0 ? TOLERATION_EXISTS
					   : TOLERATION_OTHER;
}

static int check_list(const struct value *list, const char *what,
	struct error *err)
{
	if (list == NULL || value_is_null(list)) {
		return 0;
	}
	if (!value_is_array(list)) {
		return error_set(err, -EBADMSG, "%s are not a list", what);
	}
	if (value_count(list) > TAINTS_MAX) {
		return error_set(err, -E2BIG, "more than %d %s", TAINTS_MAX,
			what);
	}
	return 0;
}

int taints_read(struct taints *out, struct names *names,
	const struct value *list, struct error *err)
{
	struct taints taints = { 0 };
	int r = check_list(list, "taints", err);

	if (r < 0) {
		return r;
	}
	taints.list = xcalloc(value_count(list) + 1, sizeof(*taints.list));
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		taints.list[taints.count++] = (struct taint){
			.key = hold_text(names, v, "key"),
			.value = hold_text(names, v, "value"),
			.effect = effect_of(v),
		};
	}
	*out = taints;
	return 0;
}

void taints_fini(struct taints *taints, struct names *names)
{
	for (size_t i = 0; i < taints->count; i++) {
		names_drop(names, taints->list[i].key);
		names_drop(names, taints->list[i].value);
	}
	free(taints->list);
	*taints = (struct taints){ 0 };
}

static bool tolerates(const struct toleration *toleration,
	const struct taint *taint)
{
	if (toleration->effect != TAINT_ANY &&
		toleration->effect != taint->effect) {
		return false;
	}
	if (toleration->key != 0 && toleration->key != taint->key) {
		return false;
	}
	switch (toleration->operator) {
	case TOLERATION_EQUAL:
		return toleration->value == taint->value;
	case TOLERATION_EXISTS:
		return true;
	case TOLERATION_OTHER:
		break;
	}
	return false;
}

static bool is_tolerated(const struct taint *taint,
	const struct tolerations *tolerations)
{
	for (size_t i = 0; i < tolerations->count; i++) {
		if (tolerates(&tolerations->list[i], taint)) {
			return true;
		}
	}
	return false;
}

int tolerations_read(struct tolerations *out, struct names *names,
	const struct value *list, struct error *err)
{
	struct taint unschedulable = { .effect = TAINT_NO_SCHEDULE };
	struct tolerations read = { 0 };
	int r = check_list(list, "tolerations", err);

	if (r < 0) {
		return r;
	}
	read.list = xcalloc(value_count(list) + 1, sizeof(*read.list));
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		read.list[read.count++] = (struct toleration){
			.key = hold_text(names, v, "key"),
			.value = hold_text(names, v, "value"),
			.operator= operator_of(v),
			.effect = effect_of(v),
		};
	}

	unschedulable.key =
		names_hold(names, "node.kubernetes.io/unschedulable");
	read.has_unschedulable = is_tolerated(&unschedulable, &read);
	names_drop(names, unschedulable.key);
	*out = read;
	return 0;
}

void tolerations_fini(struct tolerations *tolerations, struct names *names)
{
	for (size_t i = 0; i < tolerations->count; i++) {
		names_drop(names, tolerations->list[i].key);
		names_drop(names, tolerations->list[i].value);
	}
	free(tolerations->list);
	*tolerations = (struct tolerations){ 0 };
}

bool taints_tolerated(const struct taints *taints,
	const struct tolerations *tolerations)
{
	for (size_t i = 0; i < taints->count; i++) {
		const struct taint *taint = &taints->list[i];

		if ((taint->effect == TAINT_NO_SCHEDULE ||
			    taint->effect == TAINT_NO_EXECUTE) &&
			!is_tolerated(taint, tolerations)) {
			return false;
		}
	}
	return true;
}

uint32_t taints_disliked(const struct taints *taints,
	const struct tolerations *tolerations)
{
	uint32_t count = 0;

	for (size_t i = 0; i < taints->count; i++) {
		count += taints->list[i].effect == TAINT_PREFER_NO_SCHEDULE &&
			!is_tolerated(&taints->list[i], tolerations);
	}
	return count;
}
