/* Connections whose client still sends a body that nobody reads.
 *
 * If a socket is closed while bytes are unread, the kernel resets the
 * connection, and the client may lose the response that says why its body is
 * not wanted (RFC 9112 9.6). So the socket stays open and its bytes are thrown
 * away: until the client closes, and for LINGER_MS, LINGER_BYTES and LINGER_MAX
 * connections at most. */
#pragma once

#include <uv.h>

enum { LINGER_MS = 2000, LINGER_BYTES = 16 << 20, LINGER_MAX = 32 };

struct linger_list;

/* Never NULL. */
struct linger_list *linger_list_new(uv_loop_t *loop);

/* From any thread, before linger_list_close(): keeps a duplicate of a socket
 * that the caller is about to close. Does nothing above the limit. */
void linger_list_add(struct linger_list *list, int fd);

/* Closes all. On the loop thread, when no other thread can add any more. Frees
 * itself. NULL is fine. */
void linger_list_close(struct linger_list *list);
