/* Texts of schedulers as the tenants of the record's namespace may read them.
 *
 * The scheduler writes names of other namespaces into fields of their own, and
 * into no sentence but that of a move: it names the pod of the field room_for.
 * Schedulers up to 0.2.0 wrote names behind fixed words, too. Pure; the caller
 * frees each text. */
#pragma once

#include "proto/decision.h"
#include "proto/move.h"

/* A field that holds NAMESPACE/NAME, or "". Another namespace's pod becomes "a
 * pod of another namespace". */
char *tenant_pod(const char *pod, const char *namespace);

char *tenant_decision_sentence(const struct decision_record *record);
char *tenant_move_sentence(const struct move_record *record);
char *tenant_move_failure(const struct move_record *record);
