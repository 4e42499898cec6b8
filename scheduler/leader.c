#include "scheduler/leader.h"

#include "kube/client.h"
#include "kube/elector.h"
#include "lib/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

enum { HOST_MAX = 256 };

struct leader {
	struct kube_client *client;
	/* NULL: it does not stand for election, or has no lease to hold. */
	struct elector *elector;
	const char *namespace, *lease; /* borrowed; lease NULL: always leader */
	void (*on_change)(void *owner, bool leads);
	void *owner;
};

/* Like client-go's: the host's name for people, and a random part so that a
 * restarted process has another identity. */
static char *make_identity(void)
{
	char host[HOST_MAX] = "";
	uint64_t random = 0;
	ssize_t got = getrandom(&random, sizeof(random), 0);

	assert(got == (ssize_t)sizeof(random));
	(void)got;
	if (gethostname(host, sizeof(host) - 1) != 0) {
		host[0] = '\0';
	}
	return xasprintf("%s_%016llx", host, (unsigned long long)random);
}

struct leader *leader_new(struct kube_client *client,
	const struct scheduler_config *config,
	void (*on_change)(void *owner, bool leads), void *owner)
{
	const char *namespace = config->lease_namespace;
	const char *name = config->lease_name;
	struct leader *leader = xcalloc(1, sizeof(*leader));

	leader->client = client;
	leader->on_change = on_change;
	leader->owner = owner;
	if (config->leader_elect) {
		leader->lease = name != NULL ? name : config->scheduler_name;
		leader->namespace = namespace != NULL
			? namespace
			: kube_client_namespace(client);
	}
	return leader;
}

static void elect(struct leader *leader)
{
	scoped_free char *identity = make_identity();

	leader->elector = elector_new(leader->client,
		&(struct elector_options){ .namespace = leader->namespace,
			.name = leader->lease,
			.identity = identity,
			.on_change = leader->on_change,
			.owner = leader->owner });
}

void leader_stand(struct leader *leader)
{
	if (leader->lease == NULL) {
		leader->on_change(leader->owner, true);
	} else if (leader->elector == NULL) {
		elect(leader);
	}
}

const char *leader_lease(const struct leader *leader)
{
	return leader->lease;
}

bool leader_leads(const struct leader *leader, uint64_t now_us)
{
	return leader->lease == NULL ||
		(leader->elector != NULL &&
			elector_leads(leader->elector, now_us));
}

void leader_describe(const struct leader *leader, struct buffer *out,
	uint64_t now_us)
{
	if (leader->elector != NULL && !leader_leads(leader, now_us)) {
		elector_describe(leader->elector, out, now_us);
	}
}

void leader_release(struct leader *leader, void (*done)(void *owner),
	void *owner)
{
	if (leader->elector == NULL) {
		done(owner);
	} else {
		elector_release(leader->elector, done, owner);
	}
}

void leader_close(struct leader *leader)
{
	if (leader != NULL) {
		elector_close(leader->elector);
		free(leader);
	}
}
