#include "aggregator/apiserver/status_object.h"

#include "lib/memory.h"

static const struct api_model_field store_fields[] = {
	{ API_FIELD(TEXT, store_object, state),
		"Opening, Storing or Degraded" },
	{ API_FIELD(TEXT, store_object, reason),
		"Why reports are not being stored" },
	{ API_FIELD(COUNT, store_object, retention_raw_seconds),
		"How long reports are kept" },
	{ API_FIELD(COUNT, store_object, retention_1m_seconds),
		"How long minutes are kept" },
	{ API_FIELD(COUNT, store_object, retention_1h_seconds),
		"How long hours are kept" },
	{ API_FIELD(COUNT, store_object, database_bytes),
		"Size of the database without free pages" },
	{ API_FIELD(COUNT, store_object, database_max_bytes),
		"Size limit of the database, above which the oldest data is "
		"deleted" },
};

static const struct api_model_field agents_fields[] = {
	{ API_FIELD(NATURAL, agents_object, fresh), "Nodes with new figures" },
	{ API_FIELD(NATURAL, agents_object, stale),
		"Nodes with figures that are older than three intervals" },
	{ API_FIELD(NATURAL, agents_object, lost),
		"Nodes with figures that are older than five minutes" },
};

static const struct api_model_field certificates_fields[] = {
	{ API_NAMED(wire, TIME, certificates_object, wire_us),
		"End of the certificate for agents and schedulers" },
	{ API_NAMED(https, TIME, certificates_object, https_us),
		"End of the certificate of the HTTP API" },
	{ API_NAMED(api, TIME, certificates_object, api_us),
		"End of the certificate of this API" },
};

static const struct api_model_field remote_write_fields[] = {
	{ API_FIELD(BOOL, remote_write_object, is_on),
		"Reports are sent to another engine" },
	{ API_FIELD(TEXT, remote_write_object, reason), "Why reports wait" },
	{ API_FIELD(COUNT, remote_write_object, queued_reports),
		"Reports that wait to be sent" },
};

static const struct api_model_field scheduler_fields[] = {
	{ API_FIELD(BOOL, scheduler_object, is_connected),
		"A leading scheduler takes questions here" },
};

static const struct api_model_field rebalance_fields[] = {
	{ API_FIELD(TEXT, rebalance_object, mode),
		"Off, Recommend or Automatic" },
	{ API_FIELD(TEXT, rebalance_object, why), "Why nothing is moved now" },
};

static const struct api_model store_model =
	API_MODEL(store_fields, store_object);
static const struct api_model agents_model =
	API_MODEL(agents_fields, agents_object);
static const struct api_model certificates_model =
	API_MODEL(certificates_fields, certificates_object);
static const struct api_model remote_write_model =
	API_MODEL(remote_write_fields, remote_write_object);
static const struct api_model scheduler_model =
	API_MODEL(scheduler_fields, scheduler_object);
static const struct api_model rebalance_model =
	API_MODEL(rebalance_fields, rebalance_object);

static const struct api_model_field status_fields[] = {
	{ API_FIELD(TEXT, status_object, version),
		"Version of the aggregator" },
	{ API_FIELD(TEXT, status_object, commit),
		"Commit that it was built from" },
	{ API_NAMED(time, TIME, status_object, time_us), "Its clock" },
	{ API_NESTED(store, OBJECT, status_object, store, &store_model),
		"The database" },
	{ API_NESTED(agents, OBJECT, status_object, agents, &agents_model),
		"Nodes by the age of their figures" },
	{ API_FIELD(COUNT, status_object, vm_identities),
		"VM pods whose names are known" },
	{ API_NESTED(certificates, OBJECT, status_object, certificates,
		  &certificates_model),
		"When certificates end" },
	{ API_NESTED(remote_write, OBJECT, status_object, remote_write,
		  &remote_write_model),
		"The queue of remote write" },
	{ API_NESTED(scheduler, OBJECT, status_object, scheduler,
		  &scheduler_model),
		"The scheduler that leads" },
	{ API_NESTED(rebalance, OBJECT, status_object, rebalance,
		  &rebalance_model),
		"What the scheduler that leads does about hot nodes" },
};

static const struct api_model inner_model =
	API_MODEL(status_fields, status_object);

static const struct api_model_field fields[] = {
	{ API_PART(status, &inner_model),
		"The state of the aggregator that answered" },
};

const struct api_model status_model = API_MODEL(fields, status_object);
