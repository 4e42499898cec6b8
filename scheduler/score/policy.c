#include "scheduler/score/policy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kube/quantity.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "scheduler/score/policy_kube.h"
#include "scheduler/score/policy_trimaran.h"

static const struct policy_args defaults = {
	.target_utilization = 40,
	.default_request_milli = 1000,
	.default_request_multiplier = 1.5,
	.safe_variance_margin = 1,
	.safe_variance_sensitivity = 1,
	.smoothing_window_size = 5,
	.risk_limit_cpu = 0.5,
	.risk_limit_memory = 0.5,
	.weight_cpu = 1,
	.weight_memory = 1,
};

static const struct {
	const char *name;
	policy_score score;
} policies[] = {
	{ "real-load", NULL },
	{ "kube-scheduler", policy_kube_score },
	{ "kube-scheduler-1.21", policy_kube_1_21_score },
	{ "target-load-packing", policy_target_load_score },
	{ "load-variation-risk", policy_variation_score },
	{ "low-risk-overcommit", policy_overcommit_score },
};

static int no_policy(const char *name, struct error *err)
{
	scoped_buffer struct buffer list = BUFFER_MAX(1024);

	for (size_t i = 0; i < count_of(policies); i++) {
		buffer_printf(&list, "%s%s", i > 0 ? ", " : "",
			policies[i].name);
	}
	return error_set(err, -EINVAL,
		"unknown policy '%.40s'; known policies: %s", name, list.data);
}

static int read_number(double *out, const struct json_value *v, double max,
	struct error *err)
{
	double number = NAN;

	if (!json_value_number(&number, v)) {
		return error_set(err, -EBADMSG, "is not a number");
	}
	if (!(fabs(number) <= max)) {
		return error_set(err, -ERANGE, "is not between -%g and %g", max,
			max);
	}
	*out = number;
	return 0;
}

/* A number or a string with a number, as upstream's multiplier. */
static int read_multiplier(struct policy_args *args, const struct json_value *v,
	struct error *err)
{
	const char *text = json_value_text(v);
	char *end = NULL;
	double number;

	if (text == NULL) {
		return read_number(&args->default_request_multiplier, v, 1000,
			err);
	}
	number = strtod(text, &end);
	if (end == text || *end != '\0' || !(number >= 0 && number <= 1000)) {
		return error_set(err, -EBADMSG,
			"is not a number from 0 to 1000");
	}
	args->default_request_multiplier = number;
	return 0;
}

static int read_target(struct policy_args *args, const struct json_value *v,
	struct error *err)
{
	int r = read_number(&args->target_utilization, v, 100, err);

	/* Upstream replaces invalid values with the default. */
	if (r == 0 && args->target_utilization <= 0) {
		args->target_utilization = defaults.target_utilization;
	}
	return r;
}

static int read_default_requests(struct policy_args *args,
	const struct json_value *v, struct error *err)
{
	struct quantity q;
	int r = quantity_parse(&q, json_value_text_at(v, "cpu", ""), err);

	if (r == 0) {
		args->default_request_milli = (double)quantity_milli(q);
	}
	return r;
}

static int read_margin(struct policy_args *args, const struct json_value *v,
	struct error *err)
{
	return read_number(&args->safe_variance_margin, v, 1e6, err);
}

static int read_sensitivity(struct policy_args *args,
	const struct json_value *v, struct error *err)
{
	return read_number(&args->safe_variance_sensitivity, v, 1e6, err);
}

static int read_smoothing(struct policy_args *args, const struct json_value *v,
	struct error *err)
{
	int r = read_number(&args->smoothing_window_size, v, 1e6, err);

	if (r == 0 && args->smoothing_window_size <= 0) {
		args->smoothing_window_size = defaults.smoothing_window_size;
	}
	return r;
}

/* Weights outside 0 to 1 become 0.5, as upstream. */
static int read_risk_weights(struct policy_args *args,
	const struct json_value *v, struct error *err)
{
	double *const weights[] = { &args->risk_limit_cpu,
		&args->risk_limit_memory };
	static const char *const names[] = { "cpu", "memory" };
	int r = 0;

	for (size_t i = 0; i < count_of(weights) && r == 0; i++) {
		const struct json_value *weight = json_value_get(v, names[i]);

		if (weight == NULL) {
			continue;
		}
		r = read_number(weights[i], weight, 1e6, err);
		if (*weights[i] < 0 || *weights[i] > 1) {
			*weights[i] = 0.5;
		}
	}
	return r;
}

/* [{"name":"cpu","weight":1}, ...]; a missing resource has weight 0. */
static int read_resources(struct policy_args *args, const struct json_value *v,
	struct error *err)
{
	int r = 0;

	args->weight_cpu = 0;
	args->weight_memory = 0;
	for (const struct json_value *item = json_value_first(v);
		item != NULL && r == 0; item = json_value_next(item)) {
		const char *name = json_value_text_at(item, "name", "");
		double weight = 1;

		if (json_value_get(item, "weight") != NULL) {
			r = read_number(&weight, json_value_get(item, "weight"),
				100, err);
		}
		if (r == 0 && !(weight >= 1)) {
			r = error_set(err, -ERANGE, "has a weight below 1");
		} else if (strcmp(name, "cpu") == 0) {
			args->weight_cpu = weight;
		} else if (strcmp(name, "memory") == 0) {
			args->weight_memory = weight;
		} else {
			r = error_set(err, -EINVAL,
				"holds '%.40s', which is neither cpu nor "
				"memory",
				name);
		}
	}
	return r;
}

static const struct {
	const char *policy, *name;
	int (*read)(struct policy_args *, const struct json_value *,
		struct error *);
} arguments[] = {
	{ "kube-scheduler", "resources", read_resources },
	{ "kube-scheduler-1.21", "resources", read_resources },
	{ "target-load-packing", "targetUtilization", read_target },
	{ "target-load-packing", "defaultRequests", read_default_requests },
	{ "target-load-packing", "defaultRequestsMultiplier", read_multiplier },
	{ "load-variation-risk", "safeVarianceMargin", read_margin },
	{ "load-variation-risk", "safeVarianceSensitivity", read_sensitivity },
	{ "low-risk-overcommit", "smoothingWindowSize", read_smoothing },
	{ "low-risk-overcommit", "riskLimitWeights", read_risk_weights },
};

static int read_argument(struct policy *policy, const struct json_value *v,
	struct error *err)
{
	for (size_t i = 0; i < count_of(arguments); i++) {
		if (strcmp(arguments[i].policy, policy->name) == 0 &&
			strcmp(arguments[i].name, json_value_key(v)) == 0) {
			int r = arguments[i].read(&policy->args, v, err);

			return r < 0
				? error_wrap(err, r, "'%s'", json_value_key(v))
				: 0;
		}
	}
	return error_set(err, -EINVAL, "policy '%s' has no argument '%.40s'",
		policy->name, json_value_key(v));
}

int policy_find(struct policy *out, const char *name,
	const struct json_value *args, struct error *err)
{
	struct policy policy = { .args = defaults };
	int r = 0;

	for (size_t i = 0; i < count_of(policies); i++) {
		if (strcmp(policies[i].name, name) == 0) {
			policy.name = policies[i].name;
			policy.score = policies[i].score;
		}
	}
	if (policy.name == NULL) {
		return no_policy(name, err);
	}
	if (args != NULL && !json_value_is_object(args)) {
		return error_set(err, -EBADMSG,
			"'policy_args' is not an object");
	}
	for (const struct json_value *v = json_value_first(args);
		v != NULL && r == 0; v = json_value_next(v)) {
		r = read_argument(&policy, v, err);
	}
	if (r == 0) {
		*out = policy;
	}
	return r;
}
