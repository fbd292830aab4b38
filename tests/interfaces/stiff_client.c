/* Two stiff problems by CVODES and IDAS: forward sensitivities, sparse Jacobians, an adjoint problem. */
#include <cvodes/cvodes.h>
#include <idas/idas.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_klu.h>
#include "stiff.h"

static SUNContext ctx;
static N_Vector vector(int n, double first) {
  N_Vector made = N_VNew_Serial(n, ctx);
  N_VConst(0, made);
  N_VGetArrayPointer(made)[0] = first;
  return made;
}
static void show(const char *name, N_Vector v, int n) {
  printf("%s", name);
  for (int i = 0; i < n; i++) printf(" %.12g", N_VGetArrayPointer(v)[i]);
  printf("\n");
}
static void *solver(CVRhsFn f, N_Vector y, const double **parameters) {
  void *cv = CVodeCreate(CV_BDF, ctx);
  CVodeInit(cv, f, 0, y);
  CVodeSetUserData(cv, (void *)parameters);
  CVodeSStolerances(cv, 1e-9, 1e-13);
  CVodeSetMaxNumSteps(cv, 100000);
  return cv;
}
static int robertson(void) {
  double k[3] = {0.04, 1e4, 3e7}, t;
  const double *parameters[] = {k};
  N_Vector y = vector(3, 1), *yS = N_VCloneVectorArray(3, y);
  for (int i = 0; i < 3; i++) N_VConst(0, yS[i]);
  void *cv = solver(rob_cv_rhs, y, parameters);
  SUNMatrix A = SUNDenseMatrix(3, 3, ctx);
  CVodeSetLinearSolver(cv, SUNLinSol_Dense(y, A, ctx), A);
  CVodeSetJacFn(cv, rob_cv_jac_dense);
  CVodeSensInit(cv, 3, CV_SIMULTANEOUS, rob_cv_sens_rhs, yS);
  CVodeSetSensParams(cv, k, k, NULL);
  CVodeSensEEtolerances(cv);
  CVodeSetSensErrCon(cv, SUNTRUE);
  int status = CVode(cv, 40, y, &t, CV_NORMAL);
  CVodeGetSens(cv, &t, yS);
  show("y", y, 3);
  for (int i = 0; i < 3; i++) show("s", yS[i], 3);
  return status;
}
static int robertson_ida(void) {
  double k[3] = {0.04, 1e4, 3e7}, t;
  const double *parameters[] = {k};
  N_Vector y = vector(3, 1), yp = vector(3, 0);
  rob_cv_rhs(0, y, yp, parameters);
  void *ida = IDACreate(ctx);
  IDAInit(ida, rob_ida_res, 0, y, yp);
  IDASetUserData(ida, parameters);
  IDASStolerances(ida, 1e-9, 1e-13);
  SUNMatrix A = SUNSparseMatrix(3, 3, ROB_SUNDIALS_NNZ, CSR_MAT, ctx);
  IDASetLinearSolver(ida, SUNLinSol_KLU(y, A, ctx), A);
  IDASetJacFn(ida, rob_ida_jac);
  int status = IDASolve(ida, 40, &t, y, yp, IDA_NORMAL);
  show("i", y, 3);
  return status;
}
static int network(void) {
  static double k[NET_SUNDIALS_NP];
  double t;
  int n = NET_SUNDIALS_N, steps, which;
  for (int i = 0; i < n; i++) k[i] = 1 + i % 7;
  const double *parameters[] = {k};
  N_Vector y = vector(n, 1), yB = vector(n, 0), q = vector(NET_SUNDIALS_NP, 0);
  void *cv = solver(net_cv_rhs, y, parameters);
  SUNMatrix A = SUNSparseMatrix(n, n, NET_SUNDIALS_NNZ, CSC_MAT, ctx);
  CVodeSetLinearSolver(cv, SUNLinSol_KLU(y, A, ctx), A);
  CVodeSetJacFn(cv, net_cv_jac);
  CVodeAdjInit(cv, 1000, CV_HERMITE);
  int status = CVodeF(cv, 2, y, &t, CV_NORMAL, &steps);
  N_VGetArrayPointer(yB)[5] = 1;
  CVodeCreateB(cv, CV_BDF, &which);
  CVodeInitB(cv, which, net_cv_rhs_b, 2, yB);
  CVodeSetUserDataB(cv, which, parameters);
  CVodeSStolerancesB(cv, which, 1e-9, 1e-13);
  CVodeSetMaxNumStepsB(cv, which, 100000);
  SUNMatrix B = SUNSparseMatrix(n, n, NET_SUNDIALS_NNZ, CSC_MAT, ctx);
  CVodeSetLinearSolverB(cv, which, SUNLinSol_KLU(yB, B, ctx), B);
  CVodeSetJacFnB(cv, which, net_cv_jac_b);
  CVodeQuadInitB(cv, which, net_cv_quad_rhs_b, q);
  CVodeQuadSStolerancesB(cv, which, 1e-9, 1e-13);
  CVodeSetQuadErrConB(cv, which, SUNTRUE);
  status |= CVodeB(cv, 0, CV_NORMAL);
  CVodeGetQuadB(cv, which, &t, q);
  show("n", y, n);
  show("q", q, n);
  return status;
}
int main(void) {
  SUNContext_Create(NULL, &ctx);
  return robertson() || robertson_ida() || network();
}
