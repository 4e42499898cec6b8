#include "scheduler/kubevirt/migration_limits.h"

#include "kube/quantity.h"

#include <stddef.h>
#include <stdint.h>

const struct migration_limits migration_limits_default = {
	.per_cluster = 5,
	.out_of_node = 2,
	.timeout_per_gib_s = 150,
};

/* False: the value is missing or invalid. */
static bool read_count(unsigned *out, const struct json_value *object,
	const char *key)
{
	double number = 0;

	if (!json_value_number(&number, json_value_get(object, key)) ||
		!(number >= 0 && number <= UINT32_MAX)) {
		return false;
	}
	*out = (unsigned)number;
	return true;
}

static bool read_flag(bool *out, const struct json_value *object,
	const char *key)
{
	const struct json_value *flag = json_value_get(object, key);

	if (flag == NULL || json_value_is_null(flag)) {
		return false;
	}
	*out = json_value_true(flag);
	return true;
}

/* A quantity may be a number in JSON. */
static bool read_bandwidth(double *out, const struct json_value *value)
{
	const char *text = json_value_text(value);
	struct quantity amount;
	double number = 0;

	if (text != NULL && quantity_parse(&amount, text, NULL) == 0) {
		*out = (double)quantity_units(amount);
		return true;
	}
	if (json_value_number(&number, value) && number >= 0) {
		*out = number;
		return true;
	}
	return false;
}

unsigned migration_limits_read(struct migration_limits *limits,
	const struct json_value *object)
{
	unsigned bits = 0;

	bits |= read_count(&limits->per_cluster, object,
			"parallelMigrationsPerCluster")
		? MIGRATION_LIMIT_PER_CLUSTER
		: 0;
	bits |= read_count(&limits->out_of_node, object,
			"parallelOutboundMigrationsPerNode")
		? MIGRATION_LIMIT_OUT_OF_NODE
		: 0;
	bits |= read_count(&limits->timeout_per_gib_s, object,
			"completionTimeoutPerGiB")
		? MIGRATION_LIMIT_TIMEOUT
		: 0;
	bits |= read_bandwidth(&limits->bytes_per_second,
			json_value_get(object, "bandwidthPerMigration"))
		? MIGRATION_LIMIT_BANDWIDTH
		: 0;
	bits |= read_flag(&limits->allows_post_copy, object, "allowPostCopy")
		? MIGRATION_LIMIT_POST_COPY
		: 0;
	bits |= read_flag(&limits->allows_auto_converge, object,
			"allowAutoConverge")
		? MIGRATION_LIMIT_AUTO_CONVERGE
		: 0;
	return bits;
}

void migration_limits_copy(struct migration_limits *to,
	const struct migration_limits *from, unsigned bits)
{
	if ((bits & MIGRATION_LIMIT_PER_CLUSTER) != 0) {
		to->per_cluster = from->per_cluster;
	}
	if ((bits & MIGRATION_LIMIT_OUT_OF_NODE) != 0) {
		to->out_of_node = from->out_of_node;
	}
	if ((bits & MIGRATION_LIMIT_BANDWIDTH) != 0) {
		to->bytes_per_second = from->bytes_per_second;
	}
	if ((bits & MIGRATION_LIMIT_TIMEOUT) != 0) {
		to->timeout_per_gib_s = from->timeout_per_gib_s;
	}
	if ((bits & MIGRATION_LIMIT_POST_COPY) != 0) {
		to->allows_post_copy = from->allows_post_copy;
	}
	if ((bits & MIGRATION_LIMIT_AUTO_CONVERGE) != 0) {
		to->allows_auto_converge = from->allows_auto_converge;
	}
}
