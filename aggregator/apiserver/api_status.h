/* metav1.Status: errors as kubectl reads them. Pure. */
#pragma once

#include "lib/buffer.h"

/* Each is an httpd_write_error: for a listener of this API alone, and for one
 * that has other paths too, which keep their own errors. */
bool api_status_write(struct buffer *out, const char *path, int code,
	const char *sentence);
bool api_status_write_below(struct buffer *out, const char *path, int code,
	const char *sentence);
