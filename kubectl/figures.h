/* Figures as kubectl shows them. An unknown figure is "-", or "<unknown>" in
 * kubectl's columns of ages. Pure. */
#pragma once

enum { FIGURE_MAX = 32 };

/* Each writes into out, which holds FIGURE_MAX bytes, and returns out. */
char *figure_cores(char *out, double cores);  /* 1.50 */
char *figure_share(char *out, double share);  /* 83% of 0.83 */
char *figure_bytes(char *out, double bytes);  /* 12.3Gi */
char *figure_whole(char *out, double number); /* 12 */
char *figure_age(char *out, double seconds);  /* 5s, 2m30s, 3h, 12d */
