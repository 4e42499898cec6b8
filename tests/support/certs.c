#include "tests/support/certs.h"

#include "lib/files.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 20 };

static void run(const char *const *arguments)
{
	char *own[8] = { NULL };
	int status = -1;
	pid_t child;

	for (size_t i = 0; arguments[i] != NULL; i++) {
		own[i] = xstrdup(arguments[i]);
	}
	assert_int_equal(posix_spawnp(&child, own[0], NULL, NULL, own, environ),
		0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (size_t i = 0; arguments[i] != NULL; i++) {
		free(own[i]);
	}
}

void certs_run(const struct certs *certs, const char *command, int days)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", days);
	assert_int_equal(setenv("DAYS", text, 1), 0);
	run((const char *const[]){ "sh", "deploy/certs.sh", command, certs->dir,
		NULL });
}

char *certs_path(const struct certs *certs, const char *name)
{
	return xasprintf("%s/%s", certs->dir, name);
}

char *certs_text(const struct certs *certs, const char *name)
{
	scoped_free char *path = certs_path(certs, name);
	struct buffer text = BUFFER_MAX(TEXT_MAX);

	assert_int_equal(file_read(&text, path, NULL), 0);
	return buffer_take(&text, NULL);
}

/* The TLS libraries compare certificates with the machine's clock, so these are
 * of today. The test's clock shows when they were made. */
static void show_issue(const struct certs *certs)
{
	scoped_free char *path = certs_path(certs, "aggregator.crt");
	struct stat found;

	assert_int_equal(stat(path, &found), 0);
	fake_clock.wall_us = (uint64_t)found.st_mtim.tv_sec * 1000000;
}

void certs_new(struct certs *certs, int days)
{
	(void)snprintf(certs->dir, sizeof(certs->dir), "/tmp/certs.XXXXXX");
	assert_non_null(mkdtemp(certs->dir));
	certs_run(certs, "new", days);
	show_issue(certs);
}

void certs_write(const struct certs *certs, const char *name, const char *text)
{
	scoped_free char *path = certs_path(certs, name);
	scoped_fd int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

void certs_remove(const struct certs *certs)
{
	run((const char *const[]){ "rm", "-r", certs->dir, NULL });
}
