#include "lib/mq/host_lookup.h"

#include "lib/memory.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>

struct host_lookup {
	char *host;
	_Atomic int users; /* the caller and the thread */
	_Atomic bool is_over;
	int result; /* of getaddrinfo(); set before is_over */
};

void host_lookup_free(struct host_lookup *lookup)
{
	if (lookup != NULL && atomic_fetch_sub(&lookup->users, 1) == 1) {
		free(lookup->host);
		free(lookup);
	}
}

static void *resolve(void *argument)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct host_lookup *lookup = argument;
	struct addrinfo *found = NULL;

	lookup->result = getaddrinfo(lookup->host, NULL, &hints, &found);
	if (lookup->result == 0) {
		freeaddrinfo(found);
	}
	atomic_store(&lookup->is_over, true);
	host_lookup_free(lookup);
	return NULL;
}

static bool is_numeric(const char *host)
{
	struct in6_addr address;

	return inet_pton(AF_INET, host, &address) == 1 ||
		inet_pton(AF_INET6, host, &address) == 1;
}

struct host_lookup *host_lookup_start(const char *host)
{
	struct host_lookup *lookup;
	pthread_t thread;

	if (is_numeric(host)) {
		return NULL;
	}
	lookup = xcalloc(1, sizeof(*lookup));
	lookup->host = xstrdup(host);
	atomic_store(&lookup->users, 2);
	if (pthread_create(&thread, NULL, resolve, lookup) != 0) {
		atomic_store(&lookup->users, 1);
		host_lookup_free(lookup);
		return NULL;
	}
	(void)pthread_detach(thread);
	return lookup;
}

bool host_lookup_is_over(const struct host_lookup *lookup)
{
	return lookup == NULL || atomic_load(&lookup->is_over);
}

const char *host_lookup_error(const struct host_lookup *lookup)
{
	return lookup == NULL || !atomic_load(&lookup->is_over) ||
			lookup->result == 0
		? NULL
		: gai_strerror(lookup->result);
}
