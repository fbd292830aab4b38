/* What a good engineer writes by hand, with the same fusion, and OpenMP: the yardstick of benchmarks/run.py.
 * gcc -O3 -march=native -ffast-math, so sums are reassociated and exp, log1p, tanh come from libmvec. */
#include <math.h>
#include <stdint.h>

/* loss = mean log(1 + exp(-y * Xw)) and its gradient: X is read from memory once, a block of rows at a time. */
void logistic(int64_t n, int64_t p, const double *restrict X, const double *restrict y, const double *restrict w,
              double *restrict loss, double *restrict gradient) {
  enum { BLOCK = 32 };
  double total = 0.0;
  for (int64_t j = 0; j < p; ++j) gradient[j] = 0.0;
#pragma omp parallel for reduction(+ : total, gradient[ : p]) if (n * p > 100000)
  for (int64_t first = 0; first < n; first += BLOCK) {
    double residual[BLOCK];
    const int64_t rows = n - first < BLOCK ? n - first : BLOCK;
    for (int64_t i = 0; i < rows; ++i) {
      const double *row = X + (first + i) * p;
      double score = 0.0;
      for (int64_t j = 0; j < p; ++j) score += row[j] * w[j];
      residual[i] = score;
    }
    for (int64_t i = 0; i < rows; ++i) {
      const double margin = -y[first + i] * residual[i];
      const double small = exp(-fabs(margin)); /* softplus and sigmoid that do not overflow */
      total += fmax(margin, 0.0) + log1p(small);
      residual[i] = -y[first + i] / (double)n * (margin > 0.0 ? 1.0 : small) / (1.0 + small);
    }
    for (int64_t i = 0; i < rows; ++i) {
      const double *row = X + (first + i) * p;
      for (int64_t j = 0; j < p; ++j) gradient[j] += residual[i] * row[j];
    }
  }
  *loss = total / (double)n;
}

/* loss = sum sigmoid(tanh(log1p(exp(x)))) and its gradient, in one loop. */
#define CHAIN(NAME, REAL, EXP, LOG1P, TANH)                                                                           \
  void NAME(int64_t n, const REAL *restrict x, REAL *restrict loss, REAL *restrict gradient) {                        \
    REAL total = 0;                                                                                                   \
    _Pragma("omp parallel for simd reduction(+ : total) if (parallel : n > 10000)")                                   \
    for (int64_t i = 0; i < n; ++i) {                                                                                 \
      const REAL e = EXP(x[i]);                                                                                       \
      const REAL t = TANH(LOG1P(e));                                                                                  \
      const REAL s = 1 / (1 + EXP(-t));                                                                               \
      total += s;                                                                                                     \
      gradient[i] = s * (1 - s) * (1 - t * t) * e / (1 + e);                                                          \
    }                                                                                                                 \
    *loss = total;                                                                                                    \
  }

CHAIN(chain_float64, double, exp, log1p, tanh)
CHAIN(chain_float32, float, expf, log1pf, tanhf)

/* product = H·v for the Hessian H of the logistic loss: X is read from memory once, two products per row of it. */
void logistic_hessian_vector(int64_t n, int64_t p, const double *restrict X, const double *restrict y,
                             const double *restrict w, const double *restrict v, double *restrict product) {
  enum { BLOCK = 32 };
  for (int64_t j = 0; j < p; ++j) product[j] = 0.0;
#pragma omp parallel for reduction(+ : product[ : p]) if (n * p > 100000)
  for (int64_t first = 0; first < n; first += BLOCK) {
    double residual[BLOCK], tangent[BLOCK];
    const int64_t rows = n - first < BLOCK ? n - first : BLOCK;
    for (int64_t i = 0; i < rows; ++i) {
      const double *row = X + (first + i) * p;
      double score = 0.0, derivative = 0.0;
      for (int64_t j = 0; j < p; ++j) {
        score += row[j] * w[j];
        derivative += row[j] * v[j];
      }
      residual[i] = score;
      tangent[i] = derivative;
    }
    for (int64_t i = 0; i < rows; ++i) {
      const double small = exp(-fabs(y[first + i] * residual[i])); /* s (1 - s) of a sigmoid s, the same for -y */
      const double half = 1.0 / (1.0 + small);
      residual[i] = y[first + i] * y[first + i] / (double)n * small * half * half * tangent[i];
    }
    for (int64_t i = 0; i < rows; ++i) {
      const double *row = X + (first + i) * p;
      for (int64_t j = 0; j < p; ++j) product[j] += residual[i] * row[j];
    }
  }
}
