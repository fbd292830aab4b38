/* What a good engineer writes by hand, with the same fusion, and OpenMP: the yardstick of benchmarks/run.py.
 * gcc -O3 -march=native -ffast-math, so sums are reassociated and exp, log1p, tanh come from libmvec. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

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

/* softmax and the gradient of the sum of squares of logsumexp, by rows: a row stays in cache. */
#define ROWS(NAME, FACTOR)                                                                                            \
  void NAME(int64_t n, int64_t m, const double *restrict X, double *restrict Y) {                                     \
    _Pragma("omp parallel for") for (int64_t i = 0; i < n; ++i) {                                                     \
      const double *row = X + i * m;                                                                                  \
      double *to = Y + i * m, top = -INFINITY, total = 0.0;                                                           \
      for (int64_t j = 0; j < m; ++j) top = fmax(top, row[j]);                                                        \
      for (int64_t j = 0; j < m; ++j) total += to[j] = exp(row[j] - top);                                             \
      const double factor = FACTOR / total;                                                                           \
      for (int64_t j = 0; j < m; ++j) to[j] *= factor;                                                                \
    }                                                                                                                 \
  }

/* The same by columns, a strip of them at a time. */
#define COLUMNS(NAME, FACTOR)                                                                                         \
  void NAME(int64_t n, int64_t m, const double *restrict X, double *restrict Y) {                                     \
    enum { STRIP = 64 };                                                                                              \
    _Pragma("omp parallel for") for (int64_t first = 0; first < m; first += STRIP) {                                  \
      const int64_t width = m - first < STRIP ? m - first : STRIP;                                                    \
      double tops[STRIP], totals[STRIP];                                                                              \
      for (int64_t j = 0; j < width; ++j) tops[j] = -INFINITY, totals[j] = 0.0;                                       \
      for (int64_t i = 0; i < n; ++i)                                                                                 \
        for (int64_t j = 0; j < width; ++j) tops[j] = fmax(tops[j], X[i * m + first + j]);                            \
      for (int64_t i = 0; i < n; ++i)                                                                                 \
        for (int64_t j = 0; j < width; ++j)                                                                           \
          totals[j] += Y[i * m + first + j] = exp(X[i * m + first + j] - tops[j]);                                    \
      for (int64_t j = 0; j < width; ++j) {                                                                           \
        const double top = tops[j], total = totals[j];                                                                \
        (void)top;                                                                                                    \
        totals[j] = FACTOR / total;                                                                                   \
      }                                                                                                               \
      for (int64_t i = 0; i < n; ++i)                                                                                 \
        for (int64_t j = 0; j < width; ++j) Y[i * m + first + j] *= totals[j];                                        \
    }                                                                                                                 \
  }

#define OF_SQUARES (2.0 * (top + log(total)))
ROWS(softmax_1, 1.0)
ROWS(logsumexp_gradient_1, OF_SQUARES)
COLUMNS(softmax_0, 1.0)
COLUMNS(logsumexp_gradient_0, OF_SQUARES)

/* Inside, each is the mean of its four neighbours; the border stays as `edge` has it, or zero. */
static void sweep(int64_t n, int64_t m, const double *restrict u, const double *restrict edge, double *restrict to) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    const double *row = u + i * m;
    double *out = to + i * m;
    if (i == 0 || i == n - 1) {
      for (int64_t j = 0; j < m; ++j) out[j] = edge ? edge[i * m + j] : 0.0;
      continue;
    }
    out[0] = edge ? edge[i * m] : 0.0;
    out[m - 1] = edge ? edge[i * m + m - 1] : 0.0;
    for (int64_t j = 1; j < m - 1; ++j) out[j] = 0.25 * (row[j - m] + row[j + m] + row[j - 1] + row[j + 1]);
  }
}

/* result: what u is after so many sweeps, an even number. */
void stencil(int64_t n, int64_t m, int64_t sweeps, const double *restrict u, double *restrict result,
             double *restrict work) {
  sweep(n, m, u, u, work);
  sweep(n, m, work, u, result);
  for (int64_t s = 2; s < sweeps; s += 2) {
    sweep(n, m, result, u, work);
    sweep(n, m, work, u, result);
  }
}

/* The cotangents that a sweep leaves on the border of g come from the elements next to it, a quarter each. */
static void to_border(int64_t n, int64_t m, const double *restrict inside, double *restrict border) {
  for (int64_t j = 1; j < m - 1; ++j) {
    border[j] += 0.25 * inside[m + j];
    border[m + j] += 0.25 * inside[(n - 2) * m + j];
  }
  for (int64_t i = 1; i < n - 1; ++i) {
    border[2 * m + i] += 0.25 * inside[i * m + 1];
    border[2 * m + n + i] += 0.25 * inside[i * m + m - 2];
  }
}

/* result: gradient of the sum of squares of that. The inside goes through the same sweeps with a border of zeros. */
void stencil_gradient(int64_t n, int64_t m, int64_t sweeps, const double *restrict u, double *restrict result,
                      double *restrict work) {
  double *border = malloc(2 * (n + m) * sizeof(double)); /* first and last row, first and last column */
  stencil(n, m, sweeps, u, result, work);
  for (int64_t j = 0; j < m; ++j) border[j] = 2.0 * result[j], border[m + j] = 2.0 * result[(n - 1) * m + j];
  for (int64_t i = 0; i < n; ++i) border[2 * m + i] = 2.0 * result[i * m], border[2 * m + n + i] = 2.0 * result[i * m + m - 1];
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j)
      result[i * m + j] = i == 0 || i == n - 1 || j == 0 || j == m - 1 ? 0.0 : 2.0 * result[i * m + j];
  for (int64_t s = 0; s < sweeps; s += 2) {
    to_border(n, m, result, border);
    sweep(n, m, result, 0, work);
    to_border(n, m, work, border);
    sweep(n, m, work, 0, result);
  }
  for (int64_t i = 1; i < n - 1; ++i) result[i * m] = border[2 * m + i], result[i * m + m - 1] = border[2 * m + n + i];
  for (int64_t j = 0; j < m; ++j) result[j] = border[j], result[(n - 1) * m + j] = border[m + j];
  free(border);
}

/* log p(y | a[group] + b[group] x, tau) + log p(a, b | mu, tau) and its gradient by a, b, mu, tau. */
void radon(int64_t n, int64_t k, const double *restrict y, const double *restrict x, const int64_t *restrict group,
           const double *restrict a, const double *restrict b, const double *restrict mu, const double *restrict tau,
           double *restrict value, double *restrict by_a, double *restrict by_b, double *restrict by_mu,
           double *restrict by_tau) {
  const double weights[3] = {exp(-2.0 * tau[0]), exp(-2.0 * tau[1]), exp(-2.0 * tau[2])};
  double squares = 0.0;
  for (int64_t g = 0; g < k; ++g) by_a[g] = by_b[g] = 0.0;
#pragma omp parallel for reduction(+ : squares, by_a[ : k], by_b[ : k]) if (n > 5000)
  for (int64_t i = 0; i < n; ++i) {
    const double r = y[i] - a[group[i]] - b[group[i]] * x[i];
    squares += r * r;
    by_a[group[i]] += r;
    by_b[group[i]] += r * x[i];
  }
  double sums[2] = {0.0, 0.0}, both[2] = {0.0, 0.0};
  for (int64_t g = 0; g < k; ++g) {
    const double u = a[g] - mu[0], v = b[g] - mu[1];
    by_a[g] = weights[0] * by_a[g] - weights[1] * u;
    by_b[g] = weights[0] * by_b[g] - weights[2] * v;
    sums[0] += u, sums[1] += v;
    both[0] += u * u, both[1] += v * v;
  }
  *value = -0.5 * weights[0] * squares - n * tau[0];
  by_tau[0] = weights[0] * squares - n;
  for (int i = 0; i < 2; ++i) {
    *value -= 0.5 * weights[i + 1] * both[i] + k * tau[i + 1];
    by_mu[i] = weights[i + 1] * sums[i];
    by_tau[i + 1] = weights[i + 1] * both[i] - k;
  }
}

/* Log-likelihood of a Gaussian mixture and its gradient; a vector of samples at a time, a sample in each lane. */
enum { D = 10, K = 25, BELOW = D * (D - 1) / 2, F = D + BELOW, LANES = 8 };
#define LANE (int l = 0; l < LANES; ++l)

void mixture(int64_t n, const double *restrict alphas, const double *restrict means, const double *restrict factors,
             const double *restrict x, const double *restrict prior, double *restrict loss,
             double *restrict by_alphas, double *restrict by_means, double *restrict by_factors) {
  double Q[K][F], base[K], total = 0.0, counts[K] = {0}, pulls[K * D] = {0}, products[K * F] = {0};
  for (int k = 0; k < K; ++k) {
    base[k] = alphas[k];
    for (int i = 0; i < D; ++i) base[k] += factors[k * F + i], Q[k][i] = exp(factors[k * F + i]);
    for (int p = D; p < F; ++p) Q[k][p] = factors[k * F + p];
  }
#pragma omp parallel for reduction(+ : total, counts[ : K], pulls[ : K * D], products[ : K * F])
  for (int64_t first = 0; first < n; first += LANES) {
    double at[D][LANES], whitened[K][D][LANES], density[K][LANES], top[LANES], sum[LANES], used[LANES];
    for LANE used[l] = first + l < n;
    for (int j = 0; j < D; ++j)
      for LANE at[j][l] = first + l < n ? x[(first + l) * D + j] : 0.0;
    for (int k = 0; k < K; ++k) {
      for LANE density[k][l] = base[k];
      for (int i = 0; i < D; ++i) {
        double w[LANES];
        for LANE w[l] = Q[k][i] * (at[i][l] - means[k * D + i]);
        for (int j = 0; j < i; ++j)
          for LANE w[l] += Q[k][D + i * (i - 1) / 2 + j] * (at[j][l] - means[k * D + j]);
        for LANE whitened[k][i][l] = w[l], density[k][l] -= 0.5 * w[l] * w[l];
      }
    }
    for LANE top[l] = -INFINITY, sum[l] = 0.0;
    for (int k = 0; k < K; ++k)
      for LANE top[l] = fmax(top[l], density[k][l]);
    for (int k = 0; k < K; ++k)
      for LANE sum[l] += density[k][l] = exp(density[k][l] - top[l]);
    for LANE total += used[l] * (top[l] + log(sum[l]));
    for LANE sum[l] = used[l] / sum[l];
    for (int k = 0; k < K; ++k) {
      for LANE density[k][l] *= sum[l], counts[k] += density[k][l];
      for (int i = 0; i < D; ++i) {
        double pull[LANES];
        for LANE pull[l] = -density[k][l] * whitened[k][i][l];
        for LANE pulls[k * D + i] += pull[l];
        for LANE products[k * F + i] += pull[l] * (at[i][l] - means[k * D + i]);
        for (int j = 0; j < i; ++j)
          for LANE products[k * F + D + i * (i - 1) / 2 + j] += pull[l] * (at[j][l] - means[k * D + j]);
      }
    }
  }
  const double gamma = prior[1], extra = prior[2];
  double largest = -INFINITY, shares = 0.0, norms = 0.0;
  for (int k = 0; k < K; ++k) largest = fmax(largest, alphas[k]);
  for (int k = 0; k < K; ++k) shares += exp(alphas[k] - largest);
  for (int k = 0; k < K; ++k) {
    by_alphas[k] = counts[k] - n * exp(alphas[k] - largest) / shares;
    for (int i = 0; i < D; ++i) {
      double by_mean = -Q[k][i] * pulls[k * D + i];
      for (int below = i + 1; below < D; ++below) by_mean -= Q[k][D + below * (below - 1) / 2 + i] * pulls[k * D + below];
      by_means[k * D + i] = by_mean;
      norms += 0.5 * gamma * gamma * Q[k][i] * Q[k][i] - extra * factors[k * F + i];
      by_factors[k * F + i] = counts[k] - extra + products[k * F + i] * Q[k][i] + gamma * gamma * Q[k][i] * Q[k][i];
    }
    for (int p = D; p < F; ++p) {
      norms += 0.5 * gamma * gamma * Q[k][p] * Q[k][p];
      by_factors[k * F + p] = products[k * F + p] + gamma * gamma * Q[k][p];
    }
  }
  *loss = prior[0] + total - n * (largest + log(shares)) + norms;
}

/* Rates of rigid bodies against measured ones, ½·Σ (rate - seen)², and its gradient; a body in each lane.
 * constants: mass, gravity, principal moments of inertia. */
void rigid_body(int64_t n, const double *restrict constants, const double *restrict angles,
                const double *restrict spin, const double *restrict push, const double *restrict seen,
                double *restrict loss, double *restrict by_angles, double *restrict by_spin,
                double *restrict by_push) {
  const double inverse = 1.0 / constants[0], gravity = constants[1];
  const double ix = constants[2], iy = constants[3], iz = constants[4];
  const double a = (iz - iy) / ix, b = (ix - iz) / iy, c = (iy - ix) / iz;
#pragma omp parallel for simd if (parallel : n > 500)
  for (int64_t k = 0; k < n; ++k) {
    const double *e = angles + 3 * k, *w = spin + 3 * k, *u = push + 6 * k, *s = seen + 9 * k;
    const double sr = sin(e[0]), cr = cos(e[0]), sp = sin(e[1]), cp = cos(e[1]), sy = sin(e[2]), cy = cos(e[2]);
    const double fx = u[0] * inverse, fy = u[1] * inverse, fz = u[2] * inverse, over = 1.0 / cp;
    const double turned = sr * fy + cr * fz, across = cr * fy - sr * fz, ahead = cp * fx + sp * turned;
    const double lift = sr * w[1] + cr * w[2], swing = lift * over, drop = cr * w[1] - sr * w[2];
    const double d0 = cy * ahead - sy * across - s[0], d1 = sy * ahead + cy * across - s[1];
    const double d2 = cp * turned - sp * fx - gravity - s[2], d3 = w[0] + sp * swing - s[3];
    const double d4 = drop - s[4], d5 = swing - s[5];
    const double d6 = u[3] / ix - a * w[1] * w[2] - s[6], d7 = u[4] / iy - b * w[2] * w[0] - s[7];
    const double d8 = u[5] / iz - c * w[0] * w[1] - s[8];
    loss[k] = 0.5 * (d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3 + d4 * d4 + d5 * d5 + d6 * d6 + d7 * d7 + d8 * d8);
    const double by_ahead = cy * d0 + sy * d1, by_across = cy * d1 - sy * d0;
    const double by_turned = cp * d2 + sp * by_ahead, by_fx = cp * by_ahead - sp * d2;
    const double by_fy = sr * by_turned + cr * by_across, by_fz = cr * by_turned - sr * by_across;
    const double by_swing = sp * d3 + d5, by_lift = by_swing * over;
    by_angles[3 * k] = across * by_turned - turned * by_across + drop * by_lift - lift * d4;
    by_angles[3 * k + 1] = (cp * turned - sp * fx) * by_ahead - (sp * turned + cp * fx) * d2 + cp * swing * d3 +
                           by_swing * swing * sp * over;
    by_angles[3 * k + 2] = d1 * (cy * ahead - sy * across) - d0 * (sy * ahead + cy * across);
    by_spin[3 * k] = d3 - b * w[2] * d7 - c * w[1] * d8;
    by_spin[3 * k + 1] = sr * by_lift + cr * d4 - a * w[2] * d6 - c * w[0] * d8;
    by_spin[3 * k + 2] = cr * by_lift - sr * d4 - a * w[1] * d6 - b * w[0] * d7;
    by_push[6 * k] = by_fx * inverse, by_push[6 * k + 1] = by_fy * inverse, by_push[6 * k + 2] = by_fz * inverse;
    by_push[6 * k + 3] = d6 / ix, by_push[6 * k + 4] = d7 / iy, by_push[6 * k + 5] = d8 / iz;
  }
}
