/* The thread that runs queries; it starts after the writer opened the
 * database. */
#pragma once

/* argument: the store. */
void reader_run(void *argument);
