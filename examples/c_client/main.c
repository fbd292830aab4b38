/* Loss and gradient of examples/logistic.py from C: reads the data, calls the compiled library, and checks the gradient
 * against central differences. No Python anywhere.
 *
 *   client breast_cancer.csv
 *
 * Exit status: 0 the gradient is right, 1 it is wrong, 2 the data cannot be read or a call failed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "logistic.h"

typedef struct {
  int64_t n, p; /* rows; columns, with the intercept */
  double *X;    /* n x p, row-major, the first column is 1 */
  double *y;    /* n labels, -1 or +1 */
} dataset;

/* Features get mean 0 and variance 1, as in logistic.py. */
static void standardise(dataset *d) {
  for (int64_t j = 1; j < d->p; ++j) {
    double mean = 0.0, variance = 0.0;
    for (int64_t i = 0; i < d->n; ++i) mean += d->X[i * d->p + j] / (double)d->n;
    for (int64_t i = 0; i < d->n; ++i) variance += pow(d->X[i * d->p + j] - mean, 2) / (double)d->n;
    for (int64_t i = 0; i < d->n; ++i) d->X[i * d->p + j] = (d->X[i * d->p + j] - mean) / sqrt(variance);
  }
}

/* First line: rows,features,names; then one line per row, the class 0 or 1 last. Returns 0 if the file is not that. */
static int read_rows(FILE *file, dataset *d) {
  long long rows = 0, features = 0;
  if (fscanf(file, "%lld,%lld,%*[^\n]", &rows, &features) != 2 || rows < 1 || features < 1) return 0;
  if (rows > 1000000 || features > 1000) return 0;
  d->n = rows;
  d->p = features + 1;
  d->X = malloc((size_t)(d->n * d->p) * sizeof *d->X);
  d->y = malloc((size_t)d->n * sizeof *d->y);
  if (!d->X || !d->y) return 0;
  for (int64_t i = 0; i < d->n; ++i) {
    double *row = d->X + i * d->p;
    double label = 0.0;
    row[0] = 1.0;
    for (int64_t j = 1; j < d->p; ++j)
      if (fscanf(file, "%lf,", &row[j]) != 1) return 0;
    if (fscanf(file, "%lf", &label) != 1) return 0;
    d->y[i] = 2.0 * label - 1.0;
  }
  return 1;
}

/* One call of the library, without any allocation inside. Ends the program if the call fails. */
static double evaluate(const dataset *d, const double *w, double *gradient, void *workspace) {
  const double l2 = 0.01;
  double loss = 0.0;
  int32_t status = logistic(d->n, d->p, d->X, d->y, w, &l2, &loss, gradient, workspace);
  if (status != AOTENSOR_OK) {
    fprintf(stderr, "logistic: %s\n", aotensor_status_message(status));
    exit(2);
  }
  return loss;
}

/* Largest |central difference - gradient| at w. */
static double gradient_error(const dataset *d, double *w, const double *gradient, double *scratch, void *workspace) {
  const double step = 1e-5;
  double worst = 0.0;
  for (int64_t j = 0; j < d->p; ++j) {
    double old = w[j];
    w[j] = old + step;
    double above = evaluate(d, w, scratch, workspace);
    w[j] = old - step;
    double below = evaluate(d, w, scratch, workspace);
    w[j] = old;
    worst = fmax(worst, fabs((above - below) / (2.0 * step) - gradient[j]));
  }
  return worst;
}

static int run(dataset *d) {
  standardise(d);
  int64_t bytes = logistic_workspace(d->n, d->p);
  size_t width = (size_t)d->p;
  double *w = calloc(width, sizeof *w), *gradient = calloc(width, sizeof *gradient);
  double *scratch = calloc(width, sizeof *scratch);
  void *workspace = malloc(bytes > 0 ? (size_t)bytes : 1);
  int status = 2;
  if (w && gradient && scratch && workspace) {
    double loss = evaluate(d, w, gradient, workspace);
    printf("rows %lld, columns %lld, workspace %lld bytes\n", (long long)d->n, (long long)d->p, (long long)bytes);
    printf("loss at w = 0: %.12f\n", loss);
    for (int j = 0; j < 4 && j < d->p; ++j) printf("gradient[%d]: %+.12f\n", j, gradient[j]);
    double error = gradient_error(d, w, gradient, scratch, workspace);
    printf("largest difference to central differences: %.1e\n", error);
    status = error < 1e-8 && fabs(loss - log(2.0)) < 1e-12 ? 0 : 1;
    printf("%s\n", status == 0 ? "ok" : "WRONG");
  }
  free(w);
  free(gradient);
  free(scratch);
  free(workspace);
  return status;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s breast_cancer.csv\n", argv[0]);
    return 2;
  }
  FILE *file = fopen(argv[1], "r");
  if (!file) {
    perror(argv[1]);
    return 2;
  }
  dataset d = {0, 0, NULL, NULL};
  int readable = read_rows(file, &d);
  fclose(file);
  if (!readable) fprintf(stderr, "%s: not the table that was expected\n", argv[1]);
  int status = readable ? run(&d) : 2;
  free(d.X);
  free(d.y);
  return status;
}
