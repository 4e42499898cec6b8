#include "tests/support/capture.h"

#include "tests/support/cm.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

void capture_begin(struct capture *capture, int fd)
{
	(void)fflush(NULL);
	capture->fd = fd;
	capture->memory = memfd_create("output", MFD_CLOEXEC);
	capture->before = dup(fd);
	assert_true(capture->memory >= 0 && capture->before >= 0);
	assert_true(dup2(capture->memory, fd) >= 0);
}

void capture_end(struct capture *capture, char *text, size_t size)
{
	ssize_t len;

	(void)fflush(NULL);
	assert_true(dup2(capture->before, capture->fd) >= 0);
	len = pread(capture->memory, text, size - 1, 0);
	assert_true(len >= 0);
	text[len] = '\0';
	(void)close(capture->before);
	(void)close(capture->memory);
}
