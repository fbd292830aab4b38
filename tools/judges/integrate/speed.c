/* Solutions and gradients of a problem by this library and by CVODES, at tolerances from 1e-2 to 1e-12.
 *
 * A line of output: name, "solution" or "gradient", −log10 of rtol, microseconds, accepted steps (−1: not known), and
 * the values; no values after a failure. Times are the shortest of many averages, of the processor.
 * ./speed reference: only the gradient, by the forward sensitivities of CVODES at 1e-12. ./speed ours SIZE, ./speed bdf
 * SIZE, ./speed adams SIZE: this library, and CVODES by a method, which may crash; SIZE: the largest |p·gradient|, which
 * the adjoint of CVODES needs for its tolerances. */
#include <cvodes/cvodes.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#include <time.h>

#include "data.h"
#include "ours.h"
#include "user.h"

enum { N = RATES_SUNDIALS_N, NP = RATES_SUNDIALS_NP };

static double relative, absolute, size, y[N], slope[NP];
static int64_t steps;
static SUNContext context;

#if NEEDS_LAPACK /* as larger implicit systems do */
void dgetrf_(const int32_t *, const int32_t *, double *, const int32_t *, int32_t *, int32_t *);
void dtrsm_(const char *, const char *, const char *, const char *, const int32_t *, const int32_t *, const double *,
            const double *, const int32_t *, double *, const int32_t *);
static const aotensor_blas lapack = {.struct_size = sizeof lapack, .dgetrf = dgetrf_, .dtrsm = dtrsm_};
static aotensor_context given = {.struct_size = sizeof given, .blas = &lapack};
#define CONTEXT &given,
#else
#define CONTEXT
#endif
static uint8_t success;
static int ours_first(void) {
  success = 0;
  return solve0(CONTEXT START, P, &relative, &absolute, y, &success, &steps, NULL) || !success;
}
static int ours_second(void) {
  success = 0;
  return solve1(CONTEXT START, P, &relative, &absolute, y, &success, &steps, NULL) || !success;
}
static int slope_first(void) {
  steps = -1;
  return slope0(CONTEXT START, P, &relative, &absolute, slope, NULL) || isnan(slope[0]);
}

/* An integrator of CVODES and its problem for the adjoint. */
typedef struct {
  void *memory;
  N_Vector y, by_y, by_p, by_p_tolerance;
  int which; /* −1: no adjoint yet */
} Integrator;

static const double *parameters[] = {P};

static void restart(N_Vector v) { memcpy(N_VGetArrayPointer(v), START, sizeof START); }

static void *created(int method, N_Vector v) {
  void *memory = CVodeCreate(method, context);
  CVodeInit(memory, rates_cv_rhs, 0, v);
  CVodeSetUserData(memory, parameters);
  CVodeSetMaxNumSteps(memory, MAX_STEPS);
  if (method == CV_BDF) {
    SUNMatrix A = SUNDenseMatrix(N, N, context);
    CVodeSetLinearSolver(memory, SUNLinSol_Dense(v, A, context), A);
    CVodeSetJacFn(memory, rates_cv_jac_dense);
  } else {
    CVodeSetNonlinearSolver(memory, SUNNonlinSol_FixedPoint(v, 0, context));
  }
  return memory;
}
static Integrator integrator(int method) {
  Integrator made = {.y = N_VNew_Serial(N, context), .which = -1};
  made.by_y = N_VClone(made.y);
  made.by_p = N_VNew_Serial(NP, context);
  made.by_p_tolerance = N_VClone(made.by_p);
  restart(made.y);
  made.memory = created(method, made.y);
  return made;
}
static Integrator bdf, adams;

static int solved(Integrator *one) {
  double t;
  long count;
  restart(one->y);
  CVodeReInit(one->memory, 0, one->y);
  CVodeSStolerances(one->memory, relative, absolute);
  int status = CVode(one->memory, END, one->y, &t, CV_NORMAL);
  CVodeGetNumSteps(one->memory, &count);
  steps = count, memcpy(y, N_VGetArrayPointer(one->y), sizeof y);
  return status < 0;
}
static int cvodes_bdf(void) { return solved(&bdf); }
static int cvodes_adams(void) { return solved(&adams); }

/* The gradient by the continuous adjoint. */
static int adjoint(Integrator *one, int method) {
  double t, largest = 0;
  int checkpoints, status;
  restart(one->y);
  CVodeReInit(one->memory, 0, one->y);
  CVodeSStolerances(one->memory, relative, absolute);
  if (one->which < 0) CVodeAdjInit(one->memory, 500, CV_HERMITE);
  CVodeAdjReInit(one->memory);
  if (CVodeF(one->memory, END, one->y, &t, CV_NORMAL, &checkpoints) < 0) return 1;
  memcpy(N_VGetArrayPointer(one->by_y), WEIGHTS, sizeof WEIGHTS);
  N_VConst(0, one->by_p);
  if (one->which < 0) {
    CVodeCreateB(one->memory, method, &one->which);
    CVodeInitB(one->memory, one->which, rates_cv_rhs_b, END, one->by_y);
    CVodeSetUserDataB(one->memory, one->which, parameters);
    CVodeSetMaxNumStepsB(one->memory, one->which, MAX_STEPS);
    if (method == CV_BDF) {
      SUNMatrix B = SUNDenseMatrix(N, N, context);
      CVodeSetLinearSolverB(one->memory, one->which, SUNLinSol_Dense(one->by_y, B, context), B);
      CVodeSetJacFnB(one->memory, one->which, rates_cv_jac_b_dense);
    } else {
      CVodeSetNonlinearSolverB(one->memory, one->which, SUNNonlinSol_FixedPoint(one->by_y, 0, context));
    }
    CVodeQuadInitB(one->memory, one->which, rates_cv_quad_rhs_b, one->by_p);
    CVodeSetQuadErrConB(one->memory, one->which, SUNTRUE);
  } else {
    CVodeReInitB(one->memory, one->which, END, one->by_y);
    CVodeQuadReInitB(one->memory, one->which, one->by_p);
  }
  for (int i = 0; i < N; i++) largest = fmax(largest, fabs(WEIGHTS[i]));
  CVodeSStolerancesB(one->memory, one->which, relative, relative * largest);
  for (int j = 0; j < NP; j++) N_VGetArrayPointer(one->by_p_tolerance)[j] = relative * size / fabs(P[j]);
  CVodeQuadSVtolerancesB(one->memory, one->which, relative, one->by_p_tolerance);
  status = CVodeB(one->memory, 0, CV_NORMAL);
  CVodeGetQuadB(one->memory, one->which, &t, one->by_p);
  steps = -1;
  for (int j = 0; j < NP; j++) slope[j] = -N_VGetArrayPointer(one->by_p)[j]; /* the integral from END to 0 */
  return status < 0;
}
static int adjoint_bdf(void) { return adjoint(&bdf, CV_BDF); }
static int adjoint_adams(void) { return adjoint(&adams, CV_ADAMS); }

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}
static double shortest(int (*run)(void)) {
  double best = INFINITY, begin = now();
  run();
  double once = now() - begin, end = begin + 30000;
  int loops = (int)(2000 / (once + 0.1)) + 1;
  do {
    double start = now();
    for (int k = 0; k < loops; k++) run();
    best = fmin(best, (now() - start) / loops);
  } while (now() < end);
  return best;
}
static void measure(const char *name, const char *kind, int (*run)(void), const double *values, int count) {
  for (int digits = 2; digits <= 12; digits++) {
    relative = pow(10, -digits), absolute = relative * SCALE;
    int failed = run();
    printf("%s %s %d %.6g %lld", name, kind, digits, failed ? 0 : shortest(run), (long long)steps);
    if (!failed)
      for (int i = 0; i < count; i++) printf(" %.17g", values[i]);
    printf("\n");
  }
}

static int reference(void) {
  N_Vector v = N_VNew_Serial(N, context), *by = N_VCloneVectorArray(NP, v);
  double t, p[NP];
  restart(v), memcpy(p, P, sizeof p);
  for (int j = 0; j < NP; j++) N_VConst(0, by[j]);
  void *memory = created(CV_BDF, v);
  parameters[0] = p;
  CVodeSStolerances(memory, 1e-12, 1e-12 * SCALE);
  CVodeSetMaxNumSteps(memory, 10000000);
  CVodeSensInit(memory, NP, CV_STAGGERED, rates_cv_sens_rhs, by);
  CVodeSetSensParams(memory, p, p, NULL);
  CVodeSensEEtolerances(memory);
  CVodeSetSensErrCon(memory, SUNTRUE);
  int status = CVode(memory, END, v, &t, CV_NORMAL);
  CVodeGetSens(memory, &t, by);
  for (int j = 0; j < NP; j++) {
    double sum = 0;
    for (int i = 0; i < N; i++) sum += WEIGHTS[i] * N_VGetArrayPointer(by[j])[i];
    printf(" %.17g", sum);
  }
  printf("\n");
  return status < 0;
}

int main(int count, char **arguments) {
  setvbuf(stdout, NULL, _IOLBF, 0); /* what is printed before a crash counts */
  SUNContext_Create(NULL, &context);
  if (count == 2 && !strcmp(arguments[1], "reference")) return reference();
  if (count != 3) return 2;
  size = strtod(arguments[2], NULL);
  if (!strcmp(arguments[1], "ours")) {
    measure("first", "solution", ours_first, y, N);
    measure("second", "solution", ours_second, y, N);
    measure("first", "gradient", slope_first, slope, NP);
  } else if (!strcmp(arguments[1], "bdf")) {
    bdf = integrator(CV_BDF);
    measure("bdf", "solution", cvodes_bdf, y, N);
    measure("bdf", "gradient", adjoint_bdf, slope, NP);
  } else if (!strcmp(arguments[1], "adams")) {
    adams = integrator(CV_ADAMS);
    measure("adams", "solution", cvodes_adams, y, N);
    measure("adams", "gradient", adjoint_adams, slope, NP);
  } else {
    return 2;
  }
  return 0;
}
