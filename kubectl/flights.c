#include "kubectl/flights.h"

#include "kube/json_value.h"
#include "kubectl/cluster.h"
#include "kubectl/fields.h"
#include "kubectl/figures.h"
#include "kubectl/flags.h"
#include "kubectl/interrupt.h"
#include "kubectl/terminal.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { POLL_MS = 1000, BODY_MAX = 16 << 10 };

/* So long may the server be silent. */
#define SILENCE_US UINT64_C(60000000)

void flights_add(struct flights *flights, const struct flight *flight)
{
	flights->list = xgrow(flights->list, flights->count, &flights->capacity,
		sizeof(*flights->list));
	flights->list[flights->count++] = (struct flight){
		.namespace = xstrdup(flight->namespace),
		.vm = xstrdup(flight->vm),
		.selector = flight->selector == NULL
			? NULL
			: xstrdup(flight->selector),
		.migration = flight->migration == NULL
			? NULL
			: xstrdup(flight->migration),
		.phase = xstrdup(""),
		.state =
			flight->migration == NULL ? FLIGHT_WAITS : FLIGHT_MOVES,
		.began_s = (double)clock_monotonic_us() / 1e6,
	};
}

void flights_fini(struct flights *flights)
{
	for (size_t i = 0; i < flights->count; i++) {
		free(flights->list[i].namespace);
		free(flights->list[i].vm);
		free(flights->list[i].selector);
		free(flights->list[i].migration);
		free(flights->list[i].phase);
	}
	free(flights->list);
	flights->list = NULL;
	flights->count = flights->capacity = 0;
}

size_t flights_in_state(const struct flights *flights, enum flight_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < flights->count; i++) {
		count += flights->list[i].state == state;
	}
	return count;
}

static bool is_phase(const struct json_value *migration, const char *phase)
{
	return strcmp(json_value_text_at(migration, "status/phase", ""),
		       phase) == 0;
}

bool flights_has_ended(const struct json_value *migration)
{
	return is_phase(migration, "Succeeded") ||
		is_phase(migration, "Failed");
}

int flights_select_node(char **out, struct cluster *cluster, const char *node,
	struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(BODY_MAX);
	scoped_free char *path = xasprintf("/api/v1/nodes/%s", node);
	struct json_value *object = NULL;
	int r = cluster_get(&object, cluster, path, err);
	const char *label;
	struct json j = json_into(&text);

	if (r == -EACCES) { /* nearly always they are the same */
		cluster_forgive(cluster);
	} else if (r < 0) {
		return r;
	}
	label = json_value_text(
		json_value_get(json_value_at(object, "metadata/labels"),
			"kubernetes.io/hostname"));
	json_object(&j, NULL);
	json_string(&j, "kubernetes.io/hostname", label == NULL ? node : label);
	json_object_end(&j);
	json_value_free(object);
	*out = buffer_take(&text, NULL);
	return 0;
}

static char *path_of(const struct flight *flight, const char *name)
{
	return xasprintf(CLUSTER_KUBEVIRT
		"/namespaces/%s/virtualmachineinstancemigrations%s%s",
		flight->namespace, *name == '\0' ? "" : "/", name);
}

static int cancel(struct cluster *cluster, const struct flight *flight,
	struct error *err)
{
	const char *const arguments[] = { "delete", "--raw", NULL, NULL };
	const char *all[count_of(arguments)];
	scoped_free char *path = path_of(flight, flight->migration);

	memcpy(all, arguments, sizeof(arguments));
	all[2] = path;
	return cluster_run(NULL, cluster, all, NULL, err);
}

static void put_body(struct buffer *body, const struct flight *flight)
{
	struct json j = json_into(body);

	json_object(&j, NULL);
	json_string(&j, "apiVersion", "kubevirt.io/v1");
	json_string(&j, "kind", "VirtualMachineInstanceMigration");
	json_object(&j, "metadata");
	json_string(&j, "name", flight->migration);
	json_string(&j, "namespace", flight->namespace);
	json_object_end(&j);
	json_object(&j, "spec");
	json_string(&j, "vmiName", flight->vm);
	if (flight->selector != NULL) {
		json_raw(&j, "addedNodeSelector", flight->selector);
	}
	json_object_end(&j);
	json_object_end(&j);
}

/* KubeVirt before 1.6 drops the selector, and the VM would go anywhere. */
static int check_selector(struct cluster *cluster, const struct flight *flight,
	const struct json_value *answer, struct error *err)
{
	if (flight->selector == NULL ||
		json_value_count(
			json_value_at(answer, "spec/addedNodeSelector")) > 0) {
		return 0;
	}
	if (cancel(cluster, flight, err) < 0) {
		cluster_forgive(cluster);
	}
	return error_set(err, -ENOTSUP,
		"this KubeVirt cannot move a VM to a chosen node: version 1.6 "
		"or newer can");
}

/* The API server has the migration. */
static int accepted(struct cluster *cluster, struct flight *flight,
	const struct json_value *migration, struct error *err)
{
	int r = check_selector(cluster, flight, migration, err);

	flight->is_uncertain = false;
	if (r < 0) {
		flight->state = FLIGHT_FAILED;
		return r;
	}
	terminal_say("%s/%s: ordered", flight->namespace, flight->vm);
	return 0;
}

/* A refusal concerns one VM, and the others go on. */
static void refused(struct cluster *cluster, struct flight *flight, int r)
{
	struct buffer *words = &cluster->complaint;

	for (char *at = words->data; (at = strchr(at, '\n')) != NULL;) {
		*at = at[1] == '\0' ? '\0' : ' ';
	}
	terminal_say("%s/%s: refused: %s", flight->namespace, flight->vm,
		words->data);
	if (r == -EACCES) {
		terminal_say(
			"The ClusterRole kubevirt.io:migrate has this right: "
			"ask for a RoleBinding to it in namespace %s.",
			flight->namespace);
	}
	flight->state = FLIGHT_FAILED;
	cluster_forgive(cluster);
}

/* A name of the plugin's own: a migration can be cancelled even if Ctrl-C cut
 * off the answer that would have named it. */
static char *make_name(void)
{
	uint64_t number = clock_wall_us();

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0) {
		number ^= (uint64_t)getpid() << 48;
	}
	return xasprintf("kubectl-plimsoll-%016" PRIx64, number);
}

static int order(struct cluster *cluster, struct flight *flight,
	struct error *err)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	scoped_free char *path = path_of(flight, "");
	struct json_value *answer = NULL;
	int r;

	free(flight->migration);
	flight->migration = make_name();
	put_body(&body, flight);
	if (body.overflowed) {
		return error_set(err, -E2BIG, "the node selector is too long");
	}
	flight->state = FLIGHT_MOVES;
	flight->began_s = (double)clock_monotonic_us() / 1e6;
	r = cluster_post(&answer, cluster, path, body.data, err);
	if (r < 0 && cluster->status == 0) { /* kubectl cannot run */
		flight->state = FLIGHT_WAITS;
		return r;
	}
	if (r < 0 && cluster_is_refused(cluster)) {
		refused(cluster, flight, r);
		return 0;
	}
	flight->is_uncertain = r < 0;
	r = r < 0 ? 0 : accepted(cluster, flight, answer, err);
	json_value_free(answer);
	return r;
}

static void end(struct flight *flight, enum flight_state state,
	const char *words, const char *detail)
{
	char age[FIGURE_MAX];

	flight->state = state;
	terminal_say("%s/%s: %s%s%s after %s", flight->namespace, flight->vm,
		words, *detail == '\0' ? "" : " ", detail,
		figure_age(age,
			(double)clock_monotonic_us() / 1e6 - flight->began_s));
}

/* A text of the VM's own state, which has it earlier than the migration. */
static char *text_of_vmi(struct cluster *cluster, const struct flight *flight,
	const char *at)
{
	scoped_free char *path = xasprintf(CLUSTER_KUBEVIRT
		"/namespaces/%s/virtualmachineinstances/%s",
		flight->namespace, flight->vm);
	struct json_value *vmi = NULL;
	char *text;

	if (cluster_get(&vmi, cluster, path, NULL) < 0) {
		cluster_forgive(cluster);
	}
	text = field_text(vmi, at, "");
	json_value_free(vmi);
	return text;
}

static void show_end(struct cluster *cluster, struct flight *flight,
	const struct json_value *migration)
{
	bool is_failed = is_phase(migration, "Failed");
	scoped_free char *detail = field_text(migration,
		is_failed ? "status/migrationState/failureReason"
			  : "status/migrationState/targetNode",
		"");

	if (*detail == '\0') {
		free(detail);
		detail = text_of_vmi(cluster, flight,
			is_failed ? "status/migrationState/failureReason"
				  : "status/nodeName");
	}
	if (is_failed) {
		end(flight, FLIGHT_FAILED,
			*detail == '\0' ? "failed" : "failed:", detail);
	} else {
		end(flight, FLIGHT_ARRIVED,
			*detail == '\0' ? "moved" : "moved to", detail);
	}
}

static void show(struct cluster *cluster, struct flight *flight,
	const struct json_value *migration)
{
	scoped_free char *phase =
		field_text(migration, "status/phase", "Pending");
	scoped_free char *target =
		field_text(migration, "status/migrationState/targetNode", "");

	if (flights_has_ended(migration)) {
		show_end(cluster, flight, migration);
	} else if (strcmp(phase, flight->phase) != 0) {
		terminal_say("%s/%s: %s%s%s", flight->namespace, flight->vm,
			phase, *target == '\0' ? "" : ", to ", target);
		xreplace(&flight->phase, phase);
	}
}

static void end_of_nothing(struct flight *flight)
{
	if (flight->is_uncertain) {
		end(flight, FLIGHT_FAILED,
			"not ordered:", "the server did not answer");
	} else {
		end(flight, FLIGHT_FAILED,
			"cancelled:", "somebody deleted the migration");
	}
}

/* Looks at one migration. A server that does not answer is asked again. */
static int look(struct cluster *cluster, struct flight *flight,
	uint64_t *heard_us, struct error *err)
{
	scoped_free char *path = path_of(flight, flight->migration);
	struct json_value *migration = NULL;
	int r = cluster_get(&migration, cluster, path, err);

	if (r == -ENOENT) {
		*heard_us = clock_monotonic_us();
		cluster_forgive(cluster);
		end_of_nothing(flight);
		return 0;
	}
	if (r < 0) {
		return clock_monotonic_us() - *heard_us < SILENCE_US &&
				r != -EACCES
			? 0
			: r;
	}
	*heard_us = clock_monotonic_us();
	r = flight->is_uncertain ? accepted(cluster, flight, migration, err)
				 : 0;
	if (r == 0) {
		show(cluster, flight, migration);
	}
	json_value_free(migration);
	return r;
}

/* Orders as many as may move at once. */
static int order_next(struct flights *flights, struct error *err)
{
	size_t moving = flights_in_state(flights, FLIGHT_MOVES);
	int r = 0;

	for (size_t i = 0;
		r == 0 && i < flights->count && moving < flights->parallel;
		i++) {
		if (flights->list[i].state == FLIGHT_WAITS) {
			r = order(flights->cluster, &flights->list[i], err);
			moving += flights->list[i].state == FLIGHT_MOVES;
		}
	}
	return r;
}

static int cancel_all(struct flights *flights, struct error *err)
{
	for (size_t i = 0; i < flights->count; i++) {
		struct flight *flight = &flights->list[i];
		int r = 0;

		if (flight->state == FLIGHT_MOVES) {
			r = cancel(flights->cluster, flight, err);
		}
		if (r < 0 && r != -ENOENT) {
			return r;
		}
		if (flight->state == FLIGHT_MOVES) {
			end(flight, FLIGHT_FAILED, "cancelled", "");
		}
	}
	return 0;
}

static int interrupted(struct flights *flights, struct interrupt *interrupt,
	struct error *err)
{
	size_t moving = flights_in_state(flights, FLIGHT_MOVES);
	scoped_free char *question =
		xasprintf("\nCancel %zu migration%s that move%s now?", moving,
			moving == 1 ? "" : "s", moving == 1 ? "s" : "");

	interrupt_close(interrupt);
	cluster_forgive(flights->cluster);
	if (moving == 0) {
		return error_set(err, -EINTR, "interrupted");
	}
	if (terminal_confirm(question)) {
		int r = cancel_all(flights, err);

		return r < 0 ? r : error_set(err, -EINTR, "interrupted");
	}
	return error_set(err, -EINTR,
		"interrupted; %zu migration%s go%s on: kubectl get "
		"virtualmachineinstancemigrations",
		moving, moving == 1 ? "" : "s", moving == 1 ? "es" : "");
}

/* One look at everything that moves. */
static int look_at_all(struct flights *flights, uint64_t *heard_us,
	struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < flights->count; i++) {
		if (flights->list[i].state == FLIGHT_MOVES) {
			r = look(flights->cluster, &flights->list[i], heard_us,
				err);
		}
	}
	return r;
}

int flights_run(struct flights *flights, struct error *err)
{
	struct interrupt interrupt = interrupt_open();
	uint64_t heard_us = clock_monotonic_us(); /* the last answer */
	int r = 0;

	for (;;) {
		r = order_next(flights, err);
		if (r == 0) {
			r = look_at_all(flights, &heard_us, err);
		}
		/* A signal also ended the kubectl that ran. */
		if (interrupt_wait(&interrupt, 0)) {
			return interrupted(flights, &interrupt, err);
		}
		if (r < 0 ||
			(flights_in_state(flights, FLIGHT_WAITS) == 0 &&
				flights_in_state(flights, FLIGHT_MOVES) == 0)) {
			break;
		}
		if (interrupt_wait(&interrupt, POLL_MS)) {
			return interrupted(flights, &interrupt, err);
		}
	}
	interrupt_close(&interrupt);
	return r;
}
