/* `plimsoll-scheduler certificates`: makes the certificates of an installation
 * and ends. deploy/components/certificates runs it as a Job. */
#pragma once

#include "lib/program.h"

extern const struct program certificates_program;
