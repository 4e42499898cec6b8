#include "lib/httpd_clients.h"

#include <stdlib.h>
#include <sys/socket.h>

void clients_init(struct clients *clients, unsigned crowd)
{
	*clients = (struct clients){ .crowd = crowd };
	TAILQ_INIT(&clients->list);
	if (uv_mutex_init(&clients->mutex) != 0) {
		abort();
	}
}

void clients_fini(struct clients *clients)
{
	uv_mutex_destroy(&clients->mutex);
}

static void cut(struct clients *clients, struct client *client)
{
	if (!client->was_cut) {
		client->was_cut = true;
		clients->count--;
		(void)shutdown(client->fd, SHUT_RDWR);
	}
}

static void cut_oldest(struct clients *clients)
{
	struct client *c = NULL;

	TAILQ_FOREACH(c, &clients->list, link)
	{
		if (c->state == CLIENT_ASKING && !c->was_cut) {
			cut(clients, c);
			return;
		}
	}
}

static void begin(struct clients *clients, struct client *client,
	enum client_state state, uint64_t now_us)
{
	uint64_t most_ms =
		state == CLIENT_ASKING ? CLIENT_REQUEST_MS : CLIENT_ANSWER_MS;

	client->state = state;
	client->due_us =
		state == CLIENT_SERVED ? UINT64_MAX : now_us + most_ms * 1000;
	TAILQ_INSERT_TAIL(&clients->list, client, link);
}

void clients_add(struct clients *clients, struct client *client, int fd,
	uint64_t now_us)
{
	*client = (struct client){ .fd = fd };
	uv_mutex_lock(&clients->mutex);
	if (clients->count >= clients->crowd) {
		cut_oldest(clients);
	}
	begin(clients, client, CLIENT_ASKING, now_us);
	clients->count++;
	uv_mutex_unlock(&clients->mutex);
}

void clients_set(struct clients *clients, struct client *client,
	enum client_state state, uint64_t now_us)
{
	uv_mutex_lock(&clients->mutex);
	client->has_asked |= state != CLIENT_ASKING;
	TAILQ_REMOVE(&clients->list, client, link);
	begin(clients, client, state, now_us);
	uv_mutex_unlock(&clients->mutex);
}

void clients_remove(struct clients *clients, struct client *client)
{
	uv_mutex_lock(&clients->mutex);
	TAILQ_REMOVE(&clients->list, client, link);
	clients->count -= !client->was_cut;
	clients->strangers += !client->has_asked;
	uv_mutex_unlock(&clients->mutex);
}

void clients_reap(struct clients *clients, uint64_t now_us)
{
	struct client *c = NULL;

	uv_mutex_lock(&clients->mutex);
	TAILQ_FOREACH(c, &clients->list, link)
	{
		if (now_us > c->due_us) {
			cut(clients, c);
		}
	}
	uv_mutex_unlock(&clients->mutex);
}

uint64_t clients_strangers(struct clients *clients)
{
	uint64_t strangers;

	uv_mutex_lock(&clients->mutex);
	strangers = clients->strangers;
	clients->strangers = 0;
	uv_mutex_unlock(&clients->mutex);
	return strangers;
}
