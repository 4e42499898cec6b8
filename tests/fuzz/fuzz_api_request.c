/* A request to the Kubernetes API, from any user. Input lines are path, label
 * selector, field selector, continue token, Accept header and fields. */
#include "aggregator/apiserver/accept.h"
#include "aggregator/apiserver/field_cells.h"
#include "aggregator/apiserver/load_objects.h"
#include "aggregator/apiserver/page_token.h"
#include "aggregator/apiserver/record_objects.h"
#include "aggregator/apiserver/rest_path.h"
#include "aggregator/apiserver/tenant_text.h"
#include "kube/selector.h"

#include "lib/http/accept_header.h"
#include "lib/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One text is the pod and both sentences of a record. */
static void read_record(const char *text)
{
	struct move_record move = { .namespace = "shop",
		.reason = MOVE_FOR_ROOM };
	struct decision_record *decision = xcalloc(1, sizeof(*decision));
	char *told[3];

	(void)snprintf(move.room_for, sizeof(move.room_for), "%s", text);
	(void)snprintf(move.sentence, sizeof(move.sentence), "%s", text);
	(void)snprintf(move.failure, sizeof(move.failure), "%s", text);
	(void)snprintf(decision->sentence, sizeof(decision->sentence), "%s",
		text);
	told[0] = tenant_move_sentence(&move);
	told[1] = tenant_move_failure(&move);
	told[2] = tenant_decision_sentence(decision);
	for (size_t i = 0; i < count_of(told); i++) {
		assert(strlen(told[i]) <= strlen(text) + 32);
		free(told[i]);
	}
	free(decision);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has(const void *owner, const char *key,
	const struct selector_values *values)
{
	(void)owner;
	return selector_values_have(values, key);
}

static void select_by(
	int (*parse)(struct selector *, const char *, struct error *),
	const char *text)
{
	struct selector selector = { 0 };

	if (parse(&selector, text, NULL) == 0) {
		assert(selector.terms.count <= SELECTOR_TERMS_MAX);
		(void)selector_matches(&selector,
			&(struct selector_object){ has, NULL });
		assert(selector_check_keys(&selector, "a b", NULL) <= 0);
	}
	selector_fini(&selector);
}

static void go_on_after(const char *token)
{
	char key[PAGE_KEY_MAX];

	if (page_token_read(key, token, 7, "moves", NULL) == 0 &&
		key[0] != '\0') {
		scoped_free char *again = page_token_write(7, "moves", key);
		char same[PAGE_KEY_MAX];

		assert(page_token_read(same, again, 7, "moves", NULL) == 0);
		assert(strcmp(same, key) == 0);
	}
}

static void read_path(const char *text)
{
	struct rest_path path;
	char pod[DECISION_NAME_MAX];
	uint64_t wall_us;

	if (rest_path_parse(&path, text, NULL) == 0) {
		(void)decision_object_parse_name(pod, &wall_us, path.name);
	}
}

/* The cells of an object when nothing is known. */
static void write_cells(const char *text, enum api_kind kind,
	const void *object)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	const struct api_item item = { .kind = kind,
		.namespace = "",
		.name = "n",
		.object = object };
	struct json j = json_into(&out);
	struct field_cells *cells;

	if (field_cells_parse(&cells, text, kind, NULL) == 0) {
		field_cells_begin(&j, cells);
		field_cells_write(&j, cells, &item);
		api_end_list(&j, &(struct api_list_end){ 0, NULL, 0 });
		assert(!out.overflowed && j.depth == 0);
		field_cells_free(cells);
	}
}

static void read_fields(const char *text)
{
	struct node_object node = { 0 };
	struct vm_object vm = { 0 };

	write_cells(text, API_NODE_LOADS, &node);
	write_cells(text, API_VM_LOADS, &vm);
}

static void read_accept(const char *header)
{
	int q = accept_header_q(header, "text/html");

	(void)accept_choose(header, ~0u);
	(void)accept_header_takes_gzip(header);
	assert(q >= 0 && q <= ACCEPT_Q_ONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_free char *text = xstrndup((const char *)data, size);
	const char *lines[6] = { "", "", "", "", "", "" };
	char *at = text;

	for (size_t i = 0; i < count_of(lines) && at != NULL; i++) {
		lines[i] = strsep(&at, "\n");
	}
	read_path(lines[0]);
	select_by(selector_parse_labels, lines[1]);
	select_by(selector_parse_fields, lines[2]);
	go_on_after(lines[3]);
	read_accept(lines[4]);
	read_fields(lines[5]);
	read_record(lines[0]);
	return 0;
}
