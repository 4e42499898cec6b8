/* Snapshots on the wire: every figure there and back, and every refusal. */
#include "proto/wire.h"

#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/random.h"

#include <errno.h>
#include <math.h>
#include <plimsoll.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 16 << 20, ROUNDS = 150 };

static const uint8_t *bytes_of(const struct buffer *b)
{
	return (const uint8_t *)(b->data == NULL ? "" : b->data);
}

/* ---- synthetic snapshots ---- */

static double some_figure(uint64_t *seed)
{
	return random_pick(seed, 3) == 0
		? NAN
		: (double)random_pick(seed, 1000000) / 7;
}

static uint64_t some_total(uint64_t *seed)
{
	return random_pick(seed, 3) == 0
		? REPORT_UNKNOWN
		: random_next(seed) >> random_pick(seed, 64);
}

static void fill_vm(struct vm_load *vm, uint64_t *seed)
{
	vm_load_init(vm);
	(void)snprintf(vm->pod_uid, sizeof(vm->pod_uid), "uid-%u",
		random_pick(seed, 1000000));
#define X(field, ...) vm->field = some_figure(seed);
	VM_LOAD_FIELDS(X)
#undef X
}

enum { LOAD_VMS = 8 };

static void name_vms(struct node_load *load, uint64_t *seed)
{
	char texts[LOAD_VMS][2][16];
	struct vm_name names[LOAD_VMS] = { { NULL, NULL } };

	for (size_t i = 0; i < load->vm_count; i++) {
		if (random_pick(seed, 2) == 0) {
			(void)snprintf(texts[i][0], sizeof(texts[i][0]),
				"ns-%u", random_pick(seed, 1000));
			(void)snprintf(texts[i][1], sizeof(texts[i][1]),
				"vm-%u", random_pick(seed, 1000));
			names[i] = (struct vm_name){ texts[i][0], texts[i][1] };
		}
	}
	node_load_name_vms(load, names);
}

static void fill_load(struct node_load *load, uint64_t *seed)
{
	node_load_init(load);
	load->name = xasprintf("node-%u", random_pick(seed, 1000));
	load->age_us = random_next(seed) >> (4 + random_pick(seed, 60));
	load->interval_ms = random_pick(seed, 100000);
	load->kvm_state = (enum kvm_state)random_pick(seed, KVM_STATES);
	if (random_pick(seed, 2) == 0) {
		(void)snprintf(load->kvm_detail, sizeof(load->kvm_detail),
			"KVM_RUN: exit reason %u", random_pick(seed, 40));
	}
	load->hugepages_count = random_pick(seed, REPORT_HUGEPAGE_SIZES + 1);
	for (size_t i = 0; i < load->hugepages_count; i++) {
		load->hugepages[i] = (struct hugepages){ some_total(seed),
			some_total(seed), some_total(seed), some_total(seed) };
	}
	for (size_t i = 0; i < load_field_count; i++) {
		*load_field_of(load, &load_fields[i]) = some_figure(seed);
	}
	load->vm_count = random_pick(seed, LOAD_VMS);
	load->vms = xcalloc(load->vm_count, sizeof(*load->vms));
	for (size_t i = 0; i < load->vm_count; i++) {
		fill_vm(&load->vms[i], seed);
	}
	name_vms(load, seed);
}

static void fill_snapshot(struct snapshot *s, uint64_t *seed)
{
	*s = (struct snapshot){ .epoch = random_next(seed),
		.rev = random_next(seed) >> random_pick(seed, 64),
		.full = random_pick(seed, 2) != 0,
		.count = random_pick(seed, 10) };
	s->nodes = xcalloc(s->count, sizeof(*s->nodes));
	for (size_t i = 0; i < s->count; i++) {
		fill_load(&s->nodes[i], seed);
	}
}

/* ---- there and back ---- */

static void same_number(double a, double b)
{
	assert_true(isnan(a) ? isnan(b) : a == b);
}

static void same_text(const char *a, const char *b)
{
	if (a == NULL || b == NULL) {
		assert_ptr_equal(a, b);
		return;
	}
	assert_string_equal(a, b);
}

static void same_vm(const struct vm_load *a, const struct vm_load *b)
{
	assert_string_equal(a->pod_uid, b->pod_uid);
	same_text(a->namespace, b->namespace);
	same_text(a->name, b->name);
#define X(field, ...) same_number(a->field, b->field);
	VM_LOAD_FIELDS(X)
#undef X
}

static void same_load(struct node_load *a, struct node_load *b)
{
	assert_string_equal(a->name, b->name);
	assert_true(a->age_us == b->age_us);
	assert_int_equal(a->interval_ms, b->interval_ms);
	assert_int_equal(a->kvm_state, b->kvm_state);
	assert_string_equal(a->kvm_detail, b->kvm_detail);
	assert_int_equal(a->hugepages_count, b->hugepages_count);
	for (size_t i = 0; i < a->hugepages_count; i++) {
		/* Four numbers and no padding. */
		assert_memory_equal(&a->hugepages[i], &b->hugepages[i],
			sizeof(a->hugepages[i]));
	}
	for (size_t i = 0; i < load_field_count; i++) {
		same_number(*load_field_of(a, &load_fields[i]),
			*load_field_of(b, &load_fields[i]));
	}
	assert_int_equal(a->vm_count, b->vm_count);
	for (size_t i = 0; i < a->vm_count; i++) {
		same_vm(&a->vms[i], &b->vms[i]);
	}
}

static void check_round_trip(struct snapshot *sent)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(BYTES_MAX);
	struct wire_reply got;
	size_t most = 64; /* without nodes */

	wire_pack_snapshot(&bytes, sent);
	assert_false(bytes.overflowed);
	for (size_t i = 0; i < sent->count; i++) {
		most += wire_node_load_bytes(&sent->nodes[i]);
	}
	assert_in_range(bytes.len, 1, most);
	assert_int_equal(
		wire_unpack_reply(&got, bytes_of(&bytes), bytes.len, NULL), 0);
	assert_int_equal(got.kind, WIRE_SNAPSHOT);
	assert_true(got.snapshot.epoch == sent->epoch);
	assert_true(got.snapshot.rev == sent->rev);
	assert_int_equal(got.snapshot.full, sent->full);
	assert_int_equal(got.snapshot.count, sent->count);
	for (size_t i = 0; i < sent->count; i++) {
		same_load(&sent->nodes[i], &got.snapshot.nodes[i]);
	}
	wire_reply_fini(&got);
}

static void unpacks_any_snapshot_that_was_packed(void **state)
{
	uint64_t seed = 7473;
	struct snapshot sent;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		fill_snapshot(&sent, &seed);
		check_round_trip(&sent);
		snapshot_fini(&sent);
	}
	snapshot_fini(&sent);
	snapshot_fini(NULL);
}

/* ---- refusals ---- */

/* A good snapshot as generated code sees it. */
struct parts {
	Plimsoll__Snapshot snapshot;
	Plimsoll__NodeLoad load;
	Plimsoll__NodeLoad *loads[WIRE_NODES_MAX + 1];
	Plimsoll__HugePages huge;
	Plimsoll__HugePages *huges[REPORT_HUGEPAGE_SIZES + 1];
	Plimsoll__VmLoad vm;
	Plimsoll__VmLoad *vms[REPORT_VMS_MAX + 1];
	char name[REPORT_NODE_MAX + 1];
	char uid[REPORT_UID_MAX + 1];
	char detail[400];
};

static void make_parts(struct parts *p)
{
	memset(p, 0, sizeof(*p));
	plimsoll__snapshot__init(&p->snapshot);
	plimsoll__node_load__init(&p->load);
	plimsoll__huge_pages__init(&p->huge);
	plimsoll__vm_load__init(&p->vm);
	for (size_t i = 0; i < count_of(p->loads); i++) {
		p->loads[i] = &p->load;
	}
	for (size_t i = 0; i < count_of(p->huges); i++) {
		p->huges[i] = &p->huge;
	}
	for (size_t i = 0; i < count_of(p->vms); i++) {
		p->vms[i] = &p->vm;
	}
	p->snapshot.n_nodes = 1;
	p->snapshot.nodes = p->loads;
	memcpy(p->name, "worker-1", 9);
	memcpy(p->uid, "uid-1", 6);
	p->load.name = p->name;
	p->load.has_kvm_state = true;
	p->load.n_hugepages = REPORT_HUGEPAGE_SIZES;
	p->load.hugepages = p->huges;
	p->load.n_vms = 1;
	p->load.vms = p->vms;
	p->vm.pod_uid = p->uid;
}

static int send_parts(struct wire_reply *got, struct error *err,
	struct parts *p)
{
	Plimsoll__Reply reply = PLIMSOLL__REPLY__INIT;
	scoped_free uint8_t *bytes = NULL;
	size_t size;

	reply.kind_case = PLIMSOLL__REPLY__KIND_SNAPSHOT;
	reply.snapshot = &p->snapshot;
	size = plimsoll__reply__get_packed_size(&reply);
	bytes = xcalloc(size, 1);
	assert_int_equal(plimsoll__reply__pack(&reply, bytes), size);
	return wire_unpack_reply(got, bytes, size, err);
}

/* A way to make the parts wrong. */
#define SPOIL(name, how)                                                       \
	static void name(struct parts *p)                                      \
	{                                                                      \
		how;                                                           \
	}
SPOIL(no_name, p->load.name = NULL)
SPOIL(name_long, memset(p->name, 'n', REPORT_NODE_MAX))
SPOIL(name_blank, p->name[2] = ' ')
SPOIL(state_unknown, p->load.kvm_state = (Plimsoll__KvmState)KVM_STATES)
SPOIL(figure_nan, p->load.has_cpu_cores = true; p->load.cpu_cores = NAN)
SPOIL(figure_infinite, p->load.has_io_pressure_full = true;
	p->load.io_pressure_full = INFINITY)
SPOIL(figure_negative, p->load.has_memory_total_bytes = true;
	p->load.memory_total_bytes = -1)
SPOIL(vm_figure_nan, p->vm.has_contention = true; p->vm.contention = NAN)
SPOIL(no_uid, p->vm.pod_uid = NULL)
SPOIL(uid_long, memset(p->uid, 'u', REPORT_UID_MAX))
SPOIL(namespace_blank, memcpy(p->detail, "a b", 4);
	p->vm.namespace_ = p->detail)
SPOIL(vm_name_long, memset(p->detail, 'v', REPORT_NODE_MAX);
	p->vm.name = p->detail)
SPOIL(many_hugepages, p->load.n_hugepages = REPORT_HUGEPAGE_SIZES + 1)
SPOIL(many_vms, p->load.n_vms = REPORT_VMS_MAX + 1)
SPOIL(many_nodes, p->snapshot.n_nodes = WIRE_NODES_MAX + 1;
	p->load.n_hugepages = 0; p->load.n_vms = 0)

static const struct {
	void (*spoil)(struct parts *p);
	const char *reason;
} refusals[] = {
	{ no_name, "node has 0 bytes, not 1 to 253" },
	{ name_long, "node has 254 bytes, not 1 to 253" },
	{ name_blank, "node holds a byte that is not printable" },
	{ state_unknown, "kvm state has the unknown value 6" },
	{ figure_nan, "node_load.cpu_cores is negative or not finite" },
	{ figure_infinite,
		"node_load.io_pressure_full is negative or not finite" },
	{ figure_negative,
		"node_load.memory_total_bytes is negative or not finite" },
	{ vm_figure_nan, "vm_load.contention is negative or not finite" },
	{ no_uid, "pod_uid has 0 bytes, not 1 to 39" },
	{ uid_long, "pod_uid has 40 bytes, not 1 to 39" },
	{ namespace_blank, "namespace holds a byte that is not printable" },
	{ vm_name_long, "name has 254 bytes, not 1 to 253" },
	{ many_hugepages, "5 sizes of huge pages are too many" },
	{ many_vms, "2049 VMs on a node are too many" },
	{ many_nodes, "16385 nodes in a snapshot are too many" },
};

static void refuses_impossible_values_with_a_reason(void **state)
{
	scoped_free struct parts *p = xcalloc(1, sizeof(*p));
	struct wire_reply got;

	(void)state;
	for (size_t i = 0; i < count_of(refusals); i++) {
		struct error err = { 0 };

		make_parts(p);
		refusals[i].spoil(p);
		assert_int_equal(send_parts(&got, &err, p), -EBADMSG);
		assert_string_equal(err.text, refusals[i].reason);
	}
}

static void accepts_the_limits_themselves(void **state)
{
	scoped_free struct parts *p = xcalloc(1, sizeof(*p));
	struct wire_reply got;

	(void)state;
	make_parts(p);
	p->load.n_vms = REPORT_VMS_MAX;
	memset(p->name, 'n', REPORT_NODE_MAX - 1);
	assert_int_equal(send_parts(&got, NULL, p), 0);
	assert_int_equal(got.snapshot.nodes[0].vm_count, REPORT_VMS_MAX);
	wire_reply_fini(&got);
	make_parts(p);
	p->snapshot.n_nodes = WIRE_NODES_MAX;
	p->load.n_hugepages = 0;
	p->load.n_vms = 0;
	assert_int_equal(send_parts(&got, NULL, p), 0);
	assert_int_equal(got.snapshot.count, WIRE_NODES_MAX);
	wire_reply_fini(&got);
}

/* An age that is missing must never look fresh. */
static void a_node_without_an_age_is_lost(void **state)
{
	scoped_free struct parts *p = xcalloc(1, sizeof(*p));
	struct wire_reply got;
	struct node_load *load;

	(void)state;
	make_parts(p);
	p->vm.name = p->detail; /* empty: the same as none */
	assert_int_equal(send_parts(&got, NULL, p), 0);
	load = &got.snapshot.nodes[0];
	assert_int_equal(load_state(load->age_us, load->interval_ms),
		LOAD_LOST);
	for (size_t i = 0; i < load_field_count; i++) {
		assert_true(isnan(*load_field_of(load, &load_fields[i])));
	}
	assert_null(load->vms[0].name);
	assert_null(load->vms[0].namespace);
	wire_reply_fini(&got);
}

/* Readers subtract ages from their clock, which must not overflow. */
static void caps_ages_at_the_greatest(void **state)
{
	static const struct {
		uint64_t sent, got;
	} cases[] = {
		{ WIRE_TIME_MAX_US - 1, WIRE_TIME_MAX_US - 1 },
		{ WIRE_TIME_MAX_US, WIRE_TIME_MAX_US },
		{ WIRE_TIME_MAX_US + 1, WIRE_TIME_MAX_US },
		{ UINT64_MAX, WIRE_TIME_MAX_US },
	};
	scoped_free struct parts *p = xcalloc(1, sizeof(*p));
	struct wire_reply got;

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		make_parts(p);
		p->load.has_age_us = true;
		p->load.age_us = cases[i].sent;
		assert_int_equal(send_parts(&got, NULL, p), 0);
		assert_true(got.snapshot.nodes[0].age_us == cases[i].got);
		wire_reply_fini(&got);
	}
	p->load.has_age_us = false;
	assert_int_equal(send_parts(&got, NULL, p), 0);
	assert_true(got.snapshot.nodes[0].age_us == WIRE_TIME_MAX_US);
	wire_reply_fini(&got);
}

static void makes_a_detail_printable_and_cuts_it(void **state)
{
	scoped_free struct parts *p = xcalloc(1, sizeof(*p));
	struct wire_reply got;

	(void)state;
	make_parts(p);
	memset(p->detail, 'd', sizeof(p->detail) - 1);
	memcpy(p->detail, "a\nb\x1b\xc3\xb6", 6);
	p->load.kvm_detail = p->detail;
	assert_int_equal(send_parts(&got, NULL, p), 0);
	assert_int_equal(strlen(got.snapshot.nodes[0].kvm_detail),
		LOAD_KVM_DETAIL_MAX - 1);
	assert_memory_equal(got.snapshot.nodes[0].kvm_detail, "a?b???ddd", 9);
	wire_reply_fini(&got);
}

static void skips_unknown_fields_in_every_message(void **state)
{
	ProtobufCMessageUnknownField field = { 1000,
		PROTOBUF_C_WIRE_TYPE_VARINT, 1, (uint8_t[]){ 7 } };
	scoped_free struct parts *p = xcalloc(1, sizeof(*p));
	struct wire_reply got;

	(void)state;
	make_parts(p);
	ProtobufCMessage *const messages[] = { &p->snapshot.base, &p->load.base,
		&p->huge.base, &p->vm.base };

	for (size_t i = 0; i < count_of(messages); i++) {
		messages[i]->n_unknown_fields = 1;
		messages[i]->unknown_fields = &field;
	}
	assert_int_equal(send_parts(&got, NULL, p), 0);
	assert_string_equal(got.snapshot.nodes[0].name, "worker-1");
	wire_reply_fini(&got);
}

static void marks_a_snapshot_that_does_not_fit(void **state)
{
	scoped_buffer struct buffer bytes = BUFFER_MAX(100);
	uint64_t seed = 1;
	struct snapshot s = { .count = 1 };

	(void)state;
	s.nodes = xcalloc(1, sizeof(*s.nodes));
	fill_load(&s.nodes[0], &seed);
	wire_pack_snapshot(&bytes, &s);
	assert_true(bytes.overflowed);
	snapshot_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unpacks_any_snapshot_that_was_packed),
		cmocka_unit_test(refuses_impossible_values_with_a_reason),
		cmocka_unit_test(accepts_the_limits_themselves),
		cmocka_unit_test(a_node_without_an_age_is_lost),
		cmocka_unit_test(caps_ages_at_the_greatest),
		cmocka_unit_test(makes_a_detail_printable_and_cuts_it),
		cmocka_unit_test(skips_unknown_fields_in_every_message),
		cmocka_unit_test(marks_a_snapshot_that_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
