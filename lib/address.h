/* Addresses and URLs as people write them in flags. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>

/* Copies the host of HOST:PORT, an IP address. IPv6 loses its brackets. The
 * host may be empty: a listener then serves all families that the machine has.
 * False: not an address. */
enum { ADDRESS_HOST_MAX = 64 };
bool address_split(char host[ADDRESS_HOST_MAX], const char *address);

/* True: the host of HOST:PORT is an address of this machine alone. */
bool address_is_loopback(const char *address);

/* -EINVAL: not tcp://HOST:PORT or tls+tcp://HOST:PORT. Without needs_host the
 * host may be empty. */
must_check int address_check_url(const char *url, bool needs_host,
	struct error *err);

/* Whether address ends in ':' and a port from 0 to 65535. getaddrinfo(3)
 * accepts larger ports and truncates them to 16 bits. */
bool address_has_port(const char *address);
