#include "lib/http/httpd_clients.h"

#include "lib/hash.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void clients_init(struct clients *clients,
	const struct client_limits limits[CLIENT_SHARES])
{
	*clients = (struct clients){ .counts = { 0 } };
	TAILQ_INIT(&clients->list);
	for (int i = 0; i < CLIENT_SHARES; i++) {
		clients->shares[i].limits = limits[i].sum;
		clients->small[i] = limits[i].small;
	}
	if (uv_mutex_init(&clients->mutex) != 0) {
		abort();
	}
}

void clients_fini(struct clients *clients)
{
	uv_mutex_destroy(&clients->mutex);
}

/* ---- with the mutex ---- */

static void give_back_all(struct client *client)
{
	for (int i = 0; i < CLIENT_SHARES; i++) {
		seat_remove(take_ptr(client->seats[i]));
	}
}

/* Others may take at once what the client held. */
static void disconnect(struct client *client)
{
	if (!client->is_disconnected) {
		client->is_disconnected = true;
		give_back_all(client);
		(void)shutdown(client->fd, SHUT_RDWR);
	}
}

/* Disconnects others until there is room. False: nobody gives way. */
static bool make_room(struct clients *clients, enum client_share share,
	const struct seat_request *request)
{
	struct seat *victim;

	while (fair_share_check(&clients->shares[share], request, &victim) <
		0) {
		if (victim == NULL) {
			return false;
		}
		clients->counts.displaced++;
		disconnect(seat_owner(victim));
	}
	return true;
}

static void move_all(struct client *client, enum seat_state state,
	uint64_t now_us)
{
	for (int i = 0; i < CLIENT_SHARES; i++) {
		/* A body has to be complete soon, so nothing moves it while
		 * it is on its way. */
		if (i != CLIENT_BODY || state == SEAT_FIXED) {
			seat_move(client->seats[i], state, now_us);
		}
	}
}

static const enum seat_state states[] = {
	[CLIENT_REQUESTING] = SEAT_IDLE,
	[CLIENT_WAITING] = SEAT_FIXED,
	[CLIENT_READING] = SEAT_ACTIVE,
};

static void begin(struct client *client, enum client_state state,
	uint64_t now_us)
{
	uint64_t most_ms = state == CLIENT_REQUESTING ? CLIENT_REQUEST_MS
						      : CLIENT_RESPONSE_MS;

	client->state = state;
	client->due_us =
		state == CLIENT_WAITING ? UINT64_MAX : now_us + most_ms * 1000;
	move_all(client, states[state], now_us);
}

/* ---- interface ---- */

void clients_add(struct clients *clients, struct client *client, int fd,
	const char *address, uint64_t now_us)
{
	const struct seat_request request = { .flow = hash_text(HASH_SEED,
						      address),
		.size = 1,
		.owner = client,
		.now_us = now_us };
	bool has_room;

	*client = (struct client){ .fd = fd };
	(void)strncpy(client->address, address, sizeof(client->address) - 1);
	uv_mutex_lock(&clients->mutex);
	has_room = make_room(clients, CLIENT_CONNECTION, &request);
	client->seats[CLIENT_CONNECTION] =
		fair_share_add(&clients->shares[CLIENT_CONNECTION], &request);
	begin(client, CLIENT_REQUESTING, now_us);
	TAILQ_INSERT_TAIL(&clients->list, client, link);
	if (!has_room &&
		seat_is_of_largest_flow(client->seats[CLIENT_CONNECTION])) {
		disconnect(client);
	}
	uv_mutex_unlock(&clients->mutex);
}

void clients_set(struct clients *clients, struct client *client,
	enum client_state state, uint64_t now_us)
{
	uv_mutex_lock(&clients->mutex);
	client->has_requested |= state != CLIENT_REQUESTING;
	begin(client, state, now_us);
	uv_mutex_unlock(&clients->mutex);
}

void clients_moved(struct clients *clients, struct client *client,
	bool is_waiting, uint64_t now_us)
{
	uv_mutex_lock(&clients->mutex);
	move_all(client, is_waiting ? SEAT_WAITING : SEAT_ACTIVE, now_us);
	uv_mutex_unlock(&clients->mutex);
}

bool clients_take(struct clients *clients, struct client *client,
	enum client_share share, const char *peer, size_t size, uint64_t now_us)
{
	struct seat_request request = {
		.flow = hash_text(HASH_SEED,
			peer == NULL ? client->address : peer),
		.size = size,
		.is_reserved = size <= clients->small[share],
		.owner = client,
		.now_us = now_us,
	};
	bool taken;

	uv_mutex_lock(&clients->mutex);
	request.state =
		share == CLIENT_BODY ? SEAT_ACTIVE : states[client->state];
	taken = !client->is_disconnected && make_room(clients, share, &request);
	if (taken) {
		client->seats[share] =
			fair_share_add(&clients->shares[share], &request);
	}
	uv_mutex_unlock(&clients->mutex);
	return taken;
}

void clients_give_back(struct clients *clients, struct client *client,
	enum client_share share)
{
	uv_mutex_lock(&clients->mutex);
	seat_remove(take_ptr(client->seats[share]));
	uv_mutex_unlock(&clients->mutex);
}

void clients_remove(struct clients *clients, struct client *client)
{
	uv_mutex_lock(&clients->mutex);
	TAILQ_REMOVE(&clients->list, client, link);
	give_back_all(client);
	clients->counts.failed += !client->has_requested;
	uv_mutex_unlock(&clients->mutex);
}

void clients_expire(struct clients *clients, uint64_t now_us)
{
	struct client *c = NULL;

	uv_mutex_lock(&clients->mutex);
	TAILQ_FOREACH(c, &clients->list, link)
	{
		if (now_us > c->due_us) {
			disconnect(c);
		}
	}
	uv_mutex_unlock(&clients->mutex);
}

struct client_counts clients_counts(struct clients *clients)
{
	struct client_counts counts;

	uv_mutex_lock(&clients->mutex);
	counts = clients->counts;
	clients->counts = (struct client_counts){ 0 };
	uv_mutex_unlock(&clients->mutex);
	return counts;
}
