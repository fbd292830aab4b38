/* What a good engineer writes by hand, with the obvious fusions: the yardstick of benchmarks/sparse.py.
 * gcc -O3 -march=native -ffast-math -fopenmp: sums are reassociated, exp, log1p, sin and cos come from libmvec.
 * Rows go to threads in equal shares; where threads add to the same array, each has one of its own in `work`. */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <string.h>

#define CSR const double *restrict data, const int32_t *restrict indices, const int32_t *restrict indptr
#define ROW(i) (int64_t p = indptr[i]; p < indptr[(i) + 1]; ++p)
typedef double vec __attribute__((vector_size(64), aligned(8), may_alias));

/* Every number once, as fast as it comes. */
void stream(int64_t n, const double *restrict x, double *restrict sum) {
  double total = 0.0;
#pragma omp parallel for simd reduction(+ : total)
  for (int64_t i = 0; i < n; ++i) total += x[i];
  *sum = total;
}

/* work: threads x n, to be added up in result. */
static void add_up(int64_t n, const double *restrict work, double *restrict result) {
  const int threads = omp_get_max_threads();
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    double total = 0.0;
    for (int t = 0; t < threads; ++t) total += work[t * n + i];
    result[i] = total;
  }
}

/* The array that this thread adds to, zero: the result itself if there is one thread only. */
static double *own(int64_t n, double *result, double *work) {
  double *mine = omp_get_num_threads() == 1 ? result : work + n * omp_get_thread_num();
  memset(mine, 0, n * sizeof(double));
  return mine;
}

void spmv(int64_t n, CSR, const double *restrict x, double *restrict y) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0.0;
    for ROW(i) sum += data[p] * x[indices[p]];
    y[i] = sum;
  }
}

void transposed_mv(int64_t n, int64_t m, CSR, const double *restrict x, double *restrict y, double *restrict work) {
#pragma omp parallel
  {
    double *restrict mine = own(m, y, work);
#pragma omp for
    for (int64_t i = 0; i < n; ++i)
      for ROW(i) mine[indices[p]] += data[p] * x[i];
  }
  if (omp_get_max_threads() > 1) add_up(m, work, y);
}

/* Y = A X and Y = A'X for K columns, a row of Y or of X in registers. */
#define PRODUCTS(K)                                                                                                   \
  void spmm##K(int64_t n, CSR, const double *restrict X, double *restrict Y) {                                        \
    _Pragma("omp parallel for") for (int64_t i = 0; i < n; ++i) {                                                     \
      vec sum[K / 8] = {0};                                                                                           \
      for ROW(i) {                                                                                                    \
        const vec *row = (const vec *)(X + (int64_t)K * indices[p]);                                                  \
        for (int c = 0; c < K / 8; ++c) sum[c] += data[p] * row[c];                                                   \
      }                                                                                                               \
      for (int c = 0; c < K / 8; ++c) ((vec *)(Y + K * i))[c] = sum[c];                                               \
    }                                                                                                                 \
  }                                                                                                                   \
  void transposed_mm##K(int64_t n, int64_t m, CSR, const double *restrict X, double *restrict Y,                       \
                       double *restrict work) {                                                                       \
    _Pragma("omp parallel") {                                                                                         \
      double *restrict mine = own(K * m, Y, work);                                                                    \
      _Pragma("omp for") for (int64_t i = 0; i < n; ++i) {                                                            \
        const vec *from = (const vec *)(X + K * i);                                                                   \
        for ROW(i) {                                                                                                  \
          vec *row = (vec *)(mine + (int64_t)K * indices[p]);                                                         \
          for (int c = 0; c < K / 8; ++c) row[c] += data[p] * from[c];                                                \
        }                                                                                                             \
      }                                                                                                               \
    }                                                                                                                 \
    if (omp_get_max_threads() > 1) add_up(K * m, work, Y);                                                            \
  }

PRODUCTS(16)
PRODUCTS(64)

/* loss = mean log(1 + exp(-y * Xw)), gradient by w and, if by_data is not null, by the stored values of X:
 * X is read once, a block of rows at a time. */
static void logistic_block(int64_t n, int64_t m, CSR, const double *restrict y, const double *restrict w,
                           double *restrict loss, double *restrict gradient, double *restrict by_data,
                           double *restrict work) {
  enum { BLOCK = 16 };
  double total = 0.0;
#pragma omp parallel reduction(+ : total)
  {
    double *restrict mine = own(m, gradient, work), residual[BLOCK];
#pragma omp for
    for (int64_t first = 0; first < n; first += BLOCK) {
      const int64_t rows = n - first < BLOCK ? n - first : BLOCK;
      for (int64_t i = 0; i < rows; ++i) {
        double score = 0.0;
        for ROW(first + i) score += data[p] * w[indices[p]];
        residual[i] = score;
      }
      for (int64_t i = 0; i < rows; ++i) {
        const double margin = -y[first + i] * residual[i];
        const double small = exp(-fabs(margin)); /* softplus and sigmoid that do not overflow */
        total += fmax(margin, 0.0) + log1p(small);
        residual[i] = -y[first + i] / (double)n * (margin > 0.0 ? 1.0 : small) / (1.0 + small);
      }
      for (int64_t i = 0; i < rows; ++i) {
        for ROW(first + i) mine[indices[p]] += residual[i] * data[p];
        if (by_data)
          for ROW(first + i) by_data[p] = residual[i] * w[indices[p]];
      }
    }
  }
  if (omp_get_max_threads() > 1) add_up(m, work, gradient);
  *loss = total / (double)n;
}

void logistic(int64_t n, int64_t m, CSR, const double *y, const double *w, double *loss, double *gradient,
              double *work) {
  logistic_block(n, m, data, indices, indptr, y, w, loss, gradient, 0, work);
}

void logistic_by_data(int64_t n, int64_t m, CSR, const double *y, const double *w, double *loss, double *gradient,
                      double *by_data, double *work) {
  logistic_block(n, m, data, indices, indptr, y, w, loss, gradient, by_data, work);
}

/* Stored entries in the rows of a product of two CSR matrices, summed up. marks: threads x m. */
void count_products(int64_t n, int64_t m, const int32_t *restrict a_indices, const int32_t *restrict a_indptr,
                    const int32_t *restrict b_indices, const int32_t *restrict b_indptr, int32_t *restrict indptr,
                    int32_t *restrict marks) {
#pragma omp parallel
  {
    int32_t *restrict mark = marks + m * omp_get_thread_num();
    memset(mark, 255, m * sizeof(int32_t));
#pragma omp for
    for (int64_t i = 0; i < n; ++i) {
      int32_t count = 0;
      for (int64_t p = a_indptr[i]; p < a_indptr[i + 1]; ++p)
        for (int64_t q = b_indptr[a_indices[p]]; q < b_indptr[a_indices[p] + 1]; ++q)
          if (mark[b_indices[q]] != (int32_t)i) {
            mark[b_indices[q]] = (int32_t)i;
            ++count;
          }
      indptr[i + 1] = count;
    }
  }
  indptr[0] = 0;
  for (int64_t i = 0; i < n; ++i) indptr[i + 1] += indptr[i];
}

/* Their values and columns: mark[j] says where column j of this row is. */
void fill_products(int64_t n, int64_t m, const double *restrict a_data, const int32_t *restrict a_indices,
                   const int32_t *restrict a_indptr, const double *restrict b_data,
                   const int32_t *restrict b_indices, const int32_t *restrict b_indptr, double *restrict data,
                   int32_t *restrict indices, const int32_t *restrict indptr, int32_t *restrict marks) {
#pragma omp parallel
  {
    int32_t *restrict mark = marks + m * omp_get_thread_num();
    memset(mark, 255, m * sizeof(int32_t));
#pragma omp for
    for (int64_t i = 0; i < n; ++i) {
      int32_t end = indptr[i];
      for (int64_t p = a_indptr[i]; p < a_indptr[i + 1]; ++p)
        for (int64_t q = b_indptr[a_indices[p]]; q < b_indptr[a_indices[p] + 1]; ++q) {
          const int32_t column = b_indices[q], at = mark[column];
          const double value = a_data[p] * b_data[q];
          if (at >= indptr[i]) {
            data[at] += value;
          } else {
            mark[column] = end;
            indices[end] = column;
            data[end++] = value;
          }
        }
    }
  }
}

static double dot64(const double *restrict a, const double *restrict b) {
  double sum = 0.0;
  for (int c = 0; c < 64; ++c) sum += a[c] * b[c];
  return sum;
}

/* S = P * (D E') where P is stored. */
void sddmm64(int64_t n, CSR, const double *restrict D, const double *restrict E, double *restrict S) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i)
    for ROW(i) S[p] = data[p] * dot64(D + 64 * i, E + 64 * (int64_t)indices[p]);
}

/* loss = sum S^2 / 2 and its gradient by D and E: one pass. */
void sddmm64_gradient(int64_t n, int64_t m, CSR, const double *restrict D, const double *restrict E,
                      double *restrict loss, double *restrict by_d, double *restrict by_e, double *restrict work) {
  double total = 0.0;
#pragma omp parallel reduction(+ : total)
  {
    double *restrict mine = own(64 * m, by_e, work);
#pragma omp for
    for (int64_t i = 0; i < n; ++i) {
      vec sum[8] = {0};
      for ROW(i) {
        const double entry = data[p] * dot64(D + 64 * i, E + 64 * (int64_t)indices[p]), pull = entry * data[p];
        const vec *from = (const vec *)(E + 64 * (int64_t)indices[p]), *row = (const vec *)(D + 64 * i);
        vec *to = (vec *)(mine + 64 * (int64_t)indices[p]);
        total += entry * entry;
        for (int c = 0; c < 8; ++c) sum[c] += pull * from[c];
        for (int c = 0; c < 8; ++c) to[c] += pull * row[c];
      }
      for (int c = 0; c < 8; ++c) ((vec *)(by_d + 64 * i))[c] = sum[c];
    }
  }
  if (omp_get_max_threads() > 1) add_up(64 * m, work, by_e);
  *loss = 0.5 * total;
}

/* C[:, :64] = A B[:, :64] for n rows and `inner` columns of A; three rows of C at a time stay in registers. */
static void product64(int64_t n, int64_t inner, const double *restrict A, const double *restrict B, int64_t b_stride,
                      double *restrict C, int64_t c_stride) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i += 3) {
    const int64_t second = i + 1 < n ? i + 1 : i, third = i + 2 < n ? i + 2 : i;
    vec sum[3][8] = {0};
    for (int64_t k = 0; k < inner; ++k) {
      const vec *row = (const vec *)(B + b_stride * k);
      const double a = A[inner * i + k], b = A[inner * second + k], c = A[inner * third + k];
#pragma GCC unroll 8
      for (int j = 0; j < 8; ++j) {
        sum[0][j] += a * row[j];
        sum[1][j] += b * row[j];
        sum[2][j] += c * row[j];
      }
    }
    for (int j = 0; j < 8; ++j) {
      ((vec *)(C + c_stride * third))[j] = sum[2][j];
      ((vec *)(C + c_stride * second))[j] = sum[1][j];
      ((vec *)(C + c_stride * i))[j] = sum[0][j];
    }
  }
}

/* Y = max(0, A (H W)); back = A'(cotangent where Y > 0); by_h = back W', by_w = H' back.
 * back: n x 64; turned: 64 x 128; work: threads x (n + 128) x 64. */
void convolution_128_64(int64_t n, CSR, const double *restrict H, const double *restrict W,
                        const double *restrict cotangent, double *restrict Y, double *restrict by_h,
                        double *restrict by_w, double *restrict work, double *restrict back,
                        double *restrict turned) {
  const int threads = omp_get_max_threads();
  product64(n, 128, H, W, 64, back, 64); /* H W for now */
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    vec sum[8] = {0};
    for ROW(i) {
      const vec *row = (const vec *)(back + 64 * (int64_t)indices[p]);
      for (int c = 0; c < 8; ++c) sum[c] += data[p] * row[c];
    }
    for (int c = 0; c < 64; ++c) Y[64 * i + c] = fmax(((const double *)sum)[c], 0.0);
  }
#pragma omp parallel
  {
    double *restrict mine = own(64 * n, back, work);
#pragma omp for
    for (int64_t i = 0; i < n; ++i) {
      double masked[64];
      for (int c = 0; c < 64; ++c) masked[c] = Y[64 * i + c] > 0.0 ? cotangent[64 * i + c] : 0.0;
      for ROW(i) {
        vec *row = (vec *)(mine + 64 * (int64_t)indices[p]);
        for (int c = 0; c < 8; ++c) row[c] += data[p] * ((const vec *)masked)[c];
      }
    }
  }
  if (threads > 1) add_up(64 * n, work, back);
  for (int k = 0; k < 128; ++k)
    for (int c = 0; c < 64; ++c) turned[128 * c + k] = W[64 * k + c];
  product64(n, 64, back, turned, 128, by_h, 128);
  product64(n, 64, back, turned + 64, 128, by_h + 64, 128);
#pragma omp parallel
  {
    double *restrict mine = own(128 * 64, by_w, work + threads * 64 * n);
#pragma omp for
    for (int64_t first = 0; first < n; first += 4) {
      const int64_t rows = n - first < 4 ? n - first : 4;
      for (int k = 0; k < 128; ++k) {
        vec *row = (vec *)(mine + 64 * k);
        for (int64_t i = 0; i < rows; ++i)
          for (int c = 0; c < 8; ++c) row[c] += H[128 * (first + i) + k] * ((const vec *)(back + 64 * (first + i)))[c];
      }
    }
  }
  if (threads > 1) add_up(128 * 64, work + threads * 64 * n, by_w);
}

/* Jacobian of two residuals by fifteen inputs for each observation, by adjoints written by hand; observations stand
 * side by side in vectors. Inputs: rotation 3, centre 3, focal length, principal point 2, radial 2, point 3, weight. */
void bundle(int64_t n, const double *restrict inputs, const double *restrict seen, double *restrict blocks) {
  enum { BLOCK = 32 };
#pragma omp parallel for
  for (int64_t first = 0; first < n; first += BLOCK) {
    const int64_t count = n - first < BLOCK ? n - first : BLOCK;
    double in[15][BLOCK], to[2][BLOCK], out[30][BLOCK];
    for (int64_t i = 0; i < BLOCK; ++i) {
      const int64_t from = first + (i < count ? i : count - 1);
      for (int c = 0; c < 15; ++c) in[c][i] = inputs[15 * from + c];
      for (int c = 0; c < 2; ++c) to[c][i] = seen[2 * from + c];
    }
    for (int64_t i = 0; i < BLOCK; ++i) {
      const double x = in[11][i] - in[3][i], y = in[12][i] - in[4][i], z = in[13][i] - in[5][i];
      const double angle = sqrt(in[0][i] * in[0][i] + in[1][i] * in[1][i] + in[2][i] * in[2][i]), turn = 1 / angle;
      const double a = in[0][i] * turn, b = in[1][i] * turn, c = in[2][i] * turn, f = in[6][i], weight = in[14][i];
      const double cosine = cos(angle), sine = sin(angle), rest = 1 - cosine, along = a * x + b * y + c * z;
      const double cx = b * z - c * y, cy = c * x - a * z, cz = a * y - b * x;
      const double X = x * cosine + cx * sine + a * along * rest, Y = y * cosine + cy * sine + b * along * rest;
      const double Z = z * cosine + cz * sine + c * along * rest, inverse = 1 / Z, u = X * inverse, v = Y * inverse;
      const double square = u * u + v * v, scale = 1 + in[9][i] * square + in[10][i] * square * square;
      const double pull = weight * f, derivative = 2 * (in[9][i] + 2 * in[10][i] * square);
      for (int r = 0; r < 2; ++r) {
        const double own = r ? v : u, by_scale = pull * own;
        const double du = by_scale * derivative * u + (r ? 0 : pull * scale);
        const double dv = by_scale * derivative * v + (r ? pull * scale : 0);
        const double dx = du * inverse, dy = dv * inverse, dz = -(du * u + dv * v) * inverse;
        const double across = a * dx + b * dy + c * dz, both = along * rest, other = across * rest;
        /* by the axis, then by the angle */
        const double da = (y * dz - z * dy) * sine + both * dx + other * x;
        const double db = (z * dx - x * dz) * sine + both * dy + other * y;
        const double dc = (x * dy - y * dx) * sine + both * dz + other * z;
        const double by_angle = -sine * (x * dx + y * dy + z * dz) + cosine * (cx * dx + cy * dy + cz * dz) +
                                sine * along * across;
        const double radial = by_angle - (a * da + b * db + c * dc) * turn;
        const double bx = dx * cosine - (b * dz - c * dy) * sine + a * other;
        const double by = dy * cosine - (c * dx - a * dz) * sine + b * other;
        const double bz = dz * cosine - (a * dy - b * dx) * sine + c * other;
        double(*o)[BLOCK] = out + 15 * r;
        o[0][i] = radial * a + da * turn, o[1][i] = radial * b + db * turn, o[2][i] = radial * c + dc * turn;
        o[3][i] = -bx, o[4][i] = -by, o[5][i] = -bz;
        o[6][i] = weight * own * scale;
        o[7][i] = r ? 0 : weight, o[8][i] = r ? weight : 0;
        o[9][i] = by_scale * square, o[10][i] = by_scale * square * square;
        o[11][i] = bx, o[12][i] = by, o[13][i] = bz;
        o[14][i] = own * f * scale + in[7 + r][i] - to[r][i];
      }
    }
    for (int64_t i = 0; i < count; ++i)
      for (int c = 0; c < 30; ++c) blocks[30 * (first + i) + c] = out[c][i];
  }
}
