/* The state that all routes of the HTTP interface share. */
#pragma once

#include "aggregator/ingest/ingest.h"
#include "aggregator/live/live.h"
#include "aggregator/remote_read/remote_read.h"
#include "aggregator/remote_write/remote_write.h"
#include "aggregator/store/store.h"
#include "lib/http/httpd.h"

struct api_outlook;
struct profile_cache;

struct api {
	struct live *live;
	struct store *store;
	struct profile_cache *profiles;
	struct api_outlook *outlook;	     /* of the Kubernetes API */
	const struct identities *identities; /* NULL: no names */
	const struct ingest *ingest;	     /* NULL: no counters */
	const struct remote_write *remote;   /* NULL: no --remote-write */
	struct remote_read *remote_read;     /* NULL: no --remote-read */
	bool may_delete;		     /* requests are authorized */
	const struct tls_watch *wire_tls;    /* NULL: none, or not open yet */
	const struct httpd_listener *http;   /* NULL: not open yet */
	/* For /metrics; NULL: not open, or none. */
	const struct httpd_listener *health, *kubernetes;
	uint64_t started_us;		    /* wall clock */
	size_t metrics_vms;		    /* VMs with series in /metrics */
	uint64_t retention_us[STORE_TIERS]; /* the store's */
};

/* The VM in /v1/vms/NAMESPACE/NAME. */
struct api_vm {
	const char *namespace, *name;
	bool is_running; /* a pod of the VM is in the live table */
};
