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
	struct elector *elector; /* NULL: always leader */
	const char *lease;	 /* borrowed from the configuration, or NULL */
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
	scoped_free char *identity = make_identity();
	struct leader *leader = xcalloc(1, sizeof(*leader));
	struct elector_options options = {
		.name = name != NULL ? name : config->scheduler_name,
		.identity = identity,
		.on_change = on_change,
		.owner = owner,
	};

	if (config->leader_elect) {
		options.namespace = namespace != NULL
			? namespace
			: kube_client_namespace(client);
		leader->lease = options.name;
		leader->elector = elector_new(client, &options);
	}
	return leader;
}

const char *leader_lease(const struct leader *leader)
{
	return leader->lease;
}

bool leader_leads(const struct leader *leader, uint64_t now_us)
{
	return leader->elector == NULL ||
		elector_leads(leader->elector, now_us);
}

void leader_describe(const struct leader *leader, struct buffer *out,
	uint64_t now_us)
{
	if (!leader_leads(leader, now_us)) {
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
