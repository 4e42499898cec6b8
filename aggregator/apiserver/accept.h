/* The Accept header of a request: which form of the answer the client prefers.
 * Pure. */
#pragma once

enum accept_form {
	ACCEPT_NONE, /* the client takes none of these */
	ACCEPT_JSON,
	ACCEPT_TABLE,	      /* meta.k8s.io/v1 Table */
	ACCEPT_METADATA,      /* PartialObjectMetadata */
	ACCEPT_METADATA_LIST, /* PartialObjectMetadataList */
	ACCEPT_DISCOVERY,     /* apidiscovery.k8s.io/v2 APIGroupDiscoveryList */
	ACCEPT_CSV,
	ACCEPT_FORMS,
};

/* The form with the highest q of those whose bit (1 << form) is in allowed; the
 * first one of equals. header NULL: JSON. */
enum accept_form accept_choose(const char *header, unsigned int allowed);

/* The media type of the answer. */
const char *accept_type(enum accept_form form);
