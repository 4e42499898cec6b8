#include "kubectl/migrations.h"

#include "kube/json_value.h"
#include "kubectl/api_client.h"
#include "kubectl/fields.h"
#include "kubectl/figures.h"
#include "kubectl/flags.h"
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

void migrations_add(struct migrations *migrations,
	const struct vm_migration *move)
{
	migrations->list = xgrow(migrations->list, migrations->count,
		&migrations->capacity, sizeof(*migrations->list));
	migrations->list[migrations->count++] = (struct vm_migration){
		.namespace = xstrdup(move->namespace),
		.vm = xstrdup(move->vm),
		.selector =
			move->selector == NULL ? NULL : xstrdup(move->selector),
		.migration = move->migration == NULL ? NULL
						     : xstrdup(move->migration),
		.phase = xstrdup(""),
		.state = move->migration == NULL ? MIGRATION_WAITS
						 : MIGRATION_MOVES,
		.began_s = (double)clock_monotonic_us() / 1e6,
	};
}

void migrations_fini(struct migrations *migrations)
{
	for (size_t i = 0; i < migrations->count; i++) {
		free(migrations->list[i].namespace);
		free(migrations->list[i].vm);
		free(migrations->list[i].selector);
		free(migrations->list[i].migration);
		free(migrations->list[i].phase);
	}
	free(migrations->list);
	migrations->list = NULL;
	migrations->count = migrations->capacity = 0;
}

size_t migrations_in_state(const struct migrations *migrations,
	enum migration_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < migrations->count; i++) {
		count += migrations->list[i].state == state;
	}
	return count;
}

static bool is_phase(const struct json_value *migration, const char *phase)
{
	return strcmp(json_value_text_at(migration, "status/phase", ""),
		       phase) == 0;
}

bool migrations_has_ended(const struct json_value *migration)
{
	return is_phase(migration, "Succeeded") ||
		is_phase(migration, "Failed");
}

int migrations_select_node(char **out, struct api_client *client,
	const char *node, struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(BODY_MAX);
	scoped_free char *path = xasprintf("/api/v1/nodes/%s", node);
	struct json_value *object = NULL;
	int r = api_client_get(&object, client, path, err);
	const char *label;
	struct json j = json_into(&text);

	if (r == -EACCES) { /* nearly always they are the same */
		api_client_forgive(client);
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

static char *path_of(const struct vm_migration *move, const char *name)
{
	return xasprintf(KUBEVIRT_API
		"/namespaces/%s/virtualmachineinstancemigrations%s%s",
		move->namespace, *name == '\0' ? "" : "/", name);
}

static int cancel(struct api_client *client, const struct vm_migration *move,
	struct error *err)
{
	scoped_free char *path = path_of(move, move->migration);
	const char *const arguments[] = { "delete", "--raw", path, NULL };

	return api_client_run(NULL, client, arguments, NULL, err);
}

static void put_body(struct buffer *body, const struct vm_migration *move)
{
	struct json j = json_into(body);

	json_object(&j, NULL);
	json_string(&j, "apiVersion", "kubevirt.io/v1");
	json_string(&j, "kind", "VirtualMachineInstanceMigration");
	json_object(&j, "metadata");
	json_string(&j, "name", move->migration);
	json_string(&j, "namespace", move->namespace);
	json_object_end(&j);
	json_object(&j, "spec");
	json_string(&j, "vmiName", move->vm);
	if (move->selector != NULL) {
		json_raw(&j, "addedNodeSelector", move->selector);
	}
	json_object_end(&j);
	json_object_end(&j);
}

/* KubeVirt before 1.6 drops the selector, and the VM would go anywhere. */
static int check_selector(struct api_client *client,
	const struct vm_migration *move, const struct json_value *answer,
	struct error *err)
{
	if (move->selector == NULL ||
		json_value_count(
			json_value_at(answer, "spec/addedNodeSelector")) > 0) {
		return 0;
	}
	if (cancel(client, move, err) < 0) {
		api_client_forgive(client);
	}
	return error_set(err, -ENOTSUP,
		"this KubeVirt cannot move a VM to a chosen node: version 1.6 "
		"or newer can");
}

/* The API server has the migration. */
static int accepted(struct api_client *client, struct vm_migration *move,
	const struct json_value *migration, struct error *err)
{
	int r = check_selector(client, move, migration, err);

	move->is_uncertain = false;
	if (r < 0) {
		move->state = MIGRATION_FAILED;
		return r;
	}
	terminal_say("%s/%s: ordered", move->namespace, move->vm);
	return 0;
}

/* A refusal concerns one VM, and the others go on. */
static void refused(struct api_client *client, struct vm_migration *move, int r)
{
	struct buffer *words = &client->complaint;

	for (char *at = words->data; (at = strchr(at, '\n')) != NULL;) {
		*at = at[1] == '\0' ? '\0' : ' ';
	}
	terminal_say("%s/%s: refused: %s", move->namespace, move->vm,
		words->data);
	if (r == -EACCES) {
		terminal_say(
			"The ClusterRole kubevirt.io:migrate has this right: "
			"ask for a RoleBinding to it in namespace %s.",
			move->namespace);
	}
	move->state = MIGRATION_FAILED;
	api_client_forgive(client);
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

static int order(struct api_client *client, struct vm_migration *move,
	struct error *err)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	scoped_free char *path = path_of(move, "");
	struct json_value *answer = NULL;
	int r;

	free(move->migration);
	move->migration = make_name();
	put_body(&body, move);
	if (body.overflowed) {
		return error_set(err, -E2BIG, "the node selector is too long");
	}
	move->state = MIGRATION_MOVES;
	move->began_s = (double)clock_monotonic_us() / 1e6;
	r = api_client_post(&answer, client, path, body.data, err);
	if (r < 0 && client->status == 0) { /* kubectl cannot run */
		move->state = MIGRATION_WAITS;
		return r;
	}
	if (r < 0 && api_client_is_refused(client)) {
		refused(client, move, r);
		return 0;
	}
	move->is_uncertain = r < 0;
	r = r < 0 ? 0 : accepted(client, move, answer, err);
	json_value_free(answer);
	return r;
}

static void end(struct vm_migration *move, enum migration_state state,
	const char *words, const char *detail)
{
	char age[FIGURE_MAX];

	move->state = state;
	terminal_say("%s/%s: %s%s%s after %s", move->namespace, move->vm, words,
		*detail == '\0' ? "" : " ", detail,
		figure_age(age,
			(double)clock_monotonic_us() / 1e6 - move->began_s));
}

/* A text of the VM's own state, which has it earlier than the migration. */
static char *text_of_vmi(struct api_client *client,
	const struct vm_migration *move, const char *at)
{
	scoped_free char *path = xasprintf(KUBEVIRT_API
		"/namespaces/%s/virtualmachineinstances/%s",
		move->namespace, move->vm);
	struct json_value *vmi = NULL;
	char *text;

	if (api_client_get(&vmi, client, path, NULL) < 0) {
		api_client_forgive(client);
	}
	text = field_text(vmi, at, "");
	json_value_free(vmi);
	return text;
}

static void show_end(struct api_client *client, struct vm_migration *move,
	const struct json_value *migration)
{
	bool is_failed = is_phase(migration, "Failed");
	scoped_free char *detail = field_text(migration,
		is_failed ? "status/migrationState/failureReason"
			  : "status/migrationState/targetNode",
		"");

	if (*detail == '\0') {
		free(detail);
		detail = text_of_vmi(client, move,
			is_failed ? "status/migrationState/failureReason"
				  : "status/nodeName");
	}
	if (is_failed) {
		end(move, MIGRATION_FAILED,
			*detail == '\0' ? "failed" : "failed:", detail);
	} else {
		end(move, MIGRATION_ARRIVED,
			*detail == '\0' ? "moved" : "moved to", detail);
	}
}

static void show(struct api_client *client, struct vm_migration *move,
	const struct json_value *migration)
{
	scoped_free char *phase =
		field_text(migration, "status/phase", "Pending");
	scoped_free char *target =
		field_text(migration, "status/migrationState/targetNode", "");

	if (migrations_has_ended(migration)) {
		show_end(client, move, migration);
	} else if (strcmp(phase, move->phase) != 0) {
		terminal_say("%s/%s: %s%s%s", move->namespace, move->vm, phase,
			*target == '\0' ? "" : ", to ", target);
		xreplace(&move->phase, phase);
	}
}

static void end_of_nothing(struct vm_migration *move)
{
	if (move->is_uncertain) {
		end(move, MIGRATION_FAILED,
			"not ordered:", "the server did not answer");
	} else {
		end(move, MIGRATION_FAILED,
			"cancelled:", "somebody deleted the migration");
	}
}

/* Polls one migration. A server that does not answer is asked again. */
static int poll_one(struct api_client *client, struct vm_migration *move,
	uint64_t *heard_us, struct error *err)
{
	scoped_free char *path = path_of(move, move->migration);
	struct json_value *migration = NULL;
	int r = api_client_get(&migration, client, path, err);

	if (r == -ENOENT) {
		*heard_us = clock_monotonic_us();
		api_client_forgive(client);
		end_of_nothing(move);
		return 0;
	}
	if (r < 0) {
		return clock_monotonic_us() - *heard_us < SILENCE_US &&
				r != -EACCES
			? 0
			: r;
	}
	*heard_us = clock_monotonic_us();
	r = move->is_uncertain ? accepted(client, move, migration, err) : 0;
	if (r == 0) {
		show(client, move, migration);
	}
	json_value_free(migration);
	return r;
}

/* Orders as many as may move at once. */
static int order_next(struct migrations *migrations, struct error *err)
{
	size_t moving = migrations_in_state(migrations, MIGRATION_MOVES);
	int r = 0;

	for (size_t i = 0; r == 0 && i < migrations->count &&
		moving < migrations->parallel;
		i++) {
		if (migrations->list[i].state == MIGRATION_WAITS) {
			r = order(migrations->client, &migrations->list[i],
				err);
			moving += migrations->list[i].state == MIGRATION_MOVES;
		}
	}
	return r;
}

static int cancel_all(struct migrations *migrations, struct error *err)
{
	for (size_t i = 0; i < migrations->count; i++) {
		struct vm_migration *move = &migrations->list[i];
		int r = 0;

		if (move->state == MIGRATION_MOVES) {
			r = cancel(migrations->client, move, err);
		}
		if (r < 0 && r != -ENOENT) {
			return r;
		}
		if (move->state == MIGRATION_MOVES) {
			end(move, MIGRATION_FAILED, "cancelled", "");
		}
	}
	return 0;
}

static int interrupted(struct migrations *migrations,
	struct interrupt *interrupt, struct error *err)
{
	size_t moving = migrations_in_state(migrations, MIGRATION_MOVES);
	scoped_free char *question =
		xasprintf("\nCancel %zu migration%s that move%s now?", moving,
			moving == 1 ? "" : "s", moving == 1 ? "s" : "");

	interrupt_close(interrupt);
	api_client_forgive(migrations->client);
	if (moving == 0) {
		return error_set(err, -EINTR, "interrupted");
	}
	if (terminal_confirm(question)) {
		int r = cancel_all(migrations, err);

		return r < 0 ? r : error_set(err, -EINTR, "interrupted");
	}
	return error_set(err, -EINTR,
		"interrupted; %zu migration%s go%s on: kubectl get "
		"virtualmachineinstancemigrations",
		moving, moving == 1 ? "" : "s", moving == 1 ? "es" : "");
}

/* Polls everything that moves. */
static int poll_all(struct migrations *migrations, uint64_t *heard_us,
	struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < migrations->count; i++) {
		if (migrations->list[i].state == MIGRATION_MOVES) {
			r = poll_one(migrations->client, &migrations->list[i],
				heard_us, err);
		}
	}
	return r;
}

int migrations_run(struct migrations *migrations, struct error *err)
{
	struct interrupt interrupt = interrupt_open();
	uint64_t heard_us = clock_monotonic_us(); /* the last answer */
	int r = 0;

	for (;;) {
		r = order_next(migrations, err);
		if (r == 0) {
			r = poll_all(migrations, &heard_us, err);
		}
		/* A signal also ended the kubectl that ran. */
		if (interrupt_wait(&interrupt, 0)) {
			return interrupted(migrations, &interrupt, err);
		}
		if (r < 0 ||
			(migrations_in_state(migrations, MIGRATION_WAITS) ==
					0 &&
				migrations_in_state(migrations,
					MIGRATION_MOVES) == 0)) {
			break;
		}
		if (interrupt_wait(&interrupt, POLL_MS)) {
			return interrupted(migrations, &interrupt, err);
		}
	}
	interrupt_close(&interrupt);
	return r;
}
