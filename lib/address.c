#include "lib/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

bool address_has_port(const char *address)
{
	const char *colon = strrchr(address, ':');
	size_t digits = colon == NULL ? 0 : strspn(colon + 1, "0123456789");
	uint32_t port = 0;

	for (size_t i = 1; i <= digits && port <= UINT16_MAX; i++) {
		port = port * 10 + (uint32_t)(colon[i] - '0');
	}
	return digits > 0 && colon[digits + 1] == '\0' && port <= UINT16_MAX;
}

bool address_split(char host[ADDRESS_HOST_MAX], const char *address)
{
	const char *colon = strrchr(address, ':');
	size_t len = colon == NULL ? 0 : (size_t)(colon - address);
	struct in6_addr ip;

	if (!address_has_port(address) || len >= ADDRESS_HOST_MAX) {
		return false;
	}
	if (len > 2 && address[0] == '[' && colon[-1] == ']') {
		(void)snprintf(host, ADDRESS_HOST_MAX, "%.*s", (int)len - 2,
			address + 1);
		return inet_pton(AF_INET6, host, &ip) == 1;
	}
	(void)snprintf(host, ADDRESS_HOST_MAX, "%.*s", (int)len, address);
	return len == 0 || inet_pton(AF_INET, host, &ip) == 1;
}

bool address_is_loopback(const char *address)
{
	char host[ADDRESS_HOST_MAX];
	struct in_addr v4;
	struct in6_addr v6;

	if (!address_split(host, address)) {
		return false;
	}
	if (inet_pton(AF_INET6, host, &v6) == 1) {
		return IN6_IS_ADDR_LOOPBACK(&v6);
	}
	return inet_pton(AF_INET, host, &v4) == 1 &&
		ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
}

int address_check_url(const char *url, bool needs_host, struct error *err)
{
	const char *scheme = strncmp(url, "tls+", 4) == 0 ? url + 4 : url;
	const char *host = scheme + 6;

	if (strncmp(scheme, "tcp://", 6) != 0 || !address_has_port(host) ||
		(needs_host && *host == ':')) {
		return error_set(err, -EINVAL,
			"'%s' is not of the form tcp://HOST:PORT or "
			"tls+tcp://HOST:PORT",
			url);
	}
	return 0;
}
