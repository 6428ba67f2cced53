/* Threads that share each op. */
#ifndef TEAM_H
#define TEAM_H

#include <stdint.h>

#define TEAM_MAX 64u

typedef struct team team;
typedef void team_work(void *context, uint32_t ith, uint32_t nth);

/* NULL: no such number of threads could be started. */
team *team_start(uint32_t n_threads);
/* Calls work on all threads, the caller's (0) among them, and returns when all are done. */
void team_run(team *t, team_work *work, void *context);
void team_stop(team *t);

#endif
