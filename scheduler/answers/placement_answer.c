#include "scheduler/answers/placement_answer.h"

#include "lib/json.h"
#include "lib/memory.h"
#include "scheduler/answers/rescheduled.h"
#include "scheduler/answers/placement_status.h"
#include "scheduler/answers/subject.h"
#include "scheduler/cache/reservations.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/launcher/launcher_spec.h"

#include <errno.h>
#include <string.h>

enum { DERIVATION_MAX = 4096 };

static struct placement_status_context context_of(
	const struct placement_answer *where, const struct pod *pod)
{
	return (struct placement_status_context){ .pod = pod,
		.cluster = &where->cache->cluster,
		.policy = where->policy,
		.scheduler = where->scheduler,
		.now_us = where->now_us,
		.wall_us = where->wall_us };
}

/* ---- pods that are known ---- */

/* As the scheduling loop decides about it. */
static void write_pending(struct buffer *out,
	const struct placement_answer *where, const struct queued_pod *queued)
{
	const struct placement_status_context context =
		context_of(where, queued->pod);

	reservations_suspend(where->reservations, queued->pod);
	placement_status_write(out, &context);
	reservations_resume(where->reservations, queued->pod);
}

static void note_unknown(struct buffer *derivation, const char *why)
{
	scoped_free char *note = xasprintf(
		"the next pod is not known, so its constraints are those of "
		"the pod that runs: %s",
		why);
	struct json j = json_into(derivation);

	json_object(&j, NULL);
	json_string(&j, "from", "Pod");
	json_array(&j, "notes");
	json_string(&j, NULL, note);
	json_array_end(&j);
	json_object_end(&j);
}

/* A VM that runs comes to another node by a migration. Appends to the
 * derivation if its target pod is not known. */
static void ask_about_next(struct next_pod *next,
	struct rescheduled *rescheduled, const struct placement_answer *where,
	const struct subject *subject, struct buffer *derivation)
{
	scoped_buffer struct buffer why = BUFFER_MAX(DERIVATION_MAX / 4);

	*next = (struct next_pod){ 0 };
	if (where->kubevirt == NULL) {
		note_unknown(derivation, "KubeVirt's objects are not watched");
	} else if (kubevirt_next_pod(where->kubevirt, next, rescheduled->shared,
			   &subject->node->labels, &why)) {
		rescheduled->pod = next->pod;
	} else {
		note_unknown(derivation, why.data);
	}
}

static int write_bound(struct buffer *out, const struct placement_answer *where,
	const struct subject *subject, struct error *err)
{
	scoped_buffer struct buffer derivation = BUFFER_MAX(DERIVATION_MAX);
	struct placement_status_context context;
	struct next_pod next;
	struct rescheduled rescheduled;

	if (!subject->pod->is_vm) {
		return error_set(err, -EINVAL,
			"the pod %s/%s runs already and is no VM's, so its "
			"constraints are not kept; ask with its manifest",
			subject->pod->namespace, subject->pod->name);
	}
	if (!where->keeps_constraints) {
		return error_set(err, -EINVAL,
			"with --rebalance off and --make-room off the "
			"constraints of running VMs are not kept; ask with a "
			"manifest");
	}
	rescheduled_init(&rescheduled, where->cache, subject->pod,
		subject->node);
	ask_about_next(&next, &rescheduled, where, subject, &derivation);
	context = context_of(where, &rescheduled.pod);
	context.derivation = derivation.data;
	context.cluster = &rescheduled.cluster;
	context.current = subject->node;
	context.is_foreseen = true;
	placement_status_write(out, &context);
	next_pod_fini(&next);
	rescheduled_fini(&rescheduled);
	return 0;
}

static int write_known(struct buffer *out, const struct placement_answer *where,
	const struct placement_spec *spec, struct error *err)
{
	struct subject subject = { 0 };
	int r = (spec->kind == PLACEMENT_VM ? subject_find_vm
					    : subject_find_pod)(&subject,
		where->cache, where->queue, where->namespace, spec->name, err);

	if (r < 0) {
		return r;
	}
	if (subject.node != NULL) {
		return write_bound(out, where, &subject, err);
	}
	write_pending(out, where, subject.queued);
	return 0;
}

/* ---- manifests ---- */

static bool find_running(struct subject *out,
	const struct placement_answer *where, const char *vm)
{
	return subject_find_vm(out, where->cache, where->queue,
		       where->namespace, vm, NULL) == 0;
}

bool placement_answer_runs(const struct placement_answer *where, const char *vm)
{
	struct subject subject = { 0 };

	return find_running(&subject, where, vm);
}

/* The VM's own use: that of now, or its profile. */
static void note_usage(struct pod *pod, const struct placement_answer *where)
{
	struct subject subject = { 0 };

	if (!pod->is_vm) {
		return;
	}
	if (find_running(&subject, where, pod->vm_name)) {
		pod->usage = subject.node != NULL
			? cache_usage(where->cache, subject.pod->uid)
			: subject.pod->usage;
	} else if (where->profile != NULL) {
		pod->usage = *where->profile;
	}
}

static enum launcher_spec_kind kind_of(enum placement_kind kind)
{
	return kind == PLACEMENT_VM_OBJECT     ? LAUNCHER_SPEC_VM
		: kind == PLACEMENT_VMI_OBJECT ? LAUNCHER_SPEC_VMI
					       : LAUNCHER_SPEC_POD;
}

static int write_manifest(struct buffer *out,
	const struct placement_answer *where, const struct placement_spec *spec,
	struct error *err)
{
	scoped_buffer struct buffer derivation = BUFFER_MAX(DERIVATION_MAX);
	struct launcher_settings settings = launcher_settings_default;
	struct placement_status_context context;
	struct pod *pod = NULL;
	int r;

	if (where->kubevirt != NULL) {
		kubevirt_launcher_settings(where->kubevirt, &settings);
	}
	r = launcher_spec_pod(&pod, &derivation,
		&(const struct launcher_spec){ .kind = kind_of(spec->kind),
			.object = spec->object,
			.namespace = where->namespace,
			.interner = where->cache->interner,
			.settings = &settings },
		err);
	if (r < 0) {
		return r;
	}
	note_usage(pod, where);
	context = context_of(where, pod);
	context.derivation = derivation.data;
	context.is_foreseen = pod->is_vm;
	placement_status_write(out, &context);
	pod_free(pod);
	return 0;
}

int placement_answer_write(struct buffer *out,
	const struct placement_answer *where, const struct placement_spec *spec,
	struct error *err)
{
	int r = spec->object == NULL ? write_known(out, where, spec, err)
				     : write_manifest(out, where, spec, err);

	if (r == 0 && out->overflowed) {
		r = error_set(err, -EFBIG, "the answer is too long");
	}
	return r;
}
