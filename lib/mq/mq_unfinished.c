#include "lib/mq/mq_unfinished.h"

#include "lib/clock.h"
#include "lib/memory.h"
#include "lib/mq/mq_accept.h"
#include "lib/mq/mq_file.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

enum {
	GREETING_BYTES = 8,
	/* A length, and the request id of the REQ/REP protocol. */
	FRAME_BYTES = 8 + 4,
	/* A handshake with certificates, and two records a message, each with
	 * a header, a nonce and a tag, and one for each 16 KiB. */
	TLS_HANDSHAKE_BYTES = 32 << 10,
	TLS_MESSAGE_BYTES = 128,
	TLS_PART = 256,
	BUCKETS = 4096, /* nng numbers pipes in sequence */
	DRAIN_PARTS = 64,
};

struct peer {
	LIST_ENTRY(peer) link;
	int id; /* of the pipe */
	int fd; /* nng's; negative: not found yet */
	struct mq_address from;
	struct mq_accepted *accepted; /* or NULL */
	uint64_t messages;	      /* complete ones */
	uint64_t expected;	      /* bytes of them and of the greeting */
	/* At the last check: */
	uint64_t seen_messages;
	size_t unfinished;
	uint64_t since_us; /* 0: in no message */
	uint64_t moved_us; /* when bytes of the message came last */
	uint64_t drain_us; /* when to end it; 0: not */
	bool is_closing;
	bool is_watched, is_active; /* see lib/mq/mq_file.h */
};

LIST_HEAD(bucket, peer);

/* Which peers are ended, and when. Zeroed: none. */
struct drain {
	uint64_t until_us; /* peers that are listed before */
	uint64_t from_us, within_us;
};

struct mq_unfinished {
	pthread_mutex_t mutex; /* of all below */
	struct drain drain;
	struct bucket peers[BUCKETS];
	struct mq_activity activity; /* under the ids of pipes */
	size_t count;
	size_t new_count; /* since the last check */
	uint16_t port;	  /* the listener's, in network order; 0: none */
	bool is_tls;
	mq_unfinished_due due;
	void *owner;
};

static struct bucket *bucket_of(struct mq_unfinished *u, int id)
{
	return &u->peers[(unsigned)id % BUCKETS];
}

static struct peer *find(struct mq_unfinished *u, int id)
{
	struct peer *peer = LIST_FIRST(bucket_of(u, id));

	while (peer != NULL && peer->id != id) {
		peer = LIST_NEXT(peer, link);
	}
	return peer;
}

/* ---- on nng's threads ---- */

/* A handshake that is going on when the drain begins may end with what was
 * trusted before. */
static uint64_t drain_time(const struct drain *drain, int id)
{
	if (clock_monotonic_us() >= drain->until_us) {
		return 0;
	}
	return drain->from_us +
		(unsigned)id % DRAIN_PARTS * drain->within_us / DRAIN_PARTS;
}

static void add(struct mq_unfinished *u, nng_pipe pipe,
	const struct mq_address *from)
{
	struct peer *peer = xcalloc(1, sizeof(*peer));

	peer->id = nng_pipe_id(pipe);
	peer->fd = -1;
	peer->from = *from;
	peer->accepted = mq_accept_greeted(u->port, from);
	peer->drain_us = drain_time(&u->drain, peer->id);
	peer->expected = GREETING_BYTES + (u->is_tls ? TLS_HANDSHAKE_BYTES : 0);
	LIST_INSERT_HEAD(bucket_of(u, peer->id), peer, link);
	u->count++;
	u->new_count++;
}

static void remove_peer(struct mq_unfinished *u, struct peer *peer)
{
	LIST_REMOVE(peer, link);
	u->count--;
	mq_accept_forget(peer->accepted);
	free(peer);
}

/* Before its first message, and after its end. */
static void on_pipe(nng_pipe pipe, nng_pipe_ev event, void *argument)
{
	struct mq_unfinished *u = argument;
	struct peer *peer;
	struct mq_address from;
	bool is_due = false;
	bool is_new = event == NNG_PIPE_EV_ADD_PRE &&
		mq_address_of_pipe(&from, pipe, NNG_OPT_REMADDR);

	(void)pthread_mutex_lock(&u->mutex);
	peer = find(u, nng_pipe_id(pipe));
	if (event == NNG_PIPE_EV_REM_POST && peer != NULL) {
		remove_peer(u, peer);
	} else if (is_new && peer == NULL) {
		add(u, pipe, &from);
		is_due = u->new_count >= MQ_UNFINISHED_NEW &&
			u->new_count * MQ_UNFINISHED_NEW >= u->count;
	}
	(void)pthread_mutex_unlock(&u->mutex);
	if (is_due) {
		u->due(u->owner);
	}
}

/* ---- sockets ---- */

static int compare_peers(const void *a, const void *b)
{
	const struct peer *const *x = a;
	const struct peer *const *y = b;

	return mq_address_compare(&(*x)->from, &(*y)->from);
}

static bool has_file(const struct mq_unfinished *u, const struct peer *peer)
{
	struct mq_address from;

	return peer->fd >= 0 && mq_address_of_file(&from, peer->fd, u->port) &&
		mq_address_compare(&from, &peer->from) == 0;
}

/* Peers whose files are looked for, sorted by address. */
struct search {
	struct peer **peers;
	size_t count;
	uint16_t port;
};

static void find_file(void *owner, int fd)
{
	const struct search *search = owner;
	struct peer like = { 0 };
	struct peer *const key = &like;
	struct peer **found;

	if (mq_address_of_file(&like.from, fd, search->port)) {
		found = bsearch(&key, search->peers, search->count,
			sizeof(struct peer *), compare_peers);
		if (found != NULL) {
			(*found)->fd = fd;
		}
	}
}

/* Looks through the process's files for those of the peers. */
static void find_files(struct peer **peers, size_t count, uint16_t port)
{
	struct search search = { peers, count, port };

	if (count > 0) {
		qsort(peers, count, sizeof(struct peer *), compare_peers);
		mq_files_visit(find_file, &search);
	}
}

/* ---- on nng's threads again ---- */

/* TLS adds an unknown number of bytes. The estimate is high, but nothing is
 * expected that has not come: unused bytes of many messages must not add up to
 * room for one that stops. */
static void add_expected(const struct mq_unfinished *u, struct peer *peer,
	size_t len)
{
	uint64_t received = 0;

	peer->expected += FRAME_BYTES + len;
	if (!u->is_tls) {
		return;
	}
	peer->expected += TLS_MESSAGE_BYTES + (FRAME_BYTES + len) / TLS_PART;
	if (has_file(u, peer)) {
		received = mq_file_received(peer->fd);
	}
	if (received > 0 && received < peer->expected) {
		peer->expected = received;
	}
}

void mq_unfinished_end(struct mq_unfinished *u, nng_pipe pipe, size_t len)
{
	struct peer *peer;

	(void)pthread_mutex_lock(&u->mutex);
	peer = find(u, nng_pipe_id(pipe));
	if (peer != NULL) {
		peer->messages++;
		add_expected(u, peer, len);
	}
	(void)pthread_mutex_unlock(&u->mutex);
}

/* ---- the check ---- */

/* Nearly always the number is the expected one, which no other file has that
 * nng may have opened under this number since. */
static uint64_t received_of_peer(const struct mq_unfinished *u,
	struct peer *peer, uint64_t expected)
{
	uint64_t received = peer->fd < 0 ? 0 : mq_file_received(peer->fd);

	if (received != expected && !has_file(u, peer)) {
		peer->fd = -1;
	}
	return peer->fd < 0 ? 0 : received;
}

static void measure(const struct mq_unfinished *u, struct peer *peer,
	uint64_t now_us)
{
	size_t unfinished;
	uint64_t expected = peer->expected;
	uint64_t received = received_of_peer(u, peer, expected);

	unfinished = received > expected && !peer->is_closing
		? received - expected
		: 0;
	if (unfinished != peer->unfinished) {
		peer->moved_us = now_us;
	}
	peer->unfinished = unfinished;
	if (unfinished == 0) {
		peer->since_us = 0;
	} else if (peer->since_us == 0 ||
		peer->seen_messages != peer->messages) {
		peer->since_us = now_us;
	}
	peer->seen_messages = peer->messages;
}

/* The one that has received nothing for longest first, then the largest. */
static int compare_stalls(const void *a, const void *b)
{
	const struct peer *x = *(const struct peer *const *)a;
	const struct peer *y = *(const struct peer *const *)b;
	int order = (x->moved_us > y->moved_us) - (x->moved_us < y->moved_us);

	return order != 0 ? order
			  : (x->unfinished < y->unfinished) -
			(x->unfinished > y->unfinished);
}

static void disconnect(struct peer *peer)
{
	peer->is_closing = true;
	mq_file_end(peer->fd);
}

static bool has_to_go(const struct peer *peer, size_t sum, uint64_t now_us)
{
	size_t limit = now_us >= peer->moved_us + MQ_UNFINISHED_STALLED_US
		? MQ_UNFINISHED_STALLED_BYTES
		: MQ_UNFINISHED_BYTES;

	return sum > limit || now_us >= peer->since_us + MQ_UNFINISHED_US;
}

static size_t close_some(struct peer **peers, size_t count, uint64_t now_us)
{
	size_t closed = 0;
	size_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		sum += peers[i]->unfinished;
	}
	qsort(peers, count, sizeof(struct peer *), compare_stalls);
	for (size_t i = 0; i < count; i++) {
		if (has_to_go(peers[i], sum, now_us)) {
			sum -= peers[i]->unfinished;
			disconnect(peers[i]);
			closed++;
		}
	}
	return closed;
}

/* Puts the peers that match into the list; returns their number. */
static size_t collect(struct mq_unfinished *u, struct peer **list,
	bool (*matches)(const struct peer *))
{
	size_t count = 0;

	for (size_t i = 0; i < BUCKETS; i++) {
		struct peer *peer = LIST_FIRST(&u->peers[i]);

		for (; peer != NULL; peer = LIST_NEXT(peer, link)) {
			list[count] = peer;
			count += matches == NULL || matches(peer) ? 1 : 0;
		}
	}
	return count;
}

static bool needs_file(const struct peer *peer)
{
	return peer->fd < 0;
}

/* The others received nothing since they were between two messages. */
static bool is_due(const struct peer *peer)
{
	return peer->is_active || peer->since_us != 0 || peer->drain_us != 0 ||
		!peer->is_watched;
}

void mq_unfinished_drain(struct mq_unfinished *u, uint64_t from_us,
	uint64_t within_us)
{
	scoped_free struct peer **list = NULL;
	size_t count;

	(void)pthread_mutex_lock(&u->mutex);
	u->drain = (struct drain){
		.until_us = clock_monotonic_us() + MQ_HANDSHAKE_US,
		.from_us = from_us,
		.within_us = within_us,
	};
	list = xcalloc(u->count + 1, sizeof(struct peer *));
	count = collect(u, list, NULL);
	for (size_t i = 0; i < count; i++) {
		if (list[i]->drain_us == 0) {
			list[i]->drain_us = from_us + i * within_us / count;
		}
	}
	(void)pthread_mutex_unlock(&u->mutex);
}

static void end_drained(const struct mq_unfinished *u, struct peer *peer,
	uint64_t now_us)
{
	if (peer->drain_us != 0 && now_us >= peer->drain_us &&
		!peer->is_closing && has_file(u, peer)) {
		disconnect(peer);
	}
}

/* Finds the files of new peers, and watches them. */
static void watch_new(struct mq_unfinished *u, struct peer **list)
{
	size_t count = collect(u, list, needs_file);

	find_files(list, count, u->port);
	for (size_t i = 0; i < count; i++) {
		list[i]->is_watched = list[i]->fd >= 0 &&
			mq_activity_watch(&u->activity, list[i]->fd,
				list[i]->id);
	}
}

static void mark_active(void *owner, int id)
{
	struct peer *peer = find(owner, id);

	if (peer != NULL) {
		peer->is_active = true;
	}
}

size_t mq_unfinished_check(struct mq_unfinished *u, uint64_t now_us)
{
	scoped_free struct peer **list = NULL;
	size_t count, unfinished = 0, closed;

	mq_accept_check(u->port, now_us);
	(void)pthread_mutex_lock(&u->mutex);
	u->new_count = 0;
	list = xcalloc(u->count + 1, sizeof(struct peer *));
	watch_new(u, list);
	mq_activity_visit(&u->activity, mark_active, u);
	count = collect(u, list, is_due);
	for (size_t i = 0; i < count; i++) {
		list[i]->is_active = false;
		measure(u, list[i], now_us);
		end_drained(u, list[i], now_us);
		list[unfinished] = list[i];
		unfinished += list[i]->since_us != 0 ? 1 : 0;
	}
	closed = close_some(list, unfinished, now_us);
	(void)pthread_mutex_unlock(&u->mutex);
	return closed;
}

void mq_unfinished_disconnect(struct mq_unfinished *u, nng_pipe pipe)
{
	struct peer *peer;

	(void)pthread_mutex_lock(&u->mutex);
	peer = find(u, nng_pipe_id(pipe));
	if (peer != NULL && peer->fd < 0) {
		find_files(&peer, 1, u->port);
	}
	if (peer != NULL && has_file(u, peer)) {
		disconnect(peer);
	}
	(void)pthread_mutex_unlock(&u->mutex);
}

/* ---- lifecycle ---- */

struct mq_unfinished *mq_unfinished_new(nng_socket socket, bool is_tls,
	mq_unfinished_due due, void *owner)
{
	struct mq_unfinished *u = xcalloc(1, sizeof(*u));

	u->due = due;
	u->owner = owner;
	u->activity = mq_activity_new();
	if (pthread_mutex_init(&u->mutex, NULL) != 0 ||
		nng_pipe_notify(socket, NNG_PIPE_EV_ADD_PRE, on_pipe, u) != 0 ||
		nng_pipe_notify(socket, NNG_PIPE_EV_REM_POST, on_pipe, u) !=
			0) {
		abort(); /* the socket was opened just now */
	}
	u->is_tls = is_tls;
	return u;
}

void mq_unfinished_start(struct mq_unfinished *u, uint16_t port)
{
	const struct mq_accept_limits limits = mq_accept_limits();

	(void)pthread_mutex_lock(&u->mutex);
	u->port = htons(port);
	mq_accept_open(u->port, &limits);
	(void)pthread_mutex_unlock(&u->mutex);
}

void mq_unfinished_free(struct mq_unfinished *u)
{
	if (u == NULL) {
		return;
	}
	for (size_t i = 0; i < BUCKETS; i++) {
		struct peer *peer = LIST_FIRST(&u->peers[i]);

		while (peer != NULL) {
			struct peer *next = LIST_NEXT(peer, link);

			free(peer);
			peer = next;
		}
	}
	mq_accept_close(u->port);
	mq_activity_close(&u->activity);
	(void)pthread_mutex_destroy(&u->mutex);
	free(u);
}
