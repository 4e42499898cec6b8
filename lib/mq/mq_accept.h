/* Bounds the connections that nng accepts: 1.5.2 has no limit of them, and none
 * of time for a TLS handshake.
 *
 * nng accepts by itself, with accept(2). This module defines functions of that
 * name, and the dynamic linker takes those of a program before those of the C
 * library, also for nng. They pass every call on, and look at the connections
 * of the ports that are open here:
 *  - those without a finished handshake have MQ_HANDSHAKE_US, and a limit;
 *  - all together leave descriptors for the other listeners and the files.
 * Addresses share both limits by the rules of lib/fair_share.h. nng never sees
 * a connection that gets no room. Private to lib/mq/mq*.c. */
#pragma once

#include "lib/mq/mq_file.h"

#include <stddef.h>
#include <stdint.h>

/* As long as agents and schedulers wait for an answer. */
#define MQ_HANDSHAKE_US UINT64_C(15000000)

enum {
	/* 32 KiB each with TLS. */
	MQ_HANDSHAKES_MAX = 1000,
	/* As many nodes as the live table has, and schedulers. */
	MQ_CONNECTIONS_MAX = 21000,
	/* Three HTTP listeners of 200 connections, the store's files and
	 * connections to other servers. */
	MQ_RESERVED_FILES = 800,
};

struct mq_accept_limits {
	size_t connections, handshakes;
	int files; /* no connection has this descriptor, or a higher one */
};

/* By the process's limit of open files. */
struct mq_accept_limits mq_accept_limits(void);

/* A connection. */
struct mq_accepted;

/* Looks at connections to the port of this number, in network order, from now
 * on. */
void mq_accept_open(uint16_t number, const struct mq_accept_limits *limits);

/* Forgets all of them. */
void mq_accept_close(uint16_t number);

/* The handshake with this peer has ended. NULL: no such connection. The caller
 * forgets it when it has ended, but not after mq_accept_close(). */
struct mq_accepted *mq_accept_greeted(uint16_t number,
	const struct mq_address *from);
void mq_accept_forget(struct mq_accepted *accepted); /* NULL is fine */

/* Ends handshakes that are overdue. To be called several times a second. */
void mq_accept_check(uint16_t number, uint64_t now_us);

/* Why connections had no room since the last call; "": they had. */
const char *mq_accept_last_error(uint16_t number);
