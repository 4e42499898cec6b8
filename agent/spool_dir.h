/* The folder a spool lives in: one process at a time, and what files of ours
 * are in it. Files are numbered, and their names sort as they were made. */
#pragma once

#include "lib/error.h"
#include "proto/report.h"

#include <stdint.h>

enum { SPOOL_NAME_BYTES = 32 };

struct spool_dir {
	const char *path; /* borrowed */
	int fd, lock;	  /* -1: closed */
};

#define SPOOL_DIR_NONE                                                         \
	{                                                                      \
		NULL, -1, -1                                                   \
	}

/* Makes it if it is not there. -EBUSY: another process has it; else what
 * mkdir(2) and open(2) say. Even then it is to be closed. */
must_check int spool_dir_open(struct spool_dir *dir, const char *path,
	struct error *err);
void spool_dir_close(struct spool_dir *dir);

void spool_dir_name(char name[SPOOL_NAME_BYTES], uint64_t number);

struct spool_found {
	char name[SPOOL_NAME_BYTES];
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	uint64_t bytes;
};

/* Calls take for each file of ours, the oldest first. What has such a name and
 * is none is left alone, with a line in the log. *next becomes a number beyond
 * all of them. */
must_check int spool_dir_find(const struct spool_dir *dir, uint64_t *next,
	void (*take)(void *owner, const struct spool_found *found), void *owner,
	struct error *err);
