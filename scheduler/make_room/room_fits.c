#include "scheduler/make_room/room_fits.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/filter/nominated_pods.h"
#include "scheduler/filter/prefilter.h"

/* Above the PriorityClasses of users, which end at 10^9, and below those of the
 * system, which begin at 2 * 10^9. */
#define PRIORITY (INT32_MAX / 2)

/* Searches for the largest VM of a kind: the shapes leave few sizes. There may
 * be more if the largest shape fits. */
enum { SEARCHES = 3 };

static const struct launcher_size shapes[ROOM_SHAPES] = { { 4, 16 }, { 8, 32 },
	{ 16, 64 } };

struct search {
	const struct plan_input *input;
	struct room_kind *kind;
	struct prefilter prefilter; /* of the kind's pod, in every size */
	uint64_t work_left;
	/* As far as can be foreseen: of this kind, and of the later ones. */
	unsigned searches, later_searches;
};

static struct launcher_size size_of(unsigned vcpus)
{
	return (struct launcher_size){ vcpus, vcpus * ROOM_VCPU_GIB };
}

static bool is_stopped(const struct plan_input *input)
{
	return input->stop != NULL && atomic_load(input->stop);
}

/* ---- what a node offers ---- */

static int64_t offered(const struct node *node, uint32_t resource)
{
	const struct node_resource *scalar = node_scalar(node, resource);

	return scalar == NULL ? 0 : scalar->allocatable;
}

/* The pod would fit if no other pod were there. */
static bool could_hold(const struct node *node, const struct pod *pod)
{
	const struct resources *requests = &pod->requests;

	for (size_t i = 0; i < requests->scalar_count; i++) {
		if (offered(node, requests->scalars[i].resource) <
			requests->scalars[i].value) {
			return false;
		}
	}
	return requests->cpu_milli <= node->cpu_milli &&
		requests->memory_bytes <= node->memory_bytes &&
		node_is_selected(node, pod);
}

static bool is_selected_by_any(const struct cluster *cluster,
	const struct pod *pod)
{
	for (size_t i = 0; i < cluster->count; i++) {
		if (node_is_selected(cluster->nodes[i], pod)) {
			return true;
		}
	}
	return false;
}

static bool is_offered_by_any(const struct cluster *cluster, uint32_t resource)
{
	for (size_t i = 0; i < cluster->count; i++) {
		if (offered(cluster->nodes[i], resource) > 0) {
			return true;
		}
	}
	return false;
}

static const char *missing_label(enum launcher_kind kind)
{
	return kind == LAUNCHER_DEDICATED
		? "no node for VMs has the label kubevirt.io/cpumanager=true"
		: "no node has the label kubevirt.io/schedulable=true";
}

/* Sets the message if no node offers what the kind needs. */
static void check_offers(struct room_kind *kind, const struct cluster *cluster)
{
	const struct launcher_shape *shape = &kind->shape;
	const struct resources *requests = &shape->pod->requests;
	const char *pages = launcher_kind_pages(shape->kind);

	if (!is_selected_by_any(cluster, shape->pod)) {
		(void)snprintf(kind->message, sizeof(kind->message), "%s",
			missing_label(shape->kind));
		return;
	}
	for (size_t i = 0; i < requests->scalar_count; i++) {
		if (!is_offered_by_any(cluster,
			    requests->scalars[i].resource)) {
			(void)snprintf(kind->message, sizeof(kind->message),
				"no node offers %s",
				(ptrdiff_t)i == shape->pages
					? pages
					: "KubeVirt's devices kvm, tun and "
					  "vhost-net");
			return;
		}
	}
}

/* ---- now ---- */

static bool fits_node(struct search *s, struct node *node)
{
	const struct plan_input *input = s->input;

	return (input->cluster->nominated_count > 0
			       ? nominated_pods_filter(&s->prefilter, node,
					 input->filter, input->now_us)
			       : filter_node(&s->prefilter, node, input->filter,
					 input->now_us)) == 0;
}

/* How many of the size fit on a node on which one fits. The filters judge them
 * as one pod with the requests of all. */
static unsigned copies_on(struct search *s, struct node *node,
	struct launcher_size size, unsigned max)
{
	int64_t pods = node->max_pods - (int64_t)node->pod_count;
	unsigned fits = 1;
	unsigned fails = (pods < max ? (unsigned)pods : max) + 1;

	while (fails - fits > 1) {
		unsigned middle = fits + (fails - fits) / 2;

		launcher_shape_resize(&s->kind->shape, size, middle);
		if (fits_node(s, node)) {
			fits = middle;
		} else {
			fails = middle;
		}
	}
	launcher_shape_resize(&s->kind->shape, size, 1);
	return fits;
}

static void count_fits(struct search *s, struct room_fit *fit)
{
	const struct cluster *cluster = s->input->cluster;

	launcher_shape_resize(&s->kind->shape, fit->size, 1);
	for (size_t i = 0; i < cluster->count && !is_stopped(s->input); i++) {
		struct node *node = cluster->nodes[i];
		unsigned left = ROOM_COPIES_MAX - fit->copies;

		if (!fits_node(s, node)) {
			continue;
		}
		fit->nodes++;
		if (left > 0) {
			fit->copies += copies_on(s, node, fit->size, left);
		}
	}
	if (fit->nodes > 0) {
		fit->fits_after_moves = true;
		(void)snprintf(fit->message, sizeof(fit->message),
			"fits on %zu %s now", fit->nodes,
			fit->nodes == 1 ? "node" : "nodes");
	}
}

/* The node that is first by name, so that the order of the nodes does not
 * matter. NULL: the pod fits on none. */
static const struct node *first_fit(struct search *s)
{
	const struct cluster *cluster = s->input->cluster;
	const struct node *first = NULL;

	for (size_t i = 0; i < cluster->count && !is_stopped(s->input); i++) {
		struct node *node = cluster->nodes[i];

		if ((first == NULL || strcmp(node->name, first->name) < 0) &&
			fits_node(s, node)) {
			first = node;
		}
	}
	return first;
}

static void set_largest(struct room_largest *out, unsigned vcpus, size_t moves,
	const char *node)
{
	*out = (struct room_largest){ .vcpus = vcpus, .moves = moves };
	(void)snprintf(out->node, sizeof(out->node), "%s", node);
}

static void find_largest_now(struct search *s)
{
	unsigned fits = 0, fails = ROOM_VCPUS_MAX + 1;

	while (fails - fits > 1) {
		unsigned middle = fits + (fails - fits) / 2;
		const struct node *node;

		launcher_shape_resize(&s->kind->shape, size_of(middle), 1);
		node = first_fit(s);
		if (node != NULL) {
			set_largest(&s->kind->now, middle, 0, node->name);
			fits = middle;
		} else {
			fails = middle;
		}
	}
}

static void find_now(struct search *s)
{
	s->kind->shape.pod->priority = 0;
	prefilter_run(&s->prefilter, s->kind->shape.pod, s->input->cluster);
	for (size_t i = 0; i < ROOM_SHAPES; i++) {
		s->kind->fits[i].size = shapes[i];
		count_fits(s, &s->kind->fits[i]);
	}
	find_largest_now(s);
}

/* ---- after moves ---- */

/* Never all that is left: there may be more searches than foreseen. */
static uint64_t take_share(struct search *s)
{
	unsigned searches = s->searches > SEARCHES ? s->searches : SEARCHES + 1;

	s->searches -= s->searches > 0;
	return s->work_left / (searches + s->later_searches);
}

/* Searches for a plan for the kind's pod with its share of the work. */
static void search_plan(struct search *s, struct plan *plan,
	struct launcher_size size)
{
	struct plan_input input = *s->input;
	const struct plan_goal goal = {
		.kind = PLAN_POD_FITS,
		.pod = s->kind->shape.pod,
	};
	uint64_t share = take_share(s);

	*plan = (struct plan){ .is_cut_off = true, .node = PLAN_NOWHERE };
	if (share == 0 || is_stopped(s->input)) {
		return;
	}
	launcher_shape_resize(&s->kind->shape, size, 1);
	input.max_work = share;
	plan_find(plan, &input, &goal);
	s->work_left -= plan->work < share ? plan->work : share;
}

static void name_vm(struct buffer *out, enum launcher_kind kind,
	struct launcher_size size)
{
	buffer_printf(out, "a%s VM of %u vCPUs and %u GiB",
		kind == LAUNCHER_PLAIN ? " plain" : "", size.vcpus,
		size.memory_gib);
	if (kind != LAUNCHER_PLAIN) {
		buffer_printf(out, " with %s",
			kind == LAUNCHER_DEDICATED ? "dedicated CPUs"
						   : launcher_kind_name(kind));
	}
}

/* The planner's sentence with other words for the pod. */
static void tell(struct room_fit *fit, enum launcher_kind kind,
	const char *sentence)
{
	static const char name[] = "/" LAUNCHER_NAME;
	scoped_buffer struct buffer out =
		BUFFER_MAX((size_t)4 * PLAN_SENTENCE_MAX);
	const char *at;

	if (*sentence == '\0') {
		sentence = "there was no time to look for moves";
	}
	while ((at = strstr(sentence, name)) != NULL) {
		buffer_append(&out, sentence, (size_t)(at - sentence));
		name_vm(&out, kind, fit->size);
		sentence = at + strlen(name);
	}
	buffer_text(&out, sentence);
	(void)snprintf(fit->message, sizeof(fit->message), "%s", out.data);
}

static const char *node_of(const struct search *s, const struct plan *plan)
{
	return plan->node == PLAN_NOWHERE
		? ""
		: s->input->cluster->nodes[plan->node]->name;
}

/* Looks for a plan, and keeps it if it is the largest VM's so far. False: there
 * is none. */
static bool try_moves(struct search *s, struct room_fit *fit)
{
	struct room_largest *largest = &s->kind->after_moves;
	struct plan plan;

	search_plan(s, &plan, fit->size);
	fit->fits_after_moves = plan.is_found;
	fit->moves = plan.moves;
	fit->is_cut_off = plan.is_cut_off && !plan.is_found;
	tell(fit, s->kind->shape.kind, plan.sentence);
	if (plan.is_found && fit->size.vcpus > largest->vcpus) {
		set_largest(largest, fit->size.vcpus, plan.moves,
			node_of(s, &plan));
	}
	plan_fini(&plan);
	return fit->fits_after_moves;
}

static bool could_hold_any(struct search *s, unsigned vcpus)
{
	const struct cluster *cluster = s->input->cluster;

	launcher_shape_resize(&s->kind->shape, size_of(vcpus), 1);
	for (size_t i = 0; i < cluster->count; i++) {
		if (could_hold(cluster->nodes[i], s->kind->shape.pod)) {
			return true;
		}
	}
	return false;
}

/* The smallest VM that fits on no node, even if the node were empty. */
static unsigned first_too_large(struct search *s)
{
	unsigned vcpus = ROOM_VCPUS_MAX;

	while (vcpus > 0 && !could_hold_any(s, vcpus)) {
		vcpus--;
	}
	return vcpus + 1;
}

/* The plans for the shapes, which have the same memory for each vCPU, say much
 * about the largest. */
static void find_largest_after_moves(struct search *s)
{
	struct room_kind *kind = s->kind;
	unsigned fails = first_too_large(s);

	for (size_t i = 0; i < ROOM_SHAPES; i++) {
		const struct room_fit *fit = &kind->fits[i];

		if (!fit->fits_after_moves && fit->size.vcpus < fails) {
			fails = fit->size.vcpus;
			kind->is_cut_off = fit->is_cut_off;
		}
	}
	while (fails > kind->after_moves.vcpus + 1) {
		unsigned fits = kind->after_moves.vcpus;
		struct room_fit fit = {
			.size = size_of(fits + (fails - fits) / 2),
		};

		if (!try_moves(s, &fit)) {
			fails = fit.size.vcpus;
			kind->is_cut_off |= fit.is_cut_off;
		}
	}
}

static unsigned searches_of(const struct room_kind *kind)
{
	unsigned searches = SEARCHES;

	for (size_t i = 0; i < ROOM_SHAPES; i++) {
		searches += kind->fits[i].nodes == 0;
	}
	return *kind->message == '\0' ? searches : 0;
}

/* Begins with the largest shape: if no node could hold it, its search is short
 * and leaves more work to the others. */
static void find_after_moves(struct search *s)
{
	struct room_kind *kind = s->kind;

	s->searches = searches_of(kind);
	s->later_searches -= s->searches;
	kind->shape.pod->priority = PRIORITY;
	kind->after_moves = kind->now;
	for (size_t i = ROOM_SHAPES; i-- > 0;) {
		if (kind->fits[i].nodes == 0) {
			(void)try_moves(s, &kind->fits[i]);
		}
	}
	find_largest_after_moves(s);
}

/* ---- all of it ---- */

void room_fits_init(struct room_fits *fits, struct interner *interner,
	const struct launcher_settings *settings)
{
	*fits = (struct room_fits){ .settings = *settings };
	for (size_t i = 0; i < LAUNCHER_KINDS; i++) {
		launcher_shape_init(&fits->kinds[i].shape, interner,
			(enum launcher_kind)i, shapes[0], settings);
	}
}

void room_fits_find(struct room_fits *fits, const struct plan_input *input)
{
	struct search s = { .input = input, .work_left = ROOM_WORK };

	fits->nodes = input->cluster->count;
	fits->vms = input->vm_count;
	fits->max_moves = input->max_moves;
	fits->now_us = input->now_us;
	for (size_t i = 0; i < LAUNCHER_KINDS; i++) {
		s.kind = &fits->kinds[i];
		check_offers(s.kind, input->cluster);
		if (*s.kind->message == '\0') {
			find_now(&s);
		}
		s.later_searches += searches_of(s.kind);
	}
	for (size_t i = 0; i < LAUNCHER_KINDS; i++) {
		s.kind = &fits->kinds[i];
		if (*s.kind->message == '\0') {
			find_after_moves(&s);
		}
	}
	prefilter_fini(&s.prefilter);
}

void room_fits_fini(struct room_fits *fits)
{
	for (size_t i = 0; i < LAUNCHER_KINDS; i++) {
		launcher_shape_fini(&fits->kinds[i].shape);
	}
}
