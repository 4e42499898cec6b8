/* The thread that reads the whole file once and looks for damage; it starts
 * only if the database was not closed cleanly the last time. */
#pragma once

/* argument: the store. */
void checker_run(void *argument);
