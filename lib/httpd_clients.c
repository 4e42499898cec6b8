#include "lib/httpd_clients.h"

#include <stdlib.h>
#include <sys/socket.h>

void clients_init(struct clients *clients, unsigned evict_limit)
{
	*clients = (struct clients){ .evict_limit = evict_limit };
	TAILQ_INIT(&clients->list);
	if (uv_mutex_init(&clients->mutex) != 0) {
		abort();
	}
}

void clients_fini(struct clients *clients)
{
	uv_mutex_destroy(&clients->mutex);
}

static void disconnect(struct clients *clients, struct client *client)
{
	if (!client->is_disconnected) {
		client->is_disconnected = true;
		clients->count--;
		(void)shutdown(client->fd, SHUT_RDWR);
	}
}

static void evict_oldest(struct clients *clients)
{
	struct client *c = NULL;

	TAILQ_FOREACH(c, &clients->list, link)
	{
		if (c->state == CLIENT_REQUESTING && !c->is_disconnected) {
			disconnect(clients, c);
			return;
		}
	}
}

static void begin(struct clients *clients, struct client *client,
	enum client_state state, uint64_t now_us)
{
	uint64_t most_ms = state == CLIENT_REQUESTING ? CLIENT_REQUEST_MS
						      : CLIENT_RESPONSE_MS;

	client->state = state;
	client->due_us =
		state == CLIENT_WAITING ? UINT64_MAX : now_us + most_ms * 1000;
	TAILQ_INSERT_TAIL(&clients->list, client, link);
}

void clients_add(struct clients *clients, struct client *client, int fd,
	uint64_t now_us)
{
	*client = (struct client){ .fd = fd };
	uv_mutex_lock(&clients->mutex);
	if (clients->count >= clients->evict_limit) {
		evict_oldest(clients);
	}
	begin(clients, client, CLIENT_REQUESTING, now_us);
	clients->count++;
	uv_mutex_unlock(&clients->mutex);
}

void clients_set(struct clients *clients, struct client *client,
	enum client_state state, uint64_t now_us)
{
	uv_mutex_lock(&clients->mutex);
	client->has_requested |= state != CLIENT_REQUESTING;
	TAILQ_REMOVE(&clients->list, client, link);
	begin(clients, client, state, now_us);
	uv_mutex_unlock(&clients->mutex);
}

void clients_remove(struct clients *clients, struct client *client)
{
	uv_mutex_lock(&clients->mutex);
	TAILQ_REMOVE(&clients->list, client, link);
	clients->count -= !client->is_disconnected;
	clients->failed += !client->has_requested;
	uv_mutex_unlock(&clients->mutex);
}

void clients_expire(struct clients *clients, uint64_t now_us)
{
	struct client *c = NULL;

	uv_mutex_lock(&clients->mutex);
	TAILQ_FOREACH(c, &clients->list, link)
	{
		if (now_us > c->due_us) {
			disconnect(clients, c);
		}
	}
	uv_mutex_unlock(&clients->mutex);
}

uint64_t clients_failed_connections(struct clients *clients)
{
	uint64_t failed;

	uv_mutex_lock(&clients->mutex);
	failed = clients->failed;
	clients->failed = 0;
	uv_mutex_unlock(&clients->mutex);
	return failed;
}
