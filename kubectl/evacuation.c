#include "kubectl/evacuation.h"

#include "kube/json_value.h"
#include "kubectl/api_client.h"
#include "kubectl/fields.h"
#include "kubectl/flags.h"
#include "kubectl/migrations.h"
#include "kubectl/plan_view.h"
#include "kubectl/terminal.h"
#include "kubectl/vmi_words.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	TRIES = 2,	    /* of one VM */
	PAUSE_MS = 2000,    /* before another plan, if nothing could be done */
	LEADER_TRIES = 15,  /* a new leader needs less than 30 s */
	OUTDATED_TRIES = 5, /* plans about VMs that are elsewhere by now */
	WHY_MAX = 8 << 10,
};

/* A VM and how often it failed. */
struct failure {
	char *namespace, *vm;
	unsigned times;
};

struct waves {
	struct api_client *client;
	const char *node;
	struct failure *failures;
	size_t count, capacity;
	bool is_outdated;  /* this plan is older than the cluster */
	unsigned outdated; /* such plans in a row */
};

static struct failure *find(struct waves *waves, const char *namespace,
	const char *vm)
{
	for (size_t i = 0; i < waves->count; i++) {
		if (strcmp(waves->failures[i].namespace, namespace) == 0 &&
			strcmp(waves->failures[i].vm, vm) == 0) {
			return &waves->failures[i];
		}
	}
	return NULL;
}

static void failed(struct waves *waves, const char *namespace, const char *vm)
{
	struct failure *failure = find(waves, namespace, vm);

	if (failure == NULL) {
		waves->failures = xgrow(waves->failures, waves->count,
			&waves->capacity, sizeof(*waves->failures));
		failure = &waves->failures[waves->count++];
		*failure =
			(struct failure){ xstrdup(namespace), xstrdup(vm), 0 };
	}
	failure->times++;
}

/* One move of a plan. */
struct step {
	char *namespace, *vm, *source, *target;
};

static void step_fini(struct step *step)
{
	free(step->namespace);
	free(step->vm);
	free(step->source);
	free(step->target);
}

static bool step_read(struct step *out, const struct json_value *object)
{
	*out = (struct step){
		.namespace = field_text(object, "namespace", ""),
		.vm = field_text(object, "vmName", ""),
		.source = field_text(object, "sourceNode", ""),
		.target = field_text(object, "targetNode", ""),
	};
	/* Others are starts of VMs, which no migration brings about. */
	return strcmp(json_value_text_at(object, "action", "Migrate"),
		       "Migrate") == 0 &&
		flags_is_name(out->namespace) && flags_is_name(out->vm) &&
		flags_is_name(out->source) && flags_is_name(out->target);
}

/* Whether the VM is where the plan believes it, and can move. */
static int check(struct waves *waves, const struct step *step, bool *is_ready,
	struct error *err)
{
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);
	scoped_free char *path = xasprintf(KUBEVIRT_API
		"/namespaces/%s/virtualmachineinstances/%s",
		step->namespace, step->vm);
	struct json_value *vmi = NULL;
	int r = api_client_get(&vmi, waves->client, path, err);

	*is_ready = false;
	if (r == -ENOENT) {
		api_client_forgive(waves->client);
		waves->is_outdated = true;
		return 0;
	}
	if (r < 0) {
		return r;
	}
	if (strcmp(json_value_text_at(vmi, "status/nodeName", ""),
		    step->source) != 0) {
		waves->is_outdated = true;
	} else if (!vmi_words_can_move(&why, vmi)) {
		terminal_say("%s/%s: cannot move: %s", step->namespace,
			step->vm, why.data);
		failed(waves, step->namespace, step->vm);
	} else {
		*is_ready = true;
	}
	json_value_free(vmi);
	return 0;
}

static int add_step(struct migrations *migrations, struct waves *waves,
	const struct step *step, struct error *err)
{
	const struct failure *failure = find(waves, step->namespace, step->vm);
	scoped_free char *selector = NULL;
	bool is_ready = false;
	int r;

	if (failure != NULL && failure->times >= TRIES) {
		return 0;
	}
	r = check(waves, step, &is_ready, err);
	if (r < 0 || !is_ready) {
		return r;
	}
	r = migrations_select_node(&selector, waves->client, step->target, err);
	if (r < 0) {
		return r;
	}
	migrations_add(migrations,
		&(struct vm_migration){ .namespace = step->namespace,
			.vm = step->vm,
			.selector = selector });
	return 0;
}

/* The number of the first wave. */
static double first_wave(const struct json_value *steps)
{
	const struct json_value *at = json_value_first(steps);
	double first = field_number(at, "wave");

	for (; at != NULL; at = json_value_next(at)) {
		double wave = field_number(at, "wave");

		first = wave < first ? wave : first;
	}
	return first;
}

/* Adds the steps of the first wave that can be done now. */
static int add_wave(struct migrations *migrations, struct waves *waves,
	const struct json_value *plan, struct error *err)
{
	const struct json_value *steps = json_value_at(plan, "status/steps");
	const struct json_value *at = json_value_first(steps);
	double wave = first_wave(steps);
	int r = 0;

	for (; r == 0 && at != NULL; at = json_value_next(at)) {
		struct step step;

		/* A plan without numbers is one wave. */
		if (step_read(&step, at) &&
			!(field_number(at, "wave") > wave)) {
			r = add_step(migrations, waves, &step, err);
		}
		step_fini(&step);
	}
	return r;
}

/* Asks again while no scheduler leads. */
static int next_plan(struct json_value **plan, struct waves *waves,
	struct error *err)
{
	struct json_value *next = NULL;
	int r = 0;

	for (unsigned i = 0; i < LEADER_TRIES; i++) {
		r = plan_ask_nodes(&next, waves->client, "Evacuate",
			waves->node, err);
		if (r != -EREMOTEIO) {
			break;
		}
		(void)poll(NULL, 0, PAUSE_MS);
	}
	if (r == 0) {
		json_value_free(*plan);
		*plan = next;
		terminal_say("The new plan has %zu moves.",
			json_value_count(json_value_at(next, "status/steps")));
	}
	return r;
}

/* Runs one wave. *is_done: there is nothing more to do. */
static int run_wave(struct json_value **plan, struct waves *waves,
	unsigned parallel, bool *is_done, struct error *err)
{
	struct migrations migrations = { .client = waves->client,
		.parallel = parallel };
	int r;

	waves->is_outdated = false;
	r = add_wave(&migrations, waves, *plan, err);
	if (r == 0 && migrations.count == 0) {
		*is_done = !waves->is_outdated ||
			++waves->outdated > OUTDATED_TRIES;
		(void)poll(NULL, 0, *is_done ? 0 : PAUSE_MS);
	} else if (r == 0) {
		r = migrations_run(&migrations, err);
		waves->outdated = 0;
	}
	for (size_t i = 0; i < migrations.count; i++) {
		if (migrations.list[i].state == MIGRATION_FAILED) {
			failed(waves, migrations.list[i].namespace,
				migrations.list[i].vm);
		}
	}
	migrations_fini(&migrations);
	return r < 0 || *is_done ? r : next_plan(plan, waves, err);
}

int evacuation_run(struct json_value **plan, struct api_client *client,
	const char *node, unsigned parallel, struct error *err)
{
	struct waves waves = { .client = client, .node = node };
	bool is_done = false;
	int r = 0;

	while (r == 0 && !is_done) {
		r = run_wave(plan, &waves, parallel, &is_done, err);
	}
	for (size_t i = 0; i < waves.count; i++) {
		free(waves.failures[i].namespace);
		free(waves.failures[i].vm);
	}
	free(waves.failures);
	return r;
}
