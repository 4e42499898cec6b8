#include "aggregator/apiserver/tenant_text.h"

#include "lib/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const char other_pod[] = "a pod of another namespace";

static bool is_of_another(const char *pod, const char *namespace)
{
	size_t len = strlen(namespace);

	return *pod != '\0' &&
		(strncmp(pod, namespace, len) != 0 || pod[len] != '/');
}

char *tenant_pod(const char *pod, const char *namespace)
{
	return xstrdup(is_of_another(pod, namespace) ? other_pod : pod);
}

/* A text that names the pod of room_for once at most. */
static char *without_pod(const char *text, const struct move_record *record)
{
	const char *pod = record->room_for;
	const char *at = strstr(text, pod);

	if (at == NULL || !is_of_another(pod, record->namespace)) {
		return xstrdup(text);
	}
	return xasprintf("%.*s%s%s", (int)(at - text), text, other_pod,
		at + strlen(pod));
}

char *tenant_move_sentence(const struct move_record *record)
{
	return without_pod(record->sentence, record);
}

char *tenant_move_failure(const struct move_record *record)
{
	static const char named[] = "gave up: "; /* up to 0.2.0 */

	return record->reason == MOVE_FOR_ROOM &&
			strncmp(record->failure, named, strlen(named)) == 0
		? xstrdup("gave up making room")
		: without_pod(record->failure, record);
}

/* Up to 0.2.0 a pod that fits on no node had " plimsoll can make room: " or the
 * like behind its reasons, and then names. */
char *tenant_decision_sentence(const struct decision_record *record)
{
	const char *room = *record->chosen == '\0'
		? strstr(record->sentence, " plimsoll ")
		: NULL;
	const char *names = room == NULL ? NULL : strchr(room, ':');

	return names == NULL
		? xstrdup(record->sentence)
		: xasprintf("%.*s.", (int)(names - record->sentence),
			  record->sentence);
}
