/* Ctrl-C while something is followed: it is noticed instead of ending the
 * plugin. kubectl, which runs beside it, ends as usual. */
#pragma once

#include <stdbool.h>

struct interrupt {
	int fd; /* a signalfd; -1: none */
};

/* From now on SIGINT and SIGTERM wait in the object. */
struct interrupt interrupt_open(void);

/* Waits for ms. True: a signal came, now or before. */
bool interrupt_wait(const struct interrupt *interrupt, int ms);

/* From now on a signal ends the plugin again. */
void interrupt_close(struct interrupt *interrupt);
