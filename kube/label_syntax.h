/* Which texts Kubernetes takes as keys and values of labels, and as names: the
 * rules of k8s.io/apimachinery's util/validation. */
#pragma once

#include <stdbool.h>

/* A qualified name: "app", "example.com/app". */
bool label_syntax_is_key(const char *text);

/* "" is a value. */
bool label_syntax_is_value(const char *text);

/* The name of a namespace: a label of DNS (RFC 1123). */
bool label_syntax_is_dns_label(const char *text);

/* The name of a node: such labels, joined by dots. */
bool label_syntax_is_dns_subdomain(const char *text);
