/* The flags of `plimsoll-scheduler certificates`. */
#pragma once

#include "lib/error.h"
#include "lib/options.h"

#include <stdint.h>

struct certificates_config {
	const char *kubeconfig; /* NULL: see kube/config.h */
	const char *namespace_name, *agents_namespace;
	int64_t days;
	int64_t renew_days;	      /* 0: all certificates are renewed */
	struct option_list dns_names; /* further names of the servers */
	const char *webhook;	      /* its configuration; NULL: none */
	const char *api_service;      /* NULL: none */
	const char *ca_config_map;    /* in namespace_name; NULL: none */
	int log_format, log_level;
};

extern const struct options_program certificates_options;

/* -EINVAL: a name is none; the sentence says which flag has it. */
must_check int certificates_config_check(
	const struct certificates_config *config, struct error *err);
