/* libmicrohttpd ends connections that are idle for 15 s of real time, which a
 * client of a busy machine may be. Without that limit, those of httpd_clients.h
 * remain, by the clock of the test. For a test program with
 * WRAP_test_x = $(IDLE_CLIENTS) in the Makefile. */
#pragma once

#include <microhttpd.h>

const union MHD_ConnectionInfo *__real_MHD_get_connection_info(
	struct MHD_Connection *connection, enum MHD_ConnectionInfoType type,
	...);
const union MHD_ConnectionInfo *__wrap_MHD_get_connection_info(
	struct MHD_Connection *connection, enum MHD_ConnectionInfoType type,
	...);

/* lib/http/httpd.c asks for the address when a connection begins. */
const union MHD_ConnectionInfo *__wrap_MHD_get_connection_info(
	struct MHD_Connection *connection, enum MHD_ConnectionInfoType type,
	...)
{
	if (type == MHD_CONNECTION_INFO_CLIENT_ADDRESS) {
		(void)MHD_set_connection_option(connection,
			MHD_CONNECTION_OPTION_TIMEOUT, 0U);
	}
	return __real_MHD_get_connection_info(connection, type);
}
