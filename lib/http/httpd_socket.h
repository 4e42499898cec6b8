/* The listening socket of lib/http/httpd.c. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

/* Opens a listening socket for "HOST:PORT" or "[V6]:PORT". The caller closes
 * it.
 * -EINVAL: not a numeric address and port; otherwise the error of socket(2),
 * bind(2) or listen(2), for example -EADDRINUSE or -EACCES. */
must_check int httpd_socket_open(int *fd, const char *address,
	struct error *err);

/* The port the socket is bound to. */
uint16_t httpd_socket_port(int fd);
