#include "lib/http/httpd_clients.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void clients_init(struct clients *clients, const size_t limits[CLIENT_SHARES])
{
	*clients = (struct clients){ .counts = { 0 } };
	TAILQ_INIT(&clients->list);
	for (int i = 0; i < CLIENT_SHARES; i++) {
		places_init(&clients->places[i], limits[i]);
	}
	if (uv_mutex_init(&clients->mutex) != 0) {
		abort();
	}
}

void clients_fini(struct clients *clients)
{
	for (int i = 0; i < CLIENT_SHARES; i++) {
		places_fini(&clients->places[i]);
	}
	uv_mutex_destroy(&clients->mutex);
}

/* ---- with the mutex ---- */

static void give_back_all(struct clients *clients, struct client *client)
{
	for (int i = 0; i < CLIENT_SHARES; i++) {
		places_remove(&clients->places[i], &client->places[i]);
	}
}

/* Others may take at once what the client held. */
static void disconnect(struct clients *clients, struct client *client)
{
	if (!client->is_disconnected) {
		client->is_disconnected = true;
		give_back_all(clients, client);
		(void)shutdown(client->fd, SHUT_RDWR);
	}
}

static struct client *client_of(struct place *place, enum client_share share)
{
	char *first = (char *)(place - share);

	return (struct client *)(first - offsetof(struct client, places));
}

/* Disconnects others until there is room. False: nobody gives way. */
static bool make_room(struct clients *clients, enum client_share share,
	const char *peer, size_t size, uint64_t now_us)
{
	struct places *places = &clients->places[share];

	while (!places_fit(places, size)) {
		struct place *victim =
			places_victim(places, peer, size, now_us);

		if (victim == NULL) {
			return false;
		}
		clients->counts.displaced++;
		disconnect(clients, client_of(victim, share));
	}
	return true;
}

static void move_all(struct client *client, enum place_kind kind,
	uint64_t now_us)
{
	for (int i = 0; i < CLIENT_SHARES; i++) {
		/* A body has to be complete soon, so nothing moves it while
		 * it is on its way. */
		if (i != CLIENT_BODY || kind == PLACE_FIXED) {
			places_move(&client->places[i], kind, now_us);
		}
	}
}

static void begin(struct client *client, enum client_state state,
	uint64_t now_us)
{
	static const enum place_kind kinds[] = {
		[CLIENT_REQUESTING] = PLACE_IDLE,
		[CLIENT_WAITING] = PLACE_FIXED,
		[CLIENT_READING] = PLACE_MOVING,
	};
	uint64_t most_ms = state == CLIENT_REQUESTING ? CLIENT_REQUEST_MS
						      : CLIENT_RESPONSE_MS;

	client->state = state;
	client->due_us =
		state == CLIENT_WAITING ? UINT64_MAX : now_us + most_ms * 1000;
	move_all(client, kinds[state], now_us);
}

/* ---- interface ---- */

void clients_add(struct clients *clients, struct client *client, int fd,
	const char *address, uint64_t now_us)
{
	struct places *connections = &clients->places[CLIENT_CONNECTION];
	bool has_room;

	*client = (struct client){ .fd = fd };
	(void)strncpy(client->address, address, sizeof(client->address) - 1);
	uv_mutex_lock(&clients->mutex);
	has_room = make_room(clients, CLIENT_CONNECTION, address, 1, now_us);
	places_add(connections, &client->places[CLIENT_CONNECTION], address, 1,
		now_us);
	begin(client, CLIENT_REQUESTING, now_us);
	TAILQ_INSERT_TAIL(&clients->list, client, link);
	if (!has_room &&
		places_is_most(&client->places[CLIENT_CONNECTION],
			connections)) {
		disconnect(clients, client);
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
	move_all(client, is_waiting ? PLACE_WAITING : PLACE_MOVING, now_us);
	uv_mutex_unlock(&clients->mutex);
}

bool clients_take(struct clients *clients, struct client *client,
	enum client_share share, const char *peer, size_t size, uint64_t now_us)
{
	bool taken;

	peer = peer == NULL ? client->address : peer;
	uv_mutex_lock(&clients->mutex);
	taken = !client->is_disconnected &&
		make_room(clients, share, peer, size, now_us);
	if (taken) {
		places_add(&clients->places[share], &client->places[share],
			peer, size, now_us);
	}
	uv_mutex_unlock(&clients->mutex);
	return taken;
}

void clients_give_back(struct clients *clients, struct client *client,
	enum client_share share)
{
	uv_mutex_lock(&clients->mutex);
	places_remove(&clients->places[share], &client->places[share]);
	uv_mutex_unlock(&clients->mutex);
}

void clients_remove(struct clients *clients, struct client *client)
{
	uv_mutex_lock(&clients->mutex);
	TAILQ_REMOVE(&clients->list, client, link);
	give_back_all(clients, client);
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
			disconnect(clients, c);
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
