#include "lib/mq_unfinished.h"

#include "lib/memory.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/tcp.h> /* glibc has a shorter struct tcp_info */
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
};

/* A peer's address as bytes, the same from nng and from the kernel. */
struct address {
	uint8_t host[16];
	uint16_t port;
};

struct peer {
	LIST_ENTRY(peer) link;
	int id; /* of the pipe */
	int fd; /* nng's; negative: not found yet */
	struct address from;
	uint64_t messages; /* complete ones */
	uint64_t expected; /* bytes of them and of the greeting */
	/* At the last check: */
	uint64_t seen_messages;
	size_t unfinished;
	uint64_t since_us; /* 0: in no message */
	uint64_t moved_us; /* when bytes of the message came last */
	bool is_closing;
};

LIST_HEAD(bucket, peer);

struct mq_unfinished {
	pthread_mutex_t mutex; /* of all below */
	struct bucket peers[BUCKETS];
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

static bool address_of_pipe(struct address *out, nng_pipe pipe)
{
	nng_sockaddr from;

	*out = (struct address){ 0 };
	if (nng_pipe_get_addr(pipe, NNG_OPT_REMADDR, &from) != 0) {
		return false;
	}
	if (from.s_family == NNG_AF_INET) {
		memcpy(out->host, &from.s_in.sa_addr, 4);
		out->port = from.s_in.sa_port;
	} else if (from.s_family == NNG_AF_INET6) {
		memcpy(out->host, from.s_in6.sa_addr, 16);
		out->port = from.s_in6.sa_port;
	}
	return out->port != 0;
}

static void add(struct mq_unfinished *u, nng_pipe pipe,
	const struct address *from)
{
	struct peer *peer = xcalloc(1, sizeof(*peer));

	peer->id = nng_pipe_id(pipe);
	peer->fd = -1;
	peer->from = *from;
	peer->expected = GREETING_BYTES + (u->is_tls ? TLS_HANDSHAKE_BYTES : 0);
	LIST_INSERT_HEAD(bucket_of(u, peer->id), peer, link);
	u->count++;
	u->new_count++;
}

static void remove_peer(struct mq_unfinished *u, struct peer *peer)
{
	LIST_REMOVE(peer, link);
	u->count--;
	free(peer);
}

/* Before its first message, and after its end. */
static void on_pipe(nng_pipe pipe, nng_pipe_ev event, void *argument)
{
	struct mq_unfinished *u = argument;
	struct peer *peer;
	struct address from;
	bool is_due = false;
	bool is_new =
		event == NNG_PIPE_EV_ADD_PRE && address_of_pipe(&from, pipe);

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

static bool address_of(struct address *out, const struct sockaddr_storage *from)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

	*out = (struct address){ 0 };
	if (from->ss_family == AF_INET) {
		memcpy(out->host, &v4->sin_addr, 4);
		out->port = v4->sin_port;
	} else if (from->ss_family == AF_INET6) {
		memcpy(out->host, &v6->sin6_addr, 16);
		out->port = v6->sin6_port;
	}
	return out->port != 0;
}

/* The peer of one of the listener's connections; false: fd is none. */
static bool address_of_file(struct address *out, int fd, uint16_t port)
{
	struct sockaddr_storage name = { 0 };
	socklen_t len = sizeof(name);
	struct address ours = { 0 };

	if (getsockname(fd, (struct sockaddr *)&name, &len) != 0 ||
		!address_of(&ours, &name) || ours.port != port) {
		return false;
	}
	len = sizeof(name);
	return getpeername(fd, (struct sockaddr *)&name, &len) == 0 &&
		address_of(out, &name);
}

static int compare_addresses(const struct address *a, const struct address *b)
{
	int order = memcmp(a->host, b->host, sizeof(a->host));

	return order != 0 ? order : (a->port > b->port) - (a->port < b->port);
}

static int compare_peers(const void *a, const void *b)
{
	const struct peer *const *x = a;
	const struct peer *const *y = b;

	return compare_addresses(&(*x)->from, &(*y)->from);
}

static bool has_file(const struct mq_unfinished *u, const struct peer *peer)
{
	struct address from;

	return peer->fd >= 0 && address_of_file(&from, peer->fd, u->port) &&
		compare_addresses(&from, &peer->from) == 0;
}

static void find_file(struct peer **sorted, size_t count, int fd, uint16_t port)
{
	struct peer wanted = { 0 };
	struct peer *const key = &wanted;
	struct peer **found;

	if (address_of_file(&wanted.from, fd, port)) {
		found = bsearch(&key, sorted, count, sizeof(struct peer *),
			compare_peers);
		if (found != NULL) {
			(*found)->fd = fd;
		}
	}
}

/* Looks through the process's files for those of the peers. */
static void find_files(struct peer **peers, size_t count, uint16_t port)
{
	DIR *files = count == 0 ? NULL : opendir("/proc/self/fd");
	const struct dirent *entry;

	if (files == NULL) {
		return;
	}
	qsort(peers, count, sizeof(struct peer *), compare_peers);
	for (entry = readdir(files); entry != NULL; entry = readdir(files)) {
		if (entry->d_name[0] != '.') {
			find_file(peers, count,
				(int)strtoul(entry->d_name, NULL, 10), port);
		}
	}
	(void)closedir(files);
}

static uint64_t received_bytes(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0
		? info.tcpi_bytes_received
		: 0;
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
		received = received_bytes(peer->fd);
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
	uint64_t received = peer->fd < 0 ? 0 : received_bytes(peer->fd);

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

/* nng_pipe_close() of 1.5.2 can wait forever for a receive that goes on at that
 * moment, and no connection is freed after that. At the end of its input nng
 * closes the connection itself. */
static void disconnect(struct peer *peer)
{
	peer->is_closing = true;
	(void)shutdown(peer->fd, SHUT_RDWR);
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

/* Puts the peers into the list that are wanted; returns their number. */
static size_t collect(struct mq_unfinished *u, struct peer **list,
	bool (*is_wanted)(struct mq_unfinished *, struct peer *))
{
	size_t count = 0;

	for (size_t i = 0; i < BUCKETS; i++) {
		struct peer *peer = LIST_FIRST(&u->peers[i]);

		for (; peer != NULL; peer = LIST_NEXT(peer, link)) {
			list[count] = peer;
			count += is_wanted(u, peer) ? 1 : 0;
		}
	}
	return count;
}

static bool needs_file(struct mq_unfinished *u, struct peer *peer)
{
	(void)u;
	return peer->fd < 0;
}

static bool is_any(struct mq_unfinished *u, struct peer *peer)
{
	(void)u;
	(void)peer;
	return true;
}

static bool is_unfinished(struct mq_unfinished *u, struct peer *peer)
{
	(void)u;
	return peer->since_us != 0;
}

size_t mq_unfinished_check(struct mq_unfinished *u, uint64_t now_us)
{
	scoped_free struct peer **list = NULL;
	size_t count, closed;

	(void)pthread_mutex_lock(&u->mutex);
	u->new_count = 0;
	list = xcalloc(u->count + 1, sizeof(struct peer *));
	find_files(list, collect(u, list, needs_file), u->port);
	count = collect(u, list, is_any);
	for (size_t i = 0; i < count; i++) {
		measure(u, list[i], now_us);
	}
	closed = close_some(list, collect(u, list, is_unfinished), now_us);
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
	u->port = htons(port);
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
	(void)pthread_mutex_destroy(&u->mutex);
	free(u);
}
