/* The epoch of the live table: which process its revisions are of. */
#pragma once

#include <stdint.h>

/* Random, so that no client mistakes another process's revisions for this
 * one's; below 2^53, the largest exact JSON number; not 0, which new clients
 * send. */
uint64_t epoch_random(void);
