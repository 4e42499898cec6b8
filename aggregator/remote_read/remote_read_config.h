/* The flags of remote read. */
#pragma once

#include "kube/http_target.h"
#include "lib/error.h"

/* As given on the command line. */
struct remote_read_config {
	struct http_target_config http; /* without a URL: no --remote-read */
	struct option_list labels;	/* of the series to read */
};

/* Checks the flags without the files. -EINVAL: the sentence names the flag. */
must_check int remote_read_check(const struct remote_read_config *config,
	struct error *err);
