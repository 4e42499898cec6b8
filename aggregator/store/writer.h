/* The thread that writes: it opens the database, creates the schema, commits
 * batches in groups and runs maintenance between them. */
#pragma once

/* argument: the store. */
void writer_run(void *argument);
