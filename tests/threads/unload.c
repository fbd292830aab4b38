/* Loads a library, runs it on several threads and unloads it, many times: no thread may outlive its code.
 *
 *   unload libmodel.so */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model.h"

enum { ROWS = 20000, COLUMNS = 20 };

static double X[ROWS * COLUMNS], w[COLUMNS], grad[COLUMNS];

static int threads(void) {
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) return 1;
  for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  int most = 0;
  for (int round = 0; round < 50; ++round) {
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) return 3;
    int32_t (*model)(int64_t, int64_t, const double *, const double *, double *, double *, void *);
    *(void **)&model = dlsym(library, "model");
    double loss = 0.0;
    for (int k = 0; k < 3; ++k)
      if (!model || model(ROWS, COLUMNS, X, w, &loss, grad, NULL) != 0) return 4;
    if (threads() > most) most = threads();
    dlclose(library);
    for (int wait = 0; threads() != 1; ++wait) { /* one that was joined may be listed for a moment */
      if (wait == 1000) return 1;
      usleep(1000);
    }
  }
  printf("%d threads at most\n", most);
  return 0;
}
