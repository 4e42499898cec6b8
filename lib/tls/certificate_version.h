/* The version of mbedTLS, which reads and writes certificates here and is the
 * TLS of nng. */
#pragma once

/* The version of mbedTLS that the program runs with. Not for several threads at
 * once. */
const char *certificate_library_version(void);
