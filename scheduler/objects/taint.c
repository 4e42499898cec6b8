#include "scheduler/objects/taint.h"

#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "scheduler/objects/value_list.h"

/* The empty string is 0: two empty values are equal, and a toleration without a
 * key matches all keys. */
static uint32_t hold_text(struct interner *interner,
	const struct json_value *object, const char *key)
{
	const char *text = json_value_text_at(object, key, "");

	return *text != '\0' ? interner_hold(interner, text) : 0;
}

static enum taint_effect effect_of(const struct json_value *object)
{
	static const char *const texts[] = {
		[TAINT_ANY] = "",
		[TAINT_NO_SCHEDULE] = "NoSchedule",
		[TAINT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
		[TAINT_NO_EXECUTE] = "NoExecute",
	};

	_Static_assert(count_of(texts) == TAINT_OTHER, "the first one left");
	return (enum taint_effect)value_list_find(texts, count_of(texts),
		json_value_text_at(object, "effect", ""));
}

static bool is_passing(const char *key)
{
	static const char *const prefixes[] = { "node.kubernetes.io/",
		"node.cloudprovider.kubernetes.io/" };

	for (size_t i = 0; i < count_of(prefixes); i++) {
		if (strncmp(key, prefixes[i], strlen(prefixes[i])) == 0) {
			return true;
		}
	}
	return strcmp(key, "kubevirt.io/drain") == 0;
}

static struct taint read_taint(struct interner *interner,
	const struct json_value *object)
{
	return (struct taint){
		.key = hold_text(interner, object, "key"),
		.value = hold_text(interner, object, "value"),
		.effect = effect_of(object),
		.is_passing = is_passing(json_value_text_at(object, "key", "")),
	};
}

static void taint_fini(const struct taint *taint, struct interner *interner)
{
	interner_drop(interner, taint->key);
	interner_drop(interner, taint->value);
}

static enum toleration_operator operator_of(const struct json_value *object)
{
	const char *text = json_value_text_at(object, "operator", "Equal");

	if (*text == '\0' || strcmp(text, "Equal") == 0) {
		return TOLERATION_EQUAL;
	}
	return strcmp(text, "Exists") == 0 ? TOLERATION_EXISTS
					   : TOLERATION_OTHER;
}

int taints_read(struct taints *out, struct interner *interner,
	const struct json_value *list, struct error *err)
{
	struct taints taints = { 0 };
	int r = value_list_check(list, "taints", err);

	if (r < 0) {
		return r;
	}
	taints.list = xcalloc(json_value_count(list) + 1, sizeof(*taints.list));
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		taints.list[taints.count++] = read_taint(interner, v);
	}
	*out = taints;
	return 0;
}

void taints_fini(struct taints *taints, struct interner *interner)
{
	for (size_t i = 0; i < taints->count; i++) {
		taint_fini(&taints->list[i], interner);
	}
	free(taints->list);
	*taints = (struct taints){ 0 };
}

static bool tolerates(const struct toleration *toleration,
	const struct taint *taint)
{
	const struct taint *with = &toleration->taint;

	if ((with->effect != TAINT_ANY && with->effect != taint->effect) ||
		(with->key != 0 && with->key != taint->key)) {
		return false;
	}
	if (toleration->operator== TOLERATION_EXISTS) {
		return true;
	}
	return toleration->operator== TOLERATION_EQUAL &&
		with->value == taint->value;
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

int tolerations_read(struct tolerations *out, struct interner *interner,
	const struct json_value *list, struct error *err)
{
	struct taint unschedulable = { .effect = TAINT_NO_SCHEDULE };
	struct tolerations read = { 0 };
	int r = value_list_check(list, "tolerations", err);

	if (r < 0) {
		return r;
	}
	read.list = xcalloc(json_value_count(list) + 1, sizeof(*read.list));
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		read.list[read.count++] = (struct toleration){
			.taint = read_taint(interner, v),
			.operator= operator_of(v),
		};
	}

	unschedulable.key =
		interner_hold(interner, "node.kubernetes.io/unschedulable");
	read.has_unschedulable = is_tolerated(&unschedulable, &read);
	interner_drop(interner, unschedulable.key);
	*out = read;
	return 0;
}

void tolerations_fini(struct tolerations *tolerations,
	struct interner *interner)
{
	for (size_t i = 0; i < tolerations->count; i++) {
		taint_fini(&tolerations->list[i].taint, interner);
	}
	free(tolerations->list);
	*tolerations = (struct tolerations){ 0 };
}

static bool keeps_away(const struct taint *taint,
	const struct tolerations *tolerations)
{
	return (taint->effect == TAINT_NO_SCHEDULE ||
		       taint->effect == TAINT_NO_EXECUTE) &&
		!is_tolerated(taint, tolerations);
}

bool taints_tolerated(const struct taints *taints,
	const struct tolerations *tolerations)
{
	for (size_t i = 0; i < taints->count; i++) {
		if (keeps_away(&taints->list[i], tolerations)) {
			return false;
		}
	}
	return true;
}

bool taints_of_people_tolerated(const struct taints *taints,
	const struct tolerations *tolerations)
{
	for (size_t i = 0; i < taints->count; i++) {
		if (!taints->list[i].is_passing &&
			keeps_away(&taints->list[i], tolerations)) {
			return false;
		}
	}
	return true;
}

uint32_t taints_count_intolerable(const struct taints *taints,
	const struct tolerations *tolerations)
{
	uint32_t count = 0;

	for (size_t i = 0; i < taints->count; i++) {
		count += taints->list[i].effect == TAINT_PREFER_NO_SCHEDULE &&
			!is_tolerated(&taints->list[i], tolerations);
	}
	return count;
}
