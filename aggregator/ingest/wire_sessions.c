#include "aggregator/ingest/wire_sessions.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

struct slot {
	uint32_t pipe;
	struct hello *hello; /* owned; NULL: free */
	uint64_t until_us;
	uint64_t last_us; /* no extension ends later */
};

struct wire_sessions {
	struct slot slots[WIRE_SESSIONS_MAX];
};

struct wire_sessions *wire_sessions_new(void)
{
	return xcalloc(1, sizeof(struct wire_sessions));
}

void wire_sessions_free(struct wire_sessions *sessions)
{
	for (size_t i = 0; sessions != NULL && i < WIRE_SESSIONS_MAX; i++) {
		free(sessions->slots[i].hello);
	}
	free(sessions);
}

void wire_sessions_put(struct wire_sessions *sessions, uint32_t pipe,
	const struct hello *hello, uint64_t until_us)
{
	struct slot *slot = &sessions->slots[pipe % WIRE_SESSIONS_MAX];

	free(slot->hello);
	slot->pipe = pipe;
	slot->hello = xmemdup(hello, sizeof(*hello));
	slot->hello->token = NULL;
	slot->until_us = until_us;
	slot->last_us = until_us > UINT64_MAX - WIRE_SESSIONS_GRACE_US
		? UINT64_MAX
		: until_us + WIRE_SESSIONS_GRACE_US;
}

static bool is_same(const struct hello *a, const struct hello *b)
{
	return a->role == b->role && strcmp(a->node, b->node) == 0 &&
		memcmp(a->run_id, b->run_id, REPORT_RUN_ID_BYTES) == 0;
}

bool wire_sessions_extend(struct wire_sessions *sessions, uint32_t pipe,
	const struct hello *hello, uint64_t now_us, uint64_t until_us)
{
	struct slot *slot = &sessions->slots[pipe % WIRE_SESSIONS_MAX];

	if (slot->pipe != pipe || slot->hello == NULL ||
		!is_same(slot->hello, hello) || now_us > slot->last_us) {
		return false;
	}
	slot->until_us = until_us < slot->last_us ? until_us : slot->last_us;
	return true;
}

const struct hello *wire_sessions_find(const struct wire_sessions *sessions,
	uint32_t pipe, uint64_t now_us)
{
	const struct slot *slot = &sessions->slots[pipe % WIRE_SESSIONS_MAX];

	return slot->pipe == pipe && now_us < slot->until_us ? slot->hello
							     : NULL;
}
