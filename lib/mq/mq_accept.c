#include "lib/mq/mq_accept.h"

#include "lib/clock.h"
#include "lib/fair_share.h"
#include "lib/hash.h"
#include "lib/memory.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CONNECTIONS, HANDSHAKES, SHARES };

struct mq_accepted {
	TAILQ_ENTRY(mq_accepted) link; /* in a list of its port */
	struct port *port;
	int fd; /* nng's; another file's, once nng has closed it */
	struct mq_address from;
	uint64_t since_us;
	bool is_greeted;
	struct seat *seats[SHARES]; /* NULL: holds nothing */
};

TAILQ_HEAD(accepted_list, mq_accepted);

struct port {
	LIST_ENTRY(port) link;
	uint16_t number; /* in network order */
	int files;
	struct accepted_list handshakes, greeted; /* the oldest first */
	struct fair_share shares[SHARES];
	bool was_full, was_overdue; /* since mq_accept_last_error() */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of all ports */
static LIST_HEAD(port_list, port) ports = LIST_HEAD_INITIALIZER(ports);
static _Atomic bool lacks_files;

struct mq_accept_limits mq_accept_limits(void)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	struct mq_accept_limits limits;
	size_t files, reserve;

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	files = limit.rlim_cur < INT_MAX ? (size_t)limit.rlim_cur : INT_MAX;
	reserve = files / 2 < MQ_RESERVED_FILES ? files / 2 : MQ_RESERVED_FILES;
	limits = (struct mq_accept_limits){
		.connections = files - reserve < MQ_CONNECTIONS_MAX
			? files - reserve
			: MQ_CONNECTIONS_MAX,
		/* nng needs time to close what has to give way. */
		.files = (int)(files - reserve / 2),
	};
	limits.handshakes = limits.connections / 2 < MQ_HANDSHAKES_MAX
		? limits.connections / 2
		: MQ_HANDSHAKES_MAX;
	return limits;
}

/* ---- with the mutex ---- */

static struct port *find_port(uint16_t number)
{
	struct port *port = LIST_FIRST(&ports);

	while (port != NULL && port->number != number) {
		port = LIST_NEXT(port, link);
	}
	return port;
}

static bool has_file(const struct mq_accepted *accepted)
{
	struct mq_address from;

	return mq_address_of_file(&from, accepted->fd,
		       accepted->port->number) &&
		mq_address_compare(&from, &accepted->from) == 0;
}

static void give_back(struct mq_accepted *accepted)
{
	for (int i = 0; i < SHARES; i++) {
		seat_remove(take_ptr(accepted->seats[i]));
	}
}

static void forget(struct mq_accepted *accepted)
{
	TAILQ_REMOVE(accepted->is_greeted ? &accepted->port->greeted
					  : &accepted->port->handshakes,
		accepted, link);
	give_back(accepted);
	free(accepted);
}

/* nng tells later of the end of a connection that was greeted. */
static void disconnect(struct mq_accepted *accepted)
{
	if (has_file(accepted)) {
		mq_file_end(accepted->fd);
	}
	if (accepted->is_greeted) {
		give_back(accepted);
	} else {
		forget(accepted);
	}
}

/* Disconnects others until there is room. False: nobody gives way. */
static bool make_room(struct port *port, int share,
	const struct seat_request *request)
{
	struct seat *victim;

	while (fair_share_check(&port->shares[share], request, &victim) < 0) {
		port->was_full = true;
		if (victim == NULL) {
			return false;
		}
		disconnect(seat_owner(victim));
	}
	return true;
}

/* False: there is no room. */
static bool take(struct mq_accepted *accepted, int share, uint64_t now_us)
{
	/* Silent peers give way first. */
	static const enum seat_state at_first[SHARES] = {
		[CONNECTIONS] = SEAT_NEW,
		[HANDSHAKES] = SEAT_ACTIVE,
	};
	const struct seat_request request = {
		.flow = hash_bytes(HASH_SEED, accepted->from.host,
			sizeof(accepted->from.host)),
		.size = 1,
		.state = at_first[share],
		.owner = accepted,
		.now_us = now_us,
	};
	bool has_room = make_room(accepted->port, share, &request);

	if (has_room) {
		accepted->seats[share] = fair_share_add(
			&accepted->port->shares[share], &request);
	}
	return has_room;
}

/* False: there is no room. */
static bool admit(struct port *port, int fd, const struct mq_address *from)
{
	struct mq_accepted *accepted = xcalloc(1, sizeof(*accepted));
	uint64_t now_us = clock_monotonic_us();
	bool has_room;

	accepted->port = port;
	accepted->fd = fd;
	accepted->from = *from;
	accepted->since_us = now_us;
	TAILQ_INSERT_TAIL(&port->handshakes, accepted, link);
	has_room = take(accepted, CONNECTIONS, now_us) &&
		take(accepted, HANDSHAKES, now_us) && fd < port->files;
	if (!has_room) {
		port->was_full = true;
		forget(accepted);
	}
	return has_room;
}

/* ---- what nng calls ---- */

/* False: the connection is closed again. */
static bool look_at(int fd)
{
	struct mq_address from;
	bool is_admitted = true;
	struct port *port = NULL;

	(void)pthread_mutex_lock(&mutex);
	LIST_FOREACH (port, &ports, link) {
		if (mq_address_of_file(&from, fd, port->number)) {
			is_admitted = admit(port, fd, &from);
			break;
		}
	}
	(void)pthread_mutex_unlock(&mutex);
	return is_admitted;
}

int mq_accept_call(int fd, struct sockaddr *address, socklen_t *len) __asm__(
	"accept");
int mq_accept_call4(int fd, struct sockaddr *address, socklen_t *len,
	int flags) __asm__("accept4");

int mq_accept_call4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
	int r = (int)syscall(SYS_accept4, fd, address, len, flags);

	if (r < 0 && (errno == EMFILE || errno == ENFILE)) {
		atomic_store(&lacks_files, true);
	} else if (r >= 0 && !look_at(r)) {
		(void)close(r);
		errno = ECONNABORTED; /* a caller goes on with the next one */
		r = -1;
	}
	return r;
}

int mq_accept_call(int fd, struct sockaddr *address, socklen_t *len)
{
	return mq_accept_call4(fd, address, len, 0);
}

/* ---- interface ---- */

void mq_accept_open(uint16_t number, const struct mq_accept_limits *limits)
{
	struct port *port = xcalloc(1, sizeof(*port));

	port->number = number;
	port->files = limits->files;
	port->shares[CONNECTIONS].limits.max = limits->connections;
	port->shares[HANDSHAKES].limits.max = limits->handshakes;
	TAILQ_INIT(&port->handshakes);
	TAILQ_INIT(&port->greeted);
	(void)pthread_mutex_lock(&mutex);
	LIST_INSERT_HEAD(&ports, port, link);
	(void)pthread_mutex_unlock(&mutex);
}

static void forget_all(struct accepted_list *list)
{
	struct mq_accepted *next;

	for (struct mq_accepted *a = TAILQ_FIRST(list); a != NULL; a = next) {
		next = TAILQ_NEXT(a, link);
		forget(a);
	}
}

void mq_accept_close(uint16_t number)
{
	struct port *port;

	(void)pthread_mutex_lock(&mutex);
	port = find_port(number);
	if (port != NULL) {
		LIST_REMOVE(port, link);
		forget_all(&port->handshakes);
		forget_all(&port->greeted);
		free(port);
	}
	(void)pthread_mutex_unlock(&mutex);
}

/* The newest one: a peer may connect again from the same port. */
static struct mq_accepted *find_handshake(const struct port *port,
	const struct mq_address *from)
{
	struct mq_accepted *accepted =
		TAILQ_LAST(&port->handshakes, accepted_list);

	while (accepted != NULL &&
		mq_address_compare(&accepted->from, from) != 0) {
		accepted = TAILQ_PREV(accepted, accepted_list, link);
	}
	return accepted;
}

struct mq_accepted *mq_accept_greeted(uint16_t number,
	const struct mq_address *from)
{
	struct mq_accepted *accepted = NULL;
	struct port *port;

	(void)pthread_mutex_lock(&mutex);
	port = find_port(number);
	if (port != NULL) {
		accepted = find_handshake(port, from);
	}
	if (accepted != NULL) {
		TAILQ_REMOVE(&port->handshakes, accepted, link);
		TAILQ_INSERT_TAIL(&port->greeted, accepted, link);
		accepted->is_greeted = true;
		seat_remove(take_ptr(accepted->seats[HANDSHAKES]));
		seat_move(accepted->seats[CONNECTIONS], SEAT_WAITING,
			clock_monotonic_us());
	}
	(void)pthread_mutex_unlock(&mutex);
	return accepted;
}

void mq_accept_forget(struct mq_accepted *accepted)
{
	if (accepted != NULL) {
		(void)pthread_mutex_lock(&mutex);
		forget(accepted);
		(void)pthread_mutex_unlock(&mutex);
	}
}

/* nng takes its time for the handshakes of a thousand agents that come back.
 * Those who have sent something wait for it. */
static void check(struct mq_accepted *accepted, uint64_t now_us)
{
	if (!has_file(accepted)) {
		forget(accepted);
	} else if (now_us >= accepted->since_us + MQ_HANDSHAKE_US) {
		accepted->port->was_overdue = true;
		disconnect(accepted);
	} else if (mq_file_received(accepted->fd) > 0) {
		seat_move(accepted->seats[HANDSHAKES], SEAT_WAITING, now_us);
	}
}

void mq_accept_check(uint16_t number, uint64_t now_us)
{
	struct mq_accepted *next;
	struct port *port;

	(void)pthread_mutex_lock(&mutex);
	port = find_port(number);
	for (struct mq_accepted *a =
			port == NULL ? NULL : TAILQ_FIRST(&port->handshakes);
		a != NULL; a = next) {
		next = TAILQ_NEXT(a, link);
		check(a, now_us);
	}
	(void)pthread_mutex_unlock(&mutex);
}

const char *mq_accept_last_error(uint16_t number)
{
	const char *why = "";
	struct port *port;

	(void)pthread_mutex_lock(&mutex);
	port = find_port(number);
	if (atomic_exchange(&lacks_files, false)) {
		why = "all file descriptors are in use: raise the limit of "
		      "open "
		      "files";
	} else if (port != NULL && port->was_full) {
		port->was_full = false;
		why = "too many connections, or too many that do not end their "
		      "handshake: those of the address with the most are "
		      "closed";
	} else if (port != NULL && port->was_overdue) {
		port->was_overdue = false;
		why = "a peer connected and did not end its handshake in 15 s";
	}
	(void)pthread_mutex_unlock(&mutex);
	return why;
}
