#include "scheduler/kubevirt/orders.h"

#include "kube/client.h"
#include "kube/json_value.h"
#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { BODY_MAX = 16384 };
/* A watch that was interrupted has this long to deliver what it missed. */
#define WATCH_AGAIN_US UINT64_C(10000000)

enum order_kind { ORDER_CREATE, ORDER_DELETE };

enum order_state {
	ORDER_SENT,
	ORDER_BLIND,   /* a deletion: the watch has to deliver the migration */
	ORDER_UNKNOWN, /* no clear answer: the watch decides */
	ORDER_FAILED,  /* told at the next poll */
};

struct order {
	struct orders *orders;
	LIST_ENTRY(order) link;
	enum order_kind kind;
	enum order_state state;
	char *move_id, *name;
	char *error;	 /* "": none */
	bool is_settled; /* the watch has shown that it worked */
	struct kube_request *request;
	uint64_t deadline_us; /* of ORDER_BLIND and ORDER_UNKNOWN */
};

struct orders {
	struct kube_client *client;
	orders_done done;
	void *owner;
	LIST_HEAD(order_list, order) open;
	size_t count;
};

struct orders *orders_new(struct kube_client *client, orders_done done,
	void *owner)
{
	struct orders *orders = xcalloc(1, sizeof(*orders));

	LIST_INIT(&orders->open);
	orders->client = client;
	orders->done = done;
	orders->owner = owner;
	return orders;
}

static void order_free(struct order *order)
{
	LIST_REMOVE(order, link);
	order->orders->count--;
	kube_request_cancel(order->request);
	free(order->move_id);
	free(order->name);
	free(order->error);
	free(order);
}

void orders_close(struct orders *orders)
{
	if (orders == NULL) {
		return;
	}
	for (struct order *order = LIST_FIRST(&orders->open), *next;
		order != NULL; order = next) {
		next = LIST_NEXT(order, link);
		order_free(order);
	}
	free(orders);
}

static struct order *add(struct orders *orders, enum order_kind kind,
	const char *move_id)
{
	struct order *order = xcalloc(1, sizeof(*order));

	order->orders = orders;
	order->kind = kind;
	order->move_id = xstrdup(move_id);
	order->name = xstrdup("");
	order->error = xstrdup("");
	LIST_INSERT_HEAD(&orders->open, order, link);
	orders->count++;
	return order;
}

static struct order *find(const struct orders *orders, enum order_kind kind,
	const char *move_id)
{
	struct order *order = NULL;

	LIST_FOREACH (order, &orders->open, link) {
		if (order->kind == kind &&
			strcmp(order->move_id, move_id) == 0) {
			break;
		}
	}
	return order;
}

static void fail_later(struct order *order, const char *error)
{
	order->state = ORDER_FAILED;
	xreplace(&order->error, error);
}

/* Frees order. A deletion that waits for a migration which was not created has
 * failed, too. */
static void finish(struct order *order, const char *error)
{
	struct orders *orders = order->orders;
	struct order *other = find(orders, ORDER_DELETE, order->move_id);
	scoped_free char *text = xstrdup(error);

	if (order->kind == ORDER_CREATE && *text != '\0' && other != NULL &&
		other->state == ORDER_BLIND) {
		fail_later(other, "the migration was not created");
	}
	order->request = NULL;
	orders->done(orders->owner, order->move_id, order->name, text);
	order_free(order);
}

/* ---- answers ---- */

/* The API server may have done what was asked, or may still do it. */
static bool is_unknown(int status)
{
	return status == 0 || status == 408 || status >= 500;
}

static void await_watch(struct order *order,
	const struct http_response *response)
{
	if (order->is_settled) {
		finish(order, "");
		return;
	}
	order->request = NULL;
	order->state = ORDER_UNKNOWN;
	order->deadline_us = clock_monotonic_us() + ORDERS_UNKNOWN_US;
	xreplace(&order->error, response->error);
}

static bool has_reason(const struct http_response *response, const char *reason)
{
	struct json_value *root = NULL;
	bool has;

	if (json_value_parse(&root, response->body, response->len, NULL) < 0) {
		return false;
	}
	has = strcmp(json_value_text_at(root, "reason", ""), reason) == 0;
	json_value_free(root);
	return has;
}

static void on_created(void *owner, const struct http_response *response)
{
	struct order *order = owner;

	if (response->status / 100 == 2 ||
		(response->status == 409 &&
			has_reason(response, "AlreadyExists"))) {
		finish(order, "");
	} else if (is_unknown(response->status)) {
		await_watch(order, response);
	} else {
		finish(order, response->error);
	}
}

/* 404 and 409 (another uid): our migration is gone. */
static void on_deleted(void *owner, const struct http_response *response)
{
	struct order *order = owner;

	if (response->status / 100 == 2 || response->status == 404 ||
		response->status == 409) {
		finish(order, "");
	} else if (is_unknown(response->status)) {
		await_watch(order, response);
	} else {
		finish(order, response->error);
	}
}

/* ---- requests ---- */

static void put_seconds(struct json *j, const char *key, unsigned seconds)
{
	scoped_free char *text = xasprintf("%u", seconds);

	json_string(j, key, text);
}

static char *name_of(const char *move_id)
{
	return xasprintf(KUBEVIRT_MOVE_PREFIX "%s", move_id);
}

static void put_metadata(struct json *j, const struct kubevirt_order *order)
{
	scoped_free char *name = name_of(order->move_id);

	json_object(j, "metadata");
	json_string(j, "name", name);
	json_string(j, "namespace", order->namespace);
	json_object(j, "labels");
	json_string(j, KUBEVIRT_MOVE_LABEL, order->move_id);
	json_string(j, "app.kubernetes.io/managed-by", "plimsoll-scheduler");
	json_object_end(j);
	json_object(j, "annotations");
	put_seconds(j, "kubevirt.io/migrationUnschedulablePodTimeoutSeconds",
		order->unschedulable_s);
	put_seconds(j, "kubevirt.io/migrationPendingPodTimeoutSeconds",
		order->pending_s);
	json_object_end(j);
	json_object_end(j);
}

void orders_manifest(struct buffer *out, const struct kubevirt_order *order)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "apiVersion", "kubevirt.io/v1");
	json_string(&j, "kind", "VirtualMachineInstanceMigration");
	put_metadata(&j, order);
	json_object(&j, "spec");
	json_string(&j, "vmiName", order->vmi_name);
	json_object(&j, "addedNodeSelector");
	json_string(&j, "kubernetes.io/hostname", order->hostname);
	json_object_end(&j);
	json_object_end(&j);
	json_object_end(&j);
}

#define PATH                                                                   \
	"/apis/kubevirt.io/v1/namespaces/%s/virtualmachineinstancemigrations"

static void send_request(struct order *order, struct kube_call call,
	const struct buffer *body)
{
	order->state = ORDER_SENT;
	call.body = body->data;
	call.len = body->len;
	call.owner = order;
	order->request = kube_request_send(order->orders->client, &call);
}

void orders_create(struct orders *orders, const struct kubevirt_order *wanted)
{
	struct order *order = add(orders, ORDER_CREATE, wanted->move_id);
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	scoped_free char *path = xasprintf(PATH, wanted->namespace);

	free(order->name);
	order->name = name_of(wanted->move_id);
	orders_manifest(&body, wanted);
	if (orders->count > ORDERS_MAX || body.overflowed) {
		fail_later(order, "too many orders are open");
		return;
	}
	send_request(order,
		(struct kube_call){ .method = "POST",
			.path = path,
			.on_done = on_created },
		&body);
}

static void send_delete(struct order *order, const struct migration *migration)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	scoped_free char *path =
		xasprintf(PATH "/%s", migration->namespace, migration->name);
	struct json j = json_into(&body);

	json_object(&j, NULL);
	json_string(&j, "apiVersion", "v1");
	json_string(&j, "kind", "DeleteOptions");
	json_object(&j, "preconditions");
	json_string(&j, "uid", migration->uid);
	json_object_end(&j);
	json_object_end(&j);
	xreplace(&order->name, migration->name);
	send_request(order,
		(struct kube_call){ .method = "DELETE",
			.path = path,
			.on_done = on_deleted },
		&body);
}

void orders_delete(struct orders *orders, const char *move_id,
	const struct migration *migration)
{
	bool is_open = find(orders, ORDER_CREATE, move_id) != NULL;
	struct order *order = add(orders, ORDER_DELETE, move_id);

	if (orders->count > ORDERS_MAX) {
		fail_later(order, "too many orders are open");
	} else if (migration != NULL) {
		send_delete(order, migration);
	} else if (is_open) {
		order->state = ORDER_BLIND;
		order->deadline_us = clock_monotonic_us() + ORDERS_UNKNOWN_US;
	} else {
		fail_later(order, "no migration of this move is known");
	}
}

/* ---- the watch decides ---- */

/* The watch has shown that the order worked. An order whose answer is under way
 * waits for the answer. */
static void settle(struct order *order)
{
	if (order->state == ORDER_SENT) {
		order->is_settled = true;
	} else if (order->state != ORDER_FAILED) {
		finish(order, "");
	}
}

static void see(struct order *order, const struct migration *migration)
{
	if (order->kind == ORDER_CREATE || migration->is_deleting ||
		migration_is_finished(migration)) {
		settle(order);
	} else if (order->state == ORDER_BLIND) {
		send_delete(order, migration);
	}
}

void orders_seen(struct orders *orders, const struct migration *migration)
{
	for (struct order *order = LIST_FIRST(&orders->open), *next;
		order != NULL; order = next) {
		next = LIST_NEXT(order, link);
		if (strcmp(order->move_id, migration->move_id) == 0) {
			see(order, migration);
		}
	}
}

void orders_gone(struct orders *orders, const struct migration *migration)
{
	struct order *order = find(orders, ORDER_DELETE, migration->move_id);

	if (order != NULL) {
		settle(order);
	}
}

static void expire(struct order *order, bool is_watching, uint64_t now_us)
{
	scoped_free char *error = NULL;

	if (now_us < order->deadline_us) {
		return;
	}
	if (!is_watching) {
		order->deadline_us = now_us + WATCH_AGAIN_US;
		return;
	}
	error = xasprintf("the migration was not %s%s%s",
		order->kind == ORDER_CREATE ? "created" : "deleted",
		*order->error == '\0' ? "" : ": ", order->error);
	finish(order, error);
}

void orders_poll(struct orders *orders, bool is_watching, uint64_t now_us)
{
	for (struct order *order = LIST_FIRST(&orders->open), *next;
		order != NULL; order = next) {
		next = LIST_NEXT(order, link);
		if (order->state == ORDER_FAILED) {
			finish(order, order->error);
		} else if (order->state != ORDER_SENT) {
			expire(order, is_watching, now_us);
		}
	}
}
