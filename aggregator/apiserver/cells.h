/* Cells of Tables: an object's columns after its name. Pure. */
#pragma once

#include "lib/json.h"

/* Each writes the columns of api_types.c for its kind. */
void cells_of_node(struct json *j, const void *object);
void cells_of_vm(struct json *j, const void *object);
void cells_of_decision(struct json *j, const void *object);
void cells_of_move(struct json *j, const void *object);
void cells_of_status(struct json *j, const void *object);
