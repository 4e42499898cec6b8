#include "aggregator/apiserver/status_object.h"

#include "lib/memory.h"

#define AT(type, member) offsetof(struct type, member)
#define API_MODEL(fields_, type)                                               \
	{                                                                      \
		fields_, count_of(fields_), sizeof(struct type)                \
	}

static const struct api_model_field store_fields[] = {
	{ "state", API_MODEL_TEXT, AT(store_object, state), NULL,
		"Opening, Storing or Degraded" },
	{ "reason", API_MODEL_TEXT, AT(store_object, reason), NULL,
		"Why reports are not being stored" },
	{ "retention_raw_seconds", API_MODEL_COUNT,
		AT(store_object, retention_raw_seconds), NULL,
		"How long reports are kept" },
	{ "retention_1m_seconds", API_MODEL_COUNT,
		AT(store_object, retention_1m_seconds), NULL,
		"How long minutes are kept" },
	{ "retention_1h_seconds", API_MODEL_COUNT,
		AT(store_object, retention_1h_seconds), NULL,
		"How long hours are kept" },
	{ "database_bytes", API_MODEL_COUNT, AT(store_object, database_bytes),
		NULL, "Size of the database without free pages" },
	{ "database_max_bytes", API_MODEL_COUNT,
		AT(store_object, database_max_bytes), NULL,
		"Size limit of the database, above which the oldest data is "
		"deleted" },
};

static const struct api_model_field agents_fields[] = {
	{ "fresh", API_MODEL_NATURAL, AT(agents_object, fresh), NULL,
		"Nodes with new figures" },
	{ "stale", API_MODEL_NATURAL, AT(agents_object, stale), NULL,
		"Nodes with figures that are older than three intervals" },
	{ "lost", API_MODEL_NATURAL, AT(agents_object, lost), NULL,
		"Nodes with figures that are older than five minutes" },
};

static const struct api_model_field certificates_fields[] = {
	{ "wire", API_MODEL_TIME, AT(certificates_object, wire_us), NULL,
		"End of the certificate for agents and schedulers" },
	{ "https", API_MODEL_TIME, AT(certificates_object, https_us), NULL,
		"End of the certificate of the HTTP API" },
	{ "api", API_MODEL_TIME, AT(certificates_object, api_us), NULL,
		"End of the certificate of this API" },
};

static const struct api_model_field remote_write_fields[] = {
	{ "is_on", API_MODEL_BOOL, AT(remote_write_object, is_on), NULL,
		"Reports are sent to another engine" },
	{ "reason", API_MODEL_TEXT, AT(remote_write_object, reason), NULL,
		"Why reports wait" },
	{ "queued_reports", API_MODEL_COUNT,
		AT(remote_write_object, queued_reports), NULL,
		"Reports that wait to be sent" },
};

static const struct api_model_field scheduler_fields[] = {
	{ "is_connected", API_MODEL_BOOL, AT(scheduler_object, is_connected),
		NULL, "A leading scheduler takes questions here" },
};

static const struct api_model_field rebalance_fields[] = {
	{ "mode", API_MODEL_TEXT, AT(rebalance_object, mode), NULL,
		"Off, Recommend or Automatic" },
	{ "why", API_MODEL_TEXT, AT(rebalance_object, why), NULL,
		"Why nothing is moved now" },
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
	{ "version", API_MODEL_TEXT, AT(status_object, version), NULL,
		"Version of the aggregator" },
	{ "commit", API_MODEL_TEXT, AT(status_object, commit), NULL,
		"Commit that it was built from" },
	{ "time", API_MODEL_TIME, AT(status_object, time_us), NULL,
		"Its clock" },
	{ "store", API_MODEL_OBJECT, AT(status_object, store), &store_model,
		"The database" },
	{ "agents", API_MODEL_OBJECT, AT(status_object, agents), &agents_model,
		"Nodes by the age of their figures" },
	{ "vm_identities", API_MODEL_COUNT, AT(status_object, vm_identities),
		NULL, "VM pods whose names are known" },
	{ "certificates", API_MODEL_OBJECT, AT(status_object, certificates),
		&certificates_model, "When certificates end" },
	{ "remote_write", API_MODEL_OBJECT, AT(status_object, remote_write),
		&remote_write_model, "The queue of remote write" },
	{ "scheduler", API_MODEL_OBJECT, AT(status_object, scheduler),
		&scheduler_model, "The scheduler that leads" },
	{ "rebalance", API_MODEL_OBJECT, AT(status_object, rebalance),
		&rebalance_model,
		"What the scheduler that leads does about hot nodes" },
};

static const struct api_model inner_model =
	API_MODEL(status_fields, status_object);

static const struct api_model_field fields[] = {
	{ "status", API_MODEL_OBJECT, 0, &inner_model,
		"The state of the aggregator that answered" },
};

const struct api_model status_model = API_MODEL(fields, status_object);
