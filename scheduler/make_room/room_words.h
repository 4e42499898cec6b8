/* The sentences about making room for a pod. Pure. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/make_room/attempt.h"
#include "scheduler/make_room/given_up.h"
#include "scheduler/objects/pod.h"

/* Appends what the pod's FailedScheduling message says; nothing while the first
 * plan is searched. The text changes only with the plan and the state. */
void room_words_message(struct buffer *out, const struct attempt *attempt);
void room_words_given_up(struct buffer *out, const struct given_up_pod *pod);

/* The same without the names of VMs and pods, for the record of the decision:
 * tenants of the pod's namespace read it. attempt NULL: it was given up. */
void room_words_state(struct buffer *out, const struct attempt *attempt);

/* Appends who took the place: "ns/pod of scheduler X took the place held for
 * ns/urgent on node-a". is_alone false: "ns/pod of scheduler X and other pods
 * took ...". */
void room_words_taken(struct buffer *out, const struct attempt *attempt,
	const struct pod *newcomer, bool is_alone);

/* Appends why a move ended without success. */
void room_words_failed(struct buffer *out, const struct move_record *record);
