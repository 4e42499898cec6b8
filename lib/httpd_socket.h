/* The socket that lib/httpd.c listens on. Nobody else includes this. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

/* A listening socket for "HOST:PORT" or "[V6]:PORT", the caller's to close.
 * -EINVAL: not a numeric address and port; -EADDRINUSE, -EACCES ... */
must_check int httpd_socket_open(int *fd, const char *address,
	struct error *err);

/* The port it is bound to. */
uint16_t httpd_socket_port(int fd);
