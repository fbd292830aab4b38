/* Common part of every header that aotensor generates: C99, also valid as C++.
 *
 * A library needs libc and libm only. Every entry point is reentrant and thread-safe: a library has no state of its
 * own but the threads that it may start. Memory is row-major unless strides say otherwise. Status 0 is success; see
 * aotensor_status_message. */
#ifndef AOTENSOR_H
#define AOTENSOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AOTENSOR_ABI_VERSION 2 /* changes with a struct below or the meaning of a field; appended fields do not count */

/* dtype codes of aotensor_array */
enum {
  AOTENSOR_BOOL    = 1,  /* one byte, 0 or 1 */
  AOTENSOR_INT8    = 2,
  AOTENSOR_INT16   = 3,
  AOTENSOR_INT32   = 4,
  AOTENSOR_INT64   = 5,
  AOTENSOR_UINT8   = 6,
  AOTENSOR_UINT16  = 7,
  AOTENSOR_UINT32  = 8,
  AOTENSOR_UINT64  = 9,
  AOTENSOR_FLOAT32 = 10,
  AOTENSOR_FLOAT64 = 11,
  AOTENSOR_COMPLEX64  = 12, /* aotensor_complex64  */
  AOTENSOR_COMPLEX128 = 13, /* aotensor_complex128 */
  AOTENSOR_FLOAT16    = 14, /* uint16_t: the bits of an IEEE binary16, as _Float16 of C and std::float16_t have them */
  AOTENSOR_BFLOAT16   = 15  /* uint16_t: the upper half of a float, as __bf16 and std::bfloat16_t have it            */
};

/* Complex numbers. Pointers to `float _Complex` and `double _Complex` of C, and to std::complex of C++, point to the
 * same bytes and may be cast to these. */
typedef struct aotensor_complex64 {
  float re;                         /* real part      */
  float im;                         /* imaginary part */
} aotensor_complex64;

typedef struct aotensor_complex128 {
  double re;                        /* real part      */
  double im;                        /* imaginary part */
} aotensor_complex128;

/* status codes; a code from AOTENSOR_CHECK on is a check that one function makes on its values. It is made of the
 * function's name and what the check says, so it stays the same when other functions and checks come and go, and the
 * codes of two libraries do not get mixed up. */
enum {
  AOTENSOR_OK             = 0,
  AOTENSOR_NULL_POINTER   = 1,   /* a pointer that is needed is NULL                                          */
  AOTENSOR_WRONG_DTYPE    = 2,   /* an array has another dtype than the signature says                        */
  AOTENSOR_WRONG_RANK     = 3,   /* an array has another rank than the signature says                         */
  AOTENSOR_WRONG_EXTENT   = 4,   /* an extent differs from the signature, or from the same dim elsewhere      */
  AOTENSOR_NEGATIVE       = 5,   /* an extent is negative                                                     */
  AOTENSOR_TOO_LARGE      = 6,   /* an array or the workspace has more bytes than 63 bits count               */
  AOTENSOR_OVERLAP        = 7,   /* the memory of an output overlaps an input, another output or itself       */
  AOTENSOR_NO_MEMORY      = 8,   /* malloc or the allocate callback returned NULL; or a library that allocates nothing
                                    got too small a workspace, or an array that it would have to copy         */
  AOTENSOR_OUTPUTS_NEEDED = 9,   /* an output has no data and there is no allocate; the shapes are filled in  */
  AOTENSOR_WRONG_CONTEXT  = 10,  /* aotensor_context.struct_size is not set, a size or num_threads is negative, a
                                    flag is unknown, or blas->struct_size is not set                          */
  AOTENSOR_NOT_PLAIN      = 11,  /* aotensor_call_python: an argument needs conversion first                  */
  AOTENSOR_NO_FUNCTION    = 12,  /* a function of BLAS or LAPACK is needed, and aotensor_context.blas lacks it  */
  AOTENSOR_BAD_STRUCTURE  = 13,  /* a sparse matrix whose indptr does not start at 0, rise and end with nnz     */
  AOTENSOR_BAD_INDEX      = 14,  /* a sparse matrix with an index outside of its rows or columns                */
  AOTENSOR_NOT_CONVERGED  = 15,  /* a solver that must converge did not; the message of the context says why  */
  AOTENSOR_NO_WEIGHTS     = 16,  /* the file of weights is not there, or cannot be read or mapped               */
  AOTENSOR_WRONG_WEIGHTS  = 17,  /* the weights have another size or digest than those of the library           */
  AOTENSOR_CHECK          = 1000
};

/* A dense array. As an output with data == NULL, the library asks aotensor_context.allocate for the memory and writes
 * the extents through `shape`, which then points to room for `rank` numbers; dtype is 0 or right, strides are NULL. */
typedef struct aotensor_array {
  void          *data;    /* first element; never NULL in an input unless some extent is 0                 */
  const int64_t *shape;   /* extents in elements, `rank` of them; may be NULL if rank is 0                 */
  const int64_t *strides; /* in elements, not bytes, `rank` of them; may be negative; NULL means row-major */
  int32_t        rank;    /* number of dims                                                                */
  int32_t        dtype;   /* AOTENSOR_BOOL ... AOTENSOR_BFLOAT16                                           */
} aotensor_array;

/* flags of aotensor_context */
enum {
  AOTENSOR_CANONICAL = 1  /* sparse inputs are valid, and canonical: sorted, without duplicates. Their indices are not
                             looked at before the call, so a wrong one leads to memory outside of the arrays */
};

/* flags of aotensor_set_weights_<library> */
enum {
  AOTENSOR_WEIGHTS_CHECKED = 1  /* the caller has compared the SHA-256: the library does not compute it */
};

/* A sparse matrix in compressed rows (CSR) or columns (CSC), or in rows of dense blocks of one size (BSR): there
 * entries are blocks, slices are rows of blocks, and shape counts elements all the same. As an input it is checked
 * before anything is computed. Entries of one row (column) may stand in any order, and those with equal coordinates
 * mean their sum: the call then works on a sorted copy. An entry that is stored is part of the pattern, be it 0 or
 * not.
 *
 * As an output with indptr == NULL, the library fills in everything: memory comes from aotensor_context.allocate, with
 * exactly the sizes that are needed. Without allocate, nnz and shape are filled in and the status is
 * AOTENSOR_OUTPUTS_NEEDED; call again with the three arrays and that nnz. Set the struct to zero first: a dtype or
 * index_dtype other than 0 must be that of the function, with arrays a shape other than zero that of the result. */
typedef struct aotensor_sparse {
  void    *data;         /* stored entries, `nnz` of them; blocks are in row-major order         */
  void    *indices;      /* minor coordinate of each stored entry, `nnz` of them                */
  void    *indptr;       /* first position of each major slice, number of major slices plus one */
  int64_t  nnz;          /* number of stored entries                                            */
  int64_t  shape[2];     /* rows, columns, in elements                                          */
  int32_t  dtype;        /* of `data`: AOTENSOR_BOOL ... AOTENSOR_FLOAT64                       */
  int32_t  index_dtype;  /* of `indices` and `indptr`: AOTENSOR_INT32 or AOTENSOR_INT64         */
} aotensor_sparse;

/* BLAS and LAPACK with the Fortran calling convention and 32-bit integers: every argument is a pointer, matrices are
 * column-major, strings have length 1 and no hidden length is passed. A function is there if struct_size covers its
 * pointer and that is not NULL. Products (gemm, gemv) are optional, generated code takes their place; a library
 * function that does linear algebra says in its comment which of the others it needs. */
typedef struct aotensor_blas {
  int64_t struct_size; /* sizeof(aotensor_blas), in bytes, as the caller knows it */
  void (*sgemm)(const char *transa, const char *transb, const int32_t *m, const int32_t *n, const int32_t *k,
                const float *alpha, const float *a, const int32_t *lda, const float *b, const int32_t *ldb,
                const float *beta, float *c, const int32_t *ldc);
  void (*dgemm)(const char *transa, const char *transb, const int32_t *m, const int32_t *n, const int32_t *k,
                const double *alpha, const double *a, const int32_t *lda, const double *b, const int32_t *ldb,
                const double *beta, double *c, const int32_t *ldc);
  void (*sgemv)(const char *trans, const int32_t *m, const int32_t *n, const float *alpha, const float *a,
                const int32_t *lda, const float *x, const int32_t *incx, const float *beta, float *y,
                const int32_t *incy);
  void (*dgemv)(const char *trans, const int32_t *m, const int32_t *n, const double *alpha, const double *a,
                const int32_t *lda, const double *x, const int32_t *incx, const double *beta, double *y,
                const int32_t *incy);
  void (*strsm)(const char *side, const char *uplo, const char *transa, const char *diag, const int32_t *m,
                const int32_t *n, const float *alpha, const float *a, const int32_t *lda, float *b,
                const int32_t *ldb);
  void (*dtrsm)(const char *side, const char *uplo, const char *transa, const char *diag, const int32_t *m,
                const int32_t *n, const double *alpha, const double *a, const int32_t *lda, double *b,
                const int32_t *ldb);
  void (*strmm)(const char *side, const char *uplo, const char *transa, const char *diag, const int32_t *m,
                const int32_t *n, const float *alpha, const float *a, const int32_t *lda, float *b,
                const int32_t *ldb);
  void (*dtrmm)(const char *side, const char *uplo, const char *transa, const char *diag, const int32_t *m,
                const int32_t *n, const double *alpha, const double *a, const int32_t *lda, double *b,
                const int32_t *ldb);
  void (*spotrf)(const char *uplo, const int32_t *n, float *a, const int32_t *lda, int32_t *info);
  void (*dpotrf)(const char *uplo, const int32_t *n, double *a, const int32_t *lda, int32_t *info);
  void (*sgetrf)(const int32_t *m, const int32_t *n, float *a, const int32_t *lda, int32_t *ipiv, int32_t *info);
  void (*dgetrf)(const int32_t *m, const int32_t *n, double *a, const int32_t *lda, int32_t *ipiv, int32_t *info);
  void (*sgetri)(const int32_t *n, float *a, const int32_t *lda, const int32_t *ipiv, float *work,
                 const int32_t *lwork, int32_t *info);
  void (*dgetri)(const int32_t *n, double *a, const int32_t *lda, const int32_t *ipiv, double *work,
                 const int32_t *lwork, int32_t *info);
  void (*ssyevd)(const char *jobz, const char *uplo, const int32_t *n, float *a, const int32_t *lda, float *w,
                 float *work, const int32_t *lwork, int32_t *iwork, const int32_t *liwork, int32_t *info);
  void (*dsyevd)(const char *jobz, const char *uplo, const int32_t *n, double *a, const int32_t *lda, double *w,
                 double *work, const int32_t *lwork, int32_t *iwork, const int32_t *liwork, int32_t *info);
  void (*sgesdd)(const char *jobz, const int32_t *m, const int32_t *n, float *a, const int32_t *lda, float *s,
                 float *u, const int32_t *ldu, float *vt, const int32_t *ldvt, float *work, const int32_t *lwork,
                 int32_t *iwork, int32_t *info);
  void (*dgesdd)(const char *jobz, const int32_t *m, const int32_t *n, double *a, const int32_t *lda, double *s,
                 double *u, const int32_t *ldu, double *vt, const int32_t *ldvt, double *work, const int32_t *lwork,
                 int32_t *iwork, int32_t *info);
  void (*sgeqrf)(const int32_t *m, const int32_t *n, float *a, const int32_t *lda, float *tau, float *work,
                 const int32_t *lwork, int32_t *info);
  void (*dgeqrf)(const int32_t *m, const int32_t *n, double *a, const int32_t *lda, double *tau, double *work,
                 const int32_t *lwork, int32_t *info);
  void (*sorgqr)(const int32_t *m, const int32_t *n, const int32_t *k, float *a, const int32_t *lda,
                 const float *tau, float *work, const int32_t *lwork, int32_t *info);
  void (*dorgqr)(const int32_t *m, const int32_t *n, const int32_t *k, double *a, const int32_t *lda,
                 const double *tau, double *work, const int32_t *lwork, int32_t *info);
  void (*sgees)(const char *jobvs, const char *sort, const void *select, const int32_t *n, float *a,
                const int32_t *lda, int32_t *sdim, float *wr, float *wi, float *vs, const int32_t *ldvs, float *work,
                const int32_t *lwork, int32_t *bwork, int32_t *info);
  void (*dgees)(const char *jobvs, const char *sort, const void *select, const int32_t *n, double *a,
                const int32_t *lda, int32_t *sdim, double *wr, double *wi, double *vs, const int32_t *ldvs,
                double *work, const int32_t *lwork, int32_t *bwork, int32_t *info);
  void (*strsyl)(const char *trana, const char *tranb, const int32_t *isgn, const int32_t *m, const int32_t *n,
                 const float *a, const int32_t *lda, const float *b, const int32_t *ldb, float *c, const int32_t *ldc,
                 float *scale, int32_t *info);
  void (*dtrsyl)(const char *trana, const char *tranb, const int32_t *isgn, const int32_t *m, const int32_t *n,
                 const double *a, const int32_t *lda, const double *b, const int32_t *ldb, double *c,
                 const int32_t *ldc, double *scale, int32_t *info);
  void (*sgeev)(const char *jobvl, const char *jobvr, const int32_t *n, float *a, const int32_t *lda, float *wr,
                float *wi, float *vl, const int32_t *ldvl, float *vr, const int32_t *ldvr, float *work,
                const int32_t *lwork, int32_t *info);
  void (*dgeev)(const char *jobvl, const char *jobvr, const int32_t *n, double *a, const int32_t *lda, double *wr,
                double *wi, double *vl, const int32_t *ldvl, double *vr, const int32_t *ldvr, double *work,
                const int32_t *lwork, int32_t *info);
  void (*sgeqp3)(const int32_t *m, const int32_t *n, float *a, const int32_t *lda, int32_t *jpvt, float *tau,
                 float *work, const int32_t *lwork, int32_t *info);
  void (*dgeqp3)(const int32_t *m, const int32_t *n, double *a, const int32_t *lda, int32_t *jpvt, double *tau,
                 double *work, const int32_t *lwork, int32_t *info);
  void (*sgtsv)(const int32_t *n, const int32_t *nrhs, float *dl, float *d, float *du, float *b, const int32_t *ldb,
                int32_t *info);
  void (*dgtsv)(const int32_t *n, const int32_t *nrhs, double *dl, double *d, double *du, double *b,
                const int32_t *ldb, int32_t *info);
  void (*sgges)(const char *jobvsl, const char *jobvsr, const char *sort, const void *selctg, const int32_t *n,
                float *a, const int32_t *lda, float *b, const int32_t *ldb, int32_t *sdim, float *alphar,
                float *alphai, float *beta, float *vsl, const int32_t *ldvsl, float *vsr, const int32_t *ldvsr,
                float *work, const int32_t *lwork, int32_t *bwork, int32_t *info);
  void (*dgges)(const char *jobvsl, const char *jobvsr, const char *sort, const void *selctg, const int32_t *n,
                double *a, const int32_t *lda, double *b, const int32_t *ldb, int32_t *sdim, double *alphar,
                double *alphai, double *beta, double *vsl, const int32_t *ldvsl, double *vsr, const int32_t *ldvsr,
                double *work, const int32_t *lwork, int32_t *bwork, int32_t *info);
  void (*stgsen)(const int32_t *ijob, const int32_t *wantq, const int32_t *wantz, const int32_t *select,
                 const int32_t *n, float *a, const int32_t *lda, float *b, const int32_t *ldb, float *alphar,
                 float *alphai, float *beta, float *q, const int32_t *ldq, float *z, const int32_t *ldz, int32_t *m,
                 float *pl, float *pr, float *dif, float *work, const int32_t *lwork, int32_t *iwork,
                 const int32_t *liwork, int32_t *info);
  void (*dtgsen)(const int32_t *ijob, const int32_t *wantq, const int32_t *wantz, const int32_t *select,
                 const int32_t *n, double *a, const int32_t *lda, double *b, const int32_t *ldb, double *alphar,
                 double *alphai, double *beta, double *q, const int32_t *ldq, double *z, const int32_t *ldz,
                 int32_t *m, double *pl, double *pr, double *dif, double *work, const int32_t *lwork, int32_t *iwork,
                 const int32_t *liwork, int32_t *info);
  void (*cgees)(const char *jobvs, const char *sort, const void *select, const int32_t *n, aotensor_complex64 *a,
                const int32_t *lda, int32_t *sdim, aotensor_complex64 *w, aotensor_complex64 *vs, const int32_t *ldvs,
                aotensor_complex64 *work, const int32_t *lwork, float *rwork, int32_t *bwork, int32_t *info);
  void (*zgees)(const char *jobvs, const char *sort, const void *select, const int32_t *n, aotensor_complex128 *a,
                const int32_t *lda, int32_t *sdim, aotensor_complex128 *w, aotensor_complex128 *vs,
                const int32_t *ldvs, aotensor_complex128 *work, const int32_t *lwork, double *rwork, int32_t *bwork,
                int32_t *info);
  void (*ctrsyl)(const char *trana, const char *tranb, const int32_t *isgn, const int32_t *m, const int32_t *n,
                 const aotensor_complex64 *a, const int32_t *lda, const aotensor_complex64 *b, const int32_t *ldb,
                 aotensor_complex64 *c, const int32_t *ldc, float *scale, int32_t *info);
  void (*ztrsyl)(const char *trana, const char *tranb, const int32_t *isgn, const int32_t *m, const int32_t *n,
                 const aotensor_complex128 *a, const int32_t *lda, const aotensor_complex128 *b, const int32_t *ldb,
                 aotensor_complex128 *c, const int32_t *ldc, double *scale, int32_t *info);
  void (*cgeev)(const char *jobvl, const char *jobvr, const int32_t *n, aotensor_complex64 *a, const int32_t *lda,
                aotensor_complex64 *w, aotensor_complex64 *vl, const int32_t *ldvl, aotensor_complex64 *vr,
                const int32_t *ldvr, aotensor_complex64 *work, const int32_t *lwork, float *rwork, int32_t *info);
  void (*zgeev)(const char *jobvl, const char *jobvr, const int32_t *n, aotensor_complex128 *a, const int32_t *lda,
                aotensor_complex128 *w, aotensor_complex128 *vl, const int32_t *ldvl, aotensor_complex128 *vr,
                const int32_t *ldvr, aotensor_complex128 *work, const int32_t *lwork, double *rwork, int32_t *info);
  void (*cgetrf)(const int32_t *m, const int32_t *n, aotensor_complex64 *a, const int32_t *lda, int32_t *ipiv,
                 int32_t *info);
  void (*zgetrf)(const int32_t *m, const int32_t *n, aotensor_complex128 *a, const int32_t *lda, int32_t *ipiv,
                 int32_t *info);
  void (*cheevd)(const char *jobz, const char *uplo, const int32_t *n, aotensor_complex64 *a, const int32_t *lda,
                 float *w, aotensor_complex64 *work, const int32_t *lwork, float *rwork, const int32_t *lrwork,
                 int32_t *iwork, const int32_t *liwork, int32_t *info);
  void (*zheevd)(const char *jobz, const char *uplo, const int32_t *n, aotensor_complex128 *a, const int32_t *lda,
                 double *w, aotensor_complex128 *work, const int32_t *lwork, double *rwork, const int32_t *lrwork,
                 int32_t *iwork, const int32_t *liwork, int32_t *info);
  void (*cgesdd)(const char *jobz, const int32_t *m, const int32_t *n, aotensor_complex64 *a, const int32_t *lda,
                 float *s, aotensor_complex64 *u, const int32_t *ldu, aotensor_complex64 *vt, const int32_t *ldvt,
                 aotensor_complex64 *work, const int32_t *lwork, float *rwork, int32_t *iwork, int32_t *info);
  void (*zgesdd)(const char *jobz, const int32_t *m, const int32_t *n, aotensor_complex128 *a, const int32_t *lda,
                 double *s, aotensor_complex128 *u, const int32_t *ldu, aotensor_complex128 *vt, const int32_t *ldvt,
                 aotensor_complex128 *work, const int32_t *lwork, double *rwork, int32_t *iwork, int32_t *info);
  void (*cgeqrf)(const int32_t *m, const int32_t *n, aotensor_complex64 *a, const int32_t *lda,
                 aotensor_complex64 *tau, aotensor_complex64 *work, const int32_t *lwork, int32_t *info);
  void (*zgeqrf)(const int32_t *m, const int32_t *n, aotensor_complex128 *a, const int32_t *lda,
                 aotensor_complex128 *tau, aotensor_complex128 *work, const int32_t *lwork, int32_t *info);
  void (*cungqr)(const int32_t *m, const int32_t *n, const int32_t *k, aotensor_complex64 *a, const int32_t *lda,
                 const aotensor_complex64 *tau, aotensor_complex64 *work, const int32_t *lwork, int32_t *info);
  void (*zungqr)(const int32_t *m, const int32_t *n, const int32_t *k, aotensor_complex128 *a, const int32_t *lda,
                 const aotensor_complex128 *tau, aotensor_complex128 *work, const int32_t *lwork, int32_t *info);
  void (*cgeqp3)(const int32_t *m, const int32_t *n, aotensor_complex64 *a, const int32_t *lda, int32_t *jpvt,
                 aotensor_complex64 *tau, aotensor_complex64 *work, const int32_t *lwork, float *rwork,
                 int32_t *info);
  void (*zgeqp3)(const int32_t *m, const int32_t *n, aotensor_complex128 *a, const int32_t *lda, int32_t *jpvt,
                 aotensor_complex128 *tau, aotensor_complex128 *work, const int32_t *lwork, double *rwork,
                 int32_t *info);
  void (*strsen)(const char *job, const char *compq, const int32_t *select, const int32_t *n, float *t,
                 const int32_t *ldt, float *q, const int32_t *ldq, float *wr, float *wi, int32_t *m, float *s,
                 float *sep, float *work, const int32_t *lwork, int32_t *iwork, const int32_t *liwork, int32_t *info);
  void (*dtrsen)(const char *job, const char *compq, const int32_t *select, const int32_t *n, double *t,
                 const int32_t *ldt, double *q, const int32_t *ldq, double *wr, double *wi, int32_t *m, double *s,
                 double *sep, double *work, const int32_t *lwork, int32_t *iwork, const int32_t *liwork,
                 int32_t *info);
  void (*ctrsen)(const char *job, const char *compq, const int32_t *select, const int32_t *n, aotensor_complex64 *t,
                 const int32_t *ldt, aotensor_complex64 *q, const int32_t *ldq, aotensor_complex64 *w, int32_t *m,
                 float *s, float *sep, aotensor_complex64 *work, const int32_t *lwork, int32_t *info);
  void (*ztrsen)(const char *job, const char *compq, const int32_t *select, const int32_t *n, aotensor_complex128 *t,
                 const int32_t *ldt, aotensor_complex128 *q, const int32_t *ldq, aotensor_complex128 *w, int32_t *m,
                 double *s, double *sep, aotensor_complex128 *work, const int32_t *lwork, int32_t *info);
  void (*cgges)(const char *jobvsl, const char *jobvsr, const char *sort, const void *selctg, const int32_t *n,
                aotensor_complex64 *a, const int32_t *lda, aotensor_complex64 *b, const int32_t *ldb, int32_t *sdim,
                aotensor_complex64 *alpha, aotensor_complex64 *beta, aotensor_complex64 *vsl, const int32_t *ldvsl,
                aotensor_complex64 *vsr, const int32_t *ldvsr, aotensor_complex64 *work, const int32_t *lwork,
                float *rwork, int32_t *bwork, int32_t *info);
  void (*zgges)(const char *jobvsl, const char *jobvsr, const char *sort, const void *selctg, const int32_t *n,
                aotensor_complex128 *a, const int32_t *lda, aotensor_complex128 *b, const int32_t *ldb, int32_t *sdim,
                aotensor_complex128 *alpha, aotensor_complex128 *beta, aotensor_complex128 *vsl, const int32_t *ldvsl,
                aotensor_complex128 *vsr, const int32_t *ldvsr, aotensor_complex128 *work, const int32_t *lwork,
                double *rwork, int32_t *bwork, int32_t *info);
  void (*ctgsen)(const int32_t *ijob, const int32_t *wantq, const int32_t *wantz, const int32_t *select,
                 const int32_t *n, aotensor_complex64 *a, const int32_t *lda, aotensor_complex64 *b,
                 const int32_t *ldb, aotensor_complex64 *alpha, aotensor_complex64 *beta, aotensor_complex64 *q,
                 const int32_t *ldq, aotensor_complex64 *z, const int32_t *ldz, int32_t *m, float *pl, float *pr,
                 float *dif, aotensor_complex64 *work, const int32_t *lwork, int32_t *iwork, const int32_t *liwork,
                 int32_t *info);
  void (*ztgsen)(const int32_t *ijob, const int32_t *wantq, const int32_t *wantz, const int32_t *select,
                 const int32_t *n, aotensor_complex128 *a, const int32_t *lda, aotensor_complex128 *b,
                 const int32_t *ldb, aotensor_complex128 *alpha, aotensor_complex128 *beta, aotensor_complex128 *q,
                 const int32_t *ldq, aotensor_complex128 *z, const int32_t *ldz, int32_t *m, double *pl, double *pr,
                 double *dif, aotensor_complex128 *work, const int32_t *lwork, int32_t *iwork, const int32_t *liwork,
                 int32_t *info);
} aotensor_blas;

/* Where calls that got no workspace leave theirs for later ones, if it is at least a megabyte. Set it to zero, then
 * `limit`. Any number of threads, functions and libraries may share it: one call at a time has the block, others
 * allocate. When all have returned, free(block) ends it. */
typedef struct aotensor_kept {
  void *block;                      /* from malloc; NULL where there is none                                       */
  int64_t limit;                    /* bytes from which on a workspace is not kept                                 */
} aotensor_kept;

/* What one call may use. Set it to zero, then struct_size, then what you have; share it between threads only if
 * `message` and `workspace` are NULL. */
typedef struct aotensor_context {
  int64_t struct_size;              /* sizeof(aotensor_context), in bytes, as the caller knows it                  */
  void *(*allocate)(void *user, int32_t output, int64_t bytes, const int64_t *shape); /* memory for output number
                                       `output` (from 0), at least `bytes` bytes, aligned for its dtype; or NULL.
                                       A sparse output S has four numbers: S itself, for which this is not called,
                                       then data, indices, indptr                                                  */
  void *user;                       /* handed to `allocate` as it is                                               */
  char *message;                    /* receives the text of an error, ended by NUL; may be NULL                    */
  int64_t message_size;             /* bytes at `message`                                                          */
  void *workspace;                  /* scratch memory, any alignment; may be NULL: then malloc is used             */
  int64_t workspace_bytes;          /* bytes at `workspace`; used if it is at least <function>_workspace(...)      */
  const aotensor_blas *blas;        /* fast matrix products and linear algebra; may be NULL                         */
  int32_t num_threads;              /* upper limit; 0 means AOTENSOR_NUM_THREADS, else all cores                   */
  int32_t flags;                    /* 0 or AOTENSOR_CANONICAL                                                     */
  void (*parallel_for)(void *pool, int64_t chunks, void (*task)(void *argument, int64_t chunk), void *argument);
                                    /* runs task(argument, chunk) for each chunk = 0 ... chunks - 1, in any order
                                       and on any threads, and returns when all have returned; may be NULL: then
                                       the library has threads of its own                                          */
  void *pool;                       /* handed to `parallel_for` as it is                                           */
  aotensor_kept *kept;              /* workspace from one call to the next; may be NULL                            */
} aotensor_context;

/* How aotensor_call_python and aotensor_extents_python find what they need inside Python objects. For the
 * Python runtime only. */
typedef struct aotensor_python_layout {
  int64_t object_type;              /* bytes from an object to the address of its type            */
  int64_t tuple_size;               /* bytes from a tuple to its length                           */
  int64_t tuple_items;              /* bytes from a tuple to its first item                       */
  int64_t float_value;              /* bytes from a float to its double                           */
  int64_t array_data;               /* bytes from an array to the address of its first element    */
  int64_t array_rank;               /* bytes from an array to its rank, an int                    */
  int64_t array_shape;              /* bytes from an array to the address of its extents          */
  int64_t array_strides;            /* bytes from an array to the address of its strides in bytes */
  int64_t array_dtype;              /* bytes from an array to the address of its dtype object     */
  const void *array_type;           /* numpy.ndarray                                              */
  const void *float_type;           /* float                                                      */
  const void *float64_type;         /* numpy.float64                                              */
  const void *const *dtypes;        /* dtype object of each dtype code                            */
} aotensor_python_layout;

typedef struct aotensor_python_call {
  const aotensor_python_layout *layout; /* where to look                                      */
  int32_t (*entry)(aotensor_context *context, const aotensor_array *inputs, aotensor_array *outputs);
  aotensor_context *context;        /* used by the call                                           */
  const int32_t *dtypes;            /* dtype code of each input, then of each output              */
  const int32_t *output_ranks;      /* rank of each output                                        */
  int32_t inputs, outputs;          /* numbers of arrays                                          */
  int64_t strides;                  /* sum of the ranks of all inputs and outputs                 */
} aotensor_python_call;

/* The arguments of an entry, for aotensor_call_bound. For the Python runtime only. */
typedef struct aotensor_bound_call {
  int32_t (*entry)(aotensor_context *context, const aotensor_array *inputs, aotensor_array *outputs);
  aotensor_context *context;        /* used by the call                                           */
  const aotensor_array *inputs;     /* as the entry takes them                                    */
  aotensor_array *outputs;          /* as the entry takes them                                    */
} aotensor_bound_call;

/* The same for aotensor_run_bound, with functions of the interpreter. For the Python runtime only. */
typedef struct aotensor_bound_method {
  void *(*save_thread)(void);       /* PyEval_SaveThread                                          */
  void (*restore_thread)(void *);   /* PyEval_RestoreThread                                       */
  void *(*as_number)(long);         /* PyLong_FromLong                                            */
  aotensor_bound_call call;         /* what is called                                             */
} aotensor_bound_method;

/* What aotensor_integrand and aotensor_filter call: a function of some numbers whose other arguments are fixed. */
typedef struct aotensor_value_call {
  aotensor_bound_call call;         /* what is called                                             */
  double *x;                        /* where its free inputs are, one after the other             */
  int64_t count;                    /* how many numbers these are                                 */
  const double *value;              /* where it leaves its result                                 */
} aotensor_value_call;

#ifdef __cplusplus
}
#endif
#endif /* AOTENSOR_H */
