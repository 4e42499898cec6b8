/* A listening TCP socket for an address as the flags have it. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

/* Opens a socket that listens on "HOST:PORT" or "[V6]:PORT", numeric; port 0
 * picks one. The caller closes it. -EINVAL: not an address; -EADDRINUSE,
 * -EACCES and what else socket(2), bind(2) and listen(2) say. */
must_check int listen_open(int *fd, const char *address, struct error *err);

/* The port it is bound to; 0 if it is no such socket. */
uint16_t listen_port(int fd);
