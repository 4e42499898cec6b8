/* Texts of schedulers as the tenant of one namespace may read them. Pure. */
#pragma once

/* Copies a text, but NAMESPACE/NAME of another namespace becomes "a pod of
 * another namespace". The caller frees the copy. */
char *tenant_text(const char *text, const char *namespace);
