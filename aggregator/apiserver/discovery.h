/* The documents in which the API lists its group, version and resources.
 * Pure. */
#pragma once

#include "lib/buffer.h"

void discovery_groups(struct buffer *out);     /* /apis */
void discovery_aggregated(struct buffer *out); /* the same, with resources */
void discovery_group(struct buffer *out);      /* /apis/GROUP */
void discovery_resources(struct buffer *out);  /* /apis/GROUP/VERSION */
void discovery_paths(struct buffer *out);      /* / */
void discovery_version(struct buffer *out);    /* /version */
