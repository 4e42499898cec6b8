#include "lib/http/httpd_socket.h"

#include "lib/address.h"
#include "lib/memory.h"
#include "lib/options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int httpd_socket_open(int *fd, const char *address, struct error *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICHOST };
	struct addrinfo *found = NULL;
	char host[ADDRESS_HOST_MAX];
	int on = 1;
	int r;

	if (!address_split(host, address)) {
		return error_set(err, -EINVAL,
			"'%s' is not an IP address and port", address);
	}
	r = getaddrinfo(host, strrchr(address, ':') + 1, &hints, &found);
	if (r != 0) {
		return error_set(err, -EINVAL,
			"'%s' is not a numeric address and port: %s", address,
			gai_strerror(r));
	}
	*fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	r = 0;
	if (*fd < 0 ||
		setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) <
			0 ||
		bind(*fd, found->ai_addr, found->ai_addrlen) < 0 ||
		listen(*fd, SOMAXCONN) < 0) {
		r = error_errno(err, "cannot listen on '%s'", address);
	}
	freeaddrinfo(found);
	if (r < 0 && *fd >= 0) {
		(void)close(*fd);
	}
	return r;
}

uint16_t httpd_socket_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = { .v6 = { 0 } };
	socklen_t len = sizeof(address);

	if (getsockname(fd, &address.any, &len) < 0) {
		return 0;
	}
	return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
						       : address.v4.sin_port);
}
